"""A classifier judged without negatives: recall, precision and the like, each with an interval."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from poscount.errors import InputError
from poscount.judging.scores import Rates, Scores
from poscount.results import notebook
from poscount.results.distribution import Rate
from poscount.results.prevalence import Prevalence
from poscount.seeds import seed_of

FEWEST_SCORES = 10
AREAS = ("roc_auc", "average_precision")


@dataclass(frozen=True)
class Evaluation:
    """How good a classifier is on a sample, at every threshold (`evaluate`).

    Attributes
    ----------
    prevalence : float
        The share of positives in the sample that was assumed.
    roc_auc : Rate
        Area under the ROC curve.
    average_precision : Rate
        Area under the curve of precision by recall.
    n_positives, n_sample : int
        How many scores there are of labelled positives and of the sample.
    caution : str
        Why the scores look too good to be true; empty if they do not.
    """

    prevalence: float
    roc_auc: Rate
    average_precision: Rate
    n_positives: int
    n_sample: int
    caution: str = ""
    _scores: Scores = field(repr=False, compare=False, kw_only=True)

    def at(self, threshold: float) -> Rates:
        """The rates if rows that score at least `threshold` are called positive."""
        if np.isnan(threshold):
            raise InputError("A threshold is a number, got nan.")
        (rates,) = self._scores.rates(np.array([float(threshold)]))
        return rates

    def threshold_for(
        self, *, recall: float | None = None, precision: float | None = None
    ) -> Rates:
        """The rates at the threshold that reaches a recall, or a precision.

        Parameters
        ----------
        recall : float, optional
            The highest threshold at which the recall is at least this.
        precision : float, optional
            The lowest threshold at which the precision is at least this.
        """
        if (recall is None) == (precision is None):
            raise InputError("Say which recall, or which precision, the threshold is to reach.")
        wanted = recall if precision is None else precision
        assert wanted is not None
        if not 0 < wanted <= 1:
            raise InputError(f"A recall or precision is above 0 and at most 1, got {wanted}.")
        threshold = self._scores.threshold(wanted, of_recall=precision is None)
        if threshold is None:
            raise InputError(
                f"No threshold has a precision of {wanted:g} here: the highest is "
                f"{self._scores.highest_precision():.3f}."
            )
        return self.at(threshold)

    def curve(self) -> list[Rates]:
        """The rates at up to 200 thresholds, the highest first."""
        return self._scores.rates(self._scores.thresholds())

    def to_dict(self) -> dict[str, Any]:
        """Everything, the rates at every threshold included, in types that JSON knows."""
        return {
            "prevalence": self.prevalence,
            "n_positives": self.n_positives,
            "n_sample": self.n_sample,
            "caution": self.caution,
            **{name: asdict(getattr(self, name)) for name in AREAS},
            "curve": [asdict(rates) for rates in self.curve()],
        }

    def plot(self, *, ax: Any = None) -> Any:
        """Draw recall, precision and false positive rate by threshold; it needs matplotlib.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        EvaluationDisplay
        """
        from poscount.plotting import EvaluationDisplay

        return EvaluationDisplay.from_evaluation(self, ax=ax)

    def __str__(self) -> str:
        lines = [
            f"{self.n_positives:,} positives and {self.n_sample:,} rows, of which "
            f"{100 * self.prevalence:.1f} % are positive.",
            f"Area under the ROC curve {self.roc_auc}, average precision {self.average_precision}.",
        ]
        return "\n".join([*lines, *([self.caution] if self.caution else [])])

    def _repr_html_(self) -> str:
        rows = [
            (name.replace("_", " "), notebook.Share(rate.value, *rate.interval), str(rate))
            for name, rate in ((name, getattr(self, name)) for name in AREAS)
        ]
        return notebook.piece(
            notebook.table(["", "", "estimate"], rows, ["estimate"], len(rows)),
            notebook.paragraph(str(self).split("\n")[0], small=True),
            *([notebook.paragraph(self.caution)] if self.caution else []),
        )


def evaluate(
    scores_positives: Any,
    scores_sample: Any,
    prevalence: Prevalence | float,
    *,
    confidence: float = 0.95,
    random_state: Any = None,
) -> Evaluation:
    r"""Judge a classifier without labelled negatives.

    With the shares :math:`q_L(t)` and :math:`q_U(t)` of labelled positives and of the sample that
    score at least t, and the share p of positives in the sample,

    .. math::
        recall = q_L, \qquad precision = \frac{p\,q_L}{q_U}, \qquad
        FPR = \frac{q_U - p\,q_L}{1 - p}

    and the areas under the curves follow. The intervals carry the distribution of the prevalence,
    the sampling of the labelled positives, and that of the positives in the sample.

    It assumes what counting assumes: that the labelled positives are typical of those in the
    sample. And the classifier must have learned neither from them nor from the rows of the sample:
    hold some out.

    Parameters
    ----------
    scores_positives : array-like of shape (n_positives,)
        Scores of labelled positives that the classifier has not learned from; the higher, the more
        positive.
    scores_sample : array-like of shape (n_sample,)
        Scores of the rows whose class is unknown.
    prevalence : Prevalence or float
        The share of positives in the sample: what a model answered, with its distribution, or a
        number that is known.
    confidence : float, default=0.95
        Level of the intervals.
    random_state : int, RandomState, Generator or None
        Seed of the draws that make them.

    See Also
    --------
    poscount.RCQ : Estimates the share that it needs.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import evaluate
    >>> rng = np.random.default_rng(0)
    >>> found = evaluate(
    ...     rng.normal(2, 1, 500),
    ...     np.concatenate([rng.normal(2, 1, 300), rng.normal(0, 1, 700)]),
    ...     0.3, random_state=0,
    ... )
    >>> rates = found.at(1.0)  # the truth is .84 and .68
    >>> 0.84 in rates.recall.interval, 0.68 in rates.precision.interval
    (True, True)
    >>> round(found.threshold_for(recall=0.95).threshold, 1)
    0.5
    """
    if not 0 < confidence < 1:
        raise InputError(f"A level is between 0 and 1, got {confidence}.", option="confidence")
    ours, theirs = _as_scores(scores_positives, "positives"), _as_scores(scores_sample, "sample")
    distribution = prevalence.distribution if isinstance(prevalence, Prevalence) else None
    share = float(prevalence)
    if not 0 <= share <= 1:
        raise InputError(f"A prevalence is between 0 and 1, got {share}.", option="prevalence")
    n_positive = round(share * len(theirs))
    if n_positive in (0, len(theirs)):
        which = "no positives" if n_positive == 0 else "nothing but positives"
        raise InputError(
            f"By a prevalence of {share:g}, the sample has {which}: nothing can be said about a "
            "classifier there.",
            option="prevalence",
        )
    scores = Scores(ours, theirs, share, distribution, confidence, seed_of(random_state))
    return Evaluation(
        prevalence=share,
        roc_auc=scores.roc_auc(),
        average_precision=scores.average_precision(),
        n_positives=len(ours),
        n_sample=len(theirs),
        caution=scores.caution(),
        _scores=scores,
    )


def _as_scores(scores: Any, what: str) -> np.ndarray:
    found = np.asarray(scores, np.float64)
    if found.ndim != 1:
        raise InputError(f"The scores of the {what} are one number a row, got {found.ndim} axes.")
    if np.isnan(found).any():
        raise InputError(f"A score of the {what} is missing.", row=int(np.isnan(found).argmax()))
    if len(found) < FEWEST_SCORES:
        raise InputError(
            f"There are {len(found)} scores of the {what}: at least {FEWEST_SCORES} are needed."
        )
    return np.sort(found)
