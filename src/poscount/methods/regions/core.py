"""How differently two sets of rows are spread inside the core of the positives."""

from __future__ import annotations

import numpy as np


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


def core_dof(below: np.ndarray) -> float:
    """Degrees of freedom of `core_difference`: how many independent cuts the cuts are worth.

    The squares of n correlated normal variables have a mean with variance 2 |C|^2 / n^2, C being
    their correlations: that of a chi-squared variable with n^2 / |C|^2 degrees of freedom, divided
    by that number.

    Parameters
    ----------
    below : ndarray of bool, shape (n_rows, n_cuts)
        Which positives of the core are at or below each cut.

    Examples
    --------
    >>> same = np.array([[True, True], [False, False], [True, True]])
    >>> round(core_dof(same), 6)
    1.0
    """
    varying = below[:, below.any(axis=0) & ~below.all(axis=0)]
    if varying.shape[1] == 0:
        return 1.0
    standardised = (varying - varying.mean(axis=0)) / varying.std(axis=0)
    correlations = standardised.T @ standardised / len(standardised)
    return float(varying.shape[1] ** 2 / (correlations**2).sum())
