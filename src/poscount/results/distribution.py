"""The distribution of a prevalence: the one source of all that is said about its precision."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from poscount.seeds import seed_of, stream

# Levels of the intervals whose ends are kept, the widest first.
INTERVAL_LEVELS = np.array(
    [0.999, 0.998, 0.995, 0.99, 0.98, 0.95, 0.9, 0.85, *(k / 20 for k in range(16, 0, -1))]
)
# Probabilities of the quantiles that are kept: those of these ends, bit for bit, and of the median.
LEVELS = np.concatenate([(1 - INTERVAL_LEVELS) / 2, [0.5], (1 + INTERVAL_LEVELS[::-1]) / 2])
# Level of the interval whose upper end each of them is; 0 for those that are none.
LEVELS_ABOVE = np.maximum(2 * LEVELS - 1, 0)
_LOWER, _UPPER = LEVELS < 0.5, LEVELS > 0.5
_Z = ndtri((1 + INTERVAL_LEVELS) / 2)
# Quantiles of the normal distribution at `LEVELS`, symmetric to the last bit.
NORMAL = np.concatenate([-_Z, [0.0], _Z[::-1]])


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that contains the true prevalence of the sample with probability `level`.

    It can be unpacked into its two ends.

    Attributes
    ----------
    low, high : float
        Its ends.
    level : float
        The nominal probability, such as 0.95.

    Examples
    --------
    >>> interval = Interval(0.28, 0.34, level=0.95)
    >>> 0.3 in interval, round(interval.width, 2)
    (True, 0.06)
    >>> low, high = interval
    >>> low, high
    (0.28, 0.34)
    """

    low: float
    high: float
    level: float

    @property
    def width(self) -> float:
        """Upper end minus lower end."""
        return self.high - self.low

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __iter__(self) -> Iterator[float]:
        yield self.low
        yield self.high


@dataclass(frozen=True, slots=True)
class Rate:
    """A number about a classifier or a review, with its interval."""

    value: float
    interval: Interval

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.3f} ({low:.3f} to {high:.3f})"


class Distribution:
    """How likely each share of positives in a sample is, given what a method has seen of it.

    Between the quantiles that are kept it is uniform. Below the first of them and above the last
    there is nothing: these have the probability of the tails, 1 in 2,000 each.

    Parameters
    ----------
    quantiles : array-like of shape (49,)
        Its quantiles at `LEVELS`, in [0, 1] and ascending. A value that several of them have in
        common has a probability of its own, as 0 and 1 often do.

    Attributes
    ----------
    quantiles : ndarray of shape (49,)

    Examples
    --------
    >>> uniform = Distribution(LEVELS)
    >>> round(uniform.quantile(0.3), 3), round(uniform.above(0.2), 3)
    (0.3, 0.8)
    >>> low, high = uniform.interval(0.9)
    >>> round(low, 3), round(high, 3)
    (0.05, 0.95)
    >>> half_zero = Distribution(np.maximum(LEVELS - 0.5, 0))
    >>> half_zero.cdf(0.0), half_zero.quantile(0.25)
    (0.5, 0.0)
    """

    def __init__(self, quantiles: Any) -> None:
        self.quantiles = np.asarray(quantiles, np.float64)
        if self.quantiles.shape != LEVELS.shape:
            raise ValueError(
                f"A distribution has {len(LEVELS)} quantiles, got an array of shape "
                f"{self.quantiles.shape}."
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Distribution):
            return NotImplemented
        return np.array_equal(self.quantiles, other.quantiles)

    # Arrays can change.
    __hash__ = None  # type: ignore[assignment]

    def quantile(self, q: Any) -> Any:
        """The share that the true one is at most, with a probability of `q`.

        Parameters
        ----------
        q : float or array-like
            In [0, 1].
        """
        q = np.asarray(q, np.float64)
        if not ((q >= 0) & (q <= 1)).all():
            raise ValueError(f"A probability is between 0 and 1, got {q}.")
        return _as_given(quantile_at(self.quantiles, q))

    def cdf(self, x: Any) -> Any:
        """The probability that the share is at most `x`, a float or an array.

        Examples
        --------
        >>> Distribution(LEVELS).cdf([-1.0, 0.25, 2.0]).round(3).tolist()
        [0.0, 0.25, 1.0]
        """
        x = np.asarray(x, np.float64)
        i = np.searchsorted(self.quantiles, x, side="right")
        after, before = np.clip(i, 1, len(LEVELS) - 1), np.clip(i, 1, len(LEVELS) - 1) - 1
        low, high = self.quantiles[before], self.quantiles[after]
        between = (i > 0) & (i < len(LEVELS))
        part = np.where(between, x - low, 0.0) / np.where(between, high - low, 1.0)
        inside = LEVELS[before] + part * (LEVELS[after] - LEVELS[before])
        return _as_given(np.where(between, inside, (i > 0).astype(float)))

    def above(self, x: Any) -> Any:
        """The probability that the share is above `x`, a float or an array.

        Examples
        --------
        >>> round(Distribution(LEVELS).above(0.05), 3)
        0.95
        """
        return 1 - self.cdf(x)

    def interval(self, level: float) -> Interval:
        """The interval in which the share is with a probability of `level`, as much on each side.

        Levels beyond 0.999 have the interval of 0.999.
        """
        if not 0 < level < 1:
            raise ValueError(f"The level of an interval is between 0 and 1, got {level}.")
        low, high = ends_at(self.quantiles, level)
        return Interval(float(low), float(high), level)

    def sample(self, n: int, random_state: Any = None) -> np.ndarray:
        """Draw shares at random.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, RandomState, Generator or None

        Examples
        --------
        >>> drawn = Distribution(LEVELS).sample(1000, random_state=0)
        >>> drawn.shape, round(float(drawn.mean()), 1)
        ((1000,), 0.5)
        """
        drawn = stream(seed_of(random_state), "distribution").random(n)
        return quantile_at(self.quantiles, drawn)

    def __repr__(self) -> str:
        low, high = self.interval(0.95)
        median = self.quantile(0.5)
        return f"Distribution(median {median:.3f}, 95% interval [{low:.3f}, {high:.3f}])"


