"""Numbers and words from columns of text, by what the format of a file says about its cells."""

from __future__ import annotations

import contextlib
import re
from typing import Any

from poscount.files.arrow import pyarrow
from poscount.files.read_options import ReadOptions
from poscount.files.text_cells import GAPS, MISSING, SAME_MARKS, look_at_text


def words(column: Any, read_options: ReadOptions) -> Any:
    """Return the text without blanks at its ends, and null where it means a missing value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> words(pa.array([" north", "n/a", "-"]), ReadOptions(na=("-",))).to_pylist()
    ['north', None, None]
    """
    compute = pyarrow().compute
    text = compute.utf8_trim_whitespace(column)
    signs = pyarrow().array([*MISSING, *read_options.na], text.type)
    return compute.if_else(compute.is_in(text, value_set=signs), None, text)


def numbers(column: Any, name: str, read_options: ReadOptions) -> Any:
    """Turn a column of text into float64, or raise an `InputError` that names the cell.

    Examples
    --------
    >>> import pyarrow as pa
    >>> numbers(pa.array(["1,200.5 g", "7", "NA"]), "weight", ReadOptions(
    ...     thousands=",", units=(("weight", "g"),))).to_pylist()
    [1200.5, 7.0, None]
    """
    pa = pyarrow()
    try:
        return _cast(column, name, pa.float64(), read_options)
    except pa.ArrowInvalid as error:
        looks = look_at_text(
            without_marks(column, name, read_options).to_pylist(), read_options.decimal
        )
        raise looks.error(name, read_options) from error


def infer(column: Any, name: str, read_options: ReadOptions) -> Any:
    """Turn a column of text into integers or floats if all of its cells are numbers."""
    pa = pyarrow()
    try:
        found = _cast(column, name, pa.float64(), read_options)
    except pa.ArrowInvalid:
        return column
    if found.null_count < len(found):
        with contextlib.suppress(pa.ArrowInvalid):
            return _cast(column, name, pa.int64(), read_options)
    return found


def without_signs(column: Any, na: tuple[str, ...]) -> Any:
    """Put null where a column of a typed file has a sign for a missing value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> without_signs(pa.array([1.5, -999.0]), ("-", "-999")).to_pylist()
    [1.5, None]
    """
    pa = pyarrow()
    types, kind = pa.types, column.type
    if types.is_integer(kind) or types.is_floating(kind):
        return _without_numbers(column, na)
    if types.is_string(kind) or types.is_large_string(kind):
        text = pa.compute.utf8_trim_whitespace(column)
        signs = pa.array(na, text.type)
        return pa.compute.if_else(pa.compute.is_in(text, value_set=signs), None, column)
    if types.is_dictionary(kind):
        return without_signs(column.cast(kind.value_type), na)
    return column


def _cast(column: Any, name: str, kind: Any, read_options: ReadOptions) -> Any:
    """Turn text into numbers, or raise `pyarrow.ArrowInvalid`."""
    pa = pyarrow()
    _, decimal, _, _, thousands, _, na, *_ = read_options
    if decimal == "." and not thousands and not na:
        # This is nearly always enough, and several times as fast as what follows.
        with contextlib.suppress(pa.ArrowInvalid):
            return column.cast(kind)
    text = without_marks(column, name, read_options)
    if decimal == ",":
        # A point would be a thousands mark: it must not be read as the decimal mark.
        text = pa.compute.replace_substring(text, ".", "?")
        text = pa.compute.replace_substring(text, ",", ".")
    return _without_numbers(text.cast(kind), na)


def without_marks(column: Any, name: str, read_options: ReadOptions) -> Any:
    """Return the text without unit and thousands marks; the decimal mark stays."""
    compute = pyarrow().compute
    text = words(column, read_options)
    unit = read_options.unit_of(name)
    if unit is not None:
        quoted = re.escape(unit)
        number = rf"([+-]?[\d.,](?:[\d.,{GAPS}]*[\d.,])?(?:[eE][+-]?\d+)?)"
        text = compute.replace_substring_regex(text, rf"^{number}\s*{quoted}$", r"\1")
        text = compute.replace_substring_regex(text, rf"^{quoted}\s*{number}$", r"\1")
    if read_options.thousands:
        marks = SAME_MARKS.get(read_options.thousands, read_options.thousands)
        decimal = re.escape(read_options.decimal)
        # One mark is the same everywhere in a cell.
        for mark in marks:
            grouped = rf"^[+-]?\d{{1,3}}(?:[{mark}]\d{{3}})+(?:{decimal}\d*)?(?:[eE][+-]?\d+)?$"
            is_grouped = compute.match_substring_regex(text, grouped)
            text = compute.if_else(is_grouped, compute.replace_substring(text, mark, ""), text)
    return text


def _without_numbers(column: Any, na: tuple[str, ...]) -> Any:
    """Put null where a column of numbers has one that means a missing value."""
    compute = pyarrow().compute
    for sign in na:
        with contextlib.suppress(ValueError):
            missing = compute.equal(column, float(sign))
            column = compute.if_else(compute.fill_null(missing, False), None, column)
    return column
