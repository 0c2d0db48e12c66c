"""Numbers that repeat in a sample, in columns in which those of the positives hardly ever do."""

from __future__ import annotations

import threading

import numpy as np

# Of the positives: distinct numbers at least, and rows with the same number at most.
FEWEST_DISTINCT, LARGEST_TIE = 0.5, 0.03
# Rows are counted by the first bits of their numbers' bits times a large odd number (2^64 over the
# golden ratio), because such counts add up in any order.
N_BUCKETS, SHIFT, FACTOR = 256, np.uint64(56), np.uint64(0x9E3779B97F4A7C15)
BUCKETS_OF_ZERO = [0, 128]  # 0 and -0


def fine_columns(codes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Columns of numbers that hardly ever repeat.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_columns)
    numbers : ndarray of int
        Columns that hold numbers.

    Examples
    --------
    >>> rows = np.column_stack([np.arange(100.0), np.arange(100.0) % 2])
    >>> fine_columns(rows, np.array([0, 1])).tolist()
    [0]
    """
    n, found = len(codes), []
    for j in numbers.tolist():
        column = codes[:, j]
        sizes = np.unique(column[~np.isnan(column)], return_counts=True)[1]
        if len(sizes) >= FEWEST_DISTINCT * n and sizes.max(initial=0) <= max(1, LARGEST_TIE * n):
            found.append(j)
    return np.array(found, np.int64)


class RepeatedValues:
    """Counts, batch by batch, how many rows of a sample have the most frequent number of a column.

    Zero does not count: it is what there is none of.

    Parameters
    ----------
    columns : ndarray of int
        From `fine_columns`.
    """

    def __init__(self, columns: np.ndarray) -> None:
        self.columns = columns
        self.n_rows = 0
        self._counts = np.zeros((len(columns), N_BUCKETS), np.int64)
        self._lock = threading.Lock()

    @property
    def most(self) -> np.ndarray:
        """Rows with the most frequent number of each column, and a few that share its hash."""
        return self._counts.max(axis=1)

    def add(self, block: np.ndarray) -> None:
        """Count the rows of a block of all columns."""
        counts = np.zeros_like(self._counts)
        for i, j in enumerate(self.columns.tolist()):
            column = np.ascontiguousarray(block[:, j], np.float64)
            gaps = np.isnan(column)
            if gaps.any():
                column = column[~gaps]
            buckets = (column.view(np.uint64) * FACTOR) >> SHIFT
            counts[i] = np.bincount(buckets.view(np.int64), minlength=N_BUCKETS)
        counts[:, BUCKETS_OF_ZERO] = 0
        with self._lock:
            self._counts += counts
            self.n_rows += len(block)
