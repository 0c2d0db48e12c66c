"""The sampling of the paper's Experiments #1 and #3, for the benchmarks here."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from research.datasets import load

SHARED = Path(__file__).resolve().parents[2] / "shared"
if (SHARED / "data").is_dir():
    os.environ.setdefault("POSCOUNT_DATA", str(SHARED / "data"))

PAPER_SETS = ("A", "C", "L", "P", "R", "W")


class Task(NamedTuple):
    """One evaluation: learn from `positives`, then say the `truth` of `sample`."""

    repetition: int
    fold: int
    truth: float
    positives: np.ndarray
    sample: np.ndarray


def experiment_1(letter: str, repetition: int) -> Iterator[Task]:
    """Five folds times eleven prevalences of one repetition of Experiment #1.

    The tasks depend on the data set and the repetition alone, so that every method gets the same.
    """
    data = load(letter)
    rng = np.random.default_rng([repetition, *letter.encode()])
    yield from _tasks(data.features, data.is_positive, repetition, rng)


def experiment_3(letter: str, repetition: int) -> Iterator[tuple[str, Task]]:
    """Experiment #1 once per negative sub-class, with that one alone as negatives."""
    data = load(letter)
    for negative in data.negatives:
        chosen = data.is_positive | (data.labels == negative)
        rng = np.random.default_rng([repetition, *letter.encode(), *negative.encode()])
        for task in _tasks(data.features[chosen], data.is_positive[chosen], repetition, rng):
            yield negative, task


def _tasks(
    features: np.ndarray, positive: np.ndarray, repetition: int, rng: np.random.Generator
) -> Iterator[Task]:
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
            truth = n_positives / size
            yield Task(repetition, i, truth, features[labeled], features[drawn])


def published(method: str, experiment: str = "1") -> dict[str, float]:
    """MAE in points by data set: from the paper's table, or the raw results of Experiment #1."""
    with open(SHARED / "reference" / "paper_tables.csv", newline="") as file:
        table = {
            row["dataset"]: float(row["mae_pct"])
            for row in csv.DictReader(file)
            if (row["experiment"], row["method"]) == (experiment, method) and row["mae_pct"]
        }
    if table:
        return table
    raw: dict[str, list[float]] = {}
    with gzip.open(SHARED / "reference" / "authors_results.csv.gz", "rt", newline="") as file:
        for row in csv.DictReader(file):
            if row["experiment"] == "1" and row["method"] == method:
                raw.setdefault(row["dataset"], []).append(float(row["mae_pct"]))
    return {dataset: float(np.mean(errors)) for dataset, errors in raw.items()}
