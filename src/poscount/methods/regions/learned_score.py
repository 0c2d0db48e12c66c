"""A score of positives against other rows of the same field, learned once and used for any sample.

Every row belongs to one of five folds, by a hash of what it holds. For each fold, boosted trees
learn to tell the positives of the other folds from the reference rows of the other folds. Every
row, whether a positive, a reference row or a new one, is scored by the trees of its own fold, which
have seen no row equal to it. So labelled positives and new ones have scores of the same
distribution, rows of the reference may be counted, too, and neither their order nor the engine that
counts them matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from poscount.calibration.trees import DEPTH, N_LEAVES, N_SPLITS, Trees, trees_of_boosting
from poscount.data.columns import Columns
from poscount.methods.regions.layout import LEARNED_QUANTILES
from poscount.methods.regions.order import FARTHEST, CanonicalOrder
from poscount.seeds import stream
from poscount.storage.schema import Array, Field, Number, Whole, require

N_FOLDS = 5
# Rows of the reference that are learned from, and of the positives.
MOST_ROWS = 5000
N_TREES = 60
# Learning rate times number of trees: fewer trees take larger steps.
ALL_STEPS = 6.0
FEWEST_IN_LEAF = 10
# Thresholds of a column that trees may use, from the quantiles of either side.
N_CUTS = 32
# So many rows and their columns stay in the cache while the trees look at them.
ROWS_AT_ONCE = 2048


class LearnedScore(BaseEstimator):
    """Boosted trees of each fold, and where the positives' quantiles lie along their score.

    Attributes
    ----------
    order_ : ndarray of int, shape (n_columns,)
        Columns of the classifiers' design matrix, in the order in which keys add them up.
    location_, scale_, turns_ : ndarray of shape (n_columns,)
        What makes a row's standardised values, and how each of them turns its key.
    feature_, threshold_, leaf_ : ndarray
        The trees (`poscount.calibration.trees.Trees`), one ensemble for each fold; they look at
        standardised values, of which none is missing.
    edges_ : ndarray of shape (8,)
        Quantiles of the positives' scores.
    n_reference_ : int
        Distinct rows of the reference that were learned from.
    skill_ : float
        By how much the area under the ROC curve, of the positives against the reference, is above
        that of a guess.
    """

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "order_": Array("int64", ("columns",), least=0),
        "location_": Array("float64", ("columns",)),
        "scale_": Array("float64", ("columns",), least=5e-324),
        "turns_": Array("float64", ("columns",), least=-1e4, most=1e4),
        "feature_": Array("int64", (N_FOLDS, "trees", N_SPLITS), least=0),
        "threshold_": Array("float64", (N_FOLDS, "trees", N_SPLITS), infinite=True),
        "leaf_": Array("float32", (N_FOLDS, "trees", N_LEAVES), least=-1e3, most=1e3),
        "edges_": Array("float64", (len(LEARNED_QUANTILES),), ascending=True),
        "n_reference_": Whole(1),
        "skill_": Number(-0.5, 0.5),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless every index is in range: files may hold anything."""
        n = len(self.order_)
        require((np.sort(self.order_) == np.arange(n)).all(), "its columns are in no order.")
        require(self.feature_.max(initial=0) < n, "a tree looks at a column that there is not.")

    def fit(
        self,
        positives: np.ndarray,
        reference: np.ndarray,
        columns: Columns,
        seed: int,
        n_trees: int = N_TREES,
    ) -> Self:
        """Learn from codes of positives and of reference rows, each in any order."""
        ours, theirs = (classifier_design(codes, columns) for codes in (positives, reference))
        order = CanonicalOrder(ours, seed)
        self.order_ = order.columns
        self.location_, self.scale_, self.turns_ = order.constants
        sides = [self._distinct(rows) for rows in (ours, theirs)]
        self.n_reference_ = len(sides[1].fold)
        cuts = [_cuts(*pair) for pair in zip(*(side.columns for side in sides), strict=True)]
        state = int(stream(seed, "learned score").integers(2**31))
        with threadpool_limits(1, "openmp"):
            ensembles = [_boost(sides, fold, cuts, n_trees, state) for fold in range(N_FOLDS)]
        self.feature_, self.threshold_, self.leaf_ = (
            np.concatenate([getattr(trees, name) for trees in ensembles])
            for name in ("feature", "threshold", "leaf")
        )
        scores = [self._scores(side.columns, side.fold) for side in sides]
        self.edges_ = np.quantile(self.scores(positives, columns), LEARNED_QUANTILES)
        self.skill_ = _skill(scores, [side.times for side in sides])
        return self

    def scores(self, codes: np.ndarray, columns: Columns) -> np.ndarray:
        """Score of each row of codes, by the trees of its fold."""
        standardised = self._standardised(classifier_design(codes, columns))
        return self._scores(standardised, self._folds(standardised))

    def bins(self, codes: np.ndarray, columns: Columns) -> np.ndarray:
        """Bin of each row along the score: how many of the positives' quantiles are below it."""
        return np.searchsorted(self.edges_, self.scores(codes, columns)).astype(np.uint8)

    def _standardised(self, design: np.ndarray) -> np.ndarray:
        """Columns in standard deviations of the positives, of shape (n_columns, n_rows)."""
        values = np.ascontiguousarray(design.T[self.order_], np.float64)
        with np.errstate(over="ignore"):
            values -= self.location_[:, np.newaxis]
            values /= self.scale_[:, np.newaxis]
        return np.clip(values, -FARTHEST, FARTHEST, out=values)

    def _keys(self, columns: np.ndarray) -> np.ndarray:
        total = np.zeros(columns.shape[1])
        # One column after the other: a matrix product may give equal rows other last bits.
        for column, turns in zip(columns, self.turns_, strict=True):
            total += turns * column
        return total % 1.0

    def _folds(self, columns: np.ndarray) -> np.ndarray:
        return (N_FOLDS * self._keys(columns)).astype(np.intp).clip(0, N_FOLDS - 1)

    def _distinct(self, design: np.ndarray) -> _Side:
        """Distinct rows in the order of their keys, at most `MOST_ROWS` at equal distances."""
        columns = self._standardised(design)
        _, first, times = np.unique(self._keys(columns), return_index=True, return_counts=True)
        if len(first) > MOST_ROWS:
            chosen = (np.arange(MOST_ROWS) + 0.5) * (len(first) / MOST_ROWS)
            first, times = first[chosen.astype(np.intp)], times[chosen.astype(np.intp)]
        return _Side(columns[:, first], times, self._folds(columns[:, first]))

    def _scores(self, columns: np.ndarray, folds: np.ndarray) -> np.ndarray:
        scores = np.empty(len(folds))
        for fold in range(N_FOLDS):
            feature, threshold, leaf = (
                each[[fold]] for each in (self.feature_, self.threshold_, self.leaf_)
            )
            trees = Trees(feature, threshold, np.zeros(feature.shape, bool), leaf)
            rows = np.flatnonzero(folds == fold)
            for start in range(0, len(rows), ROWS_AT_ONCE):
                part = rows[start : start + ROWS_AT_ONCE]
                scores[part] = trees.predict(columns[:, part].T)[:, 0]
        return scores


