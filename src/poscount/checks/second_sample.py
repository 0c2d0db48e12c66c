"""Overlap or drift, told apart by a second sample with a different prevalence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from poscount.checks.check import NOTE, Check
from poscount.checks.core_differs import core_limit
from poscount.checks.evidence import Evidence
from poscount.results.distribution import Interval
from poscount.results.prevalence import Prevalence

# Prevalences that differ by less do not tell overlap from drift.
CLOSE = 0.1
ADVICE = {
    "overlap": "Trust RCQ rather than PAT.",
    "drift": "Trust PAT rather than RCQ, and label new positives from where the samples come from.",
    "close": "Compare with a sample that has clearly more or fewer positives: these are too close "
    "to tell.",
}
_SENTENCES = {
    "overlap": "negatives overlap with part of the positives: trust RCQ rather than PAT.",
    "drift": "both samples look alike, but not like the labelled positives: either the positives "
    "have drifted (then trust PAT rather than RCQ), or the prevalences are too close to tell.",
    "clean": "no sign of overlap or drift.",
}


@dataclass(frozen=True)
class Comparison:
    """Two samples compared.

    Attributes
    ----------
    difference : float
        Prevalence of the first sample minus that of the second, both from the same regions.
    interval : Interval
        Range for it; the error that both samples share through the positives cancels.
    prevalences : tuple of Prevalence
        What the model says about each sample by itself.
    core_difference : float
        How differently the two cores are spread (`poscount.checks.core_differs`).
    limit : float
        What `core_difference` exceeds in 1 of 20 pairs of samples with nothing wrong.
    unlike_positives : tuple of bool
        Whether the core of each sample is spread differently than that of the positives.
    """

    difference: float
    interval: Interval
    prevalences: tuple[Prevalence, Prevalence]
    core_difference: float
    limit: float
    unlike_positives: tuple[bool, bool]

    @property
    def reading(self) -> str:
        """One of "overlap", "drift" and "clean".

        "overlap" if the cores differ from each other: their mixture of positives and negatives
        does, so there are negatives in them. "drift" if they are alike, but not like the positives.
        "clean" if neither is seen.
        """
        if self.core_difference > self.limit:
            return "overlap"
        return "drift" if any(self.unlike_positives) else "clean"

    def __str__(self) -> str:
        sign, more = (1, "more") if self.difference >= 0 else (-1, "fewer")
        low, high = sorted(100 * sign * end for end in (self.interval.low, self.interval.high))
        return (
            f"The first sample has {100 * abs(self.difference):.1f} points {more} positives "
            f"({low:.1f} to {high:.1f}); {_SENTENCES[self.reading]}"
        )


def limit_between_samples(core_dof: float) -> float:
    """What the difference between the cores of two samples exceeds by chance in 1 of 20 pairs."""
    return core_limit(core_dof, 1.7, 0.05)


def _severity(evidence: Evidence, difference: np.ndarray) -> np.ndarray:
    return np.array([0 if evidence.comparison.reading == "clean" else NOTE])


def _advice(evidence: Evidence, i: int) -> str:
    found = evidence.comparison
    close = found.reading == "drift" and abs(found.difference) < CLOSE
    return ADVICE["close" if close else found.reading]


SECOND_SAMPLE = Check(
    code="second-sample",
    statistic=lambda evidence: evidence.comparison.core_difference,
    severity=_severity,
    sentence=lambda evidence, i: str(evidence.comparison),
    advice=_advice,
    in_order=lambda evidence, i: str(evidence.comparison),
    threshold=lambda evidence: evidence.comparison.limit,
    title="Overlap or drift, by a second sample",
    quantity="difference between the cores of the two samples",
    false_alarm_rate=0.045,
    cannot_detect="anything if both samples have the same prevalence, because overlap then looks "
    "like drift",
)
