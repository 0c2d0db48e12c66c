"""What may enter: arrays, sparse matrices and frames become rows that a scorer can take."""

from __future__ import annotations

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


class Takes(NamedTuple):
    """What a scorer can be given besides finite numbers in a dense matrix."""

    nan: bool = False
    text: bool = False
    sparse: bool = False

    @property
    def raw(self) -> bool:
        """Whether the scorer gets the caller's rows untouched."""
        return self.nan or self.text


def takes(scorer: BaseEstimator) -> Takes:
    """Ask a scorer, or the first step of a pipeline, what it takes.

    A pipeline takes NaN if one of its steps deals with it before one that cannot: a scaler takes
    NaN, too, but hands it on.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.ensemble import IsolationForest
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import OneClassSVM
    >>> takes(make_pipeline(SimpleImputer(), OneClassSVM()))
    Takes(nan=True, text=False, sparse=True)
    """
    if getattr(scorer, "steps", None):
        steps = [step for _, step in scorer.steps if step not in (None, "passthrough")]
        return takes(steps[0])._replace(nan=_pipeline_takes_nan(steps))
    if hasattr(scorer, "transformer_list") or hasattr(scorer, "transformers"):
        # A column transformer or union hands columns out; its parts complain for themselves.
        return Takes(nan=True, text=True)
    tags = get_tags(scorer).input_tags
    return Takes(
        nan=tags.allow_nan,
        text=tags.string or tags.categorical,
        sparse=tags.sparse,
    )


def _pipeline_takes_nan(steps: Sequence[BaseEstimator]) -> bool:
    for step in steps:
        if not takes(step).nan:
            return False
        # A scaler hands NaN on; any other step that takes it deals with it.
        if not isinstance(step, OneToOneFeatureMixin):
            return True
    return True


class Rows:
    """The rows of an array, a sparse matrix or a frame, given out in blocks.

    Numbers come as dense float64 or float32 blocks whose values are all finite; a scorer that
    takes NaN or text gets slices of the caller's own object instead, which hold no infinity.
    """

    def __init__(self, data: Any, names: tuple[str, ...] | None, accepts: Takes) -> None:
        self.data = data
        self.names = names
        self.accepts = accepts
        self.frame = isinstance(data, nw.DataFrame)

    def __len__(self) -> int:
        return self.data.shape[0]

    def whole(self) -> Any:
        """All rows as one block."""
        block = self.block(0, len(self))
        # In one order of memory, on which the last bit of what is learned depends.
        return np.ascontiguousarray(block) if type(block) is np.ndarray else block

    def block(self, start: int, stop: int) -> Any:
        """Return the rows from `start` to `stop` in the form that the scorer takes."""
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
        # One sum is the cheapest sign of a NaN or an infinity; an overflow costs a second look.
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
        keep = all(dtype == nw.Float32 for dtype in self.data.schema.values())
        kind = np.float32 if keep else np.float64
        # Column by column in memory too: a scatter into rows costs as much as reading the file.
        block = np.empty((self.data.shape[1], rows.stop - rows.start), kind)
        part = self.data[rows]
        if part.implementation.is_pyarrow() and not _has_nulls(part.to_native()):
            # Wrapping the columns of a batch would cost more than copying them.
            for values, column in zip(block, part.to_native().itercolumns(), strict=True):
                values[:] = column.to_numpy()
            return block.T
        for values, column in zip(block, part.iter_columns(), strict=True):
            if column.null_count():
                # As NaN, which is then found together with everything else that is not finite.
                values[:] = np.nan
                values[~column.is_null().to_numpy()] = column.drop_nulls().to_numpy()
            else:
                values[:] = column.to_numpy()
        return block.T

    def _check_no_infinity(self, rows: slice) -> None:
        part = self.data[rows]
        if self.frame:
            infinite = np.zeros(part.shape, dtype=bool)
            for j, dtype in enumerate(part.schema.values()):
                if dtype.is_float():
                    infinite[:, j] = np.isinf(part[:, j].to_numpy().astype(np.float64))
        elif sparse.issparse(part) or part.dtype.kind != "f":
            return  # text, or sparse rows, of which the scorer takes care
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


def _has_nulls(table: Any) -> bool:
    return any(column.null_count for column in table.itercolumns())


def _not_finite(what: str, names: Sequence[str] | None, column: int, row: int) -> InputError:
    return InputError(
        f"{what}: every value must be a finite number, because nothing is imputed silently; remove "
        "or impute it, or give a scorer pipeline that takes missing values.",
        column=names[column] if names else str(column),
        row=int(row),
    )


