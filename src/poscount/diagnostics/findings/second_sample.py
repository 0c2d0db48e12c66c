"""Overlap or drift, by a second sample by a second sample."""

from __future__ import annotations

from poscount.diagnostics.comparison import compare_samples
from poscount.diagnostics.core import core_drawing, core_of_sample
from poscount.diagnostics.evidence import NOT_NUMBERS, Evidence
from poscount.diagnostics.finding import About, Finding, Unchecked

ABOUT = About(
    "second-sample",
    "Overlap or drift, by a second sample",
    "difference of the two cores",
    0.045,
    "anything if both samples have the same prevalence: overlap then looks like drift",
)
ADVICE = {
    "overlap": "trust RCQ rather than PAT.",
    "drift": "trust PAT rather than RCQ, and label new positives from where the samples come from.",
    "close": "give a reference with clearly more or fewer positives: these are too close to tell.",
}
CLOSE = 0.1


def second_sample(evidence: Evidence) -> Finding | Unchecked:
    """Compare the sample with the reference."""
    regions = evidence.regions
    if evidence.reference is None:
        wanted = "give a second sample of another prevalence (reference=, --reference)."
        return ABOUT.unchecked(wanted if evidence.sample is not None else NOT_NUMBERS)
    if regions is None:
        return ABOUT.unchecked(evidence.no_regions)
    counts = evidence.counts, regions.count(evidence.reference.data)
    found = compare_samples(regions, *counts)
    number, limit = found.core_difference, found.limit
    cores = [core_of_sample(regions, part) for part in counts]
    plot = core_drawing(regions, cores[0], cores[1], ("sample", "reference"))
    if found.reading == "clean":
        return ABOUT.found("ok", number, limit, str(found), plot=plot)
    close = found.reading == "drift" and abs(found.difference) < CLOSE
    advice = ADVICE["close" if close else found.reading]
    # The second sample says which of the two it is; whether it is anything, the first one does.
    doubted = any(caution.code == "core-differs" for caution in found.prevalences[0].warnings)
    return ABOUT.found("warning" if doubted else "notice", number, limit, str(found), advice, plot)
