"""The report's last chapters: seconds, and the thresholds behind PAT and BFT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from poscount.experiments.report import figures
from poscount.experiments.report.results import Results, dataset_order, label, method_order
from poscount.experiments.report.sections import Section
from poscount.experiments.report.table import Cell, Table


def time_section(times: pd.DataFrame) -> Section:
    """Experiment #4: CPU seconds of quantifying eleven samples, and of fitting."""
    section = Section("Experiment #4: Time")
    if times.empty:
        section.text.append("No times were measured.")
        return section
    for part, what in [("quantify", "quantifying the eleven samples"), ("fit", "fitting once")]:
        frame = times.pivot(index="method", columns="dataset", values=part)
        datasets = dataset_order(list(frame.columns))
        best = frame.min()
        rows: list[list[Any]] = [
            [
                label(m),
                *(
                    Cell(frame.at[m, d], bold=frame.at[m, d] == best[d], decimals=3)
                    for d in datasets
                ),
            ]
            for m in method_order(list(frame.index))
        ]
        title = f"#4: CPU seconds of {what}"
        section.items.append(Table(f"seconds-{part}", title, ["method", *datasets], rows))
    section.items[1].notes.append(  # type: ignore[union-attr]
        "Methods that learn from both samples together do nearly all their work when they quantify."
    )
    section.items.insert(1, figures.seconds(times))
    return section


def threshold_section(results: Results, cells: pd.DataFrame) -> Section:
    """PAT's error by q for each scorer, and classify-and-count's by threshold."""
    section = Section("Thresholds")
    first = cells[(cells["table"] == "1") & cells["mae"].notna()]
    medians = {(row.dataset, row.method): row.mae for row in first.itertuples()}
    curves = [c for c in results.curves if c.experiment == "1"]
    by_q = [c for c in curves if c.method.startswith("pat") and (c.dataset, c.method) in medians]
    oracles = [c for c in results.curves if c.method == "bft"]
    if by_q:
        shown = np.arange(0, by_q[0].estimates.shape[1], 5)
        rows: list[list[Any]] = [
            [c.dataset, label(c.method), *map(float, c.mae[shown]), medians[c.dataset, c.method]]
            for c in by_q
        ]
        head = ["data set", "method", *(f"q = {figures.quantiles(by_q[0])[i]:.2f}" for i in shown)]
        title = "#1: mean absolute error of PAT with a single q, in points"
        section.items.append(Table("pat-by-q", title, [*head, "median"], rows, long=True))
        section.items += filter(None, [figures.by_q(by_q, medians)])
    if oracles:
        rows = [[c.experiment, c.dataset, int(c.mae.argmin()), float(c.mae.min())] for c in oracles]
        head = ["experiment", "data set", "percentile", "mean absolute error"]
        title = "The threshold that BFT, which knows the truth, takes"
        section.items.append(Table("bft-thresholds", title, head, rows, long=True))
        section.items += filter(None, [figures.by_threshold(oracles)])
    if not section.items:
        section.text.append("Neither PAT nor BFT is among the results of #1.")
    return section
