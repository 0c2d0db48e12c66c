"""Counting on Spark: the small model goes to the workers, and Spark adds their counts up."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from poscount import __version__
from poscount.base import CountingQuantifier
from poscount.counts import Counts, GroupedCounts
from poscount.engines.batches import (
    AnyCounts,
    add_up,
    at_place,
    count_batch,
    in_order,
)
from poscount.engines.count_files import FilePart, FileTask, merge_parts
from poscount.errors import InputError
from poscount.files.arrow import pyarrow
from poscount.files.features import chosen_columns, wanted_columns

# In the column of cells: how many rows there were.
_ROWS = -1


def count_frame(
    model: CountingQuantifier, frame: Any, by: Sequence[str], *, explain: bool = False
) -> Any:
    """Count a Spark data frame.

    Parameters
    ----------
    model : CountingQuantifier
        It is sent to the workers, the rows stay where they are.
    frame : pyspark.sql.DataFrame
    by : sequence of str
        Grouping columns; Spark adds each group up.
    explain : bool
        Give the plan as text instead.
    """
    functions, types = _spark()
    columns = wanted_columns(model, by)
    chosen_columns(frame.columns, None, columns, "the Spark data frame")
    if explain:
        return (
            f"Spark counts {', '.join(columns)} in mapInArrow and sums by {[*by, 'cell']}; the "
            f"model has {len(pickle.dumps(model))} bytes."
        )
    # Plain names on the way: Spark trips over dots, and a user's may be one of ours.
    rows = frame.select(
        [functions.col(_quoted(name)).alias(f"column{i}") for i, name in enumerate(columns)]
    )
    keys = [f"by{i}" for i in range(len(by))]
    fields = [
        types.StructField(key, frame.schema[name].dataType)
        for key, name in zip(keys, by, strict=True)
    ]
    fields += [
        types.StructField("cell", types.LongType()),
        types.StructField("n", types.LongType()),
        types.StructField("problem", types.StringType()),
    ]
    task = _task(
        *("count_partition", {"cell": "int64", "n": "int64"}, model, tuple(by), columns),
        groups=[columns.index(name) for name in by],
    )
    found = (
        rows.mapInArrow(task, types.StructType(fields))
        .groupBy(*keys, "cell", "problem")
        .agg(functions.sum("n").alias("n"))
        .toArrow()
    )
    _raise_problems(found["problem"])
    return _counts(model, found, tuple(by), keys)


def add_files(task: FileTask, files: list[str]) -> FilePart:
    """Let the workers count files."""
    _spark()
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    names = session.createDataFrame([(file,) for file in files], "file string")
    found = (
        names.repartition(len(files), "file")
        .mapInArrow(
            _task("count_listed_files", {"part": "binary"}, task), "part binary, problem string"
        )
        .toArrow()
    )
    _raise_problems(found["problem"])
    return merge_parts(pickle.loads(part) for part in found["part"].to_pylist())


def _spark() -> tuple[Any, Any]:
    try:
        from pyspark.sql import functions, types
    except ImportError as error:
        raise ImportError(
            'Counting in Spark needs pyspark: pip install "poscount[spark]".'
        ) from error
    return functions, types


# On the workers


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _task(
    work: str, columns: dict[str, str], *arguments: Any, groups: Sequence[int] = ()
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Make what the workers run.

    Parameters
    ----------
    work : str
        Name of a function in this module; it gets the arguments and the batches.
    columns : dict
        Names and types of the columns that it yields beside groups and problem.
    groups : sequence of int
        Where in the batches the grouping columns stand.
    """
    shipped, sent_by, groups = pickle.dumps(arguments), __version__, list(groups)

    # Spark sends this function by value: it must not need poscount before it has looked for it.
    def run(batches: Iterable[Any]) -> Iterator[Any]:
        import itertools
        import json
        import pickle

        import pyarrow

        batches = iter(batches)
        first = next(batches, None)
        if first is None:
            return
        problem: dict[str, Any]
        try:
            import poscount.engines.spark
            import poscount.engines.versions

            poscount.engines.versions.check_version(sent_by, "Spark")
            work_on = getattr(poscount.engines.spark, work)
            yield from work_on(itertools.chain([first], batches), *pickle.loads(shipped))
        except ModuleNotFoundError as error:
            needs = f"A worker of Spark cannot import {error.name}"
            problem = {"version": f"{needs}: install poscount {sent_by} on every worker."}
        except ImportError as error:
            problem = {"version": str(error)}
        except poscount.errors.InputError as error:
            problem = {
                "problem": error.message,
                "source": error.file,
                "column": error.column,
                "row": error.row,
            }
        else:
            return
        # An exception would reach the driver in some hundred lines of Java.
        told = {"problem": [json.dumps(problem)]}
        kinds = {f"by{i}": first.schema.field(at).type for i, at in enumerate(groups)}
        kinds |= {name: pyarrow.type_for_alias(kind) for name, kind in columns.items()}
        blank = {name: pyarrow.nulls(1, kind) for name, kind in kinds.items()}
        yield pyarrow.RecordBatch.from_pydict(blank | told)

    return run


