"""Wide and sparse rows in few dimensions, of which one is learned where there are unlabeled rows.

Sums of columns that are drawn (`projection`) mix what tells positives from others with everything
else. With unlabeled rows at hand, a linear classifier of the positives against them makes one
dimension more, its margin. Every row belongs to one of five folds, by a hash of what it holds, and
its margin is that of a classifier which has seen no row of this fold; so labelled positives and new
ones have margins of the same distribution.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from poscount.data.projection import Projection, ranked_columns, varying_columns
from poscount.seeds import stream
from poscount.storage.schema import Array, Field, Part, require
from poscount.threads import one_blas_thread

N_FOLDS = 5
# Rows of each side that are learned from.
MOST_ROWS = 5000
# Columns that are learned from: those that most rows have, and at least so many.
MOST_COLUMNS, FEWEST_ROWS = 20_000, 3
# Of the classifier: how far its coefficients may go.
REGULARISATION = 10.0
N_STEPS = 200
# In units of a column; one absurd value is not to decide.
FARTHEST = 10.0
LARGEST = 1e6


class LearnedProjection(BaseEstimator):
    """Sums of columns, and the margin of a linear classifier of positives against other rows.

    Attributes
    ----------
    drawn_ : Projection
        The sums of columns.
    places_ : ndarray of int, shape (n_used,)
        Columns that the classifiers look at.
    location_, unit_ : ndarray of shape (n_used,)
        What is subtracted from each, 0 for sparse rows, and what it is then divided by.
    turns_ : ndarray of shape (n_used,)
        How each column turns the key of a row, which tells its fold.
    coefficient_ : ndarray of shape (5, n_used)
        Of the classifier of each fold.
    intercept_ : ndarray of shape (5,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> positives, others = rng.normal(size=(60, 300)), rng.normal(size=(200, 300)) + 0.3
    >>> from poscount.data.projection import learn_projection
    >>> drawn = learn_projection(positives, seed=0)
    >>> learned = learn_from_both(drawn, positives, others, seed=0)
    >>> margin = learned.apply(np.vstack([positives, others]))[:, -1]
    >>> bool(margin[:60].mean() > margin[60:].mean() + 1)
    True
    """

    drawn_: Projection
    places_: np.ndarray
    location_: np.ndarray
    unit_: np.ndarray
    turns_: np.ndarray
    coefficient_: np.ndarray
    intercept_: np.ndarray

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "drawn_": Part("Projection"),
        "places_": Array("int64", ("used",), least=0),
        "location_": Array("float64", ("used",)),
        "unit_": Array("float64", ("used",), least=5e-324),
        "turns_": Array("float64", ("used",), least=-1e4, most=1e4),
        "coefficient_": Array("float32", (N_FOLDS, "used"), least=-LARGEST, most=LARGEST),
        "intercept_": Array("float64", (N_FOLDS,), least=-LARGEST, most=LARGEST),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless every column is one of the table's: files may hold anything."""
        inside = self.places_.max(initial=-1) < self.n_columns
        require(inside, "a classifier looks at a column that there is not.")

    @property
    def n_columns(self) -> int:
        """Number of columns of the rows."""
        return self.drawn_.n_columns

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions."""
        return self.drawn_.n_dimensions + 1

    @property
    def names(self) -> list[str]:
        """Name of each dimension."""
        return [*self.drawn_.names, "learned direction"]

    def apply(self, block: Any) -> np.ndarray:
        """Project finite rows, dense or sparse, to float64 of shape (n_rows, n_dimensions)."""
        drawn = self.drawn_.apply(block)
        rows = self._scaled(block)
        # Products of sparse rows add along each row by itself.
        margins = rows @ self.coefficient_.T.astype(np.float64) + self.intercept_
        margin = np.take_along_axis(margins, self._folds(rows)[:, np.newaxis], axis=1)
        return np.column_stack([drawn, margin])

    def _scaled(self, block: Any) -> sparse.csr_array:
        """Columns of the classifiers in their units; sparse rows are divided by their length."""
        if self.drawn_.sparse_:
            rows = sparse.csr_array(sparse.csr_array(block, dtype=np.float64)[:, self.places_])
            rows.sum_duplicates()
            rows.data = np.clip(rows.data / self.unit_[rows.indices], -LARGEST, LARGEST)
            row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
            length = np.sqrt(np.bincount(row, rows.data**2, minlength=rows.shape[0]))
            length[length == 0] = 1.0
            rows.data /= length[row]
            return rows
        dense = block.toarray() if sparse.issparse(block) else np.asarray(block)
        with np.errstate(over="ignore"):
            values = (dense[:, self.places_] - self.location_) / self.unit_
        return sparse.csr_array(values.clip(-FARTHEST, FARTHEST) / np.sqrt(len(self.places_)))

    def _keys(self, rows: sparse.csr_array) -> np.ndarray:
        return (rows @ self.turns_) % 1.0

    def _folds(self, rows: sparse.csr_array) -> np.ndarray:
        return (N_FOLDS * self._keys(rows)).astype(np.intp).clip(0, N_FOLDS - 1)


def learn_from_both(
    drawn: Projection, positives: Any, reference: Any, seed: int
) -> LearnedProjection:
    """Learn a dimension from positives and unlabeled rows, each dense or sparse, in any order.

    Parameters
    ----------
    drawn : Projection
        Of the positives.
    positives, reference : array or sparse matrix
    seed : int
    """
    learned = LearnedProjection()
    learned.drawn_ = drawn
    if drawn.sparse_:
        both = sparse.vstack([sparse.csr_array(positives), sparse.csr_array(reference)])
        columns = ranked_columns(both)
        n_used = min(MOST_COLUMNS, int((columns.n_rows >= FEWEST_ROWS).sum()))
        learned.places_ = columns.places[:n_used]
        learned.location_, learned.unit_ = np.zeros(n_used), columns.unit[:n_used]
    else:
        learned.places_, learned.location_, learned.unit_ = varying_columns(positives)
    generator = stream(seed, "learned direction")
    learned.turns_ = generator.uniform(-1e3, 1e3, len(learned.places_))
    sides = [learned._scaled(rows) for rows in (positives, reference)]
    ordered = [rows[_in_order(learned._keys(rows))] for rows in sides]
    folds = [learned._folds(rows) for rows in ordered]
    learned.coefficient_ = np.zeros((N_FOLDS, len(learned.places_)), np.float32)
    learned.intercept_ = np.zeros(N_FOLDS)
    for fold in range(N_FOLDS):
        kept = [rows[of != fold] for rows, of in zip(ordered, folds, strict=True)]
        if all(rows.shape[0] for rows in kept):
            coefficient, intercept = _classify(*kept)
            learned.coefficient_[fold] = np.clip(coefficient, -LARGEST, LARGEST)
            learned.intercept_[fold] = np.clip(intercept, -LARGEST, LARGEST)
    return learned


def _in_order(keys: np.ndarray) -> np.ndarray:
    """Places of rows by their keys, at most `MOST_ROWS` of them at equal distances."""
    order = np.argsort(keys, kind="stable")
    n = min(len(order), MOST_ROWS)
    return order[np.arange(n) * len(order) // n]


def _classify(ours: sparse.csr_array, theirs: sparse.csr_array) -> tuple[np.ndarray, float]:
    """Coefficients and intercept of a logistic regression; both sides count the same."""
    from sklearn.linear_model import LogisticRegression

    rows = sparse.csr_matrix(sparse.vstack([ours, theirs]))
    # The oldest versions of scikit-learn take no other whole numbers.
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    classes = np.arange(rows.shape[0]) < ours.shape[0]
    model = LogisticRegression(C=REGULARISATION, class_weight="balanced", max_iter=N_STEPS)
    with one_blas_thread(), warnings.catch_warnings():
        # A margin need not be the best one.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, classes)
    return model.coef_[0], float(model.intercept_[0])
