"""How files are laid out, guessed where nobody has said it: one function for each guess.

A guess is made only where the beginning of a file could not be read as it is, so that it never
changes what a clean file means. Where two readings are possible there is none, and the error of
the reader names the options.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from poscount.errors import InputError
from poscount.files.csv import delimiter_of
from poscount.files.read_options import ReadOptions
from poscount.files.text_cells import MISSING, is_like_number, is_value

# Rows of a table that are looked at.
HEAD_ROWS = 1000
# Rows of notes above a header, and below the last row of data.
_MOST_ABOVE, _MOST_BELOW = 30, 5
_DELIMITERS = (",", ";", "\t", "|", " ")
_TOTALS = {
    *("total", "totals", "grand total", "subtotal", "sum", "sums", "mean", "average", "median"),
    *("summe", "gesamt", "gesamtsumme", "insgesamt", "mittelwert", "durchschnitt"),
    *("somme", "moyenne", "totale", "totaux", "suma", "soma", "média", "media", "totaal"),
}
# Within words of cp1252 there are no signs and no single capitals, and few letters with accents
# side by side: otherwise the bytes mean something else.
_NOT_CP1252 = re.compile(
    r"[^\W\d_](?:[^\w\s\u2019\u2013\u00b7\x00-\x7f]|[À-ÞŠŒŽŸ](?=[a-zß-ÿ]))[^\W\d_]|[^\W\d_\x00-\x7f]{3}"
)


def guess_encoding(data: bytes, whole: bool = True) -> str | None:
    """Guess the encoding of text that is not UTF-8 and has no byte-order mark.

    UTF-16 has a zero in every other byte of plain text. What is not UTF-8 is Windows-1252, unless
    words would look strange in it.

    Examples
    --------
    >>> guess_encoding("größe".encode("cp1252")), guess_encoding("größe".encode())
    ('cp1252', None)
    >>> guess_encoding("größe".encode("mac-roman")), guess_encoding("a,b".encode("utf-16-le"))
    (None, 'utf-16-le')
    """
    if data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    begin = data[:4096]
    if b"\0" in begin:
        even, odd = (part.count(0) / max(len(part), 1) for part in (begin[::2], begin[1::2]))
        if min(even, odd) > 0 or max(even, odd) < 0.8:
            return None
        return "utf-16-be" if even else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=whole)
    except UnicodeDecodeError:
        try:
            text = data.decode("cp1252")
        except UnicodeDecodeError:
            return None
        return None if _NOT_CP1252.search(text) else "cp1252"
    return None


class Table(NamedTuple):
    """Where the table of a CSV file is.

    `header_row` is None if it is the first row, `first_line` is the text of that row, and `n_notes`
    the number of rows below the table that are no part of it. With `row_names`, the first of the
    `names` is empty, and not in the file.
    """

    delimiter: str
    header_row: int | None
    row_names: bool
    first_line: str
    names: list[str]
    rows: list[list[str]]
    n_notes: int

    @property
    def values(self) -> float:
        """Share of the cells that are numbers or dates; 0 unless it has several columns."""
        # Two words with a space in them are no columns.
        if len(self.names) <= 1 + (self.delimiter == " "):
            return 0.0
        cells = [cell for row in self.rows[:100] for cell in row]
        return sum(map(is_value, cells)) / max(len(cells), 1)


def guess_table(
    text: str, whole: bool, options: ReadOptions, said: Collection[str]
) -> Table | None:
    """Find the delimiter and the row of the column names, where notes may be above it.

    They are right if all rows from there on have as many cells as there are names. If the reader's
    own rule, by the first line, finds such a table, it is that one. Another one has numbers or
    dates, and more of them than any other.
    """
    first_line = next((line for line in text.splitlines() if line), "")
    usual = usual_delimiter(first_line, options)
    own = _table_with(usual, text, whole, options, said) if usual is not None else None
    if options.delimiter or (own and own.header_row is None and len(own.names) > 1):
        return own
    tables = [_table_with(mark, text, whole, options, said) for mark in _DELIMITERS]
    shares = [table.values if table else 0.0 for table in tables]
    best = max(shares)
    return tables[shares.index(best)] if best > 0 and shares.count(best) == 1 else own


def usual_delimiter(first_line: str, options: ReadOptions) -> str | None:
    """The delimiter that the reader would take; None if it would ask."""
    try:
        return options.delimiter or delimiter_of(first_line, options.decimal, "")
    except InputError:
        return None


def _table_with(
    delimiter: str, text: str, whole: bool, options: ReadOptions, said: Collection[str]
) -> Table | None:
    lines: list[int] = []
    records = records_of(text, delimiter, lines)
    if not whole or len(records) == _MOST_ABOVE + HEAD_ROWS:
        # The last one may be cut off, and is not the last of the file.
        records, whole = records[:-1], False
    first = sum(line < (options.header_row or 1) for line in lines[: len(records)])
    records, lines = records[first:], lines[first:]
    if not records:
        return None
    width = Counter(map(len, records)).most_common(1)[0][0]
    n_notes = guess_notes_below(records, width) if whole and "footer" not in said else 0
    records = records[: len(records) - n_notes]
    at: int | None = 0
    if options.header and "header_row" not in said:
        at = guess_header(records, width)
    row_names = options.row_names
    if options.header and "row_names" not in said and (at is None or len(records[at]) < width):
        row_names = has_row_names(records)
    if row_names:
        at, records[0] = 0, ["", *records[0]]
    if at is None or any(len(record) != width for record in records[at:]):
        return None
    names = records[at] if options.header else [str(i + 1) for i in range(width)]
    return Table(
        delimiter,
        lines[at] if at else None,
        row_names,
        text.splitlines()[lines[at] - 1],
        names,
        records[at + options.header :],
        n_notes,
    )


def records_of(text: str, delimiter: str, lines: list[int] | None = None) -> list[list[str]]:
    """Records of a text that are not empty, as many as are looked at; and their lines."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    records, line = [], 1
    try:
        for cells in reader:
            if cells:
                records.append([cell.strip() for cell in cells])
                if lines is not None:
                    lines.append(line)
            line = reader.line_num + 1
            if lines is not None and len(records) == _MOST_ABOVE + HEAD_ROWS:
                break
    except csv.Error:
        return []
    return records


