"""The region search in numpy: the same answers as `region_kernels` to the last bit, slower."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np


def search(task: Any) -> tuple[np.ndarray, ...]:
    """Search one fold best first; the regions popped, as `region_search.Popped`."""
    table = task.table
    start, stop = table.starts[task.fold], table.starts[task.fold + 1]
    n_rows = len(table.labeled)
    children = np.where(table.n_codes == 0, 2, table.n_codes)
    offsets = np.concatenate([[0], np.cumsum(children + 1)])
    root_tree = np.arange(start, stop)
    root_estimate = np.delete(np.arange(n_rows), root_tree)
    # A popped region: rows of the tree part, of the estimation part, features that may split.
    regions: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    popped: list[tuple[int, int, float, float, int, int]] = []
    share = table.labeled[root_tree].mean()
    key = share - math.sqrt(task.variance / len(root_tree))
    queue = [(-key, -1, -1, -math.inf, math.inf)]
    while queue and len(regions) < 500:
        key, parent, feature, low, high = heapq.heappop(queue)
        if task.exhaustive and -key <= 0:
            break
        if parent < 0:
            tree, estimate, active = root_tree, root_estimate, np.arange(len(children))
        else:
            tree, estimate, active = regions[parent]
            column = table.values[feature]
            estimate = estimate[_between(column[estimate], low, high)]
            if len(estimate) <= task.limit:
                # Too small in the estimation part: it would not have been queued.
                continue
            tree = tree[_between(column[tree], low, high)]
        labeled = int(table.labeled[estimate].sum())
        popped.append((parent, feature, low, high, len(estimate), labeled))
        splits = _splits(table, tree, active)
        active = np.array([split[0] for split in splits], dtype=np.int64)
        place = task.shift + len(regions) * offsets[-1]
        if splits and not task.exhaustive:
            promises = [
                (labeled / (5 + size)).max() - task.noise[place + offsets[f]]
                for f, _, _, size, labeled in splits
            ]
            splits = [splits[int(np.argmax(promises))]]
        for f, lows, highs, size, labeled_part in splits:
            for child in np.flatnonzero(size > task.limit):
                part, part_labeled = int(size[child]), int(labeled_part[child])
                key = part_labeled / part - math.sqrt(task.variance / part)
                key -= task.noise[place + offsets[f] + 1 + child]
                entry = (-key, len(regions), int(f), float(lows[child]), float(highs[child]))
                heapq.heappush(queue, entry)
        regions.append((tree, estimate, active))
    kinds = (np.int64, np.int64, np.float64, np.float64, np.int64, np.int64)
    columns = zip(*popped, strict=True) if popped else [()] * len(kinds)
    return tuple(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True))


def _between(values: np.ndarray, low: float, high: float) -> np.ndarray:
    return (low < values) & (values <= high)


def _splits(table: Any, rows: np.ndarray, active: np.ndarray) -> list[tuple[Any, ...]]:
    """All features that split these rows: feature, lows and highs of its children, counts."""
    labeled = table.labeled[rows]
    found: list[tuple[Any, ...]] = []
    numbers = active[table.n_codes[active] == 0]
    if len(numbers):
        values = table.values[numbers[:, np.newaxis], rows]
        middle = (len(rows) - 1) // 2
        below = np.partition(values, [middle, len(rows) // 2], axis=1)
        cuts, upper = below[:, middle], below[:, len(rows) // 2]
        # Halved before they are added, so that nothing overflows.
        cuts = np.maximum(cuts, 0.5 * cuts + 0.5 * upper)
        left = values <= cuts[:, np.newaxis]
        n_left, labeled_left = left.sum(axis=1), left[:, labeled].sum(axis=1)
        for i in np.flatnonzero(n_left < len(rows)):
            size = np.array([n_left[i], len(rows) - n_left[i]])
            part = np.array([labeled_left[i], labeled.sum() - labeled_left[i]])
            found.append((numbers[i], [-math.inf, cuts[i]], [cuts[i], math.inf], size, part))
    for f in active[table.n_codes[active] > 0]:
        codes = table.values[f, rows].astype(np.int64)
        size = np.bincount(codes, minlength=table.n_codes[f])
        if size.max() < len(rows):
            centers = np.arange(len(size))
            part = np.bincount(codes[labeled], minlength=table.n_codes[f])
            found.append((f, centers - 0.5, centers + 0.5, size, part))
    return sorted(found, key=lambda split: split[0])


def grow(forest: Any, draws: np.ndarray) -> tuple[np.ndarray, ...]:
    """Grow one random tree; its nodes, as `region_search.Tree`."""
    n_features, n_rows = forest.values.shape
    n_labeled = forest.places.shape[1]
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
