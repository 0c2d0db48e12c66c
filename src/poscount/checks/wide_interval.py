"""A wide interval: too few rows or too few positives for a useful estimate."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import NOTE, Check, levels
from poscount.checks.evidence import Evidence

NOTICE, WARNING = 0.24, 0.4
# RCQ warns by its gap, the distance from its ratio to its smallest upper bound. The mean error was
# 2 points for gaps of .05 to .08, 5 for .12 to .16 and 6 for .20 to .30.
WIDEST_GAP = 0.12
# Of its interval by the null calibration, in gaps.
WIDTH_BY_CHANCE = 1.75


def _width(evidence: Evidence) -> np.ndarray:
    return evidence.high - evidence.low


def _gap_or_width(evidence: Evidence) -> np.ndarray:
    # A method without an interval has a width that is missing.
    width = _width(evidence)
    return evidence.gap if evidence.has("gap") else width


def _width_by_chance(evidence: Evidence) -> np.ndarray:
    # RCQ's interval also covers what overlap may do, which more rows do not cure.
    if evidence.has("gap"):
        return np.minimum(1.0, WIDTH_BY_CHANCE * evidence.gap)
    return _width(evidence)


def _severity(evidence: Evidence, statistic: np.ndarray) -> np.ndarray:
    limit = WIDEST_GAP if evidence.has("gap") else NOTICE
    return np.where(statistic > limit, NOTE, 0)


def _severity_in_report(evidence: Evidence, width: np.ndarray) -> np.ndarray:
    warned = _severity(evidence, _gap_or_width(evidence))
    return np.maximum(levels(NOTICE, WARNING)(evidence, width), warned)


def _ends(evidence: Evidence, i: int) -> str:
    return (
        f"{100 * evidence.level:g} % interval goes from {100 * evidence.low[i]:.1f} to "
        f"{100 * evidence.high[i]:.1f} %"
    )


WIDE_INTERVAL = Check(
    code="wide-interval",
    statistic=_gap_or_width,
    severity=_severity,
    sentence=lambda evidence, i: f"The estimate is imprecise: its {_ends(evidence, i)}.",
    advice="Use more rows, or label more positives.",
    reason="there are too few rows or too few positives",
    in_order=lambda evidence, i: f"The {_ends(evidence, i)}.",
    threshold=WARNING,
    title="Precision",
    quantity="width of the interval by chance alone",
    false_alarm_rate=0.019,
    cannot_detect="errors that come from overlap or drift: the interval covers chance alone",
    reported={"statistic": _width_by_chance, "severity": _severity_in_report},
)
