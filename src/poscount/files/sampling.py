"""The rows of files that a model looks at: all of them, or some drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from poscount.base import Quantifier
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


def sample_rows_from_files(
    model: Quantifier,
    files: Sequence[str],
    most: int,
    *,
    seed: int,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> SampledRows:
    """Read the columns that a model was fitted on: all rows, or `most` drawn at random.

    The rows keep their order. Every row gets a random number, and those with the smallest are
    kept, so the choice does not depend on how the rows are spread over files, nor does memory on
    the size of the files.

    Examples
    --------
    >>> from poscount import PAT
    >>> from poscount.datasets import example_path, load_example
    >>> model = PAT(random_state=0).fit(load_example().positives)
    >>> table, n = sample_rows_from_files(model, [str(example_path("trap.csv.gz"))], 100, seed=0)
    >>> table.num_rows, n
    (100, 8070)
    """
    pa = pyarrow()
    draw = stream(seed, "some rows")
    kept, numbers, n_rows = None, np.empty(0), 0
    columns = model_columns(model)
    for file in files:
        for batch in read_batches(
            file, columns=columns, numeric=model.numeric_features_, csv_format=csv_format
        ):
            n_rows += batch.num_rows
            tables = [pa.Table.from_batches([batch])]
            tables = tables if kept is None else [kept, *tables]
            try:
                kept = pa.concat_tables(tables, promote_options="permissive")
            except pa.ArrowException as error:
                raise InputError(
                    "a column does not have the same type as in the files before.", file=file
                ) from error
            numbers = np.append(numbers, draw.random(batch.num_rows))
            if len(numbers) > most:
                chosen = np.sort(np.argpartition(numbers, most)[:most])
                kept, numbers = kept.take(chosen), numbers[chosen]
    return SampledRows(kept, n_rows)
