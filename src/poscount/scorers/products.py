"""Matrix products of rows, the same to the last bit wherever a row stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def products(
    X: np.ndarray, location: np.ndarray, matrix: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Centre rows and multiply them by a matrix, in chunks that fit into the cache.

    Every product has the same shape, the last one padded, because BLAS picks its kernel by the
    shape: so a row's product does not depend on the rows beside it.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    location : ndarray of shape (n_features,)
    matrix : ndarray of shape (n_features, n_columns)
        Its dtype is that of the computation.

    Yields
    ------
    rows : slice
        Which rows of `X` these are.
    product : ndarray
        Their product, in memory that the next chunk uses again.
    """
    kind: Any = matrix.dtype
    n_features, n_columns = matrix.shape
    size = min(2048, max(64, 2**16 // n_features))
    centred = np.zeros((size, n_features), kind)
    product = np.empty((size, n_columns), kind)
    for start in range(0, len(X), size):
        part = X[start : start + size]
        np.subtract(part, location, out=centred[: len(part)])
        np.matmul(centred, matrix, out=product)
        yield slice(start, start + len(part)), product[: len(part)]
