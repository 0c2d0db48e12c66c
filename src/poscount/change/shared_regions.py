r"""The same regions for many groups of rows, so that the error of the positives cancels.

Every row carries a weight f, the sum of the weights of all regions that contain it. If negatives
carry none, the mean weight in a group, over that of the positives, is the group's prevalence times
a factor that is the same in all groups: it comes from the labelled positives and from the choice of
the regions. With :math:`a = E f^2 / (E f)^2` among positives, the ratio e of a group of n rows that
are drawn at random has the variance :math:`e (a - e) / n`, which is that of a binomial share e / a:
the rows count as if a single region held the share 1 / a of the positives. For the share in the
rows at hand, not in the population behind them, the variance is :math:`e (a - 1) / n`.

The regions are chosen by the rows of all groups together. If nothing has changed, each group is a
random part of these rows, so that the choice favours no group, whatever negatives there are.

*What does not cancel.* Negatives with a share q of the weight of positives make a ratio
:math:`e = p + (1 - p) q`. Let E be the ratio of all rows and P the model's answer for them. Below E
it says how much q is, so that :math:`p = 1 - (1 - e) (1 - P) / (1 - E)` turns the ratio of every
group into a share, and the shares of the groups add up to P. Its distribution says how much may be
negatives, the *leak*

.. math:: l^2 = \mathrm{mean} \max(E - P, 0)^2 - e (a - 1) / n

without what sampling explains. Negatives change; then so does q. Two groups differ for that reason
with a standard deviation of :math:`\sqrt{2} \cdot 0.2 \, l`, which was learned from series in which
kinds of rows change (research/tuning/change_split.md).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from poscount.base.counting import CountingQuantifier
from poscount.base.quantifier import Quantifier
from poscount.counts.counts import Counts
from poscount.errors import InputError
from poscount.methods.regions.layout import PAT_SHARES
from poscount.methods.regions.quantifier import PositivesQuantifier
from poscount.methods.regions.rule import RegionCounts
from poscount.methods.score_quantifier import ScoreQuantifier
from poscount.results.prevalence import Prevalence

# Of the leak: standard deviation of what lasts when negatives change.
LASTING = 0.2
# Quantiles over which the mean of a distribution is taken.
_EVENLY = (np.arange(200) + 0.5) / 200
# Along a score, thresholds with such a share of the positives above them are used.
_LEAST_ABOVE, _MOST_ABOVE = 0.25, 0.75


class Ratios(NamedTuple):
    """What common regions say about groups.

    Attributes
    ----------
    ratio : ndarray of shape (n_groups,)
        Mean weight of the group's rows over that of the positives.
    n_rows : ndarray of shape (n_groups,)
        Rows of each group; effective ones with survey weights.
    """

    ratio: np.ndarray
    n_rows: np.ndarray


class SharedRegions:
    """Regions with weights that are the same for all groups; `shared_regions` chooses them.

    Parameters
    ----------
    second_moment : float
        Mean square of the weight among positives, over the square of its mean: a in the formulas.
    n_labeled : int
        Number of labelled positives.
    selection_bias : float
        By how much ratios are too small in samples of positives alone, because of choosing among
        many regions.

    Attributes
    ----------
    answer : Prevalence
        The model's answer for the rows of all groups that chose the regions.
    scale : float
        A difference of ratios times this is a difference of prevalences.
    factor_sd : float
        Relative standard deviation of the factor that all differences share.
    leak : float
        What negatives may have added to the ratio of all rows.
    """

    answer: Prevalence
    scale: float
    leak: float

    def __init__(self, second_moment: float, n_labeled: int, selection_bias: float = 0.0) -> None:
        self.second_moment = second_moment
        self.factor_sd = math.sqrt((second_moment - 1) / n_labeled + selection_bias**2)

    def fasten(self, answer: Prevalence, together: Ratios) -> None:
        """Fasten the ratios to the answer for all rows."""
        assert answer.distribution is not None  # methods that count always have one
        self.answer = answer
        (level,), (n_rows,) = (values.tolist() for values in together)
        drawn = answer.distribution.quantile(_EVENLY)
        sampling = level * (self.second_moment - 1) / n_rows
        self.leak = math.sqrt(max(float(np.mean(np.maximum(level - drawn, 0) ** 2)) - sampling, 0))
        if answer < level < 1:
            self.scale = (1 - answer) / (1 - level)
            # By how much negatives make differences look smaller is no better known.
            self.factor_sd = math.hypot(self.factor_sd, float(drawn.std()) / (1 - answer))
        else:
            self.scale = float(answer) / level if answer > 0 and level > 0 else 1.0
        self._level = level

    def shares(self, ratio: np.ndarray) -> np.ndarray:
        """Prevalences from ratios."""
        return np.clip(float(self.answer) + (ratio - self._level) * self.scale, 0, 1)

    @property
    def lasting(self) -> float:
        """Standard deviation of what changing negatives do to the prevalence of a group."""
        return LASTING * self.leak

    @abstractmethod
    def ratios(self, counts: Sequence[Counts]) -> Ratios:
        """Ratios of groups, which may be others than those that chose the regions."""


class _WeightedRegions(SharedRegions):
    """RCQ's regions, weighted as they are for the groups in `chosen` together."""

    def __init__(
        self, model: PositivesQuantifier, counted: RegionCounts, chosen: np.ndarray
    ) -> None:
        together = RegionCounts(
            counted.in_cuts[chosen].sum(axis=0)[np.newaxis],
            counted.n_rows[chosen].sum(keepdims=True),
        )
        rule = model.part_.rule
        found = rule.estimate(together)
        self.model, self.weights = model, found.weights[0]
        super().__init__(
            1 + rule.spread(self.weights),
            model.n_labeled_,
            1 - float(np.ravel(found.null_ratio)[0]),
        )

    def ratios(self, counts: Sequence[Counts]) -> Ratios:
        return self.ratios_in(self.model._view(*counts).counts)

    def ratios_in(self, counted: RegionCounts) -> Ratios:
        return Ratios(self.model.part_.rule.ratios(counted, self.weights), counted.n_rows)


