"""A classifier's rates by threshold, with their intervals."""

from __future__ import annotations

from typing import Any, Self

from poscount.judging.evaluation import Evaluation
from poscount.plotting.display import BLUE, GREEN, ORANGE, Display

_LINES = {
    "recall": ("recall", BLUE),
    "precision": ("precision", ORANGE),
    "false_positive_rate": ("false positive rate", GREEN),
}


class EvaluationDisplay(Display):
    """Recall, precision and false positive rate of a classifier at every threshold.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> import numpy as np
    >>> from poscount import evaluate
    >>> rng = np.random.default_rng(0)
    >>> found = evaluate(rng.normal(2, 1, 100), rng.normal(1, 1, 200), 0.4, random_state=0)
    >>> EvaluationDisplay.from_evaluation(found).ax_.get_xlabel()
    'threshold'
    """

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, *, ax: Any = None) -> Self:
        """Draw an evaluation.

        Parameters
        ----------
        evaluation : Evaluation
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        display = cls._on(ax, (7.0, 4.4))
        curve = evaluation.curve()
        thresholds = [rates.threshold for rates in curve]
        for name, (label, colour) in _LINES.items():
            rates = [getattr(each, name) for each in curve]
            display.ax_.plot(
                thresholds, [100 * rate.value for rate in rates], color=colour, label=label
            )
            display.ax_.fill_between(
                thresholds,
                [100 * rate.interval.low for rate in rates],
                [100 * rate.interval.high for rate in rates],
                color=colour,
                alpha=0.18,
                linewidth=0,
            )
        display.ax_.set_ylim(-2, 102)
        return display._finish(
            xlabel="threshold",
            ylabel="%",
            title="A classifier judged without negatives",
            loc="center left",
        )
