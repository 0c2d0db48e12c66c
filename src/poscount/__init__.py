"""Count the positives in unlabeled data when positives are all that anybody has labelled.

The public names are in `__init__.pyi`. They are imported when they are first used, so that
``import poscount`` stays cheap; methods that somebody adds are found by `poscount.registry`.
"""

from __future__ import annotations

import functools
import importlib
import re
from importlib import resources
from typing import Any

__version__ = "0.1.0"

_IMPORT = re.compile(r"^from ([\w.]+) import (\w+) as \2$", re.MULTILINE)


@functools.cache
def _places() -> dict[str, str]:
    """Module of each public name."""
    from poscount.registry import METHODS

    names = resources.files("poscount").joinpath("__init__.pyi").read_text(encoding="utf-8")
    methods = (place.split(":") for place in METHODS.values())
    return {name: module for module, name in [*methods, *_IMPORT.findall(names)]}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_places())
    if name.startswith("__") or name not in _places():
        raise AttributeError(f"module 'poscount' has no attribute {name!r}")
    value = getattr(importlib.import_module(_places()[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*_places(), "__all__", "__version__"])
