"""Counting rows that come in batches, on several threads, with errors that name the place."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from joblib import effective_n_jobs

from poscount.base.counting import BatchCounter
from poscount.counts.counts import Counts, GroupedCounts, Skipped
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


def nothing_counted(skipped: Sequence[Skipped]) -> InputError:
    """Make the error for a count in which there was nothing, or nothing usable, to count."""
    if not skipped:
        return InputError("There is nothing to count: not a single batch was given.")
    file, reason = skipped[0]
    return InputError(f"{reason} None of the {len(skipped)} file(s) could be counted.", file=file)


def count_sources(
    counter: BatchCounter,
    sources: Iterable[BatchSource],
    *,
    skip: bool = False,
    n_jobs: int = -1,
) -> AnyCounts:
    """Count all rows of all sources.

    One thread at a time reads the next piece, while the others parse and count theirs. So there are
    never more pieces in memory than threads. If several batches have errors, the first one in the
    order of the rows is raised, whichever thread found it. With `skip`, a source with an error is
    left out as a whole and listed in the result.
    """
    ledger = _Ledger(skip)
    lock = threading.Lock()
    tasks = ledger.read(sources)

    def work(_: int) -> None:
        try:
            while True:
                with lock:
                    task = None if ledger.stopped else next(tasks, None)
                if task is None:
                    return
                account, number, part = task
                counted = _counted(counter, part)
                with lock:
                    ledger.book(account, number, counted)
        except BaseException:
            ledger.stopped = True
            raise

    n_workers = effective_n_jobs(n_jobs)
    try:
        # One more, because one of them is reading.
        run_in_threads(work, n_workers + (n_workers > 1))
    finally:
        tasks.close()
    return ledger.result()


class _Counted(NamedTuple):
    """Counts of the batches of a part, its number of rows, and the error that ended it."""

    counts: list[AnyCounts]
    n_rows: int = 0
    error: InputError | None = None


def _counted(counter: BatchCounter, part: Callable[[], list[Any]]) -> _Counted:
    counts, n_rows = [], 0
    try:
        for batch in part():
            try:
                counts.append(counter.count(batch))
            except InputError as error:
                raise error.at(first_row=n_rows) from error
            n_rows += batch.shape[0] if hasattr(batch, "shape") else len(batch)
    except InputError as error:
        return _Counted(counts, n_rows, error)
    return _Counted(counts, n_rows)


class RunningSum:
    """Adds counts, several at a time."""

    def __init__(self) -> None:
        self.parts: list[AnyCounts] = []

    def add(self, *parts: AnyCounts) -> None:
        """Add some more counts."""
        self.parts += parts
        size = sum(part.cells.nbytes for part in self.parts)
        if len(self.parts) >= _PARTS_AT_ONCE or (len(self.parts) > 1 and size > _BYTES_AT_ONCE):
            self.parts = [add_up(self.parts)]


class _Account:
    """What is known of one source."""

    def __init__(self, name: str | None, number: int) -> None:
        self.name, self.number = name, number
        self.sum = RunningSum()
        self.open_tasks = 0
        # Of each part that has been counted.
        self.n_rows: dict[int, int] = {}
        self.errors: dict[int, InputError] = {}

    def first_error(self) -> InputError:
        """The error in the first part that has one; all parts before it have been counted."""
        first = min(self.errors)
        error = self.errors[first]
        before = sum(n_rows for number, n_rows in self.n_rows.items() if number < first)
        return error.at(
            file=error.file or self.name, first_row=before if first in self.n_rows else 0
        )


class _Ledger:
    """Keeps the counts of sources that may be skipped apart until a source has been counted."""

    def __init__(self, skip: bool) -> None:
        self.skip = skip
        self.total = RunningSum()
        self.failed: list[_Account] = []
        self.stopped = False

    def read(
        self, sources: Iterable[BatchSource]
    ) -> Generator[tuple[_Account, int, Callable[[], list[Any]]], None, None]:
        """Yield one part after another with its number; called by one thread at a time."""
        for number, source in enumerate(sources):
            account = _Account(source.name, number)
            # Reading a source is a task, like counting one of its parts.
            account.open_tasks += 1
            n_parts = 0
            try:
                for part in source.parts():
                    account.open_tasks += 1
                    yield account, n_parts, part
                    n_parts += 1
                    if account.errors:
                        break
            except InputError as error:
                # It has the row in the source already.
                self._note(account, n_parts, error)
            self._close_task(account)

    def book(self, account: _Account, number: int, counted: _Counted) -> None:
        """Note what became of a part; called by one thread at a time."""
        account.n_rows[number] = counted.n_rows
        if counted.error is not None:
            self._note(account, number, counted.error)
        else:
            (account.sum if self.skip else self.total).add(*counted.counts)
        self._close_task(account)

    def _note(self, account: _Account, number: int, error: InputError) -> None:
        if not account.errors:
            self.failed.append(account)
        account.errors[number] = error
        self.stopped = not self.skip

    def _close_task(self, account: _Account) -> None:
        account.open_tasks -= 1
        if not account.open_tasks and not account.errors:
            self.total.add(*account.sum.parts)

    def result(self) -> AnyCounts:
        """All counts together, with the sources that were skipped."""
        self.failed.sort(key=lambda account: account.number)
        if self.failed and not self.skip:
            raise self.failed[0].first_error()
        skipped = tuple(
            Skipped.because(account.first_error(), str(account.name)) for account in self.failed
        )
        if not self.total.parts:
            raise nothing_counted(skipped)
        return dataclasses.replace(in_order(add_up(self.total.parts)), skipped=skipped)
