"""Matrix products of rows that are bit-identical wherever a row stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def products(
    X: np.ndarray, location: np.ndarray, matrix: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Centre rows and multiply them by a matrix, in chunks that fit into the cache.

    Every product has the same shape, the last one padded, because BLAS chooses its kernel by the
    shape: so the product of a row does not depend on the rows beside it. The rows are the columns
    of the product, because numpy is fastest along memory, and there are more rows than features.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    location : ndarray of shape (n_features,)
    matrix : ndarray of shape (n_features, n_columns)
        Its dtype is that of the computation.

    Yields
    ------
    rows : slice
        Which rows of `X` are in the chunk.
    product : ndarray of shape (n_columns, n_rows_of_the_chunk)
        Their product, in memory that is reused for the next chunk.
    """
    kind: Any = matrix.dtype
    n_features, n_columns = matrix.shape
    # A multiple of 64, so that no rows are left for another kernel.
    size = min(4096, max(64, 2**17 // n_features // 64 * 64))
    centred = np.zeros((n_features, size), kind)
    product = np.empty((n_columns, size), kind)
    transposed = np.ascontiguousarray(matrix.T)
    for start in range(0, len(X), size):
        part = X[start : start + size]
        rows = centred[:, : len(part)]
        rows[:] = part.T
        rows -= location[:, np.newaxis]
        np.matmul(transposed, centred, out=product)
        yield slice(start, start + len(part)), product[:, : len(part)]
