"""Rows in batches that can be read more than once, the best of them, and columns about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from poscount.base.batch_counter import BatchCounter
from poscount.base.counting import CountingQuantifier
from poscount.data.validation import as_frame_with_names
from poscount.errors import InputError, require_rows

# How many times as many rows as are asked for wait until the best of them are chosen.
_WAITING = 4


class Batch(NamedTuple):
    """Rows, the file that they are from or None, and the number of rows before them there."""

    frame: nw.DataFrame
    file: str | None = None
    first_row: int = 0


# All rows, each time that it is called.
Source = Callable[[], Iterator[Batch]]


def in_memory(frame: Any) -> Source:
    """The rows of a frame as one batch."""
    wrapped = as_frame_with_names(frame)
    require_rows(len(wrapped))
    return lambda: iter([Batch(wrapped)])


def require_counting(model: Any) -> None:
    """Refuse a model whose posterior does not come from counts."""
    if not isinstance(model, CountingQuantifier):
        raise InputError(
            f"{type(model).__name__} gives rows no probability from counts: use a reusable method "
            "such as RCQ."
        )


def count_batches(counter: BatchCounter, source: Source) -> Any:
    """Count all rows."""
    total = None
    for batch in source():
        try:
            counts = counter.count(batch.frame)
        except InputError as error:
            raise error.at(file=batch.file, first_row=batch.first_row) from error
        # Counts of groups and of all rows add up alike.
        total = counts if total is None else total + counts  # type: ignore[operator]
    require_rows(0 if total is None else int(np.sum(total.n)), "The data have")
    return total


class BestRows:
    """The first rows of each group by their keys, in memory that does not grow with the data.

    Parameters
    ----------
    most : ndarray of int, shape (n_groups,)
        How many rows of each group are kept.
    dtype : numpy dtype
        Fields of the keys, in the order in which they decide. The first is "group", the number of
        the row's group; "place" among all rows, and "row" in the batch's file, are filled in here.
    """

    def __init__(self, most: np.ndarray, dtype: np.dtype) -> None:
        self.most, self.dtype = most, dtype
        self._keys: list[np.ndarray] = [np.empty(0, dtype)]
        self._frames: list[nw.DataFrame] = []
        self._files: list[str | None] = []
        self._n_rows = 0

    def add(self, batch: Batch, keys: np.ndarray) -> None:
        """Take the next batch, with a key for each of its rows."""
        keys["place"] = self._n_rows + np.arange(len(keys))
        # As people count: from 1 in a file, from 0 in a frame.
        keys["row"] = batch.first_row + np.arange(len(keys)) + (batch.file is not None)
        self._n_rows += len(keys)
        chosen = self._first_of(keys)
        self._keys.append(keys[chosen])
        self._frames.append(batch.frame[chosen.tolist()])
        self._files += [batch.file] * len(chosen)
        if sum(map(len, self._keys)) > _WAITING * self.most.sum():
            self.collect()

    def _first_of(self, keys: np.ndarray) -> np.ndarray:
        """Places of the first rows of each group, in order."""
        # lexsort looks at its last key first.
        order = np.lexsort([keys[name] for name in reversed(self.dtype.names or ())])
        group = keys["group"][order]
        rank = np.arange(len(order)) - np.searchsorted(group, group)
        return order[rank < self.most[group]]

    def collect(self) -> tuple[nw.DataFrame, list[str | None], np.ndarray]:
        """Rows, files and keys of the first rows so far, in order."""
        try:
            frame = nw.concat(self._frames, how="diagonal")
        except Exception as error:  # each library has one of its own
            raise InputError("a column does not have the same type in all files.") from error
        keys = np.concatenate(self._keys)
        chosen = self._first_of(keys)
        frame = nw.maybe_reset_index(nw.maybe_reset_index(frame)[chosen.tolist()])
        files = [self._files[i] for i in chosen.tolist()]
        self._keys, self._frames, self._files = [keys[chosen]], [frame], files
        return frame, files, keys[chosen]


def with_columns(
    frame: nw.DataFrame, added: Mapping[str, tuple[list[Any], Any]], refusal: str
) -> nw.DataFrame:
    """A frame with columns of values and their types: the first before its own, the others after.

    The refusal is said if the frame has a column of such a name.
    """
    for name in frame.columns:
        if name in added:
            raise InputError(refusal, column=name)
    backend = frame.implementation
    series = [
        nw.new_series(name, values, kind, backend=backend) for name, (values, kind) in added.items()
    ]
    first, *others = added
    return frame.with_columns(*series).select([first, *frame.columns, *others])
