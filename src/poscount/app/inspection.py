"""What is in a file: its first rows, its columns, their kinds, and what is wrong with them."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from poscount.app.date_groups import DateGroups
from poscount.errors import InputError
from poscount.files.arrow import OnProgress, pyarrow
from poscount.files.excel import calamine
from poscount.files.features import describe_column, is_number, is_text, share_missing
from poscount.files.heads import csv_top, excel_top
from poscount.files.read_options import DEFAULT_OPTIONS, SUFFIXES, ColumnDescription, ReadOptions
from poscount.files.reading import format_of, read_batches
from poscount.files.streams import unpacked
from poscount.files.text_cells import look_at_text
from poscount.files.text_numbers import infer, without_marks

_VALUES_SHOWN = 3
_ROWS_SHOWN = 10
# More columns do not fit on a screen, and would make every answer of the server long.
_COLUMNS_SHOWN = 50
_LONGEST_SHOWN = 60
_CELLS_SHOWN = 12
# A longer text is not the name of a group.
_LONGEST_VALUE = 200
# Of a column with more values, there is no picture of how often each is there.
_VALUES_COUNTED = 20
# Values of each batch from which the picture of a column of numbers is drawn, and its quantiles.
_SKETCHED = 1000
_QUANTILES = np.linspace(0, 1, 33)
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

    def check(self, path: str, **sizes: int) -> None:
        """Refuse a file with larger sizes."""
        for name, size in sizes.items():
            most = getattr(self, name)
            if size > most:
                packed = name == "unpacked_bytes"
                what = f"{most / 1e6:,g} MB after decompression" if packed else f"{most:,} {name}"
                raise InputError(f"the file has more than {what}.", file=path, option="limits")


class Sketch(NamedTuple):
    """How the values of a column are spread, for a small picture.

    Parameters
    ----------
    quantiles : list of float
        33 of them, from the smallest to the largest; empty if the column is not of numbers.
    values : list of (str or None, int)
        Its values and how many rows have each, the most frequent first, None where it is missing;
        empty if there are many.
    """

    quantiles: list[float]
    values: list[tuple[str | None, int]]


class FileDescription(NamedTuple):
    """The number of rows of a file, its columns, and its first rows.

    Parameters
    ----------
    rows : int
    columns : tuple of ColumnDescription
        In files other than positives, `kind` is by the first rows, and `problem` says why a column
        cannot be used as numbers, whatever it looks like, because the positives decide on kinds.
    preview : tuple of tuple
        The first cells of the first rows as text, cut if they are long; None is a missing value.
    sketches : dict of str to Sketch
        Of the columns that are in the preview.
    by_label : list of (str or None, dict of str to Sketch)
        The same of the rows with each label, if the file has a column of labels.
    """

    rows: int
    columns: tuple[ColumnDescription, ...]
    preview: tuple[tuple[str | None, ...], ...]
    sketches: dict[str, Sketch]
    by_label: list[tuple[str | None, dict[str, Sketch]]]


def inspect_file(
    path: str,
    *,
    positives: bool,
    limits: FileLimits,
    read_options: ReadOptions = DEFAULT_OPTIONS,
    progress: OnProgress | None = None,
    label: str = "",
) -> FileDescription:
    """Read a file through once, and describe it.

    Parameters
    ----------
    path : str
    positives : bool
        Whether a model will be fitted on the file. Its rows are then held in memory, to see which
        columns look like features; otherwise memory does not grow with the file.
    limits : FileLimits
        A larger file is refused, with ``option="limits"``.
    read_options : ReadOptions
        How the file is written.
    progress : callable, optional
        Called as ``progress(done, total)`` while the file is read.
    label : str
        A column of few values, if `positives`: of the rows with each, there are sketches, too.

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
    typed = path.endswith(".parquet")
    _check_size(path, limits)
    columns: dict[str, _Column] = {}
    preview: list[tuple[str | None, ...]] = []
    n_rows = 0
    how: Any = {"read_options": read_options, "most_columns": limits.columns, "progress": progress}
    for batch in read_batches(path, **how):
        limits.check(path, rows=n_rows + batch.num_rows)
        if len(preview) < _ROWS_SHOWN:
            preview += _shown(batch, _ROWS_SHOWN - len(preview))
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            if name not in columns:
                kind = _Positives if positives else _Unlabeled
                columns[name] = kind(name, limits.groups, read_options, typed)
            columns[name].add(values, n_rows)
        n_rows += batch.num_rows
    if n_rows == 0:
        raise InputError("the file has column names but no rows.", file=path)
    described = []
    for column in columns.values():
        found = column.description()
        problem, no_periods = (e and e.at(file=path) for e in (found.problem, found.no_periods))
        described.append(found._replace(problem=problem, no_periods=no_periods))
    shown = list(columns.values())[:_COLUMNS_SHOWN]
    sketches = {column.name: column.sketch() for column in shown}
    by_label = _by_label(columns[label], shown) if label in columns else []
    return FileDescription(n_rows, tuple(described), tuple(preview), sketches, by_label)


