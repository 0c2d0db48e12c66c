"""Only part of the sample was used: learning from all of its rows would take too long."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import NOTE, Check
from poscount.checks.evidence import Evidence


def _sentence(evidence: Evidence, i: int) -> str:
    return (
        f"The estimate is from {evidence.n_rows_used[i]:,} of the {evidence.n_rows[i]:,} rows of "
        "the sample, drawn at random, and the interval is as wide as for a sample of that size."
    )


SUBSAMPLED = Check(
    code="subsampled",
    statistic=lambda evidence: evidence.n_rows_used,
    severity=lambda evidence, used: np.where(used < evidence.n_rows, NOTE, 0),
    sentence=_sentence,
)
