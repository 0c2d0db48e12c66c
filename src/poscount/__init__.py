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
    "KM1": "poscount.transductive.km",
    "KM2": "poscount.transductive.km",
    "Mahalanobis": "poscount.scorers.mahalanobis",
    "Prevalence": "poscount.prevalence",
    "Interval": "poscount.prevalence",
    "Caution": "poscount.prevalence",
    "Counts": "poscount.counts",
    "GroupedCounts": "poscount.counts",
    "InputError": "poscount.validation",
    "FileError": "poscount.container",
    "load": "poscount.registry",
    "estimate_contamination": "poscount.contamination",
    "label_frequency": "poscount.prevalence",
    "joint_prior": "poscount.prevalence",
    "prevalence_from_label_frequency": "poscount.prevalence",
    "prevalence_from_joint_prior": "poscount.prevalence",
}

if TYPE_CHECKING:
    from poscount.container import FileError
    from poscount.contamination import estimate_contamination
    from poscount.counts import Counts, GroupedCounts
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
    from poscount.scorers.mahalanobis import Mahalanobis
    from poscount.transductive.km import KM1, KM2
    from poscount.validation import InputError

__all__ = [
    "KM1",
    "KM2",
    "PAT",
    "Caution",
    "Counts",
    "FileError",
    "GroupedCounts",
    "InputError",
    "Interval",
    "Mahalanobis",
    "ODIn",
    "Prevalence",
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
