"""Some rows of files too large for memory, drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from poscount.base import Quantifier
from poscount.files.arrow import pyarrow
from poscount.files.features import wanted_columns
from poscount.files.reading import expand, read_batches
from poscount.seeds import stream


class SomeRows(NamedTuple):
    """A table, and of how many rows it was drawn."""

    table: Any
    n_rows: int


def some_rows(
    model: Quantifier, paths: Sequence[str], most: int, *, seed: int, layout: dict[str, Any]
) -> SomeRows:
    """Read the columns that a model knows: all rows, or so many at random, in their order.

    Every row gets a random number, and those with the smallest are kept: the choice does not
    depend on batches, and memory not on the size of the files.

    Examples
    --------
    >>> from poscount import PAT
    >>> from poscount.datasets import example_path, load_example
    >>> model = PAT(random_state=0).fit(load_example().positives)
    >>> table, n = some_rows(model, [str(example_path("trap.csv.gz"))], 100, seed=0, layout={})
    >>> table.num_rows, n
    (100, 8070)
    """
    pa = pyarrow()
    draw = stream(seed, "some rows")
    kept, numbers, n_rows = None, np.empty(0), 0
    for file in expand(paths):
        for batch in read_batches(
            file, columns=wanted_columns(model, ()), numeric=model.numeric_features_, **layout
        ):
            n_rows += batch.num_rows
            tables = [pa.Table.from_batches([batch])]
            tables = tables if kept is None else [kept, *tables]
            kept = pa.concat_tables(tables, promote_options="permissive")
            numbers = np.append(numbers, draw.random(batch.num_rows))
            if len(numbers) > most:
                chosen = np.sort(np.argpartition(numbers, most)[:most])
                kept, numbers = kept.take(chosen), numbers[chosen]
    return SomeRows(kept, n_rows)
