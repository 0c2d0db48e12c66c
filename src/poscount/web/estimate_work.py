"""What a worker does for an estimate: fits, counts, and writes the files of the answer."""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from poscount.app.data_files import DataFiles, ProgressFactory
from poscount.app.estimates import ScorePicture, quantify, quantify_with_scores
from poscount.app.fitting import fit, is_reusable
from poscount.app.results import Result, draw, write_csv
from poscount.datasets import example_path
from poscount.errors import InputError
from poscount.files.arrow import OnProgress
from poscount.storage.writer import replacing, write_whole
from poscount.web.answers import answer_of
from poscount.web.report import write_report
from poscount.web.schemas import Download, UsedFile
from poscount.web.tasks import EstimateTask, ReportStep

_MOST_DRAWN = 300
# Rows in the picture of scores.
_MOST_SCORED = 20_000
_DPI = 110
# So many replicates are made without asking how long they take, and so many to find out.
_FEW_REPLICATES = 20
_TRIED = 4


def make_estimate(task: EstimateTask, report_step: ReportStep) -> None:
    """Fit the method, estimate all groups, and write the answer into the folder of the task."""
    report_step(f"learning from {task.positives.name}", None)
    model, positives = _fitted(task)
    _check_replicates(task, model, report_step)
    if not is_reusable(model):
        report_step(f"looking at {_files(task)} of unlabeled rows", None)
    results, scores = _results(task, model, positives, report_step)
    if len(results) > task.most_groups:
        raise InputError(f"There are {len(results):,} groups, too many to show.", option="by")
    report_step("writing the result", None)
    _write(task, model, _under_sent_names(task, results), scores)


def _results(
    task: EstimateTask, model: Any, positives: Any, report_step: ReportStep
) -> tuple[list[Result], ScorePicture | None]:
    """The result of every group; of a single answer also the scores, from the same reading."""
    # The other cores are for others, and every thread would take up memory.
    data = DataFiles(
        [file.path for file in task.unlabeled],
        task.read_options,
        n_jobs=1,
        progress=_progress(task, report_step),
    )
    if not task.by and not task.by_file:
        return quantify_with_scores(model, positives, data, most_rows=_MOST_SCORED)
    return quantify(model, data, by=task.by, by_file=task.by_file), None


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
        model.set_params(n_resamples=tried)
        began = time.perf_counter()
        data = DataFiles([file.path for file in task.unlabeled], task.read_options, n_jobs=1)
        quantify(model, data, by=task.by, by_file=task.by_file)
        return time.perf_counter() - began

    seconds(None)  # the first time something may have to be compiled
    each = seconds(_TRIED) / (_TRIED + 2)
    model.set_params(n_resamples=replicates)
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


def _fitted(task: EstimateTask) -> tuple[Any, Any]:
    model, positives, _ = fit(
        [DataFiles([task.positives.path], task.positives_format)],
        task.method,
        options={"n_resamples" if k == "bootstrap" else k: v for k, v in task.options.items()},
        target_column=task.target_column,
        features=None if task.features is None else list(task.features),
    )
    return model, positives


def _files(task: EstimateTask) -> str:
    n = len(task.unlabeled)
    return task.unlabeled[0].name if n == 1 else f"{n} files"


def _progress(task: EstimateTask, report_step: ReportStep) -> ProgressFactory:
    """Tell how far the counting is: of one file after the other, or of all together."""
    parts = [file.name for file in task.unlabeled] if task.by_file else [_files(task)]
    numbers = itertools.count()

    @contextmanager
    def progress(title: str) -> Iterator[OnProgress]:
        number = next(numbers)
        step = f"counting {parts[number]}"
        report_step(step, number / len(parts))
        yield lambda done, total: report_step(step, (number + done / total) / len(parts))

    return progress


def _under_sent_names(task: EstimateTask, results: Sequence[Result]) -> list[Result]:
    if not task.by_file:
        return list(results)
    names = {file.path: file.name for file in task.unlabeled}
    return [
        result._replace(group={**result.group, "file": names[result.group["file"]]})
        for result in results
    ]


def _write(
    task: EstimateTask, model: Any, results: Sequence[Result], scores: ScorePicture | None
) -> None:
    folder = Path(task.directory)
    truth = _truth(results) if task.example else None
    drawn = len(results) <= _MOST_DRAWN
    if drawn:
        draw(results, folder / Download.svg, folder / Download.png, truth=truth, dpi=_DPI)
    with (
        replacing(folder / Download.csv) as path,
        open(path, "w", newline="", encoding="utf-8") as file,
    ):
        # People open a download in a spreadsheet; the command line writes the exact values.
        write_csv([result.line(for_spreadsheet=True) for result in results], file)
    no_model = None
    try:
        model.save(folder / Download.model)
    except ImportError as error:
        no_model = str(error)
    answer = answer_of(
        task,
        model,
        results,
        truth=truth,
        scores=scores,
        files=[UsedFile(name=f.name, role=f.role, sha256=_sha256(f.path)) for f in task.files],
        drawn=drawn,
        no_model=no_model,
    )
    write_whole(folder / Download.json, json.dumps(answer.model_dump(), indent=1).encode())
    write_report(folder)


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
