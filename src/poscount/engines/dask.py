"""Counting on Dask: workers count partitions or files, and add them up in a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from poscount import __version__
from poscount.base import CountingQuantifier
from poscount.engines.batches import (
    AnyCounts,
    add_up,
    at_place,
    count_batch,
    in_order,
)
from poscount.engines.count_files import FilePart, FileTask, merge_parts
from poscount.engines.versions import check_version
from poscount.errors import InputError
from poscount.files.features import chosen_columns, wanted_columns

# So many sums are added by one task.
_WIDTH = 8


def count_collection(
    model: CountingQuantifier, collection: Any, by: Sequence[str], *, explain: bool = False
) -> Any:
    """Count a Dask dataframe or array.

    Parameters
    ----------
    model : CountingQuantifier
        It is sent to the workers, the rows stay where they are.
    collection : dask.dataframe.DataFrame or dask.array.Array
    by : sequence of str
        Grouping columns.
    explain : bool
        Give the plan as text instead.
    """
    if hasattr(collection, "chunks"):
        if by:
            raise TypeError("Groups need a dataframe whose columns have names, not an array.")
        # A worker needs whole rows.
        parts = collection.rechunk({1: -1}).to_delayed().ravel().tolist()
    else:
        columns = wanted_columns(model, by)
        chosen_columns(list(collection.columns), None, columns, "the Dask dataframe")
        parts = collection[columns].to_delayed()
    if explain:
        return f"Dask counts {len(parts)} partition(s) and adds {_WIDTH} sums at a time up."
    delayed = dask().delayed
    shipped = delayed(model, traverse=False)
    counted = [
        delayed(_count_partition)(shipped, part, tuple(by), i, __version__)
        for i, part in enumerate(parts)
    ]
    return in_order(dask().compute(_tree(counted, add_up))[0])


def add_files(task: FileTask, files: list[str]) -> FilePart:
    """Let the workers count files."""
    delayed = dask().delayed
    shipped = delayed(task, traverse=False)
    counted = [delayed(_count_file)(shipped, file, __version__) for file in files]
    return dask().compute(_tree(counted, merge_parts))[0]


def dask() -> Any:
    """Give the module, or say what to install."""
    try:
        import dask
    except ImportError as error:
        raise ImportError('Counting in Dask needs dask: pip install "poscount[dask]".') from error
    return dask


def _tree(parts: list[Any], combine: Callable[[list[Any]], Any]) -> Any:
    while len(parts) > 1:
        bunches = [parts[i : i + _WIDTH] for i in range(0, len(parts), _WIDTH)]
        parts = [dask().delayed(combine)(bunch) for bunch in bunches]
    return parts[0]


def _count_partition(
    model: CountingQuantifier, data: Any, by: tuple[str, ...], number: int, version: str
) -> AnyCounts:
    check_version(version, "Dask")
    try:
        return count_batch(model, data, by)
    except InputError as error:
        raise at_place(error, f"partition {number}") from error


def _count_file(task: FileTask, file: str, version: str) -> FilePart:
    check_version(version, "Dask")
    return task.count_file(file)
