"""Wide and sparse rows in few dimensions, by sums of columns that are drawn and not fitted.

With more columns than positives, whatever is fitted to the positives' directions (principal
components, a residual, a covariance) fits the labelled rows better than new positives, which then
look like negatives: with 32 principal components of 1,000 columns and 90 positives, a sample of
positives only was estimated at 7 %. So the directions here come from the seed alone, and the
positives only set the unit of each column (`docs/wide.md` has the measurements).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from poscount.errors import InputError
from poscount.seeds import stream
from poscount.storage.schema import Array, Field, Flag, require

# From more columns than this on, tables are to be projected.
MOST_COLUMNS = 200
N_DIMENSIONS = 64
# Of the positives, for a column of a sparse matrix to be common. If there are few such columns,
# rarer ones count as well.
COMMON = 0.2
# That must have a column, because the most common of many rare columns are so by chance.
FEWEST_POSITIVES = 20
FEWEST_COLUMNS = 8
# In units of a column; farther away, sums and squares might overflow.
FARTHEST = 1e100
DECIMALS = 9
_NUMBERS_AT_ONCE = 2**20


class Projection(BaseEstimator):
    """Sums of columns, each with a sign and in its own unit; `learn_projection` makes one.

    Every column belongs to one dimension, or to none if it cannot tell rows apart. Columns of a
    table are standardised. Rows of a sparse matrix are divided by their length instead, as is usual
    for text, and only columns that many positives have are used: which rare words a new positive
    has, the labelled ones do not tell.

    The result of a row does not depend on the rows beside it, nor on the number of threads.

    Attributes
    ----------
    dimension_ : ndarray of int8, shape (n_features,)
        Dimension of each column, -1 for none.
    location_ : ndarray of shape (n_features,)
        What is subtracted from each column: the mean of the positives, 0 for sparse rows.
    weight_ : ndarray of shape (n_features,)
        What it is then multiplied by: a sign over the column's unit, 0 if it is not used.
    sparse_ : bool
        Whether it was learned from a sparse matrix.

    Examples
    --------
    >>> positives = np.random.default_rng(0).normal(size=(50, 1000))
    >>> projection = learn_projection(positives, seed=0)
    >>> projection.apply(positives).shape
    (50, 64)
    >>> projection.names[:2]
    ['projection 1', 'projection 2']
    """

    dimension_: np.ndarray
    location_: np.ndarray
    weight_: np.ndarray
    sparse_: bool

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "dimension_": Array("int8", ("columns",), least=-1, most=N_DIMENSIONS - 1),
        "location_": Array("float64", ("columns",)),
        "weight_": Array("float64", ("columns",)),
        "sparse_": Flag(),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless every dimension has a column."""
        used = self.dimension_ >= 0
        filled = np.unique(self.dimension_[used])
        require(len(filled) and len(filled) == filled[-1] + 1, "a dimension has no columns.")

    @property
    def n_columns(self) -> int:
        """Number of columns of the rows."""
        return len(self.dimension_)

    @property
    def n_dimensions(self) -> int:
        """Number of dimensions."""
        return int(self.dimension_.max()) + 1

    @property
    def names(self) -> list[str]:
        """Name of each dimension."""
        return [f"projection {i + 1}" for i in range(self.n_dimensions)]

    def apply(self, block: Any) -> np.ndarray:
        """Project finite rows, dense or sparse, to float64 of shape (n_rows, n_dimensions)."""
        if block.shape[1] != len(self.dimension_):
            raise InputError(
                f"The rows have {block.shape[1]} columns, but the model was fitted on "
                f"{len(self.dimension_)}."
            )
        return self._apply_sparse(block) if self.sparse_ else self._apply_dense(block)

    def _apply_dense(self, block: Any) -> np.ndarray:
        used = np.flatnonzero(self.dimension_ >= 0)
        columns = used[np.argsort(self.dimension_[used], kind="stable")]
        location, weight = self.location_[columns], self.weight_[columns]
        first = np.searchsorted(self.dimension_[columns], np.arange(self.n_dimensions))
        projected = np.empty((block.shape[0], self.n_dimensions))
        for rows in _slices(block.shape[0], len(columns)):
            part = block[rows].toarray() if sparse.issparse(block) else np.asarray(block[rows])
            # In C order, because sums run along memory.
            values = np.take(part, columns, axis=1).astype(np.float64, copy=False)
            with np.errstate(over="ignore"):
                values = (values - location) * weight
            np.clip(values, -FARTHEST, FARTHEST, out=values)
            # Adds along each row by itself, so its bits do not depend on the rows beside it; a
            # product of matrices chooses its kernel by their shape.
            np.add.reduceat(values, first, axis=1, out=projected[rows])
        return projected

    def _apply_sparse(self, block: Any) -> np.ndarray:
        n_rows, k = block.shape[0], self.n_dimensions
        entries = _entries(block)
        used = self.dimension_[entries.column] >= 0
        row, column, value = (part[used] for part in entries)
        with np.errstate(over="ignore"):
            value = np.clip(value * self.weight_[column], -FARTHEST, FARTHEST)
        length = np.sqrt(_sums(row, value**2, n_rows))
        # A row whose values vanish beside those of the positives is a row of zeros.
        length[length == 0] = np.inf
        value /= length[row]
        place = row * k + self.dimension_[column]
        return _sums(place, value, n_rows * k).reshape(n_rows, k)


