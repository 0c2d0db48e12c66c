"""Negatives in the core of the positives: more rows there than positives alone would explain."""

from __future__ import annotations

from typing import Any

import numpy as np

from poscount.checks.check import NOTE, Check, above

# At most 5 false alarms in 100 samples of positives alone, and about 1 in 100 over samples of all
# prevalences.
LARGEST = 1.65


def core_excess(uncapped: Any, n_labeled: int, n_unlabeled: Any) -> Any:
    r"""How many more rows the core of the positives holds than if all rows were positive.

    In standard deviations:

    .. math:: \frac{\hat p - 1}{\sqrt{0.8\,(1/n_L + 1/n_U)}}

    with PAT's estimate before its cap at 1. The arguments are numbers or arrays.
    """
    return (uncapped - 1) / np.sqrt(0.8 * (1 / n_labeled + 1 / n_unlabeled))


OVERLAP = Check(
    code="overlap",
    statistic=lambda evidence: evidence.core_excess,
    severity=above(LARGEST, NOTE),
    sentence=lambda evidence, i: (
        "More rows look like typical positives than if all rows were positive: either some "
        "negatives look like typical positives, or the positives have drifted."
    ),
    advice="Do not use PAT here, because its estimate is too high. RCQ's may be too high as well.",
    reason="negatives look like typical positives",
)
