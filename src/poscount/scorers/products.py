"""Matrix products of rows that are bit-identical wherever a row stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

# Numbers in a stack: they fit into the cache, and a thread that works on them in numpy leaves the
# interpreter's lock to others for long enough.
STACK_NUMBERS = 2**16


def stacks(
    X: np.ndarray, kind: Any = np.float64, numbers: int = STACK_NUMBERS
) -> Iterator[tuple[slice, np.ndarray]]:
    """Copy rows into stacks of chunks, in which each feature is contiguous.

    All chunks have the same shape, the last one padded, because BLAS chooses its kernel by the
    shape: so the product of a row with a matrix does not depend on the rows beside it. The rows are
    the columns of a chunk, because numpy is fastest along memory, and there are more rows than
    features.

    Yields
    ------
    rows : slice
        Which rows of `X` are in the stack.
    stack : ndarray of shape (n_chunks, n_features, n_rows_of_a_chunk)
        In memory that is reused for the next stack.
    """
    n_features = X.shape[1]
    # A multiple of 64, so that no rows are left for another kernel.
    size = min(4096, max(64, 2**17 // n_features // 64 * 64))
    n_chunks = max(1, min(numbers // (n_features * size), -(-len(X) // size)))
    memory = np.zeros((n_chunks, n_features, size), kind)
    for start in range(0, len(X), n_chunks * size):
        part = X[start : start + n_chunks * size]
        stack = memory[: -(-len(part) // size)]
        put_rows(part, stack)
        yield slice(start, start + len(part)), stack


def put_rows(rows: np.ndarray, stack: np.ndarray) -> None:
    """Copy rows into a stack."""
    size = stack.shape[2]
    for i, chunk in enumerate(stack):
        part = rows[i * size : (i + 1) * size]
        chunk[:, : len(part)] = part.T


class Multiplier:
    """Multiplies stacks of rows by a matrix, all in the same memory.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_columns)
        Its dtype is that of the stacks.

    Examples
    --------
    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> multiply = Multiplier(np.array([[1.0], [10.0]]))
    >>> [along_rows(multiply(stack)[:, 0], 2).tolist() for _, stack in stacks(rows)]
    [[21.0, 43.0]]
    """

    def __init__(self, matrix: np.ndarray) -> None:
        self._transposed = np.ascontiguousarray(matrix.T)
        self._memory = np.empty((0, 0, 0), matrix.dtype)

    def __call__(self, stack: np.ndarray) -> np.ndarray:
        """Product of shape (n_chunks, n_columns, n_rows_of_a_chunk), until the next call."""
        n_chunks, _, size = stack.shape
        shape = (n_chunks, len(self._transposed), size)
        if len(self._memory) < n_chunks or self._memory.shape[1:] != shape[1:]:
            self._memory = np.empty(shape, self._memory.dtype)
        return np.matmul(self._transposed, stack, out=self._memory[:n_chunks])


def along_rows(values: np.ndarray, n_rows: int) -> np.ndarray:
    """Values of shape (n_chunks, n_rows_of_a_chunk) as one array, without the padding."""
    return values.reshape(-1)[:n_rows]
