"""What rows are compared with when RCQ counts them, and where they are counted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.data.columns import Columns

# Cells of partitions that are counted together. More would be slower to clear than to count.
MOST_JOINT_CELLS = 1024
# The compiled search among edges has six steps.
N_EDGES = 63


class CountingPlan(NamedTuple):
    """What rows are compared with, and where they are counted.

    Attributes
    ----------
    edges : ndarray of shape (63,)
        Edges along the score, and then infinity.
    score_cells, pat_cells : ndarray of int, shape (64,)
        Score cell and PAT cell of the rows below each edge.
    far : ndarray
        Scores below which rows are far away.
    features : ndarray of int
        Columns of numbers that are cut.
    cuts : ndarray of shape (n_features, 4)
    missing_bins : ndarray of uint8, shape (n_features,)
        Bin of rows that lack the number.
    categories : ndarray of int
        Columns of categories that are cut.
    category_bins : ndarray of uint8, shape (n_categories, n_codes + 1)
        Bin of each code, and last of missing ones.
    clusterings : ndarray of int
        Number of clusters of each clustering.
    distances : ndarray of shape (n_clusters,)
        A row belongs to the cluster whose direction, times the row, minus this is largest.
    offsets : ndarray of int
        First column of each partition in the table, but for the bins of a learned score.
    n_columns : int
        Columns of the table; the last ones are those of a learned score, if there is one.
    numbers : ndarray of int
        All columns of numbers.
    limits : ndarray of shape (n_numbers, 8)
        Outside of which rows are counted.
    all_categories : ndarray of int
        All columns of categories.
    unseen : ndarray of shape (n_all_categories,)
        Code of the words that no positive has.
    ends : ndarray of int, shape (4,)
        Where the cells of regions end, and those of PAT, of far rows and of ranges.
    columns : Columns
        Of the table.
    widths : tuple of int
        Number of bins of each partition.
    different_cell : int
        Where rows are counted that have another value than all positives, if any can.
    together : tuple of (tuple of int, int)
        Partitions that numpy counts together, and the number of cells that they have together.
    """

    edges: np.ndarray
    score_cells: np.ndarray
    pat_cells: np.ndarray
    far: np.ndarray
    features: np.ndarray
    cuts: np.ndarray
    missing_bins: np.ndarray
    categories: np.ndarray
    category_bins: np.ndarray
    clusterings: np.ndarray
    distances: np.ndarray
    offsets: np.ndarray
    n_columns: int
    numbers: np.ndarray
    limits: np.ndarray
    all_categories: np.ndarray
    unseen: np.ndarray
    ends: np.ndarray
    columns: Columns
    widths: tuple[int, ...]
    different_cell: int
    together: tuple[tuple[tuple[int, ...], int], ...]


class CountingTarget(NamedTuple):
    """The rows of a block, and where they are counted.

    Attributes
    ----------
    starts : ndarray of int64, shape (n_rows,), or None
        Where the counts of each row's group start; None for one group.
    weights : ndarray of int64, shape (n_rows,), or None
        What each row counts; 1 if None.
    out : ndarray of int64
        Counts, which are added to.
    row_edges : ndarray of int64, shape (n_rows,)
        Becomes the number of edges below the score of each row.
    complete : bool
        Whether all codes are numbers, and none is missing.
    """

    starts: np.ndarray | None
    weights: np.ndarray | None
    out: np.ndarray
    row_edges: np.ndarray
    complete: bool


def counted_together(
    widths: tuple[int, ...], n_score_cells: int
) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Neighbouring partitions whose joint cells are few enough, and the number of these cells.

    Examples
    --------
    >>> counted_together((5, 5, 5, 5, 2), 8)
    (((0, 1, 2), 1000), ((3, 4), 80))
    """
    found: list[tuple[tuple[int, ...], int]] = []
    for j, width in enumerate(widths):
        if found and found[-1][1] * width <= MOST_JOINT_CELLS:
            partitions, n_cells = found[-1]
            found[-1] = ((*partitions, j), n_cells * width)
        else:
            found.append(((j,), n_score_cells * width))
    return tuple(found)
