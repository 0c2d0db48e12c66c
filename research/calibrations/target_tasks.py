"""Tasks with labelled rows of several targets, and samples that hold unknown rows as well."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from poscount.checks.few_positives import FEWEST_POSITIVES
from poscount.training.bank import Family
from poscount.training.sources import Source
from poscount.training.tasks import (
    Draw,
    Limits,
    choose_columns,
    clusters,
    draw_n_labeled,
    log_uniform,
    some_of,
    unit_vector,
)

MOST_GROUPS = 10
# Tasks in which groups may be several classes at once, and tasks with all other classes as "other".
SEVERAL_CLASSES, ALL_OTHERS = 0.2, 0.6
FEW_LABELED = 40
# Of the rows of a group, those that are learned from at most.
MOST_LABELED = 0.5
FEWEST_ROWS = 100
# Samples without anything unknown, and samples of nothing else.
NO_OTHER, ONLY_OTHER = 0.15, 0.05


class TargetTask(NamedTuple):
    """Labelled rows of several groups, and where rows of samples come from.

    Attributes
    ----------
    labeled : list of ndarray of shape (n_rows, n_features)
        Of each group.
    pools : list of callable
        Rows at random of each group, and last of all others: of a number of rows and a generator.
    available : ndarray of int
        How many rows these can give.
    """

    labeled: list[np.ndarray]
    pools: list[Draw]
    available: np.ndarray


class TargetSample(NamedTuple):
    """Unlabeled rows, and the share of each group among them."""

    rows: np.ndarray
    shares: np.ndarray


def draw_target_task(
    source: Source | Family, rng: np.random.Generator, limits: Limits
) -> TargetTask:
    """A task from labelled rows; or, if the source is a family, from clusters."""
    if isinstance(source, Family):
        return _of_clusters(rng, limits)
    return _of_classes(source, rng, limits)


def _of_classes(source: Source, rng: np.random.Generator, limits: Limits) -> TargetTask:
    kinds, sizes = np.unique(source.classes, return_counts=True)
    kinds = rng.permutation(kinds[sizes * MOST_LABELED >= FEWEST_POSITIVES])
    n_groups = int(rng.integers(2, min(MOST_GROUPS, len(kinds)) + 1))
    spare = len(kinds) - n_groups
    largest = 3 if rng.random() < SEVERAL_CLASSES else 1
    features = source.features[:, choose_columns(source, rng)]
    features = features[:, features.std(axis=0) > 0]
    order, members = iter(kinds), []
    for _ in range(n_groups):
        more = min(int(rng.integers(1, largest + 1)) - 1, spare)
        spare -= more
        members.append([next(order) for _ in range(1 + more)])
    others = list(order)
    if others and rng.random() >= ALL_OTHERS:
        others = others[: int(rng.integers(1, len(others) + 1))]
    base = draw_n_labeled(rng, limits.n_labeled, few=FEW_LABELED)
    labeled, rest = [], []
    for classes in members:
        rows = features[rng.permutation(np.flatnonzero(np.isin(source.classes, classes)))]
        n = _of_group(base, math.floor(MOST_LABELED * len(rows)), rng)
        labeled.append(rows[:n])
        rest.append(rows[n:])
    rest.append(features[np.isin(source.classes, others)])
    return TargetTask(labeled, [some_of(pool) for pool in rest], np.array([*map(len, rest)]))


def _of_clusters(rng: np.random.Generator, limits: Limits) -> TargetTask:
    """Clusters, Gaussian or heavy-tailed; some of the unknown ones lie next to a known one."""
    d = log_uniform(rng, 2, 30)
    heavy = rng.choice([0, 3, 5], p=[0.6, 0.2, 0.2])
    apart = rng.uniform(0.5, 3.0)

    def group() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        centres, mixing, weights = clusters(rng, d, apart)
        return centres + unit_vector(rng, d) * rng.uniform(0.5, 4), mixing, weights

    n_groups = int(rng.integers(2, MOST_GROUPS + 1))
    known = [group() for _ in range(n_groups)]
    unknown = [group() for _ in range(int(rng.integers(1, 5)))]
    if rng.random() < 0.4:
        centres, mixing, weights = known[int(rng.integers(n_groups))]
        unknown.append((centres + unit_vector(rng, d) * rng.uniform(1, 4), mixing, weights))

    def rows_of(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Draw:
        def draw(n: int, rng: np.random.Generator) -> np.ndarray:
            noise = rng.normal(size=(n, d))
            if heavy:
                noise /= np.sqrt(rng.chisquare(heavy, size=(n, 1)) / heavy)
            part = rng.integers(len(parts), size=n)
            rows = np.empty((n, d))
            for i, (centres, mixing, weights) in enumerate(parts):
                here = np.flatnonzero(part == i)
                cluster = rng.choice(len(weights), len(here), p=weights)
                rows[here] = centres[cluster] + np.einsum(
                    "nd,nde->ne", noise[here], mixing[cluster]
                )
            return rows

        return draw

    base = draw_n_labeled(rng, limits.n_labeled, few=FEW_LABELED)
    pools = [*(rows_of([one]) for one in known), rows_of(unknown)]
    labeled = [pool(_of_group(base, limits.n_labeled, rng), rng) for pool in pools[:-1]]
    return TargetTask(labeled, pools, np.full(len(pools), limits.n_rows))


def _of_group(base: int, most: int, rng: np.random.Generator) -> int:
    return min(most, max(FEWEST_POSITIVES, round(base * rng.uniform(0.5, 1.5))))


def draw_target_samples(
    task: TargetTask, rng: np.random.Generator, limits: Limits
) -> list[TargetSample]:
    """Samples of random sizes and shares."""
    return [_draw_sample(task, rng, limits) for _ in range(limits.n_samples)]


def _draw_sample(task: TargetTask, rng: np.random.Generator, limits: Limits) -> TargetSample:
    shares = draw_shares(len(task.labeled), rng)
    shares[task.available == 0] = 0.0
    if not shares.any():
        shares[0] = 1.0
    shares /= shares.sum()
    most = int((task.available / np.maximum(shares, 1e-9)).min())
    n = log_uniform(rng, min(FEWEST_ROWS, most), min(limits.n_rows, most))
    sizes = np.minimum(rng.multinomial(n, shares), task.available)
    rows = [pool(size, rng) for pool, size in zip(task.pools, sizes.tolist(), strict=True) if size]
    return TargetSample(np.concatenate(rows), sizes[:-1] / sizes.sum())


def draw_shares(n_groups: int, rng: np.random.Generator) -> np.ndarray:
    """Shares of groups, and last of all others: any, with some at zero and some rare."""
    shares = rng.dirichlet(np.full(n_groups + 1, rng.choice([0.5, 1.0, 3.0])))
    gone = rng.random(n_groups) < rng.choice([0.0, 0.2, 0.5])
    rare = rng.random(n_groups) < rng.choice([0.0, 0.3])
    shares[:-1] *= np.where(gone, 0.0, np.where(rare, 0.03, 1.0))
    kind = rng.random()
    if kind < NO_OTHER:
        shares[-1] = 0.0
    elif kind < NO_OTHER + ONLY_OTHER:
        shares[:-1] = 0.0
    return shares / max(float(shares.sum()), 1e-12)
