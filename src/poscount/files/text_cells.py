"""What a column of text looks like, so that an error can say how to make numbers of it."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from poscount.errors import InputError
from poscount.files.read_options import DEFAULT_OPTIONS, ReadOptions

# What spreadsheets and statistics programs write for a missing number: these cells are missing.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None")
# What people write; these cells are asked about.
_PERHAPS_MISSING = {
    "-",
    "--",
    "---",
    "?",
    "??",
    ".",
    "..",
    "...",
    "*",
    "na",
    "n.a",
    "n.a.",
    "nd",
    "n.d",
    "n.d.",
    "missing",
    "unknown",
    "nil",
    "empty",
    "blank",
    "#value!",
    "#div/0!",
    "#ref!",
    "#num!",
    "#null!",
    "#name?",
}
_YES_OR_NO = {"yes", "no", "y", "n", "true", "false", "t", "f"}
# Between thousands: spaces of several widths, apostrophes, underscores.
GAPS = " \u00a0\u2009\u202f'\u2019_"
# Marks of thousands that are taken for the same.
SAME_MARKS = {" ": " \u00a0\u2009\u202f", "'": "'\u2019"}
# Before a number, these are no units: they say that the number is not exact.
_SIGNS = "<>≤≥~≈±"
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_TIME = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\s?[ap]m)?(?:\s?(?:Z|[+-]\d\d:?\d\d))?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_DATE = re.compile(
    rf"(?:\d{{4}}([-/.])(?:0?[1-9]|1[0-2])\1{_DAY}"
    r"|\d{4}[-/](?:0[1-9]|1[0-2])"
    rf"|{_DAY}([-/.]){_DAY}\2(?:\d{{4}}|\d\d)"
    rf"|{_DAY}[-. ]+{_MONTH}(?:[-, ]+(?:\d{{4}}|\d\d))?"
    rf"|{_MONTH} (?:{_DAY},? )?\d{{4}}"
    rf"|\d{{4}}-{_MONTH}-{_DAY}"
    rf")(?:[T ]{_TIME})?|{_TIME}",
    re.IGNORECASE,
)
_WITH_UNIT = re.compile(
    rf"(?P<before>[{_SIGNS}$€£¥]?)\s?"
    rf"(?P<number>[+-]?(?:\d[\d.,{GAPS}]*)?\d{_EXPONENT})\s?"
    r"(?P<after>(?:(?:[^\W\d_]|[%‰°\u2032\u2033$€£¥])[^\d:,;]{0,11}[23]?)?)"
)
_MOST_UNITS = 3
# A longer cell is neither a number nor a date, and is cut where it is shown.
_LONGEST = 40
# Fewer words among numbers than this share are slips, and not what the column is about.
_SLIPS = 0.25
# So few different cells such as ">50K", and no number among them, are names of classes.
_MOST_CLASSES = 20

# What a column of each kind holds, and what to say about one of its cells.
_KINDS = {
    "decimal": (
        "decimal {mark}s, as in",
        " unless the {mark} is the decimal mark.",
    ),
    "thousands": (
        "thousands marks, as in",
        ": it has thousands marks.",
    ),
    "decimal or thousands": (
        "decimal {mark}s or thousands marks, as in",
        ": the {mark} is either a thousands mark (then it is {digits}) or the decimal mark.",
    ),
    "decimal and thousands": (
        "decimal {mark}s and thousands marks, as in",
        ": it has a decimal {mark} and thousands marks.",
    ),
    "unit": (
        "units, as in",
        ": it has the unit {first}.",
    ),
    "units": (
        "numbers with different units, as in",
        ": the column has the units {marks}; write all numbers in one unit.",
    ),
    "sign": (
        "numbers with signs, as in",
        ": it has the sign {first}; write the number alone.",
    ),
    "yes or no": (
        "answers such as",
        "; write 1 for yes and 0 for no.",
    ),
    "missing": (
        "signs for missing values, such as",
        ", but it may mean that the value is missing.",
    ),
    "slip": (
        "numbers, but also",
        "; correct it or remove the row.",
    ),
    "numbers": (
        "numbers stored as text, such as",
        " but text; store the column as numbers.",
    ),
    "date": (
        "dates or times such as",
        " but looks like a date or a time; correct it or remove the row.",
    ),
    "words": (
        "words such as",
        "; correct it or remove the row.",
    ),
}


class CellDiagnosis(NamedTuple):
    """What the cells of a column that are not numbers look like, and the first of them.

    Parameters
    ----------
    kind : str
        One of these: decimal, thousands, decimal or thousands, decimal and thousands, unit (the
        same in all cells), units (several), sign (as in <0.5), yes or no, missing, slip (a few
        wrong cells among numbers), date, words; or numbers, where only the type of the column is
        wrong.
    example : str
        The first cell of this kind.
    row : int
        Its row, from 0.
    decimal : str
        The decimal mark that was expected.
    marks : tuple of str
        Of thousands, units, signs and missing: those that the column has, the example's first.
    """

    kind: str
    example: str
    row: int
    decimal: str
    marks: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """Why the column is not a feature as it is."""
        holds, _ = _KINDS[self.kind]
        return f"holds {holds.format(mark=self._mark)} {self.shown}"

    @property
    def is_measurement(self) -> bool:
        """Whether these are numbers, or can be written as numbers."""
        return self.kind not in ("date", "words", "yes or no")

    def error(self, column: str, read_options: ReadOptions = DEFAULT_OPTIONS) -> InputError:
        """What is wrong with the example, and the option that reads it, if there is one.

        Parameters
        ----------
        column : str
            The name of the column.
        read_options : ReadOptions
            What was set already: signs of missing values and units are added to it.
        """
        _, advice = _KINDS[self.kind]
        unit = read_options.unit_of(column)
        if self.kind == "unit" and unit is not None:
            advice = f": it has the unit {{first}}, but the column's unit is {unit}."
        advice = advice.format(
            mark=self._mark,
            digits=re.sub(f"[{_other(self.decimal)}{GAPS}]", "", self.example),
            first=next(iter(self.marks), ""),
            marks=" and ".join(self.marks),
        )
        option: str | None = None
        otherwise: str | None = None
        value: Any = None
        if self.kind == "decimal or thousands":
            option, otherwise, value = "thousands", "decimal", _other(self.decimal)
        elif self.kind.startswith("decimal"):
            option, value = "decimal", _other(self.decimal)
        elif self.kind == "thousands":
            # If the decimal mark is what marks thousands, the other one marks decimals.
            is_decimal = self.marks == (self.decimal,)
            option = "decimal" if is_decimal else "thousands"
            value = _other(self.decimal) if is_decimal else self.marks[0]
        elif self.kind == "unit" and unit is None:
            option, value = "units", {**dict(read_options.units), column: self.marks[0]}
        elif self.kind == "missing":
            option, value = "na", [*read_options.na, *self.marks]
        return InputError(
            f"{self.shown} is not a number{advice}",
            column=column,
            row=self.row,
            option=option,
            value=value,
            otherwise=otherwise,
        )

    @property
    def shown(self) -> str:
        """The example in quotation marks, cut if it is long."""
        cut = self.example if len(self.example) <= _LONGEST else f"{self.example[:_LONGEST]}..."
        return repr(cut)

    @property
    def _mark(self) -> str:
        return "comma" if self.decimal == "." else "point"


def look_at_text(cells: Iterable[str | None], decimal: str = ".") -> CellDiagnosis:
    """Say what a column of text looks like, by most of the cells that are not numbers.

    Parameters
    ----------
    cells : iterable of str
        The cells of the column; None is a missing one.
    decimal : {".", ","}
        The decimal mark by which numbers were looked for.

    Examples
    --------
    >>> look_at_text(["7", "3,14"])
    CellDiagnosis(kind='decimal', example='3,14', row=1, decimal='.', marks=())
    >>> print(look_at_text([None, "yes", "no", "yes"]).error("flies"))
    column 'flies', row 1: 'yes' is not a number; write 1 for yes and 0 for no.
    """
    rows: dict[str, int] = {}
    for row, cell in enumerate(cells):
        if cell is not None:
            rows.setdefault(cell.strip(), row)
    kinds = {cell: _kind(cell, decimal) for cell in rows if cell not in MISSING}
    numbers = [cell for cell, kind in kinds.items() if kind == "number"]
    others = {cell: kind for cell, kind in kinds.items() if kind not in ("number", "missing")}
    if others:
        kind = _most_common(others, any(decimal in cell for cell in numbers))
        if kind == "words" and len(others) < _SLIPS * (len(others) + len(numbers)):
            kind = "slip"
        with_sign = any(cell[0] in _SIGNS for cell in others)
        if kind == "unit" and with_sign and not numbers and 1 < len(others) <= _MOST_CLASSES:
            kind = "words"
    else:
        kind = "missing" if len(kinds) > len(numbers) else "numbers"
        others = kinds
    alike = [cell for cell, its_kind in others.items() if its_kind == kind]
    example = alike[0] if alike else next(iter(others), "")
    if kind == "unit":
        kind, marks = _kind_of_units(alike)
    else:
        marks = _marks(kind, alike, decimal)
    return CellDiagnosis(kind, example, rows.get(example, 0), decimal, marks)


def is_like_number(cell: str) -> bool:
    """Tell whether a cell is a number, in whatever way its marks are written.

    Examples
    --------
    >>> [is_like_number(cell) for cell in ("1.5", "1,5", "12 000", "1,5 mm", "north")]
    [True, True, True, False, False]
    """
    return len(cell) <= _LONGEST and any(pattern.fullmatch(cell) for pattern in _patterns("."))


def is_value(cell: str) -> bool:
    """Tell whether a cell is a number in whatever way, also with a unit, or a date.

    Examples
    --------
    >>> [is_value(cell) for cell in ("1,5", "1,5 mm", "31.1.2026", "north", "?", "1;2")]
    [True, True, True, False, False, False]
    """
    return _kind(cell, ".") not in ("words", "missing", "yes or no")


def _marks(kind: str, cells: list[str], decimal: str) -> tuple[str, ...]:
    if kind == "missing":
        return tuple(cells)
    if kind != "thousands":
        return ()
    found = re.sub(r"^[+-]?\d+", "", cells[0])[0] if cells else _other(decimal)
    return (next((mark for mark, same in SAME_MARKS.items() if found in same), found),)


def _kind_of_units(cells: list[str]) -> tuple[str, tuple[str, ...]]:
    units = tuple(dict.fromkeys(map(_unit, cells)))
    if units[0][0] in _SIGNS:
        return "sign", units
    return ("unit" if len(units) == 1 else "units"), units


def _most_common(cells: dict[str, str], points: bool) -> str:
    """Kind of most cells; `points` if there are numbers with the expected decimal mark."""
    kinds = Counter(cells.values())
    marked = [kind for kind in kinds if kind.startswith(("decimal", "thousands"))]
    if 2 * sum(kinds[kind] for kind in marked) >= len(cells):
        return _mark_kind(set(marked), points)
    kind, n = kinds.most_common(1)[0]
    if kind == "yes or no" and n == len(cells):
        return kind
    if kind == "unit" and len(set(map(_unit, cells))) > _MOST_UNITS:
        return "words"
    return kind if kind in ("unit", "date") and 2 * n >= len(cells) else "words"


def _mark_kind(kinds: set[str], points: bool) -> str:
    if "decimal and thousands" in kinds or {"decimal", "thousands"} <= kinds:
        return "decimal and thousands"
    if "decimal" in kinds:
        # The same column has numbers with the expected mark: this one is a slip.
        return "slip" if points else "decimal"
    if "thousands" in kinds or points:
        return "thousands"
    return "decimal or thousands"


def _unit(cell: str) -> str:
    match = _WITH_UNIT.fullmatch(cell)
    return match["before"] + match["after"].strip() if match else cell


def _kind(cell: str, decimal: str) -> str:
    if len(cell) > _LONGEST:
        return "words"
    number, other, thousands, both = _patterns(decimal)
    if number.fullmatch(cell):
        return "number"
    if cell.lower() in _PERHAPS_MISSING:
        return "missing"
    if cell.lower() in _YES_OR_NO:
        return "yes or no"
    if other.fullmatch(cell):
        return "decimal or thousands" if thousands.fullmatch(cell) else "decimal"
    if thousands.fullmatch(cell):
        return "thousands"
    if both.fullmatch(cell):
        return "decimal and thousands"
    if _DATE.fullmatch(cell):
        return "date"
    match = _WITH_UNIT.fullmatch(cell)
    return "unit" if match and match["before"] + match["after"] else "words"


@functools.cache
def _patterns(decimal: str) -> tuple[re.Pattern[str], ...]:
    """Numbers; numbers with the other decimal mark; with thousands marks; with both."""
    mark, other = re.escape(decimal), re.escape(_other(decimal))
    first = r"[+-]?[1-9]\d{0,2}"

    def with_decimal(mark: str) -> str:
        return rf"[+-]?(?:\d+{mark}?\d*|{mark}\d+){_EXPONENT}"

    def grouped(marks: str) -> str:
        # The mark is the same between all groups of digits.
        return rf"{first}(?=([{marks}]))(?:\1\d{{3}})+"

    return (
        re.compile(rf"{with_decimal(mark)}|[+-]?(?:nan|inf|infinity)", re.I | re.A),
        re.compile(with_decimal(other), re.A),
        re.compile(rf"{grouped(other + GAPS)}(?:{mark}\d+)?|{first}(?:{mark}\d{{3}}){{2,}}", re.A),
        re.compile(rf"{grouped(mark + GAPS)}{other}\d+", re.A),
    )


def _other(decimal: str) -> str:
    return "," if decimal == "." else "."
