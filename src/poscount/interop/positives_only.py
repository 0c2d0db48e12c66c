"""What the adapters share: learning from one of two labelled classes, and a share for each."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from poscount.base.quantifier import Quantifier


class PositivesOnly:
    """A quantifier that is given labelled rows of two classes and learns from the positives."""

    def __init__(self, quantifier: BaseEstimator, positive: Any = None) -> None:
        self.quantifier = quantifier
        self.positive = positive

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows of the positive class; the others only provide the other label.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_features)
        y : array of shape (n_rows,)
            Labels, of two classes.
        """
        steps = getattr(self.quantifier, "steps", None)
        if not isinstance(steps[-1][1] if steps else self.quantifier, Quantifier):
            raise TypeError(
                "quantifier must be a quantifier of poscount, or a pipeline that ends in one, got "
                f"{self.quantifier!r}."
            )
        labels = column_or_1d(y)
        check_consistent_length(X, labels)
        classes = np.unique(labels)
        if len(classes) != 2:
            raise ValueError(
                f"y must have two classes, one of them the positives, but has {len(classes)}: "
                f"{', '.join(map(repr, classes.tolist()[:5]))}; with more than two, use one class "
                "at a time (y == label); with one, add a row of the other class."
            )
        positive = classes[1] if self.positive is None else self.positive
        if positive not in classes.tolist():
            raise ValueError(
                f"positive={positive!r} is not a label in y, whose labels are "
                f"{classes[0].item()!r} and {classes[1].item()!r}."
            )
        rows = _safe_indexing(X, np.flatnonzero(labels == positive))
        self.classes_ = classes
        self.positive_ = classes[classes == positive][0]
        self.quantifier_ = clone(self.quantifier).fit(rows)
        return self

    def _shares(self, X: Any) -> np.ndarray:
        """Share of each class in a sample, in the order of `classes_`."""
        check_is_fitted(self, "quantifier_")
        p = float(self.quantifier_.predict(X))
        return np.where(self.classes_ == self.positive_, p, 1 - p)
