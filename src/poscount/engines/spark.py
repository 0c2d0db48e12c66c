"""Counting on Spark: the small model goes to the workers, and Spark adds up their counts."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from poscount import __version__
from poscount.base.counting import BatchCounter
from poscount.counts.counts import GroupedCounts
from poscount.counts.weights import WeightSums
from poscount.engines import clusters
from poscount.engines.batches import AnyCounts, add_up, in_order
from poscount.errors import InputError, join_names
from poscount.files.arrow import pyarrow
from poscount.files.features import chosen_columns, wanted_columns

# Marks, in the column of cells, the number of all rows.
_ALL_ROWS = -1
# And the sums over weights, in the order of `WeightSums`: whole numbers in the column "n", the
# others in "real".
_WHOLE_SUMS = {"total": -2, "fractional": -3}
_REAL_SUMS = {"squares": -4, "core_excess": -5}


def count_frame(counter: BatchCounter, frame: Any, *, explain: bool = False) -> Any:
    """Count a Spark data frame.

    Parameters
    ----------
    counter : BatchCounter
        It is sent to the workers; the rows stay where they are, and Spark adds up each group.
    frame : pyspark.sql.DataFrame
    explain : bool
        Return the plan as text instead.
    """
    functions, types = _spark()
    by = counter.by
    columns = wanted_columns(counter.model, counter.other_columns, frame.columns)
    chosen_columns(frame.columns, None, columns, "the Spark data frame")
    if explain:
        return (
            f"Spark counts {join_names(columns)} in mapInArrow and sums by {[*by, 'cell']}; the "
            f"model has {len(pickle.dumps(counter.model))} bytes."
        )
    # Plain names, because Spark misreads dots, and because a user's column may have one of ours.
    rows = frame.select(
        [functions.col(_quoted(name)).alias(f"column{i}") for i, name in enumerate(columns)]
    )
    keys = [f"by{i}" for i in range(len(by))]
    # The periods of times are text.
    at = [columns.index(name) if name in frame.columns else None for name in by]
    fields = [
        types.StructField(
            key, types.StringType() if i is None else frame.schema[columns[i]].dataType
        )
        for key, i in zip(keys, at, strict=True)
    ]
    fields += [
        types.StructField("cell", types.LongType()),
        types.StructField("n", types.LongType()),
        types.StructField("real", types.DoubleType()),
        types.StructField("problem", types.BinaryType()),
    ]
    numbers = {"cell": "int64", "n": "int64", "real": "float64"}
    task = _task("count_partition", numbers, counter, columns, groups=at)
    found = (
        rows.mapInArrow(task, types.StructType(fields))
        .groupBy(*keys, "cell", "problem")
        .agg(functions.sum("n").alias("n"), functions.sum("real").alias("real"))
        .toArrow()
    )
    _raise_problems(found["problem"])
    return _counts(counter, found, keys)


def add_files(task: clusters.FileTask, files: list[str]) -> AnyCounts:
    """Let the workers count files."""
    _spark()
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    names = session.createDataFrame([(file,) for file in files], "file string")
    found = (
        names.repartition(len(files), "file")
        .mapInArrow(
            _task("count_listed_files", {"counts": "binary"}, task), "counts binary, problem binary"
        )
        .toArrow()
    )
    _raise_problems(found["problem"])
    return add_up([pickle.loads(counts) for counts in found["counts"].to_pylist()])


def _spark() -> tuple[Any, Any]:
    try:
        from pyspark.sql import functions, types
    except ImportError as error:
        raise ImportError(
            'Counting in Spark needs pyspark: pip install "poscount[spark]".'
        ) from error
    return functions, types


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# On the workers


def _task(
    work: str, columns: dict[str, str], *arguments: Any, groups: Sequence[int | None] = ()
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Make the function that the workers run.

    Parameters
    ----------
    work : str
        Name of a function in this module; it gets the batches and the arguments.
    columns : dict
        Names and types of the columns that it yields besides groups and problem.
    groups : sequence of int or None
        Positions of the grouping columns in the batches; None for one that is text and not there.
    """
    shipped, sent_by, groups = pickle.dumps(arguments), __version__, list(groups)

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

            poscount.engines.clusters.check_version(sent_by, "Spark")
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
        kinds = {
            f"by{i}": pyarrow.string() if at is None else first.schema.field(at).type
            for i, at in enumerate(groups)
        }
        kinds |= {name: pyarrow.type_for_alias(kind) for name, kind in columns.items()}
        blank = {name: pyarrow.nulls(1, kind) for name, kind in kinds.items()}
        yield pyarrow.RecordBatch.from_pydict(blank | {"problem": [pickle.dumps(problem)]})

    return run


