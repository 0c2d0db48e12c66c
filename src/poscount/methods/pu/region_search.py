"""What TIcE, ExTIcE and RanFocE share: regions of the feature space, and how to search them.

A region is an intersection of conditions low < value <= high on features; a category is the
condition code - 1/2 < value <= code + 1/2. The searches are compiled (`region_kernels`) or, without
numba, run in numpy with the same answers (`region_numpy`).
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np

from poscount import compiling
from poscount.methods.pu import region_kernels, region_numpy
from poscount.methods.pu.region_kernels import MAX_POPS

N_FOLDS = 5
# Scores closer than this are tied, and a random number below it decides.
TIE = 1e-12


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
        Where the random numbers of each feature start, from `tie_offsets`.
    """

    values: np.ndarray
    n_codes: np.ndarray
    places: np.ndarray
    ordered: list[np.ndarray]
    labeled: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray


class Search(NamedTuple):
    """One search: one fold is the tree part, which is searched; the others are for estimation."""

    table: SearchTable
    fold: int
    variance: float
    limit: int
    exhaustive: bool
    noise: np.ndarray
    shift: int


class Popped(NamedTuple):
    """Regions in the order in which the search visited them; the first is everything.

    Each lies in an earlier one, `parent`, and has its rows with low < value <= high in `feature`.
    `size` and `labeled` count its rows in the estimation part.
    """

    parent: np.ndarray
    feature: np.ndarray
    low: np.ndarray
    high: np.ndarray
    size: np.ndarray
    labeled: np.ndarray


class Forest(NamedTuple):
    """What a random tree is grown from; `values` has the labelled rows first."""

    values: np.ndarray
    n_codes: np.ndarray
    places: np.ndarray
    ordered: np.ndarray
    least: int


class Tree(NamedTuple):
    """Nodes of a random tree: as `Popped`, but a node may also be what is outside low and high."""

    parent: np.ndarray
    feature: np.ndarray
    inside: np.ndarray
    low: np.ndarray
    high: np.ndarray
    size: np.ndarray
    labeled: np.ndarray


@dataclass(frozen=True)
class Region:
    """A part of the feature space that a search has found, and its rows.

    Attributes
    ----------
    size, labeled : int
        Number of rows in it, and of labelled ones among them.
    intervals : dict
        By feature, (low, high): values above low and up to high lie in the region.
    categories : dict
        By feature, the category, or "not a, not b" for all others.

    Examples
    --------
    >>> print(Region(120, 30, {"length": (1.5, math.inf), "width": (0.0, 2.0)}, {"sex": "f"}))
    1.5 < length and 0 < width <= 2 and sex = f (120 rows, 30 labelled)
    """

    size: int
    labeled: int
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        words = []
        for name, (low, high) in self.intervals.items():
            left = "" if low == -math.inf else f"{low:g} < "
            right = "" if high == math.inf else f" <= {high:g}"
            words.append(f"{left}{name}{right}")
        words += [f"{name} = {category}" for name, category in self.categories.items()]
        return f"{' and '.join(words) or 'everywhere'} ({self.size} rows, {self.labeled} labelled)"


def arrange(
    positives: np.ndarray,
    sample: np.ndarray,
    n_codes: np.ndarray,
    generator: np.random.Generator,
) -> SearchTable:
    """Shuffle all rows into five folds and sort the columns of each."""
    n_rows = len(positives) + len(sample)
    shuffled = generator.permutation(n_rows)
    # Row i of the shuffled ones is in fold i mod 5.
    rows = np.concatenate([shuffled[fold::N_FOLDS] for fold in range(N_FOLDS)])
    starts = np.zeros(N_FOLDS + 1, np.int64)
    starts[1:] = np.cumsum([len(shuffled[fold::N_FOLDS]) for fold in range(N_FOLDS)])
    values = np.ascontiguousarray(np.concatenate([positives, sample])[rows].T)
    places = np.empty(values.shape, np.uint32)
    ordered = [
        sort_columns(values, n_codes, start, stop, places)
        for start, stop in itertools.pairwise(starts.tolist())
    ]
    labeled, offsets = rows < len(positives), tie_offsets(n_codes)
    return SearchTable(values, n_codes, places, ordered, labeled, starts, offsets)


