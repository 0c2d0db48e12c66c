"""Rows from files, in batches of bounded size: CSV (also gzipped), Parquet and Arrow."""

from __future__ import annotations

import glob
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple
from urllib.parse import unquote

from poscount.errors import InputError
from poscount.files.arrow import OnProgress, pyarrow
from poscount.files.csv import DEFAULT_CSV, CsvFormat, csv_batches, infer
from poscount.files.features import chosen_columns, is_text
from poscount.files.parquet_arrow import arrow_batches, parquet_batches, undamaged
from poscount.files.text_cells import look_at_text

_SUFFIXES = {
    "CSV": (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz"),
    "Parquet": (".parquet",),
    "Arrow": (".arrow", ".feather", ".ipc"),
}
_MISSING_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_ALL_SUFFIXES = tuple(chain.from_iterable(_SUFFIXES.values()))


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
    csv_format: CsvFormat = DEFAULT_CSV,
    batch_rows: int = 65536,
    progress: OnProgress | None = None,
) -> Iterator[Any]:
    """Read a file batch by batch, in memory that does not grow with the file.

    Parameters
    ----------
    path : str or path-like
        The extension decides the format; ``-`` is CSV on standard input. A CSV file may be
        gzipped, whatever its extension.
    columns : sequence of str, optional
        The columns to read, in this order; all by default. A column that is not in the file may
        be in its path, as text: ``night=3`` in ``traps/night=3/part-0.parquet``.
    numeric : sequence of str, optional
        Columns that must hold numbers. In a CSV file they are read as float64 and all others as
        text, so that no type depends on what the first rows happen to be; the columns of Parquet
        and Arrow files keep their types. Empty cells are null.
    csv_format : CsvFormat
        How a CSV file is written.
    batch_rows : int
        The most rows in a batch.
    progress : callable, optional
        Called as ``progress(done, total)`` each time a part of the file has been used. The unit
        is bytes, rows or batches, depending on the format. Not called for standard input.

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
    pyarrow()
    path = os.fspath(path)
    file_format = _format_of(path)
    _check_file(path)
    required = list(dict.fromkeys([*(columns or ()), *(numeric or ())]))
    # A feature is never taken from a path.
    partitions = {
        name: value
        for name, value in partition_values(path).items()
        if name in (columns or ()) and name not in (numeric or ())
    }

    def choose(names: list[str]) -> list[str]:
        inside = [name for name in required if name in names or name not in partitions]
        wanted = None if columns is None else [name for name in columns if name in inside]
        return chosen_columns(names, wanted, inside, source)

    source = "standard input" if path == "-" else path
    if file_format == "CSV":
        csv_format = csv_format.checked(path)
        batches = csv_batches(path, choose, required, numeric or (), csv_format, progress)
    elif file_format == "Parquet":
        batches = undamaged(parquet_batches(path, choose, batch_rows, progress), path, file_format)
    else:
        batches = undamaged(arrow_batches(path, choose, progress), path, file_format)
    for batch in _with_partitions(batches, columns, partitions):
        for start in range(0, max(batch.num_rows, 1), batch_rows):
            yield batch.slice(start, batch_rows)


def read_table(
    path: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    numeric: Sequence[str] | None = None,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> Any:
    """Read a whole file that fits in memory.

    Parameters
    ----------
    path, columns, csv_format
        As in `read_batches`.
    numeric : sequence of str, optional
        As in `read_batches`. By default, a column of a CSV file becomes integers or floats if all
        of its cells are numbers, and stays text otherwise.

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
    pa = pyarrow()
    batches = read_batches(path, columns=columns, numeric=numeric, csv_format=csv_format)
    table = pa.Table.from_batches(list(batches))
    if numeric is None and _format_of(os.fspath(path)) == "CSV":
        inferred = [infer(column, csv_format.decimal) for column in table.columns]
        table = pa.Table.from_arrays(inferred, names=table.column_names)
    return table


