"""Subclasses of positives, found as clusters."""

from __future__ import annotations

import math

import numpy as np

from poscount.checks.few_positives import FEWEST_POSITIVES
from poscount.errors import InputError
from poscount.methods.regions.labeled_groups import LabeledGroups
from poscount.methods.regions.order import CanonicalOrder
from poscount.methods.regions.partition import k_means
from poscount.seeds import stream
from poscount.threads import one_blas_thread

# Unless the caller says how many.
MOST_KINDS, POSITIVES_PER_KIND = 12, 40
# Added to the variances of standardised features, so that no cluster shrinks to a point.
ADDED_VARIANCE = 0.01
# Clusters are sought along so many principal components at most, because covariances of more
# would take longer than everything else.
MOST_COMPONENTS = 30
MAX_STEPS = 100
SMALLEST_GAIN = 1e-3
DECIMALS = 6


def clustered_subclasses(positives: np.ndarray, subclasses: int | str, seed: int) -> LabeledGroups:
    """Subclasses as clusters: a given number of them, or as many as the positives are enough for.

    Parameters
    ----------
    positives : ndarray of shape (n_labeled, n_features)
    subclasses : int or "auto"
    seed : int
    """
    most = len(positives) // FEWEST_POSITIVES
    if isinstance(subclasses, str):
        n_kinds = how_many(len(positives))
    else:
        n_kinds = int(subclasses)
        if n_kinds < 2:
            raise InputError(
                f"The number of kinds is {n_kinds}, but must be 2 or more; RCQ counts the "
                "positives as one kind.",
                option="subclasses",
            )
        if n_kinds > most:
            raise InputError(
                f"{len(positives)} positives are enough for {most} kinds of {FEWEST_POSITIVES}, "
                f"but the number of kinds is {n_kinds}.",
                option="subclasses",
            )
    codes = find_subclasses(positives, n_kinds, seed)
    if not codes.any():
        return LabeledGroups(positives, ["all"], codes)
    names = [f"kind {k + 1}" for k in range(codes.max() + 1)]
    return LabeledGroups(positives, names, codes)


