"""Rows from files, in batches of bounded size: CSV, JSON lines, Excel, Parquet and Arrow."""

from __future__ import annotations

import functools
import glob
import os
import stat
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np

from poscount.data.grouping import group_columns
from poscount.errors import InputError
from poscount.files.arrow import OnProgress, arrow_batches, parquet_batches, pyarrow, undamaged
from poscount.files.csv import csv_parts
from poscount.files.derived_columns import partition_values, with_partitions, with_periods
from poscount.files.excel import excel_batches
from poscount.files.features import MOST_COLUMNS, check_names, chosen_columns, is_text
from poscount.files.json_lines import json_batches
from poscount.files.read_options import DEFAULT_OPTIONS, SUFFIXES, ReadOptions
from poscount.files.streams import archive_member, source_name
from poscount.files.text_cells import look_at_text
from poscount.files.text_numbers import infer, numbers, without_signs, words

# Makes the batches of a piece of a file, in any thread.
Part = Callable[[], list[Any]]

# In these files the text of a cell says what it is.
_UNTYPED = ("CSV", "JSON lines", "Excel")
_ALL_SUFFIXES = (*chain.from_iterable(SUFFIXES.values()), ".zip")
# What is told of them; .gz, .zst and .zip may follow the first five.
_TOLD_SUFFIXES = ", ".join(suffix for suffix in _ALL_SUFFIXES if suffix.count(".") == 1)


