"""Some of many rows, drawn at random while they are read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.seeds import stream


class SampledRows(NamedTuple):
    """A table, and the number of rows that it was drawn from."""

    table: Any
    n_rows: int

    @property
    def complete(self) -> bool:
        """Whether the table holds all rows."""
        return self.table.num_rows == self.n_rows


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
