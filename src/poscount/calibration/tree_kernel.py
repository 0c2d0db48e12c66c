"""The trees of a calibration as one compiled loop; `Trees.predict` gives the same sums."""

from __future__ import annotations

import numpy as np


def add_leaves(
    columns: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    missing_right: np.ndarray,
    leaf: np.ndarray,
    n_trees: int,
    added: np.ndarray,
) -> None:
    """Add what the trees say about lines; the sums are exact, so their order does not matter.

    Parameters
    ----------
    columns : ndarray of shape (n_columns, n_lines)
    feature, threshold, missing_right : ndarray of shape (n_ensembles * n_trees, 15)
        The last ones as 0 or 1.
    leaf : ndarray of shape (n_ensembles * n_trees, 16)
        All as in `poscount.calibration.trees.Trees`.
    n_trees : int
        Of each ensemble.
    added : ndarray of shape (n_ensembles, n_lines)
        Sums, which are added to.
    """
    for tree in range(len(feature)):
        ensemble = tree // n_trees
        # Indices without a sign save the question whether they count from the end.
        for i in range(columns.shape[1]):
            node = 0
            for _ in range(4):
                at = np.uint64(node)
                value = columns[np.uint64(feature[tree, at]), i]
                right = np.int64(value > threshold[tree, at])
                right |= np.int64(value != value) & missing_right[tree, at]
                node = 2 * node + 1 + right
            added[ensemble, i] += leaf[tree, np.uint64(node - 15)]


SIGNATURE = (
    "void(float64[:, ::1], int64[:, ::1], float64[:, ::1], uint8[:, ::1], float32[:, ::1],"
    "int64, float64[:, ::1])"
)
INTEGERS = "tree ensemble i node right"
