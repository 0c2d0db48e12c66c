"""A results file as data frames: evaluations, and errors, intervals and seconds of methods."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from research.experiments.protocols import N_FOLDS
from research.experiments.store import read_about
from research.published import N_NEGATIVES

# Experiment #3 gives three tables: which share of the negative sub-classes is no worse.
QUANTILES = {"3a": 0.5, "3b": 0.75, "3c": 1.0}


def table_label(table: str) -> str:
    """Label of an experiment, or of one of the three tables of the third, in the report.

    Examples
    --------
    >>> table_label("1"), table_label("3c"), table_label("app")
    ('#1', '#3-c', 'app')
    """
    if not table[:1].isdigit():
        return table
    if table == "2large":
        return "#2, 2,000 rows"
    return f"#{table[0]}-{table[1:]}" if table in QUANTILES else f"#{table}"


_METHOD = ["experiment", "dataset", "method"]
_GROUP = [*_METHOD, "negative"]
_KEY = [*_GROUP, "repetition", "fold", "point"]
_NUMBERS_OF_ERRORS = ["mae", "sd", "published_mae", "folds"]
_ERRORS = ["table", "dataset", "method", *_NUMBERS_OF_ERRORS, "failed"]
_NUMBERS = ["truth", "published_truth", "estimate", "low", "high", "fit_seconds", "seconds"]


# What the authors took for the truth in Experiment #2: the positives drawn, divided by the rows
# wanted. Because of whole rows of many sub-classes, fewer rows are drawn than wanted, most of all
# where there are few negatives. At the last point all rows are positive, and none is missing.
_WITH_PUBLISHED_TRUTH = """
SELECT e.*, CASE WHEN e.experiment LIKE '2%' THEN e.truth * e.n_unlabeled / last.n_unlabeled
            ELSE e.truth END AS published_truth
FROM evaluations AS e LEFT JOIN evaluations AS last
ON e.experiment LIKE '2%' AND last.point = 10 AND (e.experiment, e.dataset, e.method, e.negative,
   e.repetition, e.fold) = (last.experiment, last.dataset, last.method, last.negative,
   last.repetition, last.fold)
