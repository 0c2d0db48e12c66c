"""Enough rows for a useful answer."""

from __future__ import annotations

from poscount import checks
from poscount.diagnostics.evidence import Evidence
from poscount.diagnostics.finding import About, Drawing, Finding, Unchecked, severity_above
from poscount.plotting import PATCurveDisplay, RegionDisplay
from poscount.reusable.rcq import RCQ
from poscount.reusable.telling_regions import telling_regions

ABOUT = About(
    "wide-interval",
    "Precision",
    "width of the interval",
    0.019,
    "errors that come from overlap or drift: the interval is about chance alone",
)
WARNING = 0.4


def wide_interval(evidence: Evidence) -> Finding | Unchecked:
    """Look at the width of the interval."""
    interval = evidence.answer.interval
    if interval is None:
        name = evidence.answer.method
        return ABOUT.unchecked(f"{name} has given no interval: fit {name}(bootstrap=200), or RCQ.")
    severity = severity_above(interval.width, checks.WIDEST_INTERVAL, WARNING)
    if severity == "ok" and any(c.code == ABOUT.code for c in evidence.answer.warnings):
        severity = "notice"  # RCQ looks at its gap instead
    sentence = (
        f"The {100 * interval.level:g} % interval goes from {100 * interval.low:.1f} to "
        f"{100 * interval.high:.1f} %, {100 * interval.width:.0f} points"
    )
    plot = _plot(evidence)
    if severity == "ok":
        return ABOUT.found(severity, interval.width, WARNING, f"{sentence}.", plot=plot)
    sentence += ", which leaves the answer open" if severity == "warning" else ", which is wide"
    advice = "give more rows, or label more positives; `poscount plan` says how many."
    return ABOUT.found(severity, interval.width, WARNING, f"{sentence}.", advice, plot)


def _plot(evidence: Evidence) -> Drawing | None:
    answer = evidence.answer
    if "curve" in answer.details:
        return Drawing(PATCurveDisplay.from_predictions, {"prevalence": answer})
    if not isinstance(evidence.model, RCQ) or evidence.regions is None:
        return None
    regions = telling_regions(evidence.regions, evidence.counts)
    return Drawing(RegionDisplay.from_predictions, {"prevalence": answer, "regions": regions})
