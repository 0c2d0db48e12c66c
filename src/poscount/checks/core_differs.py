"""Overlap or drift: whether the rows most like positives are spread as the positives are."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri

from poscount.checks.check import NOTE, Check
from poscount.checks.evidence import Evidence

LARGEST, RATE = 1.8, 0.03
# PAT's estimate above RCQ's. With less between them, warned answers were as good as others.
SAME_READING = 0.05
ADVICE = (
    "Report both numbers. If kinds of positives may have drifted apart, count them one by one "
    "(SubclassRCQ). A second sample with a different prevalence would tell which it is."
)


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
    """Degrees of freedom of the core difference: how many independent cuts the cuts are worth.

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


def core_limit(dof: float, floor: float, false_alarms: float) -> float:
    """Largest core difference that is no reason for doubt.

    The quantile of chi-squared over its degrees of freedom, and never less than `floor`, which
    allows for what the theory leaves out where there are many cuts.

    Examples
    --------
    >>> round(core_limit(2.0, 1.8, 0.03), 2), core_limit(50.0, 1.8, 0.03)
    (3.51, 1.8)
    """
    return max(floor, float(chdtri(dof, false_alarms)) / dof)


def two_readings(evidence: Evidence, i: int) -> str:
    """The two explanations that one sample leaves open, each with its number."""
    return (
        "Either negatives overlap with part of the positives, and the estimate of "
        f"{100 * evidence.estimate[i]:.1f} % is right; or the positives have drifted, and PAT's "
        f"estimate of {100 * min(1.0, evidence.pat[i]):.1f} % is closer to the truth."
    )


def differs(difference: float, dof: float, pat: float, estimate: float) -> bool:
    """Whether a sample's core is unlike that of the positives, and it matters why."""
    matters = min(1.0, pat) - estimate > SAME_READING
    return matters and difference > core_limit(dof, LARGEST, RATE)


def _limit(evidence: Evidence) -> float:
    return core_limit(evidence.core_dof, LARGEST, RATE)


def _sentence(evidence: Evidence, i: int) -> str:
    return (
        "The rows most like positives are not distributed as the labelled positives are. "
        + two_readings(evidence, i)
    )


CORE_DIFFERS = Check(
    code="core-differs",
    statistic=lambda evidence: evidence.core_difference,
    severity=lambda evidence, found: np.where(found <= _limit(evidence), 0, NOTE),
    sentence=_sentence,
    advice=ADVICE,
    reason="negatives look like part of the positives, or the positives have changed",
    in_order="The rows most like positives are distributed as the labelled positives are.",
    threshold=_limit,
    title="Spread of the typical rows",
    quantity="difference between the cores of the sample and of the positives",
    false_alarm_rate=0.025,
    cannot_detect="negatives distributed exactly as the positives are, and often not overlap at a "
    "prevalence above 0.7",
)
