"""What worker processes do: inspect files, make estimates, check assumptions.

The library and what it needs are imported at the top, so that the process from which workers are
forked has it all. The server itself never imports this module.
"""

from __future__ import annotations

import os
import shutil
import traceback
from typing import Any

import matplotlib
import matplotlib.pyplot as plt  # noqa: F401 (imported here, so that no worker has to)
import pyarrow.csv
import pyarrow.parquet  # noqa: F401

from poscount import registry
from poscount.app.fitting import fewest_positives, is_reusable
from poscount.app.inspection import FileLimits, inspect_file, sheet_names
from poscount.datasets import example_path
from poscount.errors import InputError
from poscount.web.estimate_work import make_estimate
from poscount.web.follow_up_work import (
    check_assumptions,
    choose_rows,
    compare_with_reference,
    find_trend,
    settle_labels,
)
from poscount.web.tasks import (
    AVAILABLE_METHODS,
    AuditTask,
    CompareTask,
    DiagnoseTask,
    EstimateTask,
    InspectTask,
    MethodsTask,
    ReportStep,
    SettleTask,
    Task,
    TrendTask,
)

# No window, whatever the machine has.
matplotlib.use("agg")
_CLASSES = {name: registry.method(name) for name in AVAILABLE_METHODS}

_OPTIONS = ("scorer", "confidence", "bootstrap")


def run(task: Task, report_step: ReportStep) -> dict[str, Any]:
    """Do a task.

    Returns
    -------
    dict
        ``done`` with the outcome, ``failed`` with the parameters of an `InputError`, or
        ``out_of_memory``.
    """
    try:
        return {"done": _do(task, report_step)}
    except MemoryError:
        return {"out_of_memory": True}
    except InputError as error:
        return {"failed": vars(error) | _choices(error)}
    except OSError as error:
        # Without the text of the error, which may hold a path.
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        return {"failed": {"message": f"The server has a problem with a file: {reason}."}}
    except (ValueError, TypeError, ImportError) as error:
        return {"failed": {"message": str(error)}}
    except Exception as error:  # a mistake of ours must not look like one of theirs
        traceback.print_exc()
        sentence = f"Something went wrong that is not your fault ({error!r}); please report it."
        return {"failed": {"message": sentence}}


def _do(task: Task, report_step: ReportStep) -> Any:
    match task:
        case MethodsTask():
            return [_about(name, kind) for name, kind in _CLASSES.items()]
        case InspectTask():
            return _inspect(task, report_step)
        case EstimateTask():
            return make_estimate(task, report_step)
        case DiagnoseTask():
            return check_assumptions(task.estimate, report_step)
        case TrendTask():
            return find_trend(task, report_step)
        case CompareTask():
            return compare_with_reference(task, report_step)
        case SettleTask():
            return settle_labels(task, report_step)
        case AuditTask():
            return choose_rows(task, report_step)
    raise AssertionError(f"there is no such task: {task!r}")


def _choices(error: InputError) -> dict[str, list[str]]:
    """The sheets from which one must be chosen, if that is what an error is about."""
    if error.option != "sheet" or error.file is None:
        return {}
    return {"choices": sheet_names(error.file)}


def _about(name: str, kind: Any) -> dict[str, Any]:
    parameters = kind().get_params(deep=False)
    return {
        "name": name,
        "title": kind.__name__,
        "summary": (kind.__doc__ or "").splitlines()[0].replace("`", ""),
        "reusable": is_reusable(kind),
        "fewest_positives": fewest_positives(name),
        "options": [option for option in _OPTIONS if option in parameters],
    }


def _inspect(task: InspectTask, report_step: ReportStep) -> dict[str, Any]:
    path, limits = task.file.path, task.limits
    if task.example:
        shutil.copyfile(example_path(task.example), path)
    try:
        found = inspect_file(
            path,
            positives=task.file.role == "positives",
            limits=FileLimits(limits.rows, limits.columns, limits.unpacked_bytes, limits.groups),
            read_options=task.read_options,
            progress=lambda done, total: report_step("reading", done / total if total else None),
        )
    except UnicodeError as error:
        # Python has encodings that are not meant for files, such as idna, with errors of their own.
        sentence = f"it cannot be read with the encoding {task.read_options.encoding!r}."
        raise InputError(sentence, file=path, option="encoding") from error
    columns = [
        {
            **column._asdict(),
            "problem": vars(column.problem) if column.problem else None,
            "periods": dict(column.periods),
            "no_periods": vars(column.no_periods) if column.no_periods else None,
        }
        for column in found.columns
    ]
    return {"rows": found.rows, "columns": columns, "preview": found.preview}
