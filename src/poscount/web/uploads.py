"""A file that somebody has sent: where it is, how it is written, and what is in it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from poscount.files.read_options import ReadOptions

_TEXT = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")
_WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
# The longer ones first: what is packed ends like what is in it, and more.
_SUFFIXES = (
    *(kind + packed for packed in (".gz", ".zst", ".zip", "") for kind in _TEXT),
    ".zip",
    *_WORKBOOKS,
    ".parquet",
)
KNOWN_SUFFIXES = ", ".join((*_TEXT, ".zip", *_WORKBOOKS, ".parquet"))


@dataclass(frozen=True)
class FileColumn:
    """A column of one file, as its inspection found it.

    Attributes
    ----------
    name, kind, missing, numeric, distinct, values, why_not_used, periods
        As in the inspection: `poscount.app.inspect_file`.
    problem, no_periods : str, optional
        What is wrong, and how to fix it, in the words of the page.
    fixes : list of dict
        Buttons that would fix it.
    """

    name: str
    kind: str
    missing: float
    numeric: bool
    distinct: int | None
    values: list[str]
    why_not_used: str | None
    problem: str | None
    periods: dict[str, int]
    no_periods: str | None
    fixes: list[dict[str, str]]


@dataclass(frozen=True)
class Upload:
    """A file of a session.

    Attributes
    ----------
    id : str
    name : str
        What the client calls it.
    role : str
        "positives", "unlabeled" or "reference".
    path : str
    read_options : ReadOptions
        How it is written.
    settings : dict
        The same in the words of the form that it came with.
    size : int
    sha256 : str
    rows, columns, preview
        What the inspection found.
    """

    id: str
    name: str
    role: str
    path: str
    read_options: ReadOptions
    settings: dict[str, str] = field(default_factory=dict)
    size: int = 0
    sha256: str = ""
    rows: int = 0
    columns: tuple[FileColumn, ...] = ()
    preview: list[list[str | None]] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What it is called beside other files, which may be other sheets of the same workbook."""
        sheet = self.read_options.sheet
        return self.name if sheet is None else f"{self.name} (sheet {sheet})"

    @property
    def default_features(self) -> tuple[str, ...] | None:
        """The columns that the command line would use, or None if it would ask."""
        for column in self.columns:
            if column.problem or column.kind not in ("number", "category", "date"):
                return None
        return tuple(column.name for column in self.columns if column.why_not_used is None)

    def heeds(self, setting: str) -> bool:
        """Tell whether a setting means anything for a file of this kind."""
        workbook, parquet = self.path.endswith(_WORKBOOKS), self.path.endswith(".parquet")
        if setting in ("delimiter", "encoding"):
            return not workbook and not parquet
        if setting == "sheet":
            return workbook
        # The rest is about what is in the cells; those of Parquet have types, but may have signs.
        return not parquet or setting in ("na", "day_first")


def known_suffix(name: str) -> str | None:
    """Give the extension of a name, if files with it can be read."""
    return next((suffix for suffix in _SUFFIXES if name.lower().endswith(suffix)), None)


def shown_name(name: str) -> str:
    r"""Reduce a name to its last part, without anything that cannot be printed.

    Examples
    --------
    >>> shown_name("../../etc/passwd.csv"), shown_name(r"C:\data\trap.csv")
    ('passwd.csv', 'trap.csv')
    """
    last = re.split(r"[/\\]", name)[-1]
    return "".join(c for c in last if c.isprintable())[-150:].strip() or "unnamed"


def untaken_name(name: str, suffix: str, taken: set[str]) -> str:
    """Number a name that is taken.

    Examples
    --------
    >>> untaken_name("a.csv", ".csv", {"a.csv", "a (2).csv"})
    'a (3).csv'
    """
    stem, number, candidate = name[: -len(suffix)], 1, name
    while candidate in taken:
        number += 1
        candidate = f"{stem} ({number}){name[-len(suffix) :]}"
    return candidate
