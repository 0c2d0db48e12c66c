"""Counting rows that come in batches, on several threads, with errors that name the place."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from joblib import effective_n_jobs

from poscount.base import CountingQuantifier
from poscount.counts import Counts, GroupedCounts, Skipped
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.threads import run

AnyCounts = Counts | GroupedCounts

# Sums of many groups are made of so many parts at a time, or of so many bytes.
_BUNCH = 16
_BUNCH_BYTES = 2**27


class Source(NamedTuple):
    """A file, or anything else that yields batches; `name` is None where it has none."""

    name: str | None
    batches: Callable[[], Iterator[Any]]


def as_table(batch: Any) -> Any:
    """Turn an Arrow record batch into a table, and leave anything else as it is."""
    if type(batch).__name__ != "RecordBatch" or not hasattr(batch, "schema"):
        return batch
    return pyarrow().Table.from_batches([batch])


def count_batch(model: CountingQuantifier, data: Any, by: Sequence[str]) -> AnyCounts:
    """Count one batch, in groups if there are any to make."""
    data = as_table(data)
    return model.count_by(data, by) if by else model.count(data)


def at_place(error: InputError, name: str | None, start: int = 0) -> InputError:
    """Say of which source, and which of its rows, an error speaks."""
    row = None if error.row is None else start + error.row
    return InputError(error.message, file=name or error.file, column=error.column, row=row)


def add_up(parts: Sequence[AnyCounts]) -> AnyCounts:
    """Add counts of one kind up."""
    first, *rest = parts
    if isinstance(first, GroupedCounts):
        return GroupedCounts.total(parts)  # type: ignore[arg-type]
    return sum(rest, first)


def in_order(counts: AnyCounts) -> AnyCounts:
    """Give groups the order that they have in memory."""
    if not isinstance(counts, GroupedCounts):
        return counts
    try:
        return counts.in_order()
    except TypeError as error:
        raise InputError(
            f"the groups of {', '.join(counts.by)} are numbers in one place and text in another, "
            "so that they cannot be put in order; give the column one type."
        ) from error


def complete(total: AnyCounts | None, skipped: Sequence[Skipped]) -> AnyCounts:
    """Finish a result: its groups in order, what was skipped with it, and not without any rows."""
    if total is not None:
        return dataclasses.replace(in_order(total), skipped=(*total.skipped, *skipped))
    if not skipped:
        raise InputError("there is nothing to count: not a single batch was given.")
    raise InputError(
        f"none of the {len(skipped)} file(s) could be counted; {skipped[0].reason}",
        file=skipped[0].file,
    )


def count_sources(
    model: CountingQuantifier,
    sources: Iterable[Source],
    by: Sequence[str],
    *,
    skip: bool = False,
    n_jobs: int = -1,
) -> AnyCounts:
    """Count all rows of all sources.

    One thread at a time reads the next batch, while the others count theirs. The first error in
    the order of the rows is raised, whichever thread met it; with `skip` a source with an error
    is left out as a whole and listed in the result.
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
                account, start, data = part
                counts = error = None
                try:
                    counts = count_batch(model, data, by)
                except InputError as met:
                    error = at_place(met, account.name, start)
                with lock:
                    ledger.book(account, start, counts, error)
        except BaseException:
            ledger.stopped = True
            raise

    n_workers = effective_n_jobs(n_jobs)
    try:
        # One more, because one of them is reading.
        run(work, n_workers + (n_workers > 1))
    finally:
        parts.close()
    return ledger.result()


class _Sum:
    """Adds counts up, some at a time."""

    def __init__(self) -> None:
        self.parts: list[AnyCounts] = []

    def add(self, parts: Iterable[AnyCounts]) -> None:
        self.parts += parts
        size = sum(part.cells.nbytes for part in self.parts)
        if len(self.parts) >= _BUNCH or (len(self.parts) > 1 and size > _BUNCH_BYTES):
            self.parts = [add_up(self.parts)]


class _Account:
    """What is known of one source."""

    def __init__(self, name: str | None, number: int) -> None:
        self.name, self.number = name, number
        self.sum = _Sum()
        self.being_counted = 0
        self.errors: list[tuple[int, InputError]] = []

    def first_error(self) -> InputError:
        return min(self.errors, key=lambda pair: pair[0])[1]

    def skipped(self) -> Skipped:
        name = self.name or f"source {self.number}"
        return Skipped(name, str(self.first_error()).removeprefix(f"{name}: "))


class _Ledger:
    """Keeps sources that may be skipped apart until all of a source has been counted."""

    def __init__(self, skip: bool) -> None:
        self.skip = skip
        self.total = _Sum()
        self.failed: list[_Account] = []
        self.stopped = False

    def read(self, sources: Iterable[Source]) -> Generator[tuple[_Account, int, Any], None, None]:
        """Hand out batch after batch; called by one thread at a time."""
        for number, source in enumerate(sources):
            account = _Account(source.name, number)
            # Reading it is a task like counting a batch of it.
            account.being_counted += 1
            start = 0
            error = None
            try:
                for data in source.batches():
                    account.being_counted += 1
                    yield account, start, data
                    start += data.shape[0] if hasattr(data, "shape") else len(data)
                    if account.errors:
                        break
            except InputError as met:
                error = met
            self.book(account, start, None, error)

    def book(
        self, account: _Account, start: int, counts: AnyCounts | None, error: InputError | None
    ) -> None:
        """Note the end of a task; called by one thread at a time."""
        account.being_counted -= 1
        if error is not None:
            if not account.errors:
                self.failed.append(account)
            account.errors.append((start if error.row is None else error.row, error))
            self.stopped = not self.skip
        elif counts is not None:
            (account.sum if self.skip else self.total).add([counts])
        if not account.being_counted and not account.errors:
            self.total.add(account.sum.parts)

    def result(self) -> AnyCounts:
        self.failed.sort(key=lambda account: account.number)
        if self.failed and not self.skip:
            raise self.failed[0].first_error()
        total = add_up(self.total.parts) if self.total.parts else None
        return complete(total, tuple(account.skipped() for account in self.failed))