def count_partition(
    batches: Iterable[Any], counter: BatchCounter, columns: list[str]
) -> Iterator[Any]:
    """Count a partition on a worker: yield a row for each group and each cell with rows in it."""
    kinds: list[Any] = []
    string = pyarrow().string()

    def named() -> Iterator[Any]:
        for batch in batches:
            kinds[:] = [
                batch.schema.field(columns.index(name)).type if name in columns else string
                for name in counter.by
            ]
            yield pyarrow().RecordBatch.from_arrays(batch.columns, names=columns)

    counts = clusters.count_partition(counter, named(), _partition())
    yield _rows(counts, kinds)


def count_listed_files(batches: Iterable[Any], task: clusters.FileTask) -> Iterator[Any]:
    """Count files on a worker that gets a list of them."""
    pa = pyarrow()
    for batch in batches:
        for file in batch.column(0).to_pylist():
            counts = pa.array([pickle.dumps(task.count_file(file))])
            blank = pa.nulls(1, pa.binary())
            yield pa.RecordBatch.from_arrays([counts, blank], names=["counts", "problem"])


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0


def _rows(counts: AnyCounts, kinds: list[Any]) -> Any:
    pa = pyarrow()
    keys = counts.keys if isinstance(counts, GroupedCounts) else [()]
    table = np.atleast_2d(counts.cells)
    group, cell = np.nonzero(table)
    # The number of rows is one more cell, and so is each sum over weights.
    more = {_ALL_ROWS: np.atleast_1d(counts.n)}
    if counts.weights is not None:
        groups = counts.weights if isinstance(counts.weights, list) else [counts.weights]
        more |= {
            mark: np.array([getattr(sums, name) for sums in groups])
            for name, mark in (_WHOLE_SUMS | _REAL_SUMS).items()
        }
    at = np.concatenate([group, *(np.arange(len(keys)) for _ in more)])
    cells = np.concatenate([cell, *(np.full(len(keys), mark) for mark in more)])
    real_marks = _REAL_SUMS.values()
    whole = [np.zeros(len(keys), int) if mark in real_marks else more[mark] for mark in more]
    real = [more[mark] if mark in real_marks else np.zeros(len(keys)) for mark in more]
    columns = [
        pa.array([key[i] for key in keys], kind).take(pa.array(at)) for i, kind in enumerate(kinds)
    ]
    columns += [
        pa.array(cells),
        pa.array(np.concatenate([table[group, cell], *whole])),
        pa.array(np.concatenate([np.zeros(len(group)), *real])),
        pa.nulls(len(at), pa.binary()),
    ]
    names = [*(f"by{i}" for i in range(len(kinds))), "cell", "n", "real", "problem"]
    return pa.RecordBatch.from_arrays(columns, names=names)


# Back on the driver


def _raise_problems(pickled: Any) -> None:
    problems = [pickle.loads(problem) for problem in pickled.drop_null().to_pylist()]
    for problem in problems:
        if not isinstance(problem, InputError):
            raise problem
    if problems:
        # Not the one that happened to come first.
        raise min(problems, key=lambda problem: (problem.file, problem.row or 0))


def _counts(counter: BatchCounter, found: Any, keys: list[str]) -> AnyCounts:
    groups: dict[tuple, int] = {} if keys else {(): 0}
    if keys:
        key_of_row = zip(*(found[key].to_pylist() for key in keys), strict=True)
        at = np.array([groups.setdefault(key, len(groups)) for key in key_of_row], np.intp)
    else:
        at = np.zeros(len(found), np.intp)
    cells = np.zeros((len(groups), counter.n_cells), np.int64)
    n_rows = np.zeros(len(groups), np.int64)
    cell, n = found["cell"].to_numpy(), found["n"].to_numpy()
    all_rows, is_cell = cell == _ALL_ROWS, cell >= 0
    n_rows[at[all_rows]] = n[all_rows]
    cells[at[is_cell], cell[is_cell]] = n[is_cell]
    weights = None
    if counter.weights is not None:
        real = found["real"].to_numpy()

        def sums_of(mark: int, values: np.ndarray) -> list[Any]:
            sums = np.zeros(len(groups), values.dtype)
            sums[at[cell == mark]] = values[cell == mark]
            return sums.tolist()

        columns = [
            *(sums_of(mark, n) for mark in _WHOLE_SUMS.values()),
            *(sums_of(mark, real) for mark in _REAL_SUMS.values()),
        ]
        weights = [WeightSums(*sums) for sums in zip(*columns, strict=True)]
    return in_order(counter.counts_of(list(groups), cells, n_rows, weights))
