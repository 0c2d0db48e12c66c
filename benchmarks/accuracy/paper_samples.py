"""The samples of `peers.py` and `bootstrap_coverage.py`, as the tables in the docs have them.

They are drawn as those of Experiment #1 (`research.experiments.protocols`), but one generator draws
all samples of a repetition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from research.datasets import load


class Task(NamedTuple):
    """One evaluation: learn from `positives`, then say the `truth` of `sample`."""

    truth: float
    positives: np.ndarray
    sample: np.ndarray


def experiment_1(letter: str, repetition: int) -> Iterator[Task]:
    """Five folds times eleven prevalences of one repetition.

    The tasks depend on the data set and the repetition alone, so that every method gets the same.
    """
    data = load(letter)
    features, positive = data.features, data.is_positive
    rng = np.random.default_rng([repetition, *letter.encode()])
    folds = np.array_split(rng.permutation(len(positive)), 5)
    for i, fold in enumerate(folds):
        labeled = rng.permutation(fold[positive[fold]])[:500]
        rest = np.concatenate(folds[:i] + folds[i + 1 :])
        positives, negatives = rest[positive[rest]], rest[~positive[rest]]
        size = min(len(positives), len(negatives), 2000)
        for tenth in range(11):
            n_positives = tenth * size // 10
            drawn = np.concatenate(
                [
                    rng.choice(positives, n_positives, replace=False),
                    rng.choice(negatives, size - n_positives, replace=False),
                ]
            )
            yield Task(n_positives / size, features[labeled], features[drawn])
