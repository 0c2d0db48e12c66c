"""Rows of an array, a sparse matrix or a frame, block by block, in the form that a method takes."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from scipy import sparse

from poscount.data.categories import DATES, Categorical, categorical_of, categorical_of_values
from poscount.data.columns import Columns
from poscount.data.learned_projection import LearnedProjection
from poscount.data.projection import MOST_COLUMNS, Projection
from poscount.errors import InputError

BLOCK_ROWS = 65536
_WIDE_VALUES = 2**23
# Types of pyarrow whose memory numpy can use as it is.
_SHARED = {"float", "double", *(f"{sign}int{n}" for sign in ("", "u") for n in (8, 16, 32, 64))}


class InputSupport(NamedTuple):
    """What a method takes besides finite numbers in a dense matrix.

    Attributes
    ----------
    nan, text, sparse : bool
        Missing values, words, sparse matrices.
    wide : bool
        Whether sparse rows, and tables of many columns, are projected to fewer dimensions for it
        (`poscount.data.projection`).
    coded : bool
        Whether it gets words and missing values as codes (`poscount.data.columns`); if not, and it
        takes any of them, it gets the caller's rows untouched.
    """

    nan: bool = False
    text: bool = False
    sparse: bool = False
    coded: bool = False
    wide: bool = False

    @property
    def raw(self) -> bool:
        """Whether the caller's rows are passed on untouched."""
        return not self.coded and (self.nan or self.text)


