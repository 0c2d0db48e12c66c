r"""What tells labelled groups of rows from each other: log odds by a linear discriminant.

For groups with means m_k and a common covariance S, shrunk as by Ledoit and Wolf, the logarithm of
the odds of group k against all others, each as likely as the others, is

.. math:: o_k(x) = g_k(x) - \ln \sum_{j \ne k} e^{g_j(x)}, \qquad
          g_k(x) = m_k^T S^{-1} x - \tfrac{1}{2} m_k^T S^{-1} m_k

It is learned from labelled rows alone, so a model that uses it stays reusable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from poscount.methods.regions.order import CanonicalOrder
from poscount.scorers.products import Multiplier, along_rows, stacks
from poscount.storage.schema import Array, Field
from poscount.threads import one_blas_thread

N_FOLDS = 5
# Of the rows of a group that are different, for equal ones to be copies.
FINE = 0.5
# Beyond these odds rows are no longer told apart.
LARGEST_LOG_ODDS = 50.0
# Standardised rows are rounded to this, because the last bits depend on the machine.
DECIMALS = 6


class Discriminant(BaseEstimator):
    """Log odds of each of several groups of rows, compressed by asinh because a few are very large.

    Attributes
    ----------
    location_ : ndarray of shape (n_features,)
        Mean of all rows.
    directions_ : ndarray of shape (n_features, n_groups)
    offsets_ : ndarray of shape (n_groups,)
        A row x has g(x) = (x - location) directions - offsets.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = np.vstack([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 3])
    >>> groups = np.repeat([0, 1], 50)
    >>> model = Discriminant()
    >>> out_of_fold = model.learn(rows, groups, 2, seed=0)
    >>> bool((out_of_fold.argmax(axis=1) == groups).mean() > 0.9)
    True
    >>> (model.log_odds(np.array([[0.0, 0.0], [3.0, 3.0]])) > 0).tolist()
    [[True, False], [False, True]]
    """

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "location_": Array("float64", ("features",)),
        "directions_": Array("float64", ("features", "groups")),
        "offsets_": Array("float64", ("groups",)),
    }

    directions_: np.ndarray

    def learn(self, rows: np.ndarray, groups: np.ndarray, n_groups: int, seed: int) -> np.ndarray:
        """Learn from rows of known groups, and return their own log odds, out of fold.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            Finite numbers.
        groups : ndarray of int, shape (n_rows,)
        n_groups : int
        seed : int

        Returns
        -------
        ndarray of shape (n_rows, n_groups)
            Of each row by a discriminant that was learned without it. It depends neither on the
            order of the rows nor on that of the columns.
        """
        order = CanonicalOrder(rows, seed)
        ascending = order.sorted_rows(rows)
        own, groups = np.ascontiguousarray(rows[ascending]), groups[ascending]
        folds = _folds(order.keys(own), groups)
        found = np.empty((len(rows), n_groups))
        with one_blas_thread():
            for fold in range(N_FOLDS):
                learned = folds != fold
                part = Discriminant()._solve(own[learned], groups[learned], n_groups, order)
                found[ascending[~learned]] = part.log_odds(own[~learned])
            self._solve(own, groups, n_groups, order)
        return found

    def _solve(
        self, rows: np.ndarray, groups: np.ndarray, n_groups: int, order: CanonicalOrder
    ) -> Self:
        from sklearn.covariance import ledoit_wolf  # half a second to import

        # The columns in an order of their own, so that the caller's does not change last bits.
        given = np.ascontiguousarray(rows[:, order.columns])
        location = given.mean(axis=0)
        unit = np.abs(given - location).max(axis=0)
        unit[unit == 0] = 1.0
        values = (given - location) / unit
        means = np.array([values[groups == k].mean(axis=0) for k in range(n_groups)])
        within = values - means[groups]
        spread = np.sqrt((within**2).mean(axis=0))
        # A column that varies only between groups, such as one that names them, tells all there is.
        spread = np.maximum(spread, 1e-3 * values.std(axis=0))
        spread[spread == 0] = 1.0
        covariance = ledoit_wolf(within / spread, assume_centered=True)[0]
        covariance[np.diag_indices_from(covariance)] += 1e-9
        centres = means / spread
        solved = np.linalg.solve(covariance, centres.T)
        self.location_, self.directions_ = np.empty(len(unit)), np.empty(solved.shape)
        self.location_[order.columns] = location
        self.directions_[order.columns] = solved / (spread * unit)[:, np.newaxis]
        self.offsets_ = (centres * solved.T).sum(axis=1) / 2
        return self

    def log_odds(self, rows: np.ndarray) -> np.ndarray:
        """Log odds of each group for each row, compressed: shape (n_rows, n_groups)."""
        found = np.empty((len(rows), len(self.offsets_)))
        with np.errstate(over="ignore", invalid="ignore"):
            multiply = Multiplier(self.directions_)
            for part, stack in stacks(rows):
                product = multiply(stack - self.location_[:, np.newaxis])
                for k, offset in enumerate(self.offsets_.tolist()):
                    found[part, k] = along_rows(product[:, k], part.stop - part.start) - offset
            odds = np.column_stack([_against_others(found, k) for k in range(found.shape[1])])
        # The values are finite, so NaN can only come from an overflow: the row is far from all.
        odds = np.nan_to_num(odds, nan=-LARGEST_LOG_ODDS)
        return np.arcsinh(odds.clip(-LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)).round(DECIMALS)


def _against_others(values: np.ndarray, k: int) -> np.ndarray:
    others = np.delete(values, k, axis=1)
    largest = others.max(axis=1)
    return values[:, k] - largest - np.log(np.exp(others - largest[:, np.newaxis]).sum(axis=1))


def _folds(keys: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Fold of each row.

    Equal rows, which have equal keys, share one, so that no copy tells; unless most rows have equal
    ones, because values are coarse.
    """
    folds = np.empty(len(keys), np.intp)
    for k in np.unique(groups):
        here = np.flatnonzero(groups == k)
        distinct, places = np.unique(keys[here], return_inverse=True)
        coarse = len(distinct) < FINE * len(here)
        folds[here] = (np.arange(len(here)) if coarse else places) % N_FOLDS
    return folds
