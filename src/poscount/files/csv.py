"""CSV files, batch by batch, with errors that name the line, the column and the value."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import os
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import IO, Any, NamedTuple

from poscount.errors import InputError
from poscount.files.arrow import ChooseColumns, OnProgress, pyarrow
from poscount.files.text_cells import MISSING, look_at_text

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_BLOCK_BYTES = 1 << 22
_LONGEST_RECORD = 1 << 26
_GZIP_MAGIC = b"\x1f\x8b"


class CsvFormat(NamedTuple):
    """How CSV files are written.

    Parameters
    ----------
    delimiter : str, optional
        One ASCII character; by default tab for ``.tsv`` and, for others, found in the first line.
    decimal : {".", ","}
        The decimal mark.
    header : bool
        Whether the first line holds column names; without, they are "1", "2", ...
    """

    delimiter: str | None = None
    decimal: str = "."
    header: bool = True

    def checked(self, path: str) -> CsvFormat:
        """Check the settings, and set the delimiter if the extension of a file gives it."""
        delimiter, decimal, _ = self
        if delimiter is None and path.lower().endswith((".tsv", ".tsv.gz")):
            return self.checked("")._replace(delimiter="\t")
        if delimiter is not None and (
            len(delimiter) != 1 or delimiter in '"\r\n' or delimiter > "~"
        ):
            raise InputError(
                f"the delimiter must be one ASCII character, not {delimiter!r}.", option="delimiter"
            )
        if decimal not in (".", ","):
            raise InputError(
                f"the decimal mark must be a point or a comma, not {decimal!r}.", option="decimal"
            )
        return self


DEFAULT_CSV = CsvFormat()


class _Block(NamedTuple):
    """Whole records of a CSV file, and the number of the line they begin on."""

    text: bytes
    line: int
    ending: bytes


def csv_batches(
    path: str,
    choose: ChooseColumns,
    required: Sequence[str],
    numeric: Sequence[str],
    csv_format: CsvFormat,
    progress: OnProgress | None,
) -> Iterator[Any]:
    """Yield the chosen columns: the numeric ones as float64, the others as text."""
    source = "standard input" if path == "-" else path
    # Zero means unknown, as for a named pipe.
    size = 0 if path == "-" else os.path.getsize(path)
    with contextlib.ExitStack() as stack:
        raw: Any = sys.stdin.buffer if path == "-" else stack.enter_context(open(path, "rb"))
        stream: Any = raw
        if raw.peek(2)[:2] == _GZIP_MAGIC:
            stream = stack.enter_context(gzip.GzipFile(fileobj=raw))
        blocks = _blocks(stream, source)
        names, delimiter, first = _first_line(next(blocks, None), csv_format, required, source)
        chosen = choose(names)
        row = 0
        for block in chain([first], blocks):
            table = _parsed(block, names, chosen, delimiter, source)
            columns = [
                _numbers(table[name], csv_format.decimal, source, name, row)
                if name in numeric
                else table[name]
                for name in chosen
            ]
            arrays = [column.combine_chunks() for column in columns]
            yield pyarrow().RecordBatch.from_arrays(arrays, names=chosen)
            row += table.num_rows
            if progress and size:
                progress(raw.tell(), size)


def _read(stream: IO[bytes], source: str) -> bytes:
    try:
        return stream.read(_BLOCK_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            "the compressed file is damaged or incomplete; copy it again.",
            file=source,
        ) from error
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}.", file=source) from error


def _blocks(stream: IO[bytes], source: str) -> Iterator[_Block]:
    """Cut a stream into pieces of some megabytes, each of whole records of valid UTF-8."""
    chunk = _read(stream, source).removeprefix(codecs.BOM_UTF8)
    # Spreadsheets on a Mac can still write carriage returns as line ends.
    ending = b"\r" if b"\r" in chunk and b"\n" not in chunk else b"\n"
    line, rest = 1, b""
    while chunk:
        rest += chunk
        end = _last_record_end(rest, ending)
        if end == 0 and len(rest) > _LONGEST_RECORD:
            raise InputError(
                f"line {line} is too long or opens a quotation mark that is never closed; is this "
                "really CSV?",
                file=source,
            )
        if end:
            yield _in_utf8(_Block(rest[:end], line, ending), source)
        line += rest.count(ending, 0, end)
        rest = rest[end:]
        chunk = _read(stream, source)
    if rest.count(b'"') % 2:
        raise InputError(
            f"line {line} opens a quotation mark that is never closed; close or remove it.",
            file=source,
        )
    if rest:
        yield _in_utf8(_Block(rest + ending, line, ending), source)


def _last_record_end(text: bytes, ending: bytes) -> int:
    end = text.rfind(ending) + 1
    # After an odd number of quotation marks, a line end is inside a cell: go back to before it.
    while text.count(b'"', 0, end) % 2:
        end = text.rfind(ending, 0, text.rfind(b'"', 0, end)) + 1
    return end


def _first_record_end(text: bytes, ending: bytes) -> int:
    end = text.find(ending) + 1
    while text.count(b'"', 0, end) % 2:
        end = text.find(ending, end) + 1
    return end


def _in_utf8(block: _Block, source: str) -> _Block:
    try:
        block.text.decode()
    except UnicodeDecodeError as error:
        line = block.line + block.text.count(block.ending, 0, error.start)
        raise InputError(
            f"line {line} is not UTF-8 text; save the file as UTF-8 (it may be Latin-1, "
            "Windows-1252 or UTF-16 now).",
            file=source,
        ) from None
    return block


def _first_line(
    block: _Block | None, csv_format: CsvFormat, required: Sequence[str], source: str
) -> tuple[list[str], str, _Block]:
    """Find names and delimiter in the first line, and the rows of the block after the header."""
    text = block.text.lstrip(b"\r\n") if block else b""
    if block is None or not text:
        raise InputError("the file is empty.", file=source)
    end = _first_record_end(text, block.ending)
    record = text[:end]
    delimiter = csv_format.delimiter or _delimiter(record.decode(), csv_format.decimal, source)
    fields = _fields(record, delimiter)
    start = len(block.text) - len(text)
    if not csv_format.header:
        names = [str(number) for number in range(1, len(fields) + 1)]
    else:
        # Names that are numbers, such as wavelengths, are accepted if they are asked for.
        asked_for = required and set(required) <= set(fields)
        if not asked_for and all(_is_number(field, csv_format.decimal) for field in fields):
            raise InputError(
                "the first line holds only numbers, not column names; if the numbers are names, "
                "choose the columns by them.",
                file=source,
                option="header",
                value=False,
            )
        names = fields
        start += end
    line = block.line + block.text.count(block.ending, 0, start)
    return names, delimiter, _Block(block.text[start:], line, block.ending)


def _delimiter(first_line: str, decimal: str, source: str) -> str:
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


def _parsed(block: _Block, names: list[str], chosen: list[str], delimiter: str, source: str) -> Any:
    """Parse a block into columns of text."""
    pa = pyarrow()
    as_text = pa.schema([(name, pa.string()) for name in chosen])
    if not block.text:
        return as_text.empty_table()
    ragged: list[Any] = []

    def note(row: Any) -> str:
        ragged.append(row)
        return "error"

    try:
        return pa.csv.read_csv(
            pa.BufferReader(block.text),
            # With one thread and one block pyarrow can tell the number of a ragged record.
            read_options=pa.csv.ReadOptions(
                column_names=names, block_size=len(block.text), use_threads=False
            ),
            parse_options=pa.csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=pa.csv.ConvertOptions(
                column_types=as_text,
                include_columns=chosen,
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        if not ragged:
            raise
        row = ragged[0]
        line = next(islice(_record_lines(block), row.number - 1, None), block.line)
        raise InputError(
            f"line {line} has {row.actual_columns} cell(s) but the first has "
            f"{row.expected_columns}; look for a missing or surplus delimiter, or read the file "
            "with another one.",
            file=source,
            option="delimiter",
        ) from error


def _record_lines(block: _Block) -> Iterator[int]:
    """Line on which each record of a block begins; empty lines are no records."""
    within_quotes = False
    for line, text in enumerate(block.text.split(block.ending), start=block.line):
        if not within_quotes and text.rstrip(b"\r"):
            yield line
        within_quotes ^= text.count(b'"') % 2 == 1


def _numbers(column: Any, decimal: str, source: str, name: str, first_row: int) -> Any:
    pa = pyarrow()
    try:
        return _cast(column, pa.float64(), decimal)
    except pa.ArrowInvalid as error:
        found = look_at_text(column.to_pylist(), decimal).error(name)
        raise found.at(file=source, first_row=first_row) from error


def infer(column: Any, decimal: str) -> Any:
    """Turn a column of text into integers or floats if all of its cells are numbers."""
    pa = pyarrow()
    try:
        numbers = _cast(column, pa.float64(), decimal)
    except pa.ArrowInvalid:
        return column
    if numbers.null_count < len(numbers):
        with contextlib.suppress(pa.ArrowInvalid):
            return _cast(column, pa.int64(), decimal)
    return numbers


def _cast(column: Any, kind: Any, decimal: str) -> Any:
    """Turn text into numbers, or raise `pyarrow.ArrowInvalid`."""
    pa = pyarrow()
    if decimal == ".":
        # This is nearly always enough, and several times as fast as what follows.
        with contextlib.suppress(pa.ArrowInvalid):
            return column.cast(kind)
    text = pa.compute.utf8_trim_whitespace(column)
    missing = pa.compute.is_in(text, value_set=pa.array(MISSING))
    text = pa.compute.if_else(missing, None, text)
    if decimal == ",":
        # A point would be a thousands mark: it must not be read as the decimal mark.
        text = pa.compute.replace_substring(text, ".", "?")
        text = pa.compute.replace_substring(text, ",", ".")
    return text.cast(kind)
