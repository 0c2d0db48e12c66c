"""What unlabeled rows to learn from are worth, beside other methods, on tables left out by kin.

    python -m benchmarks.accuracy.reference bank-reference bank-rcq

The banks are those of ``python -m research calibrate``; without the second one, RCQ without
unlabeled rows has the null calibration only. Of each task with a reference of a real
table, the first sample is counted by RCQ, by RCQ with other unlabeled rows of the same table, and
with the sample itself, each by a calibration that was learned without the table and its kin; and by
others, the best of which is DEDPUL. Every table counts the same; standard errors of the mean over
tables are in brackets. The tables of `data/bank` come by themselves, too.

    python -m benchmarks.accuracy.reference --untouched

counts the twelve tables that nobody looked at before (`research/tuning/next_rcq_split.md`) by the
shipped calibrations.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone

from benchmarks.accuracy.calibration import (
    HEAD,
    LEVELS,
    Calibrations,
    Judged,
    print_rows,
    row,
)
from benchmarks.accuracy.peers import trees
from poscount import BBE, DEDPUL, PAT, RCQ
from poscount.calibration.calibration import Calibration
from poscount.calibration.files import shipped
from poscount.seeds import stream
from poscount.training.bank import LIMITS, as_given, draw_task, read_bank
from poscount.training.sources import Source
from poscount.training.tasks import draw_reference, recognisable
from research.shipped_calibrations import BANK_TABLES, UNTOUCHED, bank_source, sources

RIVALS = {
    "DEDPUL": DEDPUL(random_state=0),
    "BBE": BBE(random_state=0),
    "DEDPUL with trees": DEDPUL(trees(), random_state=0),
    "BBE with trees": BBE(trees(), random_state=0),
    "PAT": PAT(random_state=0),
}
OWN = (
    "RCQ, null calibration",
    "RCQ",
    "RCQ, told whether recognisable",
    "RCQ, other unlabeled rows",
    "RCQ, other unlabeled rows, told",
    "RCQ, the sample itself (TRCQ)",
)
# Of each table; not those that a calibration is learned from.
NUMBERS = range(5_000, 5_006)


class Answered(NamedTuple):
    """Value and ends of each method, NaN where none, and what is known of the task."""

    found: np.ndarray
    truth: float
    recognisable: bool
    n_labeled: int
    n_rows: int
    n_columns: int


def answers_to(
    source: Source, number: int, with_reference: Calibration, plain: Calibration | None
) -> Answered:
    """Answers to the first sample of a task."""
    warnings.simplefilter("ignore")
    task, (sample, *_) = draw_task(source, LIMITS["RCQ-reference"], 0, number)
    rng = stream(0, f"{source.name} {number} measured")
    other, known = draw_reference(task, rng), recognisable(task, rng)
    rows = as_given(task, sample.rows)
    given = as_given(task, other)
    of_reference = RCQ(calibration=with_reference, random_state=0)
    models = [
        (RCQ(calibration="null", random_state=0), None),
        (plain and RCQ(calibration=plain, random_state=0), None),
        (plain and RCQ(calibration=plain, recognisable=known, random_state=0), None),
        (of_reference, given),
        (clone(of_reference).set_params(recognisable=known), given),
        (of_reference, rows),
        *((model, None) for model in RIVALS.values()),
    ]
    found = np.full((len(models), 1 + 2 * len(LEVELS)), np.nan)
    for line, (model, unlabeled) in zip(found, models, strict=True):
        if model is None:
            continue
        more = {} if unlabeled is None else {"unlabeled": unlabeled}
        try:
            answer = model.fit(as_given(task, task.labeled), **more).quantify(rows)
        except ValueError:  # PAT needs more positives than features
            continue
        line[0] = answer
        if answer.distribution is not None:
            ends = [answer.distribution.interval(level) for level in LEVELS]
            line[1:] = [*(end.low for end in ends), *(end.high for end in ends)]
    return Answered(found, sample.prevalence, known, len(task.labeled), *sample.rows.shape)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("banks", type=Path, nargs="*")
    parser.add_argument("--untouched", action="store_true")
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.untouched:
        tables = [bank_source(name) for name in UNTOUCHED]
        pairs = [(shipped("RCQ-reference"), shipped("RCQ")) for _ in tables]
    else:
        tables = [*sources(), *map(bank_source, BANK_TABLES)]
        read = [read_bank(sorted(folder.glob("*.bank"))) for folder in arguments.banks]
        calibrations = [Calibrations(bank, arguments.n_jobs) for bank in read]
        pairs = [[*(each.without(table.kin) for each in calibrations), None] for table in tables]
    asked = [
        (table, number, *pair[:2])
        for table, pair in zip(tables, pairs, strict=True)
        for number in NUMBERS
    ]
    answered = Parallel(arguments.n_jobs)(delayed(answers_to)(*each) for each in asked)
    found, truth, known, n_labeled, n_rows, n_columns = map(np.array, zip(*answered, strict=True))
    lines = found.transpose(1, 0, 2)
    kin = np.array([table.kin for table, *_ in asked])
    n = len(LEVELS)
    answers = {
        name: Judged(line[:, 0], line[:, 1 : 1 + n].T, line[:, 1 + n :].T)
        for name, line in zip((*OWN, *RIVALS), lines, strict=True)
    }
    of_bank = np.isin([table.name for table, *_ in asked], [*BANK_TABLES, *UNTOUCHED])
    kinds = {
        "All tables": np.ones(len(truth), bool),
        "Those of data/bank": of_bank,
        "Recognisable tasks": known,
        "Other tasks": ~known,
        "p below .05": truth < 0.05,
        "p .05 to .5": (truth >= 0.05) & (truth < 0.5),
        "p .5 to .95": (truth >= 0.5) & (truth < 0.95),
        "p from .95 on": truth >= 0.95,
        "Fewer than 200 positives": n_labeled < 200,
        "200 positives or more": n_labeled >= 200,
        "Fewer than 1,000 rows": n_rows < 1_000,
        "1,000 rows or more": n_rows >= 1_000,
        "Up to 20 columns": n_columns <= 20,
        "More than 20 columns": n_columns > 20,
    }
    for kind, kept in kinds.items():
        print(f"{kind}, {len(np.unique(kin[kept]))} of them:\n")
        print_rows(
            [
                row(name, each.part(kept), truth[kept], kin[kept])
                for name, each in answers.items()
                if np.isfinite(each.value).any()
            ],
            ["method", *HEAD[1:]],
        )


if __name__ == "__main__":
    main()
