"""What can be known before any row is seen: the errors of PAT and of classify and count.

The formulas are those of the paper; `plan` adds what the paper leaves out, the error that comes
from having learned the positives from a sample of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, xlog1py, xlogy

from poscount.intervals import half_width, pat_variance

# A float when every argument is a number, otherwise an array: as in the annotations of numpy's
# ufuncs, only `Any` lets both be used without a cast.
FloatOrArray: TypeAlias = Any

# Mean of |Z| for a standard normal Z.
_MEAN_ABSOLUTE_NORMAL = math.sqrt(2 / math.pi)


def pat_error_mean(
    n_unlabeled: ArrayLike, prevalence: ArrayLike = 1.0, q: ArrayLike = 0.5
) -> FloatOrArray:
    r"""Mean absolute error to expect of PAT with a single quantile.

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
    plan : Sample sizes for a wanted error; counts the sampling error of the positives, too.

    Notes
    -----
    PAT caps p' at 1, which can only lower the error: near p = 1 to about half of this one.
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
    # At most all positives: only a q below the spacing of floats could make it one more.
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
    return _float_or_array(np.maximum(variance - mean**2, 0.0))


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
    return _float_or_array(positives * q_ / (n**2 * (1 - q_)))


def pat_expected_error(
    n_labeled: ArrayLike, n_unlabeled: ArrayLike, prevalence: ArrayLike = 1.0
) -> FloatOrArray:
    r"""Mean absolute error to expect of PAT, the sampling of the positives included.

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
    plan : The other way round; its notes say how far the formula can be trusted.

    Examples
    --------
    >>> round(pat_expected_error(2547, 2546), 4)
    0.02
    """
    positives, rows = _counts("n_labeled", n_labeled), _counts("n_unlabeled", n_unlabeled)
    return _float_or_array(_expected_error(_shares("prevalence", prevalence), positives, rows))


def classify_and_count(prevalence: ArrayLike, tpr: ArrayLike, fpr: ArrayLike) -> FloatOrArray:
    r"""Share of a sample that a classifier is expected to call positive.

    .. math:: p_{CC} = p \, \mathrm{TPR} + (1 - p) \, \mathrm{FPR}

    Parameters
    ----------
    prevalence : float or array-like
        True share of positives in the sample, in [0, 1].
    tpr, fpr : float or array-like
        Shares of the positives and of the negatives that the classifier calls positive.

    Returns
    -------
    float or ndarray

    References
    ----------
    .. [1] D. dos Reis, M. de Souto, E. de Sousa and G. Batista, "Quantifying With Only Positive
       Training Data", arXiv:2004.10356.

    Examples
    --------
    Ten percent of false positives make a rare class look nearly twice as common:

    >>> round(classify_and_count(0.1, tpr=0.9, fpr=0.1), 3)
    0.18
    """
    p = _shares("prevalence", prevalence)
    tpr, fpr = _shares("tpr", tpr), _shares("fpr", fpr)
    return _float_or_array(p * tpr + (1 - p) * fpr)