class _Side(NamedTuple):
    """Columns of distinct rows, positives or reference, how often each is there, and its fold."""

    columns: np.ndarray
    times: np.ndarray
    fold: np.ndarray


def classifier_design(codes: np.ndarray, columns: Columns) -> np.ndarray:
    """Numbers, where they are missing, and where rows have another value than all positives."""
    design, different = columns.design(codes, gaps=True), columns.constants_.differ(codes)
    return design if different is None else np.column_stack([design, different])


def _cuts(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """Thresholds of a column: midway between neighbouring values, at the quantiles of both sides.

    Examples
    --------
    >>> _cuts(np.array([0.0, 0.0, 1.0]), np.array([1.0, 4.0])).tolist()
    [0.5, 2.5]
    """
    values = np.unique(np.concatenate([ours, theirs]))
    at = [
        np.searchsorted(values, np.quantile(side, np.linspace(0, 1, N_CUTS + 1)), side="right") - 1
        for side in (ours, theirs)
    ]
    below = np.unique(np.concatenate(at))
    below = below[below < len(values) - 1]
    return (values[below] + values[below + 1]) / 2


def _boost(
    sides: list[_Side], fold: int, cuts: list[np.ndarray], n_trees: int, state: int
) -> Trees:
    """Trees that tell the positives of the other folds from the reference of the other folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # brings much more than itself

    kept = [side.fold != fold for side in sides]
    totals = [side.times[here].sum() for side, here in zip(sides, kept, strict=True)]
    if not all(totals):
        return Trees.nothing(1, n_trees)
    columns = np.hstack([side.columns[:, here] for side, here in zip(sides, kept, strict=True)])
    weights = np.concatenate(
        [side.times[here] / n for side, here, n in zip(sides, kept, totals, strict=True)]
    )
    n_ours = np.count_nonzero(kept[0])
    # Bins of our own, because those of scikit-learn take longer than the trees where rows have
    # weights.
    binned = np.column_stack(
        [np.searchsorted(at, column) for at, column in zip(cuts, columns, strict=True)]
    )
    boosting = HistGradientBoostingClassifier(
        max_iter=n_trees,
        learning_rate=ALL_STEPS / n_trees,
        max_depth=DEPTH,
        max_leaf_nodes=N_LEAVES,
        min_samples_leaf=FEWEST_IN_LEAF,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=state,
    )
    boosting.fit(binned, np.arange(len(binned)) < n_ours, weights * (len(binned) / 2))
    trees = trees_of_boosting(boosting)
    # From bins back to values; a split that a tree does not have sends everything to the left.
    real = np.isfinite(trees.threshold)
    threshold = np.full(trees.threshold.shape, np.inf)
    places = np.floor(trees.threshold[real]).astype(np.intp)
    threshold[real] = [cuts[j][place] for j, place in zip(trees.feature[real], places, strict=True)]
    return trees._replace(feature=trees.feature.astype(np.int64), threshold=threshold)


def _skill(scores: list[np.ndarray], times: list[np.ndarray]) -> float:
    """Area under the ROC curve minus one half; rows count as often as they are there."""
    ours, theirs = scores
    order = np.argsort(ours, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(times[0][order])])
    ordered = ours[order]
    rank = below[np.searchsorted(ordered, theirs, "left")]
    rank = (rank + below[np.searchsorted(ordered, theirs, "right")]) / (2 * below[-1])
    return float(0.5 - np.average(rank, weights=times[1]))
