"""How files are written whose cells have no types, and what a column of a file holds.

Only records, which need no library: the page's server has them, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from poscount.errors import InputError

_THOUSANDS = (",", ".", " ", "'", "_")
_PACKED = ("", ".gz", ".zst", ".zip")
# How the names of files end, by their format.
SUFFIXES = {
    "CSV": tuple(kind + end for end in _PACKED for kind in (".csv", ".tsv", ".txt")),
    "JSON lines": tuple(kind + end for end in _PACKED for kind in (".jsonl", ".ndjson")),
    "Excel": (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"),
    "Parquet": (".parquet",),
    "Arrow": (".arrow", ".feather", ".ipc"),
}


class ReadOptions(NamedTuple):
    """How files are written.

    `delimiter`, `header`, `row_names` and `encoding` are for CSV files (`encoding` for JSON lines
    too, and `header` for Excel); the others say what text in a cell means, in any file.

    Parameters
    ----------
    delimiter : str, optional
        One ASCII character; by default tab for ``.tsv`` and, for others, found in the first line.
    decimal : {".", ","}
        The decimal mark.
    header : bool
        Whether the first line holds column names; without, they are "1", "2", ...
    encoding : str, optional
        Such as "cp1252" or "utf-16"; by default UTF-8. A byte-order mark at the beginning of a
        file tells its encoding, whatever is set here.
    thousands : {",", ".", " ", "'", "_"}, optional
        The mark between groups of three digits, as in 12,000. A space stands for spaces of every
        width, and an apostrophe for a curly one, too.
    units : tuple of (str, str)
        Pairs of a column and its unit: with ("weight", "g"), a cell "40.25 g" of that column is
        the number 40.25. Cells with another unit are errors, cells without any are not.
    na : tuple of str
        More signs of missing values, such as "-" or "-999", for all columns and also for those of
        typed files; empty cells, NA, n/a, null and the like are missing anyway.
    sheet : str, optional
        Sheet of an Excel workbook; by default the only one that has data.
    day_first : bool, optional
        Whether 03/04/2026 is the third of April (True) or the fourth of March (False); None means
        that such a date is an error.
    header_row : int, optional
        The row of CSV and Excel files that has the column names, counted from 1 as a spreadsheet
        does; what is above it is not read. By default the first that is not empty.
    footer : int
        How many rows at the end of CSV and Excel files are no data, such as a row of totals.
    footers : tuple of (str, int)
        Pairs of a file and its `footer`, where not all of them end alike.
    row_names : bool
        Whether rows begin with a cell that the header has no name for, as R writes names of rows;
        the name of that column is empty.
    rename : tuple of (str, str)
        Pairs of a column's name in a file and the name to use instead.
    """

    delimiter: str | None = None
    decimal: str = "."
    header: bool = True
    encoding: str | None = None
    thousands: str | None = None
    units: tuple[tuple[str, str], ...] = ()
    na: tuple[str, ...] = ()
    sheet: str | None = None
    day_first: bool | None = None
    header_row: int | None = None
    footer: int = 0
    footers: tuple[tuple[str, int], ...] = ()
    row_names: bool = False
    rename: tuple[tuple[str, str], ...] = ()

    def checked(self, path: str) -> ReadOptions:
        """Check the settings, and set those of a file: its delimiter by its extension, its end."""
        if self.footers:
            footer = dict(self.footers).get(path, self.footer)
            return self._replace(footers=(), footer=footer).checked(path)
        delimiter, decimal, thousands = self.delimiter, self.decimal, self.thousands
        if delimiter is None and re.search(r"\.tsv(\.gz|\.zst|\.zip)?$", path.lower()):
            return self.checked("")._replace(delimiter="\t")
        if delimiter is not None and (
            len(delimiter) != 1 or delimiter in '"\r\n\0' or delimiter > "~"
        ):
            raise InputError(
                f"the delimiter must be one ASCII character, not {delimiter!r}.", option="delimiter"
            )
        if decimal not in (".", ","):
            raise InputError(
                f"the decimal mark must be a point or a comma, not {decimal!r}.", option="decimal"
            )
        if thousands is not None and thousands not in _THOUSANDS:
            raise InputError(
                "the thousands mark must be a comma, a point, a space, an apostrophe or an "
                f"underscore, not {thousands!r}.",
                option="thousands",
            )
        if thousands == decimal:
            raise InputError(
                f"{decimal!r} cannot mark both decimals and thousands.", option="thousands"
            )
        if self.header_row is not None and not self.header:
            raise InputError(
                "a file without a header has no row of column names.",
                option="header_row",
                leave_out=True,
            )
        if self.header_row is not None and self.header_row < 1:
            raise InputError(
                f"rows are counted from 1, so column names cannot be in row {self.header_row}.",
                option="header_row",
            )
        if self.footer < 0:
            raise InputError(
                f"the number of rows at the end that are no data must not be {self.footer}.",
                option="footer",
            )
        self._check_encoding()
        return self

    def renamed(self, names: Sequence[str]) -> list[str]:
        """Names of the columns of a file, those of `rename` changed."""
        new = dict(self.rename)
        return [new.get(name, name) for name in names]

    def unit_of(self, column: str) -> str | None:
        """Unit of the cells of a column."""
        return dict(self.units).get(column)

    def _check_encoding(self) -> None:
        try:
            # Also refuses codecs that are no encodings of text, such as base64.
            "".encode(self.encoding or "utf-8")
        except (LookupError, ValueError):
            raise InputError(
                f"the encoding {self.encoding!r} is not known; usual ones are utf-8, utf-16, "
                "cp1252 (Windows) and latin-1.",
                option="encoding",
            ) from None


DEFAULT_OPTIONS = ReadOptions()


def read_options(
    *,
    units: Mapping[str, str] | None = None,
    na: str | Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    **others: Any,
) -> ReadOptions:
    """`ReadOptions` with mappings for units and names, and with one sign or a list of signs.

    Examples
    --------
    >>> read_options(units={"weight": "g"}, na="-", decimal=",").units
    (('weight', 'g'),)
    """
    signs = (na,) if isinstance(na, str) else tuple(na)
    return ReadOptions(
        units=tuple((units or {}).items()),
        na=signs,
        rename=tuple((rename or {}).items()),
        **others,
    )


class ColumnDescription(NamedTuple):
    """What a column of a file holds, and whether to use it.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "date", "identifier", "free text", "other"}
        Numbers and categories (words, yes and no, true and false) are features. Dates,
        identifiers, free text (text that differs in nearly every row) and types such as lists
        ("other") are none by default. A column of numbers that are written as text is a "number"
        with a `problem`.
    missing : float
        Share of the rows in which the value is missing, from 0 to 1.
    why_not_used : str or None
        Why the column is no feature by default, as in "holds dates or times such as '2026-01-12'":
        the column's name goes before it, and a full stop behind. None if it is a feature.
    problem : InputError or None
        For numbers that are written as text (decimal commas, thousands marks, units, signs for
        missing values, slips): which cell, and the option that reads it, if one does. Without
        solving it the column cannot be used.
    numeric : bool
        Whether all of its values are numbers. This and the rest are known of a file that was
        inspected (`poscount.app.inspection`).
    distinct : int or None
        How many different values it has; None if they are too many, or too long, to make groups.
    values : tuple of str
        A few of them.
    periods : tuple of (str, int)
        Of dates: periods of time, and how many groups each makes, as far as they are not too many.
    no_periods : InputError or None
        Why dates make no such groups.
    """

    name: str
    kind: str
    missing: float
    why_not_used: str | None = None
    problem: InputError | None = None
    numeric: bool = False
    distinct: int | None = None
    values: tuple[str, ...] = ()
    periods: tuple[tuple[str, int], ...] = ()
    no_periods: InputError | None = None
