"""Classify and count: what it estimates, its systematic error, and the correction of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from poscount.theory.arguments import FloatOrArray, checked_shares, float_or_array


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
    p = checked_shares("prevalence", prevalence)
    tpr, fpr = checked_shares("tpr", tpr), checked_shares("fpr", fpr)
    return float_or_array(p * tpr + (1 - p) * fpr)


def classify_and_count_error(prevalence: ArrayLike, tpr: ArrayLike, fpr: ArrayLike) -> FloatOrArray:
    r"""Systematic error of classify and count, truth minus estimate.

    .. math:: p - p_{CC} = p \, \mathrm{FNR} - (1 - p) \, \mathrm{FPR}

    It is linear in the prevalence, zero only at FPR / (FPR + FNR), and no amount of data makes it
    smaller. Parameters and reference are those of `classify_and_count`.

    Examples
    --------
    >>> classify_and_count_error([0.0, 0.25, 1.0], tpr=0.9, fpr=0.1).round(3)
    array([-0.1 , -0.05,  0.1 ])
    """
    p = checked_shares("prevalence", prevalence)
    tpr, fpr = checked_shares("tpr", tpr), checked_shares("fpr", fpr)
    return float_or_array(p * (1 - tpr) - (1 - p) * fpr)


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
    share = checked_shares("observed_share", observed_share)
    tpr, fpr = checked_shares("tpr", tpr), checked_shares("fpr", fpr)
    if not np.all(tpr > fpr):
        raise ValueError(
            "tpr must be larger than fpr: otherwise the classifier says nothing about the classes, "
            "or they are in the wrong order."
        )
    return float_or_array(np.clip((share - fpr) / (tpr - fpr), 0.0, 1.0))
