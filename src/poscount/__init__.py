"""Count the positives in unlabeled data when positives are all that anybody has labelled.

The names below are imported when they are first used, so that ``import poscount`` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names besides the methods, which `poscount.registry` finds.
_PLACES = {
    "Mahalanobis": "poscount.scorers.mahalanobis",
    "MultiRCQ": "poscount.methods.regions.multi_rcq",
    "TargetShares": "poscount.results.target_shares",
    "Prevalence": "poscount.results.prevalence",
    "GroupAnswers": "poscount.results.groups",
    "Interval": "poscount.results.prevalence",
    "Caution": "poscount.results.verdict",
    "Verdict": "poscount.results.verdict",
    "Counts": "poscount.counts.counts",
    "GroupedCounts": "poscount.counts.counts",
    "InputError": "poscount.errors",
    "FileError": "poscount.errors",
    "load": "poscount.registry",
    "ChangeDetector": "poscount.change",
    "audit": "poscount.auditing",
    "likely_positives": "poscount.auditing",
    "settle": "poscount.auditing",
    "Settlement": "poscount.auditing",
    "Comparison": "poscount.diagnostics",
    "Diagnosis": "poscount.diagnostics",
    "Finding": "poscount.diagnostics",
    "compare_samples": "poscount.diagnostics",
    "diagnose": "poscount.diagnostics",
    "Trend": "poscount.change",
    "trend": "poscount.change",
    "estimate_contamination": "poscount.interop.contamination",
    "label_frequency": "poscount.results.prevalence",
    "joint_prior": "poscount.results.prevalence",
    "prevalence_from_label_frequency": "poscount.results.prevalence",
    "prevalence_from_joint_prior": "poscount.results.prevalence",
}

if TYPE_CHECKING:
    # For type checkers and editors, to which a method that is missing here is of type Any.
    from poscount.auditing import Settlement as Settlement
    from poscount.auditing import audit as audit
    from poscount.auditing import likely_positives as likely_positives
    from poscount.auditing import settle as settle
    from poscount.change import ChangeDetector as ChangeDetector
    from poscount.change import Trend as Trend
    from poscount.change import trend as trend
    from poscount.counts.counts import Counts as Counts
    from poscount.counts.counts import GroupedCounts as GroupedCounts
    from poscount.diagnostics import Comparison as Comparison
    from poscount.diagnostics import Diagnosis as Diagnosis
    from poscount.diagnostics import Finding as Finding
    from poscount.diagnostics import compare_samples as compare_samples
    from poscount.diagnostics import diagnose as diagnose
    from poscount.errors import FileError as FileError
    from poscount.errors import InputError as InputError
    from poscount.interop.contamination import estimate_contamination as estimate_contamination
    from poscount.methods.minimum import Minimum as Minimum
    from poscount.methods.odin import ODIn as ODIn
    from poscount.methods.pat import PAT as PAT
    from poscount.methods.pu.alphamax import AlphaMax as AlphaMax
    from poscount.methods.pu.bbe import BBE as BBE
    from poscount.methods.pu.dedpul import DEDPUL as DEDPUL
    from poscount.methods.pu.en import EN as EN
    from poscount.methods.pu.extice import ExTIcE as ExTIcE
    from poscount.methods.pu.km import KM1 as KM1
    from poscount.methods.pu.km import KM2 as KM2
    from poscount.methods.pu.pe import PE as PE
    from poscount.methods.pu.pen_l1 import PenL1 as PenL1
    from poscount.methods.pu.ranfoce import RanFocE as RanFocE
    from poscount.methods.pu.tice import TIcE as TIcE
    from poscount.methods.pu.trcq import TRCQ as TRCQ
    from poscount.methods.regions.multi_rcq import MultiRCQ as MultiRCQ
    from poscount.methods.regions.rcq import RCQ as RCQ
    from poscount.registry import load as load
    from poscount.results.groups import GroupAnswers as GroupAnswers
    from poscount.results.prevalence import Interval as Interval
    from poscount.results.prevalence import Prevalence as Prevalence
    from poscount.results.prevalence import joint_prior as joint_prior
    from poscount.results.prevalence import label_frequency as label_frequency
    from poscount.results.prevalence import (
        prevalence_from_joint_prior as prevalence_from_joint_prior,
    )
    from poscount.results.prevalence import (
        prevalence_from_label_frequency as prevalence_from_label_frequency,
    )
    from poscount.results.target_shares import TargetShares as TargetShares
    from poscount.results.verdict import Caution as Caution
    from poscount.results.verdict import Verdict as Verdict
    from poscount.scorers.mahalanobis import Mahalanobis as Mahalanobis


def _places() -> dict[str, str]:
    """Module of each public name."""
    from poscount.registry import METHODS

    methods = (place.split(":") for place in METHODS.values())
    return {**{name: module for module, name in methods}, **_PLACES}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_places())
    if name.startswith("__"):  # asked for by Python itself; no reason to look for methods
        raise AttributeError(f"module 'poscount' has no attribute {name!r}")
    module = _PLACES.get(name) or _places().get(name)
    if module is None:
        raise AttributeError(f"module 'poscount' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_places(), "__all__", "__version__"])
