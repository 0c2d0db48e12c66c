"""From files to models, counts, answers and reports: the door of the command line and the page.

No statistics may be in it, and no words of a front end: an option is named as in Python, and an
error is an `InputError` that the front end puts into its own words.

The names below are imported when they are first used, so that a front end starts at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_PLACES = {
    "CsvFormat": "poscount.files.csv_format",
    "FileLimits": "poscount.workflows.inspection",
    "FilesDiagnosis": "poscount.workflows.diagnosis",
    "OnProgress": "poscount.files.arrow",
    "RESERVED": "poscount.workflows.results",
    "Result": "poscount.workflows.results",
    "Watch": "poscount.workflows.estimates",
    "count": "poscount.workflows.estimates",
    "describe_columns": "poscount.workflows.columns",
    "describe_targets": "poscount.workflows.columns",
    "diagnose": "poscount.workflows.diagnosis",
    "draw": "poscount.workflows.results",
    "fewest_positives": "poscount.workflows.estimates",
    "fit": "poscount.workflows.estimates",
    "fit_targets": "poscount.workflows.targets",
    "inspect_file": "poscount.workflows.inspection",
    "is_reusable": "poscount.workflows.estimates",
    "merge": "poscount.workflows.estimates",
    "picture_element": "poscount.plotting.page",
    "quantify": "poscount.workflows.estimates",
    "sheet_names": "poscount.workflows.inspection",
    "warnings_of": "poscount.workflows.results",
    "whole_page": "poscount.plotting.page",
    "write_csv": "poscount.workflows.results",
}

if TYPE_CHECKING:
    from poscount.files.arrow import OnProgress
    from poscount.files.csv_format import CsvFormat
    from poscount.plotting.page import picture_element, whole_page
    from poscount.workflows.columns import describe_columns, describe_targets
    from poscount.workflows.diagnosis import FilesDiagnosis, diagnose
    from poscount.workflows.estimates import (
        Watch,
        count,
        fewest_positives,
        fit,
        is_reusable,
        merge,
        quantify,
    )
    from poscount.workflows.inspection import FileLimits, inspect_file, sheet_names
    from poscount.workflows.results import RESERVED, Result, draw, warnings_of, write_csv
    from poscount.workflows.targets import fit_targets

__all__ = [
    "RESERVED",
    "CsvFormat",
    "FileLimits",
    "FilesDiagnosis",
    "OnProgress",
    "Result",
    "Watch",
    "count",
    "describe_columns",
    "describe_targets",
    "diagnose",
    "draw",
    "fewest_positives",
    "fit",
    "fit_targets",
    "inspect_file",
    "is_reusable",
    "merge",
    "picture_element",
    "quantify",
    "sheet_names",
    "warnings_of",
    "whole_page",
    "write_csv",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'poscount.workflows' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PLACES[name]), name)
    globals()[name] = value
    return value
