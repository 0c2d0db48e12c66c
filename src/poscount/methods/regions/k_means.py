"""k-means whose centres have the same bits on any number of cores."""

from __future__ import annotations

import numpy as np

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
