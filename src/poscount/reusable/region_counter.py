"""RCQ's partitions of the feature space: learned from the positives, and rows counted in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from poscount import container
from poscount.base import CountingQuantifier
from poscount.checks.copies import copied_share, use_once
from poscount.checks.core_differs import core_freedom
from poscount.checks.tied_scores import largest_tie
from poscount.reusable.feature_ranges import (
    N_COLUMNS,
    OutsideCounts,
    count_outside,
    learn_limits,
)
from poscount.reusable.own_order import OwnOrder
from poscount.reusable.region_layout import (
    BANDS,
    CLUSTERINGS,
    CORE,
    FEATURE_QUANTILES,
    N_SCORE_CELLS,
    SCORE_QUANTILES,
    RegionLayout,
    region_layout,
)
from poscount.scorers import Mahalanobis, fit_scorer, score
from poscount.scorers.products import products
from poscount.seeds import stream
from poscount.threads import one_blas_thread
from poscount.validation import Rows

MOST_FEATURES = 40
DECIMALS = 6
# In standard deviations.
SMALLEST_GAP = 1e-5
# Of k-means.
N_STARTS = 3
MAX_STEPS = 100

# The thresholds of PAT, some of which also divide the score cells, and two more below.
PAT_QUANTILES = np.linspace(0.25, 0.75, 51)
EDGE_QUANTILES = np.concatenate([SCORE_QUANTILES[:2], PAT_QUANTILES])
PAT_SHARES = np.diff(PAT_QUANTILES, prepend=0.0, append=1.0)
_IS_CELL_EDGE = np.isin(EDGE_QUANTILES.round(2), SCORE_QUANTILES)
# Score cell of the rows between two neighbouring edges.
_CELL = np.concatenate([[0], np.cumsum(_IS_CELL_EDGE)]).astype(np.uint8)
_N_BELOW = len(EDGE_QUANTILES) - len(PAT_QUANTILES)
# A row is far if it is farther away than the farthest positive, or twice or four times as far.
FAR = (1.0, 2.0, 4.0)


class CountsBeside(NamedTuple):
    """What is counted of samples besides the regions.

    Attributes
    ----------
    pat_cells : ndarray of shape (n_samples, 52)
        Rows in PAT's cells.
    far : ndarray of shape (n_samples, 3)
        Rows farther away than the farthest positive, by the factors `FAR`.
    outside : OutsideCounts
        Rows outside of the range of each feature.
    """

    pat_cells: np.ndarray
    far: np.ndarray
    outside: OutsideCounts


class RegionCounter(CountingQuantifier):
    """Counts rows by score cell and by the bins of many partitions, and what lies outside.

    The attributes are those of `RCQ`, which turns the counts into prevalences.
    """

    # What models of the first versions did not have, without which nothing can be counted.
    NEEDED = ("far_", "limits_", "zeros_", "copied_", "n_given_")

    def _learn(self, rows: Rows) -> None:
        self.n_given_ = len(rows)
        block, ordered, columns = self._in_own_order(rows.whole(), rows)
        self.copied_ = copied_share(ordered, self.seed_)
        if use_once(self.copied_, len(block)):
            # A copy in another fold would tell what the scorer must not know.
            block, ordered, columns = self._in_own_order(np.unique(block, axis=0), rows)
            self.n_labeled_ = len(block)
        self.scorer_, training_scores = fit_scorer(Mahalanobis("ledoit-wolf"), ordered, self.seed_)
        self.edges_ = np.quantile(training_scores, EDGE_QUANTILES)
        self.largest_tie_ = largest_tie(training_scores, self.edges_)
        self.far_ = training_scores.min() * np.array(FAR)
        self.limits_ = learn_limits(block)
        self.zeros_ = np.count_nonzero(block == 0, axis=0)
        self._place_partitions(ordered.data)
        self._put_columns_back(columns)
        cells = _CELL[np.searchsorted(self.edges_, training_scores)]
        self.binned_ = self._with_bins(cells, block)
        self.core_freedom_ = self._core_freedom()
        self.hash_ = self._content_hash()

    def _in_own_order(
        self, positives: np.ndarray, rows: Rows
    ) -> tuple[np.ndarray, Rows, np.ndarray]:
        """Positives in the order of what they hold; the same with ordered columns; that order."""
        block = np.asarray(positives, np.float64)
        order = OwnOrder(block, self.seed_)
        block = block[order.sorted_rows(block)]
        ordered = np.ascontiguousarray(block[:, order.columns])
        return block, Rows(ordered, None, rows.accepts), order.columns

    def _place_partitions(self, block: np.ndarray) -> None:
        centred = block - self.scorer_.location_
        varying = np.setdiff1d(np.arange(block.shape[1]), self.scorer_.constant_)
        # In units of the largest value, so that no square can overflow or vanish.
        unit = np.abs(centred[:, varying]).max(axis=0)
        spread = unit * np.sqrt(((centred[:, varying] / unit) ** 2).mean(axis=0))
        # Rounded, so that values that differ only by noise become equal.
        standardised = (centred[:, varying] / spread).round(DECIMALS)
        generator = stream(self.seed_, "features")
        chosen = np.arange(len(varying))
        if len(chosen) > MOST_FEATURES:
            chosen = np.sort(generator.choice(chosen, MOST_FEATURES, replace=False))
        self.features_ = varying[chosen]
        thresholds = np.array([place_cuts(standardised[:, j]) for j in chosen])
        location, scale = self.scorer_.location_[self.features_], spread[chosen]
        self.cuts_ = location[:, np.newaxis] + scale[:, np.newaxis] * thresholds
        generator = stream(self.seed_, "clusters")
        with one_blas_thread():
            points = np.vstack([k_means(standardised, k, generator) for k in CLUSTERINGS])
        self.directions_ = np.zeros((block.shape[1], len(points)))
        self.directions_[varying] = (points / spread).T
        self.offsets_ = (points**2).sum(axis=1) / 2

    def _put_columns_back(self, columns: np.ndarray) -> None:
        """Turn what was learned from columns in this order into what the caller's order needs."""
        back = np.argsort(columns)
        scorer = self.scorer_
        scorer.location_, scorer.whitening_ = scorer.location_[back], scorer.whitening_[back]
        scorer.constant_ = np.sort(columns[scorer.constant_])
        self.directions_ = self.directions_[back]
        features = columns[self.features_]
        ascending = np.argsort(features)
        self.features_, self.cuts_ = features[ascending], self.cuts_[ascending]

    def _core_freedom(self) -> float:
        core = self.binned_[self.binned_[:, 0] >= BANDS[CORE][0]]
        bins = core[:, 1 : 1 + len(self.features_), np.newaxis]
        below = bins <= np.arange(len(FEATURE_QUANTILES))
        return core_freedom(below.reshape(len(core), self.cuts_.size))

    def _content_hash(self) -> str:
        names = getattr(self, "feature_names_in_", np.array([], dtype=object))
        arrays = {
            "location": self.scorer_.location_,
            "whitening": self.scorer_.whitening_,
            "edges": self.edges_,
            "features": self.features_,
            "cuts": self.cuts_,
            "directions": self.directions_,
            "offsets": self.offsets_,
            "binned": self.binned_,
            "far": self.far_,
            "limits": self.limits_,
        }
        meta = {"method": type(self).__name__, "features": names.tolist(), "seed": self.seed_}
        return container.digest(meta, arrays)

    def _bins(self, block: np.ndarray) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """A chunk of rows at a time: their features, and their bins in all partitions.

        Features are of shape (n_features, n_rows), bins of shape (n_partitions, n_rows).
        """
        whole = len(self.features_) == block.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, product in products(block, self.scorer_.location_, self.directions_):
                # Each column contiguous, so that the comparisons run along memory.
                columns = np.ascontiguousarray(block[rows].T, dtype=np.float64)
                cut = columns if whole else columns[self.features_]
                above = (cut > threshold[:, np.newaxis] for threshold in self.cuts_.T)
                bins = next(above).view(np.uint8)
                for more in above:
                    bins += more.view(np.uint8)
                clusters = _nearest(product - self.offsets_[:, np.newaxis])
                yield rows, columns, np.vstack([bins, *clusters])

    @property
    def _n_cells(self) -> int:
        return self.n_own_cells

    @property
    def n_own_cells(self) -> int:
        """Number of cells, without those of models that count along with this one."""
        return self._ends[-1] + self.n_features_in_ * N_COLUMNS

    @property
    def _ends(self) -> tuple[int, int, int]:
        """Where the cells of the regions end, and PAT's, and those of far rows."""
        in_regions = N_SCORE_CELLS * self._layout.n_columns
        return in_regions, in_regions + len(PAT_SHARES), in_regions + len(PAT_SHARES) + len(FAR)

    def _tally(self, block: Any, groups: np.ndarray | None, counted: np.ndarray) -> None:
        self.tally_from(0, block, groups, counted)

    def tally_from(
        self, first_cell: int, block: Any, groups: np.ndarray | None, counted: np.ndarray
    ) -> None:
        """Do as `_tally`, from a cell on: the row of a group may hold cells of other models."""
        starts = None if groups is None else groups * counted.shape[1]
        # A view, because counts are in C order.
        flat = counted.reshape(-1)[first_cell:]
        in_regions, pat_end, far_end = self._ends
        scores = score(self.scorer_, block)
        between = np.searchsorted(self.edges_, scores)
        lowest = np.flatnonzero(between == 0)
        far = [lowest[scores[lowest] < limit] for limit in self.far_.tolist()]
        if starts is None:
            flat[in_regions:pat_end] += np.bincount(_pat_cells(between), minlength=len(PAT_SHARES))
            flat[pat_end:far_end] += [len(rows) for rows in far]
        else:
            np.add.at(flat, starts + in_regions + _pat_cells(between), 1)
            for i, rows in enumerate(far):
                np.add.at(flat, starts[rows] + pat_end + i, 1)
        first = _CELL[between].astype(np.uint16) * np.uint16(self._layout.n_columns)
        column = self._layout.offsets.astype(np.uint16)[:, np.newaxis]
        for chunk, columns, bins in self._bins(block):
            entries = first[chunk] + (column + bins)
            if starts is None:
                flat[:in_regions] += np.bincount(entries.ravel(), minlength=in_regions)
                count_outside(columns, self.limits_, None, flat[far_end:])
            else:
                np.add.at(flat, starts[chunk] + entries, 1)
                count_outside(columns, self.limits_, starts[chunk] + far_end, flat)

    @property
    def _layout(self) -> RegionLayout:
        return region_layout(len(self.features_))

    def split_cells(self, cells: np.ndarray) -> tuple[np.ndarray, CountsBeside]:
        """Split counts of this model into tables of a `RegionLayout` and what is beside them.

        Parameters
        ----------
        cells : ndarray of shape (n_samples, n_cells)

        Returns
        -------
        tables : ndarray of shape (n_samples, n_score_cells, n_columns)
        beside : CountsBeside
        """
        own = cells[:, : self.n_own_cells]
        tables, pat_cells, far, outside = np.split(own, self._ends, axis=1)
        beside = CountsBeside(pat_cells, far, OutsideCounts.of_cells(outside))
        return tables.reshape(len(cells), N_SCORE_CELLS, -1), beside

    def place(self, block: np.ndarray) -> np.ndarray:
        """Place rows in the partitions, one by one.

        Parameters
        ----------
        block : ndarray of shape (n_rows, n_features)
            Finite numbers, the features in the order of the model.

        Returns
        -------
        ndarray of uint8, shape (n_rows, 1 + n_partitions)
            Score cell and bins of each row, as in `binned_`.
        """
        with one_blas_thread():
            between = np.searchsorted(self.edges_, score(self.scorer_, block))
        return self._with_bins(_CELL[between], block)

    def _with_bins(self, cells: np.ndarray, block: Any) -> np.ndarray:
        with one_blas_thread():
            bins = np.concatenate([bins for _, _, bins in self._bins(block)], axis=1)
        return np.vstack([cells, bins]).T.copy()


