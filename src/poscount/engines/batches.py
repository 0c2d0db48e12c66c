"""Counting rows that come in batches, on threads or workers, with errors that name the place."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from joblib import effective_n_jobs

from poscount import __version__
from poscount.base.batch_counter import BatchCounter
from poscount.counts.counts import Counts, GroupedCounts
from poscount.errors import InputError
from poscount.threads import run_in_threads

AnyCounts = Counts | GroupedCounts

# Adding many groups takes long, so counts wait until there are this many, or this many bytes.
_PARTS_AT_ONCE = 16
_BYTES_AT_ONCE = 2**27


class BatchSource(NamedTuple):
    """A file, or anything else that has rows; `name` is None if it has none.

    `parts` reads it piece by piece, and each of its pieces is a function that any thread may call
    for the batches in it.
    """

    name: str | None
    parts: Callable[[], Iterator[Callable[[], list[Any]]]]

    @classmethod
    def of_batches(cls, batches: Callable[[], Iterator[Any]]) -> BatchSource:
        """Make a source of an iterator over batches."""
        return cls(None, lambda: (functools.partial(list, [batch]) for batch in batches()))


def add_up(parts: Sequence[AnyCounts]) -> AnyCounts:
    """Add counts of one kind."""
    first, *rest = parts
    if isinstance(first, GroupedCounts):
        return GroupedCounts.total(parts)  # type: ignore[arg-type]
    return sum(rest, first)


def in_order(counts: AnyCounts) -> AnyCounts:
    """Put groups into the order that they have when they are counted in memory."""
    if not isinstance(counts, GroupedCounts):
        return counts
    try:
        return counts.in_order()
    except TypeError as error:
        raise InputError(
            f"the groups of {', '.join(counts.by)} are numbers in one place and text in another, "
            "so they cannot be sorted; give the column one type."
        ) from error


class RunningSum:
    """Adds counts, several at a time."""

    def __init__(self) -> None:
        self.parts: list[AnyCounts] = []

    def add(self, part: AnyCounts) -> None:
        """Add some more counts."""
        self.parts.append(part)
        size = sum(part.cells.nbytes for part in self.parts)
        if len(self.parts) >= _PARTS_AT_ONCE or (len(self.parts) > 1 and size > _BYTES_AT_ONCE):
            self.parts = [add_up(self.parts)]


def count_batches(counter: BatchCounter, batches: Iterable[Any]) -> tuple[RunningSum, int]:
    """Count batches one after the other; an error has its row among all of their rows.

    Returns
    -------
    RunningSum, int
        The counts, and the number of rows.
    """
    total, n_rows = RunningSum(), 0
    for batch in batches:
        try:
            total.add(counter.count(batch))
        except InputError as error:
            raise error.at(first_row=n_rows) from error
        n_rows += batch.shape[0] if hasattr(batch, "shape") else len(batch)
    return total, n_rows


class _Piece(NamedTuple):
    """Part of a source, its place (number of the source, number in it), and the source's name."""

    place: tuple[int, int]
    name: str | None
    batches: Callable[[], list[Any]]


def count_sources(
    counter: BatchCounter, sources: Iterable[BatchSource], *, n_jobs: int = -1
) -> AnyCounts:
    """Count all rows of all sources.

    One thread at a time reads the next piece, while the others parse and count theirs. So there are
    never more pieces in memory than threads. If several pieces have errors, the first one in the
    order of the rows is raised, whichever thread found it.
    """
    total = RunningSum()
    n_rows: dict[tuple[int, int], int] = {}
    errors: dict[tuple[int, int], InputError] = {}
    lock, stopped = threading.Lock(), threading.Event()

    def read() -> Generator[_Piece, None, None]:
        for i, source in enumerate(sources):
            number = 0
            try:
                for part in source.parts():
                    yield _Piece((i, number), source.name, part)
                    number += 1
            except InputError as error:
                errors[i, number] = error.at(file=error.file or source.name)
                return

    pieces = read()

    def work(_: int) -> None:
        try:
            while True:
                with lock:
                    piece = None if stopped.is_set() else next(pieces, None)
                if piece is None:
                    return
                try:
                    counted, n = count_batches(counter, piece.batches())
                except InputError as error:
                    with lock:
                        stopped.set()
                        n_rows[piece.place] = 0
                        errors[piece.place] = error.at(file=error.file or piece.name)
                    return
                with lock:
                    n_rows[piece.place] = n
                    for counts in counted.parts:
                        total.add(counts)
        except BaseException:
            stopped.set()
            raise

    n_workers = effective_n_jobs(n_jobs)
    try:
        # One more, because one of them is reading.
        run_in_threads(work, n_workers + (n_workers > 1))
    finally:
        pieces.close()
    if errors:
        first = min(errors)
        # All pieces before it have been counted. An error in reading has its row already.
        before = sum(n for place, n in n_rows.items() if (first[0], 0) <= place < first)
        raise errors[first].at(first_row=before if first in n_rows else 0)
    if not total.parts:
        raise InputError("There is nothing to count: not a single batch was given.")
    return in_order(add_up(total.parts))


# On the workers of Dask and Spark


def check_version(sent_by: str, cluster: str) -> None:
    """Raise an ImportError unless a worker has the version of poscount that sent it work.

    Examples
    --------
    >>> check_version(__version__, "Spark")
    """
    if sent_by != __version__:
        raise ImportError(
            f"A worker of {cluster} has poscount {__version__}, but {sent_by} sent it "
            f"work: install poscount {sent_by} on every worker."
        )


def count_partition(counter: BatchCounter, batches: Iterable[Any], number: int) -> AnyCounts:
    """Count the batches of one partition, of which there is at least one."""
    try:
        return add_up(count_batches(counter, batches)[0].parts)
    except InputError as error:
        raise error.at(file=f"partition {number}") from error
