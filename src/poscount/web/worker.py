"""What worker processes do: inspect files, make estimates, check assumptions.

The library and what it needs are imported at the top, so that the process from which workers are
forked has it all. The server itself never imports this module.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import os
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt  # noqa: F401 (imported here, so that no worker has to)
import pyarrow.csv
import pyarrow.parquet  # noqa: F401

from poscount import registry
from poscount.datasets import example_path
from poscount.errors import InputError
from poscount.web import reproduction_code
from poscount.web.answers import answer_of
from poscount.web.refusals import remedy
from poscount.web.report import write_report
from poscount.web.schemas import UsedFile
from poscount.web.tasks import (
    AVAILABLE_METHODS,
    AuditTask,
    DiagnoseTask,
    EstimateTask,
    FollowUp,
    InspectTask,
    MethodsTask,
    SettleTask,
    Task,
    TrendTask,
)
from poscount.workflows import (
    FileLimits,
    ListedRows,
    OnProgress,
    Result,
    ScorePicture,
    Watch,
    audit,
    diagnose,
    draw,
    fewest_positives,
    fit,
    fit_targets,
    inspect_file,
    is_reusable,
    quantify,
    score_picture,
    settle,
    sheet_names,
    trend,
    write_csv,
)

# Told what is being done and, if that is known, which part of it is done.
ReportStep = Callable[[str, float | None], None]

# No window, whatever the machine has.
matplotlib.use("agg")
_CLASSES = {name: registry.method(name) for name in AVAILABLE_METHODS}

_OPTIONS = ("scorer", "confidence", "bootstrap")
_MOST_DRAWN = 300
# Of intervals by labels, for which the page says how many labels they need.
_WANTED_WIDTHS = (0.1, 0.05)
# Rows in the picture of scores.
_MOST_SCORED = 20_000
_DPI = 110
# Values that a check of the assumptions looks at: more would take long and tell little.
_MOST_VALUES = 5_000_000
_FEWEST_ROWS = 10_000
# So many replicates are made without asking how long they take, and so many to find out.
_FEW_REPLICATES = 20
_TRIED = 4


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
            return _inspect(task)
        case EstimateTask():
            return _estimate(task, report_step)
        case DiagnoseTask():
            return _diagnose(task.estimate, report_step)
        case TrendTask():
            return _trend(task, report_step)
        case SettleTask():
            return _settle(task, report_step)
        case AuditTask():
            return _audited(task, report_step).record()
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


def _inspect(task: InspectTask) -> dict[str, Any]:
    path, limits = task.file.path, task.limits
    if task.example:
        shutil.copyfile(example_path(task.example), path)
    try:
        found = inspect_file(
            path,
            positives=task.file.role == "positives",
            limits=FileLimits(limits.rows, limits.columns, limits.unpacked_bytes, limits.groups),
            csv_format=task.csv_format,
        )
    except UnicodeError as error:
        # Python has encodings that are not meant for files, such as idna, with errors of their own.
        sentence = f"it cannot be read with the encoding {task.csv_format.encoding!r}."
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


# Estimates


def _estimate(task: EstimateTask, report_step: ReportStep) -> None:
    report_step(f"learning from {task.positives.name}", None)
    model = _fitted(task)
    _check_replicates(task, model, report_step)
    if not is_reusable(model):
        report_step(f"looking at {_files(task)} of unlabeled rows", None)
    results = quantify(
        model,
        [file.path for file in task.unlabeled],
        by=task.by,
        by_file=task.by_file,
        # The other cores are for others, and every thread would take up memory.
        n_jobs=1,
        csv_format=task.csv_format,
        watch=_watch(task, report_step),
    )
    if len(results) > task.most_groups:
        raise InputError(f"There are {len(results):,} groups, too many to show.", option="by")
    report_step("writing the result", None)
    _write(task, model, _under_sent_names(task, results))


def _check_replicates(task: EstimateTask, model: Any, report_step: ReportStep) -> None:
    """Refuse replicates that would take too long, after a few of them and not after all the time.

    A replicate is made from half of the rows, so that the estimate itself and `_TRIED` replicates
    take as long as `_TRIED / 2 + 1` estimates, or `_TRIED + 2` replicates.
    """
    replicates = task.options["bootstrap"]
    if replicates is None or replicates <= _FEW_REPLICATES:
        return
    report_step("finding out how long the replicates take", None)

    def seconds(tried: int | None) -> float:
        model.set_params(bootstrap=tried)
        began = time.perf_counter()
        quantify(
            model,
            [file.path for file in task.unlabeled],
            by=task.by,
            by_file=task.by_file,
            n_jobs=1,
            csv_format=task.csv_format,
        )
        return time.perf_counter() - began

    seconds(None)  # the first time something may have to be compiled
    each = seconds(_TRIED) / (_TRIED + 2)
    model.set_params(bootstrap=replicates)
    if replicates * each > task.seconds:
        most = int(task.seconds / each)
        raise InputError(
            f"{replicates} replicates would take about {_spoken(replicates * each)}, longer than "
            f"the {_spoken(task.seconds)} that the server allows.",
            option="bootstrap",
            value=most,
            leave_out=most < 2,
        )


def _spoken(seconds: float) -> str:
    """Write a time for people.

    Examples
    --------
    >>> _spoken(45), _spoken(300), _spoken(5400)
    ('45 s', '5 minutes', '90 minutes')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _fitted(task: EstimateTask) -> Any:
    features = None if task.features is None else list(task.features)
    reading: dict[str, Any] = {"features": features, "csv_format": task.positives_format}
    if task.target_column is None:
        return fit(task.positives.path, task.method, options=task.options, **reading)
    if task.method != registry.DEFAULT_METHOD:
        raise InputError(
            "Several targets are counted by RCQ's regions: choose RCQ.", option="method"
        )
    options = {name: task.options[name] for name in ("confidence", "random_state")}
    return fit_targets(
        [task.positives.path], target_column=task.target_column, options=options, **reading
    )


