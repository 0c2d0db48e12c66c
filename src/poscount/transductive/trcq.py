"""TRCQ, region counting with cuts that are also learned from the sample."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from poscount import constraints
from poscount.base import TransductiveQuantifier
from poscount.prevalence import Estimate
from poscount.reusable.rcq import RCQ
from poscount.reusable.region_layout import LEARNED_QUANTILES
from poscount.seeds import stream
from poscount.transductive.classifier_scores import out_of_fold_scores
from poscount.validation import Rows

__all__ = ["TRCQ"]

N_FOLDS = 5
N_TREES = 20
EXPONENT = 3


class TRCQ(TransductiveQuantifier):
    """RCQ with regions that also use a classifier trained on the sample, for one hard sample.

    RCQ looks for a sparse region among bands and cuts that it knows beforehand. TRCQ adds cuts
    along a score that is learned from the positives and the sample together: the mean rank, among
    the positives, of the scores of a logistic regression and of extra trees, where each row is
    scored by classifiers that were not trained on it (five folds). So it can follow a boundary
    between positives and overlapping negatives that is not parallel to any feature. It learns anew
    for each sample, which takes tenths of a second instead of milliseconds, and there are no counts
    that add up.

    Parameters
    ----------
    confidence : float, default=0.95
        Level of the interval.
    random_state : int, RandomState, Generator or None
        Seed of the folds, of the classifiers and of all that RCQ draws.

    Attributes
    ----------
    positives_ : ndarray of shape (n_labeled, n_features)
        The positives.
    rcq_ : RCQ
        The model with the bands and the other cuts.
    seed_ : int
        Seed of everything random.
    n_labeled_ : int
        Number of positives.

    Notes
    -----
    `details` and warnings are those of `RCQ`. The exponent of the calibration is 3 instead of 2.

    Examples
    --------
    Negatives that differ from half of the positives in the sum of two features only:

    >>> import numpy as np
    >>> from poscount import TRCQ
    >>> rng = np.random.default_rng(0)
    >>> positives = rng.normal(size=(400, 2))
    >>> negatives = rng.normal(size=(2000, 2))
    >>> negatives = negatives[negatives.sum(axis=1) > 0][:700]
    >>> sample = np.vstack([rng.normal(size=(300, 2)), negatives])
    >>> round(float(TRCQ(random_state=0).fit(positives).quantify(sample)), 1)
    0.3
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(self, *, confidence: float = 0.95, random_state: Any = None) -> None:
        self.confidence = confidence
        self.random_state = random_state

    def _learn(self, rows: Rows) -> None:
        super()._learn(rows)
        self.rcq_ = RCQ(confidence=self.confidence, random_state=self.seed_).fit(rows.data)

    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimate:
        in_positives, in_sample = self._learned_bins(sample)
        regions = self.rcq_.regions.with_learned_score(in_positives, EXPONENT)
        binned, pat_cells = self.rcq_.place(sample)
        counts = regions.count_rows(np.column_stack([binned, in_sample]))
        return self.rcq_.estimate_in_regions(regions, counts, pat_cells[np.newaxis])[0]

    def _learned_bins(self, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bin of each positive and of each row of the sample along the learned score."""
        generator = stream(self.seed_, "learned score")
        ranks = [np.zeros(len(self.positives_)), np.zeros(len(sample))]
        for classifier in _classifiers():
            scores = out_of_fold_scores(classifier, self.positives_, sample, generator, N_FOLDS)
            ordered = np.sort(scores[0])
            for rank, values in zip(ranks, scores, strict=True):
                # Twice the mean rank of equal values.
                rank += np.searchsorted(ordered, values, "left")
                rank += np.searchsorted(ordered, values, "right")
        edges = np.quantile(ranks[0], LEARNED_QUANTILES)
        in_positives, in_sample = (np.searchsorted(edges, rank).astype(np.uint8) for rank in ranks)
        return in_positives, in_sample


def _classifiers() -> list[BaseEstimator]:
    from sklearn.ensemble import ExtraTreesClassifier  # brings much more than itself

    logistic = LogisticRegression(max_iter=1000, class_weight="balanced")
    trees = ExtraTreesClassifier(N_TREES, min_samples_leaf=5, class_weight="balanced")
    return [make_pipeline(StandardScaler(), logistic), trees]
