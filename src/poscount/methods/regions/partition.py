"""How the space of a set of rows is cut: numbers at their quantiles, categories, clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.data.columns import Columns
from poscount.methods.regions.layout import CLUSTERINGS, FEATURE_QUANTILES
from poscount.scorers import Mahalanobis
from poscount.seeds import stream
from poscount.threads import one_blas_thread

# Columns that are cut, of numbers and of categories.
MOST_FEATURES, MOST_CATEGORIES = 40, 64
DECIMALS = 6
# In standard deviations.
SMALLEST_GAP = 1e-5


class Partitions(NamedTuple):
    """How a space is cut.

    Attributes
    ----------
    features : ndarray of int, shape (n_cut,)
        Numbers that are cut, by their place in the design matrix.
    cuts : ndarray of shape (n_cut, 4)
        Thresholds at which they are cut.
    categories : ndarray of int
        Columns of categories that are cut.
    directions : ndarray of shape (n_design_columns, n_clusters)
    offsets : ndarray of shape (n_clusters,)
        A row belongs to the cluster whose direction, times the row, minus the offset is largest.
    """

    features: np.ndarray
    cuts: np.ndarray
    categories: np.ndarray
    directions: np.ndarray
    offsets: np.ndarray


def learn_partitions(
    design: np.ndarray,
    order: np.ndarray,
    missing: np.ndarray,
    scorer: Mahalanobis,
    columns: Columns,
    n_derived: int,
    seed: int,
) -> Partitions:
    """Cut the space of the positives.

    Parameters
    ----------
    design : ndarray of shape (n_labeled, n_design_columns)
        The design matrix, its columns in the canonical order.
    order : ndarray of int
        That order: the place of each of these columns in the table's own order.
    missing : ndarray of bool, shape (n_labeled, n_numbers)
        Where numbers are missing.
    scorer : Mahalanobis
        Fitted on the design matrix.
    columns : Columns
        Of the table.
    n_derived : int
        Numbers, the last ones, that are made of the other columns: they are always cut.
    seed : int

    Returns
    -------
    Partitions
        For columns in the canonical order; `in_table_order` puts them back.
    """
    centred = design - scorer.location_
    varying = np.setdiff1d(np.arange(design.shape[1]), scorer.constant_)
    # In units of the largest value, so that no square can overflow or vanish.
    unit = np.abs(centred[:, varying]).max(axis=0)
    spread = unit * np.sqrt(((centred[:, varying] / unit) ** 2).mean(axis=0))
    # Rounded, so that values that differ only by noise become equal.
    standardised = (centred[:, varying] / spread).round(DECIMALS)
    generator = stream(seed, "features")
    chosen = _chosen_numbers(order[varying], missing.shape[1], n_derived, generator)
    features = varying[chosen]
    there = ~missing[:, order[features]]
    thresholds = np.array(
        [place_cuts(standardised[known, j]) for j, known in zip(chosen, there.T, strict=True)]
    ).reshape(-1, len(FEATURE_QUANTILES))
    location, scale = scorer.location_[features], spread[chosen]
    cuts = location[:, np.newaxis] + scale[:, np.newaxis] * thresholds
    categories = _chosen_categories(columns, generator)
    generator = stream(seed, "clusters")
    with one_blas_thread():
        points = np.vstack([k_means(standardised, k, generator) for k in CLUSTERINGS])
    directions = np.zeros((design.shape[1], len(points)))
    directions[varying] = (points / spread).T
    return Partitions(features, cuts, categories, directions, (points**2).sum(axis=1) / 2)


def in_table_order(partitions: Partitions, order: np.ndarray) -> Partitions:
    """The same partitions for columns as they stand in the table."""
    features = order[partitions.features]
    ascending = np.argsort(features)
    return partitions._replace(
        features=features[ascending],
        cuts=partitions.cuts[ascending],
        directions=partitions.directions[np.argsort(order)],
    )


def _chosen_numbers(
    places: np.ndarray, n_numbers: int, n_derived: int, generator: np.random.Generator
) -> np.ndarray:
    """Which of the varying columns are cut: all numbers, or some of them, and the derived ones.

    Parameters
    ----------
    places : ndarray of int
        Place of each varying column in the design matrix, which begins with the numbers.
    n_numbers, n_derived : int
    generator : numpy.random.Generator
    """
    n_given = n_numbers - n_derived
    chosen = np.flatnonzero(places < n_given)
    if len(chosen) > MOST_FEATURES:
        chosen = np.sort(generator.choice(chosen, MOST_FEATURES, replace=False))
    derived = np.flatnonzero((places >= n_given) & (places < n_numbers))
    return np.sort(np.concatenate([chosen, derived])) if n_derived else chosen


def _chosen_categories(columns: Columns, generator: np.random.Generator) -> np.ndarray:
    """Columns of categories that are cut: those with several values, or some of them."""
    several = np.array([j for j in columns.categorical.tolist() if columns.n_bins(j) > 1], np.intp)
    if len(several) > MOST_CATEGORIES:
        several = np.sort(generator.choice(several, MOST_CATEGORIES, replace=False))
    return several


def place_cuts(column: np.ndarray) -> np.ndarray:
    """Four thresholds of a standardised, rounded feature, in gaps between its values.

    A threshold at a value that many positives share would let noise in the last digit move them to
    either side. So each threshold lies in the middle of the first gap of more than 1e-5 standard
    deviations at or above its quantile; if there is none, it is infinite, and no row is above it.

    Examples
    --------
    >>> place_cuts(np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0])).tolist()
    [0.5, 0.5, 1.5, 2.5]
    """
    if not len(column):
        # Missing in all of these rows; others may have it.
        return np.full(len(FEATURE_QUANTILES), np.inf)
    values = np.unique(column)
    wide = np.flatnonzero(np.diff(values) > SMALLEST_GAP)
    at = np.searchsorted(values, np.quantile(column, FEATURE_QUANTILES), side="right") - 1
    gap = np.searchsorted(wide, at)
    thresholds = np.full(len(FEATURE_QUANTILES), np.inf)
    found = gap < len(wide)
    below = wide[gap[found]]
    thresholds[found] = (values[below] + values[below + 1]) / 2
    return thresholds


N_STARTS = 3
MAX_STEPS = 100


def k_means(rows: np.ndarray, k: int, generator: np.random.Generator) -> np.ndarray:
    """Centres of the best of several k-means clusterings, started by k-means++.

    Scikit-learn's k-means adds up in as many parts as there are threads, so the last bits of its
    centres, and with them the hash of a model, would depend on the number of cores.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    k : int
        Number of clusters; if there are fewer distinct rows, centres repeat.
    generator : numpy.random.Generator

    Returns
    -------
    ndarray of shape (k, n_features)

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(k_means(rows, 2, np.random.default_rng(0)).ravel().tolist())
    [0.5, 10.5]
    """
    tries = [_lloyd(rows, _start(rows, k, generator)) for _ in range(N_STARTS)]
    return min(tries, key=lambda found: found[0])[1]


def _squared_distances(rows: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Squared distances without each row's own square, which does not change the nearest."""
    return (points**2).sum(axis=1) - 2 * rows @ points.T


