"""From files to rows to be labelled, to what their labels say, and to the likeliest rows."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from poscount.auditing.batches import Batch, Source
from poscount.auditing.label_table import (
    FILE,
    ID,
    LABEL,
    earlier_labels,
    label_table,
    read_label_table,
)
from poscount.auditing.likely import likely_rows
from poscount.auditing.sampling import draw
from poscount.auditing.settlement import Settlement, settle_sample
from poscount.base.quantifier import Quantifier
from poscount.data.validation import as_frame_with_names
from poscount.engines.count_files import BytesRead
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.features import model_columns
from poscount.files.reading import expand, read_batches, read_table
from poscount.seeds import RandomState, seed_of
from poscount.storage.writer import csv_writer, write_whole
from poscount.workflows.estimates import COUNTS_SUFFIX, Watch, unwatched


class ListedRows(NamedTuple):
    """Rows of files, with columns about them; and how many rows there are in all.

    Parameters
    ----------
    table : pyarrow.Table
    n_rows : int
    """

    table: Any
    n_rows: int

    def record(self) -> dict[str, Any]:
        """Names of the columns and rows of cells, in types that JSON has; dates are text."""
        columns = [[_plain(value) for value in column.to_pylist()] for column in self.table.columns]
        rows = [list(row) for row in zip(*columns, strict=True)]
        return {"columns": self.table.column_names, "rows": rows, "n_rows": self.n_rows}

    def with_file_names(self, names: Mapping[str, str]) -> ListedRows:
        """The same rows, whose files are called otherwise."""
        at = self.table.column_names.index(FILE)
        files = [names.get(file, file) for file in self.table[FILE].to_pylist()]
        column = pyarrow().array(files, pyarrow().string())
        return self._replace(table=self.table.set_column(at, FILE, column))

    def with_labels(self, labels: Mapping[str, str | bool | None]) -> ListedRows:
        """The same rows with labels, given by the values of their column audit_id.

        Examples
        --------
        >>> import pyarrow as pa
        >>> rows = ListedRows(pa.table({"label": [None, None], "audit_id": ["r1-0", "r2-0"]}), 9)
        >>> rows.with_labels({"r2-0": "yes"}).table["label"].to_pylist()
        [None, 'yes']
        """
        ids = self.table[ID].to_pylist()
        for row in labels:
            if row not in ids:
                raise InputError(f"{row!r} is none of the rows to be labelled.", column=ID)
        given = [labels.get(row) for row in ids]
        texts = [None if label is None else str(label) for label in given]
        at = self.table.column_names.index(LABEL)
        column = pyarrow().array(texts, pyarrow().string())
        return self._replace(table=self.table.set_column(at, LABEL, column))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file, completely or not at all."""
        write_rows(self.table, path)


def audit(
    model: Quantifier,
    paths: Sequence[str],
    n: int = 100,
    *,
    random_state: RandomState = 0,
    labelled: str | None = None,
    csv_format: CsvFormat = DEFAULT_CSV,
    watch: Watch = unwatched,
) -> ListedRows:
    """Choose rows of files to be labelled, in two passes over them.

    Parameters
    ----------
    model : Quantifier
        A reusable one.
    paths : sequence of str
        Files of rows, globs or directories.
    n, random_state
        As in `poscount.audit`.
    labelled : str, optional
        An earlier file of the same model, rows and seed, whose labels are filled in.
    csv_format : CsvFormat
        How the files of rows are written.
    watch : callable
        As in `quantify`; each pass has a progress of its own.

    Returns
    -------
    ListedRows
        The column "label" is empty, or has earlier labels; `poscount.audit` describes the others.
    """
    seed = seed_of(random_state)
    source = _source(model, paths, (), csv_format, watch)
    earlier = {}
    if labelled is not None:
        try:
            earlier = earlier_labels(_read_labels(labelled), model, seed)
        except InputError as error:
            raise error.at(file=labelled) from error
    drawn = draw(model, source, n, seed)
    table = label_table(drawn, model, n, seed, earlier)
    return ListedRows(table.to_native(), drawn.prevalence.n_unlabeled)


