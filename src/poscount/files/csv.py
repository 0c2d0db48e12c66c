"""CSV files, block by block, with errors that name the line.

One thread cuts a file into blocks of whole records, which costs little, and any other can parse
one. Arrow's own threaded reader is not used, because it cannot name the line of a ragged record.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from poscount.errors import InputError
from poscount.files.arrow import ChooseColumns, OnProgress, pyarrow
from poscount.files.read_options import ReadOptions
from poscount.files.streams import (
    LONGEST_RECORD,
    Utf8Stream,
    not_utf8,
    size_of,
    source_name,
    unpacked,
)
from poscount.files.text_cells import MISSING

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}


class _Block(NamedTuple):
    """Whole records of a CSV file, and the number of the line they begin on."""

    text: bytes
    line: int
    ending: bytes


class _Table(NamedTuple):
    """What is known of a file when its first line has been read."""

    names: list[str]
    chosen: list[str]
    numeric: list[str]
    delimiter: str
    read_options: ReadOptions
    source: str


def csv_parts(
    path: str,
    choose: ChooseColumns,
    required: Sequence[str],
    numeric: Sequence[str],
    read_options: ReadOptions,
    progress: OnProgress | None,
) -> Iterator[Callable[[], Any]]:
    """Yield a function for each block of a file, which parses it when it is called.

    It gives a record batch of the chosen columns, in any thread, or raises an `InputError`. Columns
    are text with null for empty cells, or float64 if they are `numeric` and Arrow's parser has read
    all of their cells; it reads the same numbers as `poscount.files.text_numbers` from fewer ways
    to write them.
    """
    source, size = source_name(path), size_of(path) if progress else 0
    with unpacked(path) as (stream, raw):
        text = Utf8Stream(stream, source, read_options.encoding)
        blocks = _blocks(text, source)
        if read_options.footer:
            blocks = _without_last(blocks, read_options.footer)
        names, delimiter, first = _first_line(next(blocks, None), read_options, required, source)
        chosen = choose(names)
        plain = not read_options.thousands and not read_options.na
        as_numbers = [
            name for name in numeric if plain and name in chosen and not read_options.unit_of(name)
        ]
        table = _Table(names, chosen, as_numbers, delimiter, read_options, source)
        for block in chain([first], blocks):
            yield functools.partial(_batch, block, table)
            if progress and size:
                progress(raw.tell(), size)
        if progress and raw.tell() < size:
            # A zip archive has a directory behind its files.
            progress(size, size)


def _batch(block: _Block, table: _Table) -> Any:
    pa = pyarrow()
    _require_utf8(block, table.source)
    try:
        parsed = _parsed(block, table, tuple(table.numeric))
    except pa.ArrowInvalid:
        # A cell needs more care, or is wrong, and then the error needs its text. Blocks that come
        # later are likely to have such cells, too, so they are not tried in vain.
        table.numeric.clear()
        parsed = _parsed(block, table, [])
    arrays = [parsed[name].combine_chunks() for name in table.chosen]
    return pa.RecordBatch.from_arrays(arrays, names=table.chosen)


def _blocks(stream: Utf8Stream, source: str) -> Iterator[_Block]:
    """Cut a stream into pieces of some megabytes, each of whole records."""
    chunk = stream.read()
    # Spreadsheets on a Mac can still write carriage returns as line ends.
    ending = b"\r" if b"\r" in chunk and b"\n" not in chunk else b"\n"
    line, rest = 1, b""
    while chunk:
        rest += chunk
        end = _last_record_end(rest, ending)
        if end == 0 and len(rest) > LONGEST_RECORD:
            raise InputError(
                f"line {line} is too long or opens a quotation mark that is never closed; is this "
                "really CSV?",
                file=source,
            )
        if end:
            yield _Block(rest[:end], line, ending)
        line += rest.count(ending, 0, end)
        rest = rest[end:]
        chunk = stream.read()
    if rest.count(b'"') % 2:
        raise InputError(
            f"line {line} opens a quotation mark that is never closed; close or remove it.",
            file=source,
        )
    if rest:
        yield _Block(rest + ending, line, ending)


def _without_last(blocks: Iterator[_Block], n_records: int) -> Iterator[_Block]:
    """Leave out the last records; empty lines are none."""
    held = next(blocks, None)
    for block in blocks:
        assert held is not None
        if len(list(islice(_record_lines(block), n_records))) < n_records:
            held = _Block(held.text + block.text, held.line, held.ending)
        else:
            yield held
            held = block
    if held is not None:
        text = held.text
        for _ in range(n_records):
            text = text.rstrip(b"\r\n")
            text = text[: _last_record_end(text, held.ending)]
        yield _Block(text, held.line, held.ending)


def _last_record_end(text: bytes, ending: bytes) -> int:
    end = text.rfind(ending) + 1
    # After an odd number of quotation marks, a line end is inside a cell: go back to before it.
    while text.count(b'"', 0, end) % 2:
        end = text.rfind(ending, 0, text.rfind(b'"', 0, end)) + 1
    return end


def _require_utf8(block: _Block, source: str) -> None:
    if block.text.isascii():
        return
    try:
        block.text.decode()
    except UnicodeDecodeError as error:
        line = block.line + block.text.count(block.ending, 0, error.start)
        raise not_utf8(line, source) from None


def _first_line(
    block: _Block | None, read_options: ReadOptions, required: Sequence[str], source: str
) -> tuple[list[str], str, _Block]:
    """Find names and delimiter in the first line, and the rows of the block after the header."""
    above = _above_header(block, read_options.header_row or 1, source) if block else 0
    text = block.text[above:].lstrip(b"\r\n") if block else b""
    if block is None or not text:
        raise InputError("the file is empty.", file=source)
    _require_utf8(block, source)
    end = text.find(block.ending) + 1
    # After an odd number of quotation marks, a line end is inside a cell.
    while text.count(b'"', 0, end) % 2:
        end = text.find(block.ending, end) + 1
    record = text[:end]
    delimiter = read_options.delimiter or delimiter_of(
        record.decode(), read_options.decimal, source
    )
    fields = _fields(record, delimiter)
    start = len(block.text) - len(text)
    if not read_options.header:
        names = [str(number) for number in range(1, len(fields) + 1)]
    else:
        # Names that are numbers, such as wavelengths, are accepted if they are asked for.
        asked_for = required and set(required) <= set(fields)
        if not asked_for and all(_is_number(field, read_options.decimal) for field in fields):
            raise InputError(
                "the first line holds only numbers, not column names; if the numbers are names, "
                "choose the columns by them.",
                file=source,
                option="header",
                value=False,
            )
        names = ["", *fields] if read_options.row_names else fields
        start += end
    line = block.line + block.text.count(block.ending, 0, start)
    return names, delimiter, _Block(block.text[start:], line, block.ending)


def _above_header(block: _Block, row: int, source: str) -> int:
    """Bytes above the row of the column names."""
    start = 0
    for _ in range(1, row):
        start = block.text.find(block.ending, start) + 1
        if start in (0, len(block.text)):
            raise InputError(
                f"the file has no row {row} that could hold the column names.",
                file=source,
                option="header_row",
            )
    return start


def delimiter_of(first_line: str, decimal: str, source: str) -> str:
    """Find the delimiter in a line; one that it does not have would be a comma."""
    unquoted = re.sub('"[^"]*"', "", first_line)
    found = [mark for mark in _DELIMITERS if mark in unquoted]
    if len(found) > 1 and decimal in found:
        found.remove(decimal)
    if len(found) > 1:
        marks = " and ".join(_DELIMITERS[mark] for mark in found)
        raise InputError(
            f"the first line has {marks}, so the delimiter is not clear.",
            file=source,
            option="delimiter",
        )
    return found[0] if found else ","


def _fields(record: bytes, delimiter: str) -> list[str]:
    pa = pyarrow()
    return pa.csv.read_csv(
        pa.BufferReader(record),
        read_options=pa.csv.ReadOptions(block_size=len(record), use_threads=False),
        parse_options=pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
    ).column_names


def _is_number(text: str, decimal: str) -> bool:
    try:
        float(text.replace(decimal, "."))
    except ValueError:
        return False
    return True


def _parsed(block: _Block, table: _Table, numeric: Sequence[str]) -> Any:
    """Parse a block into columns of text and, where it says so, of numbers."""
    pa = pyarrow()
    kinds = [(name, pa.float64() if name in numeric else pa.string()) for name in table.chosen]
    if not block.text:
        return pa.schema(kinds).empty_table()
    ragged: list[Any] = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "error"

    try:
        return pa.csv.read_csv(
            pa.BufferReader(block.text),
            # With one thread and one block pyarrow can tell the number of a ragged record.
            read_options=pa.csv.ReadOptions(
                column_names=table.names, block_size=len(block.text), use_threads=False
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=table.delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict(kinds),
                include_columns=table.chosen,
                null_values=MISSING if numeric else [""],
                decimal_point=table.read_options.decimal,
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        if not ragged:
            raise
        row = ragged[0]
        line = next(islice(_record_lines(block), row.number - 1, None), block.line)
        named = table.read_options.row_names
        what = f"line {line} has {row.actual_columns} cell(s) but the first has"
        if row.number == 1 and row.actual_columns == row.expected_columns + 1 and not named:
            raise InputError(
                f"{what} {row.expected_columns}; if the first cells are names of rows, as R writes "
                "them, say so, or give them a column name in the first line.",
                file=table.source,
                option="row_names",
                value=True,
            ) from error
        first = f"{row.expected_columns - named}{', without the names of rows' if named else ''}"
        raise InputError(
            f"{what} {first}; look for a missing or surplus delimiter, or read the file with "
            "another one.",
            file=table.source,
            option="delimiter",
        ) from error


def _record_lines(block: _Block) -> Iterator[int]:
    """Line on which each record of a block begins; empty lines are no records."""
    within_quotes = False
    for line, text in enumerate(block.text.split(block.ending), start=block.line):
        if not within_quotes and text.rstrip(b"\r"):
            yield line
        within_quotes ^= text.count(b'"') % 2 == 1
