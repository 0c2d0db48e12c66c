"""The rows of files that a model looks at: all of them, or some drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from poscount.base.quantifier import Quantifier
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.features import model_columns
from poscount.files.reading import FileRows, read_batches, read_files
from poscount.seeds import stream


class SampledRows(NamedTuple):
    """A table, and the number of rows that it was drawn from."""

    table: Any
    n_rows: int

    @property
    def complete(self) -> bool:
        """Whether the table holds all rows."""
        return self.table.num_rows == self.n_rows


def read_rows(
    model: Quantifier,
    files: Sequence[str],
    *,
    by: Sequence[str] = (),
    csv_format: CsvFormat = DEFAULT_CSV,
) -> FileRows:
    """Read all rows of the columns that a model was fitted on, and of those to group by."""
    return read_files(
        files,
        columns=model_columns(model),
        numeric=model.numeric_features_,
        by=by,
        csv_format=csv_format,
    )


class RowSample:
    """All rows of batches, or `most` of them drawn at random; fed batch by batch.

    The rows keep their order. Every row gets a random number, and those with the smallest are
    kept, so the choice does not depend on how the rows are spread over batches, nor does memory on
    their number.

    Examples
    --------
    >>> import pyarrow as pa
    >>> sample = RowSample(2, seed=0)
    >>> for start in (0, 3):
    ...     sample.add(pa.record_batch({"a": [start, start + 1, start + 2]}))
    >>> sample.rows().table.num_rows, sample.rows().n_rows
    (2, 6)
    """

    def __init__(self, most: int, *, seed: int) -> None:
        self.most, self.n_rows = most, 0
        self._draw = stream(seed, "some rows")
        self._kept: Any = None
        self._numbers = np.empty(0)

    def add(self, batch: Any) -> None:
        """Look at the next rows."""
        pa = pyarrow()
        self.n_rows += batch.num_rows
        tables = [pa.Table.from_batches([batch])]
        tables = tables if self._kept is None else [self._kept, *tables]
        try:
            self._kept = pa.concat_tables(tables, promote_options="permissive")
        except pa.ArrowException as error:
            raise InputError(
                "a column does not have the same type as in the files before."
            ) from error
        self._numbers = np.append(self._numbers, self._draw.random(batch.num_rows))
        if len(self._numbers) > self.most:
            chosen = np.sort(np.argpartition(self._numbers, self.most)[: self.most])
            self._kept, self._numbers = self._kept.take(chosen), self._numbers[chosen]

    def rows(self) -> SampledRows:
        """What was drawn of the rows so far."""
        return SampledRows(self._kept, self.n_rows)


def sample_rows_from_files(
    model: Quantifier,
    files: Sequence[str],
    most: int,
    *,
    seed: int,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> SampledRows:
    """Read the columns that a model was fitted on: all rows, or `most` drawn at random.

    They are drawn as `RowSample` draws them.

    Examples
    --------
    >>> from poscount import PAT
    >>> from poscount.example import example_path, load_example
    >>> model = PAT(random_state=0).fit(load_example().positives)
    >>> table, n = sample_rows_from_files(model, [str(example_path("trap.csv.gz"))], 100, seed=0)
    >>> table.num_rows, n
    (100, 8070)
    """
    sample = RowSample(most, seed=seed)
    columns = model_columns(model)
    for file in files:
        for batch in read_batches(
            file, columns=columns, numeric=model.numeric_features_, csv_format=csv_format
        ):
            try:
                sample.add(batch)
            except InputError as error:
                raise error.at(file=file) from error
    return sample.rows()
