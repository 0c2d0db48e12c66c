"""Learning the doubt from a bank of clean and broken samples, and judging it on tables left out."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from poscount.calibration.calibration import probabilities
from poscount.calibration.doubt import ANSWERS, BREAKS, LARGEST_LEAF, Doubt, as_seen
from poscount.calibration.trees import DEPTH, Trees, trees_of_boosting
from poscount.methods.regions.doubt_features import DOUBT_FEATURES
from research.verdict.bank import Answered
from research.verdict.families import FAMILIES

N_TREES, LEARNING_RATE, MOST_LEAVES, FEWEST_IN_LEAF = 160, 0.06, 12, 40
SHARE_OF_COLUMNS, PENALTY = 0.1, 5.0
# Of a synthetic family beside a table: tables whose classes are far apart are frequent, and hardly
# ever published for comparisons of methods.
FAMILY_WEIGHT = 4.0
# Where there are hardly any positives, a clean sample looks most like a broken one.
RARE, RARE_WEIGHT = 0.05, 3.0
N_PARTS = 5
# Of the clean samples of tables that were left out, by `ANSWERS`: 7.6 % in all, with those that the
# other checks doubt. With more doubt above .005, fewer wrong answers are quiet, but five of the
# nine clean nights of `poscount demo` were to be checked.
CHECKED, NOT_USED = (0.45, 0.22, 0.1, 0.07, 0.02), 0.001
# Breaks that make any number meaningless, right by chance or not, and how much more they weigh.
ALWAYS, ALWAYS_WEIGHT = tuple(BREAKS.index(name) for name in ("swapped",)), 3.0


def learn(answered: Answered, made_by: dict[str, Any], n_jobs: int | None = None) -> Doubt:
    """Learn the doubt of all answers; its limits are those of tables that were left out."""
    real, shares = left_out_probabilities(answered, n_jobs)
    check, do_not_use = limits(real, 1 - shares[:, 0])
    doubt = Doubt()
    doubt.columns_ = list(DOUBT_FEATURES)
    trees = fit_trees(answered)
    doubt.feature_, doubt.threshold_ = trees.feature.astype(np.uint8), trees.threshold
    doubt.threshold_ = doubt.threshold_.astype(np.float32)
    doubt.missing_right_, doubt.leaf_ = trees.missing_right, trees.leaf
    doubt.check_, doubt.do_not_use_ = check, do_not_use
    doubt.provenance_ = json.dumps({**made_by, "n_answers": len(answered.truth)})
    return doubt


def limits(answered: Answered, doubts: np.ndarray) -> tuple[np.ndarray, float]:
    """Doubts that few clean samples exceed: to be checked, by `ANSWERS`, and not to be used.

    Clean samples that other checks doubt are among these few.
    """
    clean = answered.kind == 0
    size = np.searchsorted(ANSWERS, answered.value, side="right")
    doubted = np.where(answered.checked, 1.0, doubts)
    check = [
        np.quantile(doubted[clean & (size == k)], 1 - share) for k, share in enumerate(CHECKED)
    ]
    return np.array(check), float(np.quantile(doubts[clean], 1 - NOT_USED))


def left_out_probabilities(
    answered: Answered, n_jobs: int | None = None
) -> tuple[Answered, np.ndarray]:
    """Answers to real samples, and the probability of each of `BREAKS`.

    By trees that were learned without the kin of the table; synthetic samples are always learned
    from, and not judged.
    """
    synthetic = np.isin(answered.kin.astype(str), list(FAMILIES))
    _, kin = np.unique(answered.kin.astype(str), return_inverse=True)
    part = np.where(synthetic, -1, kin % N_PARTS)
    learned = Parallel(n_jobs)(delayed(fit_trees)(answered.part(part != k)) for k in range(N_PARTS))
    found = np.empty((len(part), len(BREAKS)))
    for k, trees in enumerate(learned):
        found[part == k] = probabilities(trees.predict(as_seen(answered.lines[part == k])), 1.0)
    return answered.part(~synthetic), found[~synthetic]


def fit_trees(answered: Answered) -> Trees:
    """Trees that tell which assumption is broken, from the samples that teach something."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    # Broken samples whose answers are not wrong teach nothing: neither that all is well, nor that a
    # doubt was due.
    always = np.isin(answered.kind, ALWAYS)
    chosen = answered.part((answered.kind == 0) | answered.wrong | always)
    # Clean samples are as much as all others together, and tables count alike.
    clean = chosen.kind == 0
    weight = np.where(np.isin(chosen.kind, ALWAYS), ALWAYS_WEIGHT, 1.0)
    weight[clean] = np.where(chosen.truth[clean] < RARE, RARE_WEIGHT, 1.0)
    kin = chosen.kin.astype(str)
    _, table, sizes = np.unique(kin, return_inverse=True, return_counts=True)
    weight = weight * np.where(np.isin(kin, list(FAMILIES)), FAMILY_WEIGHT, 1.0) / sizes[table]
    weight[clean] *= weight[~clean].sum() / weight[clean].sum()
    boosting = HistGradientBoostingClassifier(
        max_iter=N_TREES,
        learning_rate=LEARNING_RATE,
        max_depth=DEPTH,
        max_leaf_nodes=MOST_LEAVES,
        min_samples_leaf=FEWEST_IN_LEAF,
        l2_regularization=PENALTY,
        max_features=SHARE_OF_COLUMNS,
        max_bins=64,
        early_stopping=False,
        random_state=0,
    ).fit(as_seen(chosen.lines), chosen.kind, weight * len(weight) / weight.sum())
    trees = Trees.nothing(len(BREAKS), N_TREES)
    trees.leaf[:, 0] = -LARGEST_LEAF
    for all_classes, of_known in zip(trees, trees_of_boosting(boosting), strict=True):
        all_classes[np.unique(chosen.kind)] = of_known
    return trees
