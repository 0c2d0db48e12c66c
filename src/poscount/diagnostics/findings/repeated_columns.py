"""Features that say what others have said already."""

from __future__ import annotations

from poscount.diagnostics.evidence import Evidence
from poscount.diagnostics.finding import About, Finding, Unchecked
from poscount.scorers import Mahalanobis

ABOUT = About(
    "repeated-columns",
    "Repeated features",
    "directions without spread, beyond constant features",
    0.0,
    "features that repeat others up to noise",
)


def repeated_columns(evidence: Evidence) -> Finding | Unchecked:
    """Look for features that are sums or multiples of others, among the positives."""
    scorer = getattr(evidence.regions or evidence.model, "scorer_", None)
    if not isinstance(scorer, Mahalanobis):
        return ABOUT.unchecked("only the Mahalanobis score knows, which this model does not use.")
    n = scorer.n_features_in_ - scorer.rank_ - len(scorer.constant_)
    if n <= 0:
        return ABOUT.found("ok", 0.0, None, "No feature repeats others.")
    sentence = f"Among the positives, {n} of {scorer.n_features_in_} features repeat others."
    advice = "nothing, if the positives are more than the features; else label more positives."
    return ABOUT.found("notice", n, None, sentence, advice)
