"""The scores behind an answer: PAT's estimate at each threshold, and the scores' distributions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from poscount.intervals import curve_half_width
from poscount.plotting.display import BLUE, ORANGE, Display
from poscount.prevalence import Prevalence
from poscount.reusable.pat import PAT
from poscount.reusable.score_quantifier import ScoreQuantifier
from poscount.scorers import fit_scorer, score

N_BINS = 40


class PATCurveDisplay(Display):
    """Prevalence by the quantile q at which PAT puts its threshold, with the median.

    The curve is level where no negatives score above the threshold. If it falls from left to right,
    negatives pass the low thresholds but not the high ones, and its right end is closer to the
    truth. A level curve is no proof: negatives that score like positives everywhere raise all of
    it. The band is the interval of each point by itself; neighbouring points share most rows.

    Attributes
    ----------
    ax_, figure_
        The axes drawn on, and their figure.

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
        display = cls._on(ax, (6.4, 4.2))
        ax = display.ax_
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
        return display._finish(
            xlabel="quantile q of the positives' scores at the threshold",
            ylabel="share of positives (%)",
            title=f"PAT, threshold by threshold ({prevalence.n_unlabeled} rows)",
        )


class ScoreDistributionDisplay(Display):
    """Histogram of a sample's scores, and where its positives should be among them.

    The positives are scaled to the estimated share of the sample; the rest of the sample are
    negatives. Where the positives rise above the sample's histogram, the estimate is too high, or
    the positives of the sample differ from those learned from.

    Attributes
    ----------
    ax_, figure_
        The axes drawn on, and their figure.

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

    @classmethod
    def from_estimator(
        cls, model: ScoreQuantifier, positives: Any, sample: Any, *, ax: Any = None
    ) -> Self:
        """Draw the scores of a fitted PAT or ODIn.

        Parameters
        ----------
        model : fitted PAT or ODIn
        positives : array or frame
            The rows it was fitted on, which it does not keep. They are scored out of fold, as in
            `fit`, which takes as long as `fit` did.
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
                f"{model.n_labeled_}: pass the same rows."
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
            A higher score is more like a positive.
        thresholds : array-like of float
        prevalence : float
            The share of the sample to scale the positives to.
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
        display = cls._on(ax, (7.2, 4.2))
        ax = display.ax_
        ax.stairs(heights["sample"], bins, fill=True, color="0.75", label="sample")
        name = f"positives, as {100 * prevalence:.1f} % of the sample"
        ax.stairs(heights["positives"], bins, color=BLUE, linewidth=1.8, label=name)
        marks = {"marker": "|", "markersize": 12, "linestyle": "", "color": ORANGE}
        foot = np.full(np.size(thresholds), 0.03)
        where = {"transform": ax.get_xaxis_transform()}
        ax.plot(thresholds, foot, label="thresholds", **marks, **where)
        ax.set_xlim(bins[0], bins[-1])
        return display._finish(
            xlabel=_axis_label(scores, bins[0]),
            ylabel="rows per bin (% of the sample)",
            title=title,
            grid="y",
        )


def _bins(positive_scores: np.ndarray, sample_scores: np.ndarray) -> np.ndarray:
    """Bins over the positives and as much space again below them: negatives may be anywhere."""
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
