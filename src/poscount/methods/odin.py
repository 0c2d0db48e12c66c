"""ODIn, the one-distribution-inside quantifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from poscount.base import constraints
from poscount.data.rows import Rows
from poscount.methods.intervals import Resampler, normal_quantiles
from poscount.methods.score_quantifier import ScoreQuantifier
from poscount.results.distribution import widened
from poscount.scorers import own_if_tied
from poscount.seeds import stream
from poscount.storage.schema import Array, Field, Number

__all__ = ["ODIn"]

# Into how many parts the training scores are split, two of which are compared, and how many
# standard deviations are added to the mean.
LIMITS = {"mean + 3 sd": (3, 3), "mean": (2, 0)}


class ODIn(ScoreQuantifier):
    r"""Finds the largest share of positives whose distribution of scores fits into the sample's.

    Cut the scores at the percentiles 0, 10, ..., 100 of the positives' training scores. With the
    bin shares A of the positives and B of the sample, positives scaled by a overflow the sample by

    .. math:: OA(a) = \sum_i \max(0, a A_i - B_i)

    and s is the largest a in [0, 1] whose overflow is at most a Lim, a limit that samples of
    positives themselves produce: mean + 3 standard deviations of OA(1) between two disjoint
    random thirds of the training scores, over 100 draws. The estimate is s - OA(s).

    The limit allows a good deal of overflow, so ODIn's estimate is too high at middling prevalences
    and, because of the overflow that is subtracted, too low near 1. Its interval does not account
    for this bias: the 95 % interval covers the truth in 70 of 100 samples of the paper's Experiment
    #1 (in 39 on its worst data set), PAT's in 90 (``docs/reproduction``, or
    ``python -m research reproduce 1 --methods pat odin --datasets A C ...``).

    Assumes that the labelled positives are typical of those in the sample (SCAR), that both were
    recorded alike, and that the negatives leave some scores of positives free.

    Parameters
    ----------
    scorer : estimator, optional
        Any scikit-learn or PyOD detector or pipeline; `Mahalanobis()` if None.
    limit : {"mean + 3 sd", "mean"}, default="mean + 3 sd"
        How Lim comes from the overflows of positives themselves: as in the authors' code, or as in
        the paper's text, the mean of OA(1) between two random halves.
    confidence : float, default=0.95
        Level of the interval.
    n_jobs : int, optional
        Number of threads for counting; -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of an unseeded scorer, of the limit and of the interval.

    Attributes
    ----------
    scorer_ : estimator
        The scorer fitted on all positives.
    edges_ : ndarray
        The eleven edges; the first and the last of the twelve bins are open.
    shares_ : ndarray
        Share of the positives in each bin.
    limit_ : float
        Overflow that samples of positives alone produce.

    See Also
    --------
    poscount.PAT : Another rule for the same score.
    poscount.RCQ : The default.

    References
    ----------
    D. dos Reis, A. Maletzke, E. Cherman, G. Batista, "One-Class Quantification", ECML PKDD 2018,
    doi:10.1007/978-3-030-10925-7_17, introduced ODIn; described again in D. dos Reis, M. de Souto,
    E. de Sousa, G. Batista, "Quantifying With Only Positive Training Data", arXiv:2004.10356.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import ODIn
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(500, 3))
    >>> sample = np.vstack([rng.normal(size=(300, 3)), rng.normal(size=(700, 3)) + 5])
    >>> round(ODIn(random_state=0).fit(positives).quantify(sample), 1)
    0.3
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **ScoreQuantifier._parameter_constraints,
        "limit": [constraints.StrOptions(set(LIMITS))],
    }

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "edges_": Array("float64", (11,), infinite=True, ascending=True),
        # The mean of shares plus three standard deviations is at most .5 + .5 sqrt(10).
        "limit_": Number(0, 2.09),
    }

    def __init__(
        self,
        scorer: BaseEstimator | None = None,
        *,
        limit: str = "mean + 3 sd",
        confidence: float = 0.95,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.scorer = scorer
        self.limit = limit
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _settled(self, training_scores: np.ndarray, rows: Rows) -> np.ndarray:
        if not hasattr(self, "columns_") or self.columns_.all_numbers:
            return training_scores
        return own_if_tied(self.scorer_, rows.data, training_scores)

    def _place_edges(self, training_scores: np.ndarray) -> None:
        self.edges_ = np.quantile(training_scores, np.linspace(0, 1, 11))
        # A cell includes its upper edge, so the lowest score would otherwise fall below all bins.
        self.edges_[0] = np.nextafter(self.edges_[0], -np.inf)
        self.shares_ = self._histogram(training_scores) / len(training_scores)
        self.limit_ = self._overflow_limit(training_scores)

    def _histogram(self, scores: np.ndarray) -> np.ndarray:
        return np.bincount(np.searchsorted(self.edges_, scores), minlength=12)

    def _overflow_limit(self, training_scores: np.ndarray) -> float:
        generator = stream(self.seed_, "limit")
        n_parts, n_deviations = LIMITS[self.limit]
        size = len(training_scores) // n_parts
        overflows = []
        for _ in range(100):
            drawn = generator.permutation(training_scores)
            inside = self._histogram(drawn[:size]) / size
            outside = self._histogram(drawn[size : 2 * size]) / size
            overflows.append(np.maximum(0, inside - outside).sum())
        return float(np.mean(overflows) + n_deviations * np.std(overflows))

    def _quantiles(self, values: np.ndarray, cells: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        # There are n - 1 gaps between n positives, and one more on either side.
        concentration = (self.n_labeled_ - 1) * self.shares_
        concentration[[0, -1]] = 1
        generator = stream(self.seed_, "interval")
        resampler = Resampler(self._rule, concentration, self.confidence, generator)
        # The closed form is a lower limit, because resampling an empty cell shows no spread.
        least = normal_quantiles(values, self.n_labeled_, n_rows)
        resampled = np.array([resampler.quantiles(row) for row in cells])
        return widened(least, resampled.reshape(least.shape), below=True)

    def _rule(self, cells: np.ndarray, shares: np.ndarray) -> np.ndarray:
        outside = cells / cells.sum(axis=-1, keepdims=True)
        inside = np.broadcast_to(shares, outside.shape)
        s = _largest_fitting(inside, outside, self.limit_)
        overflow = np.maximum(0, s[..., np.newaxis] * inside - outside).sum(axis=-1)
        return np.clip(s - overflow, 0, 1)


def _largest_fitting(inside: np.ndarray, outside: np.ndarray, limit: float) -> np.ndarray:
    """Largest a in [0, 1] with sum(max(0, a inside - outside)) <= a limit.

    The left side is the largest a (sum of inside) - (sum of outside) over all sets of bins, so
    each set allows a up to (sum of outside) / (sum of inside - limit). The set that decides is
    always the first k bins to overflow, in the order of outside / inside.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        bends = np.where(inside > 0, outside / inside, np.inf)
        order = np.argsort(bends, axis=-1)
        taken = np.cumsum(np.take_along_axis(outside, order, axis=-1), axis=-1)
        slope = np.cumsum(np.take_along_axis(inside, order, axis=-1), axis=-1) - limit
        meets = np.where(slope > 0, taken / slope, np.inf)
    return np.minimum(1.0, meets.min(axis=-1))
