"""One experiment in the report: errors, ranks, tests, and what happens at each prevalence."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from poscount.experiments.protocols import PROTOCOLS
from poscount.experiments.published import MAIN_COLUMNS
from poscount.experiments.report import figures, significance
from poscount.experiments.report.cells import QUANTILES
from poscount.experiments.report.results import (
    Results,
    by_point,
    column,
    dataset_order,
    label,
    method_order,
)
from poscount.experiments.report.sections import TABLES, Section, name_of, span
from poscount.experiments.report.significance import LEVEL, Ranking
from poscount.experiments.report.table import Cell, Table

_SD = (
    "Mean absolute error in points; in brackets the standard deviation at one prevalence, "
    "averaged over the prevalences. Best in bold. BFT knows the truth."
)


def experiment_section(
    experiment: str,
    results: Results,
    cells: pd.DataFrame,
    counts: pd.DataFrame,
    intervals: pd.DataFrame,
) -> Section:
    """Chapter of one experiment with errors: all but the fourth."""
    title = PROTOCOLS[experiment].title if experiment in PROTOCOLS else "own samples"
    section = Section(f"Experiment {name_of(experiment)}: {title}")
    evaluations = results.evaluations[results.evaluations["experiment"] == experiment]
    over_folds = significance.wilcoxon_over_folds(evaluations)
    order: list[str] = []
    common: list[str] = []
    for table in QUANTILES if experiment == "3" else (experiment,):
        errors, failed = wide(cells, table, "mae"), wide(cells, table, "failed")
        everyone = significance.rank(errors, failed)
        theirs = [m for m in errors.columns if column(m) in MAIN_COLUMNS]
        papers = significance.rank(errors[theirs], failed[theirs])
        section.items.append(_error_table(table, cells, counts, papers, everyone))
        section.items += _tests(table, errors, papers, everyone, over_folds)
        order = [*everyone.average.index, *(m for m in errors.columns if m not in everyone.ranks)]
        common = list(everyone.ranks.index)
    p, shared = over_folds
    section.items += [
        _matrix(p, f"wilcoxon-folds-{experiment}", f"{name_of(experiment)}: {_OVER_FOLDS}"),
        _matrix(shared, f"wilcoxon-pairs-{experiment}", "Folds that two methods share"),
    ]
    points = by_point(evaluations)
    section.items += _prevalence_tables(experiment, points, order, common)
    if experiment != "3":
        section.items += figures.by_prevalence(points, experiment, name_of(experiment), order)
    held = intervals[intervals["experiment"] == experiment]
    if not held.empty:
        section.items.append(_interval_table(experiment, held))
    return section


def wide(cells: pd.DataFrame, table: str, values: str) -> pd.DataFrame:
    """Cells of one table: a row for each data set, a column for each method, in order."""
    rows = cells[cells["table"] == table]
    frame = rows.pivot(index="dataset", columns="method", values=values)
    return frame.reindex(
        index=dataset_order(list(frame.index)), columns=method_order(list(frame.columns))
    )


def _error_table(
    table: str, cells: pd.DataFrame, counts: pd.DataFrame, papers: Ranking, everyone: Ranking
) -> Table:
    errors, deviations = wide(cells, table, "mae"), wide(cells, table, "sd")
    best = errors.min(axis=1)
    counts = counts[counts["experiment"] == ("3" if table in TABLES else table)]
    rows: list[list[Any]] = []
    for method in errors.columns:
        row: list[Any] = [label(method)]
        for dataset in errors.index:
            mae = float(errors.at[dataset, method])
            sd = float(deviations.at[dataset, method])
            row.append(Cell(mae, None if math.isnan(sd) else sd, bold=mae == best[dataset]))
        row += [ranking.ranks.mean().get(method) for ranking in (papers, everyone)]
        rows.append([*row, span(counts.loc[counts["method"] == method, "repetitions"])])
    head = ["method", *errors.index, "rank, paper's nine", "rank, all", "repetitions"]
    notes = [_SD]
    if table in TABLES:
        notes.append(
            "Each cell is that of one sub-class, in the order of their errors: "
            f"the {TABLES[table]}. It is empty while a sub-class is known to be missing."
        )
    empty = int(errors.isna().to_numpy().sum())
    if empty:
        notes.append(
            f"{empty} cells are empty: these evaluations are missing, unfinished or failed."
        )
    left_out = [label(name) for name in everyone.left_out]
    if left_out:
        notes.append(f"Not in the ranks, because of empty cells: {', '.join(left_out)}.")
    return Table(
        f"errors-{table}", f"{name_of(table)}: mean absolute error", head, rows, notes=notes
    )


_OVER_SETS = "p-values of the Wilcoxon signed-rank test over data sets, with Holm's correction"
_OVER_FOLDS = "p-values of the Wilcoxon signed-rank test over folds, with Holm's correction"


def _tests(
    table: str,
    errors: pd.DataFrame,
    papers: Ranking,
    everyone: Ranking,
    over_folds: tuple[pd.DataFrame, pd.DataFrame],
) -> list[Table | figures.Picture]:
    items: list[Table | figures.Picture] = []
    rows: list[list[Any]] = []
    name = name_of(table)
    for ranking, who in [(papers, "the paper's nine"), (everyone, "all methods")]:
        friedman = ranking.friedman()
        if friedman is None or (who == "all methods" and ranking.ranks.equals(papers.ranks)):
            continue
        n, k = ranking.ranks.shape
        difference = ranking.critical_difference
        rows.append([who, k, n, friedman[0], Cell(friedman[1], decimals=3), difference])
        stem = f"critical-difference-{table}-{'paper' if who != 'all methods' else 'all'}"
        title = f"Average ranks over {n} data sets, {name}, {who}"
        items.append(figures.critical_difference(ranking, stem, title))
    if not rows:
        return []
    head = ["methods", "number", "data sets", "Friedman's chi-square", "p"]
    head.append(f"critical difference at {LEVEL:g}")
    items.insert(0, Table(f"friedman-{table}", f"{name}: Friedman and Nemenyi tests", head, rows))
    whole = errors.loc[everyone.ranks.index, everyone.ranks.columns].dropna(axis=1)
    over_sets = significance.wilcoxon_over_datasets(whole)
    if over_sets is not None:
        items.append(_against_best(table, everyone, over_sets, over_folds))
        items.append(_matrix(over_sets, f"wilcoxon-datasets-{table}", f"{name}: {_OVER_SETS}"))
    return items


def _against_best(
    table: str,
    ranking: Ranking,
    over_sets: pd.DataFrame,
    over_folds: tuple[pd.DataFrame, pd.DataFrame],
) -> Table:
    best = ranking.average.index[0]
    p, shared = over_folds
    rows: list[list[Any]] = []
    for method, average in ranking.average.items():
        sets = over_sets.at[best, method] if {best, method} <= set(over_sets.index) else None
        row: list[Any] = [label(str(method)), float(average)]
        if method == best:
            rows.append([*row, None, None, None])
            continue
        folds = Cell(float(p.at[best, method]), decimals=3)
        rows.append([*row, Cell(sets, decimals=3), folds, int(shared.at[best, method])])
    head = ["method", "average rank", "p over data sets", "p over folds", "folds"]
    note = (
        f"Wilcoxon signed-rank tests against {label(str(best))}, corrected by Holm for all pairs. "
        f"Over data sets: {len(ranking.ranks)} pairs of mean absolute errors, too few for "
        "much power. Over folds: pairs of means of single folds that both methods have, more "
        "power, but folds of a data set share its rows and are not independent."
    )
    title = f"{name_of(table)}: is the best one better than the others?"
    return Table(f"wilcoxon-{table}", title, head, rows, notes=[note])


def _matrix(frame: pd.DataFrame, name: str, title: str) -> Table:
    methods = method_order(list(frame.columns))
    rows: list[list[Any]] = []
    for row in methods:
        values = [frame.at[row, c] for c in methods]
        cells = [Cell(v, decimals=3) if isinstance(v, float) else int(v) for v in values]
        rows.append([label(row), *cells])
    return Table(name, title, ["method", *map(label, methods)], rows, long=True)


def _prevalence_tables(
    experiment: str, points: pd.DataFrame, order: list[str], common: list[str]
) -> list[Table]:
    columns = ["dataset", "method", "negative", "point", "truth", "n", "failures"]
    tables = []
    shared = points[points["dataset"].isin(common)]
    for quantity, what in [("mae", "mean absolute error"), ("bias", "bias, estimate minus truth")]:
        # Means over sub-classes first, so that every data set counts once.
        means = shared.groupby(["method", "dataset", "point"])[quantity].mean()
        frame = means.groupby(["method", "point"]).mean().unstack("point")
        complete = means.groupby(["method", "point"]).count().unstack("point") == len(common)
        rows = [
            [
                label(m),
                *(
                    Cell(v if ok else None)
                    for v, ok in zip(frame.loc[m], complete.loc[m], strict=True)
                ),
            ]
            for m in order
            if m in frame.index
        ]
        head = ["method", *(f"{10 * point} %" for point in frame.columns)]
        title = f"{name_of(experiment)}: {what} by true prevalence, in points"
        note = f"Means over the data sets {', '.join(common)}."
        tables.append(
            Table(f"{quantity}-by-prevalence-{experiment}", title, head, rows, notes=[note])
        )
    rows = [
        [*row[:4], *row[4:7], Cell(row[7], row[8]), Cell(row[9])]
        for row in points[[*columns, "mae", "sd", "bias"]].itertuples(index=False)
    ]
    title = f"{name_of(experiment)}: every data set at every prevalence"
    head = [*columns, "mae", "bias"]
    return [*tables, Table(f"by-prevalence-{experiment}", title, head, rows, long=True)]


def _interval_table(experiment: str, held: pd.DataFrame) -> Table:
    coverage = held.pivot(index="method", columns="dataset", values="coverage")
    width = held.pivot(index="method", columns="dataset", values="width")
    datasets = dataset_order(list(coverage.columns))
    rows = [
        [label(m), *(Cell(coverage.at[m, d], width.at[m, d], decimals=1) for d in datasets)]
        for m in method_order(list(coverage.index))
    ]
    title = f"{name_of(experiment)}: share of intervals that hold the truth, in percent"
    note = "In brackets their mean width in points."
    name = f"intervals-{experiment}"
    return Table(name, title, ["method", *datasets], rows, aside="width", notes=[note])
