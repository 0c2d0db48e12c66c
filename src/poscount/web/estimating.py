"""What a worker does for an estimate: fits, counts, and writes the files of the answer."""

from __future__ import annotations

import csv
import io
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from poscount.app.data_files import DataFiles, ProgressFactory
from poscount.app.estimates import quantify
from poscount.app.fitting import Fitted, fit, is_reusable
from poscount.app.labelled_rows import take_apart
from poscount.app.results import Result, write_csv
from poscount.errors import InputError
from poscount.example import example_path
from poscount.storage.writer import write_whole
from poscount.web.answers import build_answer
from poscount.web.schemas import Download
from poscount.web.tasks import EstimateTask, ReportStep


class Parts(NamedTuple):
    """The rows of an estimate by what is known of them; with several targets, those of each."""

    positives: Sequence[DataFiles]
    negatives: Sequence[DataFiles]
    sample: DataFiles
    targets: list[str] | None = None


def parts_of(task: EstimateTask) -> Parts:
    """Where the rows of an estimate are, to be read in one thread: other jobs have the others."""
    data = DataFiles(task.paths, task.read_options, n_jobs=1)
    wanted = task.wanted
    if wanted.label is not None:
        found = take_apart(data, wanted.label, wanted.positive or None, wanted.negative or None)
        return Parts(found.positives, found.negatives, found.unlabeled, found.targets)
    positives = DataFiles([task.positives.path], task.positives_format)
    negatives = [DataFiles([file.path], file.read_options) for file in task.negatives]
    return Parts([positives], negatives, data)


def make_estimate(task: EstimateTask, report_step: ReportStep) -> dict[str, Any]:
    """Fit the method, estimate all groups, and write the answer into the folder of the task."""
    report_step(f"learning from {task.positives.name}", None)
    parts = parts_of(task)
    fitted = _fitted(task, parts, report_step)
    if not is_reusable(fitted.model):
        report_step(f"looking at {_spoken(task)}", None)
    results = _results(task, fitted, parts.sample, report_step)
    if sum(not result.is_total for result in results) > task.most_groups:
        raise InputError(f"There are {len(results):,} groups, too many to show.", option="by")
    report_step("writing the result", None)
    return _write(task, fitted, results)


def _fitted(task: EstimateTask, parts: Parts, report_step: ReportStep) -> Fitted:
    progress = _progress([f"learning from {_spoken(task)}"], report_step)
    return fit(
        parts.positives,
        task.method,
        options=task.options,
        targets=parts.targets,
        target_column=task.wanted.target_column,
        negatives=parts.negatives,
        features=task.wanted.features,
        sample=replace(parts.sample, progress=progress),
        by=task.by,
    )


def _results(
    task: EstimateTask, fitted: Fitted, sample: DataFiles, report_step: ReportStep
) -> list[Result]:
    """The result of every group."""
    by_file = task.wanted.by_file
    counted = [file.name for file in task.unlabeled] if by_file else [_spoken(task)]
    data = replace(
        sample, progress=_progress([f"counting {name}" for name in counted], report_step)
    )
    drop = task.wanted.drop_known
    results = quantify(fitted.model, data, by=task.by, by_file=by_file, drop_positives=drop)
    if by_file:
        names = {file.path: file.name for file in task.unlabeled}
        results = [
            result
            if result.is_total
            else result._replace(group={**result.group, "file": names[result.group["file"]]})
            for result in results
        ]
    return results


def _spoken(task: EstimateTask) -> str:
    n = len(task.unlabeled)
    return task.unlabeled[0].name if n == 1 else f"{n} files"


def _progress(steps: Sequence[str], report_step: ReportStep) -> ProgressFactory:
    """Tell how far the reading is: of one file after the other, or of all together."""
    numbers = itertools.count()

    @contextmanager
    def progress(title: str) -> Iterator[Callable[[int, int], None]]:
        number = next(numbers)
        step = steps[number]
        report_step(step, number / len(steps))
        yield lambda done, total: report_step(step, (number + done / total) / len(steps))

    return progress


def _write(task: EstimateTask, fitted: Fitted, results: Sequence[Result]) -> dict[str, Any]:
    """Write the files of the answer; the answer as it is in the file of JSON."""
    folder, model = Path(task.directory), fitted.model
    truth = _truth(results) if task.example else None
    # People open a download in a spreadsheet; the command line writes the exact values.
    table = io.StringIO(newline="")
    write_csv([result.line(for_spreadsheet=True) for result in results], table)
    write_whole(folder / Download.csv, table.getvalue().encode())
    no_model = None
    try:
        model.save(folder / Download.model)
    except ImportError as error:
        no_model = str(error)
    answer = build_answer(task, fitted, results, truth=truth, no_model=no_model)
    write_whole(folder / Download.json, json.dumps(answer, indent=1).encode())
    return answer


def _truth(results: Sequence[Result]) -> list[float] | None:
    """Look up the true shares of the example, which is simulated."""
    with open(example_path("truth.csv"), newline="") as file:
        shares = {
            row["night"]: int(row["positives"]) / int(row["rows"]) for row in csv.DictReader(file)
        }
    nights = [result.group.get("night") for result in results if not result.is_total]
    return [shares[night] for night in nights] if set(nights) <= set(shares) else None