def count_partition(
    batches: Iterable[Any], model: CountingQuantifier, by: tuple[str, ...], columns: list[str]
) -> Iterator[Any]:
    """Count a partition on a worker: a row for each group and cell that is not empty."""
    pa = pyarrow()
    parts: list[AnyCounts] = []
    kinds, start = [], 0
    for batch in batches:
        table = pa.Table.from_batches([batch]).rename_columns(columns)
        kinds = [table.schema.field(name).type for name in by]
        try:
            parts.append(count_batch(model, table, by))
        except InputError as error:
            raise at_place(error, f"partition {_partition()}", start) from error
        start += batch.num_rows
        if len(parts) > 16:
            parts = [add_up(parts)]
    yield _rows(add_up(parts), kinds)


def count_listed_files(batches: Iterable[Any], task: FileTask) -> Iterator[Any]:
    """Count files on a worker that gets a list of them."""
    pa = pyarrow()
    for batch in batches:
        for file in batch.column(0).to_pylist():
            part = pickle.dumps(task.count_file(file))
            blank = pa.nulls(1, pa.string())
            yield pa.RecordBatch.from_arrays([pa.array([part]), blank], names=["part", "problem"])


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context else 0


def _rows(counts: AnyCounts, kinds: list[Any]) -> Any:
    pa = pyarrow()
    keys = counts.keys if isinstance(counts, GroupedCounts) else [()]
    table = np.atleast_2d(counts.cells)
    group, cell = np.nonzero(table)
    n_rows = np.atleast_1d(counts.n)
    # The number of rows goes with the cells, as one more.
    at = np.concatenate([group, np.arange(len(keys))])
    cells = np.concatenate([cell, np.full(len(keys), _ROWS)])
    n = np.concatenate([table[group, cell], n_rows])
    columns = [
        pa.array([key[i] for key in keys], kind).take(pa.array(at)) for i, kind in enumerate(kinds)
    ]
    columns += [pa.array(cells), pa.array(n.astype(np.int64)), pa.nulls(len(at), pa.string())]
    names = [*(f"by{i}" for i in range(len(kinds))), "cell", "n", "problem"]
    return pa.RecordBatch.from_arrays(columns, names=names)


# Back on the driver


def _raise_problems(problems: Any) -> None:
    told = [json.loads(text) for text in problems.drop_null().to_pylist()]
    for problem in told:
        if "version" in problem:
            raise ImportError(problem["version"])
    if told:
        # Which worker was first is chance.
        first = min(told, key=lambda problem: (problem["source"], problem["row"] or 0))
        raise InputError(**first)


def _counts(
    model: CountingQuantifier, found: Any, by: tuple[str, ...], keys: list[str]
) -> AnyCounts:
    nothing = pyarrow().table({name: np.empty(0) for name in wanted_columns(model, by)})
    zero = model.count(nothing)
    groups: dict[tuple, int] = {}
    key_of_row = zip(*(found[key].to_pylist() for key in keys), strict=True) if by else None
    if key_of_row is None:
        at = np.zeros(len(found), np.intp)
        groups[()] = 0
    else:
        at = np.array([groups.setdefault(key, len(groups)) for key in key_of_row], np.intp)
    cells = np.zeros((len(groups), len(zero.cells)), np.int64)
    n_rows = np.zeros(len(groups), np.int64)
    cell, n = found["cell"].to_numpy(), found["n"].to_numpy()
    rows = cell == _ROWS
    n_rows[at[rows]] = n[rows]
    cells[at[~rows], cell[~rows]] = n[~rows]
    if by:
        return in_order(GroupedCounts(by, list(groups), cells, n_rows, model.hash_))
    return Counts(cells[0], int(n_rows[0]), model.hash_)
