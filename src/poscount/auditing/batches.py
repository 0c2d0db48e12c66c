"""Rows in batches that can be read more than once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from poscount.base.counting import BatchCounter, CountingQuantifier
from poscount.data.validation import as_frame_with_names
from poscount.errors import InputError, require_rows


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


def count_batches(
    counter: BatchCounter, source: Source, look_at: Callable[[Batch], None] | None = None
) -> Any:
    """Count all rows, and show each batch to somebody else who wants to look at it."""
    total = None
    for batch in source():
        try:
            counts = counter.count(batch.frame)
        except InputError as error:
            raise error.at(file=batch.file, first_row=batch.first_row) from error
        # Counts of groups and of all rows add up alike.
        total = counts if total is None else total + counts  # type: ignore[operator]
        if look_at is not None:
            look_at(batch)
    require_rows(0 if total is None else int(np.sum(total.n)), "The data have")
    return total


def rows_together(frames: list[nw.DataFrame]) -> nw.DataFrame:
    """One frame of the rows of several, which may lack columns."""
    try:
        return nw.maybe_reset_index(nw.concat(frames, how="diagonal"))
    except Exception as error:  # each library has one of its own
        raise InputError("a column does not have the same type in all files.") from error
