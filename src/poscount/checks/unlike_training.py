"""The sample is unlike all tasks that the calibration was learned from."""

from __future__ import annotations

from poscount.checks.check import NOTE, Check, above

UNLIKE_TRAINING = Check(
    code="unlike-experience",
    statistic=lambda evidence: evidence.unlike_training,
    severity=above(0, NOTE),
    sentence=lambda evidence, i: (
        "The number of rows or features, or a bound, is outside the range that RCQ was calibrated "
        "on: the interval is made wider."
    ),
    reason="nothing like it was ever seen",
)
