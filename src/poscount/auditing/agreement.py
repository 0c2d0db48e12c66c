"""Do labels and model agree? If so, their combination; if not, which assumption broke."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri

from poscount.auditing.strata import Strata
from poscount.auditing.stratified import Labels, share
from poscount.results.prevalence import Interval, Prevalence
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


def combine(by_labels: Prevalence, by_model: Prevalence) -> tuple[float, Interval] | None:
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
    z = float(ndtri((1 + labels.level) / 2))
    low, high = (
        z * ours * theirs / math.hypot(ours, theirs) + widened
        for ours, theirs in zip(sigma, tau, strict=True)
    )
    combined = Interval(max(0.0, mean - low), min(1.0, mean + high), labels.level)
    return (mean, combined) if combined.width < labels.width else None


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
    contradicted = agreement(z) == "contradict"
    moved = abs(where.statistic) > ELSEWHERE
    found = []
    if contradicted:
        direction = "much" if z > 0 else "little"
        found.append(
            AnswerWarning(
                "labels-contradict-model",
                f"The model says too {direction}: {100 * by_model:.1f} %, where the labels say "
                f"{100 * by_labels:.1f} %. Use the labels' answer.",
                z,
                "doubt",
            )
        )
    if moved:
        found.append(_moved(where))
    elif contradicted and z > 0:
        core = strata.shares >= labels.weights
        n, positive = int(labels.labelled[core].sum()), int(labels.positives[core].sum())
        found.append(
            AnswerWarning(
                "negatives-like-positives",
                f"Overlap: {n - positive} of {n} labelled rows that look like positives are "
                "negatives, more than the model takes into account. Features that tell them apart "
                "would help, and so would the labels as known negatives.",
                z,
                "doubt",
            )
        )
    elif contradicted:
        found.append(
            AnswerWarning(
                "positives-underestimated",
                "The positives lie where the model looks for them, but there are more than it "
                "says: fit again with the positives among the labels, and audit a second sample.",
                z,
                "doubt",
            )
        )
    return tuple(found)


def _moved(where: PositivesOutside) -> AnswerWarning:
    statistic = where.statistic
    shares = (
        f"{100 * where.found:.0f} % of the positives found are at the edge of the labelled ones or "
        f"outside, against {100 * where.expected:.0f} % of the labelled ones themselves."
    )
    if statistic > 0:
        return AnswerWarning(
            "positives-elsewhere",
            f"Drift: {shares} Positives of this sample are unlike the labelled ones, or measured "
            "differently; check units and columns, and fit again with the positives found.",
            statistic,
            "doubt",
        )
    return AnswerWarning(
        "positives-missing",
        f"{shares} Some labelled positives may be negatives, or are of a kind that this sample "
        "does not have.",
        statistic,
        "doubt",
    )
