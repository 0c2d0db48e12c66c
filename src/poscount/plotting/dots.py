"""One line for each method, one dot on it for each data set, on a logarithmic axis."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any, Self

from poscount.plotting.style import BLUE, ORANGE, plain, pyplot


class DotsDisplay:
    """Positive numbers that differ by orders of magnitude, such as seconds.

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
    >>> display = DotsDisplay.from_numbers(
    ...     {"PAT": {"A": 0.05, "W": 0.07}, "KM1": {"A": 9.0, "W": 14.0}}, xlabel="CPU seconds"
    ... )
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['PAT', 'KM1']
    """

    ax_: Any
    figure_: Any

    @classmethod
    def from_numbers(
        cls,
        numbers: Mapping[str, Mapping[str, float]],
        *,
        xlabel: str,
        title: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw numbers, the method with the smallest median on top.

        Parameters
        ----------
        numbers : mapping of str to mapping of str to float
            For each method the numbers by data set, all positive.
        xlabel : str
            What is drawn, with its unit.
        title : str, optional
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        plt = pyplot()
        medians = {name: median(values.values()) for name, values in numbers.items() if values}
        names = sorted(medians, key=medians.__getitem__)
        if ax is None:
            _, ax = plt.subplots(figsize=(8.0, 1.6 + 0.28 * len(names)), layout="constrained")
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
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        handles = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        ax.legend(handles.values(), handles.keys(), frameon=False, loc="best")
        if title:
            ax.set_title(title, fontsize=11)
        display = cls()
        display.ax_, display.figure_ = ax, ax.figure
        return display
