"""Labelled tables from which tasks are drawn."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from poscount.errors import InputError

# Categories with fewer rows get no column of their own.
FEWEST_ROWS = 5
# For a task: some to learn from and some to count, and some others among them.
FEWEST_POSITIVES, FEWEST_NEGATIVES = 50, 30
BUNDLED = ("digits", "breast_cancer", "iris", "wine")


class Source(NamedTuple):
    """Rows of known classes.

    Attributes
    ----------
    name : str
    kin : str
        Sources with the same word here come from the same data; none of them judges another.
    features : ndarray of shape (n_rows, n_features)
    classes : ndarray of int, shape (n_rows,)
    """

    name: str
    kin: str
    features: np.ndarray
    classes: np.ndarray


def read_table(path: str | os.PathLike[str], label: str, left_out: Collection[str] = ()) -> Source:
    """Read a CSV file, compressed or not, in which one column is the class.

    Words become one column for each that is frequent enough; missing numbers become the mean.

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
    table = csv.read_csv(path)
    if label not in table.column_names:
        raise InputError("the file has no such column.", file=str(path), column=label)
    name = Path(path).name.split(".")[0]
    used = [column for column in table.column_names if column not in {label, *left_out}]
    columns = [part for column in used for part in _as_numbers(table[column])]
    if not columns:
        raise InputError(
            "the file has no column besides the class that could tell.", file=str(path)
        )
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
    return Source(name, name, np.column_stack(columns), classes)


def _as_numbers(column: Any) -> Iterator[np.ndarray]:
    from pyarrow import types

    if types.is_integer(column.type) or types.is_floating(column.type):
        values = column.to_numpy().astype(np.float64)
        yield np.where(np.isnan(values), np.nanmean(values), values)
        return
    words = np.array([str(word) for word in column.to_pylist()])
    found, numbers = np.unique(words, return_counts=True)
    for word in found[numbers >= FEWEST_ROWS]:
        yield (words == word).astype(np.float64)


def bundled(name: str) -> Source:
    """One of the data sets that come with scikit-learn."""
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")()
    return Source(f"sklearn_{name}", f"sklearn_{name}", data.data, data.target)
