"""Numbers that stand for missing values: -999 far away from all other values."""

from __future__ import annotations

import numpy as np

from poscount.checks.broken_assumption import check_if_doubted
from poscount.checks.check import NOTE, TO_CHECK, Check, largest_first
from poscount.checks.columns import FAR, MANY
from poscount.checks.evidence import Evidence
from poscount.errors import join_names


def _severity(evidence: Evidence, share: np.ndarray) -> np.ndarray:
    columns, found = evidence.columns, share != 0
    # Very far away, where no rows are by themselves.
    filled = columns.by_itself[..., FAR:] & (columns.outside[..., FAR:] != 0)
    very_far = filled.any(axis=(-1, -2, -3))
    few = np.where(very_far, check_if_doubted(evidence, found), NOTE * found)
    return np.where(share > MANY, TO_CHECK, few)


def _strange(evidence: Evidence, i: int) -> tuple[np.ndarray, list[int]]:
    """Shares in bins by themselves, and the columns that have such bins, the fullest first."""
    filled = evidence.columns.by_itself[i] * evidence.columns.outside[i]
    return filled, largest_first(filled.max(axis=(-1, -2)), 0.0)


def _sentence(evidence: Evidence, i: int) -> str:
    filled, strange = _strange(evidence, i)
    names = [evidence.feature_names[j] for j in strange]
    below = filled[strange[0], 0].max() >= filled[strange[0], 1].max()
    low, high = evidence.columns.positives.ranges[strange[0]]
    side, end = ("below", low) if below else ("above", high)
    sentence = (
        f"In column {names[0]}, {100 * evidence.columns.filled[i]:.1f} % of the sample is far "
        f"{side} {end:.4g}, where the {'smallest' if below else 'largest'} of the positives are, "
        "with a gap between."
    )
    if len(names) > 1:
        sentence += f" The same is true of {len(names)} columns: {join_names(names)}."
    return sentence


def _reason(evidence: Evidence, i: int) -> str:
    _, strange = _strange(evidence, i)
    return f"column {evidence.feature_names[strange[0]]} has a code for missing values"


MISSING_CODE = Check(
    code="missing-code",
    statistic=lambda evidence: np.abs(evidence.columns.filled),
    severity=_severity,
    sentence=_sentence,
    advice="Check whether it stands for a missing value; if so, remove these rows, or fill in "
    "values as in the positives.",
    reason=_reason,
)