class _Tails(SharedRegions):
    """The tails above the middle thresholds along a score, all with the same weight.

    They are the same for all samples, so that there is no luck in their choice.
    """

    def __init__(self, model: CountingQuantifier, shares: np.ndarray) -> None:
        above = np.cumsum(shares[::-1])[::-1][1:]
        used = (above > _LEAST_ABOVE - 1e-9) & (above < _MOST_ABOVE + 1e-9)
        if not used.any():
            used = (above > 0) & (above < 1)
        of_tails = np.zeros(len(above))
        of_tails[used] = 1 / above[used] / used.sum()
        self.model, self.row_weight = model, np.concatenate([[0.0], np.cumsum(of_tails)])
        super().__init__(float(shares @ self.row_weight**2), model.n_labeled_)

    def ratios(self, counts: Sequence[Counts]) -> Ratios:
        cells, n_rows = self.model._rows_of(*counts)
        cells = self.model._score_cells(cells)
        return Ratios(cells @ self.row_weight / n_rows, n_rows)


def shared_regions(model: Quantifier, counts: Sequence[Counts]) -> SharedRegions:
    """Choose regions for groups by all of their rows together.

    Parameters
    ----------
    model : RCQ, PAT or ODIn
        Fitted. For PAT, ODIn, and RCQ with too few positives for regions, the regions are the tails
        of the score with 25 to 75 % of the positives.
    counts : sequence of Counts
        Of the groups, by this model.

    Examples
    --------
    >>> from poscount import PAT
    >>> rng = np.random.default_rng(1)
    >>> model = PAT(q=0.5, random_state=0).fit(rng.normal(size=(4000, 2)))
    >>> groups = [model.count(rng.normal(size=(2000, 2)) + 9 * far) for far in (False, True)]
    >>> common = shared_regions(model, groups)
    >>> common.second_moment  # a single region with half of the positives
    2.0
    >>> common.ratios(groups).ratio.round(1)
    array([1., 0.])
    """
    known = require_comparable(model)
    regions = _chosen_regions(known, counts)
    together = reduce(add, counts)
    regions.fasten(known.estimate(together), regions.ratios([together]))
    return regions


