"""Agreement of PAT and RCQ, which are misled by different things."""

from __future__ import annotations

from poscount import checks
from poscount.diagnostics.evidence import Evidence
from poscount.diagnostics.finding import About, Finding, Unchecked, severity_above
from poscount.diagnostics.findings.core_differs import ADVICE

ABOUT = About(
    "pat-disagrees",
    "Agreement of PAT and RCQ",
    "distance of PAT and RCQ in units of RCQ's uncertainty, G",
    0.025,
    "whatever misleads both, such as negatives spread exactly as the positives are",
)
WARNING = 1.3


def pat_disagrees(evidence: Evidence) -> Finding | Unchecked:
    """Look at how far PAT is above RCQ."""
    if evidence.regions is None:
        return ABOUT.unchecked(evidence.no_regions)
    p, details = float(evidence.regional), evidence.regional.details
    severity = severity_above(details["G"], checks.LARGEST_DISAGREEMENT, WARNING)
    pat = min(1.0, details["pat"])
    if severity == "ok":
        sentence = f"PAT finds {pat:.3f} and RCQ {p:.3f}: no farther apart than chance explains."
        return ABOUT.found(severity, details["G"], WARNING, sentence)
    sentence = f"PAT finds more than chance explains. {checks.two_readings(p, details['pat'])}"
    return ABOUT.found(severity, details["G"], WARNING, sentence, ADVICE)
