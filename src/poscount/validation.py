"""What may enter: arrays, sparse matrices and frames become rows that a scorer can take."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import validate_data

from poscount.errors import InputError

BLOCK_ROWS = 65536
_NAMES_SHOWN = 20


class InputSupport(NamedTuple):
    """What a scorer takes besides finite numbers in a dense matrix: NaN, text, sparse matrices."""

    nan: bool = False
    text: bool = False
    sparse: bool = False

    @property
    def raw(self) -> bool:
        """Whether the scorer gets the caller's rows untouched."""
        return self.nan or self.text


def input_support(scorer: BaseEstimator) -> InputSupport:
    """Find out what a scorer takes; for a pipeline its first step decides.

    A pipeline takes NaN if a step replaces NaN before any step that cannot take it. A scaler takes
    NaN but passes it on.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import OneClassSVM
    >>> input_support(make_pipeline(SimpleImputer(), OneClassSVM()))
    InputSupport(nan=True, text=False, sparse=True)
    """
    supports = []
    for step in _steps(scorer):
        supports.append(_support_of_step(step))
        if not isinstance(step, OneToOneFeatureMixin):
            break
    return supports[0]._replace(nan=all(support.nan for support in supports))


def _steps(scorer: BaseEstimator) -> list[BaseEstimator]:
    """Steps of a pipeline and of the pipelines in it; anything else is its own only step."""
    if not getattr(scorer, "steps", None):
        return [scorer]
    steps = [step for _, step in scorer.steps if step not in (None, "passthrough")]
    return [part for step in steps for part in _steps(step)]


def _support_of_step(step: BaseEstimator) -> InputSupport:
    if hasattr(step, "transformer_list") or hasattr(step, "transformers"):
        # A column transformer or union gives columns to its parts, which check them themselves.
        return InputSupport(nan=True, text=True)
    tags = get_tags(step).input_tags
    return InputSupport(
        nan=tags.allow_nan,
        text=tags.string or tags.categorical,
        sparse=tags.sparse,
    )


class Rows:
    """The rows of an array, a sparse matrix or a frame, one block at a time.

    A scorer of numbers gets blocks of float64 or float32 in which every value is finite. A scorer
    that takes NaN or text gets slices of the caller's own object, checked for infinities only.
    """

    def __init__(self, data: Any, names: tuple[str, ...] | None, accepts: InputSupport) -> None:
        self.data = data
        self.names = names
        self.accepts = accepts
        self.frame = isinstance(data, nw.DataFrame)
        # Asked for once, because narwhals builds it anew each time.
        self.schema: dict[str, Any] = dict(data.schema) if self.frame else {}

    def __len__(self) -> int:
        return self.data.shape[0]

    def whole(self) -> Any:
        """All rows as one block."""
        block = self.block(0, len(self))
        # C order, so that what is learned is bit-identical.
        return np.ascontiguousarray(block) if type(block) is np.ndarray else block

    def block(self, start: int, stop: int) -> Any:
        """Rows from `start` up to `stop`, in the form that the scorer takes."""
        rows = slice(start, stop)
        if self.accepts.raw:
            self._check_no_infinity(rows)
            return self._untouched(rows)
        if self.frame:
            block = self._numbers(rows)
        else:
            block = self.data[rows]
            # scipy's sparse matrices keep their values in .data.
            if block.dtype not in (np.float32, np.float64):
                block = block.astype(np.float64)
        values = block.data if sparse.issparse(block) else block
        # The sum is the cheapest test for NaN and infinity; if it overflows, we look again.
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(np.sum(values))
        if suspicious:
            self._check_finite(block, start)
        return block

    def blocks(self) -> Iterator[Any]:
        """All rows, block by block."""
        for start in range(0, len(self), BLOCK_ROWS):
            yield self.block(start, min(start + BLOCK_ROWS, len(self)))

    def _untouched(self, rows: slice) -> Any:
        part = self.data[rows]
        if not self.frame:
            return part
        # scikit-learn's column transformers know pandas and polars, not pyarrow.
        return part.to_pandas() if part.implementation.is_pyarrow() else part.to_native()

    def _numbers(self, rows: slice) -> np.ndarray:
        single = all(dtype == nw.Float32 for dtype in self.schema.values())
        # Columns stay columns in memory: scattering them into rows costs as much as reading a file.
        block = np.empty(
            (len(self.schema), rows.stop - rows.start), np.float32 if single else np.float64
        )
        part = self.data[rows]
        if part.implementation.is_pyarrow():
            # pyarrow turns null into NaN, and wrapping columns would cost more than copying them.
            for values, column in zip(block, part.to_native().columns, strict=True):
                values[:] = column.to_numpy()
            return block.T
        for values, column in zip(block, part.iter_columns(), strict=True):
            if column.null_count():
                # As NaN, so that one check finds everything that is not finite.
                values[:] = np.nan
                values[~column.is_null().to_numpy()] = column.drop_nulls().to_numpy()
            else:
                values[:] = column.to_numpy()
        return block.T

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
            raise _not_finite("infinity", self.names, int(column), rows.start + int(row))

    def _check_finite(self, block: Any, start: int) -> None:
        if sparse.issparse(block):
            coordinates = block.tocoo()
            wrong = ~np.isfinite(coordinates.data)
            places = sorted(zip(coordinates.row[wrong], coordinates.col[wrong], strict=True))
        else:
            places = np.argwhere(~np.isfinite(block))[:1].tolist()
        if places:
            row, column = places[0]
            value = block[row, column]
            what = "NaN or a missing value" if np.isnan(value) else "infinity"
            raise _not_finite(what, self.names, column, start + row)


