"""Scores of the positives and of a sample, with the thresholds between which rows are counted."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from poscount.plotting.style import BLUE, ORANGE, pyplot
from poscount.reusable.score_quantifier import ScoreQuantifier
from poscount.scorers import fit_scorer, score

N_BINS = 40


class ScoreDistributionDisplay:
    """Histogram of a sample's scores, and where its positives should be among them.

    The positives are scaled to the estimated share of the sample. Where they rise above the
    sample's histogram, the estimate is too high, or the positives of the sample are others than
    those learned from. The rest of the sample are negatives.

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
    >>> positives = rng.normal(size=(400, 2))
    >>> sample = np.vstack([rng.normal(size=(300, 2)), rng.normal(size=(600, 2)) + 3])
    >>> model = PAT(random_state=0).fit(positives)
    >>> display = ScoreDistributionDisplay.from_estimator(model, positives, sample)
    >>> display.ax_.get_ylabel()
    'rows per bin (% of the sample)'
    """

    ax_: Any
    figure_: Any

    @classmethod
    def from_estimator(
        cls, model: ScoreQuantifier, positives: Any, sample: Any, *, ax: Any = None
    ) -> Self:
        """Draw the scores of a fitted PAT or ODIn.

        Parameters
        ----------
        model : fitted PAT or ODIn
        positives : array or frame
            Those that it was fitted on: it does not keep them. They are scored as in its `fit`,
            each by a scorer that has not seen it, which takes as long as `fit` did.
        sample : array or frame
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        if not isinstance(model, ScoreQuantifier):
            raise TypeError(
                f"{type(model).__name__} does not count along one score: draw PAT or ODIn."
            )
        prevalence = model.quantify(sample)
        learned = model._sample(positives)
        if len(learned) != model.n_labeled_:
            raise ValueError(
                f"These are {len(learned)} positives, but the model was fitted on "
                f"{model.n_labeled_}: give those."
            )
        training_scores = fit_scorer(model.scorer, learned, model.seed_)[1]
        sample_scores = score(model.scorer_, model._sample(sample).whole())
        return cls.from_predictions(
            training_scores,
            sample_scores,
            model.edges_,
            prevalence,
            title=f"Scores of positives and sample, {type(model).__name__}",
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        positive_scores: ArrayLike,
        sample_scores: ArrayLike,
        thresholds: ArrayLike,
        prevalence: float,
        *,
        title: str | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw scores.

        Parameters
        ----------
        positive_scores, sample_scores : array-like of float
            The higher, the more like a positive.
        thresholds : array-like of float
        prevalence : float
            Share of the sample that the positives are scaled to.
        title : str, optional
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        scores = {
            "positives": np.asarray(positive_scores, dtype=float),
            "sample": np.asarray(sample_scores, dtype=float),
        }
        bins = _bins(scores["positives"], scores["sample"])
        weights = {"positives": prevalence, "sample": 1.0}
        heights = {
            name: 100 * weights[name] * np.histogram(values, bins)[0] / len(values)
            for name, values in scores.items()
        }
        if ax is None:
            _, ax = pyplot().subplots(figsize=(7.2, 4.2), layout="constrained")
        ax.stairs(heights["sample"], bins, fill=True, color="0.75", label="sample")
        name = f"positives, as {100 * prevalence:.1f} % of the sample"
        ax.stairs(heights["positives"], bins, color=BLUE, linewidth=1.8, label=name)
        marks = {"marker": "|", "markersize": 12, "linestyle": "", "color": ORANGE}
        foot = np.full(np.size(thresholds), 0.03)
        where = {"transform": ax.get_xaxis_transform()}
        ax.plot(thresholds, foot, label="thresholds", **marks, **where)
        ax.set_xlim(bins[0], bins[-1])
        ax.set_xlabel(_axis_label(scores, bins[0]))
        ax.set_ylabel("rows per bin (% of the sample)")
        ax.grid(axis="y", alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
        if title:
            ax.set_title(title)
        ax.legend(frameon=False, loc="best")
        display = cls()
        display.ax_, display.figure_ = ax, ax.figure
        return display


def _bins(positive_scores: np.ndarray, sample_scores: np.ndarray) -> np.ndarray:
    """Bins over the positives and as much room again below them: negatives may be anywhere."""
    together = np.concatenate([positive_scores, sample_scores])
    top = together.max()
    lowest = np.quantile(positive_scores, 0.01)
    bottom = max(together[np.isfinite(together)].min(), lowest - (top - lowest))
    return np.linspace(bottom, top, N_BINS + 1)


def _axis_label(scores: dict[str, np.ndarray], bottom: float) -> str:
    label = "score (higher: more like a positive)"
    outside = {name: 100 * np.mean(values < bottom) for name, values in scores.items()}
    if not any(outside.values()):
        return label
    return (
        f"{label}\nfurther left, not shown: {outside['sample']:.1f} % of the sample, "
        f"{outside['positives']:.1f} % of the positives"
    )
