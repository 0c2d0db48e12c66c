"""Counting files: one pass over each, in memory that does not grow with them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from poscount.base.counting import BatchCounter
from poscount.data.rows import BLOCK_ROWS
from poscount.engines.batches import BatchSource, count_sources
from poscount.errors import InputError, join_names
from poscount.files.arrow import OnProgress, pyarrow
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.features import model_columns
from poscount.files.reading import Part, read_parts
from poscount.files.streams import size_of

_BATCH_VALUES = 2**21


def count_files(
    counter: BatchCounter,
    files: Sequence[str],
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
    counter : BatchCounter
        Of a model that was fitted on a frame, so that it knows its columns by name. The grouping
        columns are in the files or in their paths, the weights in the files.
    files : sequence of str
        As `poscount.files.reading.expand` lists them.
    skip : bool
        Whether files that cannot be used are left out, and listed in the result.
    progress : callable, optional
        Called as ``progress(done, total)``, in bytes.
    n_jobs : int
        Threads.
    explain : bool
        Return the plan as text instead.
    csv_format : CsvFormat
        How CSV files are written.

    Examples
    --------
    >>> from poscount import PAT
    >>> from poscount.example import example_path, load_example
    >>> model = PAT(random_state=0).fit(load_example().positives)
    >>> count_files(BatchCounter(model), [str(example_path("trap.csv.gz"))]).n
    8070
    """
    columns = [*model_columns(counter.model), *counter.weight_columns]
    if explain:
        named = join_names([*columns, *counter.by])
        return f"poscount reads {named} from {len(files)} file(s), in batches."
    read_so_far = BytesRead(files, progress)
    # A batch has a fixed cost, most of all with groups, but must not fill the memory.
    values = _BATCH_VALUES * (4 if counter.by else 1)
    batch_rows = min(4 * BLOCK_ROWS, max(1024, values // (len(columns) + len(counter.by))))
    group_kinds: dict[str, tuple[str, str]] = {}

    def parts(file: str) -> Iterator[Part]:
        found = read_parts(
            file,
            columns=columns,
            numeric=counter.numeric_columns,
            by=counter.by,
            batch_rows=batch_rows,
            progress=read_so_far.progress_of(file),
            csv_format=csv_format,
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
    return count_sources(counter, sources, skip=skip, n_jobs=n_jobs)


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
    if types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if types.is_integer(arrow_type) or types.is_floating(arrow_type):
        return "numbers"
    if any(
        is_text(arrow_type)
        for is_text in (types.is_string, types.is_large_string, types.is_string_view)
    ):
        return "text"
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
