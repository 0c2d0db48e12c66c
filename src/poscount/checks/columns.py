"""What the columns of a sample say, each by itself: evidence that a sample is of another make.

Everything here follows from counts, for many samples at once. The checks look at a few numbers of
each sample, and at its columns only if there is something to say about them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# If more of the positives have one value, or lie in one bin, a column has no scale of its own.
MOST_ALIKE = 0.9
# Positives on one side of a cut, for it to be compared.
SMALLEST_SHARE, LARGEST_SHARE = 0.08, 0.9
# Of columns, for statements about all of them, or all but two.
FEWEST_COLUMNS = 4
# Of the sample: inside of a column's range, beyond 64 standard deviations, and in a bin by itself.
HARDLY_INSIDE, MANY_FAR, FILLED = 0.05, 0.2, 0.01
# Codes for missing values in more rows than these are in some columns, not in most of them.
MANY = 0.1
FEWEST_ROWS = 3
# Rows in the next nearer bin, as a share of those in a bin, for it to stand by itself.
MOST_NEARER = 0.05
# Places in the last axis of `ColumnEvidence.outside`.
FAR = 2


class PositiveColumns(NamedTuple):
    """What is known of the columns of the positives.

    Attributes
    ----------
    ranges : ndarray of shape (n_features, 2)
        Smallest and largest value, with a standard deviation to spare.
    zeros : ndarray of shape (n_features,)
        Share of exact zeros.
    varying : ndarray of bool, shape (n_features,)
        Whether the column is not constant.
    judged : ndarray of bool, shape (n_features,)
        Whether it varies enough to say what is far from its values.
    cut : ndarray of int, shape (n_cut,)
        Columns that are cut into bins.
    below : ndarray of shape (n_cut, n_cuts)
        Share of the positives at or below each cut.
    signs : ndarray of shape (n_cut,)
        Of the means.
    """

    ranges: np.ndarray
    zeros: np.ndarray
    varying: np.ndarray
    judged: np.ndarray
    cut: np.ndarray
    below: np.ndarray
    signs: np.ndarray


class ColumnEvidence:
    """What the columns of samples say; arrays have a first axis for the samples.

    Parameters
    ----------
    positives : PositiveColumns
    farther : ndarray of shape (n_samples, n_features, 2, 4)
        Rows below and above the range by more than 1, 8, 64 and 512 standard deviations.
    zeros : ndarray of shape (n_samples, n_features)
        Rows that are exactly 0.
    below : ndarray of shape (n_samples, n_cut, n_cuts)
        Rows at or below each cut.
    n_rows : ndarray of int, shape (n_samples,)

    Attributes
    ----------
    inside : ndarray of shape (n_samples, n_features)
        Share of the sample in the range of the positives, with a standard deviation to spare.
    outside : ndarray of shape (n_samples, n_features, 2, 4)
        Shares below and above the range: farther than 1, 8, 64 and 512 standard deviations, but not
        farther than the next of these.
    by_itself : ndarray of bool, shape (n_samples, n_features, 2, 4)
        Whether such a bin is filled although the next nearer one is empty, in a column with other
        rows inside of the range.
    filled : ndarray of shape (n_samples,)
        Largest share in such a bin, 0 if there is none.
    other_scale : ndarray of bool, shape (n_samples, n_features)
        Whether the rows of a column are not where the positives are, or many are very far away.
    more_zeros : ndarray of shape (n_samples,)
        Three of four columns have at least this share of zeros more than the positives.
    at_most : ndarray of shape (n_samples, n_cut, 2)
        Largest share of positives in the sample, by rows at the lower end of each cut column and by
        those at its upper end.
    by_columns, by_all_but_two : ndarray of shape (n_samples,)
        The smallest of these shares; and the third smallest, of columns.
    by_one_end : ndarray of shape (n_samples,)
        The smallest share if all columns are judged by one end only.
    """

    def __init__(
        self,
        positives: PositiveColumns,
        farther: np.ndarray,
        zeros: np.ndarray,
        below: np.ndarray,
        n_rows: np.ndarray,
    ) -> None:
        self.positives = positives
        n = np.maximum(n_rows, 1)
        first = self._look_outside(farther, n)
        self.more_zeros = _more_zeros(zeros / n[:, np.newaxis] - positives.zeros, positives)
        shares = below / n[:, np.newaxis, np.newaxis]
        self.at_most = largest_shares(shares, first[:, positives.cut], positives.below)
        self._look_at_ends()

    def _look_outside(self, farther: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Look at rows outside of ranges; returns the shares that are outside, below and above."""
        first = np.zeros(farther.shape[:3])
        self.inside = np.ones(farther.shape[:2])
        self.outside, self.by_itself = np.zeros(farther.shape), np.zeros(farther.shape, bool)
        self.other_scale, self.filled = np.zeros(farther.shape[:2], bool), np.zeros(len(n))
        # Most of many small samples have no row outside of any range, and nothing to look at.
        at = np.flatnonzero(farther.any(axis=(1, 2, 3)))
        if len(at):
            shares = farther[at] / n[at, np.newaxis, np.newaxis, np.newaxis]
            first[at], self.inside[at] = shares[..., 0], 1 - shares[..., 0].sum(axis=-1)
            self.outside[at] = -np.diff(shares, append=0.0, axis=-1)
            self.by_itself[at] = self._stand_by_themselves(shares, at, n[at])
            self.other_scale[at] = self._have_other_scales(shares, at)
            filled = self.outside[at] * self.by_itself[at]
            self.filled[at] = filled.max(axis=(1, 2, 3), initial=0.0)
        return first

    def _stand_by_themselves(self, shares: np.ndarray, at: np.ndarray, n: np.ndarray) -> np.ndarray:
        """Bins outside that are filled, although the next nearer one is not."""
        judged, outside, inside = self.positives.judged, self.outside[at], self.inside[at]
        fewest = np.maximum(FILLED, FEWEST_ROWS / n)[:, np.newaxis, np.newaxis, np.newaxis]
        # The nearest bin has no neighbour that is counted.
        found = np.zeros(outside.shape, bool)
        found[..., 1:] = outside[..., :-1] <= MOST_NEARER * outside[..., 1:]
        found &= outside >= fewest
        # A column that is nowhere inside is in other units, not filled with a code. And many rows
        # that are far away in most columns are negatives.
        usual = self.positives.varying & (inside >= HARDLY_INSIDE)
        found &= usual[..., np.newaxis, np.newaxis]
        beyond = shares.sum(axis=-2)
        for start, stop, place in ((1, FAR, 0), (FAR, None, 1)):
            most = _most(judged & (beyond[..., place] > MANY), judged)[..., np.newaxis, np.newaxis]
            found[..., start:stop] &= (outside[..., start:stop] <= MANY) | ~most
        # A column without a scale is trusted only about rows that are very far away. Where most
        # columns have rows far away, only very far ones say anything, and only if the column has a
        # scale.
        most = _most(judged & (beyond[..., 1] > FILLED), judged)
        found[..., :FAR] &= (judged & ~most)[..., np.newaxis, np.newaxis]
        return found & (judged | ~most)[..., np.newaxis, np.newaxis]

    def _have_other_scales(self, shares: np.ndarray, at: np.ndarray) -> np.ndarray:
        judged = self.positives.judged
        many_far = judged & (shares[..., FAR].sum(axis=-1) > MANY_FAR)
        many_far &= ~self.by_itself[at][..., FAR:].any(axis=(-1, -2)) & ~_most(many_far, judged)
        return judged & (self.inside[at] < HARDLY_INSIDE) | many_far

    def _look_at_ends(self) -> None:
        """Find the largest shares by all columns, by all but two, and by one end."""
        n_samples, n_cut, _ = self.at_most.shape
        if n_cut < FEWEST_COLUMNS:
            self.by_columns = self.by_all_but_two = self.by_one_end = np.zeros(n_samples)
            return
        low, high = self.at_most[..., 0], self.at_most[..., 1]
        of_columns = np.partition(np.minimum(low, high), 2, axis=1)
        self.by_columns, self.by_all_but_two = of_columns[:, :2].min(axis=1), of_columns[:, 2]
        away = self.positives.signs > 0
        # If all values have become smaller, the upper ends have lost rows, and the lower ends tell.
        mixed = np.where(away, low, high), np.where(away, high, low)
        ends = np.array([low, high, *mixed]).min(axis=2)
        self.by_one_end = ends.max(axis=0)


