"""Shares of several targets in several samples, stacked, as they add up to 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from poscount.plotting.display import COLOURS, plain
from poscount.plotting.prevalences import (
    ByGroupDisplay,
    Label,
    check_lengths,
    in_percent,
    place_on_axis,
)
from poscount.results.target_shares import OTHER, TargetShares

# "other" is the background of all targets.
_GREY = "#D9D9D9"
# Of the space between two samples that are next to each other.
_WIDTH = 0.8
_HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")


class TargetSharesDisplay(ByGroupDisplay):
    """Shares of targets by group: a bar for each group, which the targets fill from below.

    The line at the upper end of a target is its interval, drawn from where the target begins.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from poscount import Distribution, Prevalence
    >>> from poscount.results.target_shares import TargetShares
    >>> def share(value):
    ...     return Prevalence(value, n_labeled=100, n_unlabeled=400, method="MultiRCQ",
    ...                       distribution=Distribution(np.linspace(value / 2, value, 49)))
    >>> shares = TargetShares({"cat": share(0.25), "dog": share(0.5), "other": share(0.25)})
    >>> display = TargetSharesDisplay.from_predictions([shares], ["Monday"])
    >>> display.ax_.get_ylabel()
    'share of the sample (%)'
    """

    title = "Shares of targets"

    @classmethod
    def from_predictions(  # type: ignore[override]
        cls,
        answers: Sequence[TargetShares],
        labels: Sequence[Label],
        *,
        title: str | None = None,
        xlabel: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw shares.

        Parameters
        ----------
        answers : sequence of TargetShares
            Of the same targets.
        labels : sequence of str, or of dates or times
            The group of each answer. Dates and times are placed on a time axis.
        title, xlabel : str, optional
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        check_lengths(answers, labels, None)
        display = cls._on(ax, (min(16.0, 4.4 + 0.62 * len(answers)), 4.4))
        ax = display.ax_
        places = place_on_axis(ax, labels)
        apart = np.diff(np.sort(places)).min() if len(places) > 1 else 1.0
        below = np.zeros(len(answers))
        for i, name in enumerate(answers[0]):
            shares = [answer[name] for answer in answers]
            heights, _, bars = in_percent(shares)
            colour = _GREY if name == OTHER else COLOURS[i % len(COLOURS)]
            # Hatches tell more targets apart than there are colours.
            hatch = _HATCHES[i // len(COLOURS) % len(_HATCHES)]
            ax.bar(
                places,
                heights,
                _WIDTH * apart,
                bottom=below,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                linewidth=0.6,
                label=plain(name),
            )
            if name != OTHER:
                # Beside each other, because those of neighbouring targets overlap.
                n = len(answers[0])
                at = places + _WIDTH * apart * ((i + 1) / n - 0.5)
                ax.errorbar(at, below + heights, bars, fmt="none", ecolor="black", elinewidth=0.9)
            below += heights
        ax.set_ylim(0, 104)
        handles, names = ax.get_legend_handles_labels()
        return display._finish(
            xlabel=plain(xlabel or ""),
            ylabel="share of the sample (%)",
            title=plain(title or ""),
            grid="y",
            # In the order of the bars, from above, beside them.
            handles=handles[::-1],
            labels=names[::-1],
            loc="upper left",
            bbox_to_anchor=(1, 1),
        )
