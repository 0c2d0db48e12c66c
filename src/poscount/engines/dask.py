"""Counting on Dask: workers count partitions or files, and add the counts up in a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from poscount import __version__
from poscount.base.counting import BatchCounter
from poscount.engines.batches import AnyCounts, add_up, in_order
from poscount.engines.clusters import FileTask, check_version, count_partition
from poscount.files.features import chosen_columns, wanted_columns

# One task adds up this many counts.
_WIDTH = 8


def count_collection(counter: BatchCounter, collection: Any, *, explain: bool = False) -> Any:
    """Count a Dask dataframe or array.

    Parameters
    ----------
    counter : BatchCounter
        It is sent to the workers; the rows stay where they are.
    collection : dask.dataframe.DataFrame or dask.array.Array
    explain : bool
        Return the plan as text instead.
    """
    if hasattr(collection, "chunks"):
        if counter.other_columns:
            needs = "Groups need" if counter.by else "A column of weights needs"
            raise TypeError(f"{needs} a dataframe whose columns have names, not an array.")
        # A worker needs whole rows.
        parts = collection.rechunk({1: -1}).to_delayed().ravel().tolist()
    else:
        names = list(collection.columns)
        columns = wanted_columns(counter.model, counter.other_columns, names)
        chosen_columns(names, None, columns, "the Dask dataframe")
        parts = collection[columns].to_delayed()
    if explain:
        return f"Dask counts {len(parts)} partition(s) and adds up {_WIDTH} counts at a time."
    delayed = dask().delayed
    shipped = delayed(counter, traverse=False)
    return in_order(
        _added(
            [
                delayed(_on_worker)(__version__, count_partition, shipped, [part], i)
                for i, part in enumerate(parts)
            ]
        )
    )


def add_files(task: FileTask, files: list[str]) -> AnyCounts:
    """Let the workers count files."""
    delayed = dask().delayed
    shipped = delayed(task, traverse=False)
    return _added(
        [delayed(_on_worker)(__version__, FileTask.count_file, shipped, f) for f in files]
    )


def dask() -> Any:
    """Return the module, or say what to install."""
    try:
        import dask
    except ImportError as error:
        raise ImportError('Counting in Dask needs dask: pip install "poscount[dask]".') from error
    return dask


def _on_worker(sent_by: str, work: Callable[..., AnyCounts], *arguments: Any) -> AnyCounts:
    check_version(sent_by, "Dask")
    return work(*arguments)


def _added(parts: list[Any]) -> AnyCounts:
    while len(parts) > 1:
        bunches = [parts[i : i + _WIDTH] for i in range(0, len(parts), _WIDTH)]
        parts = [dask().delayed(add_up)(bunch) for bunch in bunches]
    return dask().compute(parts[0])[0]
