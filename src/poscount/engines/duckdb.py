"""Counting in DuckDB: by SQL where that is faster, otherwise by batches that it hands out."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from poscount.base import CountingQuantifier
from poscount.counts import Counts, GroupedCounts
from poscount.engines.batches import (
    AnyCounts,
    Source,
    add_up,
    count_sources,
    in_order,
)
from poscount.engines.count_files import count_files
from poscount.engines.score_sql import ScoreSQL, literal, quoted, score_sql
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.csv import DEFAULT_CSV, CsvFormat
from poscount.files.features import chosen_columns, model_columns, wanted_columns
from poscount.files.reading import partition_values
from poscount.validation import BLOCK_ROWS

# Up to so many features SQL takes no more time (benchmarks/engines.py push-down).
MOST_FEATURES = 4

# Their values as DOUBLE are those that numpy gets.
_EXACT = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("FLOAT", "DOUBLE", "BOOLEAN"),
}


def count_relation(
    model: CountingQuantifier,
    source: Any,
    by: Sequence[str],
    *,
    n_jobs: int = -1,
    explain: bool = False,
) -> Any:
    """Count a relation, or the rows of a query.

    Parameters
    ----------
    model : CountingQuantifier
        Fitted on a frame.
    source : DuckDBPyRelation, or pair of a connection or a database file and a query
    by : sequence of str
        Grouping columns.
    n_jobs : int
        Threads that count batches; SQL uses those of the connection.
    explain : bool
        Give the plan as text instead.
    """
    with _relation(source) as relation:
        chosen_columns(relation.columns, None, wanted_columns(model, by), "the DuckDB relation")
        sql = _push_down(model, relation)
        if explain:
            return _explanation(model, relation, by, sql)
        counts = None if sql is None else _count_in_sql(model, relation, by, sql)
        # Whatever SQL cannot answer, a missing value above all, is found and named there.
        return counts or count_batches(model, relation, by, n_jobs=n_jobs)


def count_parquet(
    model: CountingQuantifier,
    files: Sequence[str],
    by: Sequence[str],
    *,
    skip: bool = False,
    n_jobs: int = -1,
    explain: bool = False,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> Any:
    """Count Parquet files that DuckDB reads; `files` and `skip` as in `count_files`.

    Where DuckDB could answer otherwise than `count_files`, or not at all, that one does it: it
    knows the file and the row of every error.
    """
    if not all(file.lower().endswith(".parquet") for file in files):
        raise ValueError("DuckDB reads Parquet files here; leave the engine out for others.")
    with duckdb().connect(config={"threads": effective_n_jobs(n_jobs)}) as connection:
        if _alike(files, wanted_columns(model, by)):
            names = ", ".join(
                "'" + file.replace("'", "''") + "'" for file in map(glob.escape, files)
            )
            hive = "hive_partitioning = true, hive_types_autocast = false"
            query = f"SELECT * FROM read_parquet([{names}], {hive})"
            # An error inside DuckDB comes out of an Arrow reader as one of the system.
            with contextlib.suppress(duckdb().Error, InputError, OSError):
                return count_relation(
                    model, (connection, query), by, n_jobs=n_jobs, explain=explain
                )
    if explain:
        return "The files differ, or cannot be read by DuckDB: poscount reads them itself."
    return count_files(model, files, by, skip=skip, n_jobs=n_jobs, csv_format=csv_format)


def _text(file: str) -> str:
    return "'" + glob.escape(file).replace("'", "''") + "'"


def _alike(files: Sequence[str], columns: Sequence[str]) -> bool:
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
    model: CountingQuantifier, relation: Any, by: Sequence[str], *, n_jobs: int = -1
) -> AnyCounts:
    """Count the rows of a relation in batches."""
    rows = relation.select(", ".join(map(quoted, wanted_columns(model, by))))

    def tables() -> Iterator[Any]:
        pa = pyarrow()
        reader = rows.to_arrow_reader(BLOCK_ROWS)
        # An open reader would keep the connection to itself.
        with contextlib.closing(reader):
            yield reader.schema.empty_table()
            for batch in reader:
                yield pa.Table.from_batches([batch])

    return count_sources(model, [Source(None, tables)], by, n_jobs=n_jobs)


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
    """Give the module, or say what to install."""
    try:
        import duckdb
    except ImportError as error:
        raise ImportError(
            'Counting in DuckDB needs duckdb: pip install "poscount[duckdb]".'
        ) from error
    return duckdb


def _push_down(model: CountingQuantifier, relation: Any) -> ScoreSQL | None:
    features = model_columns(model)
    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    if len(features) > MOST_FEATURES or not {kinds[name] for name in features} <= _EXACT:
        return None
    return score_sql(model, features)


# In SQL


def _scored(sql: ScoreSQL, columns: Sequence[str]) -> str:
    """Subquery that adds the squared distance ``s2`` and the flag ``bad`` to some columns."""
    kept = "".join(f"{quoted(name)}, " for name in columns)
    centred = ", ".join(f"{text} AS c{i}" for i, text in enumerate(sql.centred))
    white = ", ".join(f"{text} AS z{j}" for j, text in enumerate(sql.white))
    # What overflows is far away; NaN would be sorted into the first bin.
    square = "CASE WHEN isfinite(s) THEN s ELSE 'inf'::DOUBLE END"
    return (
        f"(SELECT {kept}bad, {square} AS s2 FROM\n"
        f"  (SELECT {kept}bad, {sql.squared} AS s FROM\n"
        f"    (SELECT {kept}bad, {white} FROM\n"
        f"      (SELECT {kept}({sql.finite}) IS NOT TRUE AS bad, {centred} FROM source))))"
    )


def _histogram_query(sql: ScoreSQL, by: Sequence[str]) -> str:
    keys = "".join(f"{quoted(name)}, " for name in by)
    bounds = ", ".join(map(literal, sql.bounds))
    groups = f"\nGROUP BY {keys.removesuffix(', ')}" if by else ""
    return (
        f"SELECT {keys}count(*) FILTER (bad) AS bad,\n"
        f"  map_values(histogram(s2, [{bounds}])) AS bins\n"
        f"FROM {_scored(sql, by)}{groups}"
    )


def _doubtful_query(sql: ScoreSQL, columns: Sequence[str]) -> str:
    bands = [
        f"s2 > {literal(sql.bounds[i - 1])} AND s2 <= {literal(sql.bounds[i])}"
        for i in np.flatnonzero(sql.cells < 0)
    ]
    kept = ", ".join(map(quoted, columns))
    return f"SELECT {kept} FROM {_scored(sql, columns)}\nWHERE {' OR '.join(bands)}"


def _count_in_sql(
    model: CountingQuantifier, relation: Any, by: Sequence[str], sql: ScoreSQL
) -> AnyCounts | None:
    """Count by SQL; None if there is a value that needs a closer look."""
    found = relation.query("source", _histogram_query(sql, by)).to_arrow_table()
    bad, bins = found["bad"], found["bins"].combine_chunks()
    if len(found) == 0 or bins.null_count or sum(bad.to_pylist()):
        return None
    keys = [found[name].to_pylist() for name in by]
    if any(key is None or key != key for column in keys for key in column):
        return None
    table = bins.flatten().to_numpy().astype(np.int64).reshape(len(found), len(sql.bounds))
    cells = np.zeros((len(found), int(sql.cells[0]) + 1), np.int64)
    sure = sql.cells >= 0
    cells[:, sql.cells[sure]] = table[:, sure]
    counts = _counts(model, by, list(zip(*keys, strict=True)), cells)
    doubtful = int(table[:, ~sure].sum())
    if not doubtful:
        return in_order(counts)
    rest = relation.query("source", _doubtful_query(sql, wanted_columns(model, by)))
    looked_at = count_batches(model, rest, by, n_jobs=1)
    if int(np.sum(looked_at.n)) != doubtful:
        return None  # the table has changed meanwhile, or the query is a draw of lots
    return in_order(add_up([counts, looked_at]))


def _counts(
    model: CountingQuantifier, by: Sequence[str], keys: list[tuple], cells: np.ndarray
) -> AnyCounts:
    n = cells.sum(axis=1)
    if by:
        return GroupedCounts(tuple(by), keys, cells, n, model.hash_)
    return Counts(cells[0], int(n[0]), model.hash_)


def _explanation(
    model: CountingQuantifier, relation: Any, by: Sequence[str], sql: ScoreSQL | None
) -> str:
    view = f"WITH source AS (\n{relation.sql_query()}\n)\n"
    if sql is not None:
        return f"DuckDB counts in SQL:\n{view}{_histogram_query(sql, by)}"
    columns = ", ".join(map(quoted, wanted_columns(model, by)))
    return f"DuckDB hands out batches, which are counted here:\n{view}SELECT {columns} FROM source"