def how_many(n_labeled: int) -> int:
    """Number of kinds that so many positives are enough for, if the caller does not say.

    Examples
    --------
    >>> [how_many(n) for n in (60, 100, 1000)]
    [1, 2, 12]
    """
    return max(1, min(MOST_KINDS, n_labeled // POSITIVES_PER_KIND))


def find_subclasses(positives: np.ndarray, n_kinds: int, seed: int) -> np.ndarray:
    """Clusters of the positives: a mixture of Gaussians with covariances of their own.

    Parameters
    ----------
    positives : ndarray of shape (n_rows, n_features)
        Finite numbers.
    n_kinds : int
        Number of clusters to start from. One that is left with fewer than 20 different rows becomes
        part of its nearest neighbours, so there may be fewer.
    seed : int

    Returns
    -------
    ndarray of int, shape (n_rows,)
        Number of the kind of each row; kinds with more rows come first. It does not depend on the
        order of rows and columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(size=(90, 2)), rng.normal(size=(60, 2)) + 9])
    >>> kinds = find_subclasses(rows, 2, seed=0)
    >>> bool((kinds[:90] == 0).all() and (kinds[90:] == 1).all())
    True
    """
    order = CanonicalOrder(positives, seed)
    rows = order.sorted_rows(positives)
    with one_blas_thread():
        points = _main_components(np.ascontiguousarray(order.standardised(positives[rows])))
        centres = k_means(points, n_kinds, stream(seed, "kinds"))
        densities = _mixture(points, centres)
    different = np.unique(points.round(DECIMALS), axis=0, return_index=True)[1]
    found = _merge_small(densities, different)
    kinds = np.empty(len(rows), np.intp)
    kinds[rows] = _largest_first(found)
    return kinds


def separation(positives: np.ndarray, codes: np.ndarray, seed: int) -> float:
    """How far apart kinds are: logarithm of the positives' volume over that of a kind by itself.

    That is log det T - log det W, with the covariances of all positives and within the kinds. Far
    apart, kinds may well have other shares in a sample; slices of one cloud hardly do.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> cloud, codes = rng.normal(size=(400, 2)), np.repeat([0, 1], 200)
    >>> apart = cloud + 20 * codes[:, np.newaxis]
    >>> bool(separation(apart, codes, seed=0) > separation(cloud, codes, seed=0) + 2)
    True
    """
    order = CanonicalOrder(positives, seed)
    rows = order.sorted_rows(positives)
    with one_blas_thread():
        points = _main_components(np.ascontiguousarray(order.standardised(positives[rows])))
        kinds = codes[rows]
        within = points.copy()
        for kind in range(kinds.max() + 1):
            within[kinds == kind] -= points[kinds == kind].mean(axis=0)
        volumes = [_log_volume(rows) for rows in (points - points.mean(axis=0), within)]
    return round(volumes[0] - volumes[1], DECIMALS)


def _log_volume(centred: np.ndarray) -> float:
    covariance = centred.T @ centred / len(centred)
    covariance[np.diag_indices_from(covariance)] += ADDED_VARIANCE
    return float(np.linalg.slogdet(covariance)[1])


def _main_components(points: np.ndarray) -> np.ndarray:
    if points.shape[1] <= MOST_COMPONENTS:
        return points
    _, vectors = np.linalg.eigh(points.T @ points)
    return points @ vectors[:, -MOST_COMPONENTS:]


def _mixture(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Fit a mixture by expectation-maximisation, from these centres on.

    Returns
    -------
    ndarray of shape (n_rows, n_clusters)
        Logarithm of weight times density of each cluster at each row, up to a constant.
    """
    distances = (centres**2).sum(axis=1) - 2 * points @ centres.T
    shares = (distances.argmin(axis=1)[:, np.newaxis] == np.arange(len(centres))).astype(float)
    before = -math.inf
    for _ in range(MAX_STEPS):
        densities = _log_densities(points, shares)
        largest = densities.max(axis=1, keepdims=True)
        shares = np.exp(densities - largest)
        total = shares.sum(axis=1, keepdims=True)
        shares /= total
        fit = float((largest + np.log(total)).mean())
        if fit - before < SMALLEST_GAIN:
            break
        before = fit
    return densities


def _log_densities(points: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """What each cluster, estimated from its shares of the rows, says about each row."""
    sizes = shares.sum(axis=0) + 10 * np.finfo(float).eps
    densities = np.empty_like(shares)
    for k, size in enumerate(sizes.tolist()):
        share = shares[:, k]
        centre = share @ points / size
        centred = points - centre
        covariance = (centred * share[:, np.newaxis]).T @ centred / size
        covariance[np.diag_indices_from(covariance)] += ADDED_VARIANCE
        factor = np.linalg.inv(np.linalg.cholesky(covariance)).T
        volume = np.log(factor.diagonal()).sum()
        densities[:, k] = math.log(size) + volume - ((centred @ factor) ** 2).sum(axis=1) / 2
    return densities


def _merge_small(densities: np.ndarray, different: np.ndarray) -> np.ndarray:
    """Most probable cluster of each row, without clusters that have too few different rows."""
    densities = densities.copy()
    for _ in range(densities.shape[1]):
        found = densities.argmax(axis=1)
        sizes = np.bincount(found[different], minlength=densities.shape[1])
        # Clusters that are gone already have no rows.
        there = np.flatnonzero(sizes)
        smallest = there[sizes[there].argmin()]
        if sizes[smallest] >= FEWEST_POSITIVES or len(there) == 1:
            break
        densities[:, smallest] = -np.inf
    return found


def _largest_first(found: np.ndarray) -> np.ndarray:
    names, codes, sizes = np.unique(found, return_inverse=True, return_counts=True)
    rank = np.empty(len(names), np.intp)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(names))
    return rank[codes]
