"""What text in cells means, guessed where nobody has said it: one function for each guess."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from poscount.data.grouping import times_in_text
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.heads import Head
from poscount.files.read_options import ReadOptions
from poscount.files.text_cells import CellDiagnosis, is_like_number, look_at_text
from poscount.files.text_numbers import without_marks

_GROUPED_BY_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")


class Sign(NamedTuple):
    """A cell that shows how numbers are written; `value` is the mark."""

    value: str
    column: str
    row: int
    cell: str


def guess_units(head: Head, options: ReadOptions) -> dict[str, str]:
    """Units of the columns in which all numbers have the same one."""
    units = {}
    for name, cells in _text_columns(head).items():
        looks = look_at_text(cells, options.decimal)
        if looks.kind == "unit":
            left = _without_unit(cells, name, options._replace(units=((name, looks.marks[0]),)))
            if all(cell is None or is_like_number(cell) for cell in left):
                units[name] = looks.marks[0]
    return units


def guess_decimal(head: Head, options: ReadOptions) -> Sign | None:
    """The decimal mark, if some cells cannot be read with the other one, and none with this."""
    text = _text_columns(head)
    commas = _first(_decimals(name, cells, options, ",") for name, cells in text.items())
    points = _first(
        [
            *(_points(name, cells) for name, cells in head.columns.items() if name not in text),
            *(_decimals(name, cells, options, ".") for name, cells in text.items()),
        ]
    )
    return None if points and commas else points or commas


def guess_thousands(head: Head, options: ReadOptions, decimal: str | None) -> Sign | None:
    """The thousands mark, if all columns that have one agree.

    If the decimal mark is not known, a single comma or point may be that.
    """
    signs = []
    for name, cells in _text_columns(head).items():
        looks = _looks(name, cells, options, decimal or ".")
        if looks.kind == "thousands":
            signs.append(Sign(looks.marks[0], name, looks.row, looks.example))
        elif looks.kind == "decimal or thousands" and decimal is not None:
            mark = "," if decimal == "." else "."
            signs.append(Sign(mark, name, looks.row, looks.example))
    return signs[0] if len({sign.value for sign in signs}) == 1 else None


def guess_day_first(head: Head) -> bool | None:
    """Whether days come before months, if some dates could mean both and others cannot."""
    possible, asked = {True, False}, False
    for name, cells in _text_columns(head).items():
        readable = {first for first in (True, False) if _are_dates(name, cells, first)}
        if readable and not _are_dates(name, cells, None):
            asked = True
            possible &= readable
    return possible.pop() if asked and len(possible) == 1 else None


def ambiguous_points(head: Head) -> Sign | None:
    """A number such as 1.234, which would be another one if points marked thousands."""
    text = _text_columns(head)
    numbers = ((name, cells) for name, cells in head.columns.items() if name not in text)
    return _first(_points(name, cells, clear=False) for name, cells in numbers)


def _text_columns(head: Head) -> dict[str, list[str | None]]:
    """The columns that are not plain numbers."""
    pa = pyarrow()
    text = {}
    for name, cells in head.columns.items():
        try:
            pa.array(cells, pa.string()).cast(pa.float64())
        except pa.ArrowInvalid:
            text[name] = cells
    return text


def _first(signs: Iterable[Sign | None]) -> Sign | None:
    return next((sign for sign in signs if sign is not None), None)


def _points(name: str, cells: Sequence[str | None], clear: bool = True) -> Sign | None:
    """The first number of a column with a point, that cannot or can mark thousands."""
    for row, cell in enumerate(cells):
        if cell and "." in cell and clear != bool(_GROUPED_BY_POINTS.fullmatch(cell)):
            return Sign(".", name, row, cell)
    return None


def _decimals(
    name: str, cells: Sequence[str | None], options: ReadOptions, mark: str
) -> Sign | None:
    """The first cell of a column of text whose decimals have this mark without doubt."""
    other = "," if mark == "." else "."
    looks = _looks(name, cells, options, other)
    grouped = looks.kind == "thousands" and looks.marks == (other,)
    if grouped or looks.kind in ("decimal", "decimal and thousands"):
        return Sign(mark, name, looks.row, looks.example)
    return None


def _are_dates(name: str, cells: Sequence[str | None], day_first: bool | None) -> bool:
    try:
        times_in_text(cells, name, "day", day_first)
    except InputError:
        return False
    return any(cell is not None for cell in cells)


def _looks(
    name: str, cells: Sequence[str | None], options: ReadOptions, decimal: str
) -> CellDiagnosis:
    """What a column looks like when its unit is taken away."""
    return look_at_text(_without_unit(cells, name, options._replace(thousands=None)), decimal)


def _without_unit(cells: Sequence[str | None], name: str, options: ReadOptions) -> list[str | None]:
    return without_marks(pyarrow().array(cells, pyarrow().string()), name, options).to_pylist()