def _pat_cells(between: np.ndarray) -> np.ndarray:
    """Cell of PAT, from the index of the first edge that is not below the score."""
    return np.maximum(between - _N_BELOW, 0)


def _nearest(scores: np.ndarray) -> Iterator[np.ndarray]:
    """Cluster with the largest score, for each clustering in turn."""
    first = 0
    for k in CLUSTERINGS:
        best = scores[first].copy()
        cluster = np.zeros(len(best), np.uint8)
        for i in range(1, k):
            closer = scores[first + i] > best
            cluster[closer] = i
            np.maximum(best, scores[first + i], out=best)
        yield cluster
        first += k


def place_cuts(column: np.ndarray) -> np.ndarray:
    """Four thresholds of a standardised, rounded feature, in gaps between its values.

    A threshold at a value that many positives share would let noise in the last digit move them to
    either side. So each threshold lies in the middle of the first gap of more than 1e-5 standard
    deviations at or above its quantile; if there is none, it is infinite, and no row is above it.

    Examples
    --------
    >>> place_cuts(np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0])).tolist()
    [0.5, 0.5, 1.5, 2.5]
    """
    values = np.unique(column)
    wide = np.flatnonzero(np.diff(values) > SMALLEST_GAP)
    at = np.searchsorted(values, np.quantile(column, FEATURE_QUANTILES), side="right") - 1
    gap = np.searchsorted(wide, at)
    thresholds = np.full(len(FEATURE_QUANTILES), np.inf)
    found = gap < len(wide)
    below = wide[gap[found]]
    thresholds[found] = (values[below] + values[below + 1]) / 2
    return thresholds


