"""What the workers of Dask and Spark do, and which poscount they need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import poscount
from poscount.base.counting import BatchCounter
from poscount.engines.batches import AnyCounts, add_up, count_batches
from poscount.engines.count_files import count_files
from poscount.errors import InputError
from poscount.files.read_options import ReadOptions


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
    """Count the batches of one partition, of which there is at least one."""
    try:
        return add_up(count_batches(counter, batches)[0].parts)
    except InputError as error:
        raise error.at(file=f"partition {number}") from error


def count_file(counter: BatchCounter, file: str, read_options: ReadOptions) -> AnyCounts:
    """Count one file in one thread."""
    return count_files(counter, [file], n_jobs=1, read_options=read_options)
