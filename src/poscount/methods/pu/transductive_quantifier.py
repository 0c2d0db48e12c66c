"""What methods share that learn from the positives and the sample together.

Some of them do so by a classifier of the one against the other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from poscount.base import constraints
from poscount.base.quantifier import Quantifier
from poscount.checks import (
    Evidence,
    UnknownValues,
    row_warnings,
    unknown_value_warnings,
)
from poscount.data.rows import Rows
from poscount.data.rows_seen import RowsSeen
from poscount.results.estimates import Estimates, single_estimate
from poscount.results.prevalence import Prevalence
from poscount.results.verdict import AnswerWarning
from poscount.seeds import seed_scorer, stream
from poscount.storage.schema import Array, Field, require
from poscount.threads import one_blas_thread

# Largest absolute values that are left alone.
_LEAST, _MOST = 2.0**-400, 2.0**400


class TransductiveQuantifier(Quantifier):
    """A quantifier that learns from the positives and the sample together, anew for each sample.

    A subclass only computes: `_estimate_from` gets both as float64 matrices, with categories and
    gaps as the columns of a design matrix (`poscount.data.columns`), and a generator. Most methods
    give no interval; `poscount.Bootstrap` makes one by resampling. The subclass has an ``__init__``
    of its own only if it has other parameters.

    Attributes
    ----------
    positives_ : ndarray of shape (n_labeled, n_design_columns)
        The positives.
    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "random_state": ["random_state", np.random.Generator],
    }

    # Whether values are squared, as in distances and variances; if not, they are only compared.
    depends_on_squares: ClassVar[bool] = True

    positives_: np.ndarray

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "positives_": Array("float64", ("positives", None), missing=True)
    }

    def check_learned(self) -> None:
        """Raise ValueError unless what was learned fits together: files may hold anything."""
        super().check_learned()
        self._check_positives()

    def _check_positives(self) -> None:
        """Refuse positives that are not of this table: a design matrix with gaps as columns."""
        columns = self.model_columns
        fits = self.positives_.shape[1] == columns.n_design + len(columns.gapped)
        require(fits and np.isfinite(self.positives_).all(), "its positives are of other columns.")

    def __init__(self, *, random_state: Any = None) -> None:
        self.random_state = random_state

    def _learn(self, rows: Rows) -> None:
        self.positives_ = np.array(self._matrix(rows), dtype=np.float64, order="C")

    def _matrix(self, rows: Rows) -> np.ndarray:
        """Finite numbers from rows of codes."""
        numbers = self.model_columns.design(rows.to_array(), gaps=True)
        return np.asarray(numbers, dtype=np.float64, order="C")

    def _matrices(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """The positives and the rows of a sample as matrices.

        Rows that have another value than all positives, where these never vary, are NaN.
        """
        positives, sample = self.positives_, self._matrix(rows)
        if self.depends_on_squares:
            positives, sample = in_range_of_squares(positives, sample)
        different = self.model_columns.constants_.differ(rows.to_array())
        if different is not None and different.any():
            sample = np.where(different[:, np.newaxis], np.nan, sample)
        return positives, sample

    def _estimate_marked(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        """Estimate the prevalence in a sample in which rows of NaN are no positives.

        The method learns from the other rows, of which the positives are a larger share. The share
        of positives that are exceptions among the labelled ones is missing among them.
        """
        kept = ~np.isnan(sample[:, 0])
        if kept.all():
            return self._estimate_from(positives, sample, generator)
        if not kept.any():
            return single_estimate(0.0, {})
        estimates = self._estimate_from(positives, sample[kept], generator)
        columns = self.model_columns
        factor = kept.mean() / (1 - columns.constants_.exceptions_ / columns.n_)
        return replace(estimates, value=np.minimum(1.0, factor * estimates.value))

    def _quantify(self, rows: Rows) -> Prevalence:
        estimates = self._estimate_marked(*self._matrices(rows), stream(self.seed_, "estimate"))
        if not estimates.warnings:
            unknown = UnknownValues.of_rows(rows, self.model_columns)
            evidence = Evidence(1, n_labeled=self.n_labeled_, unknown_values=unknown)
            estimates = replace(estimates, warnings=unknown_value_warnings(evidence))
        return self._prevalence(estimates, 0, len(rows))

    def _row_warnings(self, seen: RowsSeen) -> Sequence[AnswerWarning]:
        return row_warnings(seen, len(self.known_rows_), self.feature_names)

    @abstractmethod
    def _estimate_from(
        self, positives: np.ndarray, sample: np.ndarray, generator: np.random.Generator
    ) -> Estimates:
        """Estimate the prevalence in the sample."""


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


def in_range_of_squares(positives: np.ndarray, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scale values whose squares would overflow or vanish, all by the same power of two.

    Examples
    --------
    >>> tiny = np.ldexp([[3.0], [1.0]], -1030)
    >>> in_range_of_squares(tiny, tiny)[0].tolist()
    [[0.75], [0.25]]
    """
    largest = max(np.abs(table).max(initial=0.0) for table in (positives, sample))
    if largest == 0 or _LEAST < largest < _MOST:
        return positives, sample
    exponent = -int(np.frexp(largest)[1])
    return np.ldexp(positives, exponent), np.ldexp(sample, exponent)


def default_classifier() -> BaseEstimator:
    """Logistic regression on standardised features: quick, calibrated, hard to overfit."""
    # Not at the top, because most methods need none of them.
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

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

    None stands for the default classifier. Every `random_state` of the classifier that is None gets
    a seed from the generator.

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
