"""Answers near 0 in samples that differ from all positives in a column in which these never vary.

Rows with another value are not counted. That is right if the column tells what positives are, and
wrong if it tells how the labelled ones were collected: from one site, or of one sex.
"""

from __future__ import annotations

import numpy as np

from poscount.checks.check import TO_CHECK, Check, above
from poscount.checks.evidence import Evidence
from poscount.checks.nothing_like_positives import ALL, share_different, shared_values

# Of the sample: rows that are not counted, and positives at most.
MANY, HARDLY_ANY = 0.1, 0.02


def _not_counted(evidence: Evidence) -> np.ndarray:
    share = share_different(evidence)
    return np.where((evidence.estimate < HARDLY_ANY) & (share < ALL), share, 0.0)


def _sentence(evidence: Evidence, i: int) -> str:
    return (
        f"In every positive, {shared_values(evidence)}. {100 * share_different(evidence)[i]:.0f} % "
        "of the sample differ from that, and none of them is counted as positive."
    )


CONSTANT_DECIDES = Check(
    code="constant-decides",
    statistic=_not_counted,
    severity=above(MANY, TO_CHECK),
    sentence=_sentence,
    advice="If that is how the labelled positives were collected, and not what positives are, "
    "leave this column out.",
    reason=lambda evidence, i: f"in every labelled positive, {shared_values(evidence)}",
    warning_rate=0.008,
)