def _files(task: EstimateTask) -> str:
    n = len(task.unlabeled)
    return task.unlabeled[0].name if n == 1 else f"{n} files"


def _watch(task: EstimateTask, report_step: ReportStep) -> Watch:
    """Tell how far the counting is: of one file after the other, or of all together."""
    parts = [file.name for file in task.unlabeled] if task.by_file else [_files(task)]
    numbers = itertools.count()

    @contextmanager
    def watch(title: str) -> Iterator[OnProgress]:
        number = next(numbers)
        step = f"counting {parts[number]}"
        report_step(step, number / len(parts))
        yield lambda done, total: report_step(step, (number + done / total) / len(parts))

    return watch


def _under_sent_names(task: EstimateTask, results: Sequence[Result]) -> list[Result]:
    if not task.by_file:
        return list(results)
    names = {file.path: file.name for file in task.unlabeled}
    return [
        result._replace(group={**result.group, "file": names[result.group["file"]]})
        for result in results
    ]


def _write(task: EstimateTask, model: Any, results: Sequence[Result]) -> None:
    folder = Path(task.directory)
    truth = _truth(results) if task.example else None
    drawn = len(results) <= _MOST_DRAWN
    if drawn:
        paths = folder / "prevalence.svg", folder / "prevalence.png"
        draw(results, *paths, truth=truth, dpi=_DPI)
    with open(folder / "result.csv", "w", newline="", encoding="utf-8") as file:
        # People open a download in a spreadsheet; the command line writes the exact values.
        write_csv(results, file, for_spreadsheet=True)
    no_model = None
    try:
        model.save(folder / "model.poscount")
    except ImportError as error:
        no_model = str(error)
    answer = answer_of(
        task,
        model,
        results,
        truth=truth,
        scores=_scores(task, model, results) if len(results) == 1 else None,
        files=[UsedFile(name=f.name, role=f.role, sha256=_sha256(f.path)) for f in task.files],
        drawn=drawn,
        no_model=no_model,
    )
    text = json.dumps(answer.model_dump(), indent=1)
    (folder / "result.json").write_text(text, encoding="utf-8")
    write_report(folder)