def has_row_names(records: Sequence[Sequence[str]]) -> bool:
    """Tell whether all rows but the first have one cell more, because it is the name of the row.

    These names are all different, and words or whole numbers. If instead the last cells are all
    empty, there is only a delimiter too many; if the header has one cell, it may be a title, or the
    delimiter a decimal mark.

    Examples
    --------
    >>> has_row_names([["wing", "body"], ["1", "2.5", "7"], ["2", "2.6", "8"]])
    True
    >>> has_row_names([["wing", "body"], ["1", "2.5", ""], ["2", "2.6", ""]])
    False
    """
    header, *rows = records
    names = {row[0] for row in rows if len(row) == len(header) + 1}
    return (
        len(header) > 1
        and 0 < len(names) == len(rows)
        and all(name.isdecimal() or (name and not is_like_number(name)) for name in names)
        and any(row[-1] for row in rows)
    )


def guess_header(records: Sequence[Sequence[str]], width: int | None = None) -> int | None:
    """Find the first row that names all columns but one at most; None if that is not clear.

    Below notes, names are different words; below cells that are merged, they are above numbers.

    Examples
    --------
    >>> guess_header([["Bees of 2026", "", ""], ["site", "wing", "body"], ["north", "2.5", "7"]])
    1
    """
    for i, record in enumerate(records[:_MOST_ABOVE]):
        if len(record) == (width or len(record)) and sum(cell == "" for cell in record) <= 1:
            names = len(set(record)) == len(record) and not any(map(is_like_number, record))
            if i == 0:
                return int("" in record and _are_above_numbers(records[1:], len(record)))
            return i if names and i + 1 < len(records) else None
    return None


def _are_above_numbers(records: Sequence[Sequence[str]], width: int) -> bool:
    """Tell whether the first row has different words, and below one of them all are numbers."""
    names, *rows = records or [[]]
    if len(set(names) - {""}) < width or any(map(is_like_number, names)):
        return False
    columns = zip(*(row for row in rows if len(row) == width), strict=True)
    return any(any(cells) and all(map(is_like_number, filter(None, cells))) for cells in columns)


def guess_footer(records: Sequence[Sequence[str]], width: int) -> int:
    """Number of rows at the end that are no data: notes, totals, and empty rows above them."""
    n_notes = guess_notes_below(records, width)
    rows = [record for record in records[: len(records) - n_notes] if len(record) == width]
    n_totals = guess_totals(rows)
    while n_totals and len(rows) > n_totals and not any(rows[-1 - n_totals]):
        n_totals += 1
    return n_notes + n_totals


def guess_notes_below(records: Sequence[Sequence[str]], width: int) -> int:
    """Rows of a single cell at the end of a table of several columns.

    Examples
    --------
    >>> guess_notes_below([["a", "b"], ["1", "2"], ["Source: a survey"]], 2)
    1
    """
    single = [width > 1 and len(record) == 1 for record in records[: -1 - _MOST_BELOW : -1]]
    n_notes = single.index(False) if False in single else 0
    # Below a header without any row there is nothing that notes could be about.
    return n_notes if len(records) - n_notes > 1 else 0


def guess_totals(rows: Sequence[Sequence[str]]) -> int:
    """Tell whether the last row is one of totals (1) or not (0): such a word, and numbers.

    A spreadsheet also writes what stands below a table as a row, with nothing but empty cells after
    it: words where all others are numbers.

    Examples
    --------
    >>> guess_totals([["north", "3"], ["south", "4"], ["Total", "7"]])
    1
    >>> guess_totals([["2.5", "3"], ["2.6", "4"], ["Source: a survey", ""]])
    1
    """
    *others, last = rows or [[]]
    filled = [(i, cell) for i, cell in enumerate(last) if cell]
    if not filled or not others or len(last) < 2:
        return 0
    (at, word), *rest = filled
    is_total = word.casefold().rstrip(" :") in _TOTALS and all(row[at] != word for row in others)
    # The first may have the names of the columns.
    above = [row[at] for row in others[1:] if row[at] not in MISSING]
    numbers = bool(above) and all(map(is_like_number, above))
    is_word = word not in MISSING and any(map(str.isalpha, word)) and not is_value(word)
    is_note = is_word and numbers and at == 0 and not rest
    return int(is_note or (is_total and all(is_like_number(cell) for _, cell in rest)))


def guess_sheet(sheets: Mapping[str, Mapping[int, Sequence[Any]]]) -> str | None:
    """The only sheet, or the only one that has several rows and several columns.

    Examples
    --------
    >>> guess_sheet({"notes": {1: ["to do"]}, "data": {1: ["a", "b"], 2: [1, 2], 3: [3, 4]}})
    'data'
    """
    if len(sheets) == 1:
        return next(iter(sheets))
    tables = [
        name
        for name, rows in sheets.items()
        if sum(sum(cell != "" for cell in row) > 1 for row in rows.values()) > 2
    ]
    return tables[0] if len(tables) == 1 else None
