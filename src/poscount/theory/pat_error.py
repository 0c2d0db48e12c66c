"""The expected error of PAT."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlog1py, xlogy

from poscount.methods.intervals import pat_variance
from poscount.theory.arguments import FloatOrArray, checked_counts, checked_shares, float_or_array

# Mean of |Z| for a standard normal Z.
MEAN_ABSOLUTE_NORMAL = math.sqrt(2 / math.pi)


def pat_error_mean(
    n_unlabeled: ArrayLike, prevalence: ArrayLike = 1.0, q: ArrayLike = 0.5
) -> FloatOrArray:
    r"""Expected absolute error of PAT with a single quantile.

    Assumes that no negative scores above the threshold (FPR = 0) and that the threshold is the
    true `q`-quantile of the positives' scores. The number of positives above it is then
    :math:`N_+ \sim \mathrm{Binomial}(|U_+|, 1 - q)`, the estimate is
    :math:`p' = N_+ / (|U| (1 - q))`, and

    .. math:: E|p - p'| = \sum_{i=0}^{|U_+|} \frac{\left| |U_+| (1 - q) - i \right|}{|U| (1 - q)}
              P(N_+ = i).

    The sum is computed exactly, by De Moivre's closed form of the binomial mean absolute deviation,

    .. math:: E|N_+ - |U_+| (1 - q)| = 2 \nu q P(N_+ = \nu),
              \quad \nu = \lfloor |U_+| (1 - q) \rfloor + 1.

    Parameters
    ----------
    n_unlabeled : int or array-like of int
        Number of rows in the sample, :math:`|U|`.
    prevalence : float or array-like, default=1.0
        Share of positives in the sample, in [0, 1]; :math:`|U_+|` is the integer nearest to
        ``prevalence * n_unlabeled``, and p is :math:`|U_+| / |U|`. A sample of positives only,
        the default, is the worst case.
    q : float or array-like, default=0.5
        The quantile, in (0, 1).

    Returns
    -------
    float or ndarray
        The arguments are broadcast against each other.

    See Also
    --------
    plan : Sample sizes for a wanted error; includes the sampling error of the positives.

    Notes
    -----
    PAT caps p' at 1, which can only lower the error, near p = 1 to about half of this value.
    The relative accuracy is better than 1e-8 for a million rows.

    References
    ----------
    .. [1] D. dos Reis, M. de Souto, E. de Sousa and G. Batista, "Quantifying With Only Positive
       Training Data", arXiv:2004.10356.
    .. [2] P. Diaconis and S. Zabell, "Closed Form Summation for Classical Distributions:
       Variations on a Theme of De Moivre", Statistical Science 6(3), 1991.

    Examples
    --------
    >>> round(pat_error_mean(2000), 4)
    0.0178
    >>> pat_error_mean([50, 200, 800], prevalence=0.5).round(4)
    array([0.0806, 0.0398, 0.0199])
    """
    n, positives, q_ = _pat_arguments(n_unlabeled, prevalence, q)
    # No more than all positives: a q below the spacing of floats would make it one more.
    nu = np.minimum(np.floor(positives * (1 - q_)) + 1, positives)
    log_pmf = (
        gammaln(positives + 1)
        - gammaln(nu + 1)
        - gammaln(positives - nu + 1)
        + xlog1py(nu, -q_)
        + xlogy(positives - nu, q_)
    )
    return float_or_array(2 * nu * q_ * np.exp(log_pmf) / (n * (1 - q_)))


def pat_error_variance(
    n_unlabeled: ArrayLike, prevalence: ArrayLike = 1.0, q: ArrayLike = 0.5
) -> FloatOrArray:
    r"""Variance of the absolute error of PAT with a single quantile.

    .. math:: \mathrm{Var}|p - p'| = \mathrm{Var}[p'] - (E|p - p'|)^2

    Assumptions, parameters and reference are those of `pat_error_mean`.

    Examples
    --------
    The band of two standard deviations around the expected error of 2,000 rows:

    >>> mean, sd = pat_error_mean(2000), pat_error_variance(2000) ** 0.5
    >>> round(mean - 2 * sd, 4), round(mean + 2 * sd, 4)
    (-0.0091, 0.0448)
    """
    mean = pat_error_mean(n_unlabeled, prevalence, q)
    variance = pat_estimate_variance(n_unlabeled, prevalence, q)
    # Rounding may leave a negative zero for a single positive and q = 0.5.
    return float_or_array(np.maximum(variance - mean**2, 0.0))


def pat_estimate_variance(
    n_unlabeled: ArrayLike, prevalence: ArrayLike = 1.0, q: ArrayLike = 0.5
) -> FloatOrArray:
    r"""Variance of PAT's estimate with a single quantile.

    .. math:: \mathrm{Var}[p'] = \frac{|U_+| q (1 - q)}{|U|^2 (1 - q)^2}

    Assumptions, parameters and reference are those of `pat_error_mean`.

    Examples
    --------
    >>> pat_estimate_variance(2000)
    0.0005
    >>> pat_estimate_variance(2000, prevalence=0.5)
    0.00025
    """
    n, positives, q_ = _pat_arguments(n_unlabeled, prevalence, q)
    return float_or_array(positives * q_ / (n**2 * (1 - q_)))


def _pat_arguments(n_unlabeled: ArrayLike, prevalence: ArrayLike, q: ArrayLike) -> tuple[Any, ...]:
    """Rows and positives in the sample and the quantile, checked."""
    n = checked_counts("n_unlabeled", n_unlabeled)
    positives = np.rint(checked_shares("prevalence", prevalence) * n)
    return n, positives, checked_shares("q", q, "()")


def pat_expected_error(
    n_labeled: ArrayLike, n_unlabeled: ArrayLike, prevalence: ArrayLike = 1.0
) -> FloatOrArray:
    r"""Expected absolute error of PAT, including the sampling error of the positives.

    .. math:: E|p - p'| = \sqrt{\frac{2}{\pi}}
              \sqrt{0.80 \left(\frac{p^2}{n_L} + \frac{\max(p, 1 / n_U)}{n_U}\right)}

    Parameters
    ----------
    n_labeled, n_unlabeled : int or array-like of int
        Number of labelled positives and of rows in the sample.
    prevalence : float or array-like, default=1.0
        Share of positives in the sample, in [0, 1].

    Returns
    -------
    float or ndarray
        The arguments are broadcast against each other.

    See Also
    --------
    plan : The other way round; its notes say how accurate the formula is.

    Examples
    --------
    >>> round(pat_expected_error(2547, 2546), 4)
    0.02
    """
    positives = checked_counts("n_labeled", n_labeled)
    rows = checked_counts("n_unlabeled", n_unlabeled)
    return float_or_array(expected_error(checked_shares("prevalence", prevalence), positives, rows))


def expected_error(p: Any, n_labeled: Any, n_unlabeled: Any) -> Any:
    """Expected absolute error of PAT's median over q; a number of rows may be infinite."""
    return MEAN_ABSOLUTE_NORMAL * np.sqrt(pat_variance(p, n_labeled, n_unlabeled))
