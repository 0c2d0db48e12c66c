"""Small multiples of curves: one panel for each data set, one curve for each method."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from poscount.plotting.style import COLOURS, MARKERS, plain, pyplot


class Curve(NamedTuple):
    """One curve of a panel.

    Attributes
    ----------
    label : str
        Name in the legend; the same in all panels.
    x, y : array-like of float
    level : float, optional
        A dotted line of the same colour across the panel.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    level: float | None = None


class CurvesDisplay:
    """Panels that share their axes and one legend.

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes
        One for each panel.
    figure_ : matplotlib.figure.Figure
        Their figure.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> display = CurvesDisplay.from_panels(
    ...     {"W": [Curve("PAT", [0, 50, 100], [1.0, 2.5, 1.5])]},
    ...     xlabel="true share of positives (%)", ylabel="mean absolute error (points)",
    ... )
    >>> display.axes_[0].get_title()
    'W'
    """

    axes_: list[Any]
    figure_: Any

    @classmethod
    def from_panels(
        cls,
        panels: Mapping[str, Sequence[Curve]],
        *,
        xlabel: str,
        ylabel: str,
        title: str | None = None,
    ) -> Self:
        """Draw panels, at most four in a row.

        Parameters
        ----------
        panels : mapping of str to sequence of Curve
            By the titles of the panels; at most eight different labels can be told apart.
        xlabel, ylabel : str
            What is drawn, with its unit.
        title : str, optional
        """
        labels = list(dict.fromkeys(curve.label for panel in panels.values() for curve in panel))
        if len(labels) > len(COLOURS):
            raise ValueError(
                f"{len(labels)} curves cannot be told apart: draw at most {len(COLOURS)}."
            )
        plt = pyplot()
        n_columns = max(2, min(4, len(panels)))
        n_rows = max(1, math.ceil(len(panels) / n_columns))
        # Laid out by hand, in inches: matplotlib's own layouts take most of the time of a drawing.
        width, height = 1.0 + 2.5 * n_columns, 2.2 * n_rows
        bottom, top = 0.75 + 0.22 * math.ceil(len(labels) / 4), 0.65
        total = bottom + height + top
        figure, grid = plt.subplots(
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
                marked = (
                    {"marker": MARKERS[place], "markersize": 3.5} if np.size(curve.x) < 20 else {}
                )
                (line,) = ax.plot(curve.x, curve.y, color=colour, linewidth=1.3, **marked)
                handles.setdefault(curve.label, line)
                if curve.level is not None:
                    ax.axhline(curve.level, color=colour, linewidth=1.0, linestyle=":")
            ax.set_title(plain(name), fontsize=10, y=1.0)
            ax.grid(alpha=0.3)
            ax.spines[["top", "right"]].set_visible(False)
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
        if title:
            figure.suptitle(title, fontsize=11, y=1 - 0.2 / total)
        display = cls()
        display.axes_, display.figure_ = list(grid.flat[: len(panels)]), figure
        return display
