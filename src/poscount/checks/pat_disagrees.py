"""Agreement of PAT and RCQ, which are misled by different things."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples, Missing, Outcome, severity_above
from poscount.checks.core_differs import ADVICE, readings_differ, two_readings

# Of (PAT - RCQ) / gap.
NOTICE, WARNING = 1.1, 1.3


def _look(evidence: Evidence) -> Outcome | Missing:
    regions = evidence.regions
    if isinstance(regions, Missing):
        return regions
    number = regions.disagreement
    severity = severity_above(number, NOTICE, WARNING)
    if severity == "ok":
        sentence = (
            f"PAT's estimate is {100 * min(1.0, regions.pat):.1f} % and RCQ's "
            f"{100 * regions.estimate:.1f} %: chance alone explains the difference."
        )
        return Outcome(severity, number, WARNING, sentence)
    sentence = f"PAT's estimate is higher than chance alone would explain. {two_readings(regions)}"
    caution = number if readings_differ(regions) else None
    return Outcome(severity, number, WARNING, sentence, ADVICE, caution=caution)


def _concerns(samples: ManySamples) -> np.ndarray | bool:
    regions = samples.regions
    if isinstance(regions, Missing):
        return False
    return np.asarray(regions.disagreement > NOTICE) & readings_differ(regions)


PAT_DISAGREES = Check(
    code="pat-disagrees",
    look=_look,
    concerns=_concerns,
    reason="negatives look like part of the positives, or the positives have changed",
    caution_rate=1 / 20,
    title="Agreement of PAT and RCQ",
    quantity="distance from RCQ up to PAT in units of RCQ's uncertainty",
    false_alarm_rate=0.025,
    cannot_detect="anything that misleads both, such as negatives distributed exactly as the "
    "positives are",
)
