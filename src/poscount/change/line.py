r"""A line through values with known noise that also vary by themselves.

.. math:: y_t = \beta_0 + \beta_1 x_t + u_t + \varepsilon_t, \qquad
          u_t \sim N(0, \tau^2), \quad \varepsilon_t \sim N(0, s_t^2)

with flat priors on the line and on :math:`\tau` (Gelman, 2006), so that the unknown variation
between groups widens all intervals by as much as it should. Given :math:`\tau` everything is
normal; :math:`\tau` itself is integrated out on a grid. The values without noise,
:math:`y_t - \varepsilon_t`, are pulled towards the line the more, the larger their noise: small
groups borrow strength from the others (Fay and Herriot, 1979).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincc, ndtr

FEWEST_VALUES = 4
_N_GRID = 300
# Largest variation on the grid, in standard deviations of all values and of their noise.
_WIDEST = 10.0
_STEPS_OF_BISECTION = 40


class Line(NamedTuple):
    """What is found.

    Attributes
    ----------
    slope : tuple of float
        Value, lower and upper end.
    smoothed : ndarray of shape (3, n_values)
        Values without noise, and their lower and upper ends.
    dispersion : float
        Variance of the values around the line over what their noise gives: about 1 if the line is
        all there is.
    dispersion_p_value : float
        How often noise alone gives as much.
    """

    slope: tuple[float, float, float]
    smoothed: np.ndarray
    dispersion: float
    dispersion_p_value: float


class _OnGrid(NamedTuple):
    """Means and standard deviations for each value of tau, and their weights."""

    mean: np.ndarray
    sd: np.ndarray
    weight: np.ndarray


def fit_line(x: np.ndarray, y: np.ndarray, noise: np.ndarray, level: float) -> Line:
    """Fit the line to at least four values.

    Parameters
    ----------
    x, y : ndarray of shape (n_values,)
    noise : ndarray of shape (n_values,)
        Variances of the values.
    level : float
        Of the intervals.

    Examples
    --------
    >>> x = np.arange(20.0)
    >>> y = 0.1 + 0.01 * x + 0.02 * np.cos(3 * x)
    >>> line = fit_line(x, y, np.full(20, 0.02**2), 0.95)
    >>> line.slope[1] < 0.01 < line.slope[2]
    True
    """
    design = np.column_stack([np.ones(len(x)), x - x.mean()])
    # Values of tau, denser near 0, and the widths that they stand for.
    taus = _WIDEST * np.sqrt(y.var() + noise.mean()) * np.linspace(0.0, 1.0, _N_GRID) ** 2
    widths = np.gradient(taus)
    variance = noise + taus[:, np.newaxis] ** 2
    weighted = design / variance[..., np.newaxis]
    information = np.einsum("kti,tj->kij", weighted, design)
    covariance = np.linalg.inv(information)
    coefficients = np.einsum("kij,ktj,t->ki", covariance, weighted, y)
    fitted = coefficients @ design.T
    log = -0.5 * (
        np.log(variance).sum(axis=1)
        + np.linalg.slogdet(information)[1]
        + ((y - fitted) ** 2 / variance).sum(axis=1)
    )
    weight = np.exp(log - log.max()) * widths
    weight /= weight.sum()
    kept = taus[:, np.newaxis] ** 2 / variance
    of_line = np.einsum("ti,kij,tj->kt", design, covariance, design)
    smoothed = _OnGrid(
        fitted + kept * (y - fitted), np.sqrt(kept * noise + (1 - kept) ** 2 * of_line), weight
    )
    slope = _OnGrid(coefficients[:, 1:], np.sqrt(covariance[:, 1:, 1]), weight)
    # Around the line that has no variation between groups.
    excess, freedom = float(((y - fitted[0]) ** 2 / noise).sum()), len(y) - 2
    value, low, high = (float(part[0]) for part in _summary(slope, level))
    return Line(
        (value, low, high),
        np.array(_summary(smoothed, level)),
        excess / freedom,
        float(gammaincc(freedom / 2, excess / 2)),
    )


def _summary(grid: _OnGrid, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and both ends of mixtures of normal distributions."""
    used = grid.weight > 1e-9 * grid.weight.max()
    grid = _OnGrid(grid.mean[used], grid.sd[used], grid.weight[used] / grid.weight[used].sum())
    ends = [_quantiles(grid, probability) for probability in ((1 - level) / 2, (1 + level) / 2)]
    return grid.weight @ grid.mean, ends[0], ends[1]


def _quantiles(grid: _OnGrid, probability: float) -> np.ndarray:
    low = (grid.mean - 10 * grid.sd).min(axis=0)
    high = (grid.mean + 10 * grid.sd).max(axis=0)
    sd = np.maximum(grid.sd, np.finfo(float).tiny)
    for _ in range(_STEPS_OF_BISECTION):
        middle = (low + high) / 2
        below = grid.weight @ ndtr((middle - grid.mean) / sd) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
