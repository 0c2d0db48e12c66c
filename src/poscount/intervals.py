"""Intervals for a prevalence from counts alone: by resampling, and in closed form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from poscount.prevalence import Interval

Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


def pat_variance(prevalence: Any, n_labeled: Any, n_unlabeled: Any) -> Any:
    r"""Variance of PAT, the median over q = .25, ..., .75, in closed form.

    .. math:: 0.8 \left(\frac{p^2}{n_L} + \frac{\max(p, 1/n_U)}{n_U}\right)

    The first term is the error of the quantiles, learned from a sample of the positives; the
    second is that of counting in the sample; 0.8 is what the median gains over q = 0.5 alone.
    The arguments are numbers or arrays.

    Examples
    --------
    >>> round(float(pat_variance(0.5, n_labeled=400, n_unlabeled=1000)), 6)
    0.0009
    """
    counting = np.maximum(prevalence, 1 / n_unlabeled) / n_unlabeled
    return 0.8 * (prevalence**2 / n_labeled + counting)


def half_width(prevalence: Any, n_labeled: Any, n_unlabeled: Any, confidence: float = 0.95) -> Any:
    """Half-width of PAT's interval in closed form: the normal quantile times the spread.

    Examples
    --------
    >>> round(float(half_width(0.3, n_labeled=500, n_unlabeled=2000)), 3)
    0.032
    """
    z = ndtri((1 + confidence) / 2)
    return z * np.sqrt(pat_variance(prevalence, n_labeled, n_unlabeled))


class Resampler:
    """Percentile interval over redrawn counts of the sample and redrawn shares of the positives.

    The counts come from the multinomial of the observed ones, the shares from the Dirichlet
    distribution that the finite number of labelled positives leaves open. The draws of the shares
    are made once, so that many samples can be treated in a row.

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
        # Twenty draws beyond the ends of the interval keep its ends steady; levels above 0.999
        # make do with fewer, because their draws would fill the memory.
        n_draws = min(20_000, max(400, math.ceil(20 / (1 - confidence))))
        # Normalised gammas are a Dirichlet draw, and unlike numpy's they allow an empty cell.
        draws = generator.standard_gamma(concentration, (n_draws, len(concentration)))
        self.rule = rule
        self.shares = draws / draws.sum(axis=1, keepdims=True)
        self.tails = [(1 - confidence) / 2, (1 + confidence) / 2]
        self.seed = generator.integers(2**63)

    def interval(self, cells: np.ndarray) -> tuple[float, float]:
        """Lower and upper end for the counts of one sample."""
        n_rows = int(cells.sum())
        generator = np.random.default_rng(self.seed)
        redrawn = generator.multinomial(n_rows, cells / n_rows, len(self.shares))
        low, high = np.quantile(self.rule(redrawn, self.shares), self.tails)
        return float(low), float(high)


def bootstrap_interval(value: float, replicates: np.ndarray, confidence: float) -> Interval:
    """Percentile interval over bootstrap replicates, stretched to hold the estimate itself.

    Examples
    --------
    >>> bootstrap_interval(0.5, np.array([0.4, 0.5, 0.6]), confidence=0.5)
    Interval(low=0.45, high=0.55, level=0.5)
    """
    low, high = np.quantile(replicates, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(min(low, value)), float(max(high, value)), confidence)
