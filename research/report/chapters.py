"""The chapters of the report in order; those on one experiment and on the paper have own files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from poscount.plotting.display import COLOURS
from research.experiments.methods import column_of, in_order, label_of
from research.published import datasets_in_order
from research.report import frames
from research.report.document import Chapter, Picture, ReportTable, TableCell, span
from research.report.drawings import Curve, draw_curves, draw_dots
from research.report.every_cell import every_cell, how_many
from research.report.experiment_chapter import experiment_chapter
from research.report.frames import Curves, StoredRuns, table_label
from research.report.paper_comparison import paper_chapter

_MAE = "mean absolute error (points)"


def all_chapters(stored: StoredRuns, errors: pd.DataFrame) -> list[Chapter]:
    """Chapters of the report; a chapter without any results says so."""
    evaluations = stored.evaluations
    repetitions = frames.repetitions(evaluations)
    intervals, times = frames.intervals(evaluations), frames.seconds(evaluations)
    experiments = sorted(set(evaluations["experiment"]) - {"4"})
    beside = paper_chapter(errors, times)
    beside.text.insert(0, how_many(every_cell(errors)))
    return [
        _what_was_run(stored, repetitions),
        beside,
        *(experiment_chapter(e, evaluations, errors, repetitions, intervals) for e in experiments),
        _times(times),
        _thresholds(stored.curves, errors),
        _failures(evaluations),
    ]


def _what_was_run(stored: StoredRuns, repetitions: pd.DataFrame) -> Chapter:
    """Commands, seed, machine, versions, data sets, and repetitions of each method."""
    total, failures = int(repetitions["evaluations"].sum()), int(repetitions["failures"].sum())
    chapter = Chapter("What was run")
    chapter.text.append(
        f"{total:,} evaluations with the seed {stored.about.get('seed', 'unknown')}, "
        f"{failures:,} of which failed. An evaluation is one answer of one method for one sample."
    )
    if not total:
        chapter.text.append("The results file is empty so far: there is nothing to report.")
    rows = [
        [run.started, run.command, run.poscount, run.python, _packages(run.packages), run.machine]
        for run in stored.runs.itertuples()
    ]
    head = ["started", "command", "poscount", "Python", "packages", "machine"]
    chapter.items.append(ReportTable("runs", "Runs", head, rows))
    facts = stored.datasets.set_index("dataset")
    head = ["data set", "title", "rows", "features", "positives", "SHA-256"]
    columns = ["title", "n_rows", "n_features", "n_positives", "sha256"]
    rows = [[key, *(facts.at[key, c] for c in columns)] for key in datasets_in_order(facts.index)]
    chapter.items.append(ReportTable("datasets", "Data sets", head, rows))
    chapter.items.append(_repetition_table(repetitions))
    return chapter


def _packages(text: str) -> str:
    try:
        return ", ".join(f"{name} {version}" for name, version in json.loads(text).items())
    except (ValueError, AttributeError):
        return text


def _repetition_table(repetitions: pd.DataFrame) -> ReportTable:
    experiments = sorted(repetitions["experiment"].unique())
    rows: list[list[Any]] = []
    for method in in_order(repetitions["method"].unique()):
        own = repetitions[repetitions["method"] == method]
        cells = [span(own.loc[own["experiment"] == e, "repetitions"]) for e in experiments]
        rows.append([label_of(method), column_of(method), *cells, int(own["failures"].sum())])
    head = ["method", "paper's column", *map(table_label, experiments), "failures"]
    note = "Repetitions of each experiment; a range where they differ between data sets."
    return ReportTable("repetitions", "Repetitions by method", head, rows, notes=[note])


def _times(times: pd.DataFrame) -> Chapter:
    """Experiment #4: CPU seconds for quantifying eleven samples, and for fitting."""
    chapter = Chapter("Experiment #4: Time")
    if times.empty:
        chapter.text.append("No times were measured.")
        return chapter
    note = (
        "Methods that learn from both samples together do nearly all their work when they quantify."
    )
    chapter.items += [
        _seconds_table(times, "quantify", "quantifying the eleven samples"),
        _seconds_picture(times),
        _seconds_table(times, "fit", "fitting once", [note]),
    ]
    return chapter


