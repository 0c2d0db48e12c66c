"""PAT's expected error, by the number of rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from poscount.plotting.display import COLOURS, Display
from poscount.theory import Plan, pat_expected_error

LINES = ("-", "--", ":")


class SampleSizeDisplay(Display):
    """Expected error by the size of the sample, a line for each number of labelled positives.

    The error is that of `poscount.theory.pat_expected_error`, which holds if no negatives look like
    typical positives.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from poscount.theory import plan
    >>> display = SampleSizeDisplay.from_plan(plan(0.02))
    >>> display.ax_.get_ylabel()
    'expected absolute error (points)'
    """

    @classmethod
    def from_plan(cls, plan: Plan, *, ax: Any = None) -> Self:
        """Draw a plan, and the lines for a quarter and four times as many labelled positives.

        Parameters
        ----------
        plan : Plan
            From `poscount.theory.plan`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        display = cls._on(ax, (6.4, 4.2))
        ax = display.ax_
        n_labeled = sorted({max(1, plan.n_labeled // 4), plan.n_labeled, 4 * plan.n_labeled})
        n_unlabeled = np.unique(np.ceil(plan.n_unlabeled * np.geomspace(1 / 20, 20, 121)))
        for positives, colour, line in zip(n_labeled, COLOURS, LINES, strict=False):
            errors = 100 * pat_expected_error(positives, n_unlabeled, plan.prevalence)
            name = f"{positives} labelled positives"
            ax.plot(n_unlabeled, errors, color=colour, linestyle=line, label=name)
        name = (
            f"plan: {plan.n_labeled} positives, {plan.n_unlabeled} rows, "
            f"{100 * plan.expected_error:.2g} points"
        )
        mark = {"marker": "*", "markersize": 14, "linestyle": "", "color": "black"}
        ax.plot(plan.n_unlabeled, 100 * plan.expected_error, label=name, **mark)
        ax.set_xscale("log")
        ax.set_yscale("log")
        # Powers of ten say little about errors of one to ten points.
        ax.yaxis.set_major_formatter("{x:g}")
        ax.yaxis.set_minor_formatter("{x:g}")
        ax.xaxis.set_major_formatter("{x:g}")
        display._finish(
            xlabel="unlabeled rows",
            ylabel="expected absolute error (points)",
            title=f"Expected error of PAT, {100 * plan.prevalence:g} % positives",
        )
        ax.grid(which="both", alpha=0.25)
        return display
