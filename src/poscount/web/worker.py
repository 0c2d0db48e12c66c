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

import pyarrow.csv
import pyarrow.parquet  # noqa: F401

from poscount import registry
from poscount.app.data_files import DataFiles
from poscount.app.estimates import scores_behind
from poscount.app.follow_ups import (
    ListedRows,
    audit,
    compare,
    diagnose,
    other_methods,
    settle,
)
from poscount.app.inspection import FileLimits, Sketch, first_rows, inspect_file, sheet_names
from poscount.errors import InputError
from poscount.example import example_path
from poscount.files.guessed_options import GuessedOptions, GuessNote
from poscount.web import schemas
from poscount.web.column_match import check_estimate, match_columns
from poscount.web.estimating import Parts, make_estimate, parts_of
from poscount.web.refusals import RefusedError, refusal_of
from poscount.web.tasks import (
    AVAILABLE_METHODS,
    EXAMPLES,
    CheckTask,
    EstimateTask,
    FollowUpTask,
    InspectTask,
    LibraryTask,
    MatchTask,
    ReportStep,
    Task,
)

# So that no worker has to import them.
_CLASSES = [registry.method(name) for name in AVAILABLE_METHODS]

# Of intervals by labels, for which the page says how many labels they need.
_WANTED_WIDTHS = (0.1, 0.08, 0.05)
# Values that a check of the assumptions looks at: more would take long and tell little.
_MOST_VALUES = 5_000_000
_FEWEST_ROWS = 10_000
# Rows in the picture of scores.
_MOST_SCORED = 20_000


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
    except RefusedError as error:
        refusal = error
    except InputError as error:
        # The sheets from which one must be chosen, if that is what the error is about.
        choose = error.option == "sheet" and error.file is not None
        refusal = refusal_of(error, task.files, sheet_names(str(error.file)) if choose else ())
        if isinstance(task, InspectTask):
            refusal.top = first_rows(task.file.path, task.file.read_options)
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
            return {"example": {name: str(example_path(name)) for name in EXAMPLES["insects"]}}
        case InspectTask():
            return _inspect(task, report_step)
        case MatchTask():
            return _match(task)
        case CheckTask():
            return check_estimate(task)
        case EstimateTask():
            return make_estimate(task, report_step)
        case FollowUpTask():
            return _follow_up(task, report_step)
    raise AssertionError(f"there is no such task: {task!r}")


def _inspect(task: InspectTask, report_step: ReportStep) -> dict[str, Any]:
    file, limits = task.file, task.limits
    notes: list[GuessNote] = []
    try:
        guesses = GuessedOptions(file.read_options, task.said, notes.append)
        for other in task.others:
            guesses.of([other.path])
        notes.clear()
        read_options = guesses.of([file.path])
        found = inspect_file(
            file.path,
            positives=file.role in ("positives", "negatives", "table"),
            limits=FileLimits(limits.rows, limits.columns, limits.unpacked_bytes, limits.groups),
            read_options=read_options,
            progress=lambda done, total: report_step("reading", done / total if total else None),
            label=file.settings.get("label", "") if file.role == "table" else "",
        )
    except UnicodeError as error:
        # Python has encodings that are not meant for files, such as idna, with errors of their own.
        sentence = f"it cannot be read with the encoding {file.read_options.encoding!r}."
        raise InputError(sentence, file=file.path, option="encoding") from error
    columns = [
        {name: vars(value) if isinstance(value, InputError) else value for name, value in about}
        for about in (column._asdict().items() for column in found.columns)
    ]
    described = {
        "columns": columns,
        "preview": found.preview,
        "top": first_rows(file.path, read_options),
        "sketches": _plain(found.sketches),
        "by_label": [(value, _plain(sketches)) for value, sketches in found.by_label],
    }
    Path(file.description).write_bytes(schemas.as_json(described))
    return {
        "rows": found.rows,
        "reading": " ".join(_shortly(note, file.path) for note in notes),
        "read_options": read_options._asdict(),
    }