def _seconds_table(
    times: pd.DataFrame, part: str, what: str, notes: Sequence[str] = ()
) -> ReportTable:
    frame = times.pivot(index="method", columns="dataset", values=part)
    datasets = datasets_in_order(frame.columns)
    best = frame.min()
    rows: list[list[Any]] = []
    for m in in_order(frame.index):
        values = [(frame.at[m, d], best[d]) for d in datasets]
        cells = [TableCell(value, bold=value == least, decimals=3) for value, least in values]
        rows.append([label_of(m), *cells])
    title = f"#4: CPU seconds of {what}"
    head = ["method", *datasets]
    name, main = f"seconds-{part}", part == "quantify"
    return ReportTable(name, title, head, rows, notes=list(notes), main=main)


def _seconds_picture(times: pd.DataFrame) -> Picture:
    positive = times[times["quantify"] > 0]
    numbers = {
        label_of(str(method)): dict(zip(rows["dataset"], rows["quantify"], strict=True))
        for method, rows in positive.groupby("method")
    }
    title = "Time to quantify eleven samples, #4"
    figure = draw_dots(numbers, xlabel="CPU seconds", title=title)
    return Picture.of(figure, "seconds", title)


def _thresholds(curves: list[Curves], errors: pd.DataFrame) -> Chapter:
    """PAT's error by q for each scorer."""
    chapter = Chapter("Thresholds")
    first = errors[(errors["table"] == "1") & errors["mae"].notna()]
    medians = {(row.dataset, row.method): row.mae for row in first.itertuples()}
    by_q = [
        c
        for c in curves
        if c.experiment == "1" and c.method.startswith("pat") and (c.dataset, c.method) in medians
    ]
    if by_q:
        chapter.items += [_q_table(by_q, medians), _q_picture(by_q, medians)]
    else:
        chapter.text.append("PAT is not among the results of #1.")
    return chapter


def _quantiles(curves: Curves) -> np.ndarray:
    """The q of each column of PAT's curves: .25 to .75."""
    return np.linspace(0.25, 0.75, curves.estimates.shape[1])


def _q_table(curves: list[Curves], medians: dict[tuple[str, str], float]) -> ReportTable:
    shown = np.arange(0, curves[0].estimates.shape[1], 5)
    rows = [
        [c.dataset, label_of(c.method), *map(float, c.mae[shown]), medians[c.dataset, c.method]]
        for c in curves
    ]
    head = ["data set", "method", *(f"q = {q:.2f}" for q in _quantiles(curves[0])[shown]), "median"]
    title = "#1: mean absolute error of PAT with a single q, in points"
    return ReportTable("pat-by-q", title, head, rows, long=True)


def _q_picture(curves: list[Curves], medians: dict[tuple[str, str], float]) -> Picture:
    """Error of PAT by q for each of its scorers, with the median's as a dotted line."""
    scorers = in_order({c.method for c in curves})[: len(COLOURS)]
    panels: dict[str, list[Curve]] = {}
    for dataset in datasets_in_order({c.dataset for c in curves}):
        found = {c.method: c for c in curves if c.dataset == dataset}
        panels[dataset] = [
            Curve(label_of(m), _quantiles(found[m]), found[m].mae, medians[dataset, m])
            for m in scorers
            if m in found
        ]
    title = "PAT: error of each single q (lines) and of the median over q (dotted), #1"
    xlabel = "q, quantile of the positives' scores"
    figure = draw_curves(panels, xlabel=xlabel, ylabel=_MAE, title=title)
    return Picture.of(figure, "pat-by-q", title)


def _failures(evaluations: pd.DataFrame) -> Chapter:
    """Which methods failed where, and each message with how often it occurred."""
    failed = evaluations[evaluations["message"].notna()]
    chapter = Chapter("Failures")
    if failed.empty:
        chapter.text.append("No method failed.")
        return chapter
    groups = failed.groupby(["experiment", "dataset", "method", "message"], sort=True).size()
    rows: list[Sequence[Any]] = [
        [table_label(e), dataset, label_of(method), int(n), message]
        for (e, dataset, method, message), n in groups.items()
    ]
    head = ["experiment", "data set", "method", "evaluations", "message"]
    chapter.items.append(ReportTable("failures", "Failed evaluations", head, rows))
    return chapter
