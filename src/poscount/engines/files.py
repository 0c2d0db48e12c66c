"""Rows from files, in batches of bounded size: CSV (also gzipped), Parquet and Arrow."""

from __future__ import annotations

import codecs
import contextlib
import glob
import gzip
import os
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import IO, Any, NamedTuple

from poscount.validation import InputError

Progress = Callable[[int, int], None]

_SUFFIXES = {
    "CSV": (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"),
    "Parquet": (".parquet",),
    "Arrow": (".arrow", ".feather", ".ipc"),
}
_ALL_SUFFIXES = tuple(chain.from_iterable(_SUFFIXES.values()))
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
# What spreadsheets and statistics programs write for a missing number.
_MISSING = ("", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None")
_BLOCK_BYTES = 1 << 22
_LONGEST_RECORD = 1 << 26
_GZIP_MAGIC = b"\x1f\x8b"
_NAMES_SHOWN = 20


class _Layout(NamedTuple):
    """How a CSV file is written."""

    delimiter: str | None
    decimal: str
    header: bool


class _Block(NamedTuple):
    """Whole records of a CSV file, and the number of the line they begin on."""

    text: bytes
    line: int
    ending: bytes


def expand(paths: Sequence[str]) -> list[str]:
    """Turn files, globs, directories and ``-`` into a list of files without repetition.

    Parameters
    ----------
    paths : sequence of str
        A directory stands for all supported files in it and below, except where the name of a
        file or folder begins with a dot or an underscore: there Spark, Delta and others keep
        their notes. ``-`` is standard input.

    Returns
    -------
    list of str
        In the order given; the files of one glob or directory are sorted.

    Examples
    --------
    >>> from poscount.datasets import example_path
    >>> folder = example_path("trap.csv.gz").parent
    >>> [os.path.basename(file) for file in expand([str(folder), f"{folder}/t*.csv"])]
    ['positives.csv', 'trap.csv.gz', 'truth.csv']
    """
    if not paths:
        raise InputError("no file was given; name files, globs, directories, or - for stdin.")
    # A file that two patterns match must not be counted twice.
    found: dict[str, str] = {}
    for path in paths:
        for file in _matches(path):
            found.setdefault(file if file == "-" else os.path.realpath(file), file)
    return list(found.values())


def read_batches(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    numeric: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    header: bool = True,
    batch_rows: int = 65536,
    progress: Progress | None = None,
) -> Iterator[Any]:
    """Read a file batch by batch, in memory that does not grow with the file.

    Parameters
    ----------
    path : str or path-like
        The extension decides the format; ``-`` is CSV on standard input. Whether a CSV file is
        gzipped is seen from its content.
    columns : sequence of str, optional
        The columns to read, in this order; all by default.
    numeric : sequence of str, optional
        Columns that must hold numbers. From a CSV file they come as float64 and all others as
        text, so that no type depends on what the first rows happen to be; Parquet and Arrow files
        know their types. Empty cells are null.
    delimiter : str, optional
        Of a CSV file; by default tab for ``.tsv`` and, for others, found in the first line.
    decimal : {".", ","}
        The decimal mark of a CSV file.
    header : bool
        Whether a CSV file begins with column names; without, they are "1", "2", ...
    batch_rows : int
        The most rows in a batch.
    progress : callable, optional
        Called as ``progress(done, total)`` each time a part of the file has been used. The unit is
        bytes on disk, rows or batches, as the format allows. Not called for standard input.

    Yields
    ------
    pyarrow.RecordBatch
        At least one: a file without rows gives an empty batch that has the columns.

    Raises
    ------
    InputError
        The file cannot be used. Raised when the batch concerned is asked for.

    Examples
    --------
    >>> from poscount.datasets import example_path
    >>> path = example_path("trap.csv.gz")
    >>> batches = read_batches(path, columns=["night", "wingbeat_hz"], numeric=["wingbeat_hz"])
    >>> next(batches).schema
    night: string
    wingbeat_hz: double
    """
    _pyarrow()
    path = os.fspath(path)
    kind = _kind(path)
    _check_file(path)
    required = list(dict.fromkeys([*(columns or ()), *(numeric or ())]))
    if kind == "CSV":
        layout = _layout(path, delimiter, decimal, header)
        batches = _csv_batches(path, columns, required, numeric or (), layout, progress)
    elif kind == "Parquet":
        batches = _parquet_batches(path, columns, required, batch_rows, progress)
    else:
        batches = _arrow_batches(path, columns, required, progress)
    for batch in batches if kind == "CSV" else _undamaged(batches, path, kind):
        for start in range(0, max(batch.num_rows, 1), batch_rows):
            yield batch.slice(start, batch_rows)


def read_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    numeric: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    header: bool = True,
) -> Any:
    """Read a whole file that fits in memory.

    Parameters
    ----------
    path, columns, delimiter, decimal, header
        As in `read_batches`.
    numeric : sequence of str, optional
        As in `read_batches`. If it is not given, a column of a CSV file becomes integers or
        floats when all of its cells can, and stays text otherwise.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> from poscount.datasets import example_path
    >>> read_table(example_path("truth.csv")).schema
    night: string
    positives: int64
    rows: int64
    """
    pa = _pyarrow()
    batches = read_batches(
        path,
        columns=columns,
        numeric=numeric,
        delimiter=delimiter,
        decimal=decimal,
        header=header,
    )
    table = pa.Table.from_batches(list(batches))
    if numeric is None and _kind(os.fspath(path)) == "CSV":
        inferred = [_inferred(column, decimal) for column in table.columns]
        table = pa.Table.from_arrays(inferred, names=table.column_names)
    return table


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            'Reading files needs pyarrow: pip install "poscount[cli]" brings it.'
        ) from error
    return pyarrow


