"""Tasks whose truth is known: positives to learn from, and samples of a known prevalence.

Some samples were recorded a little differently than the positives; and trees that know both sides
tell whether the positives of a task are recognisable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from poscount.methods.regions.recording import means_and_spreads
from poscount.training.sources import FEWEST_NEGATIVES, FEWEST_POSITIVES, Source

FEWEST_LABELED, USUAL_LABELED, FEWEST_ROWS = 20, 100, 30
FEWEST_IN_REFERENCE, MOST_IN_REFERENCE = 50, 8_000
ALL_POSITIVE = OF_NO_FIELD = 0.05
# Of tasks with all columns, with one to three, with all other classes as negatives, and with a
# single class as positives.
ALL_COLUMNS, FEW_COLUMNS, ALL_OTHERS, SINGLE = 0.7, 0.06, 0.6, 0.5
MOST_CLASSES = 10


# Rows at random: of a number of rows and a generator.
Draw = Callable[[int, np.random.Generator], np.ndarray]


class Limits(NamedTuple):
    """How large tasks become: positives to learn from, rows in a sample, samples of a task.

    And whether the positives of most of them come in kinds whose shares drift.
    """

    n_labeled: int
    n_rows: int
    n_samples: int
    drift: bool = False


class Task(NamedTuple):
    """Positives and negatives, of which some rows have been set aside for learning.

    Attributes
    ----------
    labeled : ndarray of shape (n_labeled, n_features)
        Positives to learn from.
    positives, negatives : callable
        Rows to make samples of: a function of the number of rows and a generator.
    most_positives, most_negatives : int
        How many rows these can give.
    kinds : ndarray of int, shape (n_labeled,), or None
        Kind of each positive to learn from, if the task tells them.
    words : tuple of int
        Columns that hold codes of words.
    """

    labeled: np.ndarray
    positives: Draw
    negatives: Draw
    most_positives: int
    most_negatives: int
    kinds: np.ndarray | None = None
    words: tuple[int, ...] = ()


class Sample(NamedTuple):
    """Unlabeled rows and the share of positives among them."""

    rows: np.ndarray
    prevalence: float


def draw_prevalence(rng: np.random.Generator) -> float:
    """A prevalence as users meet them: none, all, rare, nearly all, or anything.

    0 in 12 % of the tasks, 1 in 10 %, log-uniform from .001 to .05 in 22 %, 1 minus that in 8 %,
    and uniform in the other 48 %. What is learned from tasks takes this as its prior.
    """
    kind = rng.random()
    if kind < 0.12:
        return 0.0
    if kind < 0.22:
        return 1.0
    if kind < 0.44:
        return math.exp(rng.uniform(math.log(0.001), math.log(0.05)))
    if kind < 0.52:
        return 1 - math.exp(rng.uniform(math.log(0.001), math.log(0.05)))
    return rng.random()


def draw_samples(task: Task, rng: np.random.Generator, limits: Limits) -> Iterator[Sample]:
    """Samples of random sizes and prevalences."""
    for _ in range(limits.n_samples):
        p = draw_prevalence(rng)
        most = min(
            limits.n_rows,
            math.floor(task.most_positives / max(p, 1e-9)),
            math.floor(task.most_negatives / max(1 - p, 1e-9)),
        )
        n = max(log_uniform(rng, FEWEST_ROWS, most) for _ in range(rng.choice([1, 2, 3])))
        n_positives = round(p * n)
        rows = [task.positives(n_positives, rng), task.negatives(n - n_positives, rng)]
        yield Sample(np.concatenate(rows), n_positives / n)


def draw_reference(task: Task, rng: np.random.Generator) -> np.ndarray:
    """Unlabeled rows of the same field: few or many of them, positives seldom most of them.

    Their number is log-uniform, in three of four tasks from 500 on; their prevalence is uniform in
    a third of the tasks, and in the others half of the square of a uniform number. In one task of
    twenty all are positives, and in another one they are of no field at all: every column is
    shuffled by itself.
    """
    p = rng.random() if rng.random() < 1 / 3 else 0.5 * rng.random() ** 2
    kind = rng.random()
    p = 1.0 if kind < ALL_POSITIVE else p
    most = min(
        MOST_IN_REFERENCE,
        math.floor(task.most_positives / max(p, 1e-9)),
        math.floor(task.most_negatives / max(1 - p, 1e-9)),
    )
    n = log_uniform(rng, FEWEST_IN_REFERENCE if rng.random() < 0.25 else 500, most)
    n_positives = round(p * n)
    rows = np.concatenate([task.positives(n_positives, rng), task.negatives(n - n_positives, rng)])
    return rng.permuted(rows, axis=0) if kind > 1 - OF_NO_FIELD else rows


def log_uniform(rng: np.random.Generator, low: int, high: int) -> int:
    """A whole number whose logarithm is uniform."""
    low, high = max(1, min(low, high)), max(1, high)
    return round(math.exp(rng.uniform(math.log(low), math.log(high))))


def draw_n_labeled(
    rng: np.random.Generator, most: int, few: int = FEWEST_LABELED, usual: int = USUAL_LABELED
) -> int:
    """Number of positives: at least `usual`, or in one of four tasks at least `few`."""
    return log_uniform(rng, few if rng.random() < 0.25 else usual, most)


def draw_real(source: Source, rng: np.random.Generator, limits: Limits) -> Task:
    """A task from labelled rows: some classes as positives, some of the others as negatives."""
    positive, negative = choose_classes(source, rng)
    columns = choose_columns(source, rng)
    features = source.features[:, columns]
    rows = rng.permutation(np.flatnonzero(positive))
    most = min(limits.n_labeled, math.floor(0.6 * len(rows)))
    n_labeled = draw_n_labeled(rng, most)
    labeled, rest = features[rows[:n_labeled]], features[rows[n_labeled:]]
    others_rows = features[negative]
    words = tuple(np.flatnonzero(np.isin(columns, source.words)).tolist())
    task = Task(
        labeled, some_of(rest), some_of(others_rows), len(rest), len(others_rows), words=words
    )
    return task if source.change is None else source.change(task, rng)


def choose_classes(
    source: Source, rng: np.random.Generator, several: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of some classes as positives and of some others as negatives, as two masks.

    Parameters
    ----------
    source : Source
    rng : Generator
    several : bool
        Whether there are to be at least two classes of positives; then at most ten.
    """
    kinds = np.unique(source.classes)
    while True:
        order = rng.permutation(kinds)
        if several:
            n_positive = int(rng.integers(2, min(MOST_CLASSES, len(kinds) - 1) + 1))
        else:
            n_positive = 1 if rng.random() < SINGLE else int(rng.integers(1, len(kinds)))
        others = len(kinds) - n_positive
        n_negative = others if rng.random() < ALL_OTHERS else int(rng.integers(1, others + 1))
        positive = np.isin(source.classes, order[:n_positive])
        negative = np.isin(source.classes, order[n_positive : n_positive + n_negative])
        if positive.sum() >= FEWEST_POSITIVES and negative.sum() >= FEWEST_NEGATIVES:
            return positive, negative