# Quantiles of several samples: arrays whose last axis is that of `LEVELS`


def quantile_at(quantiles: np.ndarray, q: Any) -> np.ndarray:
    """Quantiles at other probabilities than `LEVELS`: between two of them, on a straight line."""
    i = np.clip(np.searchsorted(LEVELS, q, side="right"), 1, len(LEVELS) - 1)
    part = np.clip((q - LEVELS[i - 1]) / (LEVELS[i] - LEVELS[i - 1]), 0, 1)
    low, high = quantiles[..., i - 1], quantiles[..., i]
    # Exact at both ends, and never beyond them by a last bit.
    return np.where(part < 1, np.minimum(low + part * (high - low), high), high)


def ends_at(quantiles: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of intervals."""
    return quantile_at(quantiles, (1 - level) / 2), quantile_at(quantiles, (1 + level) / 2)


def quantiles_from_intervals(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Quantiles of a method that has intervals at any level.

    Parameters
    ----------
    value : ndarray of shape (n_samples,)
        The medians.
    low, high : ndarray of shape (24, n_samples)
        Ends of the intervals at `INTERVAL_LEVELS`; where they are not on the two sides of the
        value, the value is the end.

    Returns
    -------
    ndarray of shape (n_samples, 49)

    Examples
    --------
    >>> half = INTERVAL_LEVELS[:, np.newaxis] / 2
    >>> found = quantiles_from_intervals(np.array([0.5]), 0.5 - half, 0.5 + half)
    >>> [end.tolist() for end in ends_at(found, 0.5)]
    [[0.25], [0.75]]
    """
    lower, upper = np.minimum(low, value), np.maximum(high, value)[::-1]
    return np.concatenate([lower, value[np.newaxis], upper]).T


def around(quantiles: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Quantiles with other medians: no lower quantile is above these, and no upper one below."""
    value = value[..., np.newaxis]
    limited = np.where(_UPPER, np.maximum(quantiles, value), np.minimum(quantiles, value))
    return np.where(_LOWER | _UPPER, limited, value)


def widened(quantiles: np.ndarray, other: np.ndarray, *, below: Any) -> np.ndarray:
    """Quantiles that are spread as far as others; the median stays.

    Parameters
    ----------
    quantiles, other : ndarray
        Of the same samples; `other` may be one value for each of them.
    below : bool or ndarray of bool, shape (n_samples, 1)
        Whose lower quantiles are spread, too, and not only the upper ones.
    """
    upper = np.where(_UPPER, np.maximum(quantiles, other), quantiles)
    return np.where(_LOWER & below, np.minimum(quantiles, other), upper)


def _as_given(values: np.ndarray) -> Any:
    """A float for a float, and an array for an array."""
    return values.item() if values.ndim == 0 else values
