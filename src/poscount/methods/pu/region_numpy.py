"""The region search in numpy: the same answers as `region_kernels` to the last bit, slower."""

from __future__ import annotations

import heapq
import math
from typing import Any, NamedTuple

import numpy as np

from poscount.methods.pu.region_kernels import MAX_POPS


def search(task: Any) -> tuple[np.ndarray, ...]:
    """Search one fold best first; the regions popped, as `region_search.Popped`."""
    table = task.table
    start, stop = table.starts[task.fold], table.starts[task.fold + 1]
    root_tree = np.arange(start, stop)
    root_estimate = np.delete(np.arange(len(table.labeled)), root_tree)
    # A popped region: rows of the tree part, of the estimation part, and its children.
    regions: list[tuple[np.ndarray, np.ndarray, Children]] = []
    popped: list[tuple[int, int, float, float, int, int]] = []
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
            estimate = estimate[_between(column[estimate], low, high)]
            if len(estimate) <= task.limit:
                # Too small in the estimation part: it would not have been queued.
                continue
            tree = tree[_between(column[tree], low, high)]
        labeled = int(table.labeled[estimate].sum())
        popped.append((parent, feature, low, high, len(estimate), labeled))
        places = task.shift + len(regions) * table.offsets[-1] + table.offsets
        children = _children(task, tree, active, places)
        if len(children.key):
            heapq.heappush(queue, (-children.key[0], len(regions), 0))
        regions.append((tree, estimate, children))
    kinds = (np.int64, np.int64, np.float64, np.float64, np.int64, np.int64)
    columns = zip(*popped, strict=True) if popped else [()] * len(kinds)
    return tuple(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True))


class Children(NamedTuple):
    """Children of a region to be queued, best first, and the features that may split them."""

    key: np.ndarray
    feature: np.ndarray
    low: np.ndarray
    high: np.ndarray
    active: np.ndarray


def _between(values: np.ndarray, low: float, high: float) -> np.ndarray:
    return (low < values) & (values <= high)


def _children(task: Any, rows: np.ndarray, active: np.ndarray, places: np.ndarray) -> Children:
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
    return Children(key[order], feature[order], low[order], high[order], active)


def grow(forest: Any, draws: np.ndarray) -> tuple[np.ndarray, ...]:
    """Grow one random tree; its nodes, as `region_search.Tree`."""
    n_features, n_rows = forest.values.shape
    n_labeled = forest.ordered.shape[1]
    features = np.arange(n_features)
    rows = [np.arange(n_rows)]
    nodes: list[tuple[int, int, bool, float, float]] = [(-1, -1, True, -math.inf, math.inf)]
    node = 0
    while node < len(nodes):
        inside = rows[node]
        labeled = inside[inside < n_labeled]
        split = _random_split(forest, labeled, features, draws[node])
        if split is not None:
            f, low, high = split
            kept = _between(forest.values[f, inside], low, high)
            rows += [inside[kept], inside[~kept]]
            nodes += [(node, f, True, low, high), (node, f, False, low, high)]
        node += 1
    kinds = (np.int64, np.int64, np.bool_, np.float64, np.float64)
    columns: list[np.ndarray] = []
    for column, kind in zip(zip(*nodes, strict=True), kinds, strict=True):
        columns.append(np.array(column, kind))
    size = np.array([len(part) for part in rows])
    return *columns, size, np.array([np.count_nonzero(part < n_labeled) for part in rows])


def _random_split(
    forest: Any, labeled: np.ndarray, features: np.ndarray, draws: np.ndarray
) -> tuple[int, float, float] | None:
    n, least = len(labeled), forest.least
    if n < 2 * least:
        return None
    # Draw features without putting them back, until one can be split.
    for left in range(len(features), 0, -1):
        i = (int(draws[left]) * left) >> 31
        features[i], features[left - 1] = features[left - 1], features[i]
        f = int(features[left - 1])
        values = forest.values[f, labeled]
        if forest.n_codes[f]:
            count = np.bincount(values.astype(np.int64), minlength=forest.n_codes[f])
            codes = np.flatnonzero((count >= least) & (count <= n - least))
            if len(codes):
                code = float(codes[(int(draws[0]) * len(codes)) >> 31])
                return f, code - 0.5, code + 0.5
        else:
            low, high = np.partition(values, [least - 1, n - least])[[least - 1, n - least]]
            if low < high:
                share = int(draws[0]) / 2147483648.0
                # As a weighted mean, so that nothing overflows.
                cut = (1.0 - share) * low + share * high
                return f, -math.inf, float(cut if low < cut < high else low)
    return None