"""


class Curves(NamedTuple):
    """Estimates of one method by threshold or quantile, a row for each of its evaluations."""

    experiment: str
    dataset: str
    method: str
    places: pd.DataFrame
    truth: np.ndarray
    published_truth: np.ndarray
    estimates: np.ndarray

    @property
    def mae(self) -> np.ndarray:
        """Mean absolute error of each threshold or quantile, in points."""
        return 100 * np.abs(self.estimates - self.truth[:, None]).mean(axis=0)

    @property
    def published_mae(self) -> np.ndarray:
        """The same, measured as the authors did."""
        return 100 * np.abs(self.estimates - self.published_truth[:, None]).mean(axis=0)


class StoredRuns(NamedTuple):
    """Everything that a report needs from a results file.

    Attributes
    ----------
    about : dict
        The seed and the format of the file.
    runs, datasets : DataFrame
        The tables of these names.
    evaluations : DataFrame
        A row for each evaluation, with the estimates of the oracle filled in, and `error` and
        `bias` (estimate minus truth) in points; `published_error` is measured as the authors did.
    curves : list of Curves
        Of the oracle in every experiment, of PAT in the first.
    """

    about: dict[str, str]
    runs: pd.DataFrame
    datasets: pd.DataFrame
    evaluations: pd.DataFrame
    curves: list[Curves]


def read(path: str | Path) -> StoredRuns:
    """Read a results file; it is not changed."""
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(2, "There is no such results file", str(source))
    connection = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True, timeout=60)
    try:
        about = read_about(connection, source)
        runs = pd.read_sql_query("SELECT * FROM runs ORDER BY run", connection)
        datasets = pd.read_sql_query("SELECT * FROM datasets", connection)
        columns = ", ".join([*_KEY, *_NUMBERS, "error AS message"])
        evaluations = pd.read_sql_query(
            f"SELECT {columns} FROM ({_WITH_PUBLISHED_TRUTH})", connection
        )
        curves = _curves(connection)
    except (sqlite3.Error, pd.errors.DatabaseError) as error:
        raise ValueError(
            f"{source} is not a results file of `python -m research reproduce`: {error}."
        ) from error
    finally:
        connection.close()
    strange = [e for e in evaluations["experiment"].unique() if not e.isalnum()]
    if strange:
        # The report's files are named after experiments.
        raise ValueError(
            f"{source}: {strange[0]!r} is not an experiment; names are letters and digits."
        )
    evaluations[_NUMBERS] = evaluations[_NUMBERS].astype(float)
    evaluations = _with_oracle(evaluations, curves)
    evaluations["bias"] = 100 * (evaluations["estimate"] - evaluations["truth"])
    evaluations["error"] = evaluations["bias"].abs()
    theirs = evaluations["published_estimate"] - evaluations["published_truth"]
    evaluations["published_error"] = 100 * theirs.abs()
    return StoredRuns(about, runs, datasets, evaluations, curves)


def _curves(connection: sqlite3.Connection) -> list[Curves]:
    columns = [*_KEY, "truth", "published_truth", "curve"]
    query = (
        f"SELECT {', '.join(columns)} FROM ({_WITH_PUBLISHED_TRUTH}) WHERE curve IS NOT NULL "
        "AND truth IS NOT NULL AND (method = 'bft' OR experiment = '1')"
    )
    frame = pd.read_sql_query(query, connection)
    found = []
    # The oracle has one threshold for a data set, whatever its negatives are.
    for (experiment, dataset, method), group in frame.groupby(_METHOD, sort=True):
        estimates = np.frombuffer(b"".join(group["curve"]), dtype="<f8").reshape(len(group), -1)
        truth, theirs = (group[name].to_numpy(float) for name in ("truth", "published_truth"))
        found.append(Curves(experiment, dataset, method, group[_KEY], truth, theirs, estimates))
    return found


def _with_oracle(evaluations: pd.DataFrame, curves: list[Curves]) -> pd.DataFrame:
    """Fill in BFT's estimates: those of the threshold with the lowest error."""
    chosen = [
        c.places.assign(
            chosen=c.estimates[:, c.mae.argmin()],
            published_choice=c.estimates[:, c.published_mae.argmin()],
        )
        for c in curves
        if c.method == "bft"
    ]
    evaluations["published_estimate"] = evaluations["estimate"]
    if not chosen:
        return evaluations
    filled = evaluations.merge(pd.concat(chosen), how="left", on=_KEY, validate="1:1")
    filled["estimate"] = filled["estimate"].fillna(filled["chosen"])
    filled["published_estimate"] = filled["published_estimate"].fillna(filled["published_choice"])
    return filled.drop(columns=["chosen", "published_choice"])


