"""The search of TIcE and ExTIcE for regions: compiled, or in numpy with the same answers."""

from __future__ import annotations

import heapq
import itertools
import math
import warnings
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from poscount import compiling
from poscount.methods.pu import tice_kernel
from poscount.methods.pu.tice_kernel import LABELED, MAX_POPS, NO_ROOM, ROWS
from poscount.methods.pu.tree_search import Nodes, as_nodes, between

N_FOLDS = 5


class SearchTable(NamedTuple):
    """Labelled and unlabelled rows, arranged for the search.

    Attributes
    ----------
    values : ndarray of shape (n_features, n_rows)
        The rows, fold by fold.
    n_codes : ndarray of shape (n_features,)
        Number of categories of a feature, 0 for numbers.
    places : ndarray of shape (n_features, n_rows)
        Place of a row in the sorted column of its own fold; the category for a category.
    ordered : list of ndarray of shape (n_features, rows of the fold)
        The sorted columns of each fold.
    labeled : ndarray of shape (n_rows,)
        Whether a row is labelled.
    starts : ndarray
        Where each fold starts, and the number of rows.
    offsets : ndarray of shape (n_features + 1,)
        Where the random numbers of each feature start: one for itself, one for each child.
    """

    values: np.ndarray
    n_codes: np.ndarray
    places: np.ndarray
    ordered: list[np.ndarray]
    labeled: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray


class Search(NamedTuple):
    """One search: one fold is the tree part, which is searched; the others are for estimation.

    Attributes
    ----------
    table : SearchTable
    fold : int
        The tree part.
    variance : float
        Of the bound, times the number of rows.
    limit : int
        Regions with as many rows or fewer are not split off.
    exhaustive : bool
        Whether regions are split by every feature (ExTIcE) or by the most promising one (TIcE).
    noise : ndarray
        Random numbers that decide between ties.
    shift : int
        Where in `noise` this search starts.
    """

    table: SearchTable
    fold: int
    variance: float
    limit: int
    exhaustive: bool
    noise: np.ndarray
    shift: int


def arrange(
    positives: np.ndarray,
    sample: np.ndarray,
    n_codes: np.ndarray,
    generator: np.random.Generator,
) -> SearchTable:
    """Shuffle all rows into five folds and sort the columns of each."""
    shuffled = generator.permutation(len(positives) + len(sample))
    # Row i of the shuffled ones is in fold i mod 5.
    folds = [shuffled[fold::N_FOLDS] for fold in range(N_FOLDS)]
    rows = np.concatenate(folds)
    starts = np.cumsum([0, *map(len, folds)])
    values = np.ascontiguousarray(np.concatenate([positives, sample])[rows].T)
    places = np.empty(values.shape, np.uint32)
    ordered = [
        _sort_columns(values, n_codes, start, stop, places)
        for start, stop in itertools.pairwise(starts.tolist())
    ]
    children = np.where(n_codes == 0, 2, n_codes)
    offsets = np.concatenate([[0], np.cumsum(children + 1)])
    return SearchTable(values, n_codes, places, ordered, rows < len(positives), starts, offsets)


def _sort_columns(
    values: np.ndarray, n_codes: np.ndarray, start: int, stop: int, places: np.ndarray
) -> np.ndarray:
    """Sort the columns of some rows; also write their places (for a category, its code)."""
    order = np.argsort(values[:, start:stop], axis=1)
    # One index into the flat arrays is several times faster than one along an axis.
    order += (np.arange(len(values)) * values.shape[1] + start)[:, np.newaxis]
    places.reshape(-1)[order] = np.arange(stop - start)
    text = np.flatnonzero(n_codes)
    places[text, start:stop] = values[text, start:stop]
    return values.reshape(-1)[order]


def searcher(table: SearchTable) -> Callable[[Search], Nodes]:
    """The compiled search, or the search in numpy."""
    return _compiled_search(table) if can_compile() else search_in_numpy