def choose_columns(source: Source, rng: np.random.Generator) -> np.ndarray:
    """All columns of a source, or a part of them."""
    n_features = source.features.shape[1]
    kind = rng.random()
    if kind < ALL_COLUMNS:
        n_columns = n_features
    elif kind < ALL_COLUMNS + FEW_COLUMNS:
        n_columns = int(rng.integers(1, min(3, n_features) + 1))
    else:
        n_columns = int(rng.integers(math.ceil(n_features / 3), n_features + 1))
    return np.asarray(rng.choice(n_features, n_columns, replace=False))


def some_of(pool: np.ndarray) -> Draw:
    """Rows of a pool, each at most once."""
    return lambda n, rng: pool[rng.choice(len(pool), n, replace=False)]


def draw_mixture(rng: np.random.Generator, limits: Limits) -> Task:
    """Clusters against clusters, Gaussian or heavy-tailed, overlapping in one of several ways."""
    d = log_uniform(rng, 2, 30) if rng.random() < 0.9 else log_uniform(rng, 30, 100)
    heavy = rng.choice([0, 3, 5], p=[0.6, 0.2, 0.2])
    apart = rng.uniform(0.5, 4.0)
    ours = clusters(rng, d, apart)
    theirs = clusters(rng, d, apart)
    theirs[0][:] += unit_vector(rng, d) * rng.uniform(1, 6)
    kind = rng.random()
    if kind < 0.4 and len(ours[2]) > 1:  # a part of the negatives on one cluster of the positives
        share = rng.uniform(0.05, 1)
        k = int(rng.integers(len(ours[2])))
        theirs = (
            np.vstack([theirs[0], ours[0][k]]),
            np.concatenate([theirs[1], ours[1][[k]]]),
            np.append(theirs[2] * (1 - share), share),
        )
    elif kind < 0.5:  # inside the positives
        centre = (ours[0] * ours[2][:, np.newaxis]).sum(axis=0)
        theirs = (centre[np.newaxis], ours[1][[0]] * rng.uniform(0.2, 0.7), np.ones(1))
    elif kind < 0.6:  # the positives again, shifted by little
        shift = unit_vector(rng, d) * rng.uniform(1, 4)
        theirs = (ours[0] + shift, ours[1], ours[2])
    coarse = rng.uniform(0.1, 1.5) if rng.random() < 0.15 else 0.0
    skewed = rng.random() < 0.15

    def rows_of(side: tuple, drift: bool = False) -> Draw:
        def draw(n: int, rng: np.random.Generator) -> np.ndarray:
            shares = drifted_shares(side[2], rng) if drift else side[2]
            cluster = rng.choice(len(shares), n, p=shares)
            noise = rng.normal(size=(n, d))
            if heavy:
                noise /= np.sqrt(rng.chisquare(heavy, size=(n, 1)) / heavy)
            rows = np.empty((n, d))
            for k in range(len(side[2])):
                rows[cluster == k] = side[0][k] + noise[cluster == k] @ side[1][k]
            if skewed:
                rows = np.exp(np.clip(rows / 2, -20, 20))
            return np.round(rows / coarse) * coarse if coarse else rows

        return draw

    task = endless(rows_of(ours), rows_of(theirs), rng, limits)
    return task._replace(positives=rows_of(ours, drift=True)) if limits.drift else task


