"""Learning a calibration from a bank."""

from __future__ import annotations

from typing import Any

import numpy as np

from poscount.calibration.trees import DEPTH, N_LEAVES, N_SPLITS, UNIT, Trees


def as_trees(ensembles: list[Any]) -> Trees:
    """Scikit-learn's boosted trees of depth 3 as arrays.

    Parameters
    ----------
    ensembles : list of HistGradientBoostingRegressor
        Fitted, with as many trees each.
    """
    n_trees = len(ensembles[0]._predictors)
    shape = (len(ensembles), n_trees)
    feature = np.zeros((*shape, N_SPLITS), np.uint8)
    # A split that a tree does not have sends everything to the left.
    threshold = np.full((*shape, N_SPLITS), np.inf, np.float32)
    missing_right = np.zeros((*shape, N_SPLITS), bool)
    value = np.zeros((*shape, N_LEAVES))
    for e, ensemble in enumerate(ensembles):
        for t, (predictor,) in enumerate(ensemble._predictors):
            _fill(
                predictor.nodes,
                0,
                0,
                0,
                feature[e, t],
                threshold[e, t],
                missing_right[e, t],
                value[e, t],
            )
        value[e, 0] += float(ensemble._baseline_prediction.ravel()[0])
    return Trees(
        feature, threshold, missing_right, (np.round(value / UNIT) * UNIT).astype(np.float32)
    )


def _fill(nodes, at, split, depth, feature, threshold, missing_right, value) -> None:
    node = nodes[at]
    if node["is_leaf"]:
        width = 2 ** (DEPTH - depth)
        first = (split - (2**depth - 1)) * width
        value[first : first + width] = node["value"]
        return
    feature[split] = node["feature_idx"]
    threshold[split] = node["num_threshold"]
    missing_right[split] = not node["missing_go_to_left"]
    for side, name in enumerate(("left", "right")):
        _fill(
            nodes,
            node[name],
            2 * split + 1 + side,
            depth + 1,
            feature,
            threshold,
            missing_right,
            value,
        )
