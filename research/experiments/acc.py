"""Adjusted classify and count, with the labelled negatives that other methods do without."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_predict

from poscount import Prevalence
from poscount.theory import adjusted_count

N_TREES = 100
N_FOLDS = 10


class ACC:
    """Classify and count (CC) with a random forest, corrected by its cross-validated error rates.

    Its classifier and rates are those of the paper's figure of classify and count: 100 trees, ten
    folds. It learns from labelled negatives too, so it is a baseline for experiments that know them
    and not a quantifier of positives alone. It is right as long as the negatives of the sample are
    like those that it has learned from.

    Parameters
    ----------
    random_state : int
        Seed of the forest.

    Attributes
    ----------
    tpr_, fpr_ : float
        Shares of the positives and of the negatives that are classified as positive, by trees that
        have not seen them.

    References
    ----------
    G. Forman, "Counting Positives Accurately Despite Inaccurate Classification", ECML 2005.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> acc = ACC(random_state=0).fit(rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 1.5)
    >>> sample = np.vstack([rng.normal(size=(300, 2)), rng.normal(size=(700, 2)) + 1.5])
    >>> p = acc.quantify(sample)
    >>> round(p.details["CC"], 1), round(p, 1)
    (0.4, 0.3)
    """

    def __init__(self, random_state: int) -> None:
        self.random_state = random_state

    def fit(self, positives: np.ndarray, negatives: np.ndarray) -> Self:
        """Learn the forest and its error rates from rows of both classes."""
        rows = np.vstack([positives, negatives])
        is_positive = np.repeat([True, False], [len(positives), len(negatives)])
        self.classifier_ = RandomForestClassifier(N_TREES, random_state=self.random_state)
        found = cross_val_predict(self.classifier_, rows, is_positive, cv=N_FOLDS)
        self.tpr_, self.fpr_ = found[is_positive].mean(), found[~is_positive].mean()
        self.n_labeled_ = len(positives)
        self.classifier_.fit(rows, is_positive)
        return self

    def quantify(self, sample: np.ndarray) -> Prevalence:
        """Adjusted count of the sample, with the plain one as the detail "CC"."""
        counted = float(self.classifier_.predict(sample).mean())
        return Prevalence(
            adjusted_count(counted, self.tpr_, self.fpr_),
            n_labeled=self.n_labeled_,
            n_unlabeled=len(sample),
            method="ACC",
            details={"CC": counted},
        )
