"""From a caller's columns to categories: what kind a column is, and what it holds."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from poscount.errors import InputError

CATEGORIES = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)
DATES = (nw.Date, nw.Datetime)
_TRUTH = ("true", "false")


class Categorical(NamedTuple):
    """A column of categories: the distinct ones, and the place of each row's among them or -1."""

    places: np.ndarray
    distinct: list[str]


def kind_of(column: nw.Series) -> str:
    """Kind of a column of a frame, by its type and, if it has none, by what it holds."""
    dtype = column.dtype
    if dtype.is_numeric():
        return "number"
    if dtype in CATEGORIES:
        return "category"
    if dtype in DATES:
        return "date"
    if dtype == nw.Object or column.null_count() == len(column):
        return kind_of_values(column.to_list(), column.name)
    raise InputError(
        f"it holds {dtype}, neither numbers nor categories; convert it, or fit without it.",
        column=column.name,
    )


def kind_of_values(values: Sequence[Any], name: str) -> str:
    """Kind of values of any type; without any value, the column is one of categories."""
    there = [value for value in values if not _is_missing(value)]
    if not there or any(isinstance(value, str | bytes | bool | np.bool_) for value in there):
        return "category"
    for value in there:
        if not isinstance(value, Real):
            raise TypeError(
                f"Column {name}: every argument must be a string, a boolean or a real number, got "
                f"a {type(value).__name__}."
            )
    return "number"


def categorical_of(column: nw.Series) -> Categorical:
    """Categories of a column of a frame."""
    native = column.to_native()
    if column.implementation.is_pyarrow():
        return _categorical_of_arrow(native)
    if column.implementation.is_polars():
        import polars

        if column.dtype != nw.Object:
            text = native.cast(polars.String)
            distinct = text.drop_nulls().unique(maintain_order=True)
            places = text.cast(polars.Enum(distinct)).to_physical().cast(polars.Int64)
            return _distinct_categories(places.fill_null(-1).to_numpy(), distinct.to_list())
    if column.implementation.is_pandas():
        places, distinct = native.factorize()
        return _distinct_categories(np.asarray(places), distinct.tolist())
    return categorical_of_values(column.to_list())


def _categorical_of_arrow(native: Any) -> Categorical:
    import pyarrow as pa

    chunks = native.chunks if isinstance(native, pa.ChunkedArray) else [native]
    parts = []
    for chunk in chunks:
        coded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        # DuckDB's are unsigned.
        places = coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        parts.append(_distinct_categories(places, coded.dictionary.to_pylist()))
    if len(parts) == 1:
        return parts[0]
    return _joined(parts)


def _joined(parts: list[Categorical]) -> Categorical:
    distinct: dict[str, int] = {}
    places = [np.empty(0, np.intp)]
    for part in parts:
        at = [distinct.setdefault(word, len(distinct)) for word in part.distinct]
        places.append(np.array([*at, -1], np.intp)[part.places])
    return Categorical(np.concatenate(places), list(distinct))


def categorical_of_values(values: Sequence[Any]) -> Categorical:
    """Categories of a list of values of any type."""
    found: dict[Any, int] = {}
    places = [-1 if _is_missing(value) else found.setdefault(value, len(found)) for value in values]
    return _distinct_categories(np.array(places, np.intp), list(found))


def _distinct_categories(places: np.ndarray, values: list[Any]) -> Categorical:
    """Make one word of values that are written differently but mean the same."""
    words: dict[str, int] = {}
    at = [
        -1 if _is_missing(value) else words.setdefault(as_category(value), len(words))
        for value in values
    ]
    return Categorical(np.array([*at, -1], np.intp)[places], list(words))


def as_category(value: Any) -> str:
    """Category of a value: its text without blanks around it; truth is the same in any writing.

    Examples
    --------
    >>> as_category(" north "), as_category(True), as_category("FALSE"), as_category(3)
    ('north', 'true', 'false', '3')
    """
    if isinstance(value, float | np.floating) and value == 0:
        value = 0.0  # not -0.0, which equals it
    text = str(value, "utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = text.strip()
    return text.lower() if text.lower() in _TRUTH else text


def _is_missing(value: Any) -> bool:
    # pandas' NA equals nothing, not even itself, and is recognised by the name of its type.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real) and value != value