# Which files


def _matches(path: str) -> list[str]:
    if path == "-" or os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        return _supported_below(path)
    if not glob.has_magic(path):
        raise InputError("there is no such file or directory.", source=path)
    files = [_matches(match) for match in sorted(glob.glob(path, recursive=True))]
    if not files:
        raise InputError("no file matches this pattern.", source=path)
    return list(chain.from_iterable(files))


def _supported_below(directory: str) -> list[str]:
    files = []
    for folder, subfolders, names in os.walk(directory):
        subfolders[:] = [name for name in subfolders if not name.startswith((".", "_"))]
        files += [
            os.path.join(folder, name)
            for name in names
            if name.lower().endswith(_ALL_SUFFIXES) and not name.startswith((".", "_"))
        ]
    if not files:
        raise InputError(
            f"no file in this directory ends in {', '.join(_ALL_SUFFIXES)}.", source=directory
        )
    return sorted(files)


def _kind(path: str) -> str:
    if path == "-":
        return "CSV"
    for kind, suffixes in _SUFFIXES.items():
        if path.lower().endswith(suffixes):
            return kind
    raise InputError(
        f"its extension names no format that can be read; use {', '.join(_ALL_SUFFIXES)}.",
        source=path,
    )


def _check_file(path: str) -> None:
    if path == "-":
        return
    if os.path.isdir(path):
        raise InputError("this is a directory, not a file.", source=path)
    if not os.path.exists(path):
        raise InputError("there is no such file.", source=path)
    if not os.access(path, os.R_OK):
        raise InputError("you are not allowed to read this file.", source=path)
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise InputError("the file is empty.", source=path)


def _source(path: str) -> str:
    return "standard input" if path == "-" else path


def _chosen(
    names: list[str], columns: Sequence[str] | None, required: Sequence[str], source: str
) -> list[str]:
    for name, times in Counter(names).items():
        if times > 1:
            raise InputError(
                f"the file has {times} columns of this name; rename them.",
                source=source,
                column=name,
            )
    for name in required:
        if name not in names:
            shown = ", ".join(map(repr, names[:_NAMES_SHOWN]))
            more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
            raise InputError(
                f"the file has no such column; its columns are {shown}{more}.",
                source=source,
                column=name,
            )
    return names if columns is None else list(dict.fromkeys(columns))


# Parquet and Arrow


def _parquet_batches(
    path: str,
    columns: Sequence[str] | None,
    required: Sequence[str],
    batch_rows: int,
    progress: Progress | None,
) -> Iterator[Any]:
    with _pyarrow().parquet.ParquetFile(path) as file:
        schema, total = file.schema_arrow, file.metadata.num_rows
        chosen = _chosen(schema.names, columns, required, path)
        if total == 0:
            yield _one_batch(schema.empty_table().select(chosen))
        done = 0
        for batch in file.iter_batches(batch_rows, columns=chosen):
            yield batch.select(chosen)
            done += batch.num_rows
            if progress:
                progress(done, total)


