"""Agreement with a method of another kind: DEDPUL, which learns from both sets of rows."""

from __future__ import annotations

from poscount.checks.check import NOTE, Check, above
from poscount.checks.evidence import Evidence

# DEDPUL's median estimate for samples with nothing wrong is a little below RCQ's, in RCQ's gaps.
USUAL = -0.25
WARNING = 1.05
# Below it, chance in DEDPUL counts for more than in RCQ.
SMALLEST_GAP = 0.05
# With fewer, chance alone keeps the two apart; the limits were measured from here on.
FEWEST_POSITIVES, FEWEST_ROWS = 60, 200


def _units(evidence: Evidence) -> float:
    """DEDPUL's distance from RCQ, in RCQ's gaps."""
    gap = max(float(evidence.region_gap[0]), SMALLEST_GAP)
    return (evidence.dedpul - float(evidence.estimate[0])) / gap


def _both(evidence: Evidence) -> str:
    rcq, dedpul, n_some = 100 * evidence.estimate[0], 100 * evidence.dedpul, len(evidence.some_rows)
    part = f" (from {n_some:,} of the rows)" if n_some < len(evidence.sample) else ""
    return f"RCQ's estimate is {rcq:.1f} % and DEDPUL's {dedpul:.1f} %{part}"


def _sentence(evidence: Evidence, i: int) -> str:
    if _units(evidence) < USUAL:
        more = "a classifier tells more rows apart from the positives than RCQ's regions do."
    else:
        more = "RCQ's regions tell rows apart from the positives that a classifier cannot."
    return f"{_both(evidence)}: {more}"


def _advice(evidence: Evidence, i: int) -> str:
    if _units(evidence) < USUAL:
        return "The share may be smaller than RCQ says. Try TRCQ, and report the range."
    return "See what is said about overlap and drift; if there are warnings, report the range."


DEDPUL_DISAGREES = Check(
    code="dedpul-disagrees",
    statistic=lambda evidence: abs(_units(evidence) - USUAL),
    severity=above(WARNING, NOTE),
    sentence=_sentence,
    advice=_advice,
    in_order=lambda evidence, i: f"{_both(evidence)}, no further apart than usual.",
    threshold=WARNING,
    title="Agreement with a third method",
    quantity="distance of DEDPUL and RCQ, beyond the usual, in units of RCQ's uncertainty",
    false_alarm_rate=0.015,
    cannot_detect="which of the methods is wrong, or anything that misleads all of them",
)
