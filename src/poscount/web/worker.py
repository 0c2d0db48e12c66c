"""What worker processes do: inspect files, make estimates, and what follows an estimate.

The library and what it needs are imported at the top, so that the process from which workers are
forked has it all. The server itself never imports this module.
"""

from __future__ import annotations

import os
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt  # noqa: F401 (imported here, so that no worker has to)
import pyarrow.csv
import pyarrow.parquet  # noqa: F401

from poscount import registry
from poscount.app.data_files import DataFiles
from poscount.app.fitting import fewest_positives, has_interval, is_reusable
from poscount.app.follow_ups import ListedRows, audit, compare, diagnose, settle, trend
from poscount.app.inspection import FileLimits, inspect_file, sheet_names
from poscount.errors import InputError
from poscount.example import example_path
from poscount.web import reproduction_code, schemas
from poscount.web.estimating import data_of, make_estimate
from poscount.web.refusals import RefusedError, refusal_of, remedy
from poscount.web.tasks import (
    AVAILABLE_METHODS,
    EXAMPLE,
    EstimateTask,
    FollowUpTask,
    InspectTask,
    LibraryTask,
    ReportStep,
    Task,
)

# No window, whatever the machine has.
matplotlib.use("agg")
_CLASSES = {name: registry.method(name) for name in AVAILABLE_METHODS}

# Of intervals by labels, for which the page says how many labels they need.
_WANTED_WIDTHS = (0.1, 0.05)
# Values that a check of the assumptions looks at: more would take long and tell little.
_MOST_VALUES = 5_000_000
_FEWEST_ROWS = 10_000


def run(task: Task, report_step: ReportStep) -> dict[str, Any]:
    """Do a task.

    Returns
    -------
    dict
        ``done`` with the result, ``refused`` with a refusal, or ``out_of_memory``.
    """
    try:
        return {"done": _do(task, report_step)}
    except MemoryError:
        return {"out_of_memory": True}
    except InputError as error:
        # The sheets from which one must be chosen, if that is what the error is about.
        choose = error.option == "sheet" and error.file is not None
        refusal = refusal_of(error, task.files, sheet_names(str(error.file)) if choose else ())
    except OSError as error:
        # Without the text of the error, which may hold a path.
        reason = os.strerror(error.errno) if error.errno else type(error).__name__
        refusal = RefusedError(422, f"The server has a problem with a file: {reason}.")
    except (ValueError, TypeError, ImportError) as error:
        refusal = RefusedError(422, str(error))
    except Exception as error:  # a mistake of ours must not look like one of theirs
        traceback.print_exc()
        refusal = RefusedError(
            422, f"Something went wrong that is not your fault ({error!r}); please report it."
        )
    return {"refused": refusal.to_dict()}


def _do(task: Task, report_step: ReportStep) -> Any:
    match task:
        case LibraryTask():
            return {
                "methods": [_about(name, kind) for name, kind in _CLASSES.items()],
                "example": {name: str(example_path(name)) for name in EXAMPLE},
            }
        case InspectTask():
            return _inspect(task, report_step)
        case EstimateTask():
            return make_estimate(task, report_step)
        case FollowUpTask():
            return _follow_up(task, report_step)
    raise AssertionError(f"there is no such task: {task!r}")


def _about(name: str, kind: Any) -> dict[str, Any]:
    parameters = kind().get_params(deep=False)
    of_page = ("scorer", "confidence", "recognisable", "tolerance")
    options = [option for option in of_page if option in parameters]
    if not has_interval(kind):
        options += ["confidence", "bootstrap"]
    return {
        "name": name,
        "title": kind.__name__,
        "summary": (kind.__doc__ or "").splitlines()[0].replace("`", ""),
        "reusable": is_reusable(kind),
        "fewest_positives": fewest_positives(name),
        "options": options,
    }


def _inspect(task: InspectTask, report_step: ReportStep) -> dict[str, Any]:
    file, limits = task.file, task.limits
    try:
        found = inspect_file(
            file.path,
            positives=file.role == "positives",
            limits=FileLimits(limits.rows, limits.columns, limits.unpacked_bytes, limits.groups),
            read_options=file.read_options,
            progress=lambda done, total: report_step("reading", done / total if total else None),
        )
    except UnicodeError as error:
        # Python has encodings that are not meant for files, such as idna, with errors of their own.
        sentence = f"it cannot be read with the encoding {file.read_options.encoding!r}."
        raise InputError(sentence, file=file.path, option="encoding") from error
    columns = [
        {name: vars(value) if isinstance(value, InputError) else value for name, value in about}
        for about in (column._asdict().items() for column in found.columns)
    ]
    return {"rows": found.rows, "columns": columns, "preview": found.preview}


