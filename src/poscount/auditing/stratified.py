"""A share estimated from labels of a stratified sample: no model, only the way rows were drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from poscount.results.prevalence import Interval

_PRECISION = 1e-9
_STRONGEST = 2.0**100


class Labels(NamedTuple):
    """Labels in each stratum.

    Attributes
    ----------
    rows : ndarray of int
        Rows in each stratum.
    labelled : ndarray
        Rows with a label, at least one in each stratum.
    positives : ndarray
        Those of them that are positive.
    """

    rows: np.ndarray
    labelled: np.ndarray
    positives: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Share of all rows that is in each stratum."""
        return self.rows / self.rows.sum()

    @property
    def shares(self) -> np.ndarray:
        """Share of the labels that are positive, in each stratum."""
        return self.positives / self.labelled

    @property
    def effective(self) -> np.ndarray:
        """Labels that would be worth as much in an endless stratum; infinite if all are labelled.

        The variance of a share from n of N rows is p (1 - p) / n times (N - n) / (N - 1).
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = self.labelled * (self.rows - 1) / (self.rows - self.labelled)
        return np.where(self.labelled >= self.rows, np.inf, worth)


def share(labels: Labels) -> float:
    """Stratified estimate of the share of positives, which is unbiased for any strata.

    Examples
    --------
    >>> share(Labels(np.array([300, 100]), np.array([10, 10]), np.array([1, 9])))
    0.3
    """
    # The last bit of a sum must not make it more than 1.
    return min(1.0, float(labels.rows @ labels.shares) / int(labels.rows.sum()))


def score_interval(labels: Labels, level: float = 0.95) -> Interval:
    r"""Interval for the share of positives, by the score test.

    A share P is in the interval if

    .. math:: (\hat P - P)^2 \le z^2 \sum_h W_h^2 \frac{\tilde p_h (1 - \tilde p_h)}{n_h}
              \frac{N_h - n_h}{N_h - 1}

    with the strata's shares :math:`\tilde p_h` that are most likely among those whose mean is P.
    The variance is thus that of P and not of the estimate, so that the interval has a width where
    all labels of a stratum, or all labels, are the same. In a single stratum it is Wilson's (1927)
    interval; for the difference of two shares the construction is that of Miettinen and Nurminen
    (1985). It is clipped to what the labelled rows themselves allow.

    Examples
    --------
    >>> score_interval(Labels(np.array([10**6]), np.array([100]), np.array([0])))
    Interval(low=0.0, high=0.0369..., level=0.95)
    >>> score_interval(Labels(np.array([20]), np.array([20]), np.array([5])))
    Interval(low=0.25, high=0.25, level=0.95)
    """
    z = float(ndtri((1 + level) / 2))
    low, high = (_end(labels, side, z) for side in (-1.0, 1.0))
    n_rows, positive = labels.rows.sum(), labels.positives.sum()
    surely = positive / n_rows, 1 - (labels.labelled.sum() - positive) / n_rows
    estimate = share(labels)
    return Interval(
        float(min(estimate, max(low, surely[0]))),
        float(max(estimate, min(high, surely[1]))),
        level,
    )


def _end(labels: Labels, side: float, z: float) -> float:
    """The share on one side of the estimate at which the test starts to reject."""
    # A stratum whose rows are all labelled has nothing left to vary.
    open_ = np.isfinite(labels.effective)
    weights, shares, worth = (
        values[open_] for values in (labels.weights, labels.shares, labels.effective)
    )

    def at(multiplier: float) -> tuple[float, bool]:
        """Distance that a Lagrange multiplier belongs to, and whether the test rejects it."""
        p = _most_likely(worth, worth * shares, side * multiplier * weights)
        # Not a difference of two sums, whose last bits would reject a variance of 0.
        distance = float(weights @ (p - shares))
        variance = float(weights**2 @ (p * (1 - p) / worth))
        return distance, distance**2 > z**2 * variance

    low, high = 0.0, 1.0
    # An estimate of 0 has nothing below that could be rejected.
    while not at(high)[1] and high < _STRONGEST:
        low, high = high, 4 * high
    near, far = at(low)[0], at(high)[0]
    while abs(far - near) > _PRECISION:
        middle = (low + high) / 2
        distance, rejected = at(middle)
        low, high = (low, middle) if rejected else (middle, high)
        near, far = (near, distance) if rejected else (distance, far)
    return share(labels) + far


def _most_likely(n: np.ndarray, positives: np.ndarray, push: np.ndarray) -> np.ndarray:
    """Shares p that maximise positives log(p) + (n - positives) log(1 - p) + push p.

    They solve push p^2 + (n - push) p - positives = 0.
    """
    root = np.sqrt(np.maximum((n - push) ** 2 + 4 * push * positives, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        # Of the two ways to write the root, the one that does not cancel.
        solutions = np.where(
            n > push, 2 * positives / (n - push + root), (push - n + root) / (2 * push)
        )
    return np.clip(solutions, 0.0, 1.0)


def labels_needed(labels: Labels, width: float, level: float = 0.95) -> int:
    """Labels in all, divided among the strata as these are, for an interval of a width.

    The shares of the strata are taken to be those of the labels, each with half a label of either
    kind more, because labels that are all the same do not make a stratum pure.

    Examples
    --------
    >>> labels = Labels(np.array([6000, 4000]), np.array([50, 50]), np.array([5, 40]))
    >>> labels_needed(labels, 0.1), labels_needed(labels, 0.05)
    (194, 706)
    """
    shares = (labels.positives + 0.5) / (labels.labelled + 1)
    per_label = labels.labelled / labels.labelled.sum()

    def wide(n: int) -> bool:
        labelled = np.minimum(labels.rows, n * per_label)
        expected = Labels(labels.rows, labelled, labelled * shares)
        return score_interval(expected, level).width > width

    low, high = 0, int(labels.rows.sum())
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if wide(middle) else (low, middle)
    return high
