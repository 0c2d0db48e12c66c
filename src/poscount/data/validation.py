"""What may enter: arrays, sparse matrices and frames become rows that a method can take."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import validate_data

from poscount.data.categories import (
    CATEGORIES,
    DATES,
    Categorical,
    categorical_of_values,
    kind_of,
    kind_of_values,
)
from poscount.data.columns import Columns
from poscount.data.constants import Constants
from poscount.data.give_aways import looks_like_identifier
from poscount.data.projection import MOST_COLUMNS, learn_projection
from poscount.data.rows import InputSupport, Rows, holds_numbers
from poscount.errors import InputError, ask_about_similar, join_names

_NAMES_SHOWN = 20
# Of zeros and ones that words become; a covariance of more takes seconds.
_MOST_DESIGN_COLUMNS = 1000


def input_support(scorer: BaseEstimator) -> InputSupport:
    """Find out what a scorer takes; for a pipeline its first step decides.

    A pipeline takes NaN if a step replaces NaN before any step that cannot take it. A scaler takes
    NaN but passes it on.

    Examples
    --------
    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import OneClassSVM
    >>> support = input_support(make_pipeline(SimpleImputer(), OneClassSVM()))
    >>> support.nan, support.text, support.sparse
    (True, False, True)
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


def as_frame(data: Any, columns: Sequence[str] | None = None) -> nw.DataFrame | None:
    """Wrap a pandas, polars or pyarrow frame or an Arrow record batch; None for anything else.

    Labels of pandas that are no text, such as numbers, dates or pairs, become the text that they
    print as, so that columns are chosen by them in whatever order they come. A lazy frame of
    polars, a relation of DuckDB and a dataset of pyarrow come into memory: those of the `columns`
    that they have, by default all.
    """
    if isinstance(data, np.ndarray) or sparse.issparse(data):
        return None
    arrow, dataset = sys.modules.get("pyarrow"), sys.modules.get("pyarrow.dataset")
    if arrow is not None and isinstance(data, arrow.RecordBatch):
        data = arrow.Table.from_batches([data])
    if dataset is not None and isinstance(data, dataset.Dataset):
        data = data.to_table(columns=_present(data.schema.names, columns))
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(data, pandas.DataFrame) and not _named(data.columns):
        data = data.copy(deep=False)
        data.columns = list(map(str, data.columns))
    try:
        frame = data if isinstance(data, nw.DataFrame) else nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:
        twice = data.columns[data.columns.duplicated()]
        raise InputError(
            "more than one column of the frame has this name; rename them.", column=str(twice[0])
        ) from None
    if isinstance(frame, nw.LazyFrame):
        if not (frame.implementation.is_polars() or frame.implementation.is_duckdb()):
            raise TypeError("This frame is lazy: poscount.engines.count counts it where it is.")
        frame = frame.select(_present(frame.collect_schema().names(), columns)).collect()
    if not isinstance(frame, nw.DataFrame):
        return None
    return frame if _named(frame.columns) else None


def _named(labels: Iterable[Any]) -> bool:
    return all(isinstance(name, str) for name in labels)


