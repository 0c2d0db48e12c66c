"""Tied scores: many positives with one and the same score."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, Missing, Outcome
from poscount.storage.schema import require

LARGEST = 0.05


def largest_tie(training_scores: np.ndarray, edges: np.ndarray) -> float:
    """Largest share of the positives whose score is exactly that of an edge.

    Examples
    --------
    >>> largest_tie(np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 2.0]))
    0.5
    """
    ordered = np.sort(training_scores)
    ties = np.searchsorted(ordered, edges, "right") - np.searchsorted(ordered, edges, "left")
    # A single positive is no tie.
    return float(ties.max() / len(ordered)) if ties.max() > 1 else 0.0


def check_tie(share: float, n_labeled: int) -> None:
    """Raise ValueError unless `largest_tie` can have returned it for so many positives.

    Examples
    --------
    >>> check_tie(0.5, 4)
    >>> check_tie(0.4, 4)
    Traceback (most recent call last):
    ValueError: no such share of the positives can have one score.
    """
    tied = share * n_labeled
    whole = abs(tied - round(tied)) < 1e-6
    require(
        whole and (tied == 0 or round(tied) > 1),
        "no such share of the positives can have one score.",
    )


def _look(evidence: Evidence) -> Outcome | Missing:
    largest = evidence.largest_tie
    if isinstance(largest, Missing):
        return largest
    if largest <= LARGEST:
        return Outcome("ok", largest, LARGEST, "Hardly any positives share a score.")
    tied = f"{100 * largest:.0f} %"
    sentence = (
        f"{tied} of the positives have the same score, so the shares of positives above and below "
        f"it are known only to within {tied}."
    )
    advice = "Use a scorer with finer scores."
    return Outcome("warning", largest, LARGEST, sentence, advice, caution=largest)


TIED_SCORES = Check(
    code="tied-scores",
    look=_look,
    title="Tied scores",
    quantity="largest share of positives with one score",
    cannot_detect="ties between the thresholds, which do no harm",
)
