"""A column in other units: hardly any row of the sample is where the positives are."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check
from poscount.checks.columns import FAR, MANY_FAR
from poscount.checks.evidence import Evidence
from poscount.errors import join_names

# Columns with fewer rows inside are like the one that stands out.
HALF = 0.5


def _severity(evidence: Evidence, statistic: np.ndarray) -> np.ndarray:
    """In some columns other units are likely; in most of them, negatives may be far away."""
    columns = evidence.columns
    judged = columns.positives.judged
    n_judged = np.count_nonzero(judged)
    share_far = columns.outside[..., FAR] + columns.outside[..., FAR + 1]
    very_far = columns.other_scale & (share_far[..., 0] + share_far[..., 1] > MANY_FAR)
    few = 2 * np.count_nonzero(judged & (columns.inside < HALF), axis=-1) <= n_judged
    most_far = 2 * np.count_nonzero(very_far, axis=-1) > n_judged
    # From "doubt" on if few columns differ, else from "note" on.
    severity = np.where(few, 2 + very_far.any(axis=-1), 1 + most_far)
    return np.where(columns.other_scale.any(axis=1), severity, 0)


def _names(evidence: Evidence, i: int) -> list[str]:
    strange = np.flatnonzero(evidence.columns.other_scale[i]).tolist()
    return [evidence.feature_names[j] for j in strange]


def _sentence(evidence: Evidence, i: int) -> str:
    strange = np.flatnonzero(evidence.columns.other_scale[i]).tolist()
    sentence = " ".join(_where(evidence, i, j) for j in strange[:2])
    if len(strange) > 1:
        sentence += f" Such columns are {join_names(_names(evidence, i))}."
    return sentence


def _where(evidence: Evidence, i: int, j: int) -> str:
    low, high = evidence.columns.positives.ranges[j]
    return (
        f"Column {evidence.feature_names[j]} is between {low:.4g} and {high:.4g} in the positives, "
        "give or take a standard deviation, but in only "
        f"{100 * evidence.columns.inside[i, j]:.1f} % of the sample."
    )


def _advice(evidence: Evidence, i: int) -> str:
    if len(_names(evidence, i)) > 1:
        return (
            "Check whether these columns are in other units than in the positives, or were "
            "exchanged."
        )
    return (
        "Check whether this column is in other units, or from another sensor, than in the "
        "positives."
    )


def _reason(evidence: Evidence, i: int) -> str:
    names = _names(evidence, i)
    return f"column{'s' if len(names) > 1 else ''} {join_names(names)} may be in other units"


OTHER_UNITS = Check(
    code="other-units",
    statistic=lambda evidence: evidence.columns.other_scale.sum(axis=1),
    severity=_severity,
    sentence=_sentence,
    advice=_advice,
    reason=_reason,
    warning_rate=1 / 70,
)
