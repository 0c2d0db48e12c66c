"""The report's pictures, as PNG."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from poscount.experiments.report.results import Curves, dataset_order, label, method_order
from poscount.experiments.report.significance import LEVEL, Ranking
from poscount.plotting import CriticalDifferenceDisplay, Curve, CurvesDisplay, DotsDisplay
from poscount.plotting.png import png
from poscount.plotting.style import COLOURS, pyplot

_PREVALENCE = "true share of positives (%)"
_MAE = "mean absolute error (points)"


class Picture(NamedTuple):
    """A picture of the report.

    Attributes
    ----------
    name : str
        Stem of its file name.
    title : str
        What it shows, also for those who cannot see it.
    png : bytes
    """

    name: str
    title: str
    png: bytes


def critical_difference(ranking: Ranking, name: str, title: str) -> Picture:
    """Average ranks with the bars of Nemenyi's test."""
    names = {method: label(str(method)) for method in ranking.ranks.columns}
    p_values = ranking.nemenyi().rename(index=names, columns=names)
    display = CriticalDifferenceDisplay.from_ranks(
        ranking.average.rename(names).to_dict(),
        p_values,
        level=LEVEL,
        critical_difference=ranking.critical_difference,
        title=title,
    )
    return _picture(display, name, title)


def by_prevalence(points: pd.DataFrame, name: str, title: str, order: list[str]) -> list[Picture]:
    """Error and bias by true prevalence, a panel for each data set, eight methods a picture.

    Parameters
    ----------
    points : DataFrame
        From `poscount.experiments.report.results.by_point`, of one experiment.
    name, title : str
    order : list of str
        Methods, best first.
    """
    pictures = []
    groups = [order[i : i + len(COLOURS)] for i in range(0, len(order), len(COLOURS))]
    datasets = dataset_order(list(points["dataset"].unique()))
    rows = dict(iter(points.dropna(subset="mae").groupby(["dataset", "method"])))
    for quantity, ylabel in [("mae", _MAE), ("bias", "bias: estimate minus truth (points)")]:
        for i, group in enumerate(groups):
            panels = {
                dataset: [
                    Curve(label(method), 100 * part["truth"], part[quantity])
                    for method in group
                    if (part := rows.get((dataset, method))) is not None
                ]
                for dataset in datasets
            }
            what = "Error" if quantity == "mae" else "Bias"
            part = f", methods {i * len(COLOURS) + 1} to {i * len(COLOURS) + len(group)} by rank"
            text = f"{what} by true prevalence, {title}{part if len(groups) > 1 else ''}"
            display = CurvesDisplay.from_panels(
                panels, xlabel=_PREVALENCE, ylabel=ylabel, title=text
            )
            pictures.append(_picture(display, f"{quantity}-by-prevalence-{name}-{i + 1}", text))
    return pictures


def by_q(curves: list[Curves], medians: dict[tuple[str, str], float]) -> Picture | None:
    """MAE of PAT against q, for each of its scorers, with the median's as a dotted line."""
    own = [c for c in curves if c.experiment == "1" and c.method.startswith("pat")]
    scorers = method_order(sorted({c.method for c in own}))[: len(COLOURS)]
    panels: dict[str, list[Curve]] = {}
    for dataset in dataset_order(sorted({c.dataset for c in own})):
        found = {c.method: c for c in own if c.dataset == dataset}
        panels[dataset] = [
            Curve(
                label(method), quantiles(found[method]), found[method].mae, medians[dataset, method]
            )
            for method in scorers
            if method in found
        ]
    if not panels:
        return None
    title = "PAT: error of each single q (lines) and of the median over q (dotted), #1"
    display = CurvesDisplay.from_panels(
        panels, xlabel="q, quantile of the positives' scores", ylabel=_MAE, title=title
    )
    return _picture(display, "pat-by-q", title)


def quantiles(curves: Curves) -> np.ndarray:
    """The q of each column of PAT's curves: .25 to .75."""
    return np.linspace(0.25, 0.75, curves.estimates.shape[1])


def by_threshold(curves: list[Curves]) -> Picture | None:
    """MAE of classify-and-count against the percentile of its threshold, by data set."""
    own = {c.dataset: c for c in curves if c.experiment == "1" and c.method == "bft"}
    if not own:
        return None
    panels = {
        dataset: [Curve("classify and count", np.arange(own[dataset].mae.size), own[dataset].mae)]
        for dataset in dataset_order(list(own))
    }
    title = "BFT: error by threshold, #1; the oracle takes the lowest point"
    display = CurvesDisplay.from_panels(
        panels, xlabel="percentile of the training scores", ylabel=_MAE, title=title
    )
    return _picture(display, "bft-by-threshold", title)


def seconds(times: pd.DataFrame) -> Picture:
    """CPU seconds of quantifying eleven samples."""
    positive = times[times["quantify"] > 0]
    numbers = {
        label(str(method)): dict(zip(rows["dataset"], rows["quantify"], strict=True))
        for method, rows in positive.groupby("method")
    }
    title = "Time to quantify eleven samples, #4"
    display = DotsDisplay.from_numbers(numbers, xlabel="CPU seconds", title=title)
    return _picture(display, "seconds", title)


def _picture(display: Any, name: str, title: str) -> Picture:
    picture = Picture(name, title, png(display.figure_))
    pyplot().close(display.figure_)
    return picture