def k_means(rows: np.ndarray, k: int, generator: np.random.Generator) -> np.ndarray:
    """Centres of the best of several k-means clusterings, started by k-means++.

    Scikit-learn's k-means adds up in as many parts as there are threads, so the last bits of its
    centres, and with them the hash of a model, would depend on the number of cores.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    k : int
        Number of clusters; if there are fewer distinct rows, centres repeat.
    generator : numpy.random.Generator

    Returns
    -------
    ndarray of shape (k, n_features)

    Examples
    --------
    >>> rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> sorted(k_means(rows, 2, np.random.default_rng(0)).ravel().tolist())
    [0.5, 10.5]
    """
    tries = [_lloyd(rows, _start(rows, k, generator)) for _ in range(N_STARTS)]
    return min(tries, key=lambda found: found[0])[1]


def _squared_distances(rows: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Squared distances without each row's own square, which does not change the nearest."""
    return (points**2).sum(axis=1) - 2 * rows @ points.T


def _start(rows: np.ndarray, k: int, generator: np.random.Generator) -> np.ndarray:
    chosen = [int(generator.integers(len(rows)))]
    nearest = np.full(len(rows), np.inf)
    while len(chosen) < k:
        nearest = np.minimum(nearest, ((rows - rows[chosen[-1]]) ** 2).sum(axis=1))
        cumulated = np.cumsum(nearest)
        if cumulated[-1] == 0:  # all rows equal one that is chosen already
            chosen.append(chosen[0])
            continue
        drawn = generator.random() * cumulated[-1]
        chosen.append(min(int(np.searchsorted(cumulated, drawn, "right")), len(rows) - 1))
    return rows[chosen]


def _lloyd(rows: np.ndarray, points: np.ndarray) -> tuple[float, np.ndarray]:
    nearest = np.full(len(rows), -1)
    for _ in range(MAX_STEPS):
        before, nearest = nearest, _squared_distances(rows, points).argmin(axis=1)
        if np.array_equal(before, nearest):
            break
        member = (nearest == np.arange(len(points))[:, np.newaxis]).astype(np.float64)
        sizes = member.sum(axis=1)
        # A centre that lost all its rows stays where it is.
        means = (member @ rows) / np.maximum(sizes, 1)[:, np.newaxis]
        points = np.where(sizes[:, np.newaxis] > 0, means, points)
    return float(_squared_distances(rows, points).min(axis=1).sum()), points
