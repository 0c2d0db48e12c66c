"""What is in a file: its first rows, its columns, their kinds, and what is wrong with them."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from typing import Any, NamedTuple

from poscount.errors import InputError
from poscount.files.arrow import OnProgress, pyarrow
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.excel import calamine
from poscount.files.features import describe_column, is_number, is_text
from poscount.files.reading import EXCEL_SUFFIXES, read_batches
from poscount.files.streams import unpacked
from poscount.files.text_cells import look_at_text
from poscount.files.text_numbers import infer, without_marks
from poscount.workflows.date_groups import DateGroups

_VALUES_SHOWN = 3
_ROWS_SHOWN = 10
# More columns do not fit on a screen, and would make every answer of the server long.
_COLUMNS_SHOWN = 50
_LONGEST_SHOWN = 60
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
    kind : str
        As `poscount.files.features.describe_column` says; in files other than positives by the
        first rows.
    missing : float
        Share of the rows without a value.
    numeric : bool
        Whether all of its values are numbers.
    distinct : int or None
        How many different values it has; None if they are too many, or too long, to make groups.
    values : tuple of str
        A few of them.
    why_not_used : str or None
        Why it is not used by default; None if it is.
    problem : InputError or None
        Why it cannot be used as numbers: the first cell in the way, and how to read or write it.
        Of positives only if the column looks as if it should be numbers; of other files, whose
        kinds the positives decide, for every column that is not of numbers.
    periods : tuple of (str, int)
        Of dates in files other than positives: periods of time, and how many groups each makes,
        as far as they are not too many.
    no_periods : InputError or None
        Why dates make no such groups.
    """

    name: str
    kind: str
    missing: float
    numeric: bool
    distinct: int | None
    values: tuple[str, ...]
    why_not_used: str | None = None
    problem: InputError | None = None
    periods: tuple[tuple[str, int], ...] = ()
    no_periods: InputError | None = None


class FileDescription(NamedTuple):
    """The number of rows of a file, its columns, and its first rows.

    Parameters
    ----------
    rows : int
    columns : tuple of ColumnDescription
    preview : tuple of tuple
        The first cells of the first rows as text, cut if they are long; None is a missing value.
    """

    rows: int
    columns: tuple[ColumnDescription, ...]
    preview: tuple[tuple[str | None, ...], ...]


