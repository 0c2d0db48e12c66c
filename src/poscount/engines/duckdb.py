"""Counting in DuckDB: in SQL where that is faster, and otherwise in the batches that it gives."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from poscount.base.counting import BatchCounter
from poscount.data.grouping import period_of
from poscount.data.rows import BLOCK_ROWS
from poscount.engines.batches import AnyCounts, BatchSource, add_up, count_sources, in_order
from poscount.engines.count_files import count_files
from poscount.engines.score_sql import ScoreSQL, quoted, score_sql
from poscount.errors import InputError
from poscount.files.added_columns import partition_values
from poscount.files.arrow import pyarrow
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.features import chosen_columns, model_columns, wanted_columns
from poscount.files.remote import is_url

# With more features, batches are faster than SQL (benchmarks/speed/engines.py push-down).
MOST_SQL_FEATURES = 4

# As DOUBLE, values of these types are those that numpy gets.
_EXACT = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("FLOAT", "DOUBLE", "BOOLEAN"),
}


def count_relation(
    counter: BatchCounter, source: Any, *, n_jobs: int = -1, explain: bool = False
) -> Any:
    """Count a relation, or the rows of a query.

    Parameters
    ----------
    counter : BatchCounter
        Of a model that was fitted on a frame.
    source : DuckDBPyRelation, or pair of a connection or a database file and a query
    n_jobs : int
        Threads that count batches; SQL uses those of the connection.
    explain : bool
        Return the plan as text instead.
    """
    with _relation(source) as relation:
        columns = wanted_columns(counter.model, counter.other_columns, relation.columns)
        chosen_columns(relation.columns, None, columns, "the DuckDB relation")
        sql = _pushed_down(counter, relation)
        if explain:
            return _explanation(relation, columns, counter.by, sql)
        counts = None if sql is None else _count_in_sql(counter, relation, columns, sql)
        # Batches find and name whatever SQL cannot count, such as a missing value.
        return counts or count_batches(counter, relation, columns, n_jobs=n_jobs)


def count_parquet(
    counter: BatchCounter,
    files: Sequence[str],
    *,
    skip: bool = False,
    n_jobs: int = -1,
    explain: bool = False,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> Any:
    """Count Parquet files that DuckDB reads; `files` and `skip` are as in `count_files`.

    If DuckDB cannot read the files, or might read them differently, `count_files` does it, and
    its errors name the file and the row.
    """
    if not all(file.lower().endswith(".parquet") for file in files):
        raise InputError(
            "DuckDB reads only Parquet files here, and some of these have another format.",
            option="engine",
            leave_out=True,
        )
    # Dates in text, signs of missing values, and URLs, for which DuckDB would fetch an extension,
    # are read here.
    plain = not (csv_format.na or any(map(period_of, counter.by)) or any(map(is_url, files)))
    with duckdb().connect(config={"threads": effective_n_jobs(n_jobs)}) as connection:
        wanted = wanted_columns(counter.model, counter.other_columns)
        if plain and _have_same_columns(files, wanted):
            names = ", ".join(
                "'" + file.replace("'", "''") + "'" for file in map(glob.escape, files)
            )
            hive = "hive_partitioning = true, hive_types_autocast = false"
            query = f"SELECT * FROM read_parquet([{names}], {hive})"
            # An Arrow reader turns an error inside DuckDB into an OSError.
            with contextlib.suppress(duckdb().Error, InputError, OSError):
                return count_relation(counter, (connection, query), n_jobs=n_jobs, explain=explain)
    if explain:
        return "DuckDB might read the files differently: poscount reads them itself."
    return count_files(counter, files, skip=skip, n_jobs=n_jobs, csv_format=csv_format)


def _have_same_columns(files: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether all files have these columns, of the same types, in them or in their paths."""
    pa = pyarrow()
    seen = set()
    for file in files:
        try:
            schema = pa.parquet.read_schema(file)
        except (pa.ArrowException, OSError):
            return False
        partitions = partition_values(file)
        inside = [name in schema.names for name in columns]
        # DuckDB takes a column that is in both from the path.
        if any(
            schema.names.count(name) > 1 or here == (name in partitions)
            for name, here in zip(columns, inside, strict=True)
        ):
            return False
        kinds = [
            schema.field(name).type for name, here in zip(columns, inside, strict=True) if here
        ]
        seen.add((tuple(inside), tuple(kinds)))
    return len(seen) == 1


def count_batches(
    counter: BatchCounter, relation: Any, columns: Sequence[str], *, n_jobs: int = -1
) -> AnyCounts:
    """Count the rows of a relation in batches."""
    rows = relation.select(", ".join(map(quoted, columns)))

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
    with duckdb().connect(os.fspath(place), read_only=True) as connection:
        yield connection.sql(query)


def duckdb() -> Any:
    """Return the module, or say what to install."""
    try:
        import duckdb
    except ImportError as error:
        raise ImportError(
            'Counting in DuckDB needs duckdb: pip install "poscount[duckdb]".'
        ) from error
    return duckdb


# In SQL


def _pushed_down(counter: BatchCounter, relation: Any) -> ScoreSQL | None:
    features = model_columns(counter.model)
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    if len(features) > MOST_SQL_FEATURES or not {kinds[name] for name in features} <= _EXACT:
        return None
    if counter.weights is not None:
        return None
    if not set(counter.by) <= set(relation.columns):
        return None  # periods of time
    if any(kinds[name].endswith(("]", ")")) for name in counter.by):
        return None  # lists, structs and others that are refused in batches
    return score_sql(counter.model, features)


def _count_in_sql(
    counter: BatchCounter, relation: Any, columns: Sequence[str], sql: ScoreSQL
) -> AnyCounts | None:
    """Count in SQL; None if there is a value that SQL cannot count."""
    found = relation.query("source", sql.histogram_query(counter.by)).to_arrow_table()
    bad, bins = found["bad"], found["bins"].combine_chunks()
    if len(found) == 0 or bins.null_count or sum(bad.to_pylist()):
        return None
    # DuckDB's groups have the zero that came first, which may be negative.
    keys = [[_plain_zero(key) for key in found[name].to_pylist()] for name in counter.by]
    if any(key != key for column in keys for key in column):
        return None  # NaN and null are one group
    table = bins.flatten().to_numpy().astype(np.int64).reshape(len(found), len(sql.bounds))
    cells = np.zeros((len(found), counter.n_cells), np.int64)
    sure = sql.cells >= 0
    cells[:, sql.cells[sure]] = table[:, sure]
    counts = counter.counts_of(list(zip(*keys, strict=True)), cells, cells.sum(axis=1))
    n_doubtful = int(table[:, ~sure].sum())
    if not n_doubtful:
        return in_order(counts)
    doubtful = relation.query("source", sql.doubtful_query(columns))
    rest = count_batches(counter, doubtful, columns, n_jobs=1)
    if int(np.sum(rest.n)) != n_doubtful:
        return None  # the table has changed meanwhile, or the query is nondeterministic
    return in_order(add_up([counts, rest]))


def _plain_zero(value: Any) -> Any:
    return 0.0 if isinstance(value, float) and value == 0 else value


def _explanation(
    relation: Any, columns: Sequence[str], by: Sequence[str], sql: ScoreSQL | None
) -> str:
    view = f"WITH source AS (\n{relation.sql_query()}\n)\n"
    if sql is not None:
        return f"DuckDB counts in SQL:\n{view}{sql.histogram_query(by)}"
    chosen = ", ".join(map(quoted, columns))
    return f"DuckDB hands out batches, which are counted here:\n{view}SELECT {chosen} FROM source"
