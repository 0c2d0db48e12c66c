"""Labelled tables from which tasks are drawn."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from poscount.errors import InputError

# For a task: some to learn from and some to count, and some others among them.
FEWEST_POSITIVES, FEWEST_NEGATIVES = 50, 30


class Source(NamedTuple):
    """Rows of known classes.

    Attributes
    ----------
    name : str
    kin : str
        Sources with the same word here come from the same data; none of them judges another.
    features : ndarray of shape (n_rows, n_features)
        Numbers; codes of words; NaN where a value is missing.
    classes : ndarray of int, shape (n_rows,)
    words : tuple of int
        Columns that hold codes of words.
    change : callable, optional
        What happens to each of its tasks: of a task and a generator.
    """

    name: str
    kin: str
    features: np.ndarray
    classes: np.ndarray
    words: tuple[int, ...] = ()
    change: Callable[[Any, np.random.Generator], Any] | None = None


def read_table(path: str | os.PathLike[str], label: str, left_out: Collection[str] = ()) -> Source:
    """Read a CSV file, compressed or not, in which one column is the class.

    Parameters
    ----------
    path : path
    label : str
        The column of the class.
    left_out : collection of str
        Columns that are no features.
    """
    try:
        from pyarrow import csv
    except ImportError as error:
        raise ImportError('Reading tables needs pyarrow: pip install "poscount[cli]".') from error
    # An empty cell among words is a gap, as it is among numbers.
    gaps = csv.ConvertOptions(strings_can_be_null=True)
    table = csv.read_csv(path, convert_options=gaps)
    if label not in table.column_names:
        raise InputError("the file has no such column.", file=str(path), column=label)
    name = Path(path).name.split(".")[0]
    used = [column for column in table.column_names if column not in {label, *left_out}]
    if not used:
        raise InputError(
            "the file has no column besides the class that could tell.", file=str(path)
        )
    columns = [_numbers_or_codes(table[column]) for column in used]
    words = [j for j, column in enumerate(used) if not _is_number(table[column])]
    kinds, classes, sizes = np.unique(
        table[label].to_numpy().astype(str), return_inverse=True, return_counts=True
    )
    fair = (sizes >= FEWEST_POSITIVES) & (len(classes) - sizes >= FEWEST_NEGATIVES)
    if not fair.any():
        raise InputError(
            f"no class has {FEWEST_POSITIVES} rows and {FEWEST_NEGATIVES} of other classes beside "
            f"it, so there is no task to learn from ({len(kinds)} class(es), {len(classes)} rows).",
            file=str(path),
            column=label,
        )
    return Source(name, name, np.column_stack(columns), classes, tuple(words))


def _is_number(column: Any) -> bool:
    from pyarrow import types

    return types.is_integer(column.type) or types.is_floating(column.type)


def _numbers_or_codes(column: Any) -> np.ndarray:
    """Numbers, or the place of each word in the alphabet; NaN where there is none."""
    if _is_number(column):
        return column.to_numpy().astype(np.float64)
    cells = column.to_pylist()
    known = {
        word: code for code, word in enumerate(sorted({str(x) for x in cells if x is not None}))
    }
    return np.array([np.nan if cell is None else known[str(cell)] for cell in cells], np.float64)
