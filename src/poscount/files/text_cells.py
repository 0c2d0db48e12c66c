"""What a column of text looks like, so that an error can say how to make numbers of it."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from poscount.errors import InputError

# What spreadsheets and statistics programs write for a missing number: these cells are missing.
MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None")
# What people write; these cells are asked about.
_PERHAPS_MISSING = {
    *("-", "--", "---", "?", "??", ".", "..", "...", "*", "na", "n.a", "n.a.", "nd", "n.d", "n.d."),
    *("missing", "unknown", "nil", "empty", "blank"),
    *("#value!", "#div/0!", "#ref!", "#num!", "#null!", "#name?"),
}
_YES_OR_NO = {"yes", "no", "y", "n", "true", "false", "t", "f"}
# Between thousands: spaces of several widths, apostrophes, underscores.
_GAPS = " \u00a0\u2009\u202f'\u2019_"
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
    r"(?P<before>[<>≤≥~≈±$€£¥]?)\s?"
    rf"(?P<number>[+-]?(?:\d[\d.,{_GAPS}]*)?\d{_EXPONENT})\s?"
    r"(?P<after>(?:(?:[^\W\d_]|[%‰°\u2032\u2033$€£¥])[^\d:,;]{0,11}[23]?)?)"
)
_MOST_UNITS = 3
# A longer cell is neither a number nor a date, and is cut where it is shown.
_LONGEST = 40
# Fewer words among numbers than this share are slips, and not what the column is about.
_SLIPS = 0.25

# What a column of each kind holds, and what to do about one of its cells.
_KINDS = {
    "decimal": (
        "decimal {mark}s, as in",
        " unless the {mark} is the decimal mark.",
    ),
    "thousands": (
        "thousands marks, as in",
        ": it has thousands marks; write {digits}.",
    ),
    "decimal or thousands": (
        "decimal {mark}s or thousands marks, as in",
        ": if the {mark} marks thousands, write {digits}; if it is the decimal mark, say so.",
    ),
    "decimal and thousands": (
        "decimal {mark}s and thousands marks, as in",
        ": it has a decimal {mark} and thousands marks; remove the thousands marks.",
    ),
    "unit": (
        "units, as in",
        ": it has a unit or a sign; write the number alone, in one unit for all rows.",
    ),
    "yes or no": (
        "answers such as",
        "; write 1 for yes and 0 for no.",
    ),
    "missing": (
        "signs for missing values, such as",
        "; if it means that the value is missing, fill it in or remove the row.",
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


class LooksLike(NamedTuple):
    """What the cells of a column that are not numbers look like, and the first of them.

    Parameters
    ----------
    kind : str
        One of these: decimal, thousands, decimal or thousands, decimal and thousands, unit,
        yes or no, missing, slip (a few wrong cells among numbers), date, words; or numbers, where
        only the type of the column is wrong.
    example : str
        The first cell of this kind.
    row : int
        Its row, from 0.
    decimal : str
        The decimal mark that was expected.
    """

    kind: str
    example: str
    row: int
    decimal: str

    @property
    def reason(self) -> str:
        """Why the column is not a feature as it is."""
        holds, _ = _KINDS[self.kind]
        return f"holds {holds.format(mark=self._mark)} {self._shown}"

    @property
    def is_measurement(self) -> bool:
        """Whether these are numbers, or can be written as numbers."""
        return self.kind not in ("date", "words")

    def error(self, column: str) -> InputError:
        """What is wrong with the example, and what to do about it."""
        _, advice = _KINDS[self.kind]
        advice = advice.format(mark=self._mark, digits=self._digits())
        decimal = self.kind.startswith("decimal")
        return InputError(
            f"{self._shown} is not a number{advice}",
            column=column,
            row=self.row,
            option="decimal" if decimal else None,
            value=_other(self.decimal) if decimal else None,
        )

    @property
    def _shown(self) -> str:
        cut = self.example if len(self.example) <= _LONGEST else f"{self.example[:_LONGEST]}..."
        return repr(cut)

    @property
    def _mark(self) -> str:
        return "comma" if self.decimal == "." else "point"

    def _digits(self) -> str:
        marks = f"[{_other(self.decimal)}{_GAPS}]"
        plain = re.sub(marks, "", self.example)
        return plain.replace(self.decimal, "") if plain.count(self.decimal) > 1 else plain


def look_at_text(cells: Iterable[str | None], decimal: str = ".") -> LooksLike:
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
    LooksLike(kind='decimal', example='3,14', row=1, decimal='.')
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
    else:
        kind = "missing" if len(kinds) > len(numbers) else "numbers"
        others = kinds
    alike = (cell for cell, its_kind in others.items() if its_kind == kind)
    example = next(alike, next(iter(others), ""))
    return LooksLike(kind, example, rows.get(example, 0), decimal)


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
        re.compile(rf"{grouped(other + _GAPS)}(?:{mark}\d+)?|{first}(?:{mark}\d{{3}}){{2,}}", re.A),
        re.compile(rf"{grouped(mark + _GAPS)}{other}\d+", re.A),
    )


def _other(decimal: str) -> str:
    return "," if decimal == "." else "."
