"""Tasks from labelled rows whose positives come in kinds, with other shares in each sample."""

from __future__ import annotations

import math

import numpy as np

from poscount.checks.few_positives import FEWEST_POSITIVES
from poscount.methods.regions.partition import k_means
from poscount.training.sources import Source
from poscount.training.tasks import (
    Draw,
    Limits,
    Task,
    choose_classes,
    choose_columns,
    draw_n_labeled,
    draw_real,
    drifted_shares,
    some_of,
)

# Tasks whose positives are drawn as for RCQ alone; and whose kinds are classes, if the source has
# three of them. In the others, the kinds are clusters.
WITHOUT_DRIFT, CLASSES = 0.35, 0.45
# Of those with kinds, tasks that tell which positive is of which kind; and tasks with the shares of
# the source among the positives that are learned from.
TOLD, AS_THEY_ARE = 0.25, 0.4
MOST_CLUSTERS = 8
# So many rows are enough to find clusters.
MOST_ROWS = 2_000
# Of a kind that are learned from.
MOST_OF_KIND = 0.7
FEW_LABELED, USUAL_LABELED = 80, 200


def draw_drift_task(source: Source, rng: np.random.Generator, limits: Limits) -> Task:
    """A task in which kinds of positives have other shares in a sample than in what was labelled.

    Some tasks are without drift, so that something can be learned about it.
    """
    mode = rng.random()
    if mode < WITHOUT_DRIFT:
        return draw_real(source, rng, limits)
    by_class = mode < WITHOUT_DRIFT + CLASSES and len(np.unique(source.classes)) > 2
    positive, negative = choose_classes(source, rng, several=by_class)
    features = source.features[:, choose_columns(source, rng)]
    rows = rng.permutation(np.flatnonzero(positive))
    if by_class:
        kinds = np.unique(source.classes[rows], return_inverse=True)[1]
    else:
        kinds = _clusters(features[rows], int(rng.integers(2, MOST_CLUSTERS + 1)), rng)
    pools = [features[rows[kinds == k]] for k in np.unique(kinds)]
    available = np.array([math.floor(MOST_OF_KIND * len(pool)) for pool in pools])
    shares = available / available.sum()
    if rng.random() >= AS_THEY_ARE:
        shares = rng.dirichlet(np.full(len(pools), rng.choice([1.0, 3.0])))
    most = min(limits.n_labeled, available.sum())
    n_labeled = draw_n_labeled(rng, most, few=FEW_LABELED, usual=USUAL_LABELED)
    sizes = allocate(n_labeled, shares, available, rng)
    labeled = np.concatenate([pool[:n] for pool, n in zip(pools, sizes, strict=True)])
    rest = [pool[n:] for pool, n in zip(pools, sizes, strict=True)]
    told = sizes.min() >= FEWEST_POSITIVES and rng.random() < TOLD
    others = features[negative]
    return Task(
        labeled,
        _drifting(rest, sizes / n_labeled),
        some_of(others),
        sum(map(len, rest)),
        len(others),
        np.repeat(np.arange(len(pools)), sizes) if told else None,
    )


def _clusters(rows: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    spread = rows.std(axis=0)
    points = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    centres = k_means(points[:MOST_ROWS], k, rng)
    return ((centres**2).sum(axis=1) - 2 * points @ centres.T).argmin(axis=1)


def _drifting(pools: list[np.ndarray], shares: np.ndarray) -> Draw:
    """Rows of all pools together, with new shares for each sample."""
    available = np.array([len(pool) for pool in pools])

    def draw(n: int, rng: np.random.Generator) -> np.ndarray:
        sizes = allocate(n, drifted_shares(shares, rng), available, rng)
        return np.concatenate(
            [some_of(pool)(size, rng) for pool, size in zip(pools, sizes, strict=True)]
        )

    return draw


def allocate(
    n: int, shares: np.ndarray, available: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Split a number of rows by shares; what a pool does not have comes from the others.

    Examples
    --------
    >>> allocate(60, np.array([1.0, 0.0]), np.array([50, 70]), np.random.default_rng(0)).tolist()
    [50, 10]
    """
    sizes = np.minimum(rng.multinomial(n, shares), available)
    while sizes.sum() < n:
        free = available - sizes
        weights = np.where(free > 0, shares, 0.0)
        if not weights.sum():
            weights = free.astype(float)
        more = rng.multinomial(n - sizes.sum(), weights / weights.sum())
        sizes = np.minimum(sizes + more, available)
    return sizes
