"""The user calls positives recognisable, and the sample looks like tasks in which they are not."""

from __future__ import annotations

from poscount.checks.check import TO_CHECK, Check, above

# Of past tasks with such counts, so many were not recognisable.
MOST = 0.8

HARDLY_RECOGNISABLE = Check(
    code="hardly-recognisable",
    statistic=lambda evidence: evidence.not_recognisable,
    severity=above(MOST, TO_CHECK),
    sentence=lambda evidence, i: (
        "It was said that somebody who knows the field could nearly always tell a positive from "
        f"these columns, but that was not so in {100 * evidence.not_recognisable[i]:.0f} of 100 "
        "past tasks that looked like this."
    ),
    advice="Say that it is not known, and look at the wider interval.",
    reason="positives may not be recognisable",
)
