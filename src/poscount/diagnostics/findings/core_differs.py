"""Overlap or drift: whether the rows most like positives are spread as the positives are."""

from __future__ import annotations

from poscount import checks
from poscount.diagnostics.core import core_drawing, core_of_positives, core_of_sample
from poscount.diagnostics.evidence import Evidence
from poscount.diagnostics.finding import About, Finding, Unchecked

ABOUT = About(
    "core-differs",
    "Spread of the typical rows",
    "spread of the core, H",
    0.025,
    "negatives spread exactly as the positives are, and often not overlap at a prevalence "
    "above 0.7",
)
ADVICE = (
    "report both numbers; a second sample of another prevalence, given as the reference, tells "
    "overlap from drift."
)


def core_differs(evidence: Evidence) -> Finding | Unchecked:
    """Compare the core of the sample with that of the positives, feature by feature."""
    regions = evidence.regions
    if regions is None:
        return ABOUT.unchecked(evidence.no_regions)
    details = evidence.regional.details
    limit = checks.core_limit(
        regions.core_freedom_, checks.LARGEST_CORE_DIFFERENCE, checks.CORE_FALSE_ALARMS
    )
    plot = core_drawing(
        regions,
        core_of_positives(regions),
        core_of_sample(regions, evidence.counts),
        ("labelled positives", "sample"),
    )
    if details["H"] <= limit:
        sentence = (
            "The rows that look most like positives are spread as the labelled positives are."
        )
        return ABOUT.found("ok", details["H"], limit, sentence, plot=plot)
    sentence = (
        "The rows that look most like positives are not spread as the labelled positives are. "
        + checks.two_readings(float(evidence.regional), details["pat"])
    )
    return ABOUT.found("warning", details["H"], limit, sentence, ADVICE, plot)