def settle(
    model: Quantifier,
    paths: Sequence[str],
    labelled: str | ListedRows,
    *,
    csv_format: CsvFormat = DEFAULT_CSV,
    watch: Watch = unwatched,
) -> Settlement:
    """Turn labels of rows of files into a prevalence.

    Parameters
    ----------
    model : Quantifier
        The one that the rows were drawn with.
    paths : sequence of str
        The files that they were drawn from.
    labelled : str or ListedRows
        A CSV or Excel file with labels, or what `audit` returned, with labels.
    csv_format, watch
        As in `audit`.

    Returns
    -------
    Settlement
        `Settlement.to_dict` has what JSON takes.
    """
    source = _source(model, paths, (), csv_format, watch)
    name = labelled if isinstance(labelled, str) else None
    frame = (
        _read_labels(labelled) if isinstance(labelled, str) else as_frame_with_names(labelled.table)
    )
    try:
        table = read_label_table(frame, model)
    except InputError as error:
        raise error.at(file=name) from error
    # Errors in here are about the rows, and name their file.
    drawn = draw(model, source, table.size, table.seed)
    try:
        return settle_sample(drawn, table)
    except InputError as error:
        raise error.at(file=name) from error


def likely_positives(
    model: Quantifier,
    paths: Sequence[str],
    top: int = 200,
    *,
    by: Sequence[str] = (),
    csv_format: CsvFormat = DEFAULT_CSV,
    watch: Watch = unwatched,
) -> ListedRows:
    """List the rows of files that are most likely positive, as `poscount.likely_positives` does."""
    source = _source(model, paths, by, csv_format, watch)
    table = likely_rows(model, source, top, by)
    return ListedRows(table.to_native(), len(table))


def write_rows(table: Any, path: str | os.PathLike[str]) -> None:
    """Write the rows of a table to a CSV file, completely or not at all."""
    if not os.fspath(path).lower().endswith(".csv"):
        raise InputError(
            "rows are written as CSV; give the file a name that ends in .csv.", file=os.fspath(path)
        )
    text = io.StringIO(newline="")
    writer = csv_writer(text)
    writer.writerow(table.column_names)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        writer.writerow([_plain(value) for value in row])
    write_whole(path, text.getvalue().encode())


def _plain(value: Any) -> Any:
    """A value as JSON and CSV have it: whole numbers without a fraction, dates as text."""
    if isinstance(value, float):
        if value != value:
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def _read_labels(path: str) -> Any:
    # Everything as text, because a spreadsheet may have changed the type of a column.
    return as_frame_with_names(read_table(path, numeric=()))


def _source(
    model: Quantifier,
    paths: Sequence[str],
    by: Sequence[str],
    csv_format: CsvFormat,
    watch: Watch,
) -> Source:
    """All rows of files with all their columns, as often as they are asked for."""
    files = expand(paths)
    # Without names of columns there is nothing to look for in files.
    model_columns(model)
    for file in files:
        if file == "-":
            raise InputError(
                "rows are read twice, but standard input only once: save it to a file.", file=file
            )
        if file.endswith(COUNTS_SUFFIX):
            raise InputError("a counts file has no rows; give the data instead.", file=file)

    def batches() -> Iterator[Batch]:
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        with watch(f"{files[0]}{more}") as progress:
            read_so_far = BytesRead(files, progress)
            for file in files:
                row = 0
                for batch in read_batches(
                    file,
                    numeric=model.numeric_features_,
                    by=by,
                    csv_format=csv_format,
                    progress=read_so_far.progress_of(file),
                ):
                    yield Batch(as_frame_with_names(batch), file, row)
                    row += batch.num_rows
                read_so_far.finish(file)

    return batches