def _by_label(label: Any, shown: Sequence[Any]) -> list[tuple[str | None, dict[str, Sketch]]]:
    """How the values of columns are spread in the rows with each label, if these are few."""
    if not label.sketch().values:
        return []
    cells = pyarrow().chunked_array(label.chunks).combine_chunks()
    if pyarrow().types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    labels = cells.dictionary_encode(null_encoding="encode")
    values = labels.dictionary.to_pylist()
    parts = [pyarrow().compute.equal(labels.indices, i) for i in range(len(values))]
    sketches = {column.name: column.sketches_of(parts) for column in shown}
    return [
        (None if value is None else str(value), {name: of[i] for name, of in sketches.items()})
        for i, value in enumerate(values)
    ]


def _shown(batch: Any, n_rows: int) -> list[tuple[str | None, ...]]:
    columns = [
        [None if value is None else str(value)[:_LONGEST_SHOWN] for value in column.to_pylist()]
        for column in batch.slice(0, n_rows).columns[:_COLUMNS_SHOWN]
    ]
    return list(zip(*columns, strict=True))


class _Column(ABC):
    """What is known of a column after some batches."""

    def __init__(self, name: str, most_groups: int, read_options: ReadOptions, typed: bool) -> None:
        self.name, self.most_groups = name, most_groups
        self.read_options, self.typed = read_options, typed
        self.values: Counter[str] = Counter()
        self.n_missing_cells = 0
        self.sketched: list[np.ndarray] = []
        self.many = False

    def add(self, values: Any, first_row: int) -> None:
        self.n_missing_cells += values.null_count
        if self.many:
            return
        try:
            distinct = values.value_counts()
        except pyarrow().ArrowException:
            self.many = True  # lists and the like make no groups
            return
        for each in distinct[: self.most_groups + 1].to_pylist():
            if each["values"] is not None:
                self.values[str(each["values"])] += each["counts"]
        longest = max(map(len, self.values), default=0)
        self.many = len(self.values) > self.most_groups or longest > _LONGEST_VALUE

    def draw(self, values: Any) -> None:
        """Take some values for the picture, evenly from the whole batch."""
        if is_number(values.type) and len(values) > 0:
            some = values.take(np.arange(0, len(values), 1 + len(values) // _SKETCHED))
            numbers = some.cast(pyarrow().float64(), safe=False).to_numpy(zero_copy_only=False)
            self.sketched.append(numbers[np.isfinite(numbers)])

    def sketch(self) -> Sketch:
        """How its values are spread."""
        values: list[tuple[str | None, int]] = []
        if not self.many and len(self.values) <= _VALUES_COUNTED:
            values += sorted(self.values.items(), key=lambda item: (-item[1], item[0]))
            values += [(None, self.n_missing_cells)] if self.n_missing_cells else []
        numbers = np.concatenate([np.empty(0), *self.sketched])
        quantiles = np.quantile(numbers, _QUANTILES).tolist() if len(numbers) else []
        return Sketch([float(f"{value:.6g}") for value in quantiles], values)

    @abstractmethod
    def description(self) -> ColumnDescription: ...

    def _described(self, column: Any, numeric: bool) -> ColumnDescription:
        return describe_column(column, self.name, self.read_options)._replace(
            numeric=numeric,
            distinct=None if self.many else len(self.values),
            values=tuple(value[:_LONGEST_VALUE] for value in list(self.values)[:_VALUES_SHOWN]),
        )

    def _inferred(self, values: Any) -> Any:
        if self.typed or not is_text(values.type):
            return values
        return infer(values, self.name, self.read_options)


class _Positives(_Column):
    """A column of positives: all of it is kept, because all of it decides what it is."""

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.chunks: list[Any] = []

    def add(self, values: Any, first_row: int) -> None:
        super().add(values, first_row)
        self.chunks.append(values)

    def whole(self) -> Any:
        """All of it in one array."""
        return self._inferred(pyarrow().chunked_array(self.chunks)).combine_chunks()

    def sketches_of(self, parts: Sequence[Any]) -> list[Sketch]:
        """How its values are spread in each of some parts of the rows."""
        whole, sketches = self.whole(), []
        for rows in parts:
            part = _Positives(self.name, self.most_groups, self.read_options, self.typed)
            part.add(whole.filter(rows), 0)
            part.draw(part.chunks[0])
            sketches.append(part.sketch())
        return sketches

    def description(self) -> ColumnDescription:
        column = self.whole()
        self.draw(column)
        found = self._described(column, is_number(column.type))
        if found.kind == "date":
            # The file may also be that of the rows to be counted.
            dates = DateGroups(self.name, self.most_groups, self.read_options.day_first)
            dates.add(column, 0)
            found = found._replace(periods=tuple(dates.n_groups.items()), no_periods=dates.problem)
        return found._replace(problem=found.problem or _infinite(column, self.name))


class _Unlabeled(_Column):
    """A column of another file: its first batch says what it looks like, the others only add."""

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.first: Any = None
        self.dates: DateGroups | None = None
        self.n_rows, self.n_missing = 0, 0
        self.numeric = True
        self.problem: InputError | None = None

    def add(self, values: Any, first_row: int) -> None:
        super().add(values, first_row)
        # What is text in one batch is text altogether.
        inferred = self._inferred(values) if self.numeric else values
        if self.first is None:
            self.first = inferred
            if self._described(inferred, numeric=False).kind == "date":
                day_first = self.read_options.day_first
                self.dates = DateGroups(self.name, self.most_groups, day_first)
        if self.dates is not None:
            self.dates.add(inferred, first_row)
        self.draw(inferred)
        self.n_rows += len(values)
        self.n_missing += round(len(values) * share_missing(inferred))
        self.numeric = self.numeric and is_number(inferred.type)
        if self.problem is None:
            problem = self._not_numbers(inferred)
            self.problem = problem and problem.at(first_row=first_row)

    def description(self) -> ColumnDescription:
        found = self._described(self.first, self.numeric)
        later_text = found.kind == "number" and found.problem is None and not self.numeric
        return found._replace(
            kind="category" if later_text else found.kind,
            missing=self.n_missing / max(self.n_rows, 1),
            problem=self.problem,
            periods=() if self.dates is None else tuple(self.dates.n_groups.items()),
            no_periods=None if self.dates is None else self.dates.problem,
        )

    def _not_numbers(self, values: Any) -> InputError | None:
        if is_text(values.type):
            text = without_marks(values.cast(pyarrow().string()), self.name, self.read_options)
            looks = look_at_text(text.to_pylist(), self.read_options.decimal)
            return looks.error(self.name, self.read_options)
        if not is_number(values.type):
            return InputError(f"it holds {values.type}, not numbers.", column=self.name)
        return _infinite(values, self.name)


def _infinite(column: Any, name: str) -> InputError | None:
    pa = pyarrow()
    if not pa.types.is_floating(column.type):
        return None
    row = pa.compute.index(pa.compute.is_inf(column), True).as_py()
    if row < 0:
        return None
    return InputError("the number is infinite; correct it or remove the row.", column=name, row=row)


def first_rows(path: str, read_options: ReadOptions) -> list[tuple[int, list[str]]]:
    """The first rows of a file as they stand in it, before anything is made of them.

    Parameters
    ----------
    path : str
    read_options : ReadOptions
        What is known of how it is written.

    Returns
    -------
    list of (int, list of str)
        The number of each row and its cells, cut if they are long or many; empty if rows of such a
        file have no numbers, or if it cannot be read at all.
    """
    try:
        look = {"CSV": csv_top, "Excel": excel_top}.get(format_of(path))
        read_options.checked("")
        rows = look(path, read_options) if look else []
    except (InputError, OSError, EOFError, UnicodeError, zipfile.BadZipFile, zlib.error):
        return []
    return [
        (number, [cell[:_LONGEST_SHOWN] for cell in cells[:_CELLS_SHOWN]]) for number, cells in rows
    ]


def sheet_names(path: str) -> list[str]:
    """List the sheets of a workbook."""
    return list(calamine().CalamineWorkbook.from_path(path).sheet_names)


def _check_size(path: str, limits: FileLimits) -> None:
    """Refuse a file that says itself that it is too large, or that unpacks to a huge one."""
    pa = pyarrow()
    if path.endswith(SUFFIXES["Excel"]):
        # Older ones are not packed.
        with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as parts:
            limits.check(path, unpacked_bytes=sum(part.file_size for part in parts.infolist()))
    elif path.endswith(".parquet"):
        try:
            about = pa.parquet.read_metadata(path)
        except (pa.ArrowException, OSError):
            return  # reading it says what is wrong
        n_bytes = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
        limits.check(path, rows=about.num_rows, columns=about.num_columns, unpacked_bytes=n_bytes)
    else:
        # Counted without keeping what comes out.
        n_bytes = 0
        with unpacked(path) as (stream, file):
            if stream is file:
                return
            try:
                while chunk := stream.read(_CHUNK):
                    n_bytes += len(chunk)
                    limits.check(path, unpacked_bytes=n_bytes)
            except (EOFError, zipfile.BadZipFile, zlib.error, OSError):
                return  # reading it says what is wrong