def _chosen_regions(
    known: PositivesQuantifier | ScoreQuantifier, counts: Sequence[Counts]
) -> SharedRegions:
    if isinstance(known, PositivesQuantifier):
        if known.part_.rule.enough_positives:
            counted = known._view(*counts).counts
            regions = _WeightedRegions(known, counted, np.arange(len(counts)))
            clearest = _clearest(regions, *regions.ratios_in(counted))
            if len(clearest) == len(counts):
                return regions
            return _WeightedRegions(known, counted, clearest)
        return _Tails(known, PAT_SHARES)
    return _Tails(known, known.shares_)


def require_comparable(model: Quantifier) -> PositivesQuantifier | ScoreQuantifier:
    """Refuse a model that has no regions."""
    if not isinstance(model, PositivesQuantifier | ScoreQuantifier):
        raise InputError(
            f"{type(model).__name__} has no regions that groups could be compared in: use RCQ, PAT "
            "or ODIn."
        )
    return model


def _clearest(regions: _WeightedRegions, ratio: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
    """Groups that together bound the prevalence of their rows most closely, lowest ratios first.

    A low prevalence shows best where negatives are; many rows show it more precisely. Ratios are
    shrunk towards their mean by as much as chance explains, so that no group chooses by its luck.
    """
    mean = float(ratio @ n_rows / n_rows.sum())
    # Not 0, because groups without any row in the regions have no noise that could be seen.
    noise = np.maximum(mean * (regions.second_moment - mean), 1e-12) / n_rows
    shrunk = mean + (ratio - mean) * (1 - noise / (noise + variance_between(ratio, noise)))
    order = np.argsort(shrunk, kind="stable")
    rows = np.cumsum(n_rows[order])
    level = np.cumsum((shrunk * n_rows)[order]) / rows
    n_regions = len(regions.weights)
    bound = level + np.sqrt(2 * math.log(n_regions) * (regions.second_moment - 1) * level / rows)
    # Of equal bounds the one of most groups.
    return order[: len(bound) - int(bound[::-1].argmin())]


def variance_between(values: np.ndarray, noise: np.ndarray) -> float:
    r"""Variance of values beyond their noise, by the method of DerSimonian and Laird (1986).

    Examples
    --------
    >>> variance_between(np.array([0.1, 0.3, 0.5]), np.array([0.01, 0.01, 0.01])).__round__(3)
    0.03
    """
    weight = 1 / noise
    mean = values @ weight / weight.sum()
    excess = float(weight @ (values - mean) ** 2) - (len(values) - 1)
    scale = float(weight.sum() - (weight**2).sum() / weight.sum())
    return max(0.0, excess / scale) if scale > 0 else 0.0


def score_interval(
    ratio: np.ndarray, n_rows: np.ndarray, square: float, z: float, *, drawn: bool
) -> tuple[np.ndarray, np.ndarray]:
    r"""Interval of ratios, from the sampling of the groups' own rows alone.

    The ends are the roots u of :math:`(u - e)^2 = z^2 \, u (a - u) / n` (Wilson's interval), or of
    :math:`(u - e)^2 = z^2 \, u (a - 1) / n` for the share in the rows at hand.

    Parameters
    ----------
    ratio, n_rows : ndarray
    square : float
        a in the formulas.
    z : float
        Quantile of the normal distribution.
    drawn : bool
        Whether the share in the population is meant that the rows were drawn from, not the share in
        these rows.

    Examples
    --------
    >>> ends = score_interval(np.array([0.1]), np.array([400]), 2.0, 1.96, drawn=True)
    >>> [float(end.round(3)[0]) for end in ends]
    [0.065, 0.152]
    """
    noise = z**2 / n_rows
    curvature = 1 + noise if drawn else np.ones_like(noise)
    middle = ratio + noise * (square if drawn else square - 1) / 2
    root = np.sqrt(np.maximum(middle**2 - curvature * ratio**2, 0))
    return (middle - root) / curvature, (middle + root) / curvature


def difference_interval(
    difference: np.ndarray,
    first: tuple[np.ndarray, np.ndarray],
    second: tuple[np.ndarray, np.ndarray],
    factor: float,
    lasting: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Interval of a difference, from those of its parts (Newcombe, 1998).

    The factor that both parts share leaves only the relative error of the difference itself; what
    changing negatives do to each part remains:

    .. math:: d - \sqrt{l_1^2 + u_2^2 + (d z \sigma)^2 + 2 (z \tau)^2}, \quad
              d + \sqrt{u_1^2 + l_2^2 + (d z \sigma)^2 + 2 (z \tau)^2}

    Parameters
    ----------
    difference : ndarray
        d, first minus second.
    first, second : tuple of two ndarrays
        How far the lower and the upper ends of the parts are from their values: l and u.
    factor : float
        z times the relative standard deviation of the shared factor.
    lasting : float
        z times the standard deviation of what changing negatives do to a part.
    """
    (low_1, high_1), (low_2, high_2) = first, second
    shared = (factor * difference) ** 2 + 2 * lasting**2
    return (
        difference - np.sqrt(low_1**2 + high_2**2 + shared),
        difference + np.sqrt(high_1**2 + low_2**2 + shared),
    )


def p_values(
    ratio_1: np.ndarray,
    n_1: np.ndarray,
    ratio_2: np.ndarray,
    n_2: np.ndarray,
    square: float,
    least: float = 0.0,
) -> np.ndarray:
    """P-values for "the two ratios differ by no more than `least`", one pair in each place.

    The larger of two tests of equal binomial shares: the score test, and that of the difference of
    Anscombe's arcsines. With few positives either alone gives too many small p-values, in different
    places.

    Examples
    --------
    >>> p = p_values(np.array([0.1, 0.2]), 500, np.array([0.1, 0.4]), 500, square=2.0)
    >>> p[0].item(), bool(p[1] < 1e-4)
    (1.0, True)
    """
    middle, half = (ratio_1 + ratio_2) / 2, (ratio_1 - ratio_2) / 2
    half = np.sign(half) * np.maximum(abs(half) - least / 2, 0)
    share_1, share_2 = (np.minimum(x / square, 1.0) for x in (middle + half, middle - half))
    together = (share_1 * n_1 + share_2 * n_2) / (n_1 + n_2)
    variance = together * (1 - together) * (1 / n_1 + 1 / n_2)
    z = np.abs(share_1 - share_2) / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    apart = np.abs(arcsine(share_1, n_1) - arcsine(share_2, n_2))
    smaller = np.minimum(z, apart / np.sqrt(1 / (4 * n_1 + 2) + 1 / (4 * n_2 + 2)))
    return np.minimum(1.0, 2 * ndtr(-smaller))


def arcsine(share: Any, n_rows: Any) -> Any:
    """Anscombe's transformation of a binomial share."""
    return np.arcsin(np.sqrt((share * n_rows + 3 / 8) / (n_rows + 3 / 4)))


def adjusted(p: np.ndarray) -> np.ndarray:
    """Holm's adjusted p-values: with a limit of .05, 1 family in 20 has a false alarm at most.

    Examples
    --------
    >>> adjusted(np.array([0.03, 0.01, 0.9])).tolist()
    [0.06, 0.03, 0.9]
    """
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    found = np.empty(len(p))
    found[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return found


def quantile(level: float) -> float:
    """Quantile of the normal distribution for a two-sided interval of this level."""
    return float(ndtri((1 + level) / 2))