def _scores(task: EstimateTask, model: Any, results: Sequence[Result]) -> ScorePicture | None:
    return score_picture(
        model,
        results[0].prevalence,
        task.positives.path,
        [file.path for file in task.unlabeled],
        most_rows=_MOST_SCORED,
        csv_format=task.csv_format,
        positives_format=task.positives_format,
    )


def _sha256(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _truth(results: Sequence[Result]) -> list[float] | None:
    """Look up the true shares of the example, which is simulated."""
    with open(example_path("truth.csv"), newline="") as file:
        shares = {
            row["night"]: int(row["positives"]) / int(row["rows"]) for row in csv.DictReader(file)
        }
    nights = [result.group.get("night") for result in results]
    return [shares[night] for night in nights] if set(nights) <= set(shares) else None


# The check of the assumptions


def _diagnose(task: EstimateTask, report_step: ReportStep) -> dict[str, Any]:
    """Check the assumptions of an estimate by its model file, and write the report."""
    folder = Path(task.directory)
    report_step("reading the rows again", None)
    model = registry.load(folder / "model.poscount")
    diagnosis, n_used, n_rows = diagnose(
        model,
        [file.path for file in task.unlabeled],
        positives=task.positives.path,
        positives_format=task.positives_format,
        most_rows=max(_FEWEST_ROWS, _MOST_VALUES // len(model.feature_names_in_)),
        csv_format=task.csv_format,
        on_read=lambda: report_step("checking the assumptions", None),
    )
    diagnosis.to_html(folder / "diagnosis.html")
    rows = f"all {n_rows:,} unlabeled rows together"
    if n_used < n_rows:
        rows = f"{n_used:,} of the {n_rows:,} unlabeled rows, drawn at random"
    return {
        "rows": f"Rows checked: {rows}.",
        "findings": [
            {**finding.to_dict(), "figures": finding.figures} for finding in diagnosis.findings
        ],
        "unchecked": [
            {
                "code": missing.code,
                "title": missing.title,
                "reason": f"{missing.reason} {remedy(missing.option)}".rstrip(),
            }
            for missing in diagnosis.unchecked
        ],
        "command": reproduction_code.diagnose_command(task),
    }


# Further work on an estimate


def _model_and_files(task: FollowUp) -> tuple[Any, list[str]]:
    model = registry.load(Path(task.estimate.directory) / "model.poscount")
    return model, [file.path for file in task.estimate.unlabeled]


def _trend(task: TrendTask, report_step: ReportStep) -> dict[str, Any]:
    report_step("counting the groups", None)
    model, files = _model_and_files(task)
    found = trend(
        model,
        files,
        task.by,
        baseline=task.baseline or None,
        smooth=task.smooth,
        csv_format=task.estimate.csv_format,
    )
    return found.to_dict()


def _audited(task: AuditTask, report_step: ReportStep) -> ListedRows:
    report_step("choosing rows to label", None)
    model, files = _model_and_files(task)
    chosen = audit(model, files, task.n, random_state=0, csv_format=task.estimate.csv_format)
    names = {file.path: file.name for file in task.estimate.unlabeled}
    return chosen.with_file_names(names)


def _settle(task: SettleTask, report_step: ReportStep) -> dict[str, Any]:
    chosen = _audited(task, report_step)
    report_step("reading the labels", None)
    model, files = _model_and_files(task)
    labels = {row: "yes" if positive else "no" for row, positive in task.labels.items()}
    settled = settle(model, files, chosen.with_labels(labels), csv_format=task.estimate.csv_format)
    widths = {f"{width:g}": settled.labels_needed(width) for width in _WANTED_WIDTHS}
    return {**settled.to_dict(), "labels_needed": widths}
