"""Prevalences of several samples with their intervals, beside the truth where it is known."""

from __future__ import annotations

import datetime
import importlib
import math
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from poscount.base.quantifier import Quantifier
from poscount.plotting.display import BLUE, ORANGE, Display, plain
from poscount.results.groups import GroupAnswers
from poscount.results.prevalence import Prevalence

Label = str | datetime.date
# With more groups than this, marks are smaller and some labels are left out.
MANY = 40
# Characters of a verdict, and of one of its lines.
_MOST_VERDICT, _LINE = 400, 78


class ByGroupDisplay(Display, ABC):
    """Answers by group, from a fitted model or as they are."""

    title: ClassVar[str]

    @classmethod
    def from_estimator(
        cls, model: Quantifier, frame: Any, by: str | Sequence[str], *, ax: Any = None
    ) -> Self:
        """Draw a fitted model's answer for each group of a frame.

        Parameters
        ----------
        model : fitted quantifier
        frame : pandas, polars or pyarrow frame
        by : str or sequence of str
            Column or columns whose values define the groups.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        return cls.from_groups(model.quantify_groups(frame, by), ax=ax)

    @classmethod
    def from_groups(cls, groups: GroupAnswers, *, ax: Any = None) -> Self:
        """Draw the answers of groups.

        Parameters
        ----------
        groups : GroupAnswers
            What `quantify_groups` returned.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        answers = list(groups.values())
        return cls.from_predictions(
            answers,
            [group_label(values) for values in groups],
            title=f"{cls.title}, {answers[0].method}" if answers else cls.title,
            xlabel=", ".join(groups.by),
            ax=ax,
        )

    @classmethod
    @abstractmethod
    def from_predictions(cls, answers: Any, labels: Sequence[Label], **options: Any) -> Self:
        """Draw answers."""


class PrevalenceDisplay(ByGroupDisplay):
    """Prevalence by group: a point with its interval for each.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from poscount import Distribution, Prevalence
    >>> p = Prevalence(0.3, n_labeled=400, n_unlabeled=900, method="PAT",
    ...                distribution=Distribution(np.linspace(0.25, 0.35, 49)))
    >>> display = PrevalenceDisplay.from_predictions([p], ["Monday"], truth=[0.31])
    >>> display.ax_.get_ylabel()
    'share of positives (%)'
    """

    title = "Share of positives"

    @classmethod
    def from_prevalence(cls, prevalence: Prevalence, *, ax: Any = None) -> Self:
        """Draw one answer: a bar with its interval, below the verdict.

        Parameters
        ----------
        prevalence : Prevalence
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        display = cls._on(ax, (6.4, 1.9))
        ax, value = display.ax_, 100 * float(prevalence)
        ax.barh(0, value, height=0.5, color=BLUE, label="estimate")
        if prevalence.interval:
            *_, ends = in_percent([prevalence])
            label = f"{100 * prevalence.interval.level:g} % interval"
            ax.errorbar(value, 0, xerr=ends, fmt="none", ecolor=ORANGE, capsize=5, label=label)
        ax.set_xlim(0, 100)
        ax.set_ylim(-0.5, 1.1)  # with room for the legend
        ax.set_yticks([])
        display._finish(xlabel="share of positives (%)", grid="x", loc="upper right", ncols=2)
        told = textwrap.wrap(plain(str(prevalence.verdict), _MOST_VERDICT), _LINE)
        head = f"{value:.1f} % of {prevalence.n_unlabeled:,} rows, {plain(prevalence.method)}"
        ax.set_title("\n".join([head, *told]), loc="left", fontsize="medium")
        return display

    @classmethod
    def from_predictions(  # type: ignore[override]
        cls,
        prevalences: Sequence[Prevalence],
        labels: Sequence[Label],
        *,
        truth: Sequence[float] | None = None,
        title: str | None = None,
        xlabel: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw prevalences.

        Parameters
        ----------
        prevalences : sequence of Prevalence
        labels : sequence of str, or of dates or times
            The group of each prevalence. Dates and times are placed on a time axis.
        truth : sequence of float, optional
            The true shares, where they are known.
        title, xlabel : str, optional
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        check_lengths(prevalences, labels, truth)
        display = cls._on(ax, (min(16.0, 3.2 + 0.62 * len(prevalences)), 4.2))
        ax = display.ax_
        places = place_on_axis(ax, labels)
        values, high, bars = in_percent(prevalences)
        levels = sorted({f"{100 * p.interval.level:g} %" for p in prevalences if p.interval})
        label = f"estimate, {' or '.join(levels)} interval" if levels else "estimate"
        many = len(values) > MANY
        marks = {"markersize": 3, "elinewidth": 0.8} if many else {"capsize": 4}
        ax.errorbar(places, values, bars, fmt="o", color=BLUE, label=label, **marks)
        if truth is not None:
            cross = {"marker": "x", "s": 12 if many else 55, "linewidths": 1 if many else 2}
            shares = 100 * np.asarray(truth)
            ax.scatter(places, shares, label="truth", color=ORANGE, zorder=3, **cross)
            high = np.maximum(high, shares)
        ax.set_ylim(-2, max(10.0, 1.08 * high.max() + 2))
        return display._finish(
            xlabel=plain(xlabel or ""),
            ylabel="share of positives (%)",
            title=plain(title or ""),
            grid="y",
        )


def in_percent(prevalences: Sequence[Prevalence]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values, upper ends of their intervals, and how far the intervals reach down and up.

    An interval that there is not has no width.

    Returns
    -------
    values, high : ndarray of shape (n_prevalences,)
    bars : ndarray of shape (2, n_prevalences)
    """
    values = 100 * np.array([float(p) for p in prevalences])
    ends = [(p.interval.low, p.interval.high) if p.interval else (p, p) for p in prevalences]
    low, high = 100 * np.array(ends, dtype=float).T
    return values, high, np.maximum(0, [values - low, high - values])


def group_label(values: Iterable[Any]) -> Label:
    """Label of a group from the values of its grouping columns; a single date stays a date.

    Examples
    --------
    >>> group_label(["north", 3])
    'north, 3'
    >>> group_label([None])
    'missing'
    """
    values = list(values)
    if len(values) == 1 and isinstance(values[0], datetime.date):
        return values[0]
    return ", ".join("missing" if value is None else str(value) for value in values)


def check_lengths(
    prevalences: Sequence[Any], labels: Sequence[Label], truth: Sequence[float] | None
) -> None:
    """Refuse nothing to draw, and lists of different lengths."""
    n = len(prevalences)
    if n == 0:
        raise ValueError("There is no prevalence to draw.")
    for name, others in (("labels", labels), ("truth", truth)):
        if others is not None and len(others) != n:
            raise ValueError(
                f"{name} has {len(others)} entries for {n} prevalences: give one for each."
            )


def place_on_axis(ax: Any, labels: Sequence[Label]) -> np.ndarray:
    """Places of the groups on the axis, which gets their labels."""
    if len(set(labels)) > 1 and all(isinstance(label, datetime.date) for label in labels):
        # Only half of its functions are annotated: imported this way, all of them are Any.
        dates: Any = importlib.import_module("matplotlib.dates")
        # Without a minimum of two, three nights would get a label every six hours.
        locator = dates.AutoDateLocator(minticks=2, maxticks=12)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        return dates.date2num(labels)
    places = np.arange(len(labels))
    shown = slice(None, None, math.ceil(len(labels) / MANY))
    texts = [plain(str(label)) for label in labels[shown]]
    crowded = max(map(len, texts)) > max(4, 40 / len(texts))
    turned = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
    ax.set_xticks(places[shown], texts, **turned)
    return places
