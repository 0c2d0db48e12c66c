"""Counting on Spark: the small model goes to the workers, and they add up their counts."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from poscount import __version__
from poscount.base.batch_counter import BatchCounter
from poscount.engines import batches as counting
from poscount.engines.batches import AnyCounts, RunningSum, add_up, in_order
from poscount.engines.count_files import count_file
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.features import chosen_columns, wanted_columns
from poscount.files.read_options import ReadOptions

# Workers that add up the counts of the others, so that not all of them go to the driver.
_N_SUMS = 8
_SCHEMA = "counts binary, problem binary"


def count_frame(counter: BatchCounter, frame: Any) -> AnyCounts:
    """Count a Spark data frame; the rows stay where they are.

    Parameters
    ----------
    counter : BatchCounter
        It is sent to the workers.
    frame : pyspark.sql.DataFrame
    """
    functions = _functions()
    columns = wanted_columns(counter.model, counter.other_columns, frame.columns)
    chosen_columns(frame.columns, None, columns, "the Spark data frame")
    # Plain names, because Spark misreads dots.
    rows = frame.select(
        [
            functions.col("`" + name.replace("`", "``") + "`").alias(f"column{i}")
            for i, name in enumerate(columns)
        ]
    )
    found = _counted(rows, "count_partition", counter, columns)
    if not found:
        # Without rows there is no partition to count.
        found = [counter.count(rows.limit(0).toArrow().rename_columns(columns))]
    return in_order(add_up(found))


def count_files(
    counter: BatchCounter, files: Sequence[str], read_options: ReadOptions
) -> AnyCounts:
    """Let the workers count files."""
    _functions()
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    names = session.createDataFrame([(file,) for file in files], "file string")
    tasks = names.repartition(len(files), "file")
    return in_order(add_up(_counted(tasks, "count_listed_files", counter, read_options)))


def _functions() -> Any:
    try:
        from pyspark.sql import functions
    except ImportError as error:
        raise ImportError(
            'Counting in Spark needs pyspark: pip install "poscount[spark]".'
        ) from error
    return functions


def _counted(frame: Any, work: str, *arguments: Any) -> list[AnyCounts]:
    """Let the workers count what a frame has, and add up most of it."""
    counted = frame.mapInArrow(_task(work, *arguments), _SCHEMA).repartition(_N_SUMS)
    found = counted.mapInArrow(_task("add_counts"), _SCHEMA).toArrow()
    problems = [pickle.loads(problem) for problem in found["problem"].drop_null().to_pylist()]
    for problem in problems:
        if not isinstance(problem, InputError):
            raise problem
    if problems:
        # Not the one that happened to come first.
        raise min(problems, key=lambda problem: (problem.file, problem.row or 0))
    return [_unpacked(counts) for counts in found["counts"].to_pylist()]


# On the workers


def _task(work: str, *arguments: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Make the function that the workers run.

    Parameters
    ----------
    work : str
        Name of a function in this module; it gets the batches and the arguments.
    """
    shipped, sent_by = pickle.dumps(arguments), __version__

    # Spark sends this function by value: it must not use poscount before it has imported it.
    def run(batches: Iterable[Any]) -> Iterator[Any]:
        import itertools
        import pickle

        import pyarrow

        batches = iter(batches)
        first = next(batches, None)
        if first is None:
            return
        problem: Exception
        try:
            import poscount.engines.spark

            poscount.engines.batches.check_version(sent_by, "Spark")
            work_on = getattr(poscount.engines.spark, work)
            yield from work_on(itertools.chain([first], batches), *pickle.loads(shipped))
            return
        except ModuleNotFoundError as error:
            needs = f"A worker of Spark cannot import {error.name}"
            problem = ImportError(f"{needs}: install poscount {sent_by} on every worker.")
        except ImportError as error:
            problem = error
        except poscount.errors.InputError as error:
            problem = error
        # Raised here, it would reach the driver as hundreds of lines of Java.
        columns = {
            "counts": pyarrow.nulls(1, pyarrow.binary()),
            "problem": [pickle.dumps(problem)],
        }
        yield pyarrow.RecordBatch.from_pydict(columns)

    return run


def count_partition(
    batches: Iterable[Any], counter: BatchCounter, columns: list[str]
) -> Iterator[Any]:
    """Count a partition."""
    from pyspark import TaskContext

    context = TaskContext.get()
    named = (pyarrow().RecordBatch.from_arrays(batch.columns, names=columns) for batch in batches)
    number = context.partitionId() if context else 0
    yield _packed(counting.count_partition(counter, named, number))


def count_listed_files(
    batches: Iterable[Any], counter: BatchCounter, read_options: ReadOptions
) -> Iterator[Any]:
    """Count the files of a list."""
    for batch in batches:
        for file in batch.column(0).to_pylist():
            yield _packed(count_file(counter, file, read_options))


def add_counts(batches: Iterable[Any]) -> Iterator[Any]:
    """Add up what other workers have counted; their problems are passed on."""
    total = RunningSum()
    for batch in batches:
        yield batch.filter(batch.column("problem").is_valid())
        for counts in batch.column("counts").drop_null().to_pylist():
            total.add(_unpacked(counts))
    if total.parts:
        yield _packed(add_up(total.parts))


def _packed(counts: AnyCounts) -> Any:
    pa = pyarrow()
    # Most cells of many groups are empty, so that little is left of them.
    packed = pa.array([zlib.compress(pickle.dumps(counts), level=1)])
    return pa.RecordBatch.from_pydict({"counts": packed, "problem": pa.nulls(1, pa.binary())})


def _unpacked(counts: bytes) -> AnyCounts:
    return pickle.loads(zlib.decompress(counts))
