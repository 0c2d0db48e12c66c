"""Intervals for a prevalence from counts alone: by resampling, and in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from poscount.prevalence import Estimate, Interval
from poscount.seeds import stream

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


class Resampler:
    """Percentile interval from resampled counts of the sample and shares of the positives.

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
    generator : numpy.random.Generator

    Examples
    --------
    >>> def above(cells, shares):
    ...     return cells[..., 1] / cells.sum(axis=-1) / shares[..., 1]
    >>> resampler = Resampler(above, np.array([50.0, 50.0]), 0.95, np.random.default_rng(0))
    >>> low, high = resampler.interval(np.array([750, 250]))
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
        self.tails = [(1 - confidence) / 2, (1 + confidence) / 2]
        self.seed = generator.integers(2**63)

    def interval(self, cells: np.ndarray) -> tuple[float, float]:
        """Lower and upper end of the interval for the counts of one sample."""
        # With survey weights it is not a whole number.
        n_rows = cells.sum()
        generator = np.random.default_rng(self.seed)
        redrawn = generator.multinomial(round(n_rows), cells / n_rows, len(self.shares))
        low, high = np.quantile(self.rule(redrawn, self.shares), self.tails)
        return float(low), float(high)


def bootstrap_interval(value: float, replicates: np.ndarray, confidence: float) -> Interval:
    r"""Interval around an estimate, from estimates on random halves of the rows.

    .. math:: \hat p \pm z \sqrt{\frac{1}{B} \sum_b (\hat p_b - \hat p)^2}

    clipped to [0, 1]. A random half of the rows, drawn without replacement, varies as much as a
    bootstrap sample with replacement, but has no duplicates, which would put copies of a row into
    the training folds that score it. Distances are measured from the estimate and not from the
    mean of the replicates, so that the interval is wider for a method whose estimate depends on
    the number of rows.

    Coverage and mean width in percentage points, measured on Experiment #1 at 95 %
    (``benchmarks/accuracy/bootstrap_coverage.py``: W, P, R and L, 40 replicates, 44 samples for
    BBE, 24 for DEDPUL). The form was chosen on these data sets, and with so few samples the error
    of a coverage is 3 to 5 points:

    ========================================  ============  ============
    replicates, interval                      BBE           DEDPUL
    ========================================  ============  ============
    halves, this interval                     0.955 (17.3)  1.000 (18.3)
    halves, normal about their mean           0.909 (16.0)  0.875 (16.4)
    halves, percentiles                       0.886 (14.7)  0.792 (14.9)
    with replacement, as this interval        0.932 (22.2)  0.917 (21.8)
    with replacement, normal                  0.864 (17.5)  0.833 (19.1)
    with replacement, percentiles             0.773 (17.0)  0.542 (17.9)
    with replacement, mirrored percentiles    0.750 (13.3)  0.792 (13.7)
    ========================================  ============  ============

    On four other data sets (``--datasets A C vowels q-g --every 4``, 56 samples each) it gave BBE
    0.875 (17.3), DEDPUL 1.000 (16.4) and ExTIcE 0.964 (38.2). It accounts for the noise of a method
    but not for its bias: TIcE, whose error is mostly bias, had 0.268 (19.7), RanFocE 0.625 (20.7).

    Parameters
    ----------
    value : float
        The estimate from all rows.
    replicates : ndarray
        The estimates from halves.
    confidence : float

    Examples
    --------
    >>> interval = bootstrap_interval(0.5, np.array([0.45, 0.55]), confidence=0.95)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.402, 0.598)
    """
    z = ndtri((1 + confidence) / 2)
    half = float(z * np.sqrt(np.mean((replicates - value) ** 2)))
    return Interval(max(0.0, value - half), min(1.0, value + half), confidence)


def estimate_from_halves(
    estimate_from: Callable[..., Estimate],
    positives: np.ndarray,
    sample: np.ndarray,
    seed: int,
    i: int,
) -> float:
    """Replicate number `i` of an estimate: from a random half of the positives and of the sample.

    Parameters
    ----------
    estimate_from : callable
        Takes positives, sample and a generator.
    positives, sample : ndarray
    seed, i : int
        Each replicate has a stream of its own, so that neither the order nor the number of the
        workers matters.
    """
    generator = stream(seed, f"bootstrap {i}")
    halves = [
        rows[generator.permutation(len(rows))[: (len(rows) + 1) // 2]]
        for rows in (positives, sample)
    ]
    return estimate_from(*halves, generator).value
