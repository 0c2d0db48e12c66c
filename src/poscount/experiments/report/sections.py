"""What stands in the report, in order: what was run, the paper beside it, and the failures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from poscount.experiments import published
from poscount.experiments.report import comparison
from poscount.experiments.report.figures import Picture
from poscount.experiments.report.results import (
    Results,
    column,
    dataset_order,
    label,
    method_order,
)
from poscount.experiments.report.table import Cell, Table

TABLES = {"3a": "median", "3b": "75th percentile", "3c": "worst"}


@dataclass
class Section:
    """A chapter of the report: sentences, then tables and pictures."""

    title: str
    text: list[str] = field(default_factory=list)
    items: list[Table | Picture] = field(default_factory=list)


def name_of(table: str) -> str:
    """How the report calls an experiment or one of the three tables of the third.

    Examples
    --------
    >>> name_of("1"), name_of("3c"), name_of("app")
    ('#1', '#3-c', 'app')
    """
    if not table[:1].isdigit():
        return table
    return f"#{table[0]}-{table[1:]}" if table in TABLES else f"#{table}"


def what_was_run(results: Results, counts: pd.DataFrame) -> Section:
    """Commands, seed, machine, versions, data sets, and repetitions of each method."""
    total, failures = int(counts["evaluations"].sum()), int(counts["failures"].sum())
    section = Section("What was run")
    section.text.append(
        f"{total:,} evaluations with the seed {results.about.get('seed', 'unknown')}, "
        f"{failures:,} of which failed. An evaluation is one answer of one method for one sample."
    )
    if not total:
        section.text.append("The results file is empty so far: there is nothing to report.")
    rows = [
        [run.started, run.command, run.poscount, run.python, _packages(run.packages), run.machine]
        for run in results.runs.itertuples()
    ]
    head = ["started", "command", "poscount", "Python", "packages", "machine"]
    section.items.append(Table("runs", "Runs", head, rows))
    facts = results.datasets.set_index("dataset")
    keys = dataset_order(list(facts.index))
    head = ["data set", "title", "rows", "features", "positives", "SHA-256"]
    columns = ["title", "n_rows", "n_features", "n_positives", "sha256"]
    rows = [[key, *(facts.at[key, c] for c in columns)] for key in keys]
    section.items.append(Table("datasets", "Data sets", head, rows))
    section.items.append(_repetitions(counts))
    return section


def _packages(text: str) -> str:
    try:
        return ", ".join(f"{name} {version}" for name, version in json.loads(text).items())
    except (ValueError, AttributeError):
        return text


def _repetitions(counts: pd.DataFrame) -> Table:
    experiments = sorted(counts["experiment"].unique())
    rows: list[list[Any]] = []
    for method in method_order(list(counts["method"].unique())):
        own = counts[counts["method"] == method]
        cells = [span(own.loc[own["experiment"] == e, "repetitions"]) for e in experiments]
        rows.append([label(method), column(method), *cells, int(own["failures"].sum())])
    head = ["method", "paper's column", *map(name_of, experiments), "failures"]
    note = "Repetitions of each experiment; a range where they differ between data sets."
    return Table("repetitions", "Repetitions by method", head, rows, notes=[note])


def span(numbers: pd.Series) -> int | str | None:
    """Smallest and largest of some numbers, once if they are equal; nothing without any."""
    if numbers.empty:
        return None
    low, high = int(numbers.min()), int(numbers.max())
    return low if low == high else f"{low}-{high}"


def beside_the_paper(cells: pd.DataFrame, times: pd.DataFrame) -> Section:
    """Our cells and ranks beside the published ones."""
    compared = comparison.beside(cells)
    limit = f"max({comparison.POINTS:g} point, {100 * comparison.SHARE:g} %)"
    section = Section(
        "Beside the paper",
        [
            f"A cell agrees if its mean absolute error is within {limit} of the published one. "
            f"Data sets {', '.join(published.DATASETS)}; without C, R and W in #2, whose "
            "published cells repeat those of #1. In #2 our error is taken here as the authors took "
            "theirs: they divided the positives drawn by the rows wanted, not by the rows drawn, "
            "which are fewer because each sub-class has a whole number of them."
        ],
    )
    if compared.empty:
        section.text.append("No cell of these results is in the paper's tables.")
    else:
        section.items += [
            _shares(compared),
            _outside(compared),
            *_ranks(compared),
            _all_cells(compared),
        ]
    seconds = comparison.seconds(times)
    if not seconds.empty:
        section.items.append(_seconds(seconds))
    return section


def _shares(compared: pd.DataFrame) -> Table:
    rows: list[list[Any]] = []
    for table in [*sorted(compared["table"].unique()), None]:
        part = compared if table is None else compared[compared["table"] == table]
        names = set(part["table"])
        wanted = sum(
            published.comparable(experiment, dataset, c) is not None
            for experiment, dataset, c in published.tables()
            if experiment in names
        )
        within = int(part["within"].sum())
        name = "all" if table is None else name_of(table)
        explained = int((~part["within"] & part["explanation"].notna()).sum())
        share = Cell(100 * within / len(part), decimals=1)
        rows.append([name, wanted, len(part), within, share, len(part) - within, explained])
    head = ["experiment", "published cells", "measured", "agree", "agree (%)", "differ"]
    return Table("paper-agreement", "Cells that agree", [*head, "of these explained"], rows)


def _outside(compared: pd.DataFrame) -> Table:
    part = compared[~compared["within"]]
    rows = [[*_cell_row(row), row.explanation or "not explained"] for row in part.itertuples()]
    head = [*_CELL_HEAD, "explanation"]
    notes = [] if rows else ["Every cell agrees."]
    return Table("paper-differences", "Cells that differ, in points", head, rows, notes=notes)


def _all_cells(compared: pd.DataFrame) -> Table:
    rows = [[*_cell_row(row), "yes" if row.within else "no"] for row in compared.itertuples()]
    title = "All cells beside the paper's, in points"
    return Table("paper-cells", title, [*_CELL_HEAD, "agrees"], rows, long=True)


_CELL_HEAD = ["experiment", "data set", "method", "ours", "published", "difference"]


def _cell_row(row: Any) -> list[Any]:
    return [
        name_of(row.table),
        row.dataset,
        label(row.method),
        Cell(row.mae, row.sd),
        Cell(row.published, row.published_sd),
        Cell(row.difference),
    ]


def _ranks(compared: pd.DataFrame) -> list[Table]:
    tables = sorted(compared["table"].unique())
    found = {table: comparison.agreement(compared, table) for table in tables}
    rows: list[list[Any]] = []
    for method in method_order(sorted({m for a in found.values() for m in a.ranks.index})):
        row: list[Any] = [label(method)]
        for agreed in found.values():
            ranks = agreed.ranks
            row += list(ranks.loc[method].astype(float)) if method in ranks.index else [None, None]
        rows.append(row)
    head = ["method", *(f"{name_of(t)} {whose}" for t in tables for whose in ("ours", "paper"))]
    note = "Ranks of the methods that the paper has in the same table; both computed from cells."
    ranks_table = Table("paper-ranks", "Average ranks beside the paper's", head, rows, notes=[note])
    rows = []
    for table, agreed in found.items():
        main = comparison.agreement(compared, table, published.MAIN_COLUMNS)
        places = [_places(main, method) for method in ("pat", "extice")]
        rho = [Cell(a.spearman, decimals=3) for a in (agreed, main)]
        sizes = [len(agreed.ranks), len(main.ranks)]
        rows.append(
            [name_of(table), " ".join(main.datasets), sizes[0], rho[0], sizes[1], rho[1], *places]
        )
    head = ["experiment", "data sets", "methods", "Spearman", "in the main table", "Spearman there"]
    head += ["place of PAT (paper)", "place of ExTIcE (paper)"]
    note = (
        "Spearman's correlation of our average ranks with the paper's on the same data sets and "
        "methods. Main table: the paper's nine columns, without the ensemble and RanFocE, to "
        "which it gives tables of their own; the places are among these."
    )
    title = "Agreement of the average ranks"
    return [Table("paper-spearman", title, head, rows, notes=[note]), ranks_table]


def _places(agreed: comparison.Agreement, method: str) -> str:
    if method not in agreed.ranks.index:
        return ""
    places = agreed.ranks.rank(method="min").astype(int).loc[method]
    return f"{places['ours']} ({places['published']})"


def _seconds(seconds: pd.DataFrame) -> Table:
    rows = [
        [
            row.dataset,
            label(row.method),
            row.part,
            Cell(row.seconds, decimals=3),
            row.published,
            Cell(row.published / row.seconds if row.seconds > 0 else None, decimals=1),
        ]
        for row in seconds.itertuples()
    ]
    head = ["data set", "method", "part", "CPU seconds", "published seconds", "ratio"]
    note = "The paper's seconds come from another machine, other programs and wall clocks."
    title = "#4 beside the paper: seconds for eleven samples"
    return Table("paper-seconds", title, head, rows, notes=[note], long=True)


def failures(evaluations: pd.DataFrame) -> Section:
    """Which methods failed where, with the first message of each kind."""
    failed = evaluations[evaluations["message"].notna()]
    section = Section("Failures")
    if failed.empty:
        section.text.append("No method failed.")
        return section
    groups = failed.groupby(["experiment", "dataset", "method", "message"], sort=True).size()
    rows: list[Sequence[Any]] = [
        [name_of(e), dataset, label(method), int(n), message]
        for (e, dataset, method, message), n in groups.items()
    ]
    head = ["experiment", "data set", "method", "evaluations", "message"]
    section.items.append(Table("failures", "Failed evaluations", head, rows))
    return section