def expand(paths: Sequence[str]) -> list[str]:
    """Turn files, globs, directories and ``-`` into a list of files without repetition.

    Parameters
    ----------
    paths : sequence of str
        A directory means all supported files in it and below, except files and folders whose
        names begin with a dot or an underscore, which Spark, Delta and others use for their own
        purposes. ``-`` is standard input.

    Returns
    -------
    list of str
        In the order given; the files of one glob or directory are sorted.

    Examples
    --------
    >>> from poscount.example import example_path
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
            same = file if file == "-" else os.path.realpath(file)
            found.setdefault(same, file)
    return list(found.values())


def read_batches(path: str | os.PathLike[str], **how: Any) -> Iterator[Any]:
    """Read a file batch by batch, in memory that does not grow with the file.

    Parameters
    ----------
    path, **how
        As in `read_parts`.

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
    >>> from poscount.example import example_path
    >>> path = example_path("trap.csv.gz")
    >>> batches = read_batches(path, columns=["night", "wingbeat_hz"], numeric=["wingbeat_hz"])
    >>> next(batches).schema
    night: string
    wingbeat_hz: double
    """
    row = 0
    for part in read_parts(path, **how):
        try:
            batches = part()
        except InputError as error:
            raise error.at(first_row=row) from error
        for batch in batches:
            yield batch
            row += batch.num_rows


def read_parts(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    numeric: Sequence[str] | None = None,
    by: Sequence[str] = (),
    read_options: ReadOptions = DEFAULT_OPTIONS,
    batch_rows: int = 65536,
    most_columns: int = MOST_COLUMNS,
    progress: OnProgress | None = None,
) -> Iterator[Part]:
    """Read a file for several threads: yield functions that do the work which needs no order.

    One thread at a time asks for the next function, for which a piece of the file is read, and any
    thread may call it, once: it parses the piece and returns its batches. If it raises an
    `InputError`, the row in it counts from the beginning of the piece; an error in reading a piece
    has the row in the file.

    Parameters
    ----------
    path : str or path-like
        The extension decides the format; ``-`` is CSV on standard input. A file of CSV or of JSON
        lines may be compressed (gzip, Zstandard, zip with one file in it), whatever its extension.
    columns : sequence of str, optional
        The columns to read, in this order; all by default. A column that is not in the file may
        be in its path, as text: ``night=3`` in ``traps/night=3/part-0.parquet``.
    numeric : sequence of str, optional
        Columns that must hold numbers. In a file of CSV or JSON lines they are read as float64
        and all others as text, so that no type depends on what the first rows happen to be; the
        columns of other files keep their types. Empty cells and the usual signs of missing values
        are null.
    by : sequence of str
        Columns to group by, read besides `columns`. For ``month(date)`` and the like, which is
        not the name of a column, the batches have a column of that name, as text.
    read_options : ReadOptions
        How the file is written.
    batch_rows : int
        The most rows in a batch.
    most_columns : int
        A file with more is refused before its rows are read.
    progress : callable, optional
        Called as ``progress(done, total)`` each time a part of the file has been used. The unit
        is bytes, rows or batches, depending on the format. Not called for standard input.

    Examples
    --------
    >>> from poscount.example import example_path
    >>> parts = read_parts(example_path("trap.csv.gz"), columns=["night"])
    >>> [batch.num_rows for part in parts for batch in part()]
    [8070]
    """
    pyarrow()
    path = os.fspath(path)
    file_format = format_of(path)
    in_path = partition_values(path)
    # A feature is never taken from a path.
    partitions: dict[str, str | None] = {}
    chosen: list[str] | None = None if columns is None else [*columns]
    required = list(dict.fromkeys([*(columns or ()), *(numeric or ())]))

    def choose(in_file: list[str]) -> list[str]:
        check_names(in_file, most_columns, source)
        names = read_options.renamed(in_file)
        return [in_file[names.index(name)] for name in chosen_of(names)]

    def chosen_of(names: list[str]) -> list[str]:
        nonlocal chosen
        keys = group_columns(by, [*names, *in_path])
        partitions.update(
            (name, value)
            for name, value in in_path.items()
            if name in (*(columns or ()), *keys) and name not in (numeric or ())
        )
        needed = [*required, *keys]
        inside = [name for name in needed if name in names or name not in partitions]
        if chosen is None:
            return chosen_columns(names, None, inside, source)
        chosen = list(dict.fromkeys([*chosen, *keys]))
        there = [name for name in chosen if name in inside]
        return chosen_columns(names, there, inside, source, renamable=required)

    def finished(piece: Any) -> list[Any]:
        batch = piece() if file_format == "CSV" else piece
        if read_options.rename:
            batch = batch.rename_columns(read_options.renamed(batch.schema.names))
        if file_format in _UNTYPED or read_options.na:
            as_numbers = (numeric or ()) if file_format in _UNTYPED else None
            batch = interpreted(batch, as_numbers, read_options, source)
        if chosen is not None:
            batch = with_partitions(batch, partitions)
        batch = with_periods(batch, by, chosen, read_options.day_first, source)
        starts = range(0, max(batch.num_rows, 1), batch_rows)
        return [batch.slice(start, batch_rows) for start in starts]

    source = source_name(path)
    read_options = read_options.checked(path)
    in_file = {new: old for old, new in read_options.rename}
    numbers_in_file = [in_file.get(name, name) for name in numeric or ()]
    if file_format == "CSV":
        pieces = csv_parts(path, choose, required, numbers_in_file, read_options, progress)
    elif file_format == "JSON lines":
        needed = None if columns is None or by else [in_file.get(name, name) for name in required]
        pieces = json_batches(
            path, choose, needed, numbers_in_file, read_options, most_columns, progress
        )
    elif file_format == "Excel":
        pieces = excel_batches(path, choose, read_options, progress)
    elif file_format == "Parquet":
        pieces = undamaged(parquet_batches(path, choose, batch_rows, progress), path, file_format)
    else:
        pieces = undamaged(arrow_batches(path, choose, progress), path, file_format)
    return (functools.partial(finished, piece) for piece in pieces)


def interpreted(
    batch: Any, numeric: Sequence[str] | None, read_options: ReadOptions, source: str
) -> Any:
    """Take away what means a missing value, and make numbers of text in numeric columns.

    In a file with types, `numeric` is None, and text stays as it is.
    """
    arrays = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if numeric is None or not is_text(column.type):
            arrays.append(without_signs(column, read_options.na))
        elif name in numeric:
            try:
                arrays.append(numbers(column, name, read_options))
            except InputError as error:
                raise error.at(file=source) from error
        else:
            arrays.append(words(column, read_options))
    return pyarrow().RecordBatch.from_arrays(arrays, names=batch.schema.names)


def read_table(
    path: str | os.PathLike[str],
    *,
    numeric: Sequence[str] | None = None,
    read_options: ReadOptions = DEFAULT_OPTIONS,
    **how: Any,
) -> Any:
    """Read a whole file that fits in memory.

    Parameters
    ----------
    path, read_options, **how
        As in `read_parts`.
    numeric : sequence of str, optional
        As in `read_parts`. By default, a column of text in a file of CSV, JSON lines or Excel
        becomes integers or floats if all of its cells are numbers, and stays text otherwise.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> from poscount.example import example_path
    >>> read_table(example_path("truth.csv")).schema
    night: string
    positives: int64
    rows: int64
    """
    pa = pyarrow()
    batches = read_batches(path, numeric=numeric, read_options=read_options, **how)
    table = pa.Table.from_batches(list(batches))
    if numeric is None and format_of(os.fspath(path)) in _UNTYPED:
        inferred = [
            infer(column, name, read_options) if is_text(column.type) else column
            for name, column in zip(table.column_names, table.columns, strict=True)
        ]
        table = pa.Table.from_arrays(inferred, names=table.column_names)
    return table


class FileRows(NamedTuple):
    """Rows of some files in one table, and where they come from.

    Parameters
    ----------
    table : pyarrow.Table
    files : sequence of str
    n_rows : sequence of int
        How many rows each file has.
    places : ndarray of int, optional
        Place of each row of the table among those of all files; None if the table has them all.
    """

    table: Any
    files: Sequence[str]
    n_rows: Sequence[int]
    places: np.ndarray | None = None

    @classmethod
    def joined(cls, parts: Sequence[FileRows], read_options: ReadOptions) -> FileRows:
        """Put parts on top of each other."""
        tables = [part.table for part in parts]
        table = join_tables([part.files[0] for part in parts], tables, read_options).table
        n_rows = [n for part in parts for n in part.n_rows]
        starts = accumulate((sum(part.n_rows) for part in parts), initial=0)
        places = [
            start + (np.arange(part.table.num_rows) if part.places is None else part.places)
            for start, part in zip(starts, parts, strict=False)
        ]
        return cls(
            table, [file for part in parts for file in part.files], n_rows, np.hstack(places)
        )

    def located(self, error: InputError) -> InputError:
        """Say in which of the files an error is that was found in the table."""
        if error.row is None:
            return error if len(self.files) > 1 else error.at(file=self.files[0])
        place = error.row if self.places is None else int(self.places[error.row])
        starts = [0, *accumulate(self.n_rows[:-1])]
        i = bisect_right(starts, place) - 1
        return error.at(file=self.files[i], first_row=place - starts[i] - error.row)


def read_files(
    files: Sequence[str], *, read_options: ReadOptions = DEFAULT_OPTIONS, **how: Any
) -> FileRows:
    """Read whole files into one table; the other parameters are those of `read_table`."""
    tables = [read_table(file, read_options=read_options, **how) for file in files]
    return join_tables(files, tables, read_options)


def join_tables(files: Sequence[str], tables: Sequence[Any], read_options: ReadOptions) -> FileRows:
    """Put the tables of files on top of each other."""
    pa = pyarrow()
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise _different_types(files, tables, read_options) from error
    return FileRows(table, files, [table.num_rows for table in tables])


def _different_types(
    files: Sequence[str], tables: Sequence[Any], read_options: ReadOptions
) -> InputError:
    """Name the first column that is text in one file and something else in another."""
    for name in tables[0].column_names:
        columns = {
            file: table[name]
            for file, table in zip(files, tables, strict=True)
            if name in table.column_names
        }
        text = [file for file, column in columns.items() if is_text(column.type)]
        if 0 < len(text) < len(columns):
            looks = look_at_text(columns[text[0]].to_pylist(), read_options.decimal)
            return looks.error(name, read_options).at(file=text[0])
    return InputError("a column does not have the same type in all files.", file=", ".join(files))


# Which files


def is_read_once(path: str) -> bool:
    """Tell whether a file is gone once it has been read: standard input, or a pipe."""
    return path == "-" or (os.path.exists(path) and _is_pipe(path))


def _matches(path: str) -> list[str]:
    if os.path.isdir(path):
        return _supported_below(path)
    if path == "-" or os.path.exists(path):
        return [path]
    if not glob.has_magic(path):
        raise InputError("there is no such file or directory.", file=path)
    found = [_matches(match) for match in sorted(glob.glob(path, recursive=True))]
    if not found:
        raise InputError("no file matches this pattern.", file=path)
    return list(chain.from_iterable(found))


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
        raise InputError(f"no file in this directory ends in {_TOLD_SUFFIXES}.", file=directory)
    return sorted(files)


def format_of(path: str) -> str:
    """Format of a file, by its extension; an error if it cannot be read."""
    if path == "-":
        return "CSV"
    _check_file(path)
    name = path.lower()
    for file_format, suffixes in SUFFIXES.items():
        if name.endswith(suffixes):
            if _is_pipe(path) and file_format != "CSV":
                raise InputError(
                    f"{file_format} cannot be read from a pipe; write it to a file first.",
                    file=path,
                )
            return file_format
    if _is_pipe(path):
        return "CSV"  # such as /dev/fd/63, by which shells pass on the output of a command
    inside = ""
    if name.endswith(".zip"):
        inside = archive_member(path)
        for file_format in ("CSV", "JSON lines"):
            if inside.lower().endswith(SUFFIXES[file_format]):
                return file_format
    raise InputError(
        f"{f'in the archive, the extension of {inside!r}' if inside else 'its extension'} is not "
        f"of a format that can be read; use {_TOLD_SUFFIXES} (text also as .gz, .zst or .zip).",
        file=path,
    )


def _check_file(path: str) -> None:
    if os.path.isdir(path):
        raise InputError("this is a directory, not a file.", file=path)
    if not os.path.exists(path):
        raise InputError("there is no such file.", file=path)
    if not os.access(path, os.R_OK):
        raise InputError("you are not allowed to read this file.", file=path)
    if not os.path.isfile(path) and not _is_pipe(path):
        raise InputError("this is a device or a socket, not a file.", file=path)
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise InputError("the file is empty.", file=path)


def _is_pipe(path: str) -> bool:
    return stat.S_ISFIFO(os.stat(path).st_mode)
