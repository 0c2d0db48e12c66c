"""Any scikit-learn or PyOD detector as a scorer for which higher means more like a positive."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier

from poscount.errors import InputError
from poscount.scorers.mahalanobis import Mahalanobis


def as_scorer(scorer: BaseEstimator | None) -> BaseEstimator:
    """Unfitted copy of a scorer; `Mahalanobis()` for None.

    Raises
    ------
    TypeError
        If the object cannot score how much a row looks like a positive.

    Examples
    --------
    >>> as_scorer(None)
    Mahalanobis()
    """
    if scorer is None:
        return Mahalanobis()
    if isinstance(scorer, type) or not hasattr(scorer, "fit") or is_classifier(scorer):
        raise TypeError(
            f"scorer must be a one-class detector or a pipeline that ends in one, got {scorer!r}."
        )
    if getattr(_last(scorer), "novelty", True) is False:
        raise TypeError(
            f"{type(_last(scorer)).__name__} scores new rows only with novelty=True: construct it "
            "that way."
        )
    if not any(hasattr(scorer, name) for name in ("score_samples", "decision_function")):
        raise TypeError(
            f"scorer must have score_samples or decision_function, and "
            f"{type(scorer).__name__} has neither."
        )
    return clone(scorer)


def score(scorer: BaseEstimator, block: Any) -> np.ndarray:
    """Score a validated block of rows; a higher score means more like a positive."""
    if isinstance(scorer, Mahalanobis):
        return scorer._score_block(block)
    if type(block) is np.ndarray:
        # C order, so that results are bit-identical.
        block = np.ascontiguousarray(block)
    if _rises_with_abnormality(scorer):
        scores = -scorer.decision_function(block)
    elif hasattr(scorer, "score_samples"):
        scores = scorer.score_samples(block)
    else:
        scores = scorer.decision_function(block)
    scores = np.asarray(scores, dtype=np.float64).reshape(-1) / _scale(scorer)
    if np.isnan(scores).any():
        raise InputError(
            f"The scorer {type(_last(scorer)).__name__} gave NaN for {np.isnan(scores).sum()} of "
            f"{len(scores)} rows, which therefore cannot be counted: use a scorer that gives every "
            "row a number."
        )
    return scores


def _scale(scorer: BaseEstimator) -> float:
    # The scores of a one-class SVM are sums over its training rows, so those of nine folds would be
    # a tenth smaller than those of all rows. Dividing by the sum of its weights makes them means.
    svm = getattr(_last(scorer), "detector_", _last(scorer))  # PyOD's wraps scikit-learn's
    return svm.dual_coef_.sum() if hasattr(svm, "dual_coef_") else 1.0


def _last(scorer: BaseEstimator) -> BaseEstimator:
    return _last(scorer.steps[-1][1]) if hasattr(scorer, "steps") else scorer


def _rises_with_abnormality(scorer: BaseEstimator) -> bool:
    # PyOD's convention is the reverse of scikit-learn's.
    return any(base.__module__.startswith("pyod.") for base in type(_last(scorer)).__mro__)
