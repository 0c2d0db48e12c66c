"""The scores behind an answer: PAT's estimate at each threshold, and the scores' distributions."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone

from poscount.base.counting import CountingQuantifier
from poscount.data.rows import InputSupport, Rows
from poscount.methods.intervals import curve_half_width
from poscount.methods.pat import PAT
from poscount.plotting.display import BLUE, ORANGE, Display
from poscount.results.prevalence import Prevalence
from poscount.scorers import fit_scorer

N_BINS = 40


class PATCurveDisplay(Display):
    """Prevalence by the quantile q at which PAT puts its threshold, with the median.

    The curve is level where no negatives score above the threshold. If it falls from left to right,
    negatives pass the low thresholds but not the high ones, and its right end is closer to the
    truth. A level curve is no proof: negatives that score like positives everywhere raise all of
    it. The band is the interval of each point by itself; neighbouring points share most rows.

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
        cls, model: CountingQuantifier, positives: Any, sample: Any, *, ax: Any = None
    ) -> Self:
        """Draw the scores of a fitted model that counts along a score.

        Parameters
        ----------
        model : fitted PAT, ODIn or RCQ
        positives : array or frame
            The rows it was fitted on, which it does not keep. They are scored out of fold, as in
            `fit`, which takes as long as `fit` did.
        sample : array or frame
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        scores = scores_of(model, positives, sample)
        return cls.from_predictions(
            *scores,
            model.edges_,
            model.quantify(sample),
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
        scores = Scores(
            np.asarray(positive_scores, dtype=float), np.asarray(sample_scores, dtype=float)
        )
        bins = scores.edges
        positives, sample = scores.shares(bins)
        display = cls._on(ax, (7.2, 4.2))
        ax = display.ax_
        ax.stairs(100 * sample, bins, fill=True, color="0.75", label="sample")
        name = f"positives, as {100 * prevalence:.1f} % of the sample"
        ax.stairs(100 * prevalence * positives, bins, color=BLUE, linewidth=1.8, label=name)
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


def _axis_label(scores: Scores, bottom: float) -> str:
    label = "score (higher: more like a positive)"
    positives, sample = (100 * np.mean(values < bottom) for values in scores)
    if not positives + sample:
        return label
    return (
        f"{label}\nfurther left, not shown: {sample:.1f} % of the sample, "
        f"{positives:.1f} % of the positives"
    )


class Scores(NamedTuple):
    """Scores of the positives, each by a scorer that was not fitted on it, and of a sample.

    Attributes
    ----------
    positives, sample : ndarray of float
        A higher score is more like a positive.
    """

    positives: np.ndarray
    sample: np.ndarray

    @property
    def edges(self) -> np.ndarray:
        """Edges of bins over the positives and as much space again below them.

        Negatives may be anywhere, and one that is very far away must not flatten the picture.
        """
        together = np.concatenate(self)
        top = together.max()
        lowest = np.quantile(self.positives, 0.01)
        bottom = max(together[np.isfinite(together)].min(), lowest - (top - lowest))
        return np.linspace(bottom, top, N_BINS + 1)

    def shares(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Share of the positives, and of the sample, in each bin.

        Examples
        --------
        >>> scores = Scores(np.array([2.0, 2.0]), np.array([0.0, 1.0, 2.0, 2.0]))
        >>> scores.shares(np.array([0, 1.5, 3]))
        (array([0., 1.]), array([0.5, 0.5]))
        """
        positives, sample = (np.histogram(each, edges)[0] / len(each) for each in self)
        return positives, sample


def has_scores(model: Any) -> bool:
    """Tell whether a model counts along a score, so that there is something to draw."""
    return isinstance(model, CountingQuantifier) and hasattr(
        getattr(model, "part_", model), "scorer_"
    )


def scores_of(model: CountingQuantifier, positives: Any, sample: Any) -> Scores:
    """Scores of the rows that a model was fitted on, and of a sample.

    Parameters
    ----------
    model : fitted PAT, ODIn or RCQ
    positives : array or frame
        The rows it was fitted on, which it does not keep. They are scored out of fold, as in `fit`,
        which takes as long as `fit` did.
    sample : array or frame

    Examples
    --------
    >>> from poscount import RCQ
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(200, 2))
    >>> model = RCQ(random_state=0).fit(positives)
    >>> scores = scores_of(model, positives, rng.normal(size=(50, 2)) + 9)
    >>> bool(scores.sample.max() < scores.positives.min())
    True
    """
    if not has_scores(model):
        raise TypeError(f"{type(model).__name__} does not count along one score: draw PAT or RCQ.")
    learned = model._sample(positives)
    learner: Any = getattr(model, "part_", model)
    given = getattr(learner, "n_positives_in_", model.n_labeled_)
    if len(learned) != given:
        raise ValueError(
            f"These are {len(learned)} positives, but the model was fitted on {given}: pass the "
            "same rows."
        )
    training = fit_scorer(clone(learner.scorer_), _seen_by_scorer(model, learned), model.seed_)[1]
    return Scores(training, model._scores_of(model._sample(sample)))


def _seen_by_scorer(model: CountingQuantifier, rows: Rows) -> Rows:
    if not rows.accepts.coded:
        return rows
    design = model.model_columns.design(rows.to_array())
    if not sparse.issparse(design):
        design = np.ascontiguousarray(design)
    return Rows(design, None, InputSupport(sparse=True))
