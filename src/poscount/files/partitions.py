"""Columns that stand in the path of a file, as Hive, Spark and Dask write them: ``night=3/``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import unquote

from poscount.files.arrow import pyarrow

_MISSING = "__HIVE_DEFAULT_PARTITION__"


def partition_values(path: str) -> dict[str, str | None]:
    """Names and values in the folders of a path; the values are text, so that "01" stays "01".

    Examples
    --------
    >>> partition_values("traps/site=north%20gate/night=01/part-0.parquet")
    {'site': 'north gate', 'night': '01'}
    """
    values: dict[str, str | None] = {}
    for folder in os.path.dirname(path).split(os.sep):
        name, equals, value = folder.partition("=")
        if name and equals:
            values[unquote(name)] = None if value == _MISSING else unquote(value)
    return values


def with_partitions(
    batches: Iterable[Any], columns: Sequence[str] | None, partitions: dict[str, str | None]
) -> Iterator[Any]:
    """Add to each batch those of the wanted columns that it does not have."""
    for batch in batches:
        missing = [name for name in partitions if name not in batch.schema.names]
        if not missing or columns is None:
            yield batch
            continue
        for name in missing:
            value = pyarrow().scalar(partitions[name], pyarrow().string())
            batch = batch.append_column(name, pyarrow().repeat(value, batch.num_rows))
        yield batch.select(list(dict.fromkeys(columns)))
