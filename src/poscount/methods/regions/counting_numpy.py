"""RCQ's counting in numpy; `counting_kernel` gives the same counts, several times as fast."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.counts.missing_counts import add_to, count_missing
from poscount.data.columns import Columns
from poscount.methods.regions.layout import NO_BIN
from poscount.methods.regions.ranges import count_outside

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
    n_plain : int
        Columns of the table, without those of a learned score.
    different_cell : int
        Where rows are counted that have another value than all positives, if any can.
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
    n_plain: int
    different_cell: int


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


class NumpyCounting:
    """Adds rows to counts, chunk by chunk.

    Parameters
    ----------
    plan : CountingPlan
    target : CountingTarget
    """

    def __init__(self, plan: CountingPlan, target: CountingTarget) -> None:
        self.plan = plan
        self.starts, self.weights, self.out, self.row_edges, self.complete = target
        if self.starts is None and self.weights is not None:
            self.starts = np.zeros(len(self.weights), np.int64)

    def add(self, rows: slice, codes: np.ndarray, scores: np.ndarray, nearness: np.ndarray) -> None:
        """Count the rows of a stack: see `poscount.methods.regions.counting_kernel.count_stack`."""
        n_rows, size = rows.stop - rows.start, codes.shape[2]
        for i in range(len(codes)):
            n = min(size, n_rows - i * size)
            first = rows.start + i * size
            part = slice(first, first + n)
            self._add_chunk(part, codes[i, :, :n], scores[i, :n], nearness[i, :, :n])

    def _add_chunk(
        self, rows: slice, codes: np.ndarray, scores: np.ndarray, nearness: np.ndarray
    ) -> None:
        plan, out = self.plan, self.out
        in_regions, pat_end, far_end, range_end = plan.ends.tolist()
        between = np.searchsorted(plan.edges, scores)
        self.row_edges[rows] = between
        row_cells = plan.pat_cells[between]
        # Far rows are below all edges, whatever the limits are.
        far = [scores < min(limit, np.nextafter(plan.edges[0], np.inf)) for limit in plan.far]
        gaps = not self.complete and bool(np.isnan(np.sum(codes)))
        bins = bins_of(plan, codes, nearness, gaps)
        holes = gaps or len(plan.categories) > 0
        numbers = codes if len(plan.numbers) == len(codes) else codes[plan.numbers]
        if self.starts is None:
            out[in_regions:pat_end] += np.bincount(row_cells, minlength=pat_end - in_regions)
            out[pat_end:far_end] += [np.count_nonzero(each) for each in far]
            count_outside(numbers, plan.limits, None, out[far_end:])
            if not self.complete:
                count_missing(codes.T, plan.columns, None, out[range_end:])
            first = plan.score_cells[between].astype(np.uint16) * np.uint16(plan.n_columns)
            entries = first + (plan.offsets.astype(np.uint16)[:, np.newaxis] + bins)
            entries = entries[bins != NO_BIN] if holes else entries.ravel()
            out[:in_regions] += np.bincount(entries, minlength=in_regions)
            return
        starts = self.starts[rows]
        weights = None if self.weights is None else self.weights[rows]
        add_to(out, starts + in_regions + row_cells, weights)
        for i, each in enumerate(far):
            add_to(out, starts[each] + pat_end + i, None if weights is None else weights[each])
        count_outside(numbers, plan.limits, starts + far_end, out, weights)
        if not self.complete:
            count_missing(codes.T, plan.columns, starts + range_end, out, weights)
        column = plan.offsets[:, np.newaxis]
        entries = starts + plan.score_cells[between] * plan.n_columns + (column + bins)
        add_to(out, entries, weights, bins != NO_BIN if holes else None)


def bins_of(plan: CountingPlan, codes: np.ndarray, nearness: np.ndarray, gaps: bool) -> np.ndarray:
    """Bins of rows in all partitions.

    Parameters
    ----------
    plan : CountingPlan
    codes : ndarray of shape (n_table_columns, n_rows)
    nearness : ndarray of shape (n_clusters, n_rows)
        How near each row is to each cluster, before the distances of the plan are subtracted, which
        happens here.
    gaps : bool
        Whether some codes are missing.

    Returns
    -------
    ndarray of uint8, shape (n_partitions, n_rows)
    """
    n_features, n_categories = len(plan.features), len(plan.categories)
    bins = np.empty((len(plan.offsets), codes.shape[1]), np.uint8)
    cut = codes if n_features == len(codes) else codes[plan.features]
    of_numbers = bins[:n_features]
    above = np.empty(of_numbers.shape, bool)
    first, *others = plan.cuts.T[:, :, np.newaxis]
    np.greater(cut, first, out=of_numbers.view(bool))
    for threshold in others:
        np.greater(cut, threshold, out=above)
        of_numbers += above.view(np.uint8)
    if gaps:
        np.copyto(of_numbers, plan.missing_bins[:, np.newaxis], where=np.isnan(cut))
    for i, j in enumerate(plan.categories.tolist()):
        known = np.where(np.isnan(codes[j]), plan.category_bins.shape[1] - 1, codes[j])
        bins[n_features + i] = plan.category_bins[i][known.astype(np.intp)]
    nearness = np.subtract(nearness, plan.distances[:, np.newaxis], out=nearness)
    cluster = 0
    for place, k in enumerate(plan.clusterings.tolist()):
        bins[n_features + n_categories + place] = _nearest(nearness[cluster : cluster + k])
        cluster += k
    return bins


def _nearest(nearness: np.ndarray) -> np.ndarray:
    """Cluster with the largest value, the first of several; nothing is nearer than NaN."""
    best, *others = nearness
    cluster = np.zeros(len(best), np.uint8)
    for i, values in enumerate(others, 1):
        # Later clusters have larger numbers.
        np.maximum(cluster, (values > best).view(np.uint8) * np.uint8(i), out=cluster)
        best = np.maximum(best, values)
    return cluster
