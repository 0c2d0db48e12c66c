"""Samples without any row that is like a typical positive."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import NOTE, TO_CHECK, Check
from poscount.checks.evidence import Evidence, MissingEvidenceError
from poscount.errors import join_names

# Of the rows that a sample of positives alone would have in the core.
SMALLEST = 0.01
# Of rows; sums of weights are rounded.
ALL = 1 - 1e-9


def _share_like_positives(evidence: Evidence) -> np.ndarray:
    """Rows in the core; for methods without one, rows with the values that all positives share."""
    if evidence.has("core_share"):
        return evidence.core_share
    if not evidence.unknown_values.columns.constants_.places.size:
        raise MissingEvidenceError
    return 1 - share_different(evidence)


def share_different(evidence: Evidence) -> np.ndarray:
    """Share of samples with another value than all positives where these never vary."""
    if not evidence.has("unknown_values"):
        return np.zeros(evidence.n_samples)
    values = evidence.unknown_values
    return values.different / np.maximum(values.n_rows, 1)


def _severity(evidence: Evidence, share: np.ndarray) -> np.ndarray:
    found = np.where(share_different(evidence) >= ALL, TO_CHECK, NOTE)
    return np.where(share >= SMALLEST, 0, found)


def shared_values(evidence: Evidence) -> str:
    """The columns in which the positives never vary, with their values."""
    shared = [column for column in evidence.unknown_values.columns if column.shared]
    return join_names(
        f"{column.name} is {'missing' if column.missing == 1 else column.shared}"
        for column in shared
    )


def _sentence(evidence: Evidence, i: int) -> str:
    share = share_different(evidence)[i]
    if share <= 1 - SMALLEST:
        return "Hardly any row of the sample is like a typical positive."
    rows = "Every row" if share >= ALL else f"{100 * share:.4g} %"
    return (
        f"{rows} of the sample differs from all positives where these never vary: in all of them, "
        f"{shared_values(evidence)}."
    )


def _reason(evidence: Evidence, i: int) -> str:
    if share_different(evidence)[i] < ALL:
        return "nothing in the sample is like the positives"
    return f"in no row of the sample, but in all positives, {shared_values(evidence)}"


NOTHING_LIKE_POSITIVES = Check(
    code="nothing-like-positives",
    statistic=_share_like_positives,
    severity=_severity,
    sentence=_sentence,
    advice="If you expected positives, check that the sample was prepared as they were: same "
    "columns, units and order.",
    reason=_reason,
)
