"""Rows of samples whose value is missing, or is one that no positive has, column by column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.data.columns import Columns
from poscount.data.rows import Rows


class MissingCounts(NamedTuple):
    """Rows without a value that the positives could have.

    Attributes
    ----------
    missing : ndarray of shape (..., n_columns)
        Rows without a value.
    unseen : ndarray of shape (..., n_columns)
        Rows with a word that no positive has; 0 for numbers.
    incomplete : ndarray of shape (...)
        Rows that lack any value.
    different : ndarray of shape (...)
        Rows with another value in a column in which the positives never vary.
    """

    missing: np.ndarray
    unseen: np.ndarray
    incomplete: np.ndarray
    different: np.ndarray

    @classmethod
    def of_cells(cls, cells: np.ndarray, columns: Columns) -> MissingCounts:
        """Read counts of shape (..., n_missing_cells)."""
        n, n_words = len(columns.kinds_), len(columns.categorical)
        unseen = np.zeros((*cells.shape[:-1], n), cells.dtype)
        unseen[..., columns.categorical] = cells[..., n + 1 : n + 1 + n_words]
        # There is no such cell if nothing is constant.
        different = cells[..., n + 1 + n_words :].sum(axis=-1)
        return cls(cells[..., :n], unseen, cells[..., n], different)

    @classmethod
    def of_rows(cls, rows: Rows, columns: Columns) -> MissingCounts:
        """Count the rows of one sample."""
        cells = np.zeros(n_missing_cells(columns), np.int64)
        for block in rows.blocks():
            count_missing(block, columns, None, cells)
            count_different(columns.constants_.differ(block), None, cells[-1:])
        return cls.of_cells(cells[np.newaxis], columns)


def n_missing_cells(columns: Columns) -> int:
    """Number of cells that `count_missing` fills, and one for `count_different` if it is needed."""
    return len(columns.kinds_) + 1 + len(columns.categorical) + bool(columns.constants_.places.size)


def count_different(
    different: np.ndarray | None,
    starts: np.ndarray | None,
    out: np.ndarray,
    weights: np.ndarray | None = None,
) -> None:
    """Add rows that differ from all positives to the first count of `out`.

    `starts` is as in `count_missing`; rows of one group may have weights, too.
    """
    if different is None:
        return
    if starts is None:
        out[0] += np.count_nonzero(different) if weights is None else weights[different].sum()
    else:
        add_to(out, starts[different], None if weights is None else weights[different])


def count_missing(
    coded: np.ndarray,
    columns: Columns,
    starts: np.ndarray | None,
    out: np.ndarray,
    weights: np.ndarray | None = None,
) -> None:
    """Add rows of codes to counts.

    `starts` says where the counts of each row's group start in `out`; None means one group, whose
    rows count 1 each and have no weights.
    """
    n = len(columns.kinds_)
    with np.errstate(over="ignore", invalid="ignore"):
        any_missing = np.isnan(np.sum(coded))
    found = []
    if any_missing:
        gaps = np.isnan(coded)
        found += [*enumerate(gaps.T), (n, gaps.any(axis=1))]
    found += [
        (n + 1 + i, coded[:, j] == columns.unseen(j))
        for i, j in enumerate(columns.categorical.tolist())
    ]
    for cell, rows in found:
        if starts is None:
            out[cell] += np.count_nonzero(rows)
        else:
            add_to(out, starts[rows] + cell, None if weights is None else weights[rows])


def add_to(
    out: np.ndarray,
    places: np.ndarray,
    weights: np.ndarray | None,
    kept: np.ndarray | None = None,
) -> None:
    """Add rows to counts at their places, of shape (..., n_rows): 1 each, or their weights.

    Only the places that are `kept` count, if that is given.

    Examples
    --------
    >>> counts = np.zeros(3, np.int64)
    >>> add_to(counts, np.array([[0, 0], [1, 2]]), np.array([5, 7]))
    >>> counts
    array([12,  5,  7])
    """
    if weights is None:
        np.add.at(out, places if kept is None else places[kept], 1)
        return
    # One line at a time: given more lines than one, numpy 2.4 reads beyond the end of the weights.
    lines = np.atleast_2d(places)
    counted = np.ones(lines.shape, bool) if kept is None else np.atleast_2d(kept)
    for line, used in zip(lines, counted, strict=True):
        np.add.at(out, line[used], weights[used])