class Rows:
    """The rows of an array, a sparse matrix or a frame, one block at a time.

    A method that takes codes gets blocks of float64 or float32 in which a category is its code and
    NaN is missing, and no value is infinite. A scorer that takes NaN or text by itself gets slices
    of the caller's own object, checked for infinities only.
    """

    def __init__(
        self,
        data: Any,
        names: tuple[str, ...] | None,
        accepts: InputSupport,
        columns: Columns | None = None,
        projection: Projection | LearnedProjection | None = None,
    ) -> None:
        self.data = data
        self.names = names
        self.accepts = accepts
        self.columns = columns
        self.projection = projection
        self.frame = isinstance(data, nw.DataFrame)
        # Asked for once, because narwhals builds it anew each time.
        self.schema: dict[str, Any] = dict(data.schema) if self.frame else {}

    def __len__(self) -> int:
        return self.data.shape[0]

    def take(self, places: np.ndarray) -> Rows:
        """The rows at these places, in this order."""
        return Rows(self.data[places], self.names, self.accepts, self.columns, self.projection)

    def to_array(self) -> Any:
        """All rows as one block."""
        block = self.block(0, len(self))
        # C order, so that what is learned is bit-identical.
        return np.ascontiguousarray(block) if type(block) is np.ndarray else block

    def block(self, start: int, stop: int) -> Any:
        """Rows from `start` up to `stop`, in the form that the method takes."""
        if self.projection is None:
            return self._block(start, stop)
        parts = [
            self.projection.apply(self._design(i, min(i + self._rows_at_once, stop)))
            for i in range(start, stop, self._rows_at_once)
        ]
        return np.concatenate([np.empty((0, self.projection.n_dimensions)), *parts])

    def unprojected(self) -> Any:
        """All rows as one block of what is projected."""
        return self._design(0, len(self))

    @property
    def _rows_at_once(self) -> int:
        """Of wide rows, so many that they fit into memory."""
        return max(64, _WIDE_VALUES // max(self.data.shape[1], 1))

    def _design(self, start: int, stop: int) -> Any:
        block = self._block(start, stop)
        return block if self.columns is None else self.columns.design(block)

    def _block(self, start: int, stop: int) -> Any:
        rows = slice(start, stop)
        if self.accepts.raw:
            self._check_no_infinity(rows)
            return self._untouched(rows)
        if self.columns is not None and not self.columns.all_numbers:
            block = self._codes(rows)
        elif self.frame:
            block = self._numbers(rows)
        else:
            block = self.data[rows]
            # scipy's sparse matrices keep their values in .data.
            if block.dtype not in (np.float32, np.float64):
                block = block.astype(np.float64)
        self.require_finite(block, start)
        return block

    def require_finite(self, block: Any, start: int = 0) -> None:
        """Raise an error that names the first value which the method does not take."""
        values = block.data if sparse.issparse(block) else block
        # The sum is the cheapest test for NaN and infinity; if it overflows, we look again.
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(np.sum(values))
        if suspicious:
            self._check_finite(block, start)

    def blocks(self) -> Iterator[Any]:
        """All rows, block by block."""
        for start in range(0, len(self), BLOCK_ROWS):
            yield self.block(start, min(start + BLOCK_ROWS, len(self)))

    def float_blocks(self) -> Iterator[np.ndarray]:
        """All rows as float64, block by block."""
        for block in self.blocks():
            yield np.asarray(block, np.float64)

    def columns_as(self, kinds: Sequence[str], rows: slice) -> Iterator[np.ndarray | Categorical]:
        """Columns one by one, each as numbers or as words."""
        part = self.data[rows]
        found = part.iter_columns() if self.frame else iter(part.T)
        for kind, column in zip(kinds, found, strict=True):
            if kind == "category":
                yield (
                    categorical_of(column) if self.frame else categorical_of_values(column.tolist())
                )
            elif self.frame:
                numbers = np.empty(len(column))
                _put_numbers(numbers, column)
                yield numbers
            else:
                yield column.astype(np.float64)

    def _codes(self, rows: slice) -> np.ndarray:
        columns = self.columns
        assert columns is not None
        stop = min(rows.stop, len(self))
        block = np.empty((len(columns.kinds_), stop - rows.start))
        for j, values in enumerate(self.columns_as(columns.kinds_, rows)):
            block[j] = (
                columns.code_categories(j, values) if isinstance(values, Categorical) else values
            )
        return block.T

    def _untouched(self, rows: slice) -> Any:
        part = self.data[rows]
        if not self.frame:
            return part
        # scikit-learn's column transformers know pandas and polars, not pyarrow.
        return part.to_pandas() if part.implementation.is_pyarrow() else part.to_native()

    def _numbers(self, rows: slice) -> np.ndarray:
        # Columns stay columns in memory: scattering them into rows costs as much as reading a file.
        block = np.empty(
            (len(self.schema), rows.stop - rows.start),
            np.float32 if self._kinds.keys() == {nw.Float32} else np.float64,
        )
        part = self.data[rows]
        if len(self.schema) > MOST_COLUMNS:
            # One by one, thousands of columns take seconds.
            whole = part.to_numpy()
            if whole.dtype == block.dtype:
                return whole
        if part.implementation.is_pyarrow() and not any(
            dtype in DATES or not holds_numbers(dtype) for dtype in self._kinds.values()
        ):
            # Wrapping columns would cost more than copying them.
            for values, column in zip(block, part.to_native().columns, strict=True):
                _put_arrow(values, column)
            return block.T
        if part.implementation.is_pandas() and len(set(part.to_native().dtypes)) == 1:
            # One by one, columns cost more than to count them.
            whole = part.to_native().to_numpy()
            if whole.dtype.kind in "fiu":
                block.T[:] = whole
                return block.T
        for values, column in zip(block, part.iter_columns(), strict=True):
            _put_numbers(values, column)
        return block.T

    @functools.cached_property
    def _kinds(self) -> dict[type, Any]:
        """A type of each kind: narwhals is slow to tell them apart, and most tables have one."""
        return {type(dtype): dtype for dtype in self.schema.values()}

    def _check_no_infinity(self, rows: slice) -> None:
        part = self.data[rows]
        if self.frame:
            infinite = np.zeros(part.shape, dtype=bool)
            for j, dtype in enumerate(self.schema.values()):
                if dtype.is_float():
                    infinite[:, j] = np.isinf(part[:, j].to_numpy().astype(np.float64))
        elif sparse.issparse(part) or part.dtype.kind != "f":
            return  # text, or sparse rows, which the scorer checks itself
        else:
            infinite = np.isinf(part)
        if infinite.any():
            row, column = np.argwhere(infinite)[0]
            raise self._not_finite("infinity", int(column), rows.start + int(row))

    def _check_finite(self, block: Any, start: int) -> None:
        missing = self.accepts.coded and self.accepts.nan and not sparse.issparse(block)
        wrong = np.isinf if missing else lambda values: ~np.isfinite(values)
        if sparse.issparse(block):
            coordinates = block.tocoo()
            at = wrong(coordinates.data)
            places = sorted(zip(coordinates.row[at], coordinates.col[at], strict=True))
        else:
            places = np.argwhere(wrong(block))[:1].tolist()
        if places:
            row, column = places[0]
            value = block[row, column]
            what = "NaN or a missing value" if np.isnan(value) else "infinity"
            raise self._not_finite(what, column, start + row)

    def _not_finite(self, what: str, column: int, row: int) -> InputError:
        if what == "infinity":
            message = "infinity: every number must be finite; correct it, or leave it empty."
        else:
            message = f"{what}: every value must be a finite number here; remove or impute it."
        name = self.names[column] if self.names else str(column)
        return InputError(message, column=name, row=int(row))


def _put_arrow(values: np.ndarray, column: Any) -> None:
    """Write a column of pyarrow into an array, null as NaN."""
    start = 0
    for chunk in column.chunks:
        stop = start + len(chunk)
        if not chunk.null_count and str(chunk.type) in _SHARED:
            # Not to_numpy, which imports pandas.
            values[start:stop] = np.from_dlpack(chunk)
        elif str(chunk.type) in _SHARED | {"bool"}:
            numbers = chunk.cast(str(values.dtype), safe=False).fill_null(np.nan)
            values[start:stop] = np.from_dlpack(numbers)
        else:
            values[start:stop] = chunk.to_numpy(zero_copy_only=False)
        start = stop


def _put_numbers(values: np.ndarray, column: nw.Series) -> None:
    """Write a column into an array, missing values as NaN and dates as days since 1970."""
    if column.null_count():
        # As NaN, so that one check finds everything that is not finite.
        values[:] = np.nan
        there = column.drop_nulls()
        if len(there):
            values[~column.is_null().to_numpy()] = _as_numbers(there)
    else:
        values[:] = _as_numbers(column)


def _as_numbers(column: nw.Series) -> np.ndarray:
    if column.dtype not in DATES:
        return column.to_numpy()
    seconds = column.to_numpy().astype("datetime64[us]").astype(np.float64)
    return seconds / 86_400e6


def holds_numbers(dtype: Any) -> bool:
    """Tell whether a type of a frame is one of numbers; booleans can be read as 0 and 1."""
    return dtype.is_numeric() or dtype == nw.Boolean