def _follow_up(task: FollowUpTask, report_step: ReportStep) -> dict[str, Any]:
    model = registry.load(Path(task.estimate.directory) / schemas.Download.model)
    estimate = task.estimate
    match task.wanted:
        case schemas.DiagnosisRequest():
            return _check_assumptions(model, estimate, report_step)
        case schemas.TrendRequest() as wanted:
            report_step("counting the groups", None)
            baseline = wanted.baseline or None
            found = trend(
                model, data_of(estimate), wanted.by, baseline=baseline, smooth=wanted.smooth
            )
            return found.to_dict()
        case schemas.ComparisonRequest():
            return _compare(model, task, report_step)
        case schemas.AuditRequest() as wanted:
            return _chosen_rows(model, estimate, wanted.n, report_step).record()
        case schemas.SettlementRequest() as wanted:
            return _settle(model, estimate, wanted, report_step)


def _check_assumptions(
    model: Any, estimate: EstimateTask, report_step: ReportStep
) -> dict[str, Any]:
    """Check the assumptions of an estimate, and write the report."""
    report_step("checking the assumptions", None)
    diagnosis, n_used, n_rows = diagnose(
        model,
        data_of(estimate),
        positives=DataFiles([estimate.positives.path], estimate.positives_format),
        most_rows=max(_FEWEST_ROWS, _MOST_VALUES // len(model.feature_names_in_)),
    )
    diagnosis.to_html(Path(estimate.directory) / schemas.Download.diagnosis)
    rows = f"all {n_rows:,} unlabeled rows together"
    if n_used < n_rows:
        rows = f"{n_used:,} of the {n_rows:,} unlabeled rows, drawn at random"
    return {
        "rows": f"Rows checked: {rows}.",
        "findings": [
            {**finding.to_dict(), "figures": finding.figures} for finding in diagnosis.findings
        ],
        "skipped": [
            {
                "code": missing.code,
                "title": missing.title,
                "reason": f"{missing.reason} {remedy(missing.option)}".rstrip(),
            }
            for missing in diagnosis.skipped
        ],
        "command": reproduction_code.diagnose_command(estimate),
    }


def _compare(model: Any, task: FollowUpTask, report_step: ReportStep) -> dict[str, Any]:
    """Compare the files of an estimate with another sample."""
    estimate, reference = task.estimate, task.reference
    assert reference is not None
    report_step("counting both samples", None)
    other = DataFiles([reference.path], reference.read_options, n_jobs=1)
    found = compare(model, data_of(estimate), other)
    names = " and ".join(file.name for file in estimate.unlabeled), reference.name
    shares = [prevalence.to_dict() for prevalence in found.prevalences]
    return {
        "difference": found.difference,
        "interval": asdict(found.interval),
        "samples": [
            {
                "name": name,
                **{key: share[key] for key in ("prevalence", "interval", "n_unlabeled")},
            }
            for name, share in zip(names, shares, strict=True)
        ],
        "reading": found.reading,
        "sentence": str(found),
    }


def _chosen_rows(model: Any, estimate: EstimateTask, n: int, report_step: ReportStep) -> ListedRows:
    """Choose rows to be labelled by hand."""
    report_step("choosing rows to label", None)
    chosen = audit(model, data_of(estimate), n, random_state=0)
    return chosen.with_file_names({file.path: file.name for file in estimate.unlabeled})


def _settle(
    model: Any, estimate: EstimateTask, wanted: schemas.SettlementRequest, report_step: ReportStep
) -> dict[str, Any]:
    """Turn the labels of chosen rows into a prevalence."""
    chosen = _chosen_rows(model, estimate, wanted.n, report_step)
    report_step("reading the labels", None)
    labels = {row: "yes" if positive else "no" for row, positive in wanted.labels.items()}
    settled = settle(model, data_of(estimate), chosen.with_labels(labels))
    widths = {f"{width:g}": settled.labels_needed(width) for width in _WANTED_WIDTHS}
    return {**settled.to_dict(), "labels_needed": widths}
