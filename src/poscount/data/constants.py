"""Columns in which the positives never vary: a row with another value is none of them.

No distance can be measured along such a column, but a row that differs there is unlike every
positive that was seen. If none of n positives differs, at most 3 / n of all positives do (the rule
of three). Many such columns together can be wrong more often, as where each of a hundred rare
remarks is absent from fifty positives by chance. That shows in columns that all positives but one
agree in: the share of positives which differ like that alone is about the share of new positives
that would differ from all (Good and Turing's estimate). If it is large, these columns say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from poscount.storage.schema import Array, Field, Whole

# Of positives: so many are below the lowest edge along a score.
MOST_EXCEPTIONS = 0.05
# Largest relative difference to the same number in float32: tables are often copied like that.
AS_FLOAT32 = 2.0**-24
# In a column that varies; codes are finite or NaN.
VARIES = np.inf


class Constants(BaseEstimator):
    """Codes that all positives share, and how far that can be trusted.

    Attributes
    ----------
    values_ : ndarray of shape (n_columns,)
        The code that every positive with a value has; NaN if none has one; infinity in a column
        that varies, or is not used because too many positives are exceptions.
    exceptions_ : int
        Positives that differ, each alone, from all others in some other column.
    """

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "values_": Array("float64", ("columns",), infinite=True, missing=True),
        "exceptions_": Whole(),
    }

    values_: np.ndarray
    exceptions_: int

    @classmethod
    def none(cls, n_columns: int) -> Constants:
        """Nothing is constant."""
        constants = cls()
        constants.values_, constants.exceptions_ = np.full(n_columns, VARIES), 0
        return constants

    @classmethod
    def learn(cls, codes: Sequence[np.ndarray] | np.ndarray, mixed: Sequence[float]) -> Constants:
        """Learn from the columns of the positives.

        Parameters
        ----------
        codes : sequence of ndarray of shape (n_positives,)
            Codes of each column.
        mixed : sequence of float
            For each column the code that stands for several words, or infinity.

        Examples
        --------
        >>> flag, size, remark = np.ones(60), np.arange(60.0), np.full(60, np.nan)
        >>> Constants.learn([flag, size, remark], [np.inf] * 3).values_
        array([ 1., inf, nan])
        """
        constants = cls.none(len(codes))
        values = [_shared_value(column) for column in codes]
        constants.values_[:] = np.where(np.equal(values, mixed), VARIES, values)
        if constants.places.size:
            alone = exceptions(codes)
            constants.exceptions_ = int(np.count_nonzero(alone))
            if constants.exceptions_ > MOST_EXCEPTIONS * len(alone):
                return cls.none(len(codes))
        return constants

    @property
    def places(self) -> np.ndarray:
        """Places of the columns that are constant."""
        return np.flatnonzero(self.values_ != VARIES)

    def exceptions_of(self, positives: np.ndarray) -> np.ndarray:
        """Which positives, given as codes, would have differed from all others if any do.

        None of them, if no column is constant: then no row can differ like that.
        """
        if not self.places.size:
            return np.zeros(positives.shape[0], bool)
        return exceptions(positives.T)

    def raised(self, high: np.ndarray, n_positives: int, level: float | np.ndarray) -> np.ndarray:
        r"""Upper ends of intervals at a level, if as many positives differ as could go unnoticed.

        With a share q of all positives like the n labelled ones, none of these differs with
        probability :math:`q^n`. So q is at least :math:`(1 - level)^{1 / n}`, about 1 - 3 / n, and
        there may be 1 / q times as many positives as rows without another value tell. Unchanged if
        no column is constant.

        Examples
        --------
        >>> flag = Constants.learn([np.ones(30)], [np.inf])
        >>> flag.raised(np.array([0.3]), 30, 0.95).round(3)
        array([0.332])
        """
        if not self.places.size:
            return high
        return np.minimum(1.0, high / (1 - level) ** (1 / n_positives))

    def lower(self, scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Give rows that have another value than all positives the lowest score, in place."""
        different = self.differ(codes)
        if different is not None:
            scores[different] = -np.inf
        return scores

    def differ(self, codes: np.ndarray) -> np.ndarray | None:
        """Which rows, of shape (n_rows, n_columns), have another value than all positives.

        None if no column is constant. A missing value is no other value: whether it is missing more
        often than in the positives is another question.
        """
        places = self.places.tolist()
        if not places:
            return None
        found = np.zeros(len(codes), bool)
        for j in places:
            found |= _differ(codes[:, j], self.values_[j])
        return found


def _differ(codes: np.ndarray, value: np.float64) -> np.ndarray:
    if np.isnan(value):
        return ~np.isnan(codes)
    # Comparisons with NaN are false.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.abs(codes - value) > AS_FLOAT32 * np.abs(value)


def _shared_value(codes: np.ndarray) -> float:
    """The code that all have, missing ones left out; infinity if they differ."""
    there = codes[~np.isnan(codes)]
    if not len(there):
        return np.nan
    return VARIES if (there != there[0]).any() else float(there[0])


def exceptions(codes: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """Which positives differ in some column from all others, which agree there.

    Examples
    --------
    >>> exceptions([np.array([1.0, 1.0, 2.0, 1.0]), np.array([3.0, 4.0, 5.0, 5.0])])
    array([False, False,  True, False])
    """
    found = np.zeros(len(codes[0]), bool)
    for column in codes:
        at = np.flatnonzero(~np.isnan(column))
        if len(at) == 1:
            found[at] = True
        if len(at) > 1:
            # If the first one is the exception, the others agree with the second.
            for other in (0, 1):
                differs = column[at] != column[at[other]]
                if np.count_nonzero(differs) == 1:
                    found[at[differs]] = True
    return found
