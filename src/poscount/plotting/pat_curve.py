"""PAT's answer at each of its thresholds, which should be the same at all of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from poscount.intervals import curve_half_width
from poscount.plotting.style import BLUE, ORANGE, pyplot
from poscount.prevalence import Prevalence
from poscount.reusable.pat import PAT


class PATCurveDisplay:
    """Prevalence by the quantile q at which PAT puts its threshold, with the median.

    Where no negatives pass, the curve is level. One that falls from left to right says that
    negatives pass the low thresholds and not the high ones; its right end is then closer to the
    truth. A level curve is no proof: negatives that score like positives everywhere lift all of it.
    The band is the interval of each point by itself; neighbouring points see nearly the same rows.

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
    >>> from poscount import PAT
    >>> rng = np.random.default_rng(0)
    >>> model = PAT(random_state=0).fit(rng.normal(size=(400, 2)))
    >>> display = PATCurveDisplay.from_estimator(model, rng.normal(size=(900, 2)) * 2)
    >>> display.ax_.get_xlabel()
    "quantile q of the positives' scores at the threshold"
    """

    ax_: Any
    figure_: Any

    @classmethod
    def from_estimator(cls, model: PAT, sample: Any, *, ax: Any = None) -> Self:
        """Draw the curve of a fitted PAT for a sample.

        Parameters
        ----------
        model : fitted PAT
        sample : array or frame
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        if not isinstance(model, PAT):
            raise TypeError(f"The curve is PAT's: {type(model).__name__} has none.")
        return cls.from_predictions(model.quantify(sample), ax=ax)

    @classmethod
    def from_predictions(cls, prevalence: Prevalence, *, ax: Any = None) -> Self:
        """Draw the curve behind an answer of PAT.

        Parameters
        ----------
        prevalence : Prevalence
            An answer of PAT: the curve is among its details.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        if "curve" not in prevalence.details or prevalence.interval is None:
            raise ValueError(f"An answer of {prevalence.method} has no curve: only PAT's has.")
        q, curve = prevalence.details["q"], prevalence.details["curve"]
        level = prevalence.interval.level
        margin = curve_half_width(
            curve, q, prevalence.n_labeled, prevalence.n_unlabeled, confidence=level
        )
        low, high = np.clip([curve - margin, curve + margin], 0, 1)
        if ax is None:
            _, ax = pyplot().subplots(figsize=(6.4, 4.2), layout="constrained")
        name = f"{100 * level:g} % interval of each point"
        if len(q) > 1:
            band = {"color": BLUE, "alpha": 0.2, "linewidth": 0}
            ax.fill_between(q, 100 * low, 100 * high, label=name, **band)
        else:
            ax.vlines(q, 100 * low, 100 * high, color=BLUE, label=name)
        marker = {"marker": "o", "markersize": 3}
        ax.plot(q, 100 * curve, color=BLUE, label="estimate with one threshold", **marker)
        median = f"median, the estimate: {100 * prevalence:.1f} %"
        ax.axhline(100 * prevalence, color=ORANGE, linestyle="--", label=median)
        ax.set_ylim(-2, max(10.0, 125 * high.max()))
        ax.set_xlabel("quantile q of the positives' scores at the threshold")
        ax.set_ylabel("share of positives (%)")
        ax.set_title(f"PAT, threshold by threshold ({prevalence.n_unlabeled} rows)")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="best")
        display = cls()
        display.ax_, display.figure_ = ax, ax.figure
        return display