def _present(names: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    return [name for name in names if columns is None or name in columns]


def as_frame_with_names(data: Any) -> nw.DataFrame:
    """Wrap a frame for grouping; anything else is an error."""
    frame = as_frame(data)
    if frame is None:
        raise TypeError("Groups need a pandas, polars or pyarrow frame whose columns have names.")
    return frame


def split_by_label(data: Any, y: Any) -> tuple[Any, Any]:
    """Rows whose label is 1, and all others, which are None if there are none.

    Examples
    --------
    >>> positives, unlabeled = split_by_label(np.array([[1.0], [2.0], [3.0]]), [1, 0, 1])
    >>> positives.ravel().tolist(), unlabeled.ravel().tolist()
    ([1.0, 3.0], [2.0])
    """
    if y is None:
        return data, None
    labeled = np.asarray(y) == 1
    frame = as_frame(data)
    if frame is not None:
        n_rows = len(frame)
    else:
        table = data.tocsr() if sparse.issparse(data) else np.asarray(data)
        n_rows = table.shape[0]
    if labeled.shape != (n_rows,):
        raise InputError(
            f"There are {n_rows} rows, but y has the shape {labeled.shape}: it needs one label for "
            "each row, 1 for a labelled positive.",
            option="y",
        )
    if not labeled.any():
        raise InputError("No row is labelled: y needs a 1 for each positive.", option="y")
    if labeled.all():
        return data, None
    if frame is not None:
        return frame.filter(labeled.tolist()), frame.filter((~labeled).tolist())
    return table[labeled], table[~labeled]


def learn_rows(
    estimator: BaseEstimator, data: Any, features: Sequence[str] | None, accepts: InputSupport
) -> Rows:
    """Take the positives in, and set the estimator's attributes that describe its features."""
    frame = as_frame(data)
    left_out: list[str] = []
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
        if features is None and accepts.coded:
            left_out = _not_features(frame, accepts)
        names = tuple(
            [name for name in frame.columns if name not in left_out]
            if features is None
            else features
        )
        if not names:
            why = f" None of these looks like one: {join_names(left_out)}." if left_out else ""
            raise InputError(
                f"The positives have 0 feature(s): at least one column is needed.{why}",
                option="features" if left_out else None,
            )
        twice = [name for name, times in Counter(names).items() if times > 1]
        if twice:
            raise InputError("this column is named twice among the features.", column=twice[0])
        rows = _frame_rows(frame, names, accepts, learning=True)
        if len(rows) == 0:
            raise InputError("The positives have no rows (0 sample(s)): at least one is needed.")
        validate_data(estimator, nw.to_native(rows.data), reset=True, skip_check_array=True)
    if accepts.coded:
        rows.columns = estimator.columns_ = _learn_columns(rows, left_out)
        if hasattr(estimator, "projection_"):
            del estimator.projection_
        n_design = rows.columns.n_design
        many = rows.data.shape[1] > MOST_COLUMNS or n_design > _MOST_DESIGN_COLUMNS
        if accepts.wide and (many or sparse.issparse(rows.data)):
            positives = rows.columns.design(rows.to_array())
            rows.projection = estimator.projection_ = learn_projection(positives, estimator.seed_)
            # Of so many columns, some are the same in all positives by chance alone.
            varying = Constants.none(len(rows.columns.names_))
            rows.columns = estimator.columns_ = rows.columns.with_constants(varying)
        if not n_design:
            raise InputError(
                "Every column is constant among the positives, so that nothing tells them from "
                "other rows: use features that vary."
            )
        kinds = zip(rows.columns.names_, rows.columns.kinds_, strict=True)
        numeric = [name for name, kind in kinds if kind == "number"]
    else:
        numeric = [name for name, dtype in rows.schema.items() if holds_numbers(dtype)]
    if frame is not None:
        # They say how to read a file without types, such as CSV.
        estimator.numeric_features_ = numeric
    return rows


def _not_features(frame: nw.DataFrame, accepts: InputSupport) -> list[str]:
    """Columns that are not used unless somebody names them; a warning says which these are."""
    dates = [name for name, dtype in frame.schema.items() if dtype in DATES]
    others = tuple(name for name in frame.columns if name not in dates)
    rows = Rows(frame.select(others), others, accepts)
    columns = rows.columns_as(_kinds(rows), slice(0, len(rows)))
    identifiers = [
        name
        for name, column in zip(others, columns, strict=True)
        if looks_like_identifier(name, column)
    ]
    for names, what, rest in (
        (dates, "Dates", "Rows can be grouped by them; name them in features to use them."),
        (
            identifiers,
            "Columns that look like identifiers, running numbers or comments",
            "Name them in features to use them.",
        ),
    ):
        if names:
            warnings.warn(
                f"{what} are not used as features: {join_names(map(repr, names))}. {rest}",
                stacklevel=4,
            )
    return [name for name in frame.columns if name in {*dates, *identifiers}]


def _kinds(rows: Rows) -> list[str]:
    """Kind of each column of a frame: "number" or "category"."""
    return [
        "number" if dtype.is_numeric() or dtype in DATES else kind_of(rows.data[name])
        for name, dtype in rows.schema.items()
    ]


def _learn_columns(rows: Rows, left_out: list[str]) -> Columns:
    n_columns = rows.data.shape[1]
    names = rows.names or [f"x{j}" for j in range(n_columns)]
    if sparse.issparse(rows.data):
        return Columns.plain(names)
    if rows.frame:
        kinds = _kinds(rows)
    elif not _is_plain(rows):
        columns = [rows.data[:, j].tolist() for j in range(n_columns)]
        kinds = [kind_of_values(*pair) for pair in zip(columns, names, strict=True)]
    else:
        kinds = ["number"] * n_columns
    everything = slice(0, len(rows))
    if "category" not in kinds:
        given = rows._numbers(everything).T if rows.frame else rows.data.T
        numbers = np.array(given, np.float64, order="C")
        rows.require_finite(numbers.T)
        learned = Columns.of_numbers(names, numbers)
        learned.left_out_ = left_out
        return learned
    return Columns.learn(names, _finite_columns(rows, kinds, everything), left_out)


def _finite_columns(
    rows: Rows, kinds: list[str], part: slice
) -> Iterator[np.ndarray | Categorical]:
    for j, column in enumerate(rows.columns_as(kinds, part)):
        if not isinstance(column, Categorical):
            infinite = np.isinf(column)
            if infinite.any():
                raise rows._not_finite("infinity", j, int(infinite.argmax()))
        yield column


def sample_rows(estimator: BaseEstimator, data: Any, accepts: InputSupport) -> Rows:
    """Take a sample in: the columns of a frame by name, those of an array by position."""
    names = getattr(estimator, "feature_names_in_", None)
    frame = as_frame(data, names)
    if frame is None or names is None:
        rows = _array_rows(estimator, data, accepts, reset=False, min_rows=0)
    else:
        rows = _frame_rows(frame, tuple(names), accepts)
    if accepts.coded:
        rows.columns = estimator.columns_
        rows.projection = getattr(estimator, "projection_", None)
        _check_kinds(rows, rows.columns)
    return rows


def _check_kinds(rows: Rows, columns: Columns) -> None:
    """Refuse words where the positives have numbers, and the reverse."""
    if sparse.issparse(rows.data) or (not rows.frame and columns.all_numbers and _is_plain(rows)):
        return
    dtypes = list(rows.schema.values())
    for j, kind in enumerate(columns.kinds_):
        if rows.frame:
            if _fits(dtypes[j], kind):
                continue
            series = rows.data[:, j]
            if series.null_count() == len(series):
                continue
            here = kind_of(series)
        elif not _is_plain(rows):
            values = rows.data[:, j].tolist()
            here = kind_of_values(values, columns.names_[j])
            if here == "category" and not categorical_of_values(values).distinct:
                continue  # nothing but missing values
        else:
            here = "number"
        if here != kind:
            words = {"number": "numbers", "category": "words", "date": "dates"}
            raise InputError(
                f"it holds {words[here]} here, but held {words[kind]} in the positives; convert "
                "one of them.",
                column=columns.names_[j],
            )


def _is_plain(rows: Rows) -> bool:
    """Whether an array can hold nothing but numbers."""
    return rows.data.dtype != object and rows.data.dtype.kind not in "US"


def _fits(dtype: Any, kind: str) -> bool:
    if kind == "number":
        return holds_numbers(dtype) or dtype in DATES
    return dtype in CATEGORIES


def _array_rows(
    estimator: BaseEstimator, data: Any, accepts: InputSupport, *, reset: bool, min_rows: int
) -> Rows:
    if sparse.issparse(data) and not accepts.sparse:
        raise InputError(f"{type(estimator).__name__} takes no sparse matrix; RCQ and TRCQ do.")
    data = _without_mask(data)
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


def _without_mask(data: Any) -> Any:
    """Write masked entries of an array as missing ones; scikit-learn would ignore the mask."""
    if not isinstance(data, np.ma.MaskedArray):
        return data
    if not np.ma.is_masked(data):
        return data.data
    if data.dtype.kind in "biu":
        data = data.astype(np.float64)
    missing = np.nan if data.dtype.kind == "f" else None
    return np.where(np.ma.getmaskarray(data), missing, data.data)


def _frame_rows(
    frame: nw.DataFrame, names: tuple[str, ...], accepts: InputSupport, *, learning: bool = False
) -> Rows:
    there = set(frame.columns)
    for name in names:
        if name not in there:
            rest = f"the columns here are {join_names(frame.columns)}."
            rest = ask_about_similar(name, frame.columns, rest)
            raise InputError(f"this column is missing; {rest}", column=name)
    rows = Rows(frame.select(names), names, accepts)
    if not accepts.text:
        others = [name for name, dtype in rows.schema.items() if not holds_numbers(dtype)]
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
