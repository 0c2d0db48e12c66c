"""Learning a calibration from a bank."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from poscount.calibration.calibration import (
    QUANTILES,
    LearnedQuantiles,
    as_features,
    uncalibrated,
    upper_bounds,
)
from poscount.calibration.trees import DEPTH, N_LEAVES, N_SPLITS, UNIT, Trees
from poscount.experience.bank import Bank

LEVELS = np.array([0.5, 0.6, 0.7, 0.8, 0.95, 0.98, 0.99])
LARGEST_TARGET = 1.5
N_TREES = 200
LEARNING_RATE = 0.08
FEWEST_IN_LEAF = 40


def fit_trees(bank: Bank) -> Trees:
    """Trees that predict the quantiles of the truth."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    features = as_features(bank.lines, bank.columns).astype(np.float32)
    error = bank.truth - uncalibrated(bank.lines, bank.columns)
    target = np.minimum(error / upper_bounds(bank.lines, bank.columns), LARGEST_TARGET)
    ensembles = [
        HistGradientBoostingRegressor(
            loss="quantile",
            quantile=quantile,
            max_iter=N_TREES,
            learning_rate=LEARNING_RATE,
            max_depth=DEPTH,
            max_leaf_nodes=N_LEAVES,
            min_samples_leaf=FEWEST_IN_LEAF,
            l2_regularization=1.0,
            max_bins=64,
            early_stopping=False,
            random_state=0,
        ).fit(features, target)
        for quantile in QUANTILES
    ]
    return as_trees(ensembles)


def out_of_kin_quantiles(bank: Bank, n_jobs: int | None = None) -> np.ndarray:
    """Quantiles for every sample, by trees that were learned without its kin."""
    kin = np.unique(bank.kin)
    features = as_features(bank.lines, bank.columns)
    trees = Parallel(n_jobs=n_jobs)(delayed(fit_trees)(bank.part(bank.kin != name)) for name in kin)
    quantiles = np.empty((len(bank.truth), len(QUANTILES)))
    for name, found in zip(kin, trees, strict=True):
        own = bank.kin == name
        quantiles[own] = found.predict(features[own])
    return quantiles


class Factors(NamedTuple):
    """What makes the learned quantiles hold on data sets that were not learned from."""

    below: np.ndarray
    above: np.ndarray
    error: np.ndarray


def fit_factors(bank: Bank, quantiles: np.ndarray) -> Factors:
    """Factors from quantiles that were predicted without the kin of each sample.

    At each level, half of the samples that an interval misses lie below it and half above.
    """
    learned = LearnedQuantiles(quantiles, bank.lines, bank.columns)
    error = bank.truth - learned.value
    factors = [
        [
            np.quantile(sign * error / learned.distances(level)[side], (1 + level) / 2)
            for level in LEVELS
        ]
        for side, sign in enumerate((-1, 1))
    ]
    from scipy.optimize import nnls

    return Factors(*np.maximum(factors, 0), nnls(learned.widths, np.abs(error))[0])


def as_trees(ensembles: list[Any]) -> Trees:
    """Scikit-learn's boosted trees of depth 3 as arrays.

    Parameters
    ----------
    ensembles : list of HistGradientBoostingRegressor
        Fitted, with as many trees each.
    """
    shape = (len(ensembles), len(ensembles[0]._predictors))
    feature = np.zeros((*shape, N_SPLITS), np.uint8)
    # A split that a tree does not have sends everything to the left.
    threshold = np.full((*shape, N_SPLITS), np.inf, np.float32)
    missing_right = np.zeros((*shape, N_SPLITS), bool)
    leaf = np.zeros((*shape, N_LEAVES))

    def fill(nodes: np.ndarray, at: int, place: tuple[int, int], split: int, depth: int) -> None:
        node = nodes[at]
        if node["is_leaf"]:
            width = 2 ** (DEPTH - depth)
            first = (split + 1 - 2**depth) * width
            leaf[place][first : first + width] = node["value"]
            return
        feature[place][split] = node["feature_idx"]
        threshold[place][split] = node["num_threshold"]
        missing_right[place][split] = not node["missing_go_to_left"]
        for side, name in enumerate(("left", "right")):
            fill(nodes, node[name], place, 2 * split + 1 + side, depth + 1)

    for e, ensemble in enumerate(ensembles):
        for t, (predictor,) in enumerate(ensemble._predictors):
            fill(predictor.nodes, 0, (e, t), 0, 0)
        leaf[e, 0] += float(ensemble._baseline_prediction.ravel()[0])
    return Trees(
        feature, threshold, missing_right, (np.round(leaf / UNIT) * UNIT).astype(np.float32)
    )
