"""The sample is unlike all tasks that the calibration was learned from."""

from __future__ import annotations

from poscount.checks.check import NOTE, Check, above

UNLIKE_TRAINING = Check(
    code="unlike-experience",
    statistic=lambda evidence: evidence.unlike_training,
    severity=above(0, NOTE),
    sentence=lambda evidence, i: (
        "No task that the calibration was learned from is as small as this one, or has so many "
        "features or so wide bounds: the interval is made wider."
    ),
    reason="nothing like it was ever seen",
)
