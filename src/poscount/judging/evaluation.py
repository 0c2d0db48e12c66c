"""A classifier judged without negatives: recall, precision and the like, each with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from poscount.errors import InputError
from poscount.results import notebook
from poscount.results.distribution import Distribution, Interval
from poscount.results.prevalence import Prevalence
from poscount.seeds import seed_of, stream

N_DRAWS = 1000
# Thresholds of a curve: at most so many, at quantiles of the scores.
MOST_THRESHOLDS = 200
# Cells, of equal numbers of positives, by which the average precision is found.
N_CELLS = 40
FEWEST_SCORES = 10
# The positives score higher than those of the sample can: by so many standard errors.
TOO_GOOD = 4.0
RATES = ("recall", "precision", "false_positive_rate", "f1", "elusion")
AREAS = ("roc_auc", "average_precision")


@dataclass(frozen=True, slots=True)
class Rate:
    """A number about a classifier, with its interval."""

    value: float
    interval: Interval

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.3f} ({low:.3f} to {high:.3f})"


@dataclass(frozen=True)
class Rates:
    """What follows if the rows that score at least `threshold` are called positive.

    Attributes
    ----------
    threshold : float
    n_above : int
        Rows of the sample that are called positive.
    recall : Rate
        Share of the sample's positives that are called positive.
    precision : Rate
        Share of the rows called positive that are.
    false_positive_rate : Rate
        Share of the sample's negatives that are called positive.
    f1 : Rate
        Harmonic mean of recall and precision.
    elusion : Rate
        Share of positives among the rows that are called negative.
    """

    threshold: float
    n_above: int
    recall: Rate
    precision: Rate
    false_positive_rate: Rate
    f1: Rate
    elusion: Rate

    def line(self) -> dict[str, float]:
        """Its numbers as a line of a table: each rate with the ends of its interval."""
        found: dict[str, float] = {"threshold": self.threshold, "n_above": self.n_above}
        for name in RATES:
            rate: Rate = getattr(self, name)
            found |= {name: rate.value, f"{name}_low": rate.interval.low}
            found[f"{name}_high"] = rate.interval.high
        return found


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
    _scores: _Scores = field(repr=False, compare=False, kw_only=True)

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
    sample. And the classifier must not have learned from them: hold some positives out.

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
    scores = _Scores(ours, theirs, share, distribution, confidence, seed_of(random_state))
    areas = scores.areas()
    return Evaluation(
        prevalence=share,
        **areas,
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


class _Scores:
    """Sorted scores of both tables, and draws of what they may mean."""

    def __init__(
        self,
        ours: np.ndarray,
        theirs: np.ndarray,
        share: float,
        distribution: Distribution | None,
        level: float,
        seed: int,
    ) -> None:
        self.ours, self.theirs, self.share = ours, theirs, share
        self.level, self.seed = level, seed
        shares = np.full(N_DRAWS, share)
        if distribution is not None:
            shares = distribution.sample(N_DRAWS, random_state=seed)
        # Positives in the sample, of each draw.
        self.n_positive = np.rint(shares * len(theirs)).astype(np.int64)

    def thresholds(self) -> np.ndarray:
        """Where curves are drawn, descending: quantiles of all scores."""
        both = np.unique(np.concatenate([self.ours, self.theirs]))
        if len(both) > MOST_THRESHOLDS:
            places = np.linspace(0, len(both) - 1, MOST_THRESHOLDS).round().astype(int)
            both = both[places]
        return both[::-1]

    def _above(self, scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
        return len(scores) - np.searchsorted(scores, thresholds, side="left")

    def rates(self, thresholds: np.ndarray) -> list[Rates]:
        """The rates at each threshold."""
        above = self._above(self.theirs, thresholds)
        share_above = self._above(self.ours, thresholds) / len(self.ours)
        values = _rates(
            self.share * len(self.theirs) * share_above,
            self.share * len(self.theirs),
            above,
            len(self.theirs),
        )
        drawn = _rates(
            self._drawn_above(thresholds), self.n_positive[:, np.newaxis], above, len(self.theirs)
        )
        found = {name: self._with_interval(values[name], drawn[name]) for name in RATES}
        return [
            Rates(float(t), int(n), **{name: found[name][i] for name in RATES})
            for i, (t, n) in enumerate(zip(thresholds, above, strict=True))
        ]

    def _drawn_above(self, thresholds: np.ndarray) -> np.ndarray:
        """Positives of the sample above each threshold: shape (n_draws, n_thresholds)."""
        n = self._above(self.ours, thresholds)
        found = np.empty((N_DRAWS, len(thresholds)), np.int64)
        for j, k in enumerate(n.tolist()):
            # The same draws at every threshold, so that neighbours agree.
            rng = stream(self.seed, "evaluate a threshold")
            recall = rng.beta(k + 0.5, len(self.ours) - k + 0.5, N_DRAWS)
            found[:, j] = rng.binomial(self.n_positive, recall)
        return found

    def _with_interval(self, values: np.ndarray, drawn: np.ndarray) -> list[Rate]:
        ends = np.nanquantile(drawn, [(1 - self.level) / 2, (1 + self.level) / 2], axis=0)
        return [
            # The interval holds the value, which may be at the end of what is possible.
            Rate(value, Interval(min(low, value), max(high, value), self.level))
            for value, low, high in zip(values.tolist(), *ends.tolist(), strict=True)
        ]

    def areas(self) -> Mapping[str, Rate]:
        """Areas under the two curves."""
        roc, average = self.thresholds()[::-1], self._fortieths()
        return {
            "roc_auc": self._area(_roc_auc, roc, "ROC"),
            "average_precision": self._area(_average_precision, average, "precision"),
        }

    def _fortieths(self) -> np.ndarray:
        """Edges, ascending, of cells with a fortieth of the positives each; below is one more.

        In smaller cells, the ratio of two small numbers would be mostly chance.
        """
        places = np.arange(N_CELLS) * len(self.ours) // N_CELLS
        return np.unique(np.append(self.ours[places], min(self.theirs[0], self.ours[0])))

    def _area(self, area: Callable[..., np.ndarray], edges: np.ndarray, name: str) -> Rate:
        """An area from cells along the score, and its interval from draws of the positives there.

        Parameters
        ----------
        area : callable
            From positives and rows in cells to the area.
        edges : ndarray
            Lower ends of the cells, ascending.
        name : str
            Of the draws.
        """
        ours, theirs = (
            -np.diff(self._above(scores, edges), append=0) for scores in (self.ours, self.theirs)
        )
        n_positive = self.share * len(self.theirs)
        rng = stream(self.seed, f"evaluate the area under {name}")
        shares = rng.dirichlet(ours + 1 / len(ours), N_DRAWS)
        drawn = rng.multinomial(self.n_positive, shares)
        as_known = rng.multinomial(round(n_positive), shares)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = area((ours / len(self.ours) * n_positive)[np.newaxis], theirs)
            # Where ratios are limited, chance moves an area in one direction: the draws show how
            # far the value has been moved, and they have been moved once more.
            moved = area(as_known, theirs).mean() - value
            corrected = (area(drawn, theirs) - 2 * moved).clip(0, 1)
        return self._with_interval((value - moved).clip(0, 1), corrected[:, np.newaxis])[0]

    def threshold(self, wanted: float, *, of_recall: bool) -> float | None:
        """The highest threshold with a recall, or the lowest with a precision."""
        if of_recall:
            n = len(self.ours)
            return float(self.ours[n - math.ceil(round(wanted * n, 9))])
        thresholds = np.unique(self.ours)
        good = np.flatnonzero(self._precision(thresholds) >= wanted)
        return float(thresholds[good[0]]) if len(good) else None

    def highest_precision(self) -> float:
        """At the threshold where precision is highest."""
        return float(self._precision(np.unique(self.ours)).max())

    def _precision(self, thresholds: np.ndarray) -> np.ndarray:
        above = self._above(self.theirs, thresholds)
        positive = self.share * len(self.theirs) * self._above(self.ours, thresholds)
        found = positive / len(self.ours) / np.maximum(above, 1)
        return np.where(above > 0, np.minimum(found, 1), 1.0)

    def caution(self) -> str:
        """Whether the positives score higher than those of the sample can."""
        thresholds = self.thresholds()
        ours, theirs = (self._above(x, thresholds) / len(x) for x in (self.ours, self.theirs))
        least = float(np.quantile(self.n_positive, 0.025)) / len(self.theirs)
        error = np.sqrt(
            least**2 * ours * (1 - ours) / len(self.ours)
            + least * ours * (1 - least * ours) / len(self.theirs)
        )
        if not (least * ours - theirs > TOO_GOOD * np.maximum(error, 1 / len(self.theirs))).any():
            return ""
        return (
            "The positives score higher than the positives of the sample can. Has the classifier "
            "learned from them? Judge it by positives that were held out."
        )


def _rates(positive: np.ndarray, n_positive: Any, above: np.ndarray, n: int) -> dict[str, Any]:
    """Rates from how many positives are above thresholds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        recall = np.where(n_positive > 0, positive / n_positive, np.nan)
        # No more than there are rows, above the threshold and below.
        positive = np.maximum(np.minimum(positive, above), n_positive - (n - above))
        return {
            "recall": recall,
            "precision": np.where(above > 0, positive / above, 1.0),
            "false_positive_rate": np.where(
                n_positive < n, (above - positive) / (n - n_positive), 0.0
            ),
            "f1": 2 * positive / np.maximum(n_positive + above, 1),
            "elusion": np.where(above < n, (n_positive - positive) / (n - above), 0.0),
        }


def _roc_auc(positives: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Area under the ROC curve, of shape (n_draws,), from positives and rows in cells."""
    # Negative numbers of negatives in a cell cancel in the sum, so they are kept.
    negatives = rows - positives
    below = np.cumsum(negatives, axis=1) - negatives / 2
    area = (positives * below).sum(axis=1) / (positives.sum(axis=1) * negatives.sum(axis=1))
    return area.clip(0, 1)


def _average_precision(positives: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Area under precision by recall, of shape (n_draws,), from positives and rows in cells."""
    found = np.cumsum(positives[:, ::-1], axis=1)
    precision = np.minimum(found / np.maximum(np.cumsum(rows[::-1]), 1), 1)
    # Within a cell, half of the way from the precision above it.
    before = np.column_stack([precision[:, :1], precision[:, :-1]])
    share = positives[:, ::-1] / found[:, -1:]
    return (share * (precision + before) / 2).sum(axis=1).clip(0, 1)