def learn_projection(positives: Any, seed: int) -> Projection:
    """Draw the dimensions and signs of the columns of the positives, dense or sparse.

    Neither the order of the positives nor that of their columns matters, except among columns that
    are equal in all positives.
    """
    n_features = positives.shape[1]
    is_sparse = sparse.issparse(positives)
    found = _common_columns(positives) if is_sparse else varying_columns(positives)
    n_used = len(found.places)
    generator = stream(seed, "projection")
    dimension = generator.permutation(n_used) % min(N_DIMENSIONS, n_used)
    signs = generator.choice([-1.0, 1.0], n_used)
    projection = Projection()
    projection.dimension_ = np.full(n_features, -1, np.int8)
    projection.location_, projection.weight_ = np.zeros((2, n_features))
    projection.dimension_[found.places] = dimension
    projection.location_[found.places] = found.location
    projection.weight_[found.places] = signs / found.unit
    projection.sparse_ = is_sparse
    return projection


class UsedColumns(NamedTuple):
    """Columns to be used, in an order that depends on what they hold and not on where they are."""

    places: np.ndarray
    location: np.ndarray
    unit: np.ndarray


def varying_columns(positives: np.ndarray) -> UsedColumns:
    """Columns that are not constant, with their mean and standard deviation."""
    n_rows, n_features = positives.shape
    location, unit, size, cross = np.empty((4, n_features))
    total = np.zeros(n_rows)
    for columns in _slices(n_features, n_rows):
        values = np.array(positives[:, columns].T, np.float64, order="C")
        location[columns], unit[columns] = _mean_and_spread(np.sort(values, axis=1))
    varies = unit > 0
    # A divisor only, so that constant columns, which are not used, make no noise.
    divisor = np.where(varies, unit, 1.0)[:, np.newaxis]
    for columns in _slices(n_features, n_rows):
        values = _standardised(positives, columns, location, divisor)
        size[columns] = np.abs(values).mean(axis=1)
        total += values.clip(0).sum(axis=0)
    key = _row_key(total)
    for columns in _slices(n_features, n_rows):
        values = _standardised(positives, columns, location, divisor)
        cross[columns] = (values * key).mean(axis=1)
    order = np.lexsort((cross.round(DECIMALS), size.round(DECIMALS)))
    places = order[varies[order]]
    if not len(places):
        raise InputError(
            f"All {n_features} columns are constant among the positives, so they cannot tell rows "
            "apart: use features that vary."
        )
    return UsedColumns(places, location[places], unit[places])


def _standardised(
    positives: np.ndarray, columns: slice, location: np.ndarray, divisor: np.ndarray
) -> np.ndarray:
    values = np.array(positives[:, columns].T, np.float64, order="C")
    with np.errstate(over="ignore"):
        values = (values - location[columns, np.newaxis]) / divisor[columns]
    return values.clip(-FARTHEST, FARTHEST)


