"""Gaussian basis functions: distances, a width to start from, and folds for choosing a width."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.spatial.distance import cdist

# Enough for a median to about one percent, and still cheap in 500 dimensions.
WIDTH_ROWS = 1000
# Distances of a chunk of rows stay in the processor's cache.
CHUNK_VALUES = 2**18


def squared_distances(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Squared Euclidean distance of every row to every centre.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]]))
    array([[ 0.],
           [25.]])
    """
    # By differences: an expanded square loses the digits of all rows if one value is huge.
    return cdist(rows, centres, "sqeuclidean")


def positive_median(values: np.ndarray) -> float:
    """Median; that of the positive values if the median is zero, and 1 if all values are zero.

    Examples
    --------
    >>> positive_median(np.array([1.0, 4.0, 25.0])), positive_median(np.array([0.0, 0.0, 9.0]))
    (4.0, 9.0)
    """
    middle = np.median(values)
    if middle == 0:
        positive = values[values > 0]
        middle = np.median(positive) if positive.size else 1.0
    return float(middle)


def subsample(rows: np.ndarray, n_most: int, generator: np.random.Generator) -> np.ndarray:
    """All rows, or a random choice where there are more than `n_most`."""
    if len(rows) <= n_most:
        return rows
    return rows[generator.choice(len(rows), n_most, replace=False)]


def basis_functions(
    rows: np.ndarray, centres: np.ndarray, widths: np.ndarray
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the basis functions exp(-distance^2 / 2 width^2) of chunks of rows, for every width.

    Yields
    ------
    i : int
        Index of the width.
    basis : ndarray of shape (n_rows_of_the_chunk, n_centres)
        Overwritten in the next round: new memory would cost as much as the exponentials.
    """
    size = max(1, CHUNK_VALUES // len(centres))
    buffer = np.empty((min(size, len(rows)), len(centres)))
    for start in range(0, len(rows), size):
        squares = squared_distances(rows[start : start + size], centres)
        basis = buffer[: len(squares)]
        for i, width in enumerate(widths):
            np.multiply(squares, -0.5 / width**2, out=basis)
            yield i, np.exp(basis, out=basis)


def shuffled_folds(
    rows: np.ndarray, n_folds: int, generator: np.random.Generator
) -> list[np.ndarray]:
    """Rows split at random into folds whose sizes differ by at most one."""
    return np.array_split(rows[generator.permutation(len(rows))], n_folds)
