"""Columns that a file itself does not have: values in its path, and periods of time.

Hive, Spark and Dask write values into paths: ``traps/night=3/part-0.parquet``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

import numpy as np

from poscount.data.grouping import group_column, periods, times_in_text
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.features import is_text

_MISSING_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def partition_values(path: str) -> dict[str, str | None]:
    """Names and values in the folders of a path; the values are text, so "01" stays "01".

    Examples
    --------
    >>> partition_values("traps/site=north%20gate/night=01/part-0.parquet")
    {'site': 'north gate', 'night': '01'}
    """
    values: dict[str, str | None] = {}
    for folder in os.path.dirname(path).split(os.sep):
        name, equals, value = folder.partition("=")
        if name and equals:
            values[unquote(name)] = None if value == _MISSING_PARTITION else unquote(value)
    return values


def with_partitions(batch: Any, partitions: dict[str, str | None]) -> Any:
    """Add the columns that are in the path and not in the batch."""
    for name, text in partitions.items():
        if name not in batch.schema.names:
            value = pyarrow().scalar(text, pyarrow().string())
            batch = batch.append_column(name, pyarrow().repeat(value, batch.num_rows))
    return batch


def with_periods(
    batch: Any,
    by: Sequence[str],
    chosen: list[str] | None,
    day_first: bool | None,
    source: str,
) -> Any:
    """Add the groups that are periods of time, and take the chosen columns in their order."""
    wanted = batch.schema.names if chosen is None else list(chosen)
    for group in (group_column(label, batch.schema.names) for label in by):
        if group.period is None or not is_text(batch.schema.field(group.column).type):
            continue  # a column with times says by itself what they are
        try:
            encoded = distinct_cells(batch[group.column])
            times = distinct_times(encoded, group.column, group.period, day_first)
        except InputError as error:
            raise error.at(file=source) from error
        labels = pyarrow().array(periods(times, group.period), pyarrow().string())
        batch = batch.append_column(group.label, labels.take(encoded.indices))
        wanted.append(group.label)
    return batch.select(wanted)


def distinct_cells(column: Any) -> Any:
    """A column of text as a dictionary, which has each different cell once."""
    if pyarrow().types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.dictionary_encode()


def distinct_times(encoded: Any, column: str, period: str, day_first: bool | None) -> np.ndarray:
    """The times in the different cells of a column.

    Raises
    ------
    InputError
        A cell is no date or, if the `period` is an hour, has no time; with the first such row.
    """
    pa = pyarrow()
    cells = encoded.dictionary
    shortest = pa.compute.min(pa.compute.utf8_length(cells)).as_py() or 0
    try:
        if period == "hour" and shortest <= len("2026-02-09"):
            raise pa.ArrowInvalid("there may be no time of day")
        # The form of ISO needs no Python for each cell.
        return cells.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        try:
            return times_in_text(cells.to_pylist(), column, period, day_first)
        except InputError as error:
            cell = error.row or 0
            row = pa.compute.index(encoded.indices, pa.scalar(cell, pa.int32())).as_py()
            raise error.at(first_row=row - cell) from error
