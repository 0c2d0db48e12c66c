"""What TRCQ's classifiers learn from: the distinct rows of both sides, in an order of their own."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import StandardScaler

from poscount.methods.regions.order import CanonicalOrder
from poscount.threads import one_blas_thread

N_FOLDS = 5
DECIMALS = 6


class TrainingRows:
    """Distinct rows of the positives and the sample together, with how often each side has them.

    Neither the order of rows and columns nor a repetition of the whole sample changes what a
    classifier learns from them.

    Parameters
    ----------
    positives, sample : ndarray of shape (n_rows, n_features)
    order : CanonicalOrder
        Of the positives.

    Attributes
    ----------
    values : ndarray of shape (n_distinct, n_features)
        The distinct rows, standardised.
    index : ndarray of int
        Which of them each positive is, and then each row of the sample.
    times : ndarray of shape (2, n_distinct)
        How often the positives, and the sample, have each.
    fold : ndarray of int, shape (n_distinct,)
        The fold of each. Folds hold the same number of distinct positives, and of others.
    """

    def __init__(self, positives: np.ndarray, sample: np.ndarray, order: CanonicalOrder) -> None:
        rows = np.concatenate([positives, sample])
        # Rounded, so that rows that differ only by noise are one.
        values = order.standardised(rows).round(DECIMALS)
        keys = order.keys_of_standardised(values)
        _, first, self.index = np.unique(keys, return_index=True, return_inverse=True)
        self.values = StandardScaler().fit_transform(values[first])
        self._n_positives = len(positives)
        sides = self._sides(self.index)
        self.times = np.array([np.bincount(side, minlength=len(first)) for side in sides])
        labeled = self.times[0] > 0
        self.fold = np.where(labeled, np.cumsum(labeled), np.cumsum(~labeled)) % N_FOLDS

    def _sides(self, of_rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return of_rows[: self._n_positives], of_rows[self._n_positives :]

    def scores(self, classifier: BaseEstimator) -> tuple[np.ndarray, np.ndarray]:
        """Probability that positives, and rows, are labelled, by a classifier not trained on them.

        Positives and sample have the same total weight. If the other folds hold rows of one side
        only, nothing can be fitted, and the probability is that side: 1 or 0.
        """
        scores = np.empty(len(self.values))
        for i in range(N_FOLDS):
            held_out = self.fold == i
            known = np.where(held_out, 0, self.times)
            totals = known.sum(axis=1)
            if not totals.all():
                scores[held_out] = float(totals[0] > 0)
            elif held_out.any():
                side, row = np.nonzero(known)
                weights = known[side, row] / totals[side] * (len(row) / 2)
                # Small matrix products are slower on two threads than on one.
                with one_blas_thread():
                    fitted = clone(classifier).fit(self.values[row], side == 0, weights)
                    scores[held_out] = fitted.predict_proba(self.values[held_out])[:, 1]
        return self._sides(scores[self.index])
