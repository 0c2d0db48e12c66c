"""The paper's data sets and the sampling of its Experiments #1 and #3, for the benchmarks here."""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

SHARED = Path(__file__).resolve().parents[2] / "shared"
DATA = Path(os.environ.get("POSCOUNT_DATA", SHARED / "data"))


class Source(NamedTuple):
    """Where a data set is, and which class is positive."""

    file: str
    positive: str
    negatives: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


SOURCES = {
    "A": Source("arabic_digit", "0", dropped=("sex",)),
    "C": Source("anuran_calls", "Hylidae", ("Leptodactylidae",), ("genus", "species")),
    "L": Source("letter", "W"),
    "P": Source("pendigits", "5"),
    "R": Source("htru2", "1"),
    "W": Source("wine", "red"),
    "vowels": Source("japanese_vowels", "1"),
    "q-g": Source("handwritten_qg", "q", dropped=("author",)),
}
PAPER_SETS = ("A", "C", "L", "P", "R", "W")


class Task(NamedTuple):
    """One evaluation: learn from `positives`, then say the `truth` of `sample`."""

    repetition: int
    fold: int
    truth: float
    positives: np.ndarray
    sample: np.ndarray


def load(letter: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of a data set, with only the classes that the paper uses."""
    source = SOURCES[letter]
    with gzip.open(DATA / f"{source.file}.csv.gz", "rt", newline="") as file:
        header, *rows = csv.reader(file)
    columns = [i for i, name in enumerate(header[:-1]) if name not in source.dropped]
    if source.negatives:
        rows = [row for row in rows if row[-1] in (source.positive, *source.negatives)]
    features = np.array([[row[i] for i in columns] for row in rows], dtype=np.float64)
    return features, np.array([row[-1] for row in rows])


def experiment_1(letter: str, repetition: int) -> Iterator[Task]:
    """Five folds times eleven prevalences of one repetition of Experiment #1.

    The tasks depend on the data set and the repetition alone, so that every method gets the same.
    """
    features, labels = load(letter)
    positive = labels == SOURCES[letter].positive
    rng = np.random.default_rng([repetition, *letter.encode()])
    yield from _tasks(features, positive, repetition, rng)


def experiment_3(letter: str, repetition: int) -> Iterator[tuple[str, Task]]:
    """Experiment #1 once per negative sub-class, with that one alone as negatives."""
    features, labels = load(letter)
    positive = labels == SOURCES[letter].positive
    for negative in sorted(set(labels[~positive])):
        chosen = positive | (labels == negative)
        rng = np.random.default_rng([repetition, *letter.encode(), *str(negative).encode()])
        for task in _tasks(features[chosen], positive[chosen], repetition, rng):
            yield str(negative), task


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
