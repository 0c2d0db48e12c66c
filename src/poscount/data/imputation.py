"""Numbers that stand for missing ones in a score: what the row's other numbers let one expect.

That is the conditional mean of normal variables with the means and correlations of the positives,
the correlations shrunk. It makes the Mahalanobis distance as small as the known numbers allow. With
plain means instead, a row whose columns go together would look like no positive at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.storage.schema import require

N_ROUNDS = 5
# In standard deviations: what is farther away tells no more about the others.
FARTHEST = 6.0
# With more columns the equations would take longer than everything else.
MOST_COLUMNS = 200
# Numbers that are gathered at once.
_AT_ONCE = 2**21


class Imputation(NamedTuple):
    """How to replace missing numbers.

    Attributes
    ----------
    centres, scales : ndarray of shape (n_columns,)
        Mean and standard deviation of each column of the positives.
    precision : ndarray of shape (n_columns, n_columns)
        Inverse of their shrunk correlations; of shape (0, 0) if means stand for missing numbers.
    """

    centres: np.ndarray
    scales: np.ndarray
    precision: np.ndarray

    def check(self) -> None:
        """Raise ValueError unless every system of equations has one solution."""
        if not len(self.precision):
            return
        require(len(self.precision) == len(self.centres), "correlations are of other columns.")
        size = np.abs(self.precision).max()
        symmetric = np.allclose(self.precision, self.precision.T, rtol=1e-6, atol=1e-9 * size)
        require(symmetric, "correlations are not symmetric.")
        try:
            np.linalg.cholesky((self.precision + self.precision.T) / 2)
        except np.linalg.LinAlgError:
            raise ValueError("correlations are not those of any columns.") from None

    def fill(self, columns: np.ndarray) -> np.ndarray:
        """Replace NaN in columns of shape (n_columns, n_rows); the same array if there is none.

        The result for a row has the same bits whatever rows are beside it.
        """
        gaps = np.isnan(columns)
        n_gaps = np.count_nonzero(gaps, axis=0)
        if not n_gaps.any():
            return columns
        filled = np.array(columns, np.float64)
        if not len(self.precision):
            return np.where(gaps, self.centres[:, np.newaxis], filled)
        # Rows with equally many gaps have equations of one size.
        for k in np.unique(n_gaps[n_gaps > 0]).tolist():
            rows = np.flatnonzero(n_gaps == k)
            step = max(1, _AT_ONCE // (k * len(columns)))
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                # Which columns are missing in each row, in ascending order.
                at = np.nonzero(gaps[:, part].T)[1].reshape(len(part), k)
                filled[at, part[:, np.newaxis]] = self._expected(columns[:, part].T, at)
        return filled

    def _expected(self, rows: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Conditional means of the columns `at`, of shape (n_rows, k)."""
        with np.errstate(over="ignore"):
            known = np.nan_to_num((rows - self.centres) / self.scales)
        known = np.ascontiguousarray(known.clip(-FARTHEST, FARTHEST))
        # Along the last axis, so that the order of the sum does not depend on the number of rows.
        right = -(self.precision[at] * known[:, np.newaxis, :]).sum(axis=-1)
        left = self.precision[at[:, :, np.newaxis], at[:, np.newaxis, :]]
        found = np.linalg.solve(left, right[..., np.newaxis])[..., 0]
        return self.centres[at] + self.scales[at] * found.clip(-FARTHEST, FARTHEST)


def learn_imputation(columns: np.ndarray) -> Imputation:
    """Learn from columns of the positives, which may have gaps themselves.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> imputation = learn_imputation(np.array([x, 3 * x + 1]))
    >>> imputation.fill(np.array([[2.0], [np.nan]])).round().tolist()
    [[2.0], [7.0]]
    """
    d, n = columns.shape
    centres, scales = _centres_and_scales(columns)
    # Until more is known, means stand for what is missing.
    imputation = Imputation(centres, scales, np.empty((0, 0)))
    if d < 2 or d > MOST_COLUMNS or n < 3:
        return imputation
    for _ in range(N_ROUNDS if np.isnan(columns).any() else 1):
        standardised = (imputation.fill(columns) - centres[:, np.newaxis]) / scales[:, np.newaxis]
        # Sorted, because the order of the rows must not change the last bits.
        ordered = standardised[:, np.lexsort(standardised)]
        correlation = ordered @ ordered.T / n
        shrunk = n / (n + d) * correlation
        shrunk[np.diag_indices(d)] = np.maximum(1.0, correlation.diagonal())
        imputation = Imputation(centres, scales, np.linalg.inv(shrunk))
    return imputation


def _centres_and_scales(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the numbers that are there; 0 and 1 if there is none."""
    # Sums of sorted values have the same bits in any order of the rows; NaN comes last.
    ascending = np.sort(columns, axis=1)
    there = ~np.isnan(ascending)
    n = np.maximum(there.sum(axis=1), 1)
    values = np.where(there, ascending, 0.0)
    # In units of the largest value, so that no square overflows or vanishes.
    unit = np.abs(values).max(axis=1, initial=0.0)
    unit[unit == 0] = 1.0
    values /= unit[:, np.newaxis]
    means = values.sum(axis=1) / n
    squares = np.where(there, values - means[:, np.newaxis], 0.0) ** 2
    scales = unit * np.sqrt(squares.sum(axis=1) / n)
    return unit * means, np.where(scales > 0, scales, 1.0)
