"""Negatives in the core of the positives: more rows there than positives alone could be."""

from __future__ import annotations

from poscount import checks
from poscount.diagnostics.evidence import Evidence
from poscount.diagnostics.finding import About, Finding, Unchecked

ABOUT = About(
    "overlap",
    "Crowding among the typical rows",
    "excess of the core, O",
    0.006,
    "overlap in a sample with many other negatives, which leave room",
)


def overlap(evidence: Evidence) -> Finding | Unchecked:
    """Look at whether the core holds more rows than if all were positive."""
    if "O" in evidence.answer.details:
        details = evidence.answer.details
    elif evidence.regions is not None:
        details = evidence.regional.details
    else:
        return ABOUT.unchecked(evidence.no_regions)
    excess, limit = details["O"], checks.LARGEST_EXCESS
    if excess <= limit:
        sentence = "No more rows look like typical positives than if all were positive."
        return ABOUT.found("ok", excess, limit, sentence)
    return ABOUT.found(
        "warning",
        excess,
        limit,
        "More rows look like typical positives than if all were positive: some negatives sit in "
        "the core of the positives, or the positives have drifted.",
        "do not use PAT here; RCQ's answer may be too high as well.",
    )
