"""Our numbers beside those of the paper."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from poscount.experiments import published
from poscount.experiments.report.results import column
from poscount.experiments.report.significance import rank

# A cell agrees with the paper if it is as near as one of these, whichever is wider.
POINTS, SHARE = 1.0, 0.15


def beside(cells: pd.DataFrame) -> pd.DataFrame:
    """Every cell that the paper has, too, with the difference; ours measured as the authors did.

    Parameters
    ----------
    cells : DataFrame
        From `poscount.experiments.report.cells.errors`.

    Returns
    -------
    DataFrame
        With columns `table`, `dataset`, `method`, `mae`, `sd`, `published`, `published_sd`,
        `difference`, `within` and `explanation`.
    """
    rows = []
    for cell in cells[cells["mae"].notna()].itertuples(index=False):
        theirs = published.comparable(cell.table, cell.dataset, column(cell.method))
        if theirs is None:
            continue
        difference = cell.published_mae - theirs.mae
        within = abs(difference) <= max(POINTS, SHARE * theirs.mae)
        sentence = published.explanation(cell.table, cell.dataset, cell.method)
        sd = math.nan if theirs.sd is None else theirs.sd
        ours = (cell.published_mae, cell.sd)
        rows.append((*cell[:3], *ours, theirs.mae, sd, difference, within, sentence))
    names = ["table", "dataset", "method", "mae", "sd", "published", "published_sd", "difference"]
    return pd.DataFrame(rows, columns=[*names, "within", "explanation"])


class Agreement(NamedTuple):
    """Average ranks of the same methods on the same data sets, ours and the paper's.

    Attributes
    ----------
    ranks : DataFrame
        A row for each method, best of ours first, with columns `ours` and `published`.
    datasets : list of str
        Over which data sets.
    spearman : float
        Correlation of the two; NaN for fewer than three methods.
    """

    ranks: pd.DataFrame
    datasets: list[str]
    spearman: float


def agreement(compared: pd.DataFrame, table: str, columns: tuple[str, ...] = ()) -> Agreement:
    """Compare average ranks with the paper's, computed from its cells.

    Parameters
    ----------
    compared : DataFrame
        From `beside`.
    table : str
        Experiment, or 3a, 3b, 3c.
    columns : tuple of str
        Columns of the paper that take part; all by default.
    """
    rows = compared[compared["table"] == table]
    if columns:
        rows = rows[rows["method"].map(column).isin(columns)]
    ours = rows.pivot(index="dataset", columns="method", values="mae")
    ranking = rank(ours, ours.isna() & False)
    names = list(ranking.ranks.columns)
    datasets = [str(dataset) for dataset in ranking.ranks.index]
    theirs = published.average_ranks(table, datasets, [column(name) or "" for name in names])
    frame = pd.DataFrame(
        {
            "ours": ranking.ranks.mean().to_numpy(dtype=float),
            "published": np.array(list(theirs.values()), dtype=float),
        },
        index=pd.Index(names, name="method"),
    ).sort_values("ours", kind="stable")
    varied = len(frame) > 2 and frame.nunique().min() > 1
    rho = float(spearmanr(frame["ours"], frame["published"]).statistic) if varied else math.nan
    return Agreement(frame, datasets, rho)


def seconds(times: pd.DataFrame) -> pd.DataFrame:
    """Our seconds of Experiment #4 beside the paper's, which come from another machine.

    Parameters
    ----------
    times : DataFrame
        From `poscount.experiments.report.cells.seconds`.

    Returns
    -------
    DataFrame
        With columns `dataset`, `method`, `part`, `seconds`, `published`.
    """
    rows = []
    for row in times.itertuples(index=False):
        name = column(row.method)
        if name in ("KM1", "KM2"):
            name = "KM"  # one run gives both
        parts = {f"{name}_quantify_only": ("quantify", row.quantify)}
        parts[str(name)] = ("fit and quantify", row.fit + row.quantify)
        for key, (part, ours) in parts.items():
            theirs = published.seconds().get((row.dataset, key))
            if theirs is not None and row.dataset in published.DATASETS:
                rows.append((row.dataset, row.method, part, ours, theirs))
    return pd.DataFrame(rows, columns=["dataset", "method", "part", "seconds", "published"])
