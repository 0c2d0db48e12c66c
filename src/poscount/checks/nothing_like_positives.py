"""Samples without any row that is like a typical positive."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import NOTE, Check

# Of the rows that a sample of positives alone would have in the core.
SMALLEST = 0.01

NOTHING_LIKE_POSITIVES = Check(
    code="nothing-like-positives",
    statistic=lambda evidence: evidence.core_share,
    severity=lambda evidence, share: np.where(share >= SMALLEST, 0, NOTE),
    sentence=lambda evidence, i: "Hardly any row of the sample is like a typical positive.",
    advice="If you expected positives, check that the sample was prepared as they were: same "
    "columns, units and order.",
    reason="nothing in the sample is like the positives",
    in_order="Some rows of the sample are like typical positives.",
    threshold=SMALLEST,
    title="Typical positives in the sample",
    quantity="rows like typical positives, as a share of those in a sample of positives alone",
    cannot_detect="whether there are none, or they look different here",
)
