"""Counting files: one pass over each, in memory that does not grow with them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Sequence
from typing import Any

from poscount.base import CountingQuantifier, Quantifier
from poscount.counts import Counts, GroupedCounts
from poscount.engines.arrow import Progress, pyarrow
from poscount.engines.files import read_batches
from poscount.validation import InputError


def count_file(
    model: CountingQuantifier, path: str, *, progress: Progress | None = None, **layout: Any
) -> Counts:
    """Count the rows of a file.

    Parameters
    ----------
    model : CountingQuantifier
        Fitted on a frame, so that it knows its columns by name.
    path : str
        As in `poscount.engines.files.read_batches`, like `progress` and `layout`.

    Examples
    --------
    >>> from poscount import PAT
    >>> from poscount.datasets import example_path, load_example
    >>> model = PAT(random_state=0).fit(load_example().positives)
    >>> count_file(model, str(example_path("trap.csv.gz"))).n
    8070
    """
    return functools.reduce(
        operator.add,
        (
            _at_place(model.count, table, path, start)
            for start, table in _tables(model, path, (), progress, layout)
        ),
    )


def count_file_by(
    model: CountingQuantifier,
    path: str,
    by: Sequence[str],
    *,
    progress: Progress | None = None,
    **layout: Any,
) -> GroupedCounts:
    """Count the rows of each group of a file; the other arguments are those of `count_file`."""
    return functools.reduce(
        operator.add,
        (
            _at_place(lambda rows: model.count_by(rows, by), table, path, start)
            for start, table in _tables(model, path, by, progress, layout)
        ),
    )


def model_columns(model: Quantifier) -> list[str]:
    """Columns that a model looks for in a file."""
    if not hasattr(model, "feature_names_in_"):
        raise InputError(
            "This model was fitted on an array without column names, so that it cannot find its "
            "columns in a file: fit it on a frame or from a file."
        )
    return list(model.feature_names_in_)


def _tables(
    model: CountingQuantifier,
    path: str,
    by: Sequence[str],
    progress: Progress | None,
    layout: dict[str, Any],
) -> Iterator[tuple[int, Any]]:
    columns = list(dict.fromkeys([*model_columns(model), *by]))
    start = 0
    for batch in read_batches(
        path, columns=columns, numeric=model.numeric_features_, progress=progress, **layout
    ):
        yield start, pyarrow().Table.from_batches([batch])
        start += batch.num_rows


def _at_place(count: Any, table: Any, path: str, start: int) -> Any:
    try:
        return count(table)
    except InputError as error:
        row = None if error.row is None else start + error.row
        raise InputError(error.problem, source=path, column=error.column, row=row) from error
