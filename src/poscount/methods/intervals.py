"""Intervals for a prevalence from counts alone: by resampling, and in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from poscount.results.distribution import (
    INTERVAL_LEVELS,
    LEVELS,
    NORMAL,
    quantiles_from_intervals,
)

Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


def quantile_variance(prevalence: Any, q: Any, n_labeled: Any, n_unlabeled: Any) -> Any:
    r"""Variance of PAT with a single quantile q, in closed form.

    .. math:: \frac{q}{1 - q} \left(\frac{p^2}{n_L} + \frac{\max(p, 1/n_U)}{n_U}\right)

    The first term comes from learning the quantile from a sample of the positives, the second
    from counting in the sample. The arguments are numbers or arrays.

    Examples
    --------
    >>> round(float(quantile_variance(0.5, 0.75, n_labeled=400, n_unlabeled=1000)), 6)
    0.003375
    """
    counting = np.maximum(prevalence, 1 / n_unlabeled) / n_unlabeled
    return q / (1 - q) * (prevalence**2 / n_labeled + counting)


def pat_variance(prevalence: Any, n_labeled: Any, n_unlabeled: Any) -> Any:
    """Variance of PAT, the median over q = .25, ..., .75, in closed form.

    It is 0.8 times the variance with q = 0.5 alone, because the median is more precise.

    Examples
    --------
    >>> round(float(pat_variance(0.5, n_labeled=400, n_unlabeled=1000)), 6)
    0.0009
    """
    return 0.8 * quantile_variance(prevalence, 0.5, n_labeled, n_unlabeled)


def curve_half_width(
    curve: Any, q: Any, n_labeled: Any, n_unlabeled: Any, confidence: float = 0.95
) -> Any:
    """Half-width of the interval of PAT with a single quantile, for each point of its curve.

    From the normal distribution, which gives slightly too narrow an interval for few rows: if 20
    rows lie above the threshold, the 95 % interval covers the truth in 93 of 100 samples.

    Examples
    --------
    >>> round(float(curve_half_width(0.3, 0.5, n_labeled=500, n_unlabeled=2000)), 3)
    0.036
    """
    z = ndtri((1 + confidence) / 2)
    return z * np.sqrt(quantile_variance(curve, q, n_labeled, n_unlabeled))


def half_width(prevalence: Any, n_labeled: Any, n_unlabeled: Any, confidence: float = 0.95) -> Any:
    """Half-width of PAT's interval in closed form: normal quantile times standard deviation.

    Examples
    --------
    >>> round(float(half_width(0.3, n_labeled=500, n_unlabeled=2000)), 3)
    0.032
    """
    z = ndtri((1 + confidence) / 2)
    return z * np.sqrt(pat_variance(prevalence, n_labeled, n_unlabeled))


def pat_interval(
    prevalence: Any, quantiles: np.ndarray, n_labeled: int, n_unlabeled: Any, confidence: Any
) -> tuple[Any, Any]:
    r"""Interval of PAT, or of the mean over the same quantiles, in closed form.

    The ends are the prevalences x that are as far from the estimate as chance would move it if
    they were true,

    .. math:: (x - \hat p)^2 = z^2 \left(v \left(\frac{x^2}{n_L} + \frac{x}{n_U}\right)
              + \frac{x (1 - x)}{n_U}\right), \qquad
              v = \operatorname*{mean}_{q, q'} \frac{\min(q, q')}{1 - \min(q, q')}.

    For one quantile :math:`v = q / (1 - q)`, and with the threshold known (:math:`n_L = \infty`)
    this is Wilson's interval for the share of rows above it, divided by 1 - q. Since the variance
    is taken at the ends and not at the estimate, a count of zero has an interval, too. For several,
    v is the variance of the mean over them, which is about that of the median: 0.80 against 0.75
    for q = .25, ..., .75. No quantile is known better than to one of the positives, so that
    q / (1 - q) is at least 1 / n_L.

    The interval is for the share of positives in the sample, as those of all methods are. The last
    term is what chance does to the number of positives in a sample: it is what redrawn counts have
    as well, the interval is cautious if nothing but chance is at work, and so it also holds for the
    population that the sample was drawn from.

    Parameters
    ----------
    prevalence : float or ndarray
        Estimates, in [0, 1].
    quantiles : ndarray
        The quantiles q, ascending, in [0, 1).
    n_labeled : int
        Positives.
    n_unlabeled : float or ndarray
        Rows of the samples.
    confidence : float or ndarray
        Of a shape that fits to that of the prevalences.

    Returns
    -------
    low, high : float or ndarray
        In [0, 1].

    References
    ----------
    E. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
    the American Statistical Association 22, 1927.

    Examples
    --------
    >>> low, high = pat_interval(0.3, np.array([0.5]), 500, 2000, 0.95)
    >>> round(float(low), 3), round(float(high), 3)
    (0.263, 0.345)
    >>> low, high = pat_interval(0.0, np.array([0.9]), 500, 2000, 0.95)
    >>> round(float(low), 3), round(float(high), 3)
    (0.0, 0.021)
    """
    odds = np.maximum(quantiles / (1 - quantiles), 1 / n_labeled)
    v = np.minimum.outer(odds, odds).mean()
    z2 = ndtri((1 + confidence) / 2) ** 2
    # As a quadratic: square x^2 - linear x + prevalence^2 = 0.
    square = 1 - z2 * (v / n_labeled - 1 / n_unlabeled)
    linear = 2 * prevalence + z2 * (v + 1) / n_unlabeled
    root = np.sqrt(np.maximum(linear**2 - 4 * square * prevalence**2, 0))
    low = 2 * prevalence**2 / (linear + root)
    # With so few positives that the quantiles may be anything, nothing bounds x from above.
    bounded = square > 0
    high = np.where(bounded, (linear + root) / (2 * np.where(bounded, square, 1)), 1.0)
    return np.clip(low, 0, prevalence), np.clip(high, prevalence, 1)


def pat_quantiles(
    prevalence: np.ndarray, quantiles: np.ndarray, n_labeled: int, n_unlabeled: Any
) -> np.ndarray:
    """Quantiles of prevalences at `LEVELS`, by the closed form of `pat_interval`.

    Examples
    --------
    >>> from poscount.results.distribution import ends_at
    >>> found = pat_quantiles(np.array([0.3]), np.array([0.5]), 500, 2000)
    >>> [round(float(end), 3) for (end,) in ends_at(found, 0.95)]
    [0.263, 0.345]
    """
    levels = INTERVAL_LEVELS[:, np.newaxis]
    ends = pat_interval(prevalence, quantiles, n_labeled, n_unlabeled, levels)
    return quantiles_from_intervals(prevalence, *ends)


def normal_quantiles(
    prevalence: np.ndarray, n_labeled: int, n_unlabeled: np.ndarray | int
) -> np.ndarray:
    """Quantiles at `LEVELS` of a normal distribution with PAT's variance, in [0, 1].

    Examples
    --------
    >>> from poscount.results.distribution import ends_at
    >>> found = normal_quantiles(np.array([0.3]), n_labeled=500, n_unlabeled=2000)
    >>> [round(float(end), 3) for (end,) in ends_at(found, 0.95)]
    [0.268, 0.332]
    """
    deviation = np.sqrt(pat_variance(prevalence, n_labeled, n_unlabeled))
    distance = NORMAL[:, np.newaxis] * deviation
    return np.clip(prevalence + distance, 0, 1, out=distance).T


class Resampler:
    """Quantiles from resampled counts of the sample and shares of the positives.

    The counts are drawn from a multinomial distribution with the observed proportions, the shares
    from a Dirichlet distribution that is wider the fewer positives there are. The shares are drawn
    once for all samples.

    Parameters
    ----------
    rule : callable
        ``rule(cells, shares)`` gives the prevalence for each row of `cells`.
    concentration : ndarray
        Dirichlet parameter of each cell.
    confidence : float
        Of the interval that is to be stable; ends of wider ones are those of few draws.
    generator : numpy.random.Generator

    Examples
    --------
    >>> def above(cells, shares):
    ...     return cells[..., 1] / cells.sum(axis=-1) / shares[..., 1]
    >>> from poscount.results.distribution import ends_at
    >>> resampler = Resampler(above, np.array([50.0, 50.0]), 0.95, np.random.default_rng(0))
    >>> low, high = ends_at(resampler.quantiles(np.array([750, 250])), 0.95)
    >>> bool(low < 0.5 < high)
    True
    """

    def __init__(
        self,
        rule: Rule,
        concentration: np.ndarray,
        confidence: float,
        generator: np.random.Generator,
    ) -> None:
        # With twenty draws outside the interval its ends are stable; for levels above 0.999 there
        # are fewer, because so many draws would fill the memory.
        n_draws = min(20_000, max(400, math.ceil(20 / (1 - confidence))))
        # Normalised gammas are a Dirichlet draw; unlike numpy's, they allow a parameter of 0.
        draws = generator.standard_gamma(concentration, (n_draws, len(concentration)))
        self.rule = rule
        self.shares = draws / draws.sum(axis=1, keepdims=True)
        self.seed = generator.integers(2**63)

    def quantiles(self, cells: np.ndarray) -> np.ndarray:
        """Quantiles at `LEVELS` for the counts of one sample."""
        # With survey weights it is not a whole number.
        n_rows = cells.sum()
        generator = np.random.default_rng(self.seed)
        redrawn = generator.multinomial(round(n_rows), cells / n_rows, len(self.shares))
        return np.quantile(self.rule(redrawn, self.shares), LEVELS)
