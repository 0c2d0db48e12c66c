"""Data that a histogram answers: value and interval over twenty seeds, against the truth.

    python -m benchmarks.accuracy.easy

Positives are normal around 0, negatives normal around a point that is far away. For each case: the
mean error, the bias, the share of 95 % intervals that hold, their mean width and mean lower end, of
RCQ, of RCQ told that positives are recognisable, of RCQ with the sample to learn from, and of PAT.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.printing import print_rows
from poscount import PAT, RCQ


class Case(NamedTuple):
    """Sizes, number of columns, truth, and how far away negatives are in each column."""

    n_labeled: int
    n_rows: int
    n_columns: int
    truth: float
    away: float = 30.0


CASES = {
    "far negatives": Case(400, 1_000, 5, 0.30),
    "two columns": Case(2_000, 1_000, 2, 0.90, 8.0),
    "20,000 labels": Case(20_000, 100_000, 4, 0.90, 8.0),
    "50,000 labels": Case(50_000, 100_000, 4, 0.90, 8.0),
    "truth .95": Case(400, 1_000, 5, 0.95),
    "only positives, 168 rows": Case(400, 168, 5, 1.0),
    "only positives, 10,000 rows": Case(400, 10_000, 5, 1.0),
}
SEEDS = range(20)


def draw(case: Case, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Positives and a sample."""
    rng = np.random.default_rng(seed)
    sample = rng.normal(size=(case.n_rows, case.n_columns))
    sample[round(case.truth * case.n_rows) :] += case.away
    return rng.normal(size=(case.n_labeled, case.n_columns)), sample


def answers(case: Case, seed: int) -> np.ndarray:
    """Value, lower and upper end of each method."""
    warnings.simplefilter("ignore")
    positives, sample = draw(case, seed)
    models = [
        RCQ(random_state=0).fit(positives),
        RCQ(recognisable=True, random_state=0).fit(positives),
        RCQ(random_state=0).fit(positives, unlabeled=sample),
        PAT(random_state=0).fit(positives),
    ]
    found = [model.quantify(sample) for model in models]
    return np.array([[float(p), p.interval.low, p.interval.high] for p in found])


def main() -> None:
    """Print the table."""
    rows = []
    for name, case in CASES.items():
        found = np.array(Parallel(2)(delayed(answers)(case, seed) for seed in SEEDS))
        names = ("RCQ", "recognisable", "the sample to learn from", "PAT")
        for method, (value, low, high) in zip(names, found.transpose(1, 2, 0), strict=True):
            rows.append(
                [
                    *(name, f"{case.truth:g}", method),
                    f"{100 * np.abs(value - case.truth).mean():.1f}",
                    f"{100 * (value - case.truth).mean():+.1f}",
                    f"{np.mean((low <= case.truth) & (case.truth <= high)):.2f}",
                    *(f"{100 * (high - low).mean():.1f}", f"{low.mean():.3f}"),
                ]
            )
    print_rows(rows, ["case", "truth", "method", "error", "bias", "held", "width", "lower end"])


if __name__ == "__main__":
    main()
