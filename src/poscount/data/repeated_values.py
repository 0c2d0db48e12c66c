"""Numbers that repeat in a sample, where those of the positives rarely do."""

from __future__ import annotations

import threading

import numpy as np

# Of the positives, rows with the same number at most.
LARGEST_TIE = 0.03
# Of more of the positives than this, a number is one of theirs.
OURS = 0.003
# Rows are counted by the first bits of their numbers' bits times a large odd number (2^64 over the
# golden ratio), because such counts add up in any order.
N_BUCKETS, SHIFT, FACTOR = 4096, np.uint64(52), np.uint64(0x9E3779B97F4A7C15)
_ZERO = [0, N_BUCKETS // 2]  # 0 and -0


def buckets(numbers: np.ndarray) -> np.ndarray:
    """The bucket of each number; equal numbers have the same."""
    return ((numbers.view(np.uint64) * FACTOR) >> SHIFT).view(np.int64)


def learn_repetition(codes: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of numbers that rarely repeat, and which numbers their rows have.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_columns)
    numbers : ndarray of int
        Columns that hold numbers.

    Returns
    -------
    ndarray of int64, shape (n_fine,)
        These columns.
    ndarray of uint8, shape (n_fine, N_BUCKETS / 8)
        Bits of the buckets of their numbers.

    Examples
    --------
    >>> rows = np.column_stack([np.arange(100.0), np.arange(100.0) % 2])
    >>> learn_repetition(rows, np.array([0, 1]))[0].tolist()
    [0]
    """
    n, fine, bits = len(codes), [], [np.empty((0, N_BUCKETS // 8), np.uint8)]
    for j in numbers.tolist():
        column = np.ascontiguousarray(codes[:, j], np.float64)
        column = column[~np.isnan(column)]
        sizes = np.unique(column, return_counts=True)[1]
        if 0 < sizes.max(initial=0) <= max(1, LARGEST_TIE * n):
            fine.append(j)
            ours = np.bincount(buckets(column), minlength=N_BUCKETS) > OURS * n
            bits.append(np.packbits(ours)[np.newaxis])
    return np.array(fine, np.int64), np.concatenate(bits)


class RepeatedValues:
    """Counts, batch by batch, how many rows of a sample have the most frequent number of a column.

    Numbers of the positives do not count, nor does zero, nor the smallest and the largest number of
    the sample: in clean tables, many negatives may have one of these.

    Parameters
    ----------
    columns, bits : ndarray
        From `learn_repetition`.
    """

    def __init__(self, columns: np.ndarray, bits: np.ndarray) -> None:
        self.columns = columns
        self.n_rows = 0
        self._ours = np.unpackbits(bits, axis=1).astype(bool)
        self._counts = np.zeros(self._ours.shape, np.int64)
        self._ends = np.full((len(columns), 2), [np.inf, -np.inf])
        self._lock = threading.Lock()

    @property
    def most(self) -> np.ndarray:
        """Rows with the most frequent number of each column, and a few that share its bucket."""
        counts = np.where(self._ours, 0, self._counts)
        counts[:, _ZERO] = 0
        np.put_along_axis(counts, buckets(self._ends), 0, axis=1)
        return counts.max(axis=1, initial=0)

    def add(self, block: np.ndarray) -> None:
        """Count the rows of a block of all columns."""
        found = []
        for j in self.columns.tolist():
            column = np.ascontiguousarray(block[:, j], np.float64)
            gaps = np.isnan(column)
            if gaps.any():
                column = column[~gaps]
            counts = np.bincount(buckets(column), minlength=N_BUCKETS)
            found.append((counts, column.min(initial=np.inf), column.max(initial=-np.inf)))
        with self._lock:
            self.n_rows += len(block)
            for i, (counts, low, high) in enumerate(found):
                self._counts[i] += counts
                self._ends[i] = min(self._ends[i, 0], low), max(self._ends[i, 1], high)
