"""Counting files: one pass over each, in memory that does not grow with them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from poscount.base import CountingQuantifier
from poscount.counts import Skipped
from poscount.engines.batches import (
    AnyCounts,
    Source,
    add_up,
    complete,
    count_sources,
)
from poscount.errors import InputError
from poscount.files.arrow import OnProgress, pyarrow
from poscount.files.csv import DEFAULT_CSV, CsvFormat
from poscount.files.features import wanted_columns
from poscount.files.reading import read_batches
from poscount.validation import BLOCK_ROWS

_BATCH_VALUES = 2**21


def count_files(
    model: CountingQuantifier,
    files: Sequence[str],
    by: Sequence[str] = (),
    *,
    skip: bool = False,
    progress: OnProgress | None = None,
    n_jobs: int = -1,
    explain: bool = False,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> Any:
    """Count the rows of files.

    Parameters
    ----------
    model : CountingQuantifier
        Fitted on a frame, so that it knows its columns by name.
    files : sequence of str
        As `poscount.files.reading.expand` lists them.
    by : sequence of str
        Grouping columns, in the files or in their paths.
    skip : bool
        Whether files that cannot be used are left out, and listed in the result.
    progress : callable, optional
        Called as ``progress(done, total)``, in bytes.
    n_jobs : int
        Threads.
    explain : bool
        Give the plan as text instead.
    csv_format : CsvFormat
        How CSV files are written.

    Examples
    --------
    >>> from poscount import PAT
    >>> from poscount.datasets import example_path, load_example
    >>> model = PAT(random_state=0).fit(load_example().positives)
    >>> count_files(model, [str(example_path("trap.csv.gz"))]).n
    8070
    """
    columns = wanted_columns(model, by)
    if explain:
        return f"poscount reads {', '.join(columns)} of {len(files)} file(s), in batches."
    bar = _Bar(files, progress)
    # A batch has a price of its own, above all with groups, but must not fill the memory.
    values = _BATCH_VALUES * (4 if by else 1)
    batch_rows = min(4 * BLOCK_ROWS, max(1024, values // len(columns)))
    kinds: dict[str, tuple[str, str]] = {}

    def tables(file: str) -> Iterator[Any]:
        for batch in read_batches(
            file,
            columns=columns,
            numeric=model.numeric_features_,
            batch_rows=batch_rows,
            progress=bar.of(file),
            csv_format=csv_format,
        ):
            _check_kinds(kinds, batch, by, file)
            yield pyarrow().Table.from_batches([batch])
        bar.done(file)

    sources = (Source(file, functools.partial(tables, file)) for file in files)
    return count_sources(model, sources, by, skip=skip, n_jobs=n_jobs)


class FilePart(NamedTuple):
    """What a worker reports of some files: the counts if there are any, and what was skipped."""

    counts: AnyCounts | None
    skipped: tuple[Skipped, ...] = ()


class FileTask(NamedTuple):
    """What a worker needs to count files."""

    model: CountingQuantifier
    by: tuple[str, ...]
    skip: bool
    csv_format: CsvFormat

    def count_file(self, file: str) -> FilePart:
        """Count one file, where a worker has one to itself."""
        try:
            counts = count_files(self.model, [file], self.by, n_jobs=1, csv_format=self.csv_format)
            return FilePart(counts)
        except InputError as error:
            if not self.skip:
                raise
            return FilePart(None, (Skipped(file, str(error).removeprefix(f"{file}: ")),))


def count_on_workers(
    cluster: str,
    run: Callable[[FileTask, list[str]], FilePart],
    model: CountingQuantifier,
    files: Sequence[str],
    by: Sequence[str],
    *,
    skip: bool = False,
    explain: bool = False,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> Any:
    """Count files on the workers of a cluster, which must see them; each reads a file at a time.

    The other arguments are those of `count_files`.

    Parameters
    ----------
    cluster : str
        Its name.
    run : callable
        Lets the workers count the files, and adds their reports up.
    """
    wanted_columns(model, by)
    if explain:
        return f"{cluster} counts {len(files)} file(s), a task each, and adds them up."
    return complete(*run(FileTask(model, tuple(by), skip, csv_format), list(files)))


def merge_parts(parts: Iterable[FilePart]) -> FilePart:
    """Add the reports of workers up."""
    parts = list(parts)
    counts = [part.counts for part in parts if part.counts is not None]
    skipped = tuple(file for part in parts for file in part.skipped)
    return FilePart(add_up(counts) if counts else None, skipped)


def _check_kinds(
    kinds: dict[str, tuple[str, str]], batch: Any, by: Sequence[str], file: str
) -> None:
    """Refuse groups that are numbers in one file and text in another: they would never meet."""
    for name in by:
        kind = _kind(batch.schema.field(name).type)
        known, first = kinds.setdefault(name, (kind, file))
        if kind != known:
            raise InputError(
                f"the grouping column holds {kind} here but {known} in {first}; give it one type.",
                file=file,
                column=name,
            )


def _kind(of: Any) -> str:
    types = pyarrow().types
    if types.is_dictionary(of):
        of = of.value_type
    if types.is_integer(of) or types.is_floating(of):
        return "numbers"
    if types.is_string(of) or types.is_large_string(of) or types.is_string_view(of):
        return "text"
    return str(of)


class _Bar:
    """Makes one progress in bytes out of that of many files, each in units of its own."""

    def __init__(self, files: Sequence[str], progress: OnProgress | None) -> None:
        self.progress = progress
        self.sizes = {file: 0 if file == "-" else os.path.getsize(file) for file in files}
        self.before, self.total = 0, sum(self.sizes.values())

    def of(self, file: str) -> OnProgress | None:
        if self.progress is None:
            return None
        return functools.partial(self._tell, file)

    def done(self, file: str) -> None:
        self._tell(file, 1, 1)
        self.before += self.sizes[file]

    def _tell(self, file: str, done: int, total: int) -> None:
        if self.progress is not None and self.total:
            self.progress(self.before + self.sizes[file] * done // total, self.total)
