"""Differences between ratios on common regions: intervals, tests, and false alarms of many tests.

A ratio e of n rows varies like a binomial share e / a of n rows (`poscount.change.shared_regions`).
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri


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
) -> tuple[np.ndarray, np.ndarray]:
    r"""Interval of a difference, from those of its parts (Newcombe, 1998).

    The factor that both parts share leaves only the relative error of the difference itself:

    .. math:: d - \sqrt{l_1^2 + u_2^2 + (d z \sigma)^2}, \quad
              d + \sqrt{u_1^2 + l_2^2 + (d z \sigma)^2}

    Parameters
    ----------
    difference : ndarray
        d, first minus second.
    first, second : tuple of two ndarrays
        How far the lower and the upper ends of the parts are from their values: l and u.
    factor : float
        z times the relative standard deviation of the shared factor.
    """
    (low_1, high_1), (low_2, high_2) = first, second
    shared = (factor * difference) ** 2
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
) -> np.ndarray:
    """P-values for "the two groups have the same prevalence", one pair in each place.

    The larger of two tests of equal binomial shares: the score test, and that of the difference of
    Anscombe's arcsines. With few positives either alone gives too many small p-values, in different
    places.

    Examples
    --------
    >>> p = p_values(np.array([0.1, 0.2]), 500, np.array([0.1, 0.4]), 500, square=2.0)
    >>> p[0].item(), bool(p[1] < 1e-4)
    (1.0, True)
    """
    share_1, share_2 = (np.minimum(ratio / square, 1.0) for ratio in (ratio_1, ratio_2))
    together = (share_1 * n_1 + share_2 * n_2) / (n_1 + n_2)
    variance = together * (1 - together) * (1 / n_1 + 1 / n_2)
    z = np.abs(share_1 - share_2) / np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    apart = np.abs(_arcsine(share_1, n_1) - _arcsine(share_2, n_2))
    smaller = np.minimum(z, apart / np.sqrt(1 / (4 * n_1 + 2) + 1 / (4 * n_2 + 2)))
    return np.minimum(1.0, 2 * ndtr(-smaller))


def _arcsine(share: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
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
