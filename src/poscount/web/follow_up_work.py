"""What a worker does for an answer that is there: checks it, compares it, has rows labelled."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from poscount import registry
from poscount.app.data_files import DataFiles
from poscount.app.follow_ups import compare, diagnose, trend
from poscount.app.rows import ListedRows, audit, settle
from poscount.results.prevalence import Prevalence
from poscount.web import reproduction_code
from poscount.web.refusals import remedy
from poscount.web.schemas import Download
from poscount.web.tasks import (
    AuditTask,
    CompareTask,
    EstimateTask,
    FollowUp,
    ReportStep,
    SettleTask,
    TrendTask,
)

# Of intervals by labels, for which the page says how many labels they need.
_WANTED_WIDTHS = (0.1, 0.05)
# Values that a check of the assumptions looks at: more would take long and tell little.
_MOST_VALUES = 5_000_000
_FEWEST_ROWS = 10_000


def check_assumptions(task: EstimateTask, report_step: ReportStep) -> dict[str, Any]:
    """Check the assumptions of an estimate by its model file, and write the report."""
    folder = Path(task.directory)
    report_step("checking the assumptions", None)
    model = registry.load(folder / Download.model)
    diagnosis, n_used, n_rows = diagnose(
        model,
        DataFiles([file.path for file in task.unlabeled], task.read_options),
        positives=DataFiles([task.positives.path], task.positives_format),
        most_rows=max(_FEWEST_ROWS, _MOST_VALUES // len(model.feature_names_in_)),
    )
    diagnosis.to_html(folder / Download.diagnosis)
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
            for missing in diagnosis.skipped
        ],
        "command": reproduction_code.diagnose_command(task),
    }


def _model_and_files(task: FollowUp) -> tuple[Any, DataFiles]:
    model = registry.load(Path(task.estimate.directory) / Download.model)
    files = [file.path for file in task.estimate.unlabeled]
    return model, DataFiles(files, task.estimate.read_options, n_jobs=1)


def find_trend(task: TrendTask, report_step: ReportStep) -> dict[str, Any]:
    """Compare groups that follow each other in time."""
    report_step("counting the groups", None)
    model, files = _model_and_files(task)
    found = trend(
        model,
        files,
        task.by,
        baseline=task.baseline or None,
        smooth=task.smooth,
    )
    return found.to_dict()


def compare_with_reference(task: CompareTask, report_step: ReportStep) -> dict[str, Any]:
    """Compare the files of an estimate with another sample."""
    report_step("counting both samples", None)
    model, files = _model_and_files(task)
    reference = DataFiles([task.reference.path], task.reference_format, n_jobs=1)
    found = compare(model, files, reference)
    names = " and ".join(file.name for file in task.estimate.unlabeled), task.reference.name
    return {
        "difference": found.difference,
        "interval": asdict(found.interval),
        "samples": [
            {"name": name, **_share(p)} for name, p in zip(names, found.prevalences, strict=True)
        ],
        "reading": found.reading,
        "sentence": str(found),
    }


def _share(prevalence: Prevalence) -> dict[str, Any]:
    known = prevalence.to_dict()
    return {name: known[name] for name in ("prevalence", "interval", "n_unlabeled")}


def choose_rows(task: AuditTask, report_step: ReportStep) -> dict[str, Any]:
    """Choose rows to be labelled by hand."""
    return _audited(task, report_step).record()


def _audited(task: AuditTask, report_step: ReportStep) -> ListedRows:
    report_step("choosing rows to label", None)
    model, files = _model_and_files(task)
    chosen = audit(model, files, task.n, random_state=0)
    names = {file.path: file.name for file in task.estimate.unlabeled}
    return chosen.with_file_names(names)


def settle_labels(task: SettleTask, report_step: ReportStep) -> dict[str, Any]:
    """Turn the labels of chosen rows into a prevalence."""
    chosen = _audited(task, report_step)
    report_step("reading the labels", None)
    model, files = _model_and_files(task)
    labels = {row: "yes" if positive else "no" for row, positive in task.labels.items()}
    settled = settle(model, files, chosen.with_labels(labels))
    widths = {f"{width:g}": settled.labels_needed(width) for width in _WANTED_WIDTHS}
    return {**settled.to_dict(), "labels_needed": widths}