def _plain(sketches: dict[str, Sketch]) -> dict[str, Any]:
    return {name: sketch._asdict() for name, sketch in sketches.items()}


def _match(task: MatchTask) -> None:
    files = [
        schemas.FileInfo.model_validate(
            {
                **vars(file),
                **file.described,
                "columns": [column.name for column in file.columns],
                "header_row": file.read_options.header_row,
            }
        ).model_dump()
        for file in task.uploads
    ]
    found = match_columns(task.positives, task.unlabeled, task.most_groups)
    columns = [column.model_dump() for column in found]
    Path(task.path).write_bytes(schemas.as_json({"files": files, "columns": columns}))


def _shortly(note: GuessNote, path: str) -> str:
    """What was guessed, without the name of the file, beside which it stands."""
    sentence = note.message.removeprefix(f"{path}: ")
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _follow_up(task: FollowUpTask, report_step: ReportStep) -> dict[str, Any]:
    model = registry.load(Path(task.estimate.directory) / schemas.Download.model)
    parts = parts_of(task.estimate)
    match task.wanted:
        case schemas.DiagnosisRequest():
            return _check_assumptions(model, parts, report_step)
        case schemas.ComparisonRequest():
            return _compare(model, task, parts, report_step)
        case schemas.AuditRequest() as wanted:
            return _chosen_rows(model, task.estimate, parts, wanted.n, report_step).record()
        case schemas.SettlementRequest() as wanted:
            return _settle(model, task.estimate, parts, wanted, report_step)


def _check_assumptions(model: Any, parts: Parts, report_step: ReportStep) -> dict[str, Any]:
    """Check the assumptions of an estimate, and score its rows for a picture."""
    report_step("checking the assumptions", None)
    positives = parts.positives[0] if len(parts.positives) == 1 else None
    found = diagnose(
        model,
        parts.sample,
        positives=positives,
        most_rows=max(_FEWEST_ROWS, _MOST_VALUES // len(model.feature_names_in_)),
    )
    scores = None
    if positives is not None:
        table = positives.rows().table
        scores = scores_behind(model, table, parts.sample, most_rows=_MOST_SCORED)
    n_used = found.sample.num_rows
    rows = f"all {found.n_rows:,} rows to be counted, together"
    if n_used < found.n_rows:
        rows = f"{n_used:,} of the {found.n_rows:,} rows to be counted, drawn at random"
    return {
        "rows": f"Rows checked: {rows}.",
        "scores": None if scores is None else scores._asdict(),
        "methods": other_methods(model, found),
        "findings": [asdict(warning) for warning in found.diagnosis.warnings],
    }


def _compare(
    model: Any, task: FollowUpTask, parts: Parts, report_step: ReportStep
) -> dict[str, Any]:
    """Compare the files of an estimate with another sample."""
    estimate, reference = task.estimate, task.reference
    assert reference is not None
    report_step("counting both samples", None)
    other = DataFiles([reference.path], reference.read_options, n_jobs=1)
    found = compare(model, parts.sample, other)
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


def _chosen_rows(
    model: Any, estimate: EstimateTask, parts: Parts, n: int, report_step: ReportStep
) -> ListedRows:
    """Choose rows to be labelled by hand."""
    report_step("choosing rows to label", None)
    chosen = audit(model, parts.sample, n, random_state=0)
    return chosen.with_file_names({file.path: file.name for file in estimate.unlabeled})


def _settle(
    model: Any,
    estimate: EstimateTask,
    parts: Parts,
    wanted: schemas.SettlementRequest,
    report_step: ReportStep,
) -> dict[str, Any]:
    """Turn the labels of chosen rows into a prevalence."""
    chosen = _chosen_rows(model, estimate, parts, wanted.n, report_step)
    report_step("reading the labels", None)
    labels = {row: "yes" if positive else "no" for row, positive in wanted.labels.items()}
    settled = settle(model, parts.sample, chosen.with_labels(labels))
    widths = {f"{width:g}": settled.labels_needed(width) for width in _WANTED_WIDTHS}
    return {**settled.to_dict(), "labels_needed": widths}