def inspect_file(
    path: str,
    *,
    positives: bool,
    limits: FileLimits,
    csv_format: CsvFormat = DEFAULT_CSV,
    progress: OnProgress | None = None,
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
    progress : callable, optional
        Called as ``progress(done, total)`` while the file is read.

    Examples
    --------
    >>> from poscount.example import example_path
    >>> limits = FileLimits(rows=1000, columns=10, unpacked_bytes=10**6, groups=10)
    >>> found = inspect_file(str(example_path("truth.csv")), positives=True, limits=limits)
    >>> [(column.name, column.kind) for column in found.columns]
    [('night', 'date'), ('positives', 'number'), ('rows', 'number')]
    >>> found.preview[0]
    ('2026-01-12', '0', '620')
    """
    is_parquet = path.endswith(".parquet")
    (_check_footer if is_parquet else _check_unpacked)(path, limits)
    columns: dict[str, _Column] = {}
    preview: list[tuple[str | None, ...]] = []
    n_rows = 0
    for batch in read_batches(path, csv_format=csv_format, progress=progress):
        _check(path, limits, rows=n_rows + batch.num_rows, columns=batch.num_columns)
        if len(preview) < _ROWS_SHOWN:
            preview += _shown(batch, _ROWS_SHOWN - len(preview))
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            if name not in columns:
                kind = _Positives if positives else _Unlabeled
                columns[name] = kind(name, limits.groups, None if is_parquet else csv_format)
            columns[name].add(values, n_rows)
        n_rows += batch.num_rows
    if n_rows == 0:
        raise InputError("the file has column names but no rows.", file=path)
    described = (column.description(path) for column in columns.values())
    return FileDescription(n_rows, tuple(described), tuple(preview))


def _shown(batch: Any, n_rows: int) -> list[tuple[str | None, ...]]:
    columns = [
        [None if value is None else str(value)[:_LONGEST_SHOWN] for value in column.to_pylist()]
        for column in batch.slice(0, n_rows).columns[:_COLUMNS_SHOWN]
    ]
    return list(zip(*columns, strict=True))


class _Column:
    """What is known of a column after some batches; `csv_format` is None for a typed file."""

    def __init__(self, name: str, most_distinct: int, csv_format: CsvFormat | None) -> None:
        self.name, self.most_distinct, self.csv_format = name, most_distinct, csv_format
        self.values: dict[str, None] = {}
        self.many = False

    def add(self, values: Any, first_row: int) -> None:
        if self.many:
            return
        try:
            distinct = values.unique()
        except pyarrow().ArrowException:
            self.many = True  # lists and the like make no groups
            return
        shown = distinct[: self.most_distinct + 1].to_pylist()
        self.values |= dict.fromkeys(str(value) for value in shown if value is not None)
        longest = max(map(len, self.values), default=0)
        self.many = len(self.values) > self.most_distinct or longest > _LONGEST_VALUE

    def description(self, path: str) -> ColumnDescription:
        raise NotImplementedError

    def _described(self, column: Any, numeric: bool) -> ColumnDescription:
        found = describe_column(column, self.name, self.csv_format or DEFAULT_CSV)
        return ColumnDescription(
            self.name,
            kind=found.kind,
            missing=found.missing,
            numeric=numeric,
            distinct=None if self.many else len(self.values),
            values=tuple(value[:_LONGEST_VALUE] for value in list(self.values)[:_VALUES_SHOWN]),
            why_not_used=found.why_not_used,
            problem=found.problem,
        )

    def _typed(self, values: Any) -> Any:
        if self.csv_format is None or not is_text(values.type):
            return values
        return infer(values, self.name, self.csv_format)


class _Positives(_Column):
    """A column of positives: all of it is kept, because all of it decides what it is."""

    def __init__(self, name: str, most_distinct: int, csv_format: CsvFormat | None) -> None:
        super().__init__(name, most_distinct, csv_format)
        self.chunks: list[Any] = []

    def add(self, values: Any, first_row: int) -> None:
        super().add(values, first_row)
        self.chunks.append(values)

    def description(self, path: str) -> ColumnDescription:
        column = self._typed(pyarrow().chunked_array(self.chunks))
        found = self._described(column, is_number(column.type))
        problem = found.problem or _infinite(column, self.name)
        return found._replace(problem=problem and problem.at(file=path))


class _Unlabeled(_Column):
    """A column of another file: its first batch says what it looks like, the others only add."""

    def __init__(self, name: str, most_distinct: int, csv_format: CsvFormat | None) -> None:
        super().__init__(name, most_distinct, csv_format)
        self.first: Any = None
        self.dates: DateGroups | None = None
        self.n_rows, self.n_missing = 0, 0
        self.numeric = True
        self.problem: InputError | None = None

    def add(self, values: Any, first_row: int) -> None:
        super().add(values, first_row)
        # What is text in one batch is text altogether.
        typed = self._typed(values) if self.numeric else values
        if self.first is None:
            self.first = typed
            if self._described(typed, numeric=False).kind == "date":
                day_first = (self.csv_format or DEFAULT_CSV).day_first
                self.dates = DateGroups(self.name, self.most_distinct, day_first)
        if self.dates is not None:
            self.dates.add(typed, first_row)
        self.n_rows += len(values)
        self.n_missing += _n_missing(typed)
        self.numeric = self.numeric and is_number(typed.type)
        if self.problem is None:
            problem = self._not_numbers(typed)
            self.problem = problem and problem.at(first_row=first_row)

    def description(self, path: str) -> ColumnDescription:
        found = self._described(self.first, self.numeric)
        no_periods = None if self.dates is None else self.dates.problem
        later_text = found.kind == "number" and found.problem is None and not self.numeric
        return found._replace(
            kind="category" if later_text else found.kind,
            missing=self.n_missing / max(self.n_rows, 1),
            problem=self.problem and self.problem.at(file=path),
            periods=() if self.dates is None else tuple(self.dates.n_groups.items()),
            no_periods=no_periods and no_periods.at(file=path),
        )

    def _not_numbers(self, values: Any) -> InputError | None:
        if is_text(values.type):
            written = self.csv_format or DEFAULT_CSV
            text = without_marks(values.cast(pyarrow().string()), self.name, written)
            return look_at_text(text.to_pylist(), written.decimal).error(self.name, written)
        if not is_number(values.type):
            return InputError(f"it holds {values.type}, not numbers.", column=self.name)
        return _infinite(values, self.name)


def _n_missing(values: Any) -> int:
    return int(pyarrow().compute.sum(values.is_null(nan_is_null=True)).as_py() or 0)


def _infinite(column: Any, name: str) -> InputError | None:
    pa = pyarrow()
    if not pa.types.is_floating(column.type):
        return None
    row = pa.compute.index(pa.compute.is_inf(column), True).as_py()
    if row < 0:
        return None
    return InputError("the number is infinite; correct it or remove the row.", column=name, row=row)


def sheet_names(path: str) -> list[str]:
    """List the sheets of a workbook."""
    return list(calamine().CalamineWorkbook.from_path(path).sheet_names)


def _check_unpacked(path: str, limits: FileLimits) -> None:
    """Refuse a small file that unpacks to a huge one, without keeping what comes out."""
    if path.lower().endswith(EXCEL_SUFFIXES):
        # A workbook says itself how large its parts are; older ones are not packed.
        with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as parts:
            _check(path, limits, unpacked_bytes=sum(part.file_size for part in parts.infolist()))
        return
    n_bytes = 0
    with unpacked(path) as (stream, file):
        if stream is file:
            return
        try:
            while chunk := stream.read(_CHUNK):
                n_bytes += len(chunk)
                _check(path, limits, unpacked_bytes=n_bytes)
        except (EOFError, zipfile.BadZipFile, zlib.error, OSError):
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
