"""Cells of the paper's tables from evaluations: errors, intervals and seconds by data set."""

from __future__ import annotations

import math

import pandas as pd

from poscount.experiments.published import N_NEGATIVES
from poscount.experiments.report.results import CELL, by_point

# Experiment #3 gives three tables: which share of the negative sub-classes is no worse.
QUANTILES = {"3a": 0.5, "3b": 0.75, "3c": 1.0}


def errors(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute error and standard deviation of each cell of each table, in points.

    As in the paper, the standard deviation is that at one prevalence, averaged over the
    prevalences, and in Experiment #3 a cell is that of one sub-class: the first of which at
    least half, three quarters or all of the sub-classes are no worse.

    A cell without any answer at one of the prevalences, or without one of the sub-classes, would
    not be comparable with the others, and is empty.

    Returns
    -------
    DataFrame
        With columns `table` (the experiment, or 3a, 3b, 3c), `dataset`, `method`, `mae`, `sd`,
        `published_mae` (measured as the authors did, which differs in #2 alone), and `failed`:
        whether it is empty because the method failed.
    """
    points = by_point(evaluations[evaluations["experiment"] != "4"])
    groups = points.assign(answered=points["n"] > 0).groupby(CELL, sort=False)
    cells = groups.agg(
        mae=("mae", "mean"),
        sd=("sd", "mean"),
        published_mae=("published_mae", "mean"),
        answered=("answered", "sum"),
        failures=("failures", "sum"),
    ).reset_index()
    wanted = points.groupby(["experiment", "dataset"])["point"].nunique().rename("wanted")
    cells = cells.join(wanted, on=["experiment", "dataset"])
    empty = cells["answered"] < cells["wanted"]
    cells.loc[empty, ["mae", "sd", "published_mae"]] = math.nan
    cells["failed"] = empty & (cells["failures"] > 0)
    by_negative = cells["experiment"] == "3"
    plain = cells[~by_negative].rename(columns={"experiment": "table"})
    columns = ["table", "dataset", "method", "mae", "sd", "published_mae", "failed"]
    frames = [plain[columns], *_over_negatives(cells[by_negative], columns)]
    frame = pd.concat(frames, ignore_index=True)
    return frame.astype({"mae": float, "sd": float, "published_mae": float, "failed": bool})


def _over_negatives(cells: pd.DataFrame, columns: list[str]) -> list[pd.DataFrame]:
    n_negatives = cells.groupby("dataset")["negative"].nunique()
    rows = []
    for (dataset, method), group in cells.groupby(["dataset", "method"], sort=False):
        ordered = group.sort_values("mae", kind="stable")
        wanted = max(n_negatives[dataset], N_NEGATIVES.get(str(dataset), 1))
        whole = len(group) == wanted and bool(group["mae"].notna().all())
        for table, quantile in QUANTILES.items():
            chosen = ordered.iloc[math.ceil(quantile * (len(ordered) - 1))]
            mae, sd = (chosen["mae"], chosen["sd"]) if whole else (math.nan, math.nan)
            rows.append((table, dataset, method, mae, sd, mae, bool(group["failed"].any())))
    return [pd.DataFrame(rows, columns=columns)] if rows else []


def counts(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Repetitions, evaluations and failures of each method on each data set.

    Returns
    -------
    DataFrame
        With columns `experiment`, `dataset`, `method`, `repetitions`, `evaluations`, `failures`.
    """
    groups = evaluations.groupby(CELL[:3], sort=False)
    return groups.agg(
        repetitions=("repetition", "nunique"),
        evaluations=("point", "size"),
        failures=("message", "count"),
    ).reset_index()


def intervals(evaluations: pd.DataFrame) -> pd.DataFrame:
    """How often intervals hold the truth, and how wide they are, where there are intervals.

    Returns
    -------
    DataFrame
        With columns `experiment`, `dataset`, `method`, `coverage` (percent), `width` (points).
    """
    rows = evaluations[evaluations["low"].notna() & evaluations["high"].notna()]
    rows = rows[rows["experiment"] != "4"]
    held = (rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"])
    rows = rows.assign(coverage=100.0 * held, width=100 * (rows["high"] - rows["low"]))
    return rows.groupby(CELL[:3], sort=False)[["coverage", "width"]].mean().reset_index()


def seconds(evaluations: pd.DataFrame) -> pd.DataFrame:
    """CPU seconds of Experiment #4: of fitting once, and of quantifying the eleven samples.

    Returns
    -------
    DataFrame
        With columns `dataset`, `method`, `fit`, `quantify`; means if there are repetitions.
    """
    rows = evaluations[(evaluations["experiment"] == "4") & evaluations["message"].isna()]
    folds = rows.groupby(["dataset", "method", "repetition", "fold"], sort=False).agg(
        fit=("fit_seconds", "mean"), quantify=("seconds", "sum"), points=("point", "size")
    )
    whole = folds[folds["points"] == folds["points"].max()]
    means = whole.groupby(["dataset", "method"], sort=False)[["fit", "quantify"]].mean()
    return means.reset_index()
