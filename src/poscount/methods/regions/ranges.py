"""The range of each feature among the positives, and rows of samples beyond it.

Negatives may lie anywhere. But a column in other units, or a number that stands for "missing", lies
outside of the positives' range in a way of its own: far away, or all at one distance.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.counts.missing_counts import add_to

# Rows are counted that are farther outside than these many standard deviations.
BEYOND = (1.0, 8.0, 64.0, 512.0)
# Below the range, above the range, and exact zeros.
N_COLUMNS = 2 * len(BEYOND) + 1


class RangeCounts(NamedTuple):
    """Rows outside of the positives' ranges.

    Attributes
    ----------
    below, above : ndarray of shape (..., n_features, 4)
        Rows below the range, or above it, by more than each of `BEYOND`.
    zeros : ndarray of shape (..., n_features)
        Rows that are exactly 0.
    """

    below: np.ndarray
    above: np.ndarray
    zeros: np.ndarray

    @property
    def farther(self) -> np.ndarray:
        """Rows below and above, of shape (..., n_features, 2, 4)."""
        return np.stack([self.below, self.above], axis=-2)

    @classmethod
    def of_cells(cls, cells: np.ndarray) -> RangeCounts:
        """Read counts of shape (..., n_features * N_COLUMNS)."""
        table = cells.reshape(*cells.shape[:-1], -1, N_COLUMNS)
        n = len(BEYOND)
        return cls(table[..., :n], table[..., n:-1], table[..., -1])

    def could_be_of(self, totals: np.ndarray) -> bool:
        """Whether so many rows, or rows of this weight, can lie outside."""
        n = totals[:, np.newaxis]
        nested = all((np.diff(side) <= 0).all() for side in (self.below, self.above))
        # Below, because a sum may be larger than any int64.
        apart = self.below[..., 0] <= n - self.above[..., 0]
        return bool(nested and apart.all() and (self.zeros <= n).all())


def learn_limits(positives: np.ndarray) -> np.ndarray:
    """Limits beyond which rows are counted.

    Parameters
    ----------
    positives : ndarray of shape (n_labeled, n_features)

    Returns
    -------
    ndarray of shape (n_features, 8)
        Four below the range, from the nearest on, and four above.

    Examples
    --------
    >>> learn_limits(np.array([[0.0], [2.0]])).tolist()
    [[-1.0, -8.0, -64.0, -512.0, 3.0, 10.0, 66.0, 514.0]]
    """
    # Sums of sorted values have the same bits in any order of the rows.
    columns = np.sort(np.ascontiguousarray(positives.T), axis=1)
    low, high = columns[:, :1], columns[:, -1:]
    # In units of the largest distance, so that no square overflows or vanishes; where all positives
    # are equal, in units of their value.
    unit = np.where(high > low, high / 2 - low / 2, np.abs(low))
    unit[unit == 0] = 1.0
    centred = (columns - (low + (high / 2 - low / 2))) / unit
    sd = unit * centred.std(axis=1, keepdims=True)
    distance = np.array(BEYOND) * np.where(sd > 0, sd, unit)
    return np.hstack([low - distance, high + distance])


def count_outside(
    columns: np.ndarray,
    limits: np.ndarray,
    starts: np.ndarray | None,
    out: np.ndarray,
    weights: np.ndarray | None = None,
) -> None:
    """Add rows to counts.

    Parameters
    ----------
    columns : ndarray of shape (n_features, n_rows)
        Numbers, each feature contiguous; a missing one is NaN, and inside of all limits.
    limits : ndarray of shape (n_features, 8)
        From `learn_limits`.
    starts : ndarray of int, shape (n_rows,), or None
        Where the counts of each row's group start in `out`; None for one group.
    out : ndarray of int64
        Counts, which are added to.
    weights : ndarray of int64, shape (n_rows,), optional
        What each row counts, for rows that have a start; 1 by default.
    """
    n = len(BEYOND)
    # The plain minimum is faster, but would be NaN.
    ends = columns.min(axis=1), columns.max(axis=1)
    if np.isnan(np.sum(ends)):
        ends = np.fmin.reduce(columns, axis=1), np.fmax.reduce(columns, axis=1)
    least, most = (values[:, np.newaxis] for values in ends)
    zeros = columns == 0
    # Most features stay within most limits, and few have any zero.
    crossed = np.hstack(
        [least < limits[:, :n], most > limits[:, n:], zeros.any(axis=1, keepdims=True)]
    )
    for k in np.flatnonzero(crossed.any(axis=0)).tolist():
        features = np.flatnonzero(crossed[:, k])
        if k == 2 * n:
            outside = zeros[features]
        else:
            compare = np.less if k < n else np.greater
            outside = compare(columns[features], limits[features, k, np.newaxis])
        for j, rows in zip(features.tolist(), outside, strict=True):
            place = j * N_COLUMNS + k
            if starts is None:
                out[place] += np.count_nonzero(rows)
            else:
                add_to(out, starts[rows] + place, None if weights is None else weights[rows])
