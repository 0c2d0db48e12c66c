"""The chapter of one experiment: errors, ranks, tests, and what happens at each prevalence."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from poscount.plotting.display import COLOURS
from research.experiments.methods import column_of, in_order, label_of
from research.experiments.protocols import PROTOCOLS
from research.published import MAIN_COLUMNS, datasets_in_order, ranked
from research.report import significance
from research.report.document import Chapter, Picture, ReportTable, TableCell, span
from research.report.drawings import Curve, draw_curves, draw_ranks
from research.report.frames import QUANTILES, by_point, table_label
from research.report.significance import LEVEL, Ranking

_SD = (
    "Mean absolute error in points; in brackets the standard deviation at one prevalence, "
    "averaged over the prevalences. Best in bold. BFT knows the truth."
)
_SUB_CLASS = {"3a": "median", "3b": "75th percentile", "3c": "worst"}


def experiment_chapter(
    experiment: str,
    evaluations: pd.DataFrame,
    errors: pd.DataFrame,
    repetitions: pd.DataFrame,
    intervals: pd.DataFrame,
) -> Chapter:
    """Chapter of one experiment with errors: any but the fourth.

    Parameters
    ----------
    experiment : str
    evaluations : DataFrame
        From `research.report.frames.read`.
    errors, repetitions, intervals : DataFrame
        From the functions of these names in `research.report.frames`.
    """
    title = PROTOCOLS[experiment].title if experiment in PROTOCOLS else "own samples"
    chapter = Chapter(f"Experiment {table_label(experiment)}: {title}")
    evaluations = evaluations[evaluations["experiment"] == experiment]
    repetitions = repetitions[repetitions["experiment"] == experiment]
    order: list[str] = []
    common: list[str] = []
    for table in QUANTILES if experiment == "3" else (experiment,):
        own = errors[errors["table"] == table]
        means, failed = _wide(own, "mae"), _wide(own, "failed")
        counted = ranked(means.index)
        everyone = significance.rank(means.loc[counted], failed)
        theirs = [m for m in means.columns if column_of(m) in MAIN_COLUMNS]
        papers = significance.rank(means.loc[counted, theirs], failed[theirs])
        deviations = _wide(own, "sd")
        chapter.items.append(_error_table(table, means, deviations, repetitions, papers, everyone))
        chapter.items += _tests(table, means, papers, everyone)
        order = [*everyone.average.index, *(m for m in means.columns if m not in everyone.ranks)]
        common = list(everyone.ranks.index)
    points = by_point(evaluations)
    chapter.items += _prevalence_tables(experiment, points, order, common)
    if experiment != "3":
        chapter.items += _prevalence_pictures(experiment, points, order)
    chapter.items.append(_too_high_table(experiment, evaluations))
    held = intervals[intervals["experiment"] == experiment]
    if not held.empty:
        chapter.items.append(_interval_table(experiment, held))
    return chapter


def _wide(errors: pd.DataFrame, values: str) -> pd.DataFrame:
    """A row for each data set, a column for each method, in order."""
    frame = errors.pivot(index="dataset", columns="method", values=values)
    return frame.reindex(index=datasets_in_order(frame.index), columns=in_order(frame.columns))


def _error_table(
    table: str,
    means: pd.DataFrame,
    deviations: pd.DataFrame,
    repetitions: pd.DataFrame,
    papers: Ranking,
    everyone: Ranking,
) -> ReportTable:
    best = means.min(axis=1)
    rows: list[list[Any]] = []
    for method in means.columns:
        row: list[Any] = [label_of(method)]
        for dataset in means.index:
            mae = float(means.at[dataset, method])
            sd = float(deviations.at[dataset, method])
            row.append(TableCell(mae, None if math.isnan(sd) else sd, bold=mae == best[dataset]))
        row += [ranking.ranks.mean().get(method) for ranking in (papers, everyone)]
        own = repetitions["method"] == method
        rows.append([*row, span(repetitions.loc[own, "repetitions"])])
    head = ["method", *means.index, "rank, paper's nine", "rank, all", "repetitions"]
    notes = [_SD]
    if table in _SUB_CLASS:
        notes.append(
            "Each cell is that of one sub-class, in the order of their errors: "
            f"the {_SUB_CLASS[table]}. It is empty while a sub-class is known to be missing."
        )
    empty = int(means.isna().to_numpy().sum())
    if empty:
        notes.append(
            f"{empty} cells are empty: these evaluations are missing, unfinished or failed."
        )
    left_out = [label_of(name) for name in everyone.left_out]
    if left_out:
        notes.append(f"Not in the ranks, because of empty cells: {', '.join(left_out)}.")
    title = f"{table_label(table)}: mean absolute error"
    return ReportTable(f"errors-{table}", title, head, rows, notes=notes, main=True)


def _tests(
    table: str, means: pd.DataFrame, papers: Ranking, everyone: Ranking
) -> list[ReportTable | Picture]:
    """Nemenyi's test for the paper's nine, and PAT against every other method."""
    items: list[ReportTable | Picture] = []
    notes = []
    label = table_label(table)
    friedman = papers.friedman()
    if friedman is not None:
        n, k = papers.ranks.shape
        notes.append(
            f"Friedman's test of the paper's {k} methods on {n} data sets: chi-square "
            f"{friedman[0]:.1f}, p {friedman[1]:.2g}. Nemenyi's critical difference at {LEVEL:g}: "
            f"{papers.critical_difference:.2f} ranks."
        )
        items.append(_rank_picture(papers, table))
    whole = means.loc[everyone.ranks.index, everyone.ranks.columns].dropna(axis=1)
    if "pat" not in whole or len(whole) < 2 or whole.shape[1] < 2:
        return items
    notes.append(
        f"Wilcoxon's signed-rank test, paired by data set ({len(whole)}). Holm's correction is "
        "that of the paper's methods alone; the others, which nobody chose in advance, have none."
    )
    found = significance.against(whole, "pat", list(papers.ranks.columns))
    rows = [
        [label_of(m), row.better, *(TableCell(p, decimals=3) for p in (row.p, row.holm))]
        for m, row in zip(found.index, found.itertuples(), strict=True)
    ]
    title = f"{label}: PAT against each other method"
    head = ["method", "data sets on which PAT is better", "p", "p with Holm's correction"]
    return [*items, ReportTable(f"tests-{table}", title, head, rows, notes=notes)]


def _rank_picture(ranking: Ranking, table: str) -> Picture:
    """Average ranks of the paper's methods with the bars of Nemenyi's test."""
    names = {method: label_of(str(method)) for method in ranking.ranks.columns}
    title = f"Average ranks over {len(ranking.ranks)} data sets, {table_label(table)}"
    figure = draw_ranks(
        ranking.average.rename(names).to_dict(),
        ranking.nemenyi().rename(index=names, columns=names),
        level=LEVEL,
        critical_difference=ranking.critical_difference,
        title=title,
    )
    return Picture.of(figure, f"critical-difference-{table}", title)


def _prevalence_tables(
    experiment: str, points: pd.DataFrame, order: list[str], common: list[str]
) -> list[ReportTable]:
    label = table_label(experiment)
    tables = []
    shared = points[points["dataset"].isin(common)]
    for quantity, what in [("mae", "mean absolute error"), ("bias", "bias, estimate minus truth")]:
        # Means over sub-classes first, so that every data set counts once.
        means = shared.groupby(["method", "dataset", "point"])[quantity].mean()
        groups = means.groupby(["method", "point"])
        frame, n = groups.mean().unstack("point"), groups.count().unstack("point")
        frame = frame.where(n == len(common))
        rows = [[label_of(m), *map(TableCell, frame.loc[m])] for m in order if m in frame.index]
        head = ["method", *(f"{10 * point} %" for point in frame.columns)]
        name = f"{quantity}-by-prevalence-{experiment}"
        title = f"{label}: {what} by true prevalence, in points"
        note = f"Means over the data sets {', '.join(common)}."
        tables.append(ReportTable(name, title, head, rows, notes=[note]))
    return tables


def _prevalence_pictures(experiment: str, points: pd.DataFrame, order: list[str]) -> list[Picture]:
    """Error and bias by true prevalence, a panel for each data set, eight methods a picture."""
    pictures = []
    most = len(COLOURS)
    groups = [order[i : i + most] for i in range(0, len(order), most)]
    datasets = datasets_in_order(points["dataset"].unique())
    rows = dict(iter(points.dropna(subset="mae").groupby(["dataset", "method"])))
    for quantity, what, ylabel in [
        ("mae", "Error", "mean absolute error (points)"),
        ("bias", "Bias", "bias: estimate minus truth (points)"),
    ]:
        for i, group in enumerate(groups):
            panels = {
                dataset: [
                    Curve(label_of(method), 100 * part["truth"], part[quantity])
                    for method in group
                    if (part := rows.get((dataset, method))) is not None
                ]
                for dataset in datasets
                if any((dataset, method) in rows for method in group)
            }
            title = f"{what} by true prevalence, {table_label(experiment)}"
            if len(groups) > 1:
                title += f", methods {i * most + 1} to {i * most + len(group)} by rank"
            figure = draw_curves(
                panels, xlabel="true share of positives (%)", ylabel=ylabel, title=title
            )
            name = f"{quantity}-by-prevalence-{experiment}-{i + 1}"
            pictures.append(Picture.of(figure, name, title))
    return pictures


def _too_high_table(experiment: str, evaluations: pd.DataFrame) -> ReportTable:
    """How many answers are above the truth; where all rows are positive, none can be."""
    answered = evaluations[evaluations["bias"].notna()]
    too_high = 100.0 * (answered["bias"] > 0)
    shares = too_high.groupby(answered["method"]).mean()
    possible = too_high.where(answered["truth"] < 1).groupby(answered["method"]).mean()
    rows = [
        [label_of(m), TableCell(shares[m], decimals=1), TableCell(possible[m], decimals=1)]
        for m in in_order(shares.index)
    ]
    head = ["method", "all answers", "without samples of positives alone"]
    title = f"{table_label(experiment)}: share of answers above the truth, in percent"
    return ReportTable(f"too-high-{experiment}", title, head, rows)


def _interval_table(experiment: str, held: pd.DataFrame) -> ReportTable:
    coverage = held.pivot(index="method", columns="dataset", values="coverage")
    width = held.pivot(index="method", columns="dataset", values="width")
    datasets = datasets_in_order(coverage.columns)
    rows = [
        [label_of(m), *(TableCell(coverage.at[m, d], width.at[m, d], decimals=1) for d in datasets)]
        for m in in_order(coverage.index)
    ]
    title = f"{table_label(experiment)}: share of intervals that hold the truth, in percent"
    note = "In brackets their mean width in points."
    name = f"intervals-{experiment}"
    return ReportTable(name, title, ["method", *datasets], rows, aside="width", notes=[note])
