"""Whether positives can nearly always be told from negatives, by somebody who knows both."""

from __future__ import annotations

import numpy as np

from poscount.training.tasks import Task

# Rows of each side that trees learn from, and the area under their ROC curve from which on a task
# is recognisable.
MOST_ROWS, LEAST_AREA = 300, 0.95
N_TREES = 25


def recognisable(task: Task, rng: np.random.Generator) -> bool:
    """Whether extra trees, which have labels of both sides, tell positives from negatives."""
    sides = [
        draw(min(MOST_ROWS, most), rng)
        for draw, most in (
            (task.positives, task.most_positives),
            (task.negatives, task.most_negatives),
        )
    ]
    classes = np.repeat([1, 0], [len(side) for side in sides])
    return areas(np.concatenate(sides), classes, rng)[-1] >= LEAST_AREA


def areas(rows: np.ndarray, classes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Area under the ROC curve of each class against all others, for rows that trees did not see.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> classes = np.repeat([0, 1, 2], 50)
    >>> rows = rng.normal(size=(150, 2)) + 9 * (classes == 2)[:, np.newaxis]
    >>> areas(rows, classes, rng).round(1).tolist()[2]
    1.0
    """
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.metrics import roc_auc_score

    # Trees can tell missing values from others, if these are below all others.
    lowest = np.nanmin(np.where(np.isnan(rows), np.inf, rows), axis=0)
    rows = np.where(np.isnan(rows), np.where(np.isfinite(lowest), lowest, 0) - 1, rows)
    seen = rng.permutation(len(rows)) < len(rows) / 2
    trees = ExtraTreesClassifier(N_TREES, min_samples_leaf=2, random_state=rng.integers(2**31))
    votes = trees.fit(rows[seen], classes[seen]).predict_proba(rows[~seen])
    return np.array(
        [roc_auc_score(classes[~seen] == k, votes[:, i]) for i, k in enumerate(trees.classes_)]
    )
