"""Directions without distances: features that are constant or can be computed from others."""

from __future__ import annotations

from poscount.checks.check import NOTE, Check, above
from poscount.checks.evidence import Evidence
from poscount.data.columns import NOT_COUNTED
from poscount.errors import join_names


def _without_spread(evidence: Evidence) -> int:
    """Directions in which the positives do not vary."""
    return evidence.scorer.n_features_in_ - evidence.scorer.rank_ - evidence.n_redundant


def _sentence(evidence: Evidence, i: int) -> str:
    scorer = evidence.scorer
    constant = [evidence.feature_names[j] for j in scorer.constant_.tolist()]
    reason = f"constant: {join_names(constant)}" if constant else "columns that repeat others"
    sentence = (
        f"The positives do not vary in {_without_spread(evidence)} of {scorer.n_features_in_} "
        f"directions ({reason}), along which no distance can be measured."
    )
    if constant and evidence.has("constants_count") and evidence.constants_count:
        sentence += f" In {join_names(constant)}, {NOT_COUNTED}."
    return sentence


SINGULAR_COVARIANCE = Check(
    code="singular-covariance",
    statistic=_without_spread,
    severity=above(0, NOTE),
    sentence=_sentence,
)
