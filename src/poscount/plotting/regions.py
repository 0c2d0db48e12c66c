"""RCQ's regions: which one decided, and what the next ones say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from poscount.plotting.style import BLUE, ORANGE, plain, pyplot
from poscount.prevalence import Prevalence
from poscount.reusable.rcq import RCQ
from poscount.reusable.regions import RegionBounds


class RegionDisplay:
    """The regions with the smallest upper bounds, a line for each, and the answer.

    A region that holds a share of the positives and a smaller share of the sample says that the
    prevalence is at most the ratio of the two, up to noise. The topmost region, in orange, has the
    smallest bound and decided; those whose bounds are nearly as small had a say, too.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes drawn on.
    figure_ : matplotlib.figure.Figure
        Their figure.

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

    ax_: Any
    figure_: Any

    @classmethod
    def from_estimator(
        cls, model: RCQ, sample: Any, *, n_regions: int = 15, ax: Any = None
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
        if not isinstance(model, RCQ):
            raise TypeError(f"The regions are RCQ's: {type(model).__name__} has none.")
        counts = model.count(sample)
        regions = model.most_informative_regions(counts, n_regions)
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
            From `RCQ.most_informative_regions`, the one that decided first.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        if not regions:
            raise ValueError("There is no region to draw: RCQ has none with so few positives.")
        if ax is None:
            size = (9.0, 1.7 + 0.27 * len(regions))
            _, ax = pyplot().subplots(figsize=size, layout="constrained")
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
        ax.set_xlabel("share of positives in the sample (%)")
        # From the right edge, because long names on the left make the axes narrow.
        title = f"Regions with the smallest upper bounds ({prevalence.n_unlabeled} rows)"
        ax.set_title(title, loc="right")
        ax.grid(axis="x", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        # Below the label of the axis, by as many letters as it takes: beside it there is no room.
        below = {"loc": "upper center", "bbox_to_anchor": (0.3, 0.0), "borderaxespad": 4.8}
        ax.legend(frameon=False, fontsize=8, ncols=2, **below)
        display = cls()
        display.ax_, display.figure_ = ax, ax.figure
        return display
