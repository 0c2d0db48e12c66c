"""Methods that use the scores of a classifier of the positives against the sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from poscount.base import constraints
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.seeds import seed_scorer
from poscount.threads import one_blas_thread


class ClassifierQuantifier(TransductiveQuantifier):
    """A transductive quantifier with a classifier that separates the positives from the sample.

    Parameters
    ----------
    classifier : estimator, optional
        Any classifier with `predict_proba`; None for the default of the method.
    random_state : int, RandomState, Generator or None
        Seed of the folds, and of an unseeded classifier.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        **TransductiveQuantifier._parameter_constraints,
        "classifier": [constraints.HasMethods(["fit"]), None],
    }

    def __init__(
        self, classifier: BaseEstimator | None = None, *, random_state: Any = None
    ) -> None:
        self.classifier = classifier
        self.random_state = random_state


def default_classifier() -> BaseEstimator:
    """Logistic regression on standardised features: quick, calibrated, hard to overfit."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def out_of_fold_scores(
    classifier: BaseEstimator | None,
    positives: np.ndarray,
    sample: np.ndarray,
    generator: np.random.Generator,
    n_folds: int = 3,
) -> tuple[np.ndarray, np.ndarray]:
    """Probability that a row is labelled, by a classifier that was not trained on it.

    The positives are one class, the sample is the other. Both are split at random into folds of
    equal size, and each fold is scored by a clone of the classifier fitted on the others. If the
    other folds hold rows of one class only (because there is a single positive, or a single row in
    the sample), nothing can be fitted, and the probability is that class: 1 or 0.

    Parameters
    ----------
    classifier : estimator or None
        Any classifier with `predict_proba`; `default_classifier` if None. It is not changed. Every
        `random_state` in its copy that is None gets a seed from the generator.
    positives, sample : ndarray of shape (n_rows, n_features)
    generator : numpy.random.Generator
    n_folds : int, default=3

    Returns
    -------
    scores_positives, scores_sample : ndarray of shape (n_rows,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> positives, sample = rng.normal(size=(100, 2)), rng.normal(size=(100, 2)) + 3
    >>> inside, outside = out_of_fold_scores(None, positives, sample, rng)
    >>> bool(inside.mean() > 0.9), bool(outside.mean() < 0.1)
    (True, True)
    """
    rows = np.concatenate([positives, sample])
    labeled = np.repeat([1, 0], [len(positives), len(sample)])
    fold = np.concatenate([generator.permutation(len(x)) % n_folds for x in (positives, sample)])
    fresh = fresh_classifier(classifier, generator)
    scores = np.empty(len(rows))
    for i in range(n_folds):
        held_out = fold == i
        if held_out.any():
            scores[held_out] = labeled_probability(
                fresh, rows[~held_out], labeled[~held_out], rows[held_out]
            )
    return scores[: len(positives)], scores[len(positives) :]


def fresh_classifier(
    classifier: BaseEstimator | None, generator: np.random.Generator
) -> BaseEstimator:
    """Unfitted, seeded copy of a classifier; an error if it has no probabilities."""
    fresh = default_classifier() if classifier is None else clone(classifier)
    if not hasattr(fresh, "predict_proba"):
        raise ValueError(
            f"The classifier {type(fresh).__name__} has no predict_proba: wrap it in "
            "sklearn.calibration.CalibratedClassifierCV, or use another one."
        )
    seed_scorer(fresh, int(generator.integers(2**32)))
    return fresh


def labeled_probability(
    classifier: BaseEstimator, rows: np.ndarray, labeled: np.ndarray, new_rows: np.ndarray
) -> np.ndarray:
    """Fit a clone on `rows`, and predict the probability of being labelled for `new_rows`."""
    if labeled.all() or not labeled.any():
        return np.full(len(new_rows), float(labeled[0]))
    # A pipeline's small matrix products are slower on two threads than on one.
    with one_blas_thread():
        return clone(classifier).fit(rows, labeled).predict_proba(new_rows)[:, 1]