def _arrow_batches(
    path: str,
    columns: Sequence[str] | None,
    required: Sequence[str],
    progress: Progress | None,
) -> Iterator[Any]:
    pa = _pyarrow()
    # Mapped, because the whole file may be one batch.
    with pa.memory_map(path) as file:
        streamed = file.read(6) != b"ARROW1"
        connect = pa.ipc.open_stream if streamed else pa.ipc.open_file
        file.seek(0)
        names = connect(file).schema.names
        chosen = _chosen(names, columns, required, path)
        fields = pa.ipc.IpcReadOptions(included_fields=[names.index(name) for name in chosen])
        file.seek(0)
        reader = connect(file, options=fields)
        total = file.size() if streamed else reader.num_record_batches
        batches = reader if streamed else map(reader.get_batch, range(total))
        done = 0
        for done, batch in enumerate(batches, start=1):
            yield batch.select(chosen)
            if progress:
                progress(file.tell() if streamed else done, total)
        if progress and streamed:
            # Behind the last batch stands an end mark, which only now has been read.
            progress(total, total)
        if done == 0:
            yield _one_batch(reader.schema.empty_table().select(chosen))


def _undamaged(batches: Iterable[Any], path: str, kind: str) -> Iterator[Any]:
    pa = _pyarrow()
    # A memory error is among them because a damaged length asks for petabytes.
    signs = (
        pa.ArrowInvalid,
        pa.ArrowNotImplementedError,
        pa.ArrowMemoryError,
        OSError,
        UnicodeDecodeError,
    )
    try:
        for batch in batches:
            # Text that points outside of its buffer would crash the process when it is used.
            batch.validate(full=True)
            yield batch
    except signs as error:
        raise InputError(
            f"this is not {kind}, as its extension says, or it is damaged; write or copy it again.",
            source=path,
        ) from error


def _one_batch(table: Any) -> Any:
    arrays = [column.combine_chunks() for column in table.columns]
    return _pyarrow().RecordBatch.from_arrays(arrays, schema=table.schema)


# CSV


def _layout(path: str, delimiter: str | None, decimal: str, header: bool) -> _Layout:
    if delimiter is None and path.lower().endswith((".tsv", ".tsv.gz")):
        delimiter = "\t"
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n' or delimiter > "~"):
        raise InputError(f"the delimiter must be one ASCII character, not {delimiter!r}.")
    if decimal not in (".", ","):
        raise InputError(f"the decimal mark must be a point or a comma, not {decimal!r}.")
    return _Layout(delimiter, decimal, header)


def _csv_batches(
    path: str,
    columns: Sequence[str] | None,
    required: Sequence[str],
    numeric: Sequence[str],
    layout: _Layout,
    progress: Progress | None,
) -> Iterator[Any]:
    source = _source(path)
    # Zero stands for unknown; a named pipe says zero as well.
    size = 0 if path == "-" else os.path.getsize(path)
    with contextlib.ExitStack() as stack:
        raw: Any = sys.stdin.buffer if path == "-" else stack.enter_context(open(path, "rb"))
        stream: Any = raw
        if raw.peek(2)[:2] == _GZIP_MAGIC:
            stream = stack.enter_context(gzip.GzipFile(fileobj=raw))
        blocks = _blocks(stream, source)
        names, delimiter, first = _first_line(next(blocks, None), layout, required, source)
        chosen = _chosen(names, columns, required, source)
        row = 0
        for block in chain([first], blocks):
            table = _parsed(block, names, chosen, delimiter, source)
            for j, name in enumerate(chosen):
                if name in numeric:
                    numbers = _numbers(table[name], layout.decimal, source, name, row)
                    table = table.set_column(j, name, numbers)
            yield _one_batch(table)
            row += table.num_rows
            if progress and size:
                progress(raw.tell(), size)


def _read(stream: IO[bytes], source: str) -> bytes:
    try:
        return stream.read(_BLOCK_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            "the compressed file is damaged or breaks off before its end; copy it again.",
            source=source,
        ) from error
    except OSError as error:
        raise InputError(f"reading fails: {error.strerror}.", source=source) from error


