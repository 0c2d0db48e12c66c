"""Regions and conditions, a line for each: RCQ's bounds, and where two sets of rows differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from poscount.methods.regions.quantifier import PositivesQuantifier
from poscount.methods.regions.rule import RegionBounds
from poscount.plotting.display import BLUE, ORANGE, Display, plain
from poscount.results.prevalence import Prevalence


class RegionDisplay(Display):
    """The regions with the smallest upper bounds, a line for each, and the answer.

    If a region holds some share of the positives and a smaller share of the sample, the prevalence
    is at most the ratio of the two, up to noise. The topmost region, in orange, has the smallest
    bound and decided the answer; regions with nearly as small a bound influenced it as well.

    Examples
    --------
    >>> import matplotlib, numpy as np
    >>> matplotlib.use("agg")
    >>> from poscount import RCQ
    >>> rng = np.random.default_rng(0)
    >>> model = RCQ(random_state=0).fit(rng.normal(size=(300, 2)))
    >>> display = RegionDisplay.from_estimator(model, rng.normal(size=(500, 2)) + [3, 0])
    >>> len(display.ax_.get_yticklabels())
    15
    """

    @classmethod
    def from_estimator(
        cls, model: PositivesQuantifier, sample: Any, *, n_regions: int = 15, ax: Any = None
    ) -> Self:
        """Draw the regions of a fitted RCQ for a sample.

        Parameters
        ----------
        model : fitted RCQ
        sample : array or frame
        n_regions : int, default=15
            How many to draw.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        if not isinstance(model, PositivesQuantifier):
            raise TypeError(f"The regions are RCQ's: {type(model).__name__} has none.")
        counts = model.count(sample)
        regions = model._view(counts).most_informative_regions(n_regions)
        return cls.from_predictions(model.estimate(counts), regions, ax=ax)

    @classmethod
    def from_predictions(
        cls, prevalence: Prevalence, regions: Sequence[RegionBounds], *, ax: Any = None
    ) -> Self:
        """Draw regions and the answer that they led to.

        Parameters
        ----------
        prevalence : Prevalence
            An answer of RCQ.
        regions : sequence of RegionBounds
            The one that decided first.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        if not regions:
            raise ValueError("There is no region to draw: RCQ has none with so few positives.")
        display = cls._on(ax, (9.0, 1.7 + 0.27 * len(regions)))
        ax = display.ax_
        ratio, low, high = 100 * np.array([region[2:] for region in regions]).T
        low, high = np.clip([low, high], 0, 100)
        places = np.arange(len(regions))
        right = max(5.0, high.max(), 100 * prevalence)
        if prevalence.interval is not None:
            ends = 100 * prevalence.interval.low, 100 * prevalence.interval.high
            name = f"answer's {100 * prevalence.interval.level:g} % interval"
            ax.axvspan(*ends, color="0.9", linewidth=0, label=name)
            right = max(right, ends[1])
        name = f"answer: {100 * prevalence:.1f} %"
        ax.axvline(100 * prevalence, color="black", linestyle="--", linewidth=1.2, label=name)
        for part, colour, mark, label in (
            (slice(1), ORANGE, "D", "region that decided, with its bounds"),
            (slice(1, None), BLUE, "o", "other regions"),
        ):
            if len(places[part]):
                ax.hlines(places[part], low[part], high[part], color=colour, linewidth=1.8)
                dots = {"color": colour, "marker": mark, "linestyle": ""}
                ax.plot(ratio[part], places[part], label=label, **dots)
        words = [f"{plain(r.where)} ({100 * r.share:.0f} % of positives)" for r in regions]
        ax.set_yticks(places, words, fontsize=8)
        ax.set_ylim(len(regions) - 0.4, -0.6)
        ax.set_xlim(-0.01 * right, 1.04 * right)
        # From the right edge, because long names on the left make the axes narrow.
        title = f"Regions with the smallest upper bounds ({prevalence.n_unlabeled} rows)"
        ax.set_title(title, loc="right")
        return display._finish(
            xlabel="share of positives in the sample (%)",
            grid="x",
            # Below the label of the axis, because there is no space beside it.
            loc="upper center",
            bbox_to_anchor=(0.3, 0.0),
            borderaxespad=4.8,
            fontsize=8,
            ncols=2,
        )


class SharesDisplay(Display):
    """Share of the rows of two sets that meet each condition, a line for each condition.

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
        display = cls._on(ax, (7.5, 1.6 + 0.3 * len(conditions)))
        ax = display.ax_
        places = np.arange(len(conditions))
        left, right = 100 * np.asarray(first, float), 100 * np.asarray(second, float)
        ax.hlines(places, left, right, color="0.7", linewidth=2.5, zorder=1)
        ax.scatter(left, places, marker="o", s=42, color=BLUE, label=plain(names[0]), zorder=2)
        ax.scatter(right, places, marker="D", s=36, color=ORANGE, label=plain(names[1]), zorder=2)
        ax.set_yticks(places, [plain(condition) for condition in conditions], fontsize=9)
        ax.set_ylim(len(conditions) - 0.4, -0.6)
        ax.set_xlim(-2, 102)
        return display._finish(
            xlabel=xlabel, title=title, grid="x", loc="upper left", bbox_to_anchor=(1.0, 1.0)
        )
