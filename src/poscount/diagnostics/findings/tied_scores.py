"""Scores that many positives share."""

from __future__ import annotations

from poscount import checks
from poscount.diagnostics.evidence import Evidence
from poscount.diagnostics.finding import About, Finding, Unchecked

ABOUT = About(
    "tied-scores",
    "Tied scores",
    "largest share of positives with one score",
    0.0,
    "ties between the thresholds, which do no harm",
)


def tied_scores(evidence: Evidence) -> Finding | Unchecked:
    """Look for a score at a threshold that many positives share."""
    largest = getattr(evidence.model, "largest_tie_", None)
    if largest is None:
        return ABOUT.unchecked("this method counts no rows between thresholds of a score.")
    limit = checks.LARGEST_TIE
    if largest <= limit:
        return ABOUT.found("ok", largest, limit, "Hardly any positives share a score.")
    sentence = (
        f"{100 * largest:.0f} % of the positives have one and the same score, so that shares of "
        "positives are known only up to as much."
    )
    return ABOUT.found("warning", largest, limit, sentence, "use a scorer with finer scores.")
