"""Agreement of PAT and RCQ, which are misled by different things."""

from __future__ import annotations

from poscount.checks.check import NOTE, Check, above
from poscount.checks.core_differs import ADVICE, two_readings
from poscount.checks.evidence import Evidence

# Of (PAT - RCQ) / gap.
WARNING = 1.3


def _in_order(evidence: Evidence, i: int) -> str:
    return (
        f"PAT's estimate is {100 * min(1.0, evidence.pat[i]):.1f} % and RCQ's "
        f"{100 * evidence.estimate[i]:.1f} %: chance alone explains the difference."
    )


PAT_DISAGREES = Check(
    code="pat-disagrees",
    statistic=lambda evidence: evidence.disagreement,
    severity=above(WARNING, NOTE),
    sentence=lambda evidence, i: (
        f"PAT's estimate is higher than chance alone would explain. {two_readings(evidence, i)}"
    ),
    advice=ADVICE,
    reason="negatives look like part of the positives, or the positives have changed",
    in_order=_in_order,
    threshold=WARNING,
    title="Agreement of PAT and RCQ",
    quantity="distance from RCQ up to PAT in units of RCQ's uncertainty",
    false_alarm_rate=0.025,
    cannot_detect="anything that misleads both, such as negatives distributed exactly as the "
    "positives are",
)
