"""The report's pictures: average ranks, curves in panels, and numbers as dots."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scikit_posthocs import critical_difference_diagram

from poscount.plotting.display import BLUE, COLOURS, MARKERS, ORANGE, light, plain, pyplot


def draw_ranks(
    ranks: Mapping[str, float],
    p_values: Any,
    *,
    level: float,
    critical_difference: float,
    title: str,
) -> Any:
    """Critical-difference diagram: average ranks, with bars over those that a test cannot separate.

    Parameters
    ----------
    ranks : mapping of str to float
        Average rank of each method; low is good.
    p_values : DataFrame
        Of every pair, with the methods as index and columns.
    level : float
        Below which a p-value is significant.
    critical_difference : float
        Smallest significant difference of average ranks.
    title : str

    Returns
    -------
    matplotlib.figure.Figure

    References
    ----------
    J. Demsar, "Statistical Comparisons of Classifiers over Multiple Data Sets", JMLR 7, 2006.
    """
    # Half of the names stand on each side, and the bars take some space as well.
    size = (9.0, 2.2 + 0.2 * len(ranks))
    figure, ax = pyplot().subplots(figsize=size, layout="constrained")
    critical_difference_diagram(
        {plain(name): value for name, value in ranks.items()},
        p_values.rename(index=plain, columns=plain),
        alpha=level,
        ax=ax,
        label_fmt_left="{label} ({rank:.1f})  ",
        label_fmt_right="  ({rank:.1f}) {label}",
        label_props={"fontsize": 10},
        marker_props={"color": BLUE, "s": 22},
        elbow_props={"color": "#333333", "linewidth": 0.9},
        crossbar_props={"color": BLUE, "linewidth": 3.5},
        text_h_margin=0.04 * len(ranks),
    )
    ax.set_xlabel("average rank, 1 is best")
    ax.xaxis.set_label_position("top")
    bars = f"bars: no significant difference (level {level:g}, critical difference "
    ax.set_title(f"{plain(title)}\n{bars}{critical_difference:.2f} ranks)", fontsize=10)
    return figure


class Curve(NamedTuple):
    """One curve of a panel.

    Attributes
    ----------
    label : str
        Name in the legend; the same in all panels.
    x, y : array-like of float
    level : float, optional
        Height of a dotted line of the same colour across the panel.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    level: float | None = None


def draw_curves(
    panels: Mapping[str, Sequence[Curve]], *, xlabel: str, ylabel: str, title: str
) -> Any:
    """Panels that share their axes and one legend, at most four in a row.

    Parameters
    ----------
    panels : mapping of str to sequence of Curve
        By the titles of the panels, with at most as many different labels as there are `COLOURS`.
    xlabel, ylabel : str
        What is drawn, with its unit.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    labels = list(dict.fromkeys(curve.label for panel in panels.values() for curve in panel))
    n_columns = max(2, min(4, len(panels)))
    n_rows = max(1, math.ceil(len(panels) / n_columns))
    # Laid out by hand, in inches: matplotlib's own layouts take most of the time of a drawing.
    width, height = 1.0 + 2.5 * n_columns, 2.2 * n_rows
    bottom, top = 0.75 + 0.22 * math.ceil(len(labels) / 4), 0.65
    total = bottom + height + top
    figure, grid = pyplot().subplots(
        n_rows, n_columns, figsize=(width, total), sharex=True, sharey=True, squeeze=False
    )
    figure.subplots_adjust(
        left=0.75 / width,
        right=1 - 0.15 / width,
        bottom=bottom / total,
        top=1 - top / total,
        wspace=0.12,
        hspace=0.3,
    )
    handles: dict[str, Any] = {}
    for ax, (name, panel) in zip(grid.flat, panels.items(), strict=False):
        for curve in panel:
            place = labels.index(curve.label)
            colour = COLOURS[place]
            marked = {"marker": MARKERS[place], "markersize": 3.5} if np.size(curve.x) < 20 else {}
            (line,) = ax.plot(curve.x, curve.y, color=colour, linewidth=1.3, **marked)
            handles.setdefault(curve.label, line)
            if curve.level is not None:
                ax.axhline(curve.level, color=colour, linewidth=1.0, linestyle=":")
        ax.set_title(plain(name), fontsize=10, y=1.0)
        light(ax)
    for ax in grid.flat[len(panels) :]:
        ax.set_visible(False)
    # The panels share their limits, which are known only now.
    if any(np.min(curve.y) < 0 for panel in panels.values() for curve in panel):
        for ax in grid.flat[: len(panels)]:
            ax.axhline(0, color="black", linewidth=0.8)
    else:
        grid.flat[0].set_ylim(bottom=0)
    for i, ax in enumerate(grid.flat[: len(panels)]):
        if i + n_columns >= len(panels):
            ax.tick_params(labelbottom=True)
    figure.legend(
        list(handles.values()),
        [plain(label) for label in handles],
        loc="lower center",
        ncols=min(4, max(1, len(labels))),
        frameon=False,
        fontsize=9,
    )
    figure.supxlabel(xlabel, fontsize=10, y=(bottom - 0.5) / total)
    figure.supylabel(ylabel, fontsize=10, x=0.15 / width)
    figure.suptitle(plain(title), fontsize=11, y=1 - 0.2 / total)
    return figure


def draw_dots(numbers: Mapping[str, Mapping[str, float]], *, xlabel: str, title: str) -> Any:
    """Positive numbers on a logarithmic axis: a line for each method, a dot for each data set.

    Parameters
    ----------
    numbers : mapping of str to mapping of str to float
        For each method the numbers by data set; the smallest median is at the top.
    xlabel : str
        What is drawn, with its unit.
    title : str

    Returns
    -------
    matplotlib.figure.Figure
    """
    medians = {name: median(values.values()) for name, values in numbers.items() if values}
    names = sorted(medians, key=medians.__getitem__)
    size = (8.0, 1.6 + 0.28 * len(names))
    figure, ax = pyplot().subplots(figsize=size, layout="constrained")
    for place, name in enumerate(names):
        values = list(numbers[name].values())
        small = {"s": 18, "color": BLUE, "alpha": 0.7}
        ax.scatter(values, [place] * len(values), **small, label="one data set")
    ax.scatter(
        [medians[name] for name in names],
        range(len(names)),
        marker="|",
        s=160,
        linewidths=2.5,
        color=ORANGE,
        label="median",
    )
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_formatter("{x:g}" if high < 10 * low else "")
    ax.set_yticks(range(len(names)), [plain(name) for name in names])
    ax.invert_yaxis()
    ax.set_xlabel(xlabel)
    light(ax, "x")
    handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    ax.legend(handles.values(), handles.keys(), frameon=False, loc="best")
    ax.set_title(plain(title), fontsize=11)
    return figure
