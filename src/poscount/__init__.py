"""Count the positives in unlabeled data when positives are all that anybody has labelled.

The names below are imported when they are first used, so that ``import poscount`` stays cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_PLACES = {
    "PAT": "poscount.reusable.pat",
    "ODIn": "poscount.reusable.odin",
    "RCQ": "poscount.reusable.rcq",
    "EN": "poscount.transductive.en",
    "PE": "poscount.transductive.pe",
    "PenL1": "poscount.transductive.pen_l1",
    "AlphaMax": "poscount.transductive.alphamax",
    "KM1": "poscount.transductive.km",
    "KM2": "poscount.transductive.km",
    "TIcE": "poscount.transductive.tice",
    "ExTIcE": "poscount.transductive.extice",
    "RanFocE": "poscount.transductive.ranfoce",
    "BBE": "poscount.transductive.bbe",
    "DEDPUL": "poscount.transductive.dedpul",
    "TRCQ": "poscount.transductive.trcq",
    "Minimum": "poscount.ensemble",
    "Mahalanobis": "poscount.scorers.mahalanobis",
    "Prevalence": "poscount.prevalence",
    "Interval": "poscount.prevalence",
    "Caution": "poscount.prevalence",
    "Counts": "poscount.counts",
    "GroupedCounts": "poscount.counts",
    "InputError": "poscount.errors",
    "FileError": "poscount.errors",
    "load": "poscount.registry",
    "Comparison": "poscount.diagnostics",
    "Diagnosis": "poscount.diagnostics",
    "Finding": "poscount.diagnostics",
    "compare_samples": "poscount.diagnostics",
    "diagnose": "poscount.diagnostics",
    "estimate_contamination": "poscount.interop.contamination",
    "label_frequency": "poscount.prevalence",
    "joint_prior": "poscount.prevalence",
    "prevalence_from_label_frequency": "poscount.prevalence",
    "prevalence_from_joint_prior": "poscount.prevalence",
}

if TYPE_CHECKING:
    from poscount.counts import Counts, GroupedCounts
    from poscount.diagnostics import Comparison, Diagnosis, Finding, compare_samples, diagnose
    from poscount.ensemble import Minimum
    from poscount.errors import FileError, InputError
    from poscount.interop.contamination import estimate_contamination
    from poscount.prevalence import (
        Caution,
        Interval,
        Prevalence,
        joint_prior,
        label_frequency,
        prevalence_from_joint_prior,
        prevalence_from_label_frequency,
    )
    from poscount.registry import load
    from poscount.reusable.odin import ODIn
    from poscount.reusable.pat import PAT
    from poscount.reusable.rcq import RCQ
    from poscount.scorers.mahalanobis import Mahalanobis
    from poscount.transductive.alphamax import AlphaMax
    from poscount.transductive.bbe import BBE
    from poscount.transductive.dedpul import DEDPUL
    from poscount.transductive.en import EN
    from poscount.transductive.extice import ExTIcE
    from poscount.transductive.km import KM1, KM2
    from poscount.transductive.pe import PE
    from poscount.transductive.pen_l1 import PenL1
    from poscount.transductive.ranfoce import RanFocE
    from poscount.transductive.tice import TIcE
    from poscount.transductive.trcq import TRCQ

__all__ = [
    "BBE",
    "DEDPUL",
    "EN",
    "KM1",
    "KM2",
    "PAT",
    "PE",
    "RCQ",
    "TRCQ",
    "AlphaMax",
    "Caution",
    "Comparison",
    "Counts",
    "Diagnosis",
    "ExTIcE",
    "FileError",
    "Finding",
    "GroupedCounts",
    "InputError",
    "Interval",
    "Mahalanobis",
    "Minimum",
    "ODIn",
    "PenL1",
    "Prevalence",
    "RanFocE",
    "TIcE",
    "compare_samples",
    "diagnose",
    "estimate_contamination",
    "joint_prior",
    "label_frequency",
    "load",
    "prevalence_from_joint_prior",
    "prevalence_from_label_frequency",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'poscount' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
