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
    "ListedRows": "poscount.workflows.audits",
    "OnProgress": "poscount.files.arrow",
    "RESERVED": "poscount.workflows.results",
    "Result": "poscount.workflows.results",
    "ScorePicture": "poscount.workflows.scores",
    "Watch": "poscount.workflows.estimates",
    "WatchedWindow": "poscount.workflows.change",
    "append_text": "poscount.storage.writer",
    "audit": "poscount.workflows.audits",
    "check_output": "poscount.workflows.outputs",
    "check_picture": "poscount.workflows.outputs",
    "check_result": "poscount.workflows.outputs",
    "compare": "poscount.workflows.change",
    "count": "poscount.workflows.estimates",
    "csv_writer": "poscount.storage.writer",
    "describe_columns": "poscount.workflows.columns",
    "describe_targets": "poscount.workflows.columns",
    "diagnose": "poscount.workflows.diagnosis",
    "draw": "poscount.workflows.results",
    "draw_trend": "poscount.workflows.results",
    "fewest_positives": "poscount.workflows.estimates",
    "fit": "poscount.workflows.estimates",
    "fit_targets": "poscount.workflows.targets",
    "inspect_file": "poscount.workflows.inspection",
    "is_reusable": "poscount.workflows.estimates",
    "is_standard_output": "poscount.storage.writer",
    "likely_positives": "poscount.workflows.audits",
    "merge": "poscount.workflows.estimates",
    "picture_element": "poscount.plotting.page",
    "quantify": "poscount.workflows.estimates",
    "quantify_with_scores": "poscount.workflows.scores",
    "settle": "poscount.workflows.audits",
    "sheet_names": "poscount.workflows.inspection",
    "trend": "poscount.workflows.change",
    "warnings_of": "poscount.workflows.results",
    "watch_stream": "poscount.workflows.change",
    "where_warned": "poscount.workflows.results",
    "whole_page": "poscount.plotting.page",
    "write_csv": "poscount.workflows.results",
    "write_rows": "poscount.workflows.audits",
    "write_whole": "poscount.storage.writer",
}

if TYPE_CHECKING:
    from poscount.files.arrow import OnProgress
    from poscount.files.csv_format import CsvFormat
    from poscount.plotting.page import picture_element, whole_page
    from poscount.storage.writer import (
        append_text,
        csv_writer,
        is_standard_output,
        write_whole,
    )
    from poscount.workflows.audits import ListedRows, audit, likely_positives, settle, write_rows
    from poscount.workflows.change import WatchedWindow, compare, trend, watch_stream
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
    from poscount.workflows.outputs import check_output, check_picture, check_result
    from poscount.workflows.results import (
        RESERVED,
        Result,
        draw,
        draw_trend,
        warnings_of,
        where_warned,
        write_csv,
    )
    from poscount.workflows.scores import ScorePicture, quantify_with_scores
    from poscount.workflows.targets import fit_targets

__all__ = [
    "RESERVED",
    "CsvFormat",
    "FileLimits",
    "FilesDiagnosis",
    "ListedRows",
    "OnProgress",
    "Result",
    "ScorePicture",
    "Watch",
    "WatchedWindow",
    "append_text",
    "audit",
    "check_output",
    "check_picture",
    "check_result",
    "compare",
    "count",
    "csv_writer",
    "describe_columns",
    "describe_targets",
    "diagnose",
    "draw",
    "draw_trend",
    "fewest_positives",
    "fit",
    "fit_targets",
    "inspect_file",
    "is_reusable",
    "is_standard_output",
    "likely_positives",
    "merge",
    "picture_element",
    "quantify",
    "quantify_with_scores",
    "settle",
    "sheet_names",
    "trend",
    "warnings_of",
    "watch_stream",
    "where_warned",
    "whole_page",
    "write_csv",
    "write_rows",
    "write_whole",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'poscount.workflows' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PLACES[name]), name)
    globals()[name] = value
    return value
