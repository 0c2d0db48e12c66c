"""Boosted trees as arrays: small to store, safe to read, and evaluated by a few lines of numpy."""

from __future__ import annotations

from typing import NamedTuple

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
    feature : ndarray of uint8, shape (n_ensembles, n_trees, 15)
        Column that each split looks at.
    threshold : ndarray of float32, shape (n_ensembles, n_trees, 15)
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
        columns = np.ascontiguousarray(lines.T, dtype=np.float32)
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
        trees = (
            np.require(values.reshape(n_ensembles * n_trees, -1), requirements=("C", "W"))
            for values in self._replace(missing_right=self.missing_right.view(np.uint8))
        )
        add_leaves(columns, *trees, n_trees, added)
        return added.T
