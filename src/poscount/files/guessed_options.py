"""What was guessed of all files of a command, kept together, and said in one line."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from poscount.errors import InputError, join_names
from poscount.files.guessing_cells import (
    Sign,
    ambiguous_points,
    guess_day_first,
    guess_decimal,
    guess_thousands,
    guess_units,
)
from poscount.files.heads import Head, csv_head, excel_head, json_head
from poscount.files.read_options import ReadOptions
from poscount.files.reading import format_of, is_read_once

# Files of which the beginning is looked at, of those that are written alike.
_MOST_FILES = 5
_MARKS = {",": "commas", ".": "points", " ": "spaces", "'": "apostrophes", "_": "underscores"}
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
_ENCODINGS = {"cp1252": "Windows-1252", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}


class GuessNote(NamedTuple):
    """How a file is read, where that was guessed: one line, without the options that change it.

    Parameters
    ----------
    message : str
        Such as "bees.csv: read as Windows-1252 with decimal commas; header in row 4."
    options : tuple of str
        The options that were guessed, by their names in Python.
    """

    message: str
    options: tuple[str, ...]

    def rendered(self, name: Callable[[str], str]) -> str:
        """The line, and the options that change it by the names that a front end has for them."""
        *others, last = map(name, self.options)
        names = f"{', '.join(others)} or {last}" if others else last
        return f"{self.message} To change that, use {names}."

    def __str__(self) -> str:
        return self.rendered("{}=".format)


def _in_words(settings: Mapping[str, Any]) -> str:
    """Say how a file is read.

    Examples
    --------
    >>> _in_words({"encoding": "cp1252", "decimal": ",", "header_row": 4})
    'read as Windows-1252 with decimal commas; header in row 4'
    """
    encoding = settings.get("encoding")
    start = "read" if encoding is None else f"read as {_ENCODINGS[encoding]}"
    marks, clauses = [], []
    for name, value in settings.items():
        match name:
            case "delimiter":
                marks.append(f"{_DELIMITERS[value]} between columns")
            case "decimal":
                marks.append(f"decimal {_MARKS[value]}")
            case "thousands":
                marks.append(f"{_MARKS[value]} between thousands")
            case "day_first":
                marks.append("days before months" if value else "months before days")
            case "units":
                marks += [f"{column!r} in {unit}" for column, unit in value]
            case "sheet":
                clauses.append(f"sheet {value!r}")
            case "header_row":
                clauses.append(f"header in row {value}")
            case "row_names":
                clauses.append("row names in the first column, which has no name")
            case "footer":
                rows = "row" if value == 1 else f"{value} rows"
                clauses.append(f"without the last {rows}, of notes or totals")
            case "footers":
                ends = join_names((file for file, n in value if n), 3)
                clauses.append(f"without the notes or totals at the end of {ends}")
    if marks:
        start += f" with {' and '.join(marks)}"
    return "; ".join([start, *clauses] if start != "read" else clauses)


class GuessedOptions:
    """The options of all files of a command: what the user has said, and the rest guessed.

    Files that are given together are written alike. What text in cells means is the same in all
    files, and those that come first decide.

    Parameters
    ----------
    options : ReadOptions
    said : collection of str
        The names of those that the user has set.
    tell : callable
        Called with each new `GuessNote`.
    """

    def __init__(
        self, options: ReadOptions, said: Collection[str], tell: Callable[[GuessNote], None]
    ) -> None:
        self.options, self.said, self.tell = options, said, tell
        self._decided: dict[str, tuple[str, str]] = {}
        self._units = dict(options.units)
        self._points: tuple[Sign, str] | None = None
        self._columns: set[str] | None = None
        self._told: dict[str, Any] = {}
        self._told_files: dict[str, Any] = {}

    def of_sheet(self, files: Sequence[str], sheet: str) -> ReadOptions:
        """The same as `of` for a sheet of workbooks; other files may be in another one."""
        before = self.options, self.said
        try:
            self.options, self.said = self.options._replace(sheet=sheet), {*self.said, "sheet"}
            return self.of(files)
        finally:
            self.options, self.said = before

    def of(self, files: Sequence[str]) -> ReadOptions:
        """Look at the beginning of files that are written alike, and say how all are read."""
        self.options.checked("")
        heads = [head for head in map(self._head, files[:_MOST_FILES]) if head is not None]
        if not heads:
            return self._with_cells(self.options, {})[0]
        if any("footer" in head.settings for head in heads):
            # Others may end with such rows, too, and nobody would miss rows of data.
            heads += filter(None, map(self._head, files[_MOST_FILES:]))
        first = heads[0]
        self._require_alike(heads)
        settings = dict(first.settings)
        footers = tuple((head.source, head.settings.get("footer", 0)) for head in heads)
        if len({n for _, n in footers}) > 1:
            settings.pop("footer", None)
            settings["footers"] = footers
        for head in heads:
            self._learn_cells(head)
            if "day_first" not in self.said and "day_first" not in settings:
                day_first = guess_day_first(head)
                settings |= {} if day_first is None else {"day_first": day_first}
        found, guessed = self._with_cells(self.options._replace(**settings), settings)
        self._tell(first.source, settings, guessed)
        return found

    def _tell(self, source: str, of_files: Mapping[str, Any], guessed: dict[str, Any]) -> None:
        """Say what is new: of these files, or of cells, which are the same in all files."""
        new = {
            name: value
            for name, value in guessed.items()
            if name in of_files or self._told.get(name) != value
        }
        if new and (of_files != self._told_files or set(new) != set(of_files)):
            options = tuple("footer" if name == "footers" else name for name in new)
            self.tell(GuessNote(f"{source}: {_in_words(new)}.", options))
        self._told |= guessed
        self._told_files = dict(of_files)

    def _head(self, file: str) -> Head | None:
        if is_read_once(file):
            return None
        try:
            looks = {"CSV": csv_head, "Excel": excel_head, "JSON lines": json_head}
            look = looks.get(format_of(file))
            head = look(file, self.options, self.said) if look else None
        except (InputError, OSError, EOFError, zipfile.BadZipFile, zlib.error):
            return None  # reading it says what is wrong
        if head is None:
            return None
        names = self.options.renamed(list(head.columns))
        return head._replace(columns=dict(zip(names, head.columns.values(), strict=True)))

    def _require_alike(self, heads: Sequence[Head]) -> None:
        """Refuse files that are written in another way than the first one, but for their end."""
        first = heads[0]
        for head in heads[1:]:
            here, there = (
                {k: v for k, v in each.settings.items() if k not in ("encoding", "footer")}
                for each in (head, first)
            )
            if here != there:
                raise InputError(
                    f"it is written in another way than {first.source}: "
                    f"{_in_words(there) or 'nothing unusual'} there, but "
                    f"{_in_words(here) or 'nothing unusual'} here; write these files alike.",
                    file=head.source,
                )

    def _learn_cells(self, head: Head) -> None:
        """Learn units and marks, which must not contradict those of the files before."""
        if self._columns is None:
            self._columns = set(head.columns)
        # Other columns are not used, however they are written.
        same = {name: cells for name, cells in head.columns.items() if name in self._columns}
        head = head._replace(columns=same)
        if "units" not in self.said:
            self._units = {**guess_units(head, self.options), **self._units}
        options = self.options._replace(units=tuple(self._units.items()))
        if "decimal" not in self.said:
            self._decide("decimal", guess_decimal(head, options), head)
        if "thousands" not in self.said:
            self._decide("thousands", guess_thousands(head, options, self._decimal), head)
        points = ambiguous_points(head)
        if self._points is None and points is not None:
            self._points = points, head.source

    @property
    def _decimal(self) -> str | None:
        if "decimal" in self.said:
            return self.options.decimal
        return self._decided["decimal"][0] if "decimal" in self._decided else None

    def _decide(self, option: str, sign: Sign | None, head: Head) -> None:
        if sign is None:
            return
        value, source = self._decided.get(option, (sign.value, head.source))
        if option == "decimal" and option not in self._decided and sign.value == ",":
            points = self._points
            if points is not None and points[0].column in head.columns:
                value, source = ".", points[1]
        if value == sign.value:
            self._decided[option] = value, source
        else:
            kind = "decimals" if option == "decimal" else "thousands"
            raise InputError(
                f"{sign.cell!r} has {kind} marked by {_MARKS[sign.value]}, but in {source} it is "
                f"{_MARKS[value]}; write all files in the same way.",
                file=head.source,
                column=sign.column,
                row=sign.row,
            )

    def _with_cells(
        self, options: ReadOptions, guessed: Mapping[str, Any]
    ) -> tuple[ReadOptions, dict[str, Any]]:
        """Add what is known of cells; and what of it all is a guess."""
        settings: dict[str, Any] = {name: value for name, (value, _) in self._decided.items()}
        settings["units"] = tuple(self._units.items())
        changed = {
            name: value for name, value in settings.items() if getattr(options, name) != value
        }
        return options._replace(**changed), {**guessed, **changed}
