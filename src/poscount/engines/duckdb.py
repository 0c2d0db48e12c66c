"""Counting the rows of a DuckDB relation or query, in the batches that DuckDB gives."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from poscount.base.batch_counter import BatchCounter
from poscount.data.rows import BLOCK_ROWS
from poscount.engines.batches import AnyCounts, BatchSource, count_sources
from poscount.files.features import chosen_columns, wanted_columns


def count_relation(counter: BatchCounter, source: Any, *, n_jobs: int = -1) -> AnyCounts:
    """Count a relation, or the rows of a query.

    Parameters
    ----------
    counter : BatchCounter
        Of a model that was fitted on a frame.
    source : DuckDBPyRelation, or pair of a connection or a database file and a query
    n_jobs : int
        Threads that count; DuckDB uses those of the connection.
    """
    with _relation(source) as relation:
        columns = wanted_columns(counter.model, counter.other_columns, relation.columns)
        chosen_columns(relation.columns, None, columns, "the DuckDB relation")
        quoted = ('"' + name.replace('"', '""') + '"' for name in columns)
        rows = relation.select(", ".join(quoted))

        def batches() -> Iterator[Any]:
            reader = rows.to_arrow_reader(BLOCK_ROWS)
            # Nobody else could use the connection while the reader is open.
            with contextlib.closing(reader):
                yield reader.schema.empty_table()
                yield from reader

        return count_sources(counter, [BatchSource.of_batches(batches)], n_jobs=n_jobs)


@contextlib.contextmanager
def _relation(source: Any) -> Iterator[Any]:
    if not isinstance(source, tuple):
        yield source
        return
    place, query = source
    if not isinstance(place, str | os.PathLike):
        yield place.sql(query)
        return
    try:
        import duckdb
    except ImportError as error:
        raise ImportError(
            'Counting in DuckDB needs duckdb: pip install "poscount[duckdb]".'
        ) from error
    with duckdb.connect(os.fspath(place), read_only=True) as connection:
        yield connection.sql(query)
