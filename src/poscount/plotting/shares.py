"""Two shares side by side, a line for each condition: where two sets of rows differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from poscount.plotting.style import BLUE, ORANGE, plain, pyplot


class SharesDisplay:
    """Share of two sets of rows that meet each condition.

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
    >>> display = SharesDisplay.from_shares(
    ...     ["size <= 3"], [0.2], [0.5], names=("positives", "sample"), xlabel="share of rows (%)"
    ... )
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['size <= 3']
    """

    ax_: Any
    figure_: Any

    @classmethod
    def from_shares(
        cls,
        conditions: Sequence[str],
        first: ArrayLike,
        second: ArrayLike,
        *,
        names: tuple[str, str],
        xlabel: str,
        title: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw pairs of shares, the first condition on top.

        Parameters
        ----------
        conditions : sequence of str
        first, second : array-like of float
            Shares between 0 and 1, one for each condition.
        names : (str, str)
            What the two sets are.
        xlabel : str
            What the shares are, with the unit.
        title : str, optional
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        if ax is None:
            size = (7.5, 1.6 + 0.3 * len(conditions))
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
        places = np.arange(len(conditions))
        left, right = 100 * np.asarray(first, float), 100 * np.asarray(second, float)
        ax.hlines(places, left, right, color="0.7", linewidth=2.5, zorder=1)
        ax.scatter(left, places, marker="o", s=42, color=BLUE, label=plain(names[0]), zorder=2)
        ax.scatter(right, places, marker="D", s=36, color=ORANGE, label=plain(names[1]), zorder=2)
        ax.set_yticks(places, [plain(condition) for condition in conditions], fontsize=9)
        ax.set_ylim(len(conditions) - 0.4, -0.6)
        ax.set_xlim(-2, 102)
        ax.set_xlabel(xlabel)
        if title:
            ax.set_title(title)
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        display = cls()
        display.ax_, display.figure_ = ax, ax.figure
        return display