def classify_and_count_error(prevalence: ArrayLike, tpr: ArrayLike, fpr: ArrayLike) -> FloatOrArray:
    r"""Systematic error of classify and count, truth minus estimate.

    .. math:: p - p_{CC} = p \, \mathrm{FNR} - (1 - p) \, \mathrm{FPR}

    It is linear in the prevalence, zero at FPR / (FPR + FNR) only, and no amount of data makes it
    smaller. Parameters and reference are those of `classify_and_count`.

    Examples
    --------
    >>> classify_and_count_error([0.0, 0.25, 1.0], tpr=0.9, fpr=0.1).round(3)
    array([-0.1 , -0.05,  0.1 ])
    """
    p = _shares("prevalence", prevalence)
    tpr, fpr = _shares("tpr", tpr), _shares("fpr", fpr)
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
        be larger than `fpr`. With equal ones the share says nothing about the prevalence; a
        smaller `tpr` means two arguments or two classes in the wrong order, and would give
        a plausible number that is wrong.

    Returns
    -------
    float or ndarray

    References
    ----------
    .. [1] D. dos Reis, M. de Souto, E. de Sousa and G. Batista, "Quantifying With Only Positive
       Training Data", arXiv:2004.10356.
    .. [2] G. Forman, "Counting Positives Accurately Despite Inaccurate Classification", ECML 2005.

    Examples
    --------
    >>> round(adjusted_count(0.18, tpr=0.9, fpr=0.1), 3)
    0.1
    """
    share = _shares("observed_share", observed_share)
    tpr, fpr = _shares("tpr", tpr), _shares("fpr", fpr)
    if not np.all(tpr > fpr):
        raise ValueError(
            "tpr must be larger than fpr: otherwise the classifier tells nothing, or its classes "
            "are in the wrong order."
        )
    return _float_or_array(np.clip((share - fpr) / (tpr - fpr), 0.0, 1.0))


@dataclass(frozen=True, slots=True)
class Plan:
    """Sample sizes and the precision to expect from them, as found by `plan`.

    Attributes
    ----------
    n_labeled, n_unlabeled : int
        Number of labelled positives and of rows in the sample.
    expected_error : float
        Expected absolute error of PAT with these sizes.
    half_width : float
        Half-width of the interval with these sizes.
    confidence : float
        Coverage of that interval.
    prevalence : float
        The share of positives planned for.
    """

    n_labeled: int
    n_unlabeled: int
    expected_error: float
    half_width: float
    confidence: float
    prevalence: float


def plan(
    error: float,
    *,
    prevalence: float = 1.0,
    confidence: float = 0.95,
    n_labeled: int | None = None,
    n_unlabeled: int | None = None,
) -> Plan:
    r"""Find how many positives and how many unlabeled rows a wanted error needs.

    The expected absolute error, `pat_expected_error`, must not exceed `error`. Of all pairs that
    achieve it the one with the smallest sum is taken, in which :math:`n_L = \sqrt{p} \, n_U` up to
    rounding (while :math:`p n_U \geq 1`).
    Whatever the plan says, PAT takes no fewer than ten positives, and its default scorer no fewer
    than the features and two.

    Parameters
    ----------
    error : float
        Wanted expected absolute error :math:`E|p - p'|`, at least 0.000001 and below 1.
    prevalence : float, default=1.0
        Share of positives to plan for, in (0, 1]. The default is the worst case.
    confidence : float, default=0.95
        Coverage of the interval whose half-width the plan reports.
    n_labeled, n_unlabeled : int, optional
        Give one of them if it is fixed already, and only the other is looked for.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If the fixed number is so small that no other number achieves the wanted error.

    Notes
    -----
    The formula leaves out PAT's cap at 1, which halves the error of a sample of positives only,
    and is mostly a little cautious: on simulated scores PAT errs about 5 % less, except that with
    only a handful of positives in the sample it errs up to 3 % more. It assumes that no negative
    scores like a positive; no number of rows makes up for that.

    References
    ----------
    .. [1] D. dos Reis, M. de Souto, E. de Sousa and G. Batista, "Quantifying With Only Positive
       Training Data", arXiv:2004.10356.

    Examples
    --------
    >>> needed = plan(0.02)
    >>> needed.n_labeled, needed.n_unlabeled, round(needed.half_width, 3)
    (2547, 2546, 0.049)

    With only 200 positives at hand, and a quarter of the sample expected to be positive:

    >>> plan(0.02, prevalence=0.25, n_labeled=200).n_unlabeled
    529
    """
    _shares("error", error, "[)", low=1e-6)
    p = float(_shares("prevalence", prevalence, "(]"))
    _shares("confidence", confidence, "()")
    if n_labeled is not None and n_unlabeled is not None:
        raise ValueError("Give n_labeled or n_unlabeled or neither: a plan looks for the other.")
    if n_labeled is None:
        if n_unlabeled is None:
            n_unlabeled = _cheapest_n_unlabeled(error, p)
        rows = int(_counts("n_unlabeled", n_unlabeled))
        limit = _expected_error(p, math.inf, rows)
        if limit >= error:
            least = _smallest(lambda n: _expected_error(p, math.inf, n) < error)
            raise ValueError(
                f"With {rows} unlabeled rows no number of labelled positives brings the expected "
                f"error below {limit:.4g}: {error:.4g} needs at least {least} unlabeled rows."
            )
        positives = _smallest(lambda n: _expected_error(p, n, rows) <= error)
    else:
        positives = int(_counts("n_labeled", n_labeled))
        limit = _expected_error(p, positives, math.inf)
        if limit >= error:
            least = _smallest(lambda n: _expected_error(p, n, math.inf) < error)
            raise ValueError(
                f"With {positives} labelled positives no number of unlabeled rows brings the "
                f"expected error below {limit:.4g}: {error:.4g} needs at least {least} labelled "
                "positives."
            )
        rows = _smallest(lambda n: _expected_error(p, positives, n) <= error)
    return Plan(
        n_labeled=positives,
        n_unlabeled=rows,
        expected_error=float(_expected_error(p, positives, rows)),
        half_width=float(half_width(p, positives, rows, confidence)),
        confidence=float(confidence),
        prevalence=p,
    )


def _expected_error(p: Any, n_labeled: Any, n_unlabeled: Any) -> Any:
    """Mean absolute error to expect of PAT's median over q; a number of rows may be infinite."""
    return _MEAN_ABSOLUTE_NORMAL * np.sqrt(pat_variance(p, n_labeled, n_unlabeled))


def _cheapest_n_unlabeled(error: float, p: float) -> int:
    """Rows of the sample in the pair with the smallest sum.

    The positives needed beside n rows are a convex function of n, so that the sum is smallest
    where one more row first saves no more than one positive.
    """
    variance = (error / _MEAN_ABSOLUTE_NORMAL) ** 2

    def n_labeled(n: int) -> float:
        left = variance - pat_variance(p, math.inf, n)
        return pat_variance(p, 1, math.inf) / left if left > 0 else math.inf

    return _smallest(
        lambda n: _expected_error(p, math.inf, n) < error and n_labeled(n) - n_labeled(n + 1) <= 1
    )


def _smallest(enough: Callable[[int], bool]) -> int:
    """Return the smallest positive integer that is enough, where all larger ones are enough too."""
    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _pat_arguments(n_unlabeled: ArrayLike, prevalence: ArrayLike, q: ArrayLike) -> tuple[Any, ...]:
    """Rows and positives in the sample and the quantile, checked."""
    n = _counts("n_unlabeled", n_unlabeled)
    positives = np.rint(_shares("prevalence", prevalence) * n)
    return n, positives, _shares("q", q, "()")


def _shares(
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


def _counts(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Values as floats, if they are whole numbers from 1 on."""
    x = np.asarray(values, dtype=np.float64)
    good = (x >= 1) & (x < np.inf) & (x == np.floor(x))
    if not np.all(good):
        raise ValueError(f"{name} must be a whole number from 1 on, not {x[~good].item(0):g}.")
    return x


def _float_or_array(values: Any) -> FloatOrArray:
    return float(values) if np.ndim(values) == 0 else values
