"""The errors of PAT and of classify and count, as formulas.

The formulas are those of D. dos Reis, M. de Souto, E. de Sousa and G. Batista, "Quantifying With
Only Positive Training Data", arXiv:2004.10356, unless others are named. Arguments may be numbers
or arrays, which are broadcast against each other; numbers give a float.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlog1py, xlogy

from poscount.methods.intervals import pat_variance

# A float when every argument is a number, otherwise an array: as in the annotations of numpy's
# ufuncs, only `Any` lets both be used without a cast.
FloatOrArray: TypeAlias = Any
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
        The quantile, in [0, 1). With 0 all positives pass, and there is no error.

    Notes
    -----
    PAT caps p' at 1, which can only lower the error, near p = 1 to about half of this value.
    The relative accuracy is better than 1e-8 for a million rows.

    References
    ----------
    P. Diaconis and S. Zabell, "Closed Form Summation for Classical Distributions: Variations on a
    Theme of De Moivre", Statistical Science 6(3), 1991.

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
    return _float_or_array(2 * nu * q_ * np.exp(log_pmf) / (n * (1 - q_)))


def pat_error_variance(
    n_unlabeled: ArrayLike, prevalence: ArrayLike = 1.0, q: ArrayLike = 0.5
) -> FloatOrArray:
    r"""Variance of the absolute error of PAT with a single quantile.

    .. math:: \mathrm{Var}|p - p'| = \mathrm{Var}[p'] - (E|p - p'|)^2

    Assumptions and parameters are those of `pat_error_mean`.

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
    return _float_or_array(np.maximum(variance - mean**2, 0.0))


def pat_estimate_variance(
    n_unlabeled: ArrayLike, prevalence: ArrayLike = 1.0, q: ArrayLike = 0.5
) -> FloatOrArray:
    r"""Variance of PAT's estimate with a single quantile.

    .. math:: \mathrm{Var}[p'] = \frac{|U_+| q (1 - q)}{|U|^2 (1 - q)^2}

    Assumptions and parameters are those of `pat_error_mean`.

    Examples
    --------
    >>> pat_estimate_variance(2000)
    0.0005
    >>> pat_estimate_variance(2000, prevalence=0.5)
    0.00025
    """
    n, positives, q_ = _pat_arguments(n_unlabeled, prevalence, q)
    return _float_or_array(positives * q_ / (n**2 * (1 - q_)))


def _pat_arguments(n_unlabeled: ArrayLike, prevalence: ArrayLike, q: ArrayLike) -> tuple[Any, ...]:
    """Rows and positives in the sample and the quantile, checked."""
    n = checked_counts("n_unlabeled", n_unlabeled)
    positives = np.rint(checked_shares("prevalence", prevalence) * n)
    return n, positives, checked_shares("q", q, "[)")


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

    Examples
    --------
    >>> round(pat_expected_error(2547, 2546), 4)
    0.02
    """
    positives = checked_counts("n_labeled", n_labeled)
    rows = checked_counts("n_unlabeled", n_unlabeled)
    return _float_or_array(
        expected_error(checked_shares("prevalence", prevalence), positives, rows)
    )


def expected_error(p: Any, n_labeled: Any, n_unlabeled: Any) -> Any:
    """Expected absolute error of PAT's median over q; a number of rows may be infinite."""
    return MEAN_ABSOLUTE_NORMAL * np.sqrt(pat_variance(p, n_labeled, n_unlabeled))


def classify_and_count(prevalence: ArrayLike, tpr: ArrayLike, fpr: ArrayLike) -> FloatOrArray:
    r"""Share of a sample that a classifier is expected to call positive.

    .. math:: p_{CC} = p \, \mathrm{TPR} + (1 - p) \, \mathrm{FPR}

    Parameters
    ----------
    prevalence : float or array-like
        True share of positives in the sample, in [0, 1].
    tpr, fpr : float or array-like
        Shares of the positives and of the negatives that the classifier calls positive.

    Examples
    --------
    Ten percent of false positives make a rare class look nearly twice as common:

    >>> round(classify_and_count(0.1, tpr=0.9, fpr=0.1), 3)
    0.18
    """
    p = checked_shares("prevalence", prevalence)
    tpr, fpr = checked_shares("tpr", tpr), checked_shares("fpr", fpr)
    return _float_or_array(p * tpr + (1 - p) * fpr)


def classify_and_count_error(prevalence: ArrayLike, tpr: ArrayLike, fpr: ArrayLike) -> FloatOrArray:
    r"""Systematic error of classify and count, truth minus estimate.

    .. math:: p - p_{CC} = p \, \mathrm{FNR} - (1 - p) \, \mathrm{FPR}

    It is linear in the prevalence, zero only at FPR / (FPR + FNR), and no amount of data makes it
    smaller. The parameters are those of `classify_and_count`.

    Examples
    --------
    >>> classify_and_count_error([0.0, 0.25, 1.0], tpr=0.9, fpr=0.1).round(3)
    array([-0.1 , -0.05,  0.1 ])
    """
    p = checked_shares("prevalence", prevalence)
    tpr, fpr = checked_shares("tpr", tpr), checked_shares("fpr", fpr)
    return _float_or_array(p * (1 - tpr) - (1 - p) * fpr)


def adjusted_count(observed_share: ArrayLike, tpr: ArrayLike, fpr: ArrayLike) -> FloatOrArray:
    r"""Prevalence behind the share that a classifier calls positive.

    .. math:: p = \frac{p_{CC} - \mathrm{FPR}}{\mathrm{TPR} - \mathrm{FPR}},
              \quad \text{clipped to } [0, 1]

    Parameters
    ----------
    observed_share : float or array-like
        Share of the sample that the classifier calls positive, in [0, 1].
    tpr, fpr : float or array-like
        Shares of the positives and of the negatives that the classifier calls positive; `tpr` must
        be larger than `fpr`. If they are equal, the share says nothing about the prevalence; if
        `tpr` is smaller, two arguments or two classes are in the wrong order, and the result would
        be a plausible number that is wrong.

    References
    ----------
    G. Forman, "Counting Positives Accurately Despite Inaccurate Classification", ECML 2005.

    Examples
    --------
    >>> round(adjusted_count(0.18, tpr=0.9, fpr=0.1), 3)
    0.1
    """
    share = checked_shares("observed_share", observed_share)
    tpr, fpr = checked_shares("tpr", tpr), checked_shares("fpr", fpr)
    if not np.all(tpr > fpr):
        raise ValueError(
            "tpr must be larger than fpr: otherwise the classifier says nothing about the classes, "
            "or they are in the wrong order."
        )
    return _float_or_array(np.clip((share - fpr) / (tpr - fpr), 0.0, 1.0))


def checked_shares(
    name: str, values: ArrayLike, brackets: str = "[]", low: float = 0.0
) -> NDArray[np.float64]:
    """Values as floats, if they lie between `low` and 1; a round bracket leaves that end out."""
    x = np.asarray(values, dtype=np.float64)
    above = x >= low if brackets[0] == "[" else x > low
    below = x <= 1 if brackets[1] == "]" else x < 1
    if not np.all(above & below):
        wrong = x[~(above & below)].item(0)
        raise ValueError(f"{name} must be in {brackets[0]}{low:g}, 1{brackets[1]}, not {wrong:g}.")
    return x


def checked_counts(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Values as floats, if they are whole numbers of at least 1."""
    x = np.asarray(values, dtype=np.float64)
    good = (x >= 1) & (x < np.inf) & (x == np.floor(x))
    if not np.all(good):
        raise ValueError(f"{name} must be a whole number of at least 1, not {x[~good].item(0):g}.")
    return x


def _float_or_array(values: Any) -> FloatOrArray:
    """A number as a float; an array as it is."""
    return float(values) if np.ndim(values) == 0 else values
