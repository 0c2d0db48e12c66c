"""What is in a file: its rows, its columns, and which of them look like features."""

from __future__ import annotations

import gzip
import zlib
from typing import Any, NamedTuple

from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.csv import DEFAULT_CSV, CsvFormat, infer
from poscount.files.features import is_number, is_text, why_not_feature
from poscount.files.reading import read_batches
from poscount.files.text_cells import look_at_text

_VALUES_SHOWN = 3
# A longer text is not the name of a group.
_LONGEST_VALUE = 200
_CHUNK = 1 << 20


class FileLimits(NamedTuple):
    """How large a file may be, and how many values a column may have to make groups.

    Parameters
    ----------
    rows, columns : int
    unpacked_bytes : int
        Size of a compressed file after decompression.
    groups : int
        A column with more distinct values is not one to group by.
    """

    rows: int
    columns: int
    unpacked_bytes: int
    groups: int


class ColumnDescription(NamedTuple):
    """A column of a file.

    Parameters
    ----------
    name : str
    numeric : bool
        Whether all of its values are numbers.
    distinct : int or None
        How many different values it has; None if they are too many, or too long, to make groups.
    values : tuple of str
        A few of them.
    why_not_feature : str or None
        Why it does not look like a feature; None if it does, and in files other than positives.
    problem : InputError or None
        For a column of positives whose numbers are written as text: how to make it a feature.
    """

    name: str
    numeric: bool
    distinct: int | None
    values: tuple[str, ...]
    why_not_feature: str | None = None
    problem: InputError | None = None


class FileDescription(NamedTuple):
    """The number of rows of a file, and its columns."""

    rows: int
    columns: tuple[ColumnDescription, ...]


def inspect_file(
    path: str, *, positives: bool, limits: FileLimits, csv_format: CsvFormat = DEFAULT_CSV
) -> FileDescription:
    """Read a file through once, and describe it.

    Parameters
    ----------
    path : str
        A CSV or Parquet file.
    positives : bool
        Whether a model will be fitted on the file. Its rows are then held in memory, to see which
        columns look like features; otherwise memory does not grow with the file.
    limits : FileLimits
        A larger file is refused, with ``option="limits"``.
    csv_format : CsvFormat
        How a CSV file is written.

    Examples
    --------
    >>> from poscount.datasets import example_path
    >>> limits = FileLimits(rows=1000, columns=10, unpacked_bytes=10**6, groups=10)
    >>> found = inspect_file(str(example_path("truth.csv")), positives=True, limits=limits)
    >>> [(column.name, column.why_not_feature) for column in found.columns]
    [('night', "holds dates or times such as '2026-01-12'"), ('positives', None), ('rows', None)]
    """
    is_parquet = path.endswith(".parquet")
    (_check_footer if is_parquet else _check_unpacked)(path, limits)
    decimal = None if is_parquet else csv_format.decimal
    columns: dict[str, _Column] = {}
    n_rows = 0
    for batch in read_batches(path, csv_format=csv_format):
        n_rows += batch.num_rows
        _check(path, limits, rows=n_rows, columns=batch.num_columns)
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            if name not in columns:
                columns[name] = _Column(limits.groups, decimal, keep=positives)
            columns[name].add(values)
    if n_rows == 0:
        raise InputError("the file has column names but no rows.", file=path)
    described = (column.description(name, path) for name, column in columns.items())
    return FileDescription(n_rows, tuple(described))


class _Column:
    """What is known of a column after some batches; `decimal` is None for a typed file."""

    def __init__(self, most_distinct: int, decimal: str | None, keep: bool) -> None:
        self.most_distinct, self.decimal, self.keep = most_distinct, decimal, keep
        self.chunks: list[Any] = []
        self.numeric = True
        self.values: dict[str, None] = {}
        self.many = False

    def add(self, values: Any) -> None:
        pa = pyarrow()
        if self.keep:
            self.chunks.append(values)
        elif self.numeric:
            self.numeric = is_number(self._typed(values).type)
        if self.many:
            return
        try:
            distinct = values.unique()
        except pa.ArrowException:
            self.many = True  # lists and the like make no groups
            return
        shown = distinct[: self.most_distinct + 1].to_pylist()
        self.values |= dict.fromkeys(str(value) for value in shown if value is not None)
        longest = max(map(len, self.values), default=0)
        self.many = len(self.values) > self.most_distinct or longest > _LONGEST_VALUE

    def description(self, name: str, path: str) -> ColumnDescription:
        found = ColumnDescription(
            name,
            numeric=self.numeric,
            distinct=None if self.many else len(self.values),
            values=tuple(value[:_LONGEST_VALUE] for value in list(self.values)[:_VALUES_SHOWN]),
        )
        if not self.keep:
            return found
        column = self._typed(pyarrow().chunked_array(self.chunks))
        if not is_text(column.type):
            why_not = why_not_feature(pyarrow().table({name: column}), name)
            return found._replace(numeric=is_number(column.type), why_not_feature=why_not)
        looks = look_at_text(column.to_pylist(), self.decimal or ".")
        problem = looks.error(name).at(file=path) if looks.is_measurement else None
        return found._replace(numeric=False, why_not_feature=looks.reason, problem=problem)

    def _typed(self, values: Any) -> Any:
        return values if self.decimal is None else infer(values, self.decimal)


def _check_unpacked(path: str, limits: FileLimits) -> None:
    """Refuse a small file that unpacks to a huge one, without keeping what comes out."""
    with open(path, "rb") as file:
        if file.read(2) != b"\x1f\x8b":
            return
    n_bytes = 0
    try:
        with gzip.open(path) as stream:
            while chunk := stream.read(_CHUNK):
                n_bytes += len(chunk)
                _check(path, limits, unpacked_bytes=n_bytes)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return  # reading it says what is wrong


def _check_footer(path: str, limits: FileLimits) -> None:
    """Refuse a Parquet file that says itself that it is too large."""
    pa = pyarrow()
    try:
        about = pa.parquet.read_metadata(path)
    except (pa.ArrowException, OSError):
        return  # reading it says what is wrong
    n_bytes = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    sizes = {"rows": about.num_rows, "columns": about.num_columns, "unpacked_bytes": n_bytes}
    _check(path, limits, **sizes)


def _check(path: str, limits: FileLimits, **sizes: int) -> None:
    for name, size in sizes.items():
        most = getattr(limits, name)
        if size <= most:
            continue
        what = f"{most:,} {name}"
        if name == "unpacked_bytes":
            what = f"{most / 1e6:,g} MB after decompression"
        raise InputError(f"the file has more than {what}.", file=path, option="limits")
