"""PAT, the passive-aggressive threshold quantifier."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from poscount.base import constraints
from poscount.checks.overlap import core_excess
from poscount.methods.intervals import pat_quantiles
from poscount.methods.score_quantifier import ScoreQuantifier
from poscount.storage.schema import Array, Field, require

__all__ = ["PAT"]


class PAT(ScoreQuantifier):
    r"""Counts the rows that score above a threshold, and scales up by the positives that do.

    The passive-aggressive threshold: a threshold at the q-quantile of the positives' scores lets a
    share 1 - q of all positives pass. If few negatives pass, the prevalence is

    .. math:: \hat p_q = \min\left(1,
              \frac{\#\{x \in U : score(x) > t_q\}}{n_U\,(1 - q)}\right)

    and the estimate is the median over q = 0.25, 0.26, ..., 0.75. The training scores are
    out-of-fold (ten folds), because a scorer gives its own training rows scores that are too high.

    PAT's estimate is too high when negatives score like typical positives. PAT cannot notice this,
    except where more rows pass than if all rows were positive (the warning "overlap").

    Assumes that the labelled positives are typical of those in the sample (SCAR), that both were
    recorded alike, and that no negatives score like typical positives.

    Parameters
    ----------
    scorer : estimator, optional
        Any scikit-learn or PyOD detector or pipeline; `Mahalanobis()` if None.
    q : float or (float, float), default=(0.25, 0.75)
        A range of quantiles with both of its ends, in steps of 0.01 (about that, if its length is
        no multiple of it), or a single quantile. With 0, the threshold is the lowest score of a
        positive, and nothing is scaled up: for classes that the score separates.
    confidence : float, default=0.95
        Level of the interval.
    n_jobs : int, optional
        Number of threads for counting; -1 uses all cores. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        Seed of the folds and of an unseeded scorer.

    Attributes
    ----------
    scorer_ : estimator
        The scorer fitted on all positives.
    edges_ : ndarray
        Thresholds :math:`t_q`.
    shares_ : ndarray
        Share of the positives in each of the cells between the thresholds.
    quantiles_ : ndarray
        The quantiles q.

    See Also
    --------
    poscount.RCQ : Needs only one region without negatives.
    poscount.ODIn : Another rule for the same score.

    References
    ----------
    D. dos Reis, A. Maletzke, E. Cherman, G. Batista, "One-Class Quantification", ECML PKDD 2018,
    doi:10.1007/978-3-030-10925-7_17, introduced PAT with a single q. D. dos Reis, M. de Souto,
    E. de Sousa, G. Batista, "Quantifying With Only Positive Training Data", arXiv:2004.10356, takes
    the median over q.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import PAT
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(500, 3))
    >>> sample = np.vstack([rng.normal(size=(300, 3)), rng.normal(size=(700, 3)) + 5])
    >>> PAT(random_state=0).fit(positives).quantify(sample)
    Prevalence(0.275, 95% interval [0.233, 0.325], n=1000, PAT)
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **ScoreQuantifier._parameter_constraints,
        "q": [constraints.Interval(Real, 0, 1, closed="left"), tuple, list],
    }

    LEARNED: ClassVar[Mapping[str, Field]] = {"quantiles_": Array("float64", ("edges",))}

    def __init__(
        self,
        scorer: BaseEstimator | None = None,
        *,
        q: float | tuple[float, float] = (0.25, 0.75),
        confidence: float = 0.95,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.scorer = scorer
        self.q = q
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.random_state = random_state

    def check_learned(self) -> None:
        """Raise ValueError unless some positives are above the last edge: it is divided by them."""
        super().check_learned()
        require(self.shares_[-1] > 0, "no positive scores above its last threshold.")

    def _place_edges(self, training_scores: np.ndarray) -> None:
        self.quantiles_ = _quantiles(self.q)
        self.edges_ = np.quantile(training_scores, self.quantiles_)
        self.shares_ = np.diff(self.quantiles_, prepend=0.0, append=1.0)

    def _quantiles(self, values: np.ndarray, cells: np.ndarray, n_rows: np.ndarray) -> np.ndarray:
        return pat_quantiles(values, self.quantiles_, self.n_labeled_, n_rows)

    def _rule(self, cells: np.ndarray, shares: np.ndarray) -> np.ndarray:
        return np.median(np.minimum(1.0, tail_ratios(cells, shares)), axis=-1)

    def _values_and_details(self, cells: np.ndarray) -> tuple[np.ndarray, dict[str, Any]]:
        ratios = tail_ratios(cells, self.shares_)
        curve, uncapped = np.minimum(1.0, ratios), np.median(ratios, axis=-1)
        details = {
            "q": lambda i: self.quantiles_,
            "curve": curve,
            "core_excess": core_excess(uncapped, self.n_labeled_, cells.sum(axis=-1)),
        }
        return np.median(curve, axis=-1), details


def tail_ratios(cells: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Share of rows above each threshold over the share of positives above it, without a cap."""
    passed = np.cumsum(cells[..., :0:-1], axis=-1)[..., ::-1]
    expected = np.cumsum(shares[..., :0:-1], axis=-1)[..., ::-1]
    return passed / cells.sum(axis=-1, keepdims=True) / expected


def _quantiles(q: float | tuple[float, float]) -> np.ndarray:
    if not isinstance(q, tuple | list):
        return np.array([q])
    if len(q) != 2 or not all(isinstance(x, Real) for x in q) or not 0 <= q[0] <= q[1] < 1:
        raise ValueError(
            f"q is one quantile or a range (low, high) with 0 <= low <= high < 1, got {q}."
        )
    low, high = q
    # However short the range is, it has two ends.
    return np.linspace(low, high, max(round((high - low) * 100), int(low < high)) + 1)
