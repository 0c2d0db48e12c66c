"""The paper's numbers: its tables as CSV files, and explanations where our numbers differ.

``paper_tables.csv`` and ``paper_times.csv`` hold every cell of the paper's tables of errors and of
seconds, ``handwritten_g.csv`` a part of the authors' raw results. ``deviations.csv`` explains where
our numbers differ: experiment, dataset, method (our name) and a sentence; an empty field stands for
every value.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

# The columns of the paper's main tables; its other methods have small tables of their own.
MAIN_COLUMNS = ("EN_auto", "EN_scale", "PE", "KM1", "KM2", "TIcE", "ExTIcE", "PAT_M", "BFT_M")

# Data sets that anybody can get, on which our numbers are compared with the paper's.
DATASETS = ("A", "C", "L", "P", "R", "W")

# Our data sets that are compared with the one of the paper that they stand in for.
STAND_INS = {"vowels-network": "B"}

# Their numbers of negative sub-classes: with fewer, a run of Experiment #3 is unfinished.
N_NEGATIVES = {"A": 9, "C": 1, "L": 25, "P": 9, "R": 1, "W": 1, "vowels-network": 8}


# The p-values that the paper states: table, two columns, p of Wilcoxon's rank-sum test.
STATED_TESTS = (
    ("1", "ExTIcE", "BFT_M", 1.0),
    ("1", "PAT_M", "ExTIcE", 0.2),
    ("3b", "PAT_M", "ExTIcE", 0.03),
    ("3a", "TIcE", "RanFocE", 0.36),
    ("3c", "TIcE", "RanFocE", 0.41),
)


class Published(NamedTuple):
    """One cell of the paper's tables, in points; with a standard deviation if it has one."""

    mae: float
    sd: float | None


@cache
def tables() -> dict[tuple[str, str, str], Published]:
    """Every cell with a number by (experiment, data set, column); ``"rank"`` is the printed rank.

    Examples
    --------
    >>> tables()["1", "W", "PAT_M"]
    Published(mae=2.23, sd=1.87)
    """
    return {
        (row["experiment"], row["dataset"], row["method"]): Published(
            float(row["mae_pct"]), float(row["sd_pct"]) if row["sd_pct"] else None
        )
        for row in _rows("paper_tables.csv")
        if row["mae_pct"]
    }


@cache
def seconds() -> dict[tuple[str, str], float]:
    """Seconds of Experiment #4 by (data set, column)."""
    return {
        (row["dataset"], row["method"]): float(row["seconds"])
        for row in _rows("paper_times.csv")
        if row["seconds"]
    }


@cache
def handwritten_g() -> dict[str, float]:
    """Errors of Experiment #3 on H with the letter g alone as negatives, by column, in points.

    Means over the eleven prevalences, from the authors' raw results: the tables do not have them.

    Examples
    --------
    >>> handwritten_g()["TIcE"]
    9.17
    """
    return {row["method"]: float(row["mae_pct"]) for row in _rows("handwritten_g.csv")}


def name_in_paper(dataset: str) -> str | None:
    """Letter of the paper's data set that ours is compared with, if there is one.

    Examples
    --------
    >>> name_in_paper("W"), name_in_paper("vowels-network"), name_in_paper("overlap-half")
    ('W', 'B', None)
    """
    return dataset if dataset in DATASETS else STAND_INS.get(dataset)


def comparable(experiment: str, dataset: str, column: str | None) -> Published | None:
    """Published cell that our results can be compared with, if there is one.

    Examples
    --------
    >>> comparable("2", "W", "PAT_M") is None  # the paper repeats Experiment #1 there
    True
    """
    letter = name_in_paper(dataset)
    if letter is None or column is None or repeats_experiment_1(experiment, letter, column):
        return None
    return tables().get((experiment, letter, column))


def repeats_experiment_1(experiment: str, letter: str, column: str) -> bool:
    """Whether a cell of a later experiment is that of #1 to the digit, as C's, R's and W's are.

    They have one negative sub-class. Of #3 the paper says so; in #2 its samples would be smaller.
    Only BFT was run again there.

    Examples
    --------
    >>> repeats_experiment_1("2", "W", "PAT_M"), repeats_experiment_1("2", "W", "BFT_M")
    (True, False)
    """
    cell = tables().get((experiment, letter, column))
    return experiment != "1" and cell is not None and cell == tables().get(("1", letter, column))


def datasets_in_order(names: Iterable[str]) -> list[str]:
    """Data sets in the order of the tables: those of the paper first."""
    return sorted(names, key=lambda name: (name not in DATASETS, name))


def ranked(names: Iterable[str]) -> list[str]:
    """Data sets that average ranks are over: vowels not beside the network learned from it.

    Examples
    --------
    >>> ranked(["vowels", "W", "vowels-network"])
    ['W', 'vowels-network']
    """
    found = datasets_in_order(names)
    return [name for name in found if name != "vowels" or "vowels-network" not in found]


def average_ranks(
    experiment: str, datasets: Sequence[str], columns: Sequence[str]
) -> dict[str, float]:
    """Average rank of each column over data sets, from the published errors.

    A method without a number shares the last places, as in the paper's printed row of ranks.

    Examples
    --------
    >>> average_ranks("1", ["A", "W"], ["TIcE", "PAT_M", "KM1"])
    {'TIcE': 2.5, 'PAT_M': 1.0, 'KM1': 2.5}
    """
    cells = tables()
    none = Published(np.inf, None)
    letters = [STAND_INS.get(dataset, dataset) for dataset in datasets]
    errors = [[cells.get((experiment, d, c), none).mae for c in columns] for d in letters]
    ranks = rankdata(np.array(errors).reshape(len(datasets), len(columns)), axis=1).mean(axis=0)
    return dict(zip(columns, ranks.tolist(), strict=True))


def errors(experiment: str, columns: Sequence[str]) -> dict[str, list[float]]:
    """Published errors of some columns by data set, where all of them have a number.

    Examples
    --------
    >>> errors("1", ["TIcE", "PAT_M"])["W"]
    [8.56, 2.23]
    """
    letters = dict.fromkeys(letter for e, letter, _ in tables() if e == experiment)
    cells = {letter: [tables().get((experiment, letter, c)) for c in columns] for letter in letters}
    return {
        letter: [cell.mae for cell in row if cell is not None]
        for letter, row in cells.items()
        if letter != "rank" and None not in row
    }


def explanation(experiment: str, dataset: str, method: str) -> str | None:
    """Why one of our cells differs, if that is known: the first row that fits."""
    for row in _rows("deviations.csv"):
        wanted = (row["experiment"], row["dataset"], row["method"])
        if all(w in ("", g) for w, g in zip(wanted, (experiment, dataset, method), strict=True)):
            return row["sentence"]
    return None


@cache
def _rows(name: str) -> tuple[dict[str, str], ...]:
    text = files(__name__).joinpath(name).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))