class FileRows(NamedTuple):
    """All rows of some files in one table, and how many of them each file has."""

    table: Any
    files: Sequence[str]
    n_rows: Sequence[int]

    def located(self, error: InputError) -> InputError:
        """Say in which of the files an error is that was found in the table."""
        if error.row is None:
            return error if len(self.files) > 1 else error.at(file=self.files[0])
        starts = [0, *accumulate(self.n_rows[:-1])]
        i = bisect_right(starts, error.row) - 1
        return error.at(file=self.files[i], first_row=-starts[i])


def read_files(
    files: Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    numeric: Sequence[str] | None = None,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> FileRows:
    """Read whole files into one table; the other parameters are those of `read_table`."""
    pa = pyarrow()
    tables = [
        read_table(file, columns=columns, numeric=numeric, csv_format=csv_format) for file in files
    ]
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise _different_types(files, tables, csv_format.decimal) from error
    return FileRows(table, files, [table.num_rows for table in tables])


def _different_types(files: Sequence[str], tables: Sequence[Any], decimal: str) -> InputError:
    """Name the first column that is text in one file and something else in another."""
    for name in tables[0].column_names:
        columns = {
            file: table[name]
            for file, table in zip(files, tables, strict=True)
            if name in table.column_names
        }
        text = [file for file, column in columns.items() if is_text(column.type)]
        if 0 < len(text) < len(columns):
            looks = look_at_text(columns[text[0]].to_pylist(), decimal)
            return looks.error(name).at(file=text[0])
    return InputError("a column does not have the same type in all files.", file=", ".join(files))


# Which files


def _matches(path: str) -> list[str]:
    if path == "-" or os.path.isfile(path):
        return [path]
    if os.path.isdir(path):
        return _supported_below(path)
    if not glob.has_magic(path):
        raise InputError("there is no such file or directory.", file=path)
    files = [_matches(match) for match in sorted(glob.glob(path, recursive=True))]
    if not files:
        raise InputError("no file matches this pattern.", file=path)
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
            f"no file in this directory ends in {', '.join(_ALL_SUFFIXES)}.", file=directory
        )
    return sorted(files)


def _format_of(path: str) -> str:
    if path == "-":
        return "CSV"
    for file_format, suffixes in _SUFFIXES.items():
        if path.lower().endswith(suffixes):
            return file_format
    raise InputError(
        f"its extension is not of a format that can be read; use {', '.join(_ALL_SUFFIXES)}.",
        file=path,
    )


def _check_file(path: str) -> None:
    if path == "-":
        return
    if os.path.isdir(path):
        raise InputError("this is a directory, not a file.", file=path)
    if not os.path.exists(path):
        raise InputError("there is no such file.", file=path)
    if not os.access(path, os.R_OK):
        raise InputError("you are not allowed to read this file.", file=path)
    if os.path.isfile(path) and os.path.getsize(path) == 0:
        raise InputError("the file is empty.", file=path)


# Columns in the path of a file, as Hive, Spark and Dask write them: night=3/


def partition_values(path: str) -> dict[str, str | None]:
    """Names and values in the folders of a path; the values are text, so "01" stays "01".

    Examples
    --------
    >>> partition_values("traps/site=north%20gate/night=01/part-0.parquet")
    {'site': 'north gate', 'night': '01'}
    """
    values: dict[str, str | None] = {}
    for folder in os.path.dirname(path).split(os.sep):
        name, equals, value = folder.partition("=")
        if name and equals:
            values[unquote(name)] = None if value == _MISSING_PARTITION else unquote(value)
    return values


def _with_partitions(
    batches: Iterable[Any], columns: Sequence[str] | None, partitions: dict[str, str | None]
) -> Iterator[Any]:
    """Add the wanted columns that are in the path and not in the batches."""
    for batch in batches:
        missing = [name for name in partitions if name not in batch.schema.names]
        if not missing or columns is None:
            yield batch
            continue
        for name in missing:
            value = pyarrow().scalar(partitions[name], pyarrow().string())
            batch = batch.append_column(name, pyarrow().repeat(value, batch.num_rows))
        yield batch.select(list(dict.fromkeys(columns)))