def as_frame(data: Any) -> nw.DataFrame | None:
    """Wrap a pandas, polars or pyarrow frame; anything else gives None.

    A frame whose column names are not all strings is an array to scikit-learn, and so it is here.
    """
    if isinstance(data, np.ndarray) or sparse.issparse(data):
        return None
    try:
        frame = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:
        twice = data.columns[data.columns.duplicated()]
        raise InputError(
            "the frame has more than one column of this name; rename them.", column=str(twice[0])
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError("This frame is lazy: collect it into memory first.")
    if not isinstance(frame, nw.DataFrame):
        return None
    return frame if all(isinstance(name, str) for name in frame.columns) else None


def learn_rows(
    estimator: BaseEstimator, data: Any, features: Sequence[str] | None, accepts: Takes
) -> Rows:
    """Take the positives in, and note on the estimator which features it has learned."""
    frame = as_frame(data)
    if frame is None:
        if features is not None:
            raise ValueError(
                "features picks columns by name, but the positives have no column names: give a "
                "frame, or an array of just these columns."
            )
        rows = _array_rows(estimator, data, accepts, reset=True, min_rows=1)
    else:
        if isinstance(features, str):
            features = [features]
        names = tuple(frame.columns if features is None else features)
        if not names:
            raise InputError("The positives have 0 feature(s): at least one column is needed.")
        rows = _frame_rows(frame, names, accepts)
        if len(rows) == 0:
            raise InputError("The positives have no rows (0 sample(s)): at least one is needed.")
        validate_data(estimator, nw.to_native(rows.data), reset=True, skip_check_array=True)
        # A file without types, such as CSV, is read by these.
        estimator.numeric_features_ = [
            name for name, dtype in rows.data.schema.items() if _holds_numbers(dtype)
        ]
    return rows


def sample_rows(estimator: BaseEstimator, data: Any, accepts: Takes) -> Rows:
    """Take a sample in: a frame's columns by name, an array's by position."""
    frame = as_frame(data)
    names = getattr(estimator, "feature_names_in_", None)
    if frame is None or names is None:
        return _array_rows(estimator, data, accepts, reset=False, min_rows=0)
    return _frame_rows(frame, tuple(names), accepts)


def _array_rows(
    estimator: BaseEstimator, data: Any, accepts: Takes, *, reset: bool, min_rows: int
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


def _frame_rows(frame: nw.DataFrame, names: tuple[str, ...], accepts: Takes) -> Rows:
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError("this column is named twice among the features.", column=min(twice))
    there = set(frame.columns)
    for name in names:
        if name not in there:
            raise InputError(
                f"this column is missing; the columns here are {', '.join(frame.columns)}.",
                column=name,
            )
    chosen = frame.select(names)
    if not accepts.text:
        for name, dtype in chosen.schema.items():
            if not _holds_numbers(dtype):
                raise InputError(
                    f"it holds {dtype}, not numbers; choose numeric columns with features=[...], "
                    "or give a scorer pipeline that encodes it.",
                    column=name,
                )
    return Rows(chosen, names, accepts)


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
        missing = frame[name].is_null()
        if frame.schema[name].is_float():
            missing = missing | frame[name].is_nan().fill_null(True)
        if missing.any():
            raise InputError(
                "a missing value says no group; fill it in or remove the row.",
                column=name,
                row=int(np.argmax(missing.to_numpy())),
            )
    keys = frame.select(by)
    if frame.implementation.is_pyarrow() and len(by) == 1:
        return _arrow_group_codes(keys)
    groups = nw.maybe_reset_index(keys.unique().sort(by))
    row, code = (nw.generate_temporary_column_name(8, [*by, ""]) for _ in range(2))
    # A hash join; engines may reorder its rows, the row number puts them back.
    joined = keys.with_row_index(row).join(groups.with_row_index(code), on=list(by)).sort(row)
    return groups, joined[code].to_numpy().astype(np.intp)


def _arrow_group_codes(keys: nw.DataFrame) -> tuple[nw.DataFrame, np.ndarray]:
    """Do as `group_codes`, in a quarter of the time; every batch of a file comes this way."""
    table = keys.to_native()
    column = table.column(0)
    if hasattr(column.type, "index_type"):
        # Encoded already, perhaps with words that no row has.
        column = column.cast(column.type.value_type)
    encoded = column.combine_chunks().dictionary_encode()
    groups = nw.from_native(
        table.from_arrays([encoded.dictionary], names=table.column_names), eager_only=True
    ).with_row_index("")
    ordered = groups.sort(keys.columns)
    rank = np.empty(len(ordered), np.intp)
    rank[ordered[""].to_numpy()] = np.arange(len(ordered))
    return ordered.drop(""), rank[encoded.indices.to_numpy()]
