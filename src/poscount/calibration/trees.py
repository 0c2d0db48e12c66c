"""Boosted trees as arrays: small to store, safe to read, and evaluated by a few lines of numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

DEPTH = 3
N_SPLITS, N_LEAVES = 2**DEPTH - 1, 2**DEPTH
# Leaves add multiples of this, so that sums are exact in any order.
UNIT = 2.0**-22


class Trees(NamedTuple):
    """Ensembles of trees of depth 3, each of which adds up to one prediction.

    Split 0 is the root, and the splits below split i are 2i + 1 and 2i + 2. A value that is above
    the threshold goes to the second of them; so does a missing one, where `missing_right` says so.

    Attributes
    ----------
    feature : ndarray of uint8, shape (n_ensembles, n_trees, 7)
        Column that each split looks at.
    threshold : ndarray of float32, shape (n_ensembles, n_trees, 7)
    missing_right : ndarray of bool, shape (n_ensembles, n_trees, 7)
    leaf : ndarray of float32, shape (n_ensembles, n_trees, 8)
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
        seen = columns[self.feature.ravel()]
        right = seen > self.threshold.reshape(-1, 1)
        right |= np.isnan(seen) & self.missing_right.reshape(-1, 1)
        root, *below = right.reshape(-1, N_SPLITS, len(lines)).transpose(1, 0, 2)
        second = np.where(root, below[1], below[0])
        third = np.where(
            root, np.where(second, below[5], below[4]), np.where(second, below[3], below[2])
        )
        at = 4 * root + 2 * second + third
        at += N_LEAVES * np.arange(len(at))[:, np.newaxis]
        added = self.leaf.ravel()[at].reshape(n_ensembles, n_trees, len(lines))
        return added.sum(axis=1, dtype=np.float64).T
