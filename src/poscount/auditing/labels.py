"""What labels say: by themselves, from the way rows were drawn; and beside the model's answer."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from poscount.auditing.sampling import Strata
from poscount.results.distribution import (
    INTERVAL_LEVELS,
    NORMAL,
    Distribution,
    Interval,
    quantiles_from_intervals,
)
from poscount.results.prevalence import Prevalence
from poscount.results.verdict import AnswerWarning

Agreement = Literal["agree", "unclear", "contradict"]

# In standard deviations of the difference. Chosen on the tuning split of
# benchmarks/accuracy/audit.py: with a looser limit, combined intervals fail where the model is a
# little wrong.
AGREE = 1.0
CONTRADICT = 1.96
# Of the difference, by how much the interval is widened for each part that the model has in it.
CAUTION = 0.5
# A model whose interval is a point is not believed to the last digit.
SMALLEST_SD = 0.005
# For positives that lie elsewhere, in standard deviations: to say so, and to combine nevertheless.
ELSEWHERE = 2.6
ALIKE = 1.64

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


def score_distribution(labels: Labels) -> Distribution:
    """Distribution of the share of positives whose intervals are those of the score test.

    Examples
    --------
    >>> score_distribution(Labels(np.array([10**6]), np.array([100]), np.array([50])))
    Distribution(median 0.500, 95% interval [0.404, 0.596])
    """
    ends = np.array([[*score_interval(labels, level)] for level in INTERVAL_LEVELS.tolist()])
    low, high = ends[:, :1], ends[:, 1:]
    return Distribution(quantiles_from_intervals(np.array([share(labels)]), low, high)[0])


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


def _deviations(value: float, interval: Interval) -> tuple[float, float]:
    """Standard deviations below and above an estimate, from its interval."""
    z = float(ndtri((1 + interval.level) / 2))
    return (value - interval.low) / z, (interval.high - value) / z


def distance(by_labels: Prevalence, by_model: Prevalence) -> float:
    """How far the model's answer is above the labels', in standard deviations.

    Intervals may be longer on one side: those sides count that face each other.
    """
    assert by_labels.interval is not None
    assert by_model.interval is not None
    below, above = _deviations(float(by_labels), by_labels.interval)
    model_below, model_above = _deviations(float(by_model), by_model.interval)
    difference = float(by_model) - float(by_labels)
    sides = (above, model_below) if difference > 0 else (below, model_above)
    return difference / math.hypot(sides[0], max(sides[1], SMALLEST_SD))


def agreement(z: float) -> Agreement:
    """Put a distance into a word."""
    if abs(z) <= AGREE:
        return "agree"
    return "contradict" if abs(z) > CONTRADICT else "unclear"


def combine(by_labels: Prevalence, by_model: Prevalence) -> tuple[float, Distribution] | None:
    r"""Mean of two answers that agree, weighted by their precision; None if it is not narrower.

    With the standard deviations :math:`\sigma` of the labels' answer and :math:`\tau` of the
    model's, the model has the weight :math:`w = \sigma^2 / (\sigma^2 + \tau^2)`. The interval has
    the standard deviation :math:`(1 / \sigma^2 + 1 / \tau^2)^{-1/2}`, separately on each side, and
    is widened on both sides by half of what the model has moved the answer, because a model that
    is slightly wrong agrees, too.
    """
    labels, model = by_labels.interval, by_model.interval
    assert labels is not None
    assert model is not None
    value, other = float(by_labels), float(by_model)
    sigma = _deviations(value, labels)
    tau = tuple(max(side, SMALLEST_SD) for side in _deviations(other, model))
    facing = (sigma[1], tau[0]) if other > value else (sigma[0], tau[1])
    weight = facing[0] ** 2 / (facing[0] ** 2 + facing[1] ** 2)
    mean = value + weight * (other - value)
    widened = CAUTION * weight * abs(other - value)
    below, above = (
        NORMAL * ours * theirs / math.hypot(ours, theirs) + np.sign(NORMAL) * widened
        for ours, theirs in zip(sigma, tau, strict=True)
    )
    combined = Distribution(np.clip(mean + np.where(NORMAL < 0, below, above), 0, 1))
    narrower = combined.interval(labels.level).width < labels.width
    return (mean, combined) if narrower else None


class PositivesOutside(NamedTuple):
    """Where the positives among the labels lie, beside the labelled positives.

    Attributes
    ----------
    statistic : float
        Above 0 if more positives are outside than expected; 0 if no label is positive.
    found, expected : float
        Share of the positives that is outside, by the labels and among the labelled positives.
    """

    statistic: float
    found: float
    expected: float


def positives_outside(
    labels: Labels, outside: np.ndarray, expected: float, n_labeled: int
) -> PositivesOutside:
    r"""Compare where the positives lie: those that the labels found, and the labelled ones.

    Let a be the share of all rows that is positive and outside (`Strata.outside`), P that of all
    positives, and q the share of the labelled positives that is outside: the statistic is a - q P
    over its standard deviation, which includes that of q. It does not depend on the model's
    prevalence.

    Parameters
    ----------
    labels : Labels
    outside : ndarray of int
        Positives among the labels of each stratum that are outside.
    expected : float
        q.
    n_labeled : int
        Number of labelled positives.
    """
    total = share(labels)
    there = share(labels._replace(positives=outside))
    if total == 0:
        return PositivesOutside(0.0, 0.0, expected)
    # A quarter of a label more of either kind, because labels that are all the same have a spread.
    inside = labels.positives - outside
    squares = (outside + 0.25) * (1 - expected) ** 2 + (inside + 0.25) * expected**2
    spread = squares / (labels.labelled + 1)
    variance = float(labels.weights**2 @ (spread / labels.effective))
    variance += total**2 * expected * (1 - expected) / n_labeled
    statistic = (there - expected * total) / math.sqrt(variance)
    return PositivesOutside(statistic, there / total, expected)


def findings(
    labels: Labels,
    strata: Strata,
    by_labels: Prevalence,
    by_model: Prevalence,
    where: PositivesOutside,
) -> tuple[AnswerWarning, ...]:
    """Which assumptions of the model the labels contradict."""
    z = distance(by_labels, by_model)
    found = []
    if agreement(z) == "contradict":
        direction = "much" if z > 0 else "little"
        found.append(
            _doubt(
                "labels-contradict-model",
                z,
                f"The model says too {direction}: {100 * by_model:.1f} %, where the labels say "
                f"{100 * by_labels:.1f} %. Use the labels' answer.",
            )
        )
    if abs(where.statistic) > ELSEWHERE:
        found.append(_moved(where))
    elif found and z > 0:
        core = strata.shares >= labels.weights
        n, positive = int(labels.labelled[core].sum()), int(labels.positives[core].sum())
        found.append(
            _doubt(
                "negatives-like-positives",
                z,
                f"Overlap: {n - positive} of {n} labelled rows that look like positives are "
                "negatives, more than the model takes into account. Features that tell them apart "
                "would help, and so would the labels as known negatives.",
            )
        )
    elif found:
        found.append(
            _doubt(
                "positives-underestimated",
                z,
                "The positives lie where the model looks for them, but there are more than it "
                "says: fit again with the positives among the labels, and audit a second sample.",
            )
        )
    return tuple(found)


def _moved(where: PositivesOutside) -> AnswerWarning:
    shares = (
        f"{100 * where.found:.0f} % of the positives found are at the edge of the labelled ones or "
        f"outside, against {100 * where.expected:.0f} % of the labelled ones themselves."
    )
    if where.statistic > 0:
        return _doubt(
            "positives-elsewhere",
            where.statistic,
            f"Drift: {shares} Positives of this sample are unlike the labelled ones, or measured "
            "differently; check units and columns, and fit again with the positives found.",
        )
    return _doubt(
        "positives-missing",
        where.statistic,
        f"{shares} Some labelled positives may be negatives, or are of a kind that this sample "
        "does not have.",
    )


def _doubt(code: str, value: float, sentence: str) -> AnswerWarning:
    return AnswerWarning(code, sentence, value, "check")
