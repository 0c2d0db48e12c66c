"""What unlabeled rows to learn from are worth, on tables that no calibration has learned from.

    python -m benchmarks.accuracy.reference bank-reference

The bank is that of ``python -m research calibrate --method RCQ-reference --bank bank-reference``.
Of each of its tasks from `research.shipped_calibrations.BANK_TABLES` the first sample is counted by
RCQ, whose shipped calibration has seen none of these tables; by RCQ with other unlabeled rows of
the same table, and with the sample itself, by a calibration without the table and its kin; and by
others. Every table counts the same; standard errors of the mean over tables are in brackets.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from benchmarks.accuracy.calibration import LEVELS, Judged, LeftOut, print_rows
from poscount import BBE, DEDPUL, PAT, RCQ
from poscount.training.bank import LIMITS, Bank, as_given, draw_task, make_bank, read_bank
from poscount.training.sources import Source
from research.shipped_calibrations import BANK_TABLES, bank_source, shipped_plan

METHODS = {"RCQ": RCQ, "PAT": PAT, "DEDPUL": DEDPUL, "BBE": BBE}
OTHER, ITSELF = "RCQ, other unlabeled rows", "RCQ, the sample itself (TRCQ)"
# Lines of a task: the first sample by itself, then the first and the second by other rows.
N_LINES, OF_ITSELF, OF_OTHER = 3, 0, 1
SPLITS = {
    "p below .05": lambda truth, n: truth < 0.05,
    "p .05 to .5": lambda truth, n: (truth >= 0.05) & (truth < 0.5),
    "p .5 to .95": lambda truth, n: (truth >= 0.5) & (truth < 0.95),
    "p from .95 on": lambda truth, n: truth >= 0.95,
    "fewer than 100 positives": lambda truth, n: n < 100,
    "100 to 400": lambda truth, n: (n >= 100) & (n < 400),
    "400 and more": lambda truth, n: n >= 400,
}


def complete_tasks(bank: Bank, source: str) -> Iterator[tuple[int, np.ndarray]]:
    """Numbers of the tasks of a source, and the places of their lines, if there are all three."""
    own = np.flatnonzero(bank.source == source)
    for number in np.unique(bank.task[own]):
        places = own[bank.task[own] == number]
        if len(places) == N_LINES:
            yield int(number), places


def by_others(source: Source, number: int) -> np.ndarray:
    """Value and ends of each method, of shape (n_methods, 1 + 2 n_levels); NaN where none."""
    warnings.simplefilter("ignore")
    task, (sample, *_) = draw_task(source, LIMITS["RCQ-reference"], 0, number)
    found = np.full((len(METHODS), 1 + 2 * len(LEVELS)), np.nan)
    for line, kind in zip(found, METHODS.values(), strict=True):
        try:
            model = kind(random_state=0).fit(as_given(task, task.labeled))
            answer = model.quantify(as_given(task, sample.rows))
        except ValueError:  # PAT needs more positives than features
            continue
        line[0] = answer
        if answer.distribution is not None:
            ends = [answer.distribution.interval(level) for level in LEVELS]
            line[1:] = [*(end.low for end in ends), *(end.high for end in ends)]
    return found


def by_table(values: np.ndarray, tables: np.ndarray) -> tuple[float, float]:
    """Mean over tables of the mean of each, and its standard error."""
    _, which = np.unique(tables, return_inverse=True)
    means = np.bincount(which, values) / np.bincount(which)
    return float(means.mean()), float(means.std(ddof=1) / np.sqrt(len(means)))


def in_points(values: np.ndarray, tables: np.ndarray) -> str:
    """Mean over tables and its standard error, in points."""
    return "{:.2f} ({:.2f})".format(*(100 * value for value in by_table(values, tables)))


def rows_of(
    answers: dict[str, Judged], all_truth: np.ndarray, all_tables: np.ndarray
) -> list[list[str]]:
    """A row for each method: error, intervals held, width and interval score at 95 %."""
    at, rows = LEVELS.index(0.95), []
    for name, judged in answers.items():
        there = np.isfinite(judged.value)
        value, low, high = (values[..., there] for values in judged)
        truth, tables = all_truth[there], all_tables[there]
        cells = [name, f"{len(truth):,}", in_points(np.abs(value - truth), tables)]
        if np.isfinite(low).all():
            held = [by_table(inside, tables)[0] for inside in (low <= truth) & (truth <= high)]
            missed = np.maximum(low[at] - truth, 0) + np.maximum(truth - high[at], 0)
            width = high[at] - low[at]
            cells += [" ".join(f"{share:.3f}"[1:] for share in held)]
            cells += [
                f"{100 * by_table(width, tables)[0]:.1f}",
                in_points(width + 40 * missed, tables),
            ]
        rows.append(cells + [""] * (6 - len(cells)))
    return rows


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bank", type=Path)
    parser.add_argument("--n-jobs", type=int, default=2)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    plan = list(shipped_plan("RCQ-reference"))
    bank = read_bank(make_bank(arguments.bank, "RCQ-reference", plan, n_jobs=arguments.n_jobs))
    real, judged = LeftOut(bank, arguments.n_jobs).answers()
    asked, places, tables = [], [], []
    for name in BANK_TABLES:
        source = bank_source(name)
        for number, lines in complete_tasks(real, name):
            asked.append((source, number))
            places.append(lines)
            tables.append(source.kin)
    others = np.array(Parallel(arguments.n_jobs)(delayed(by_others)(*each) for each in asked))
    at = np.array(places)
    truth, n = (
        real.truth[at[:, 0]],
        np.exp(real.lines[at[:, 0], real.columns.index("log_positives")]),
    )
    n_levels = len(LEVELS)
    answers = {
        name: Judged(line[:, 0], line[:, 1 : 1 + n_levels].T, line[:, 1 + n_levels :].T)
        for name, line in zip(METHODS, others.transpose(1, 0, 2), strict=True)
    }
    for name, line in ((OTHER, OF_OTHER), (ITSELF, OF_ITSELF)):
        answers[name] = Judged(*(values[..., at[:, line]] for values in judged))
    held = "held at " + " ".join(f"{level:g}"[1:] for level in LEVELS)
    head = ["method", "n", "MAE", held, "width", "interval score"]
    print_rows(rows_of(answers, truth, np.array(tables)), head)
    for split, chosen in SPLITS.items():
        kept = chosen(truth, n)
        part = {
            name: Judged(*(values[..., kept] for values in answers[name]))
            for name in ("RCQ", OTHER, ITSELF)
        }
        print(f"{split}:\n")
        print_rows(rows_of(part, truth[kept], np.array(tables)[kept]), head)


if __name__ == "__main__":
    main()