def drifted_shares(shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Shares of kinds in a sample, given those among the positives that were learned from.

    The same in 3 of 10 samples; the powers of two in a random order, as in published protocols, in
    2; and from a Dirichlet distribution, even or uneven, in the others.
    """
    kind = rng.random()
    if kind < 0.3:
        return shares
    if kind < 0.5:
        powers = 2.0 ** rng.permutation(len(shares))
        return powers / powers.sum()
    return rng.dirichlet(np.full(len(shares), rng.choice([0.5, 1.0, 3.0])))


def unit_vector(rng: np.random.Generator, d: int) -> np.ndarray:
    """A vector of length 1."""
    vector = rng.normal(size=d)
    return vector / np.linalg.norm(vector)


def clusters(
    rng: np.random.Generator, d: int, apart: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres, mixing matrices and weights of one to five clusters."""
    k = int(rng.integers(1, 6))
    centres = rng.normal(size=(k, d)) * apart * rng.choice([1.0, 1 / math.sqrt(d)])
    scales = np.exp(rng.normal(size=(k, 1, d)) * 0.4)
    rotations = np.array([np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(k)])
    return centres, scales * rotations, rng.dirichlet(np.full(k, 2.0))


def endless(positives: Draw, negatives: Draw, rng: np.random.Generator, limits: Limits) -> Task:
    """A task from two distributions."""
    labeled = positives(draw_n_labeled(rng, limits.n_labeled), rng)
    return Task(labeled, positives, negatives, limits.n_rows, limits.n_rows)


# What users may allow for, in standard deviations of the positives, and the share of such samples
# that do differ.
SMALLEST_TOLERANCE, LARGEST_TOLERANCE = 0.02, 0.25
SHARE_DIFFERENT = 0.6
# A single column may differ by more than all of them, and so may noise, which is independent.
ONE_COLUMN, NOISE = 4.0, 2.0


def draw_tolerance(rng: np.random.Generator) -> float:
    """A tolerance that a user might choose."""
    return float(rng.uniform(SMALLEST_TOLERANCE, LARGEST_TOLERANCE))


def record_differently(
    task: Task, rows: np.ndarray, tolerance: float, rng: np.random.Generator
) -> np.ndarray:
    """Rows of a sample as they are, in two of five samples, or changed by up to the tolerance.

    In two of seven ways all columns are shifted by the same number of standard deviations, up or
    down; in two, by normal numbers; in the others, they are stretched around the positives' mean, a
    single one is shifted by more, or noise is added. Words stay.
    """
    amount = tolerance * rng.random()
    if rng.random() >= SHARE_DIFFERENT:
        return rows
    numbers = np.setdiff1d(np.arange(rows.shape[1]), task.words)
    labeled, changed = task.labeled[:, numbers], rows[:, numbers]
    if not len(numbers):
        return rows
    location, scale = means_and_spreads(labeled)
    kind, n_columns = rng.integers(7), len(numbers)
    if kind < 2:
        changed = changed + amount * scale * rng.choice([-1, 1], n_columns)
    elif kind < 4:
        changed = changed + amount * scale * rng.normal(size=n_columns)
    elif kind == 4:
        changed = location + (changed - location) * (1 + amount * rng.choice([-1, 1]))
    elif kind == 5:
        one = np.arange(n_columns) == rng.integers(n_columns)
        changed = changed + ONE_COLUMN * amount * scale * one
    else:
        changed = changed + NOISE * amount * scale * rng.normal(size=changed.shape)
    found = rows.copy()
    found[:, numbers] = changed
    return found


# Rows of each side that trees learn from, and the area under their ROC curve from which on a task
# is recognisable.
MOST_ROWS, LEAST_AREA = 300, 0.95
N_TREES = 25


def recognisable(task: Task, rng: np.random.Generator) -> bool:
    """Whether extra trees, which have labels of both sides, tell positives from negatives."""
    sides = [
        draw(min(MOST_ROWS, most), rng)
        for draw, most in (
            (task.positives, task.most_positives),
            (task.negatives, task.most_negatives),
        )
    ]
    classes = np.repeat([1, 0], [len(side) for side in sides])
    return areas(np.concatenate(sides), classes, rng)[-1] >= LEAST_AREA


def areas(rows: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Area under the ROC curve of each class against all others, for rows that trees did not see.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> classes = np.repeat([0, 1, 2], 50)
    >>> rows = rng.normal(size=(150, 2)) + 9 * (classes == 2)[:, np.newaxis]
    >>> areas(rows, classes, rng).round(1).tolist()[2]
    1.0
    """
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.metrics import roc_auc_score

    # Trees can tell missing values from others, if these are below all others.
    lowest = np.nanmin(np.where(np.isnan(rows), np.inf, rows), axis=0)
    rows = np.where(np.isnan(rows), np.where(np.isfinite(lowest), lowest, 0) - 1, rows)
    seen = rng.permutation(len(rows)) < len(rows) / 2
    trees = ExtraTreesClassifier(N_TREES, min_samples_leaf=2, random_state=rng.integers(2**31))
    votes = trees.fit(rows[seen], classes[seen]).predict_proba(rows[~seen])
    return np.array(
        [roc_auc_score(classes[~seen] == k, votes[:, i]) for i, k in enumerate(trees.classes_)]
    )