def _mean_and_spread(ascending: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of sorted rows, whose sums have the same bits in any order."""
    unit = _unit(np.maximum(-ascending[:, 0], ascending[:, -1]))
    values = ascending / unit[:, np.newaxis]
    mean = values.mean(axis=1)
    spread = np.sqrt(((values - mean[:, np.newaxis]) ** 2).mean(axis=1))
    # The mean of equal values may differ from them in its last bit.
    spread[ascending[:, 0] == ascending[:, -1]] = 0.0
    return mean * unit, _not_too_small(spread * unit)


class RankedColumns(NamedTuple):
    """Columns of a sparse matrix, those that most rows have first.

    Attributes
    ----------
    places : ndarray of int
        In an order that depends on what columns hold and not on where they are.
    n_rows : ndarray of int
        Rows that have each of them.
    unit : ndarray
        Root mean square of each, over all rows.
    """

    places: np.ndarray
    n_rows: np.ndarray
    unit: np.ndarray


def ranked_columns(rows: Any) -> RankedColumns:
    """Columns of sparse rows, which may be in any order."""
    n_rows, n_features = rows.shape
    row, column, value = _entries(rows)
    n_having = np.bincount(column, minlength=n_features)
    largest = np.zeros(n_features)
    np.maximum.at(largest, column, np.abs(value))
    unit = _unit(largest)
    scaled = value / unit[column]
    # Sums of sorted values have the same bits in any order of the rows.
    ascending = np.lexsort((scaled, column))
    squares = _sums(column[ascending], scaled[ascending] ** 2, n_features)
    rms = np.sqrt(squares / n_rows)
    size = np.abs(scaled / rms[column])
    mean_size = _sums(column, size, n_features) / n_rows
    key = _row_key(_sums(row, size, n_rows))
    cross = _sums(column, size * key[row], n_features) / n_rows
    order = np.lexsort((cross.round(DECIMALS), mean_size.round(DECIMALS), -n_having))
    return RankedColumns(order, n_having[order], _not_too_small((rms * unit)[order]))


def _common_columns(positives: Any) -> UsedColumns:
    """Columns that many positives have, with their root mean square."""
    n_rows, n_features = positives.shape
    ranked = ranked_columns(positives)
    n_reliable = int((ranked.n_rows >= FEWEST_POSITIVES).sum())
    n_common = int((ranked.n_rows >= max(FEWEST_POSITIVES, COMMON * n_rows)).sum())
    n_used = max(n_common, min(N_DIMENSIONS, n_reliable))
    if n_used < FEWEST_COLUMNS:
        raise InputError(
            f"Only {n_used} of the {n_features} columns of this sparse matrix are other than "
            f"zero in {FEWEST_POSITIVES} positives or more, and rarer ones cannot tell new "
            f"positives from negatives; {FEWEST_COLUMNS} such columns are needed. Give more "
            "positives or longer texts, or use denser features such as embeddings."
        )
    return UsedColumns(ranked.places[:n_used], np.zeros(n_used), ranked.unit[:n_used])


def _row_key(total: np.ndarray) -> np.ndarray:
    """A number for each row, by which columns of one shape, such as yes and no, are told apart.

    Roots, because sums of whole numbers are often equal.
    """
    return np.sqrt(total / max(total.mean(), np.finfo(float).tiny))


def _unit(largest: np.ndarray) -> np.ndarray:
    """Powers of two near the largest values, so that no square overflows or vanishes."""
    # Dividing by the smallest of them does not overflow.
    return np.exp2(np.frexp(largest)[1].clip(-1000, 1023).astype(np.float64))


def _not_too_small(unit: np.ndarray) -> np.ndarray:
    """Units that can be divided by; 0 stays 0."""
    return np.where(unit > 0, np.maximum(unit, 1e-300), 0.0)


class _Entries(NamedTuple):
    """The values of a sparse matrix that are not zero, row by row and by column in each."""

    row: np.ndarray
    column: np.ndarray
    value: np.ndarray


def _entries(block: Any) -> _Entries:
    matrix = sparse.csr_array(block, dtype=np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # the caller's stays as it is
        matrix.sum_duplicates()
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    there = matrix.data != 0
    return _Entries(row[there], matrix.indices[there], matrix.data[there])


def _sums(index: np.ndarray, value: np.ndarray, n: int) -> np.ndarray:
    """Sums of values by index, which add up in their order; float64 even if there are none."""
    return np.bincount(index, value, minlength=n).astype(np.float64, copy=False)


def _slices(n: int, width: int) -> Iterator[slice]:
    """Slices of a number of rows or columns, each of a size that fits into memory."""
    size = max(1, _NUMBERS_AT_ONCE // max(width, 1))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