def sort_columns(
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


class TwoPasses(NamedTuple):
    """The answer of TIcE and ExTIcE: label frequency, and what each fold of the last pass found."""

    label_frequency: float
    bounds: np.ndarray
    popped: list[Popped]
    best: list[int]


def two_passes(
    table: SearchTable, *, exhaustive: bool, generator: np.random.Generator
) -> TwoPasses:
    """Search all folds with c = 1/2, then with the mean of what they found."""
    n_rows = len(table.labeled)
    stride = int(table.offsets[-1])
    # One array of random numbers, in which each search starts at another place.
    noise = generator.random(2 * MAX_POPS * stride)
    noise *= TIE
    search = searcher(table)
    c = 0.5
    for _ in range(2):
        bounds, popped, best = [], [], []
        for fold in range(N_FOLDS):
            start, stop = table.starts[fold], table.starts[fold + 1]
            n_tree, n_estimate = int(stop - start), int(n_rows - stop + start)
            labeled = int(table.labeled.sum() - table.labeled[start:stop].sum())
            delta = max(0.025, 1 / (1 + 0.004 * n_estimate))
            variance = c * (1 - c) * (1 - delta) / delta
            limit = min(1000, math.floor(0.5 + 0.1 * min(n_tree, n_estimate)))
            if exhaustive:
                limit = max(30, limit)
            shift = int(generator.integers(MAX_POPS * stride))
            bounds.append(labeled / n_estimate)
            best.append(-1)
            popped.append(NOTHING)
            if min(n_tree, n_estimate) >= max(1, limit):
                found = search(Search(table, fold, variance, limit, exhaustive, noise, shift))
                popped[-1] = found
                if len(found.size):
                    scores = found.labeled / found.size - np.sqrt(variance / found.size)
                    if scores.max() > bounds[-1]:
                        best[-1] = int(scores.argmax())
                        bounds[-1] = float(scores.max())
        c = float(np.mean(bounds))
    return TwoPasses(c, np.array(bounds), popped, best)


NOTHING = Popped(*[np.empty(0, kind) for kind in (np.int64, np.int64, float, float, int, int)])


def tie_offsets(n_codes: np.ndarray) -> np.ndarray:
    """Where the random numbers of each feature start: one for itself, one for each child."""
    children = np.where(n_codes == 0, 2, n_codes)
    return np.concatenate([[0], np.cumsum(children + 1)])


def searcher(table: SearchTable) -> Callable[[Search], Popped]:
    """The compiled search with its work space, or the search in numpy."""
    if not can_compile():
        return lambda task: Popped(*region_numpy.search(task))
    kernel = region_kernels.compiled("search")
    n_features, n_rows = table.values.shape
    n_tree = max(ordered.shape[1] for ordered in table.ordered)
    # Children are larger than the limit, a tenth of the rows or 1000 of them.
    most = max(11, n_tree // 1000 + 1)
    children = np.where(table.n_codes == 0, 2, np.minimum(table.n_codes, most))
    n_entries = 1 + MAX_POPS * int(children.sum())
    weights = 1 + region_kernels.LABELED * table.labeled.astype(np.int64)
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

    def search(task: Search) -> Popped:
        nonlocal rows
        start, stop = table.starts[task.fold], table.starts[task.fold + 1]
        tree, total = int(weights[start:stop].sum()), int(weights.sum())
        size, labeled = tree & region_kernels.ROWS, tree >> 32
        entries[0] = 0, -1, tree
        lows[0], highs[0] = -math.inf, math.inf
        keys[0] = labeled / size - math.sqrt(task.variance / size)
        regions[0] = 0, 0, tree, total - tree
        active[0] = 1
        ordered = table.ordered[task.fold]
        tied = (table.n_codes > 0) | (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        pops = region_kernels.NO_ROOM
        while pops == region_kernels.NO_ROOM:
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
            if pops == region_kernels.NO_ROOM:
                rows = np.empty(2 * len(rows), np.uint32)
        entry, estimate = regions[:pops, 0], regions[:pops, 3]
        parent = entries[entry, 0]
        parent[:1] = -1
        return Popped(
            parent,
            entries[entry, 1],
            lows[entry],
            highs[entry],
            estimate & region_kernels.ROWS,
            estimate >> 32,
        )

    return search


def random_trees(
    positives: np.ndarray,
    sample: np.ndarray,
    n_codes: np.ndarray,
    least: int,
    n_trees: int,
    generator: np.random.Generator,
) -> list[Tree]:
    """Grow trees whose splits are random but leave `least` labelled rows on both sides."""
    values = np.ascontiguousarray(np.concatenate([positives, sample]).T)
    n_labeled = len(positives)
    places = np.empty(values.shape, np.uint32)
    ordered = sort_columns(values, n_codes, 0, n_labeled, places)
    forest = Forest(values, n_codes, places, ordered, least)
    grow = grower(forest)
    # Leaves hold at least `least` labelled rows each.
    max_nodes = 2 * max(1, n_labeled // least) - 1
    shape = (max_nodes, len(n_codes) + 1)
    return [grow(generator.integers(2**31, size=shape)) for _ in range(n_trees)]


def grower(forest: Forest) -> Callable[[np.ndarray], Tree]:
    """The compiled growing of one tree with its work space, or that in numpy."""
    if not can_compile():
        return lambda draws: Tree(*region_numpy.grow(forest, draws))
    kernel = region_kernels.compiled("grow")
    n_features, n_rows = forest.values.shape
    n_labeled = forest.ordered.shape[1]
    n_codes = int(forest.n_codes.max())
    rows = np.empty(n_rows, np.uint32)
    marks = np.zeros(max(n_labeled, n_codes), np.int64)
    codes = np.empty(max(1, n_codes), np.int64)

    def grow(draws: np.ndarray) -> Tree:
        rows[:] = np.arange(n_rows)
        nodes = np.empty((len(draws), 7), np.int64)
        nodes[0] = -1, -1, 1, 0, n_labeled, n_labeled, n_rows
        lows, highs = np.empty((2, len(draws)))
        features = np.arange(n_features)
        n_nodes = kernel(
            forest.values,
            forest.n_codes,
            forest.places,
            forest.ordered,
            forest.least,
            draws,
            rows,
            features,
            marks,
            codes,
            nodes,
            lows,
            highs,
        )
        nodes = nodes[:n_nodes]
        parent = nodes[:, 0]
        labeled = nodes[:, 4] - nodes[:, 3]
        size = labeled + nodes[:, 6] - nodes[:, 5]
        inside = nodes[:, 2] == 1
        low, high = lows[parent], highs[parent]
        low[0], high[0] = -math.inf, math.inf
        return Tree(parent, nodes[:, 1], inside, low, high, size, labeled)

    return grow


@cache
def can_compile() -> bool:
    """Whether numba is installed; if not, warns once that it would help."""
    if compiling.can_compile():
        return True
    warnings.warn(
        "TIcE, ExTIcE and RanFocE give the same answers without numba, but are many times slower: "
        'pip install "poscount[fast]".',
        UserWarning,
        stacklevel=2,
    )
    return False
