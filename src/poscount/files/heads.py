"""The beginnings and ends of files, and how each is laid out by what was guessed of them."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Sequence
from typing import IO, Any, NamedTuple

from poscount.errors import InputError
from poscount.files.excel import filled_sheets
from poscount.files.guessing import (
    HEAD_ROWS,
    guess_encoding,
    guess_footer,
    guess_header,
    guess_sheet,
    guess_table,
    records_of,
    usual_delimiter,
)
from poscount.files.read_options import ReadOptions
from poscount.files.streams import Utf8Stream, source_name, unpacked
from poscount.files.text_cells import MISSING

_HEAD_BYTES, _TAIL_BYTES = 1 << 18, 1 << 16
_TOP_ROWS = 10


class Head(NamedTuple):
    """The beginning of a file, and what was guessed of how the file is written.

    Parameters
    ----------
    source : str
        What the file is called in sentences.
    settings : dict
        Its encoding, delimiter, header row, footer and sheet, as far as they had to be guessed.
    columns : dict of str to list
        The cells of its first rows that are text; None is a missing value or no text.
    """

    source: str
    settings: dict[str, Any]
    columns: dict[str, list[str | None]]


def csv_head(path: str, options: ReadOptions, said: Collection[str]) -> Head | None:
    """Look at the beginning and the end of a CSV file; None if it cannot be read.

    Parameters
    ----------
    path : str
    options : ReadOptions
        With what the user has said.
    said : collection of str
        The options that the user has set: these are not guessed.
    """
    with unpacked(path) as (stream, raw):
        data = _beginning(stream)
        whole = len(data) < _HEAD_BYTES
        tail = data if whole else b""
        if not whole and stream is raw and raw.seekable():
            raw.seek(-min(_TAIL_BYTES, raw.seek(0, io.SEEK_END)), io.SEEK_END)
            tail = raw.read()
    encoding = options.encoding
    if "encoding" not in said:
        encoding = guess_encoding(data, whole)
    settings: dict[str, Any] = {} if encoding == options.encoding else {"encoding": encoding}
    source = source_name(path)
    try:
        text = _decoded(data, source, encoding)
        end = text if whole else _decoded(tail, source, encoding).partition("\n")[2]
    except InputError:
        return None  # reading it says what is wrong
    table = guess_table(text, whole, options, said)
    if table is None:
        return Head(source, settings, {})
    if table.delimiter != usual_delimiter(table.first_line, options):
        settings["delimiter"] = table.delimiter
    if table.header_row is not None:
        settings["header_row"] = table.header_row
    if table.row_names and not options.row_names:
        settings["row_names"] = True
    if "footer" not in said:
        settings |= _some(footer=guess_footer(records_of(end, table.delimiter), len(table.names)))
    rows = table.rows
    if whole and len(rows) < HEAD_ROWS:
        rows = rows[: len(rows) - settings.get("footer", 0) + table.n_notes]
    return Head(source, settings, _columns(table.names, rows))


def json_head(path: str, options: ReadOptions, said: Collection[str]) -> Head | None:
    """Look at the beginning of a file of JSON lines; the parameters are those of `csv_head`."""
    with unpacked(path) as (stream, _):
        data = _beginning(stream)
    lines = data.splitlines()
    if len(data) == _HEAD_BYTES:
        del lines[-1]  # it may be cut off
    try:
        rows = [json.loads(line) for line in lines[:HEAD_ROWS] if line.strip()]
    except ValueError:
        return None  # reading it says what is wrong
    if not all(isinstance(row, dict) for row in rows):
        return None
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Head(path, {}, _columns(names, [[row.get(name) for name in names] for row in rows]))


def excel_head(path: str, options: ReadOptions, said: Collection[str]) -> Head | None:
    """Look at a workbook; the parameters are those of `csv_head`."""
    sheets = filled_sheets(path, options.sheet)
    sheet = guess_sheet(sheets)
    if sheet is None:
        return None
    settings: dict[str, Any] = {"sheet": sheet} if len(sheets) > 1 else {}
    first = options.header_row or 1
    numbered = [(number, row) for number, row in sheets[sheet].items() if number >= first]
    rows = [row for _, row in numbered]
    texts = [[str(cell).strip() for cell in row] for row in rows]
    at = 0
    if options.header and "header_row" not in said:
        at = guess_header(texts) or 0
        settings |= {"header_row": numbered[at][0]} if at else {}
    if "footer" not in said:
        settings |= _some(footer=guess_footer(texts[at:], len(texts[at])))
    names = texts[at] if options.header else [str(i + 1) for i in range(len(texts[at]))]
    body = rows[at + options.header : len(rows) - settings.get("footer", 0)]
    return Head(path, settings, _columns(names, body))


def csv_top(path: str, options: ReadOptions) -> list[tuple[int, list[str]]]:
    """The first lines of a CSV file that are not empty, as they are, with their numbers."""
    with unpacked(path) as (stream, _):
        data = _beginning(stream)
    encoding = options.encoding or guess_encoding(data, len(data) < _HEAD_BYTES)
    text = _decoded(data, source_name(path), encoding)
    table = guess_table(text, False, options, ())
    lines: list[int] = []
    records = records_of(text, options.delimiter or (table.delimiter if table else ","), lines)
    return list(zip(lines, records, strict=False))[:_TOP_ROWS]


def excel_top(path: str, options: ReadOptions) -> list[tuple[int, list[str]]]:
    """The first rows of a sheet that are not empty, as they are, with their numbers."""
    sheets = filled_sheets(path, options.sheet)
    sheet = guess_sheet(sheets)
    rows = {} if sheet is None else sheets[sheet]
    return [(number, list(map(str, row))) for number, row in list(rows.items())[:_TOP_ROWS]]


def _beginning(stream: IO[bytes]) -> bytes:
    data = b""
    while len(data) < _HEAD_BYTES and (more := stream.read(_HEAD_BYTES - len(data))):
        data += more
    return data


def _some(**settings: Any) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value}


def _decoded(data: bytes, source: str, encoding: str | None) -> str:
    return Utf8Stream(io.BytesIO(data), source, encoding).read().decode("utf-8", "ignore")


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[str | None]]:
    columns = zip(*rows[:HEAD_ROWS], strict=True)
    return {
        name: [
            None if not isinstance(cell, str) or cell.strip() in MISSING else cell.strip()
            for cell in cells
        ]
        for name, cells in zip(names, columns, strict=False)
    }