def _not_finite(what: str, names: Sequence[str] | None, column: int, row: int) -> InputError:
    return InputError(
        f"{what}: every value must be a finite number, because poscount imputes nothing by itself; "
        "remove or impute it, or use a scorer pipeline that handles missing values.",
        column=names[column] if names else str(column),
        row=int(row),
    )


def as_frame(data: Any) -> nw.DataFrame | None:
    """Wrap a pandas, polars or pyarrow frame or an Arrow record batch; None for anything else.

    As in scikit-learn, a frame whose column names are not all strings is an array.
    """
    if isinstance(data, np.ndarray) or sparse.issparse(data):
        return None
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(data, arrow.RecordBatch):
        data = arrow.Table.from_batches([data])
    try:
        frame = data if isinstance(data, nw.DataFrame) else nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:
        twice = data.columns[data.columns.duplicated()]
        raise InputError(
            "more than one column of the frame has this name; rename them.", column=str(twice[0])
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("This frame is lazy: collect it into memory first.")
    if not isinstance(frame, nw.DataFrame):
        return None
    return frame if all(isinstance(name, str) for name in frame.columns) else None


def as_frame_with_names(data: Any) -> nw.DataFrame:
    """Wrap a frame for grouping; anything else is an error."""
    frame = as_frame(data)
    if frame is None:
        raise TypeError("Groups need a pandas, polars or pyarrow frame whose columns have names.")
    return frame


def learn_rows(
    estimator: BaseEstimator, data: Any, features: Sequence[str] | None, accepts: InputSupport
) -> Rows:
    """Take the positives in, and set the estimator's attributes that describe its features."""
    frame = as_frame(data)
    if frame is None:
        if features is not None:
            raise InputError(
                "The positives have no column names, so features cannot be chosen by name; give a "
                "frame, or an array with just these columns.",
                option="features",
                leave_out=True,
            )
        rows = _array_rows(estimator, data, accepts, reset=True, min_rows=1)
    else:
        if isinstance(features, str):
            features = [features]
        names = tuple(frame.columns if features is None else features)
        if not names:
            raise InputError("The positives have 0 feature(s): at least one column is needed.")
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise InputError("this column is named twice among the features.", column=twice[0])
        rows = _frame_rows(frame, names, accepts, learning=True)
        if len(rows) == 0:
            raise InputError("The positives have no rows (0 sample(s)): at least one is needed.")
        validate_data(estimator, nw.to_native(rows.data), reset=True, skip_check_array=True)
        # They say how to read a file without types, such as CSV.
        estimator.numeric_features_ = [
            name for name, dtype in rows.schema.items() if _holds_numbers(dtype)
        ]
    return rows


def sample_rows(estimator: BaseEstimator, data: Any, accepts: InputSupport) -> Rows:
    """Take a sample in: the columns of a frame by name, those of an array by position."""
    frame = as_frame(data)
    names = getattr(estimator, "feature_names_in_", None)
    if frame is None or names is None:
        return _array_rows(estimator, data, accepts, reset=False, min_rows=0)
    return _frame_rows(frame, tuple(names), accepts)


def _array_rows(
    estimator: BaseEstimator, data: Any, accepts: InputSupport, *, reset: bool, min_rows: int
) -> Rows:
    array = check_array(
        data,
        accept_sparse="csr" if accepts.sparse else False,
        dtype=None if accepts.text else "numeric",
        ensure_all_finite=False,
        ensure_min_samples=min_rows,
        estimator=estimator,
    )
    validate_data(estimator, data, reset=reset, skip_check_array=True)
    return Rows(array, getattr(estimator, "feature_names_in_", None), accepts)


def _frame_rows(
    frame: nw.DataFrame, names: tuple[str, ...], accepts: InputSupport, *, learning: bool = False
) -> Rows:
    there = set(frame.columns)
    for name in names:
        if name not in there:
            raise InputError(
                f"this column is missing; the columns here are {', '.join(frame.columns)}.",
                column=name,
            )
    rows = Rows(frame.select(names), names, accepts)
    if not accepts.text:
        others = [name for name, dtype in rows.schema.items() if not _holds_numbers(dtype)]
        if others:
            numeric = [name for name in names if name not in others]
            named = learning and 0 < len(numeric) <= _NAMES_SHOWN
            raise InputError(
                f"it holds {rows.schema[others[0]]}, not numbers; convert it to numbers, use a "
                "scorer pipeline that encodes it, or fit without it.",
                column=others[0],
                option="features" if named else None,
                value=numeric if named else None,
            )
    return rows


def _holds_numbers(dtype: nw.dtypes.DType) -> bool:
    return dtype.is_numeric() or dtype == nw.Boolean


def group_codes(frame: nw.DataFrame, by: tuple[str, ...]) -> tuple[nw.DataFrame, np.ndarray]:
    """Return the sorted distinct groups, and for every row the index of its group."""
    for name in by:
        if name not in frame.columns:
            raise InputError(
                f"there is no such grouping column; the columns are {', '.join(frame.columns)}.",
                column=name,
            )
        _check_no_missing_group(frame[name])
    keys = frame.select(by)
    if frame.implementation.is_pyarrow() and len(by) == 1:
        return _arrow_group_codes(keys.to_native())
    groups = nw.maybe_reset_index(keys.unique().sort(by))
    row, code = (nw.generate_temporary_column_name(8, [*by, ""]) for _ in range(2))
    # Engines may reorder the rows of a join; the row number puts them back.
    joined = keys.with_row_index(row).join(groups.with_row_index(code), on=list(by)).sort(row)
    return groups, joined[code].to_numpy().astype(np.intp)


def _check_no_missing_group(column: nw.Series) -> None:
    is_float = column.dtype.is_float()
    if not (is_float or column.null_count()):
        return
    missing = column.is_null()
    if is_float:
        missing = missing | column.is_nan().fill_null(True)
    if missing.any():
        raise InputError(
            "the group is missing; fill in the value or remove the row.",
            column=column.name,
            row=int(np.argmax(missing.to_numpy())),
        )


def _arrow_group_codes(table: Any) -> tuple[nw.DataFrame, np.ndarray]:
    """Do as `group_codes` for one column, faster: every batch of a file comes this way."""
    from pyarrow import compute

    column = table.column(0)
    if hasattr(column.type, "index_type"):
        # Already a dictionary, perhaps with values that no row has.
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    order = compute.sort_indices(encoded.dictionary)
    rank = np.empty(len(order), np.intp)
    rank[order.to_numpy()] = np.arange(len(order))
    groups = table.from_arrays([encoded.dictionary.take(order)], names=table.column_names)
    return nw.from_native(groups), rank[encoded.indices.to_numpy()]
