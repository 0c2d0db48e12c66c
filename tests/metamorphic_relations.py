"""Changes to data that should not change an answer, and by how much each method's does change.

`BOUNDS` is what the methods declare: a relation that is not in a method's entry holds exactly. The
bounds are about three times the largest change on the data sets 100 to 105 (``python
tests/metamorphic_relations.py``, which prints a table in points), because twice was not enough on
the data sets 0 (ODIn) and 2 (EN); for a huge value, where one data set may be far from the others,
on those up to 117. A bound of 100 is none. The tests hold the methods to them on another data set.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from poscount import registry

# In points. Sums in another order differ in the last bits, and an answer may show that.
EXACT = 1e-9
FOLDS = "folds are drawn by the place of a row, which another order changes"
COPIES = "copies count as evidence: what is only noise in the sample looks certain"
SHARE = "the share of labelled rows among all rows is part of the estimate"
CUTS = "where regions are cut depends on the place of a row and the order of columns"
AXES = "regions are cut along the columns"
UNITS = "distances are taken in the units of the columns, as published"
SCALED = "columns are standardised one by one, before a penalty on all coefficients"
PARTS = "it is one of its parts, and moves as they do"
SPREAD = "means and spreads are of all rows, and a huge value is most of them in its column"
WIDTH = "the width of the kernel is by its definition from the variance of all values together"
ONE_ROW = "one row is another one, and so are folds and regions"


def _all(reason, **bounds):
    return {name.replace("_", " "): (bound, reason) for name, bound in bounds.items()}


# By method: what moves its answer, by how many points at most on data like these, and why.
BOUNDS = {
    "odin": _all(FOLDS, order_of_positives=15)
    | _all(SPREAD, huge_positive=100)
    | _all(ONE_ROW, huge_row=2),
    "pat": _all(FOLDS, order_of_positives=8)
    | _all(SPREAD, huge_positive=100)
    | _all(ONE_ROW, huge_row=4),
    "rcq": _all(COPIES, sample_twice=30, sample_5_times=68)
    | _all(AXES, rotation=12)
    | _all(SPREAD, huge_positive=100)
    | _all(ONE_ROW, huge_row=2),
    "subclassrcq": _all(COPIES, sample_twice=30, sample_5_times=68)
    | _all(AXES, rotation=12)
    | _all(SPREAD, huge_positive=69)
    | _all(ONE_ROW, huge_row=4),
    "alphamax": _all(FOLDS, order_of_positives=15, order_of_rows=33)
    | _all(SHARE, sample_twice=36, sample_5_times=30)
    | _all(SCALED, rotation=33)
    | _all(SPREAD, huge_positive=51, huge_row=48),
    "bbe": _all(FOLDS, order_of_positives=6, order_of_rows=8)
    | _all(SHARE, sample_twice=6, sample_5_times=8)
    | _all(SCALED, rotation=8)
    | _all(SPREAD, huge_positive=19, huge_row=32),
    "dedpul": _all(FOLDS, order_of_positives=9, order_of_rows=8)
    | _all(SHARE, sample_twice=9, sample_5_times=9)
    | _all(SCALED, rotation=15)
    | _all(SPREAD, huge_positive=28, huge_row=39),
    "en": _all(FOLDS, order_of_positives=6, order_of_rows=15)
    | _all(SHARE, sample_twice=39, sample_5_times=93)
    | _all(UNITS, units_by_powers_of_two=57, units=18, shift=42, rotation=3)
    | _all(UNITS, column_over_a_million=18)
    | _all(WIDTH, column_times_a_million=100, column_plus_1e8=100)
    | _all(WIDTH, huge_positive=100, huge_row=100),
    "extice": _all(CUTS, order_of_positives=8, order_of_rows=8)
    | _all(SHARE, sample_twice=15, sample_5_times=57)
    | _all(AXES, rotation=42)
    | _all(ONE_ROW, huge_positive=1, huge_row=0.6),
    "km1": _all(SHARE, sample_twice=6, sample_5_times=60)
    | _all(UNITS, units_by_powers_of_two=30, units=21)
    | _all(UNITS, column_times_a_million=100, column_over_a_million=63)
    | _all(ONE_ROW, huge_positive=4, huge_row=5),
    "km2": _all(SHARE, sample_twice=6, sample_5_times=60)
    | _all(UNITS, units_by_powers_of_two=33, units=21)
    | _all(UNITS, column_times_a_million=100, column_over_a_million=57)
    | _all(ONE_ROW, huge_positive=7, huge_row=5),
    "pe": _all(FOLDS, order_of_positives=6, order_of_rows=6)
    | _all(SHARE, sample_twice=18, sample_5_times=78)
    | _all(UNITS, units_by_powers_of_two=15, units=21)
    | _all(UNITS, column_times_a_million=100, column_over_a_million=14)
    | _all(ONE_ROW, huge_positive=4, huge_row=2),
    "penl1": _all(FOLDS, order_of_positives=24, order_of_rows=18)
    | _all(SHARE, sample_twice=60, sample_5_times=60)
    | _all(UNITS, units_by_powers_of_two=56, units=42)
    | _all(UNITS, column_times_a_million=99, column_over_a_million=39)
    | _all(ONE_ROW, huge_positive=3, huge_row=2),
    "ranfoce": _all(CUTS, order_of_columns=8)
    | _all(SHARE, sample_twice=0.5, sample_5_times=0.5)
    | _all(AXES, rotation=12)
    | _all(ONE_ROW, huge_positive=3, huge_row=3),
    "tice": _all(CUTS, order_of_positives=33, order_of_rows=15, order_of_columns=12)
    | _all(SHARE, sample_twice=27, sample_5_times=27)
    | _all(AXES, rotation=27)
    | _all(ONE_ROW, huge_positive=14, huge_row=8),
    "trcq": _all(COPIES, sample_twice=30, sample_5_times=68)
    | _all(AXES, rotation=24)
    | _all(SPREAD, huge_positive=19, huge_row=24),
    "minimum": _all(PARTS, order_of_positives=8, order_of_rows=8, rotation=42)
    | _all(PARTS, sample_twice=15, sample_5_times=57)
    | _all(PARTS, huge_positive=34, huge_row=4),
}

_ROTATION, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))
_FACTORS, _POWERS = np.array([3.7, 0.11, 25.0]), np.array([2.0, 0.25, 64.0])
_SHIFT = np.array([3.0, -50.0, 0.7])


# About 1e8, and with the values of `data` the sum is exact.
_FAR = np.array([0.0, 2.0**27, 0.0])


def _shuffled(rows):
    return np.random.default_rng(9).permutation(rows)


def _of_a_column(factor):
    return np.array([1.0, factor, 1.0])


def _with_a_huge_value(rows):
    rows = rows.copy()
    rows[0, 0] = 1e12
    return rows


RELATIONS = {
    "order of positives": lambda p, u: (_shuffled(p), u),
    "order of rows": lambda p, u: (p, _shuffled(u)),
    "order of columns": lambda p, u: (p[:, [2, 0, 1]], u[:, [2, 0, 1]]),
    "sample twice": lambda p, u: (p, np.tile(u, (2, 1))),
    "sample 5 times": lambda p, u: (p, np.tile(u, (5, 1))),
    "one unit": lambda p, u: (64 * p, 64 * u),
    "units by powers of two": lambda p, u: (_POWERS * p, _POWERS * u),
    "units": lambda p, u: (_FACTORS * p, _FACTORS * u),
    "shift": lambda p, u: (p + _SHIFT, u + _SHIFT),
    "rotation": lambda p, u: (p @ _ROTATION, u @ _ROTATION),
    "column times a million": lambda p, u: (p * _of_a_column(2.0**20), u * _of_a_column(2.0**20)),
    "column over a million": lambda p, u: (p * _of_a_column(2.0**-20), u * _of_a_column(2.0**-20)),
    "column plus 1e8": lambda p, u: (p + _FAR, u + _FAR),
    "huge positive": lambda p, u: (_with_a_huge_value(p), u),
    "huge row": lambda p, u: (p, _with_a_huge_value(u)),
}


def data(seed):
    """Positives, and a sample of which some part is positive and the rest overlaps with them."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(3, 3)) + 2 * np.eye(3)
    n_positive = int(200 * rng.uniform(0.2, 0.7))
    sample = rng.normal(size=(200, 3))
    sample[n_positive:] += 2.2
    positives, sample = rng.normal(size=(150, 3)) @ mixing, rng.permutation(sample) @ mixing
    # Far from the origin, too, these are numbers of double precision.
    return np.round(positives * 2**20) / 2**20, np.round(sample * 2**20) / 2**20


def changes(method, seed, relations=RELATIONS):
    """By how many points each relation changes the answer of a method."""

    def answer(positives, sample):
        model = registry.method(method)(random_state=0)
        return float(model.fit(np.ascontiguousarray(positives)).quantify(np.array(sample)))

    rows = data(seed)
    plain = answer(*rows)
    return {name: 100 * abs(answer(*RELATIONS[name](*rows)) - plain) for name in relations}


def main():
    """Print the largest changes of each method over some data sets."""
    parser = argparse.ArgumentParser(description="Largest changes of answers, in points.")
    parser.add_argument("--data-sets", type=int, default=6)
    parser.add_argument("--first", type=int, default=100)
    parser.add_argument("--only", nargs="+", choices=registry.METHODS, default=registry.METHODS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| | " + " | ".join(RELATIONS) + " |")
    print("|---" + "|---:" * len(RELATIONS) + "|")
    for method in given.only:
        found = [changes(method, given.first + i) for i in range(given.data_sets)]
        worst = (max(each[name] for each in found) for name in RELATIONS)
        cells = ("exact" if most <= EXACT else f"{most:.1f}" for most in worst)
        print(f"| {method} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