def by_point(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Means at each prevalence, in points.

    Returns
    -------
    DataFrame
        With the columns `experiment`, `dataset`, `method`, `negative`, `point`, `truth`, `mae`,
        `sd` (of the absolute errors), `published_mae` (measured as the authors did), `bias`, `n`
        (answers) and `failures`.
    """
    groups = evaluations.groupby([*_GROUP, "point"], sort=True)
    frame = groups.agg(
        truth=("truth", "mean"),
        mae=("error", "mean"),
        sd=("error", "std"),
        published_mae=("published_error", "mean"),
        bias=("bias", "mean"),
        n=("error", "count"),
        failures=("message", "count"),
    )
    return frame.reset_index()


def errors(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute error and standard deviation for each table, data set and method, in points.

    As in the paper, the standard deviation is that at one prevalence, averaged over the
    prevalences. In Experiment #3 the numbers are those of one sub-class: the first that at least
    half, three quarters or all of the sub-classes are no worse than.

    A data set with one negative sub-class has samples of the same kind in #1 and #3, and in #3
    those of both count.

    A row without any answer at one of the prevalences, or without one of the sub-classes, would
    not be comparable with the others, and its numbers are NaN.

    Returns
    -------
    DataFrame
        With columns `table` (the experiment, or 3a, 3b, 3c), `dataset`, `method`, `mae`, `sd`,
        `published_mae` (measured as the authors did, which differs in #2 alone), `folds` (their
        number, five in a repetition), and `failed`: whether the numbers are NaN because the method
        failed.
    """
    evaluations = _with_samples_of_1(evaluations[evaluations["experiment"] != "4"])
    points = by_point(evaluations)
    groups = points.assign(answered=points["n"] > 0).groupby(_GROUP, sort=False)
    means = groups.agg(
        mae=("mae", "mean"),
        sd=("sd", "mean"),
        published_mae=("published_mae", "mean"),
        answered=("answered", "sum"),
        failures=("failures", "sum"),
    )
    folds = evaluations.groupby([*_GROUP, "repetition", "fold"]).size().groupby(_GROUP).size()
    means = means.assign(folds=folds).reset_index()
    wanted = points.groupby(["experiment", "dataset"])["point"].nunique().rename("wanted")
    means = means.join(wanted, on=["experiment", "dataset"])
    empty = means["answered"] < means["wanted"]
    means.loc[empty, ["mae", "sd", "published_mae"]] = math.nan
    means["failed"] = empty & (means["failures"] > 0)
    by_negative = means["experiment"] == "3"
    plain = means[~by_negative].rename(columns={"experiment": "table"})
    frames = [plain[_ERRORS], *_over_negatives(means[by_negative])]
    frame = pd.concat(frames, ignore_index=True)
    return frame.astype(dict.fromkeys(_NUMBERS_OF_ERRORS, float) | {"failed": bool})


def _with_samples_of_1(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Give #3 the samples of #1 too, as the paper does, where there is one negative sub-class."""
    third = evaluations[evaluations["experiment"] == "3"]
    n_negatives = third.groupby("dataset")["negative"].nunique()
    single = [d for d, n in n_negatives.items() if n == N_NEGATIVES.get(str(d), n) == 1]
    only = dict(third.drop_duplicates("dataset").set_index("dataset")["negative"])
    methods = set(third[third["dataset"].isin(single)]["method"])
    first = evaluations[(evaluations["experiment"] == "1") & evaluations["dataset"].isin(single)]
    more = first[first["method"].isin(methods)].assign(experiment="3")
    more["negative"] = more["dataset"].map(only)
    # Repetitions of their own.
    more["repetition"] = -1 - more["repetition"]
    return pd.concat([evaluations, more], ignore_index=True)


def _over_negatives(means: pd.DataFrame) -> list[pd.DataFrame]:
    n_negatives = means.groupby("dataset")["negative"].nunique()
    rows = []
    for (dataset, method), group in means.groupby(["dataset", "method"], sort=False):
        ordered = group.sort_values("mae", kind="stable")
        wanted = max(n_negatives[dataset], N_NEGATIVES.get(str(dataset), 1))
        whole = len(group) == wanted and bool(group["mae"].notna().all())
        for table, quantile in QUANTILES.items():
            chosen = ordered.iloc[math.ceil(quantile * (len(ordered) - 1))]
            numbers = chosen[_NUMBERS_OF_ERRORS] if whole else [math.nan] * 4
            rows.append((table, dataset, method, *numbers, bool(group["failed"].any())))
    return [pd.DataFrame(rows, columns=_ERRORS)] if rows else []


def repetitions(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Repetitions, evaluations and failures of each method on each data set.

    Returns
    -------
    DataFrame
        With columns `experiment`, `dataset`, `method`, `repetitions` (a fifth for each fold, in #3
        of the sub-class that has the fewest), `evaluations`, `failures`.
    """
    folds = evaluations.groupby([*_GROUP, "repetition", "fold"], sort=False).size()
    n_folds = folds.groupby(_GROUP, sort=False).size().groupby(_METHOD, sort=False).min()
    whole = [1 if experiment == "4" else N_FOLDS for experiment, *_ in n_folds.index]
    groups = evaluations.groupby(_METHOD, sort=False)
    frame = groups.agg(evaluations=("point", "size"), failures=("message", "count"))
    return frame.assign(repetitions=n_folds / whole).reset_index()


def intervals(evaluations: pd.DataFrame) -> pd.DataFrame:
    """How often intervals cover the truth, and how wide they are, for methods that have intervals.

    Returns
    -------
    DataFrame
        With columns `experiment`, `dataset`, `method`, `coverage` (percent), `width` (points).
    """
    rows = evaluations[evaluations["low"].notna() & evaluations["high"].notna()]
    rows = rows[rows["experiment"] != "4"]
    held = (rows["low"] <= rows["truth"]) & (rows["truth"] <= rows["high"])
    rows = rows.assign(coverage=100.0 * held, width=100 * (rows["high"] - rows["low"]))
    return rows.groupby(_METHOD, sort=False)[["coverage", "width"]].mean().reset_index()


def seconds(evaluations: pd.DataFrame) -> pd.DataFrame:
    """CPU seconds of Experiment #4: for fitting once, and for quantifying the eleven samples.

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