def _blocks(stream: IO[bytes], source: str) -> Iterator[_Block]:
    """Cut a stream into pieces of some megabytes, each of whole records of valid UTF-8."""
    chunk = _read(stream, source).removeprefix(codecs.BOM_UTF8)
    # Spreadsheets on a Macintosh still offer carriage returns as the only line ends.
    ending = b"\r" if b"\r" in chunk and b"\n" not in chunk else b"\n"
    line, rest = 1, b""
    while chunk:
        rest += chunk
        end = _last_record_end(rest, ending)
        if end == 0 and len(rest) > _LONGEST_RECORD:
            raise InputError(
                f"line {line} is too long or opens a quotation mark that is never closed; is this "
                "really CSV?",
                source=source,
            )
        if end:
            yield _in_utf8(_Block(rest[:end], line, ending), source)
        line += rest.count(ending, 0, end)
        rest = rest[end:]
        chunk = _read(stream, source)
    if rest.count(b'"') % 2:
        raise InputError(
            f"line {line} opens a quotation mark that is never closed; close or remove it.",
            source=source,
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
            source=source,
        ) from None
    return block


def _first_line(
    block: _Block | None, layout: _Layout, required: Sequence[str], source: str
) -> tuple[list[str], str, _Block]:
    """Take names and delimiter from the first line; what follows the header is the rest."""
    text = block.text.lstrip(b"\r\n") if block else b""
    if block is None or not text:
        raise InputError("the file is empty.", source=source)
    end = _first_record_end(text, block.ending)
    record = text[:end]
    delimiter = layout.delimiter or _delimiter(record.decode(), layout.decimal, source)
    fields = _fields(record, delimiter)
    start = len(block.text) - len(text)
    if not layout.header:
        names = [str(number) for number in range(1, len(fields) + 1)]
    else:
        # Names that are numbers, such as wavelengths, are fine when they are asked for.
        asked_for = required and set(required) <= set(fields)
        if not asked_for and all(_is_number(field, layout.decimal) for field in fields):
            raise InputError(
                "the first line holds only numbers, not column names; pass --no-header, or choose "
                "columns by these names if that is what they are.",
                source=source,
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
            f"the first line has {marks}, so the delimiter is not clear; pass it with --delimiter.",
            source=source,
        )
    return found[0] if found else ","


def _fields(record: bytes, delimiter: str) -> list[str]:
    pa = _pyarrow()
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
    pa = _pyarrow()
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
            f"{row.expected_columns}; look for a missing or surplus delimiter, or pass another one "
            "with --delimiter.",
            source=source,
        ) from error


def _record_lines(block: _Block) -> Iterator[int]:
    """Line on which each record of a block begins; empty lines are no records."""
    within_quotes = False
    for line, text in enumerate(block.text.split(block.ending), start=block.line):
        if not within_quotes and text.rstrip(b"\r"):
            yield line
        within_quotes ^= text.count(b'"') % 2 == 1


def _numbers(column: Any, decimal: str, source: str, name: str, first_row: int) -> Any:
    pa = _pyarrow()
    try:
        return _cast(column, pa.float64(), decimal)
    except pa.ArrowInvalid:
        row = _first_failure(column, decimal)
    value = column[row].as_py()
    other = "," if decimal == "." else "."
    if _converts(column.slice(row, 1), other):
        advice = "pass --decimal , if the comma is the decimal mark"
        if decimal == ",":
            advice = "leave --decimal out if the point is the decimal mark"
    else:
        advice = "correct it or remove the row"
    raise InputError(
        f"{value!r} is not a number; {advice}.", source=source, column=name, row=first_row + row
    )


def _inferred(column: Any, decimal: str) -> Any:
    pa = _pyarrow()
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
    pa = _pyarrow()
    if decimal == ".":
        # Nearly always enough, and several times as fast as what follows.
        with contextlib.suppress(pa.ArrowInvalid):
            return column.cast(kind)
    text = pa.compute.utf8_trim_whitespace(column)
    missing = pa.compute.is_in(text, value_set=pa.array(_MISSING))
    text = pa.compute.if_else(missing, None, text)
    if decimal == ",":
        # A point would be a thousands separator: it must not pass for the decimal mark.
        text = pa.compute.replace_substring(text, ".", "?")
        text = pa.compute.replace_substring(text, ",", ".")
    return text.cast(kind)


def _converts(column: Any, decimal: str) -> bool:
    pa = _pyarrow()
    try:
        _cast(column, pa.float64(), decimal)
    except pa.ArrowInvalid:
        return False
    return True


def _first_failure(column: Any, decimal: str) -> int:
    """Row of the first cell that is not a number, by bisection."""
    good, bad = 0, len(column)
    while bad - good > 1:
        middle = (good + bad) // 2
        if _converts(column.slice(good, middle - good), decimal):
            good = middle
        else:
            bad = middle
    return good