def _compiled_search(table: SearchTable) -> Callable[[Search], Nodes]:
    """The compiled search, with its work space."""
    kernel = compiling.compiled(tice_kernel.search, tice_kernel.SIGNATURE, tice_kernel.INTEGERS)
    n_features, n_rows = table.values.shape
    n_tree = max(ordered.shape[1] for ordered in table.ordered)
    # Children are larger than the limit, a tenth of the rows or 1000 of them.
    most = max(11, n_tree // 1000 + 1)
    children = np.where(table.n_codes == 0, 2, np.minimum(table.n_codes, most))
    n_entries = 1 + MAX_POPS * int(children.sum())
    weights = 1 + LABELED * table.labeled.astype(np.int64)
    keys, lows, highs = np.empty((3, n_entries))
    entries = np.empty((n_entries, 3), np.int64)
    heap = np.empty(n_entries, np.int64)
    regions = np.empty((MAX_POPS, 4), np.int64)
    active = np.empty((MAX_POPS, n_features), np.int64)
    marks = np.zeros(64 * (n_tree // 64 + 1), np.int64)
    coarse = np.empty(n_tree // 64 + 1, np.int64)
    codes = np.empty(max(2, int(table.n_codes.max())), np.int64)
    edges = np.tile(np.arange(len(codes) + 1) - 0.5, (2, 1))
    edges[0, :3] = -math.inf, 0, math.inf
    rows = np.empty(64 * n_rows, np.uint32)
    everything = np.arange(n_rows, dtype=np.uint32)

    def search(task: Search) -> Nodes:
        nonlocal rows
        start, stop = table.starts[task.fold], table.starts[task.fold + 1]
        tree, total = int(weights[start:stop].sum()), int(weights.sum())
        size, labeled = tree & ROWS, tree >> 32
        entries[0] = 0, -1, tree
        lows[0], highs[0] = -math.inf, math.inf
        keys[0] = labeled / size - math.sqrt(task.variance / size)
        regions[0] = 0, 0, tree, total - tree
        active[0] = 1
        ordered = table.ordered[task.fold]
        tied = (table.n_codes > 0) | (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        pops = NO_ROOM
        while pops == NO_ROOM:
            rows[:size] = everything[start:stop]
            rows[size : size + start] = everything[:start]
            rows[size + start : n_rows] = everything[stop:]
            pops = kernel(
                table.values,
                table.n_codes,
                table.offsets,
                table.places,
                ordered,
                tied,
                weights,
                task.variance,
                task.limit,
                task.exhaustive,
                task.noise,
                task.shift,
                rows,
                keys,
                lows,
                highs,
                entries,
                heap,
                regions,
                active,
                marks,
                coarse,
                codes,
                edges,
            )
            if pops == NO_ROOM:
                rows = np.empty(2 * len(rows), np.uint32)
        entry, estimate = regions[:pops, 0], regions[:pops, 3]
        parent = entries[entry, 0]
        parent[:1] = -1
        return Nodes(
            parent,
            entries[entry, 1],
            np.ones(pops, bool),
            lows[entry],
            highs[entry],
            estimate & ROWS,
            estimate >> 32,
        )

    return search


def search_in_numpy(task: Search) -> Nodes:
    """Search one fold best first; the regions in the order in which they were visited."""
    table = task.table
    start, stop = table.starts[task.fold], table.starts[task.fold + 1]
    root_tree = np.arange(start, stop)
    root_estimate = np.delete(np.arange(len(table.labeled)), root_tree)
    # A visited region: rows of the tree part, of the estimation part, and its children.
    regions: list[tuple[np.ndarray, np.ndarray, _Children]] = []
    visited: list[tuple[int, int, bool, float, float, int, int]] = []
    score = table.labeled[root_tree].mean() - math.sqrt(task.variance / len(root_tree))
    # Of each region only the best child waits in the queue; when it leaves, the next one follows.
    queue = [(-score, -1, 0)]
    while queue and len(regions) < MAX_POPS:
        key, parent, rank = heapq.heappop(queue)
        if task.exhaustive and -key <= 0:
            break
        feature, low, high = -1, -math.inf, math.inf
        tree, estimate, active = root_tree, root_estimate, np.arange(len(table.n_codes))
        if parent >= 0:
            tree, estimate, siblings = regions[parent]
            if rank + 1 < len(siblings.key):
                heapq.heappush(queue, (-siblings.key[rank + 1], parent, rank + 1))
            feature, active = int(siblings.feature[rank]), siblings.active
            low, high = float(siblings.low[rank]), float(siblings.high[rank])
            column = table.values[feature]
            estimate = estimate[between(column[estimate], low, high)]
            if len(estimate) <= task.limit:
                # Too small in the estimation part: it would not have been queued.
                continue
            tree = tree[between(column[tree], low, high)]
        labeled = int(table.labeled[estimate].sum())
        visited.append((parent, feature, True, low, high, len(estimate), labeled))
        places = task.shift + len(regions) * table.offsets[-1] + table.offsets
        children = _children(task, tree, active, places)
        if len(children.key):
            heapq.heappush(queue, (-children.key[0], len(regions), 0))
        regions.append((tree, estimate, children))
    return as_nodes(visited)


class _Children(NamedTuple):
    """Children of a region to be queued, best first, and the features that may split them."""

    key: np.ndarray
    feature: np.ndarray
    low: np.ndarray
    high: np.ndarray
    active: np.ndarray


def _children(task: Search, rows: np.ndarray, active: np.ndarray, places: np.ndarray) -> _Children:
    table = task.table
    labeled = table.labeled[rows]
    numbers = active[table.n_codes[active] == 0]
    values = table.values[numbers[:, np.newaxis], rows]
    middle = (len(rows) - 1) // 2
    below = np.partition(values, [middle, len(rows) // 2], axis=1)
    cuts, upper = below[:, middle], below[:, len(rows) // 2]
    # Halved before they are added, so that nothing overflows.
    cuts = np.maximum(cuts, 0.5 * cuts + 0.5 * upper)
    left = values <= cuts[:, np.newaxis]
    n_left, labeled_left = left.sum(axis=1), left[:, labeled].sum(axis=1)
    n_right, labeled_right = len(rows) - n_left, labeled.sum() - labeled_left
    infinite = np.full(len(numbers), math.inf)
    # Columns: feature, child, low, high, rows and labelled rows in the tree part.
    parts = [
        (numbers, 0 * numbers, -infinite, cuts, n_left, labeled_left),
        (numbers, 0 * numbers + 1, cuts, infinite, n_right, labeled_right),
    ]
    for f in active[table.n_codes[active] > 0]:
        codes = table.values[f, rows].astype(np.int64)
        centers = np.arange(table.n_codes[f])
        size = np.bincount(codes, minlength=len(centers))
        part = np.bincount(codes[labeled], minlength=len(centers))
        parts.append((0 * centers + f, centers, centers - 0.5, centers + 0.5, size, part))
    feature, child, low, high, size, part = (np.concatenate(c) for c in zip(*parts, strict=True))
    active = np.setdiff1d(active, feature[size == len(rows)])
    queued = np.isin(feature, active)
    if not task.exhaustive and len(active):
        promise = np.zeros(len(table.n_codes))
        np.maximum.at(promise, feature, part / (5 + size))
        chosen = active[np.argmax(promise[active] - task.noise[places[active]])]
        queued = feature == chosen
    queued &= size > task.limit
    feature, child, low, high = feature[queued], child[queued], low[queued], high[queued]
    size, part = size[queued], part[queued]
    key = part / size - np.sqrt(task.variance / size) - task.noise[places[feature] + 1 + child]
    order = np.argsort(-key)
    return _Children(key[order], feature[order], low[order], high[order], active)


@cache
def can_compile() -> bool:
    """Whether numba is installed; if not, warns once that it would help."""
    if compiling.can_compile():
        return True
    warnings.warn(
        "TIcE and ExTIcE give the same answers without numba, but are many times slower: "
        'pip install "poscount[fast]".',
        UserWarning,
        stacklevel=2,
    )
    return False
