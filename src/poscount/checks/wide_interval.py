"""A wide interval: too few rows or too few positives for a useful estimate."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples, Missing, Outcome, severity_above

CODE = "wide-interval"
NOTICE, WARNING = 0.24, 0.4
# RCQ warns by its gap, the distance from its ratio to its smallest upper bound. The mean error was
# 2 points for gaps of .05 to .08, 5 for .12 to .16 and 6 for .20 to .30.
WIDEST_GAP = 0.12
# Of its interval by the null calibration, in gaps.
WIDTH_BY_CHANCE = 1.75


def _look(evidence: Evidence) -> Outcome | Missing:
    interval, gap = evidence.interval, evidence.gap
    if isinstance(interval, Missing):
        return interval
    # RCQ's interval also covers what overlap may do, which more rows do not cure.
    width = interval.width if gap is None else min(1.0, WIDTH_BY_CHANCE * gap)
    statistic, limit = (width, NOTICE) if gap is None else (gap, WIDEST_GAP)
    caution = statistic if statistic > limit else None
    severity = severity_above(width, NOTICE, WARNING)
    if severity == "ok" and (caution is not None or CODE in evidence.warned):
        severity = "notice"
    ends = (
        f"{100 * interval.level:g} % interval goes from {100 * interval.low:.1f} to "
        f"{100 * interval.high:.1f} %"
    )
    if severity == "ok":
        return Outcome(severity, width, WARNING, f"The {ends}.")
    sentence = f"The estimate is imprecise: its {ends}."
    advice = "Use more rows, or label more positives."
    return Outcome(severity, width, WARNING, sentence, advice, caution)


def _concerns(samples: ManySamples) -> np.ndarray | bool:
    return samples.width > NOTICE if samples.gap is None else samples.gap > WIDEST_GAP


WIDE_INTERVAL = Check(
    code=CODE,
    look=_look,
    concerns=_concerns,
    reason="there are too few rows or too few positives",
    title="Precision",
    quantity="width of the interval by chance alone",
    false_alarm_rate=0.019,
    cannot_detect="errors that come from overlap or drift: the interval covers chance alone",
)
