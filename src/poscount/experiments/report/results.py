"""Results of a store as data frames: the evaluations, and their means by prevalence."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from poscount.experiments import methods, published
from poscount.experiments.store import FORMAT

CELL = ["experiment", "dataset", "method", "negative"]
_KEY = [*CELL, "repetition", "fold", "point"]
_NUMBERS = ["truth", "published_truth", "estimate", "low", "high", "fit_seconds", "seconds"]


# What the authors took for the truth in Experiment #2: the positives drawn, over the rows that were
# wanted. Whole rows of many sub-classes are fewer than wanted, most of all where few negatives are;
# all rows are positive at the last point, and none is missing there.
_WITH_PUBLISHED_TRUTH = """
SELECT e.*, CASE e.experiment WHEN '2' THEN e.truth * e.n_unlabeled / last.n_unlabeled
            ELSE e.truth END AS published_truth
FROM evaluations AS e LEFT JOIN evaluations AS last
ON e.experiment = '2' AND last.point = 10 AND (e.experiment, e.dataset, e.method, e.negative,
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


class Results(NamedTuple):
    """All that a report needs of a store.

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


def read(path: str | Path) -> Results:
    """Read a results file; it is not changed."""
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(2, "There is no such results file", str(source))
    connection = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True, timeout=60)
    try:
        about = dict(connection.execute("SELECT key, value FROM about").fetchall())
        if about.get("format") != FORMAT:
            raise ValueError(
                f"{source}: this results file has the format {about.get('format')!r}, and this "
                f"version of poscount reads {FORMAT!r}."
            )
        runs = pd.read_sql_query("SELECT * FROM runs ORDER BY run", connection)
        datasets = pd.read_sql_query("SELECT * FROM datasets", connection)
        columns = ", ".join([*_KEY, *_NUMBERS, "error AS message"])
        evaluations = pd.read_sql_query(
            f"SELECT {columns} FROM ({_WITH_PUBLISHED_TRUTH})", connection
        )
        curves = _curves(connection)
    except (sqlite3.Error, pd.errors.DatabaseError) as error:
        raise ValueError(
            f"{source} is not a results file of `poscount reproduce`: {error}."
        ) from error
    finally:
        connection.close()
    strange = [e for e in evaluations["experiment"].unique() if not e.isalnum()]
    if strange:
        # Experiments name the report's files.
        raise ValueError(
            f"{source}: {strange[0]!r} is no experiment; names are letters and digits."
        )
    evaluations[_NUMBERS] = evaluations[_NUMBERS].astype(float)
    evaluations = _with_oracle(evaluations, curves)
    evaluations["bias"] = 100 * (evaluations["estimate"] - evaluations["truth"])
    evaluations["error"] = evaluations["bias"].abs()
    theirs = evaluations["published_estimate"] - evaluations["published_truth"]
    evaluations["published_error"] = 100 * theirs.abs()
    return Results(about, runs, datasets, evaluations, curves)


def by_point(evaluations: pd.DataFrame) -> pd.DataFrame:
    """Means at each prevalence of each cell, in points.

    Returns
    -------
    DataFrame
        Indexed by experiment, dataset, method, negative and point, with the columns `truth`,
        `mae`, `sd` (of the absolute errors), `published_mae` (measured as the authors did), `bias`,
        `n` (answers) and `failures`.
    """
    groups = evaluations.groupby([*CELL, "point"], sort=True)
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


def method_order(names: list[str]) -> list[str]:
    """Methods in the order of the tables: the paper's, then the others as they are registered."""
    known = [*methods.GROUPS["all"], *methods.GROUPS["scorers"]]
    return sorted(names, key=lambda name: (known.index(name) if name in known else 1000, name))


def dataset_order(names: list[str]) -> list[str]:
    """Data sets in the order of the tables: those of the paper first."""
    return sorted(names, key=lambda name: (name not in published.DATASETS, name))


def label(method: str) -> str:
    """What tables call a method; one that this version does not know keeps its name."""
    try:
        return methods.resolve(method).label
    except ValueError:
        return method


def column(method: str) -> str | None:
    """Column of a method in the paper's tables, if it has one."""
    try:
        return methods.resolve(method).column
    except ValueError:
        return None


def _curves(connection: sqlite3.Connection) -> list[Curves]:
    columns = [*_KEY, "truth", "published_truth", "curve"]
    query = (
        f"SELECT {', '.join(columns)} FROM ({_WITH_PUBLISHED_TRUTH}) WHERE curve IS NOT NULL "
        "AND truth IS NOT NULL AND (method = 'bft' OR experiment = '1')"
    )
    frame = pd.read_sql_query(query, connection)
    found = []
    # The oracle has one threshold for a data set, whatever its negatives are.
    for (experiment, dataset, method), group in frame.groupby(CELL[:3], sort=True):
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
