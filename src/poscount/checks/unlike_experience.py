"""The sample is unlike all tasks that the calibration was learned from."""

from __future__ import annotations

import numpy as np

from poscount.checks.check import Check, Evidence, ManySamples, Missing, Outcome


def _look(evidence: Evidence) -> Outcome | Missing:
    if not evidence.unlike_experience:
        return Missing()
    sentence = (
        "No task that the calibration was learned from is as small as this one, or has so many "
        "features or so wide bounds: the interval is made wider."
    )
    return Outcome("notice", 1.0, None, sentence, caution=1.0)


def _concerns(samples: ManySamples) -> np.ndarray | bool:
    return samples.unlike_experience


UNLIKE_EXPERIENCE = Check(
    code="unlike-experience",
    look=_look,
    concerns=_concerns,
    reason="nothing like it was ever seen",
)
