"""Counting files: one pass over each, in memory that does not grow with them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, Literal, get_args

from poscount.base.batch_counter import BatchCounter
from poscount.data.rows import BLOCK_ROWS
from poscount.engines.batches import AnyCounts, BatchSource, count_sources
from poscount.errors import InputError
from poscount.files.arrow import OnProgress, pyarrow
from poscount.files.features import is_text, model_columns
from poscount.files.read_options import DEFAULT_OPTIONS, ReadOptions
from poscount.files.reading import Part, read_parts
from poscount.files.streams import size_of

Engine = Literal["auto", "dask", "spark"]

_BATCH_VALUES = 2**21


def count_files(
    counter: BatchCounter,
    files: Sequence[str],
    *,
    engine: str = "auto",
    progress: OnProgress | None = None,
    n_jobs: int = -1,
    read_options: ReadOptions = DEFAULT_OPTIONS,
) -> AnyCounts:
    """Count the rows of files.

    Parameters
    ----------
    counter : BatchCounter
        Of a model that was fitted on a frame, so that it knows its columns by name. The grouping
        columns are in the files or in their paths, the weights in the files.
    files : sequence of str
        As `poscount.files.reading.expand` lists them.
    engine : {"auto", "dask", "spark"}
        What reads them: threads of this process ("auto"), or the workers of a cluster, one file at
        a time; the workers must see the files.
    progress : callable, optional
        Called as ``progress(done, total)``, in bytes, by threads of this process.
    n_jobs : int
        Threads of this process.
    read_options : ReadOptions
        How the files are written.

    Examples
    --------
    >>> from poscount import PAT
    >>> from poscount.example import example_path, load_example
    >>> model = PAT(random_state=0).fit(load_example().positives)
    >>> count_files(BatchCounter(model), [str(example_path("trap.csv.gz"))]).n
    8070
    """
    if engine not in get_args(Engine):
        raise InputError(f"engine must be one of {', '.join(get_args(Engine))}, got {engine!r}.")
    columns = [*model_columns(counter.model), *counter.weight_columns]
    if engine == "dask":
        from poscount.engines import dask

        return dask.count_files(counter, files, read_options)
    if engine == "spark":
        from poscount.engines import spark

        return spark.count_files(counter, files, read_options)
    read_so_far = BytesRead(files, progress)
    # A batch has a fixed cost, most of all with groups, but must not fill the memory.
    values = _BATCH_VALUES * (4 if counter.by else 1)
    batch_rows = min(4 * BLOCK_ROWS, max(1024, values // (len(columns) + len(counter.by))))
    group_kinds: dict[str, tuple[str, str]] = {}

    def parts(file: str) -> Iterator[Part]:
        found = read_parts(
            file,
            columns=columns,
            numeric=[*counter.model.numeric_features_, *counter.weight_columns],
            by=counter.by,
            batch_rows=batch_rows,
            progress=read_so_far.progress_of(file),
            read_options=read_options,
        )
        for number, part in enumerate(found):
            if number == 0 and counter.by:
                # In the order of the files, so that the error does not depend on the threads.
                batches = part()
                _check_group_kinds(group_kinds, batches[0].schema, counter.by, file)
                part = functools.partial(list, batches)
            yield part
        read_so_far.finish(file)

    sources = (BatchSource(file, functools.partial(parts, file)) for file in files)
    return count_sources(counter, sources, n_jobs=n_jobs)


def count_file(counter: BatchCounter, file: str, read_options: ReadOptions) -> AnyCounts:
    """Count one file in one thread, on a worker of Dask or Spark."""
    return count_files(counter, [file], n_jobs=1, read_options=read_options)


def _check_group_kinds(
    group_kinds: dict[str, tuple[str, str]], schema: Any, by: Sequence[str], file: str
) -> None:
    """Refuse groups that are numbers in one file and text in another: they would never match."""
    for name in by:
        # Periods of times are text everywhere, and a column of nulls has no kind.
        if name not in schema.names or pyarrow().types.is_null(schema.field(name).type):
            continue
        kind = _kind_of_values(schema.field(name).type)
        known, first = group_kinds.setdefault(name, (kind, file))
        if kind != known:
            raise InputError(
                f"the grouping column holds {kind} here but {known} in {first}; give it one type.",
                file=file,
                column=name,
            )


def _kind_of_values(arrow_type: Any) -> str:
    types = pyarrow().types
    if is_text(arrow_type):
        return "text"
    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_integer(arrow_type) or types.is_floating(arrow_type):
        return "numbers"
    return str(arrow_type)


class BytesRead:
    """Turns the progress in many files, each in its own unit, into one in bytes."""

    def __init__(self, files: Sequence[str], progress: OnProgress | None) -> None:
        self.progress = progress
        self.sizes = {file: size_of(file) if progress else 0 for file in files}
        self.before, self.total = 0, sum(self.sizes.values())

    def progress_of(self, file: str) -> OnProgress | None:
        """What to call while a file is read."""
        if self.progress is None:
            return None
        return functools.partial(self._tell, file)

    def finish(self, file: str) -> None:
        """Note that a file has been read."""
        self._tell(file, 1, 1)
        self.before += self.sizes[file]

    def _tell(self, file: str, done: int, total: int) -> None:
        if self.progress is not None and self.total:
            self.progress(self.before + self.sizes[file] * done // total, self.total)
