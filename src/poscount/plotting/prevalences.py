"""Prevalences of several samples with their intervals, beside the truth where it is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from poscount.plotting.style import BLUE, ORANGE, pyplot
from poscount.prevalence import Prevalence


class PrevalenceDisplay:
    """Prevalence by group: a point with its interval for each.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        Their figure.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from poscount import Interval, Prevalence
    >>> p = Prevalence(0.3, n_labeled=400, n_unlabeled=900, method="PAT",
    ...                interval=Interval(0.26, 0.35, 0.95))
    >>> display = PrevalenceDisplay.from_predictions([p], ["Monday"], truth=[0.31])
    >>> display.ax_.get_ylabel()
    'share of positives (%)'
    """

    ax_: Any
    figure_: Any

    @classmethod
    def from_predictions(
        cls,
        prevalences: Sequence[Prevalence],
        labels: Sequence[str],
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
        labels : sequence of str
            What each is the prevalence of.
        truth : sequence of float, optional
            The true shares, where they are known.
        title, xlabel : str, optional
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        plt = pyplot()
        places = np.arange(len(prevalences))
        if ax is None:
            width = min(16.0, 3.2 + 0.62 * len(places))
            _, ax = plt.subplots(figsize=(width, 4.2), layout="constrained")
        values = 100 * np.array([float(p) for p in prevalences])
        ends = [(p.interval.low, p.interval.high) if p.interval else (p, p) for p in prevalences]
        low, high = 100 * np.array(ends, dtype=float).T
        levels = sorted({f"{100 * p.interval.level:g} %" for p in prevalences if p.interval})
        label = f"estimate, {' or '.join(levels)} interval" if levels else "estimate"
        bars = np.maximum(0, [values - low, high - values])
        ax.errorbar(places, values, bars, fmt="o", color=BLUE, capsize=4, label=label)
        if truth is not None:
            marks = {"marker": "x", "s": 55, "linewidths": 2, "color": ORANGE, "zorder": 3}
            ax.scatter(places, 100 * np.asarray(truth), label="truth", **marks)
        crowded = len(places) > 4
        turned = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if crowded else {}
        ax.set_xticks(places, labels, **turned)
        ax.set_ylim(-2, max(10.0, 1.08 * high.max() + 2))
        ax.set_ylabel("share of positives (%)")
        ax.grid(axis="y", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        if xlabel:
            ax.set_xlabel(xlabel)
        if title:
            ax.set_title(title)
        ax.legend(frameon=False, loc="best")
        display = cls()
        display.ax_, display.figure_ = ax, ax.figure
        return display