def _more_zeros(added: np.ndarray, positives: PositiveColumns) -> np.ndarray:
    """The share of zeros that three of four columns have in addition, from that of each column."""
    added = added[:, positives.judged]
    if added.shape[1] < FEWEST_COLUMNS:
        return np.zeros(len(added))
    more = added.min(axis=1)
    # Mostly there are no zeros at all, and quantiles take long.
    differ = more != added.max(axis=1)
    more[differ] = np.quantile(added[differ], 0.25, axis=1)
    return more


def _most(which: np.ndarray, judged: np.ndarray) -> np.ndarray:
    """Whether these are most of the columns of a sample, as a column vector."""
    return 2 * which.sum(axis=1, keepdims=True) > np.count_nonzero(judged)


def largest_shares(
    below: np.ndarray, outside: np.ndarray, positives_below: np.ndarray
) -> np.ndarray:
    """Largest share of positives in samples, by each column and each of its ends.

    If a share m of the positives is at or below a cut, and a share s of the sample, at most s / m
    of the sample are positives. Rows that are outside of the range do not count for s.

    Parameters
    ----------
    below : ndarray of shape (n_samples, n_cut, n_cuts)
        Share of the sample at or below each cut.
    outside : ndarray of shape (n_samples, n_cut, 2)
        Share of the sample below and above the range.
    positives_below : ndarray of shape (n_cut, n_cuts)
        Share of the positives at or below each cut.

    Returns
    -------
    ndarray of shape (n_samples, n_cut, 2)
        By the lower end and by the upper end, up to 1.

    Examples
    --------
    >>> below, outside = np.array([[[0.25, 0.5]]]), np.array([[[0.0, 0.25]]])
    >>> largest_shares(below, outside, np.array([[0.25, 0.75]])).round(2).tolist()
    [[[0.67, 0.67]]]
    """
    ends = []
    for of_sample, beyond, of_positives in (
        (below, outside[..., 0], positives_below),
        (1 - below, outside[..., 1], 1 - positives_below),
    ):
        used = (of_positives >= SMALLEST_SHARE) & (of_positives <= LARGEST_SHARE)
        ratio = (of_sample - beyond[..., np.newaxis]) / np.where(used, of_positives, 1.0)
        ends.append(np.where(used, ratio, 1.0).min(axis=-1, initial=1.0))
    return np.stack(ends, axis=-1)


def has_a_scale(below: np.ndarray, cut: np.ndarray, zeros: np.ndarray) -> np.ndarray:
    """Which columns vary enough to be judged: neither one bin nor zero holds nearly all positives.

    Parameters
    ----------
    below : ndarray of shape (n_cut, n_cuts)
        Share of the positives at or below each cut.
    cut : ndarray of int, shape (n_cut,)
        Columns that are cut.
    zeros : ndarray of shape (n_features,)
        Share of zeros.

    Examples
    --------
    >>> below = np.array([[0.2, 0.6], [0.95, 0.95]])
    >>> has_a_scale(below, np.array([0, 1]), np.array([0.0, 0.1, 0.98])).tolist()
    [True, False, False]
    """
    judged = zeros <= MOST_ALIKE
    bins = np.diff(below, prepend=0.0, append=1.0, axis=1)
    judged[cut] &= bins.max(axis=1) <= MOST_ALIKE
    return judged
