"""Boosted trees as arrays: small to store, safe to read, and evaluated by a few lines of numpy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from poscount import compiling
from poscount.calibration import tree_kernel

DEPTH = 4
N_SPLITS, N_LEAVES = 2**DEPTH - 1, 2**DEPTH
# Leaves add multiples of this, so that sums are exact in any order.
UNIT = 2.0**-22
# For fewer, nobody should wait for machine code.
FEWEST_LINES = 32


class Trees(NamedTuple):
    """Ensembles of trees of depth 4, each of which adds up to one prediction.

    Split 0 is the root, and the splits below split i are 2i + 1 and 2i + 2. A value that is above
    the threshold goes to the second of them; so does a missing one, where `missing_right` says so.

    Attributes
    ----------
    feature : ndarray of int, shape (n_ensembles, n_trees, 15)
        Column that each split looks at.
    threshold : ndarray of shape (n_ensembles, n_trees, 15)
    missing_right : ndarray of bool, shape (n_ensembles, n_trees, 15)
    leaf : ndarray of float32, shape (n_ensembles, n_trees, 16)
        What it adds.
    """

    feature: np.ndarray
    threshold: np.ndarray
    missing_right: np.ndarray
    leaf: np.ndarray

    def predict(self, lines: np.ndarray) -> np.ndarray:
        """Predictions of all ensembles for each line: shape (n_lines, n_ensembles).

        Parameters
        ----------
        lines : ndarray of shape (n_lines, n_columns)
            NaN where a value is missing.
        """
        n_ensembles, n_trees, _ = self.feature.shape
        columns = np.ascontiguousarray(lines.T, dtype=np.float64)
        if len(lines) >= FEWEST_LINES and compiling.worth_compiling(self.feature.size * len(lines)):
            return self._predict_compiled(columns)
        every_line = np.arange(len(lines))
        tree = np.arange(n_ensembles * n_trees)[:, np.newaxis]
        feature, threshold = self.feature.ravel(), self.threshold.ravel()
        missing_right = self.missing_right.ravel()
        node = np.zeros((len(tree), len(lines)), np.intp)
        for _ in range(DEPTH):
            split = N_SPLITS * tree + node
            seen = columns[feature[split], every_line]
            right = (seen > threshold[split]) | (np.isnan(seen) & missing_right[split])
            node = 2 * node + 1 + right
        added = self.leaf.ravel()[N_LEAVES * tree + node - N_SPLITS]
        return added.reshape(n_ensembles, n_trees, -1).sum(axis=1, dtype=np.float64).T

    def _predict_compiled(self, columns: np.ndarray) -> np.ndarray:
        n_ensembles, n_trees, _ = self.feature.shape
        add_leaves = compiling.compiled(
            tree_kernel.add_leaves, tree_kernel.SIGNATURE, tree_kernel.INTEGERS
        )
        added = np.zeros((n_ensembles, columns.shape[1]))
        # joblib may have mapped a model's arrays, which are then not writable, and the kernel is
        # compiled for those that are.
        kinds = (np.int64, np.float64, np.uint8, np.float32)
        trees = (
            np.require(values.reshape(n_ensembles * n_trees, -1), kind, ("C", "W"))
            for values, kind in zip(self, kinds, strict=True)
        )
        add_leaves(columns, *trees, n_trees, added)
        return added.T

    @classmethod
    def nothing(cls, n_ensembles: int, n_trees: int) -> Trees:
        """Trees that add nothing to any line."""
        shape = (n_ensembles, n_trees)
        return cls(
            np.zeros((*shape, N_SPLITS), np.int64),
            # A split that a tree does not have sends everything to the left.
            np.full((*shape, N_SPLITS), np.inf),
            np.zeros((*shape, N_SPLITS), bool),
            np.zeros((*shape, N_LEAVES), np.float32),
        )


def trees_of_boosting(boosting: Any) -> Trees:
    """Scikit-learn's boosted trees as arrays: an ensemble for each of several classes, or one.

    Parameters
    ----------
    boosting : HistGradientBoostingRegressor or HistGradientBoostingClassifier
        Fitted.
    """
    trees = Trees.nothing(len(boosting._predictors[0]), len(boosting._predictors))
    leaf = np.zeros(trees.leaf.shape)

    def fill(nodes: np.ndarray, at: int, place: tuple[int, int], split: int, depth: int) -> None:
        node = nodes[at]
        if node["is_leaf"]:
            width = 2 ** (DEPTH - depth)
            first = (split + 1 - 2**depth) * width
            leaf[place][first : first + width] = node["value"]
            return
        trees.feature[place][split] = node["feature_idx"]
        trees.threshold[place][split] = node["num_threshold"]
        trees.missing_right[place][split] = not node["missing_go_to_left"]
        for side, name in enumerate(("left", "right")):
            fill(nodes, node[name], place, 2 * split + 1 + side, depth + 1)

    for t, of_round in enumerate(boosting._predictors):
        for e, predictor in enumerate(of_round):
            fill(predictor.nodes, 0, (e, t), 0, 0)
    leaf[:, 0] += np.ravel(boosting._baseline_prediction)[:, np.newaxis]
    return trees._replace(leaf=(np.round(leaf / UNIT) * UNIT).astype(np.float32))
