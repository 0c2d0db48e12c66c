"""Two exchanged columns: all others would allow far more positives than there seem to be.

Each column bounds the prevalence by itself: if few rows are where many positives are, few rows are
positive. Where this bound is far above the estimate for all columns but two, and low by these two,
they may have been exchanged.
"""

from __future__ import annotations

import numpy as np

from poscount.checks.check import TO_CHECK, Check
from poscount.checks.evidence import Evidence

# How far the bounds of all columns may be above the estimate; if they are farther, the rows as a
# whole are strange, and not two columns.
NOTICE = 0.15
# Often two columns tell what all others do not, so all others must contradict them loudly.
EXCHANGED = 0.7


def _above_estimate(evidence: Evidence, bound: np.ndarray) -> np.ndarray:
    return bound - (evidence.estimate + evidence.region_gap)


def _severity(evidence: Evidence, but_two: np.ndarray) -> np.ndarray:
    columns = evidence.columns
    in_order = (
        (but_two <= EXCHANGED)
        | (_above_estimate(evidence, columns.by_columns) > NOTICE)
        | (columns.by_one_end > columns.by_all_but_two)
    )
    return np.where(in_order, 0, TO_CHECK)


def _worst_two(evidence: Evidence, i: int) -> list[str]:
    columns = evidence.columns
    worst = np.argsort(columns.at_most[i].min(axis=1), kind="stable")[:2]
    return [evidence.feature_names[j] for j in columns.positives.cut[worst].tolist()]


def _sentence(evidence: Evidence, i: int) -> str:
    one, other = _worst_two(evidence, i)
    return (
        f"Without columns {one} and {other}, {100 * evidence.columns.by_all_but_two[i]:.0f} % of "
        "the sample could be positives, by every single column."
    )


EXCHANGED_COLUMNS = Check(
    code="exchanged-columns",
    statistic=lambda evidence: _above_estimate(evidence, evidence.columns.by_all_but_two),
    severity=_severity,
    sentence=_sentence,
    advice="If you expect more positives than estimated, check that these two were not exchanged, "
    "and that they were measured as in the positives.",
    reason=lambda evidence, i: "columns {} and {} contradict all others".format(
        *_worst_two(evidence, i)
    ),
)
