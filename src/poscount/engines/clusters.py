"""What Dask and Spark have in common: what their workers do, and which poscount they need."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

import poscount
from poscount.base.counting import BatchCounter
from poscount.counts.counts import Skipped
from poscount.counts.weights import WeightSums
from poscount.engines.batches import AnyCounts, RunningSum, add_up, in_order, nothing_counted
from poscount.engines.count_files import count_files
from poscount.errors import InputError
from poscount.files.csv_format import DEFAULT_CSV, CsvFormat
from poscount.files.features import model_columns


def check_version(sent_by: str, cluster: str) -> None:
    """Raise an ImportError unless a worker has the version of poscount that sent it work.

    Examples
    --------
    >>> check_version(poscount.__version__, "Spark")
    """
    if sent_by != poscount.__version__:
        raise ImportError(
            f"A worker of {cluster} has poscount {poscount.__version__}, but {sent_by} sent it "
            f"work: install poscount {sent_by} on every worker."
        )


def count_partition(counter: BatchCounter, batches: Iterable[Any], number: int) -> AnyCounts:
    """Count the batches of one partition, of which there is at least one, on a worker."""
    total, first_row = RunningSum(), 0
    for batch in batches:
        try:
            total.add(counter.count(batch))
        except InputError as error:
            raise error.at(file=f"partition {number}", first_row=first_row) from error
        first_row += len(batch)
    return add_up(total.parts)


class FileTask(NamedTuple):
    """What a worker needs to count files."""

    counter: BatchCounter
    skip: bool
    csv_format: CsvFormat

    def count_file(self, file: str) -> AnyCounts:
        """Count one file; one that is skipped gives counts of no rows."""
        try:
            return count_files(self.counter, [file], n_jobs=1, csv_format=self.csv_format)
        except InputError as error:
            if not self.skip:
                raise
            n_groups = 0 if self.counter.by else 1
            cells = np.zeros((n_groups, self.counter.n_cells), np.int64)
            weights = None if self.counter.weights is None else [WeightSums()] * n_groups
            nothing = self.counter.counts_of([], cells, np.zeros(n_groups, np.int64), weights)
            return dataclasses.replace(nothing, skipped=(Skipped.because(error, file),))


def count_on_workers(
    cluster: str,
    run: Callable[[FileTask, list[str]], AnyCounts],
    counter: BatchCounter,
    files: list[str],
    *,
    skip: bool = False,
    explain: bool = False,
    csv_format: CsvFormat = DEFAULT_CSV,
) -> Any:
    """Count files on the workers of a cluster, one file per task; the workers must see the files.

    The other arguments are those of `count_files`.

    Parameters
    ----------
    cluster : str
        Its name.
    run : callable
        Lets the workers count the files, and adds their counts.
    """
    model_columns(counter.model)
    if explain:
        return f"{cluster} counts {len(files)} file(s), one per task, and adds them up."
    total = run(FileTask(counter, skip, csv_format), files)
    place = {file: i for i, file in enumerate(files)}
    skipped = tuple(sorted(total.skipped, key=lambda one: place[one.file]))
    if len(skipped) == len(files):
        raise nothing_counted(skipped)
    return dataclasses.replace(in_order(total), skipped=skipped)
