"""Tied scores: many positives with one and the same score."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import NOTE, Check, above
from poscount.checks.evidence import Evidence

LARGEST = 0.05


def max_tie_share(training_scores: np.ndarray, edges: np.ndarray) -> float:
    """Largest share of the positives whose score is exactly that of an edge.

    Examples
    --------
    >>> max_tie_share(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 2.0]))
    0.5
    """
    ordered = np.sort(training_scores)
    ties = np.searchsorted(ordered, edges, "right") - np.searchsorted(ordered, edges, "left")
    # A single positive is no tie.
    return float(ties.max() / len(ordered)) if ties.max() > 1 else 0.0


def _sentence(evidence: Evidence, i: int) -> str:
    tied = f"{100 * evidence.max_tie_share:.0f} %"
    return (
        f"{tied} of the positives have the same score, so the shares of positives above and below "
        f"it are known only to within {tied}."
    )


TIED_SCORES = Check(
    code="tied-scores",
    statistic=lambda evidence: evidence.max_tie_share,
    severity=above(LARGEST, NOTE),
    sentence=_sentence,
    advice="Use a scorer with finer scores.",
)
