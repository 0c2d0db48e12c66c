"""Counting rows that come in batches, on several threads, with errors that name the place."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from joblib import effective_n_jobs

from poscount.counting import BatchCounter
from poscount.counts import Counts, GroupedCounts, Skipped
from poscount.errors import InputError
from poscount.threads import run_in_threads

AnyCounts = Counts | GroupedCounts

# Adding many groups takes long, so counts wait until there are this many, or this many bytes.
_PARTS_AT_ONCE = 16
_BYTES_AT_ONCE = 2**27


class BatchSource(NamedTuple):
    """A file, or anything else that yields batches; `name` is None if it has none."""

    name: str | None
    batches: Callable[[], Iterator[Any]]


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

    One thread at a time reads the next batch, while the others count theirs. If several batches
    have errors, the first one in the order of the rows is raised, whichever thread found it. With
    `skip`, a source with an error is left out as a whole and listed in the result.
    """
    ledger = _Ledger(skip)
    lock = threading.Lock()
    parts = ledger.read(sources)

    def work(_: int) -> None:
        try:
            while True:
                with lock:
                    part = None if ledger.stopped else next(parts, None)
                if part is None:
                    return
                account, first_row, batch = part
                counts = error = None
                try:
                    counts = counter.count(batch)
                except InputError as met:
                    error = met.at(file=account.name, first_row=first_row)
                with lock:
                    ledger.book(account, first_row, counts, error)
        except BaseException:
            ledger.stopped = True
            raise

    n_workers = effective_n_jobs(n_jobs)
    try:
        # One more, because one of them is reading.
        run_in_threads(work, n_workers + (n_workers > 1))
    finally:
        parts.close()
    return ledger.result()


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
        self.errors: list[tuple[int, InputError]] = []

    def first_error(self) -> InputError:
        return min(self.errors, key=lambda pair: pair[0])[1]


class _Ledger:
    """Keeps the counts of sources that may be skipped apart until a source has been counted."""

    def __init__(self, skip: bool) -> None:
        self.skip = skip
        self.total = RunningSum()
        self.failed: list[_Account] = []
        self.stopped = False

    def read(
        self, sources: Iterable[BatchSource]
    ) -> Generator[tuple[_Account, int, Any], None, None]:
        """Yield one batch after another; called by one thread at a time."""
        for number, source in enumerate(sources):
            account = _Account(source.name, number)
            # Reading a source is a task, like counting one of its batches.
            account.open_tasks += 1
            first_row = 0
            error = None
            try:
                for batch in source.batches():
                    account.open_tasks += 1
                    yield account, first_row, batch
                    first_row += batch.shape[0] if hasattr(batch, "shape") else len(batch)
                    if account.errors:
                        break
            except InputError as met:
                error = met
            self.book(account, first_row, None, error)

    def book(
        self, account: _Account, first_row: int, counts: AnyCounts | None, error: InputError | None
    ) -> None:
        """Note the end of a task; called by one thread at a time."""
        account.open_tasks -= 1
        if error is not None:
            if not account.errors:
                self.failed.append(account)
            account.errors.append((first_row if error.row is None else error.row, error))
            self.stopped = not self.skip
        elif counts is not None:
            (account.sum if self.skip else self.total).add(counts)
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
