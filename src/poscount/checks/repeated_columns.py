"""Features that add nothing, because they are constant or can be computed from others."""

from __future__ import annotations

from poscount.checks.check import Check, Evidence, Missing, Outcome
from poscount.errors import join_names


def _look(evidence: Evidence) -> Outcome | Missing:
    scorer = evidence.scorer
    if isinstance(scorer, Missing):
        return scorer
    n = scorer.n_features_in_ - scorer.rank_ - len(scorer.constant_) - evidence.redundant
    if n <= 0:
        return Outcome("ok", 0.0, None, "No feature can be computed from the others.")
    sentence = (
        f"Among the positives, {n} of {scorer.n_features_in_} features can be computed from the "
        "others."
    )
    advice = "Nothing, if there are more positives than features; otherwise label more positives."
    return Outcome("notice", n, None, sentence, advice)


def _look_at_covariance(evidence: Evidence) -> Outcome | Missing:
    scorer = evidence.scorer
    if isinstance(scorer, Missing):
        return scorer
    unused = scorer.n_features_in_ - scorer.rank_ - evidence.redundant
    if unused <= 0:
        return Outcome("ok", 0.0, None, "The positives vary in all directions.")
    constant = [evidence.feature_names[i] for i in scorer.constant_.tolist()]
    reason = f"constant: {join_names(constant)}" if constant else "columns that repeat others"
    sentence = (
        f"The positives do not vary in {unused} of {scorer.n_features_in_} directions ({reason}), "
        "which therefore do not count in the score."
    )
    return Outcome("notice", unused, None, sentence, caution=unused)


REPEATED_COLUMNS = Check(
    code="repeated-columns",
    look=_look,
    title="Repeated features",
    quantity="directions without spread, beyond constant features",
    cannot_detect="features that repeat others up to noise",
)
SINGULAR_COVARIANCE = Check(code="singular-covariance", look=_look_at_covariance)
