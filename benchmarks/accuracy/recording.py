"""What happens if a sample was recorded differently than the positives, and what tolerance helps.

    python -m benchmarks.accuracy.recording bank-reference bank-rcq

Without the second bank, RCQ without unlabeled rows is left out. Tasks of real tables, each by
calibrations that were learned without the table and its kin
(`benchmarks.accuracy.calibration`). All rows of the sample, and of the unlabeled rows that RCQ
learns from, are changed alike. The first table is what the default tolerance was chosen by: the
mean error over samples as they are and over samples shifted by .05 and .1 standard deviations.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.accuracy.calibration import LEVELS, Calibrations, by_kin, print_rows
from poscount import DEDPUL, PAT, RCQ
from poscount.calibration.calibration import Calibration
from poscount.seeds import stream
from poscount.training.bank import LIMITS, as_given, draw_task, read_bank
from poscount.training.sources import Source
from poscount.training.tasks import Task, draw_reference
from research.shipped_calibrations import BANK_TABLES, bank_source, sources

NUMBERS = range(6_000, 6_003)
# Only in the first task of a table, because they take long.
WITH_UNLABELED = NUMBERS[:1]
TOLERANCES = (0.0, 0.03, 0.05, 0.1, 0.2)
WAYS = ("RCQ", "other rows", "the sample itself (TRCQ)")


def _moved(by: float) -> Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]:
    return lambda rows, scale, rng: rows + by * scale


CHANGES: dict[str, Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]] = {
    "as it is": _moved(0),
    "all columns + .05 sd": _moved(0.05),
    "all columns + .1 sd": _moved(0.1),
    "all columns + .25 sd": _moved(0.25),
    "one column + .5 sd": lambda rows, scale, rng: (
        rows + 0.5 * scale * (np.arange(len(scale)) == rng.integers(len(scale)))
    ),
    "x 1.05": lambda rows, scale, rng: 1.05 * rows,
    "noise of .25 sd": lambda rows, scale, rng: rows + 0.25 * scale * rng.normal(size=rows.shape),
}
CHOSEN_BY = ("as it is", "all columns + .05 sd", "all columns + .1 sd")


def changed(task: Task, rows: np.ndarray, change: str, number: int) -> np.ndarray:
    """Rows recorded differently; words stay."""
    numbers = np.setdiff1d(np.arange(rows.shape[1]), task.words)
    found = rows.copy()
    if len(numbers):
        scale = np.nan_to_num(np.nanstd(task.labeled[:, numbers], axis=0))
        rng = stream(number, change)
        found[:, numbers] = CHANGES[change](rows[:, numbers], scale, rng)
    return found


def errors_of(
    source: Source, number: int, with_reference: Calibration, plain: Calibration | None
) -> np.ndarray:
    """Error, and whether the interval holds, by change and by way: (n_changes, n_ways, 2)."""
    warnings.simplefilter("ignore")
    task, (sample, *_) = draw_task(source, LIMITS["RCQ-reference"], 0, number)
    other = draw_reference(task, stream(0, f"{source.name} {number} measured"))
    labeled = as_given(task, task.labeled)
    found = np.full((len(CHANGES), len(WAYS) * len(TOLERANCES) + 2, 2), np.nan)
    for of_change, change in zip(found, CHANGES, strict=True):
        rows, unlabeled = (
            as_given(task, changed(task, given, change, number)) for given in (sample.rows, other)
        )
        answers: list[object] = []
        for calibration, reference in (
            (plain, {}),
            (with_reference, {"unlabeled": unlabeled}),
            (with_reference, {"unlabeled": rows}),
        ):
            if calibration is None or (reference and number not in WITH_UNLABELED):
                answers += [None] * len(TOLERANCES)
                continue
            try:
                model = RCQ(calibration=calibration, random_state=0).fit(labeled, **reference)
            except ValueError:
                answers += [None] * len(TOLERANCES)
                continue
            counts = model.count(rows)
            answers += [model.set_params(tolerance=t).estimate(counts) for t in TOLERANCES]
        for kind in (PAT, DEDPUL):
            if kind is DEDPUL and number not in WITH_UNLABELED:
                answers.append(None)
                continue
            try:
                answers.append(kind(random_state=0).fit(labeled).quantify(rows))
            except ValueError:  # PAT needs more positives than features
                answers.append(None)
        for line, answer in zip(of_change, answers, strict=True):
            if answer is not None:
                line[0] = abs(float(answer) - sample.prevalence)
                if answer.interval is not None:
                    line[1] = sample.prevalence in answer.interval
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("banks", type=Path, nargs="+")
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    read = [read_bank(sorted(folder.glob("*.bank"))) for folder in arguments.banks]
    calibrations = [Calibrations(bank, arguments.n_jobs) for bank in read]
    tables = [*sources(), *map(bank_source, BANK_TABLES)]
    asked = [
        (table, number, *[*(each.without(table.kin) for each in calibrations), None][:2])
        for table in tables
        for number in NUMBERS
    ]
    found = np.array(Parallel(arguments.n_jobs)(delayed(errors_of)(*each) for each in asked))
    kin = np.array([table.kin for table, *_ in asked])
    names = [f"{way}, tolerance {t:g}" for way in WAYS for t in TOLERANCES] + ["PAT", "DEDPUL"]

    def mean(values: np.ndarray) -> float:
        there = np.isfinite(values)
        return by_kin(values[there], kin[there])[0] if there.any() else np.nan

    together = [list(CHANGES).index(change) for change in CHOSEN_BY]
    rows = []
    for i, name in enumerate(names):
        cells = [f"{100 * np.mean([mean(found[:, k, i, 0]) for k in together]):.1f}"]
        for k in range(len(CHANGES)):
            error, held = found[:, k, i].T
            shown = f"{mean(held):.2f}"[1:] if np.isfinite(held).any() else ""
            cells.append(f"{100 * mean(error):.1f} {shown}")
        rows.append([name, *cells])
    print(f"Mean error in points and share of {100 * LEVELS[3]:g} % intervals that hold, ", end="")
    print(f"{len(np.unique(kin))} tables, {len(asked)} tasks:\n")
    print_rows(rows, ["method", "first three", *CHANGES])


if __name__ == "__main__":
    main()