def _start(rows: np.ndarray, k: int, generator: np.random.Generator) -> np.ndarray:
    chosen = [int(generator.integers(len(rows)))]
    nearest = np.full(len(rows), np.inf)
    while len(chosen) < k:
        nearest = np.minimum(nearest, ((rows - rows[chosen[-1]]) ** 2).sum(axis=1))
        cumulated = np.cumsum(nearest)
        if cumulated[-1] == 0:  # all rows equal one that is chosen already
            chosen.append(chosen[0])
            continue
        drawn = generator.random() * cumulated[-1]
        chosen.append(min(int(np.searchsorted(cumulated, drawn, "right")), len(rows) - 1))
    return rows[chosen]


def _lloyd(rows: np.ndarray, points: np.ndarray) -> tuple[float, np.ndarray]:
    nearest = np.full(len(rows), -1)
    for _ in range(MAX_STEPS):
        before, nearest = nearest, _squared_distances(rows, points).argmin(axis=1)
        if np.array_equal(before, nearest):
            break
        member = (nearest == np.arange(len(points))[:, np.newaxis]).astype(np.float64)
        sizes = member.sum(axis=1)
        # A centre that lost all its rows stays where it is.
        means = (member @ rows) / np.maximum(sizes, 1)[:, np.newaxis]
        points = np.where(sizes[:, np.newaxis] > 0, means, points)
    return float(_squared_distances(rows, points).min(axis=1).sum()), points
