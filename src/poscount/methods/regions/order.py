"""An order of rows and columns that depends on what they hold, not on where they stand.

Whatever is drawn for "row 17" (a fold, the first centre of a cluster) changes when the rows are
shuffled, and answers with it. So RCQ and TRCQ draw for rows and columns in an order of their own.
"""

from __future__ import annotations

import numpy as np

from poscount.seeds import stream

# How often the key of a row runs through [0, 1) in a standard deviation: often enough to mix rows
# thoroughly, and seldom enough that noise in the last digits does not.
TURNS = 64.0
DECIMALS = 9
# In standard deviations. Farther away, values are no longer told apart: no positive is there, and
# sums and classifiers would see nothing but the farthest row.
FARTHEST = 1000.0


class CanonicalOrder:
    """The order of the positives' columns, and a key by which any rows can be ordered.

    The key of a row is the fractional part of a weighted sum of its standardised values. It is
    continuous, so rounding moves hardly a row, and equal rows have equal keys.

    Parameters
    ----------
    positives : ndarray of shape (n_rows, n_features)
        Finite numbers.
    seed : int
        Of the weights.

    Attributes
    ----------
    columns : ndarray of int
        Indices of the columns, in their own order.

    Examples
    --------
    >>> positives = np.random.default_rng(0).normal(size=(5, 2))
    >>> order = CanonicalOrder(positives, seed=0)
    >>> backwards = CanonicalOrder(positives[::-1, ::-1], seed=0)
    >>> bool((order.keys(positives) == backwards.keys(positives[:, ::-1])).all())
    True
    """

    def __init__(self, positives: np.ndarray, seed: int) -> None:
        ascending = np.sort(positives, axis=0)
        # Sums of sorted values have the same bits in any order of the rows.
        self._location = np.ascontiguousarray(ascending.T).mean(axis=1)
        # In units of the largest value, so that no square overflows or vanishes.
        self._unit = np.abs(ascending - self._location).max(axis=0)
        # Where all positives are equal, any other value is as far away as can be.
        self._unit[self._unit == 0] = np.finfo(float).tiny
        centred = np.ascontiguousarray(((ascending - self._location) / self._unit).T)
        self._spread = np.sqrt((centred**2).mean(axis=1))
        self._spread[self._spread == 0] = 1.0
        values = self._standardised(positives)
        size = np.abs(values)
        # By shape, and, for features of one shape such as yes and no, by what goes along with it.
        outlying = size.sum(axis=1, keepdims=True)
        outlying /= max(float(outlying.mean()), np.finfo(float).tiny)
        shape = size.mean(axis=0) + (values * outlying).mean(axis=0)
        self.columns = np.argsort(shape.round(DECIMALS), kind="stable")
        self._turns = TURNS * stream(seed, "own order").standard_normal((positives.shape[1],))

    @property
    def constants(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Location, scale and turns of the columns in their own order, which make the keys."""
        scale = np.maximum(self._unit * self._spread, np.finfo(float).tiny)
        return self._location[self.columns], scale[self.columns], self._turns

    def _standardised(self, rows: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            values = (rows - self._location) / self._unit / self._spread
        return values.clip(-FARTHEST, FARTHEST)

    def standardised(self, rows: np.ndarray) -> np.ndarray:
        """Values in standard deviations of the positives, the columns in their own order."""
        return self._standardised(rows)[:, self.columns]

    def keys(self, rows: np.ndarray) -> np.ndarray:
        """Key of each row, in [0, 1)."""
        values = self.standardised(rows)
        total = np.zeros(len(values))
        # One column after the other: a matrix product may give equal rows other last bits.
        for column, turns in zip(values.T, self._turns, strict=True):
            total += turns * column
        return total % 1.0

    def sorted_rows(self, rows: np.ndarray) -> np.ndarray:
        """Indices of rows in the order of their keys."""
        return np.argsort(self.keys(rows), kind="stable")
