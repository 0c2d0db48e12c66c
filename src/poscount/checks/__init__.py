"""The statistics behind the warnings: reasons to doubt an estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import chdtri
from sklearn.base import BaseEstimator

from poscount.prevalence import Caution, Interval
from poscount.scorers import Mahalanobis

# Beyond these numbers there is a warning.
WIDEST_INTERVAL = 0.24
WIDEST_GAP = 0.12
LARGEST_EXCESS = 1.65
LARGEST_DISAGREEMENT = 1.1
LARGEST_CORE_DIFFERENCE, CORE_FALSE_ALARMS = 1.8, 0.03
LARGEST_BIAS = 0.05
LARGEST_TIE = 0.05


def wide_interval(interval: Interval) -> list[Caution]:
    """Warn when the interval is too wide for the number to be of use."""
    if interval.width <= WIDEST_INTERVAL:
        return []
    return [
        Caution(
            "wide-interval",
            f"the interval is {100 * interval.width:.0f} points wide: too few rows or too few "
            "positives for a useful answer.",
            interval.width,
        )
    ]


def wide_gap(gap: float) -> list[Caution]:
    """Warn when RCQ's smallest bound is too far above its ratio for the number to be of use.

    A statement about precision, not an alarm: the mean error was 2 points for gaps of .05 to .08,
    5 for .12 to .16 and 6 for .20 to .30.
    """
    if gap <= WIDEST_GAP:
        return []
    return [
        Caution(
            "wide-interval",
            f"the tightest bound is {100 * gap:.0f} points above the estimate: too few rows or too "
            "few positives for a useful answer.",
            gap,
        )
    ]


def core_excess(uncapped: float, n_labeled: int, n_unlabeled: int) -> float:
    """How many more rows the core of the positives holds than positives alone could fill.

    O = (PAT before its cap at 1, minus 1) / sqrt(0.8 (1/n_L + 1/n_U)).
    """
    return (uncapped - 1) / math.sqrt(0.8 * (1 / n_labeled + 1 / n_unlabeled))


def crowded_core(excess: float, consequence: str = "the estimate is too high") -> list[Caution]:
    """Warn when the core of the positives holds more rows than positives alone could fill.

    Of the statistic, `core_excess`, 1.65 gives at most 5 false alarms in 100 samples of positives
    alone, and about 1 in 100 over samples of all prevalences.
    """
    if excess <= LARGEST_EXCESS:
        return []
    return [
        Caution(
            "overlap",
            "more rows look like typical positives than if all were positive: some negatives sit "
            f"in the core of the positives, or the positives have drifted; {consequence}.",
            excess,
        )
    ]


def core_difference(
    below: np.ndarray, total: np.ndarray, other_below: np.ndarray, other_total: np.ndarray
) -> np.ndarray:
    r"""How differently two sets of rows are spread inside the core of the positives.

    The mean, over all cuts, of

    .. math:: z^2 = \frac{(a - b)^2}{\max(m (1 - m), 0.02)\,(1/N_a + 1/N_b)}

    with the shares a and b of the two cores below the cut, m of both together, and the numbers of
    rows in the cores. It is about 1 when both come from one distribution, and 0 when one is empty.

    Parameters
    ----------
    below, other_below : ndarray of shape (..., n_cuts)
        Rows in the core at or below each cut.
    total, other_total : ndarray of shape (...)
        Rows in the core.

    Examples
    --------
    >>> half, all_rows = np.array([50.0, 50.0]), np.array(100.0)
    >>> float(core_difference(half, all_rows, 2 * half, 2 * all_rows))
    0.0
    """
    n, other_n = np.maximum(total, 1)[..., np.newaxis], np.maximum(other_total, 1)[..., np.newaxis]
    pooled = (below + other_below) / (n + other_n)
    variance = np.maximum(pooled * (1 - pooled), 0.02) * (1 / n + 1 / other_n)
    squares = (below / n - other_below / other_n) ** 2 / variance
    nothing = (total == 0) | (other_total == 0) | (below.shape[-1] == 0)
    return np.where(nothing, 0.0, squares.sum(axis=-1) / max(below.shape[-1], 1))


def core_freedom(below: np.ndarray) -> float:
    """Degrees of freedom of the core difference: how many independent cuts the cuts are worth.

    The squares of n correlated normal variables have a mean with variance 2 |C|^2 / n^2, C being
    their correlations: that of a chi-squared variable with n^2 / |C|^2 degrees of freedom, over
    that number.

    Parameters
    ----------
    below : ndarray of bool, shape (n_rows, n_cuts)
        Which positives of the core are at or below each cut.

    Examples
    --------
    >>> same = np.array([[True, True], [False, False], [True, True]])
    >>> round(core_freedom(same), 6)
    1.0
    """
    varying = below[:, below.any(axis=0) & ~below.all(axis=0)]
    if varying.shape[1] == 0:
        return 1.0
    standardised = (varying - varying.mean(axis=0)) / varying.std(axis=0)
    correlations = standardised.T @ standardised / len(standardised)
    return float(varying.shape[1] ** 2 / (correlations**2).sum())


def core_limit(freedom: float, floor: float, false_alarms: float) -> float:
    """Largest core difference that is no reason for doubt.

    The quantile of chi-squared over its degrees of freedom, and never less than `floor`, which
    leaves room for what theory leaves out where cuts are many.

    Examples
    --------
    >>> round(core_limit(2.0, 1.8, 0.03), 2), core_limit(50.0, 1.8, 0.03)
    (3.51, 1.8)
    """
    return max(floor, float(chdtri(freedom, false_alarms)) / freedom)


def shifted_core(
    difference: float, freedom: float, if_overlap: float, if_drift: float
) -> list[Caution]:
    """Warn when the sample's core is not spread like the positives' (`core_difference` > 1.8).

    Where few cuts are to be had the limit is higher (`core_limit`).
    """
    if difference <= core_limit(freedom, LARGEST_CORE_DIFFERENCE, CORE_FALSE_ALARMS):
        return []
    return [
        Caution(
            "core-differs",
            f"the rows that look most like positives are not spread as the positives are. "
            f"{two_readings(if_overlap, if_drift)} One clean sample in 30 gives as much.",
            difference,
        )
    ]


def disagreement(statistic: float, if_overlap: float, if_drift: float) -> list[Caution]:
    """Warn when PAT is farther above RCQ than chance explains: (PAT - RCQ) / gap > 1.1."""
    if statistic <= LARGEST_DISAGREEMENT:
        return []
    return [
        Caution(
            "pat-disagrees",
            f"PAT finds more than chance explains. {two_readings(if_overlap, if_drift)} One clean "
            "sample in 20 gives as much.",
            statistic,
        )
    ]


def two_readings(if_overlap: float, if_drift: float) -> str:
    """The two explanations that one sample leaves open, each with its number."""
    return (
        f"Either negatives overlap with part of the positives, then {if_overlap:.3f} stands; or "
        f"the positives have drifted, then PAT's {min(1.0, if_drift):.3f} is nearer."
    )


def singular_covariance(scorer: BaseEstimator, names: Sequence[str] | None) -> list[Caution]:
    """Warn when the positives do not vary in every direction, so that some do not count."""
    if not isinstance(scorer, Mahalanobis) or scorer.rank_ == scorer.n_features_in_:
        return []
    constant = [names[i] if names is not None else str(i) for i in scorer.constant_.tolist()]
    unused = scorer.n_features_in_ - scorer.rank_
    reason = f"constant: {', '.join(constant)}" if constant else "columns that repeat others"
    return [
        Caution(
            "singular-covariance",
            f"the positives do not vary in {unused} of {scorer.n_features_in_} directions "
            f"({reason}), and these do not count in the score.",
            float(unused),
        )
    ]


def few_positives(scorer: BaseEstimator, n_labeled: int) -> list[Caution]:
    """Warn when the plain covariance has too few positives for its features.

    Of m rows in d dimensions, the covariance makes new rows look m / (m - d - 2) times too far
    away, in squared distance. The training scores come from nine tenths of the rows and so look
    farther than those of a sample; the estimate is too high by about the share of positives that
    lies in this shift, 0.8 sqrt(d / 2) times the logarithm of the ratio, relative to itself.
    `benchmarks/few_positives.py` compares this with simulations of Gaussian positives: it is about
    right up to a fifth and an upper bound beyond, and a shrunk covariance takes nearly all of the
    bias away.
    """
    if not has_plain_covariance(scorer):
        return []
    d = scorer.rank_
    bias = covariance_bias(d, n_labeled)
    if bias <= LARGEST_BIAS:
        return []
    return [
        Caution(
            "few-positives",
            f"{n_labeled} positives are few for {d} features: with the plain covariance the "
            f"estimate may be too high by {100 * min(bias, 1):.0f} % of itself; shrink it, "
            'Mahalanobis("ledoit-wolf"), or give more positives.',
            bias,
        )
    ]


def has_plain_covariance(scorer: BaseEstimator) -> bool:
    """Whether a scorer is the Mahalanobis distance with a covariance that is not shrunk."""
    return isinstance(scorer, Mahalanobis) and scorer.covariance == "empirical"


def covariance_bias(n_features: int, n_labeled: int) -> float:
    """Share of itself by which PAT is too high with a plain covariance; see `few_positives`.

    Examples
    --------
    >>> round(covariance_bias(20, 50), 2), round(covariance_bias(20, 500), 3)
    (0.23, 0.013)
    """
    m = n_labeled - math.ceil(n_labeled / 10)
    too_far = [n / max(n - n_features - 2, 0.5) for n in (m, n_labeled)]
    return 0.8 * math.sqrt(n_features / 2) * math.log(too_far[0] / too_far[1])


def few_positives_for_rcq(n_labeled: int, fewest: int) -> list[Caution]:
    """Say that RCQ has answered by PAT's rule, because it has no regions to choose from."""
    reason = (
        f"{n_labeled} positives are fewer than {fewest}"
        if n_labeled < fewest
        else "no region holds a fair share of the positives"
    )
    return [
        Caution(
            "few-positives-for-rcq",
            f"{reason}, so that this is PAT's answer, which negatives among the positives make too "
            "high; give more positives.",
            float(n_labeled),
        )
    ]


def largest_tie(training_scores: np.ndarray, edges: np.ndarray) -> float:
    """Largest share of the positives whose score is exactly that of an edge.

    Examples
    --------
    >>> largest_tie(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 2.0]))
    0.5
    """
    ordered = np.sort(training_scores)
    ties = np.searchsorted(ordered, edges, "right") - np.searchsorted(ordered, edges, "left")
    # One positive alone shares its score with nobody.
    return float(ties.max() / len(ordered)) if ties.max() > 1 else 0.0


def tied_scores(largest: float) -> list[Caution]:
    """Warn when so many positives share a score that the shares between the edges are wrong."""
    if largest <= LARGEST_TIE:
        return []
    return [
        Caution(
            "tied-scores",
            f"{100 * largest:.0f} % of the positives have one and the same score, so that shares "
            "of positives are known only up to as much; use a scorer with finer scores.",
            largest,
        )
    ]
