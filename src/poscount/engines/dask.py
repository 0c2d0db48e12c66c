"""Counting on Dask: workers count partitions or files, and add the counts up in a tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from poscount import __version__
from poscount.base.batch_counter import BatchCounter
from poscount.engines.batches import AnyCounts, add_up, check_version, count_partition, in_order
from poscount.engines.count_files import count_file
from poscount.files.features import chosen_columns, wanted_columns
from poscount.files.read_options import ReadOptions

# One task adds up this many counts.
_WIDTH = 8


def count_collection(counter: BatchCounter, collection: Any) -> AnyCounts:
    """Count a Dask dataframe or array; the rows stay where they are.

    Parameters
    ----------
    counter : BatchCounter
        It is sent to the workers.
    collection : dask.dataframe.DataFrame or dask.array.Array
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
    return _total(count_partition, counter, [([part], i) for i, part in enumerate(parts)])


def count_files(
    counter: BatchCounter, files: Sequence[str], read_options: ReadOptions
) -> AnyCounts:
    """Let the workers count files."""
    return _total(count_file, counter, [(file, read_options) for file in files])


def dask() -> Any:
    """Return the module, or say what to install."""
    try:
        import dask
    except ImportError as error:
        raise ImportError('Counting in Dask needs dask: pip install "poscount[dask]".') from error
    return dask


def _total(
    work: Callable[..., AnyCounts], counter: BatchCounter, tasks: Sequence[tuple[Any, ...]]
) -> AnyCounts:
    """Let the workers do tasks, each with its arguments, and add up what they count."""
    delayed = dask().delayed
    shipped = delayed(counter, traverse=False)
    parts = [delayed(_on_worker)(__version__, work, shipped, *arguments) for arguments in tasks]
    while len(parts) > 1:
        bunches = [parts[i : i + _WIDTH] for i in range(0, len(parts), _WIDTH)]
        parts = [delayed(add_up)(bunch) for bunch in bunches]
    return in_order(dask().compute(parts[0])[0])


def _on_worker(sent_by: str, work: Callable[..., AnyCounts], *arguments: Any) -> AnyCounts:
    check_version(sent_by, "Dask")
    return work(*arguments)
