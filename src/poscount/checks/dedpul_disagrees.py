"""Agreement with a method of another kind: DEDPUL, which learns from both sets of rows."""

from __future__ import annotations

from poscount.checks.check import Check, Evidence, Missing, Outcome, severity_above

# DEDPUL's median estimate for samples with nothing wrong is a little below RCQ's, in RCQ's gaps.
USUAL = -0.25
NOTICE, WARNING = 0.85, 1.05
# Below it, chance in DEDPUL counts for more than in RCQ.
SMALLEST_GAP = 0.05
# With fewer, chance alone keeps the two apart; the limits were measured from here on.
FEWEST_POSITIVES, FEWEST_ROWS = 60, 200


def _look(evidence: Evidence) -> Outcome | Missing:
    other, regions = evidence.dedpul, evidence.regions
    if isinstance(other, Missing):
        return other
    if isinstance(regions, Missing):
        return regions
    units = (other - regions.estimate) / max(regions.gap, SMALLEST_GAP)
    distance = abs(units - USUAL)
    severity = severity_above(distance, NOTICE, WARNING)
    sentence = f"RCQ's estimate is {100 * regions.estimate:.1f} % and DEDPUL's {100 * other:.1f} %"
    rows, some = evidence.sample, evidence.some_rows
    if not isinstance(rows, Missing) and not isinstance(some, Missing) and len(some) < len(rows):
        sentence += f" (from {len(some):,} of the rows)"
    if severity == "ok":
        sentence += ", no further apart than usual."
        return Outcome(severity, distance, WARNING, sentence)
    if units < USUAL:
        sentence += ": a classifier tells more rows apart from the positives than RCQ's regions do."
        advice = "The share may be smaller than RCQ says. Try TRCQ, and report the range."
    else:
        sentence += ": RCQ's regions tell rows apart from the positives that a classifier cannot."
        advice = (
            "See what is said about overlap and drift; if there are warnings, report the range."
        )
    return Outcome(severity, distance, WARNING, sentence, advice)


DEDPUL_DISAGREES = Check(
    code="dedpul-disagrees",
    look=_look,
    title="Agreement with a third method",
    quantity="distance of DEDPUL and RCQ, beyond the usual, in units of RCQ's uncertainty",
    false_alarm_rate=0.015,
    cannot_detect="which of the methods is wrong, or anything that misleads all of them",
)
