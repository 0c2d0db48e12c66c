"""scikit-learn's extra trees for two classes, without what their public way does for each tree.

Small trees take scikit-learn less time to grow than to clone, check and inspect. So they are grown
by the same compiled code directly, with the same seeds, and the probabilities are those of
`sklearn.ensemble.ExtraTreesClassifier` to the last bit. That code is not public: if it is not as it
was, the public way is used.
"""

from __future__ import annotations

import functools
from typing import Any, Self

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.utils import check_random_state

_MAX_SEED = np.iinfo(np.int32).max


class ExtraTrees(ExtraTreesClassifier):
    """Extra trees whose parameters are the number of trees, the size of leaves and the seed."""

    def __init__(
        self, n_estimators: int = 40, *, min_samples_leaf: int = 5, random_state: Any = None
    ) -> None:
        super().__init__(n_estimators, min_samples_leaf=min_samples_leaf, random_state=random_state)

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Learn from finite numbers, labels of which some are True and some False, and weights."""
        self._grown = None
        if sample_weight is None or not _can_grow():
            return super().fit(X, y, sample_weight)
        self._grown = self._grow(X, y, sample_weight)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Probabilities of False and True."""
        if self._grown is None:
            return super().predict_proba(X)
        rows = np.ascontiguousarray(X, np.float32)
        total = np.zeros((len(rows), 2))
        for tree in self._grown:
            total += tree.predict(rows)
        total /= len(self._grown)
        return total

    def _grow(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray) -> list[Any]:
        from sklearn.tree._criterion import Gini
        from sklearn.tree._splitter import RandomSplitter
        from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

        rows = np.ascontiguousarray(X, np.float32)
        labels = np.asarray(y, np.float64).reshape(-1, 1)
        n_features, n_classes = rows.shape[1], np.array([2], np.intp)
        most, least = max(1, int(np.sqrt(n_features))), self.min_samples_leaf
        generator = check_random_state(self.random_state)
        trees = []
        for seed in [generator.randint(_MAX_SEED) for _ in range(self.n_estimators)]:
            splitter = RandomSplitter(
                Gini(1, n_classes), most, least, 0.0, np.random.RandomState(seed), None
            )
            tree = Tree(n_features, n_classes, 1)
            builder = DepthFirstTreeBuilder(splitter, max(2, 2 * least), least, 0.0, _MAX_SEED, 0.0)
            builder.build(tree, rows, labels, sample_weight, None)
            trees.append(tree)
        return trees


@functools.cache
def _can_grow() -> bool:
    """Whether trees that are grown directly are those of the public way."""
    rng = np.random.default_rng(0)
    rows, labels, weights = rng.normal(size=(60, 5)), rng.random(60) < 0.5, rng.random(60)
    light = ExtraTrees(3, random_state=1)
    try:
        light._grown = light._grow(rows, labels, weights)
        found = light.predict_proba(rows)
    except (ImportError, AttributeError, TypeError, ValueError):
        return False
    public = ExtraTreesClassifier(3, min_samples_leaf=5, random_state=1)
    return bool((found == public.fit(rows, labels, weights).predict_proba(rows)).all())
