"""A series of groups: raw answers with intervals, changes marked, the smoothed line apart."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from poscount.change import Trend, TrendPoint
from poscount.change.trend_result import marked
from poscount.plotting.display import BLUE, COLOURS, GREEN, ORANGE, PURPLE, Display, plain
from poscount.plotting.prevalences import MANY, place_on_axis

GREY = COLOURS[-1]


class TrendDisplay(Display):
    """A trend: a point with its interval for each group, and marks where it has changed.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from poscount import PAT, trend
    >>> from poscount.example import load_example
    >>> positives, trap, _ = load_example()
    >>> found = trend(PAT(random_state=0).fit(positives), trap, "night", smooth=True)
    >>> display = TrendDisplay.from_trend(found)
    >>> display.ax_.get_ylabel()
    'share of positives (%)'
    """

    @classmethod
    def from_trend(cls, trend: Trend, *, ax: Any = None) -> Self:
        """Draw a trend.

        Parameters
        ----------
        trend : Trend
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        points, own_figure = trend.points, ax is None
        display = cls._on(ax, (min(14.0, 4.5 + 0.4 * len(points)), 4.8))
        ax = display.ax_
        places = place_on_axis(ax, [point.label for point in points])
        top = display._draw_answers(trend, places)
        if trend.smooth:
            top = max(top, display._draw_smoothed(points, places))
        display._mark_changes(points, places)
        display._shade(trend, places)
        display._draw_claim(trend, places)
        ax.set_ylim(-2, max(10.0, 1.08 * top + 4))
        ax.set_xlim(places[0] - 0.7, places[-1] + 0.7)
        display._finish(
            xlabel=plain(trend.by),
            ylabel="share of positives (%)",
            title=plain(f"Share of positives, {trend.method}"),
            grid="y",
        )
        if own_figure:
            # Below the picture, because a series fills it.
            ax.get_legend().remove()
            columns = 4 if len(points) > 12 else 2
            display.figure_.legend(frameon=False, loc="outside lower center", ncols=columns)
        return display

    def _draw_answers(self, trend: Trend, places: np.ndarray) -> float:
        with_rows = [i for i, point in enumerate(trend.points) if point.prevalence is not None]
        values, low, high = 100 * np.array([trend.points[i].prevalence for i in with_rows], float).T
        bars = np.maximum(0, [values - low, high - values])
        many = len(values) > MANY
        self.ax_.errorbar(
            places[with_rows],
            values,
            bars,
            fmt="o",
            color=BLUE,
            alpha=0.75,
            markersize=3 if many else 5,
            elinewidth=0.8 if many else 1.2,
            label=f"estimate, {100 * trend.level:g} % interval",
        )
        return float(high.max())

    def _draw_claim(self, trend: Trend, places: np.ndarray) -> None:
        """The step or the slope, whichever is claimed."""
        style = {"color": PURPLE, "linewidth": 2.5, "zorder": 0}
        if trend.step.changed:
            at = next(i for i, point in enumerate(trend.points) if point.label == trend.step.at)
            first, last, middle = places[0] - 0.5, places[-1] + 0.5, places[at] - 0.5
            before, after = 100 * trend.step.before, 100 * trend.step.after
            self.ax_.plot(
                [first, middle, middle, last], [before, before, after, after], label="step", **style
            )
        elif trend.slope is not None and trend.slope.changed:
            shown = [i for i, point in enumerate(trend.points) if point.prevalence is not None]
            points = [trend.points[i] for i in shown]
            rows = [point.n_rows for point in points]
            values = 100 * np.array(
                [point.prevalence.value for point in points if point.prevalence]
            )
            when = np.array([point.place for point in points])
            line = np.average(values, weights=rows) + 100 * trend.slope.value * (
                when - np.average(when, weights=rows)
            )
            self.ax_.plot(places[shown], line, label="slope", **style)

    def _draw_smoothed(self, points: list[TrendPoint], places: np.ndarray) -> float:
        """A line through all groups that have rows; a gap does not break it."""
        chosen = [i for i, point in enumerate(points) if point.smoothed is not None]
        value, low, high = 100 * np.array([points[i].smoothed for i in chosen], float).T
        self.ax_.plot(places[chosen], value, color=GREEN, linewidth=2, label="smoothed")
        self.ax_.fill_between(
            places[chosen], low, high, color=GREEN, alpha=0.15, linewidth=0, label="its interval"
        )
        return float(high.max())

    def _mark_changes(self, points: list[TrendPoint], places: np.ndarray) -> None:
        label: str | None = "changed from the one before"
        for i, point in enumerate(points):
            if not marked(point.from_previous):
                continue
            middle = (places[i - 1] + places[i]) / 2
            self.ax_.axvline(middle, color=ORANGE, alpha=0.8, ls="--", label=label)
            label = None  # once in the legend
        changed = [i for i, point in enumerate(points) if marked(point.from_baseline)]
        if changed:
            values = [100 * p.value for i in changed if (p := points[i].prevalence)]
            style = {"s": 90, "facecolors": "none", "edgecolors": ORANGE, "linewidths": 1.3}
            self.ax_.scatter(places[changed], values, label="changed from the baseline", **style)

    def _shade(self, trend: Trend, places: np.ndarray) -> None:
        inside = [i for i, point in enumerate(trend.points) if point.in_baseline]
        if inside:
            first, last = places[inside[0]] - 0.5, places[inside[-1]] + 0.5
            self.ax_.axvspan(first, last, color=GREY, alpha=0.25, linewidth=0, label="baseline")
        empty = [i for i, point in enumerate(trend.points) if point.prevalence is None]
        if empty:
            height = np.zeros(len(empty))
            self.ax_.plot(places[empty], height, "x", color=GREY, label="no rows")
