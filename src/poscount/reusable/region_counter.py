"""Learning RCQ's partitions from positives, and counting rows in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from poscount import checks, container
from poscount.base import CountingQuantifier
from poscount.reusable.clusters import centres
from poscount.reusable.region_rule import RegionRule
from poscount.reusable.regions import (
    BANDS,
    CLUSTERINGS,
    CORE,
    FEATURE_QUANTILES,
    N_SCORE_CELLS,
    SCORE_QUANTILES,
    Layout,
    layout,
    place_cuts,
)
from poscount.scorers import Mahalanobis, fit_scorer, score
from poscount.scorers.products import products
from poscount.seeds import stream
from poscount.threads import one_blas_thread
from poscount.validation import Rows

MOST_FEATURES = 40
DECIMALS = 6

# The thresholds of PAT, of which the score cells use some, and two more below.
PAT_QUANTILES = np.linspace(0.25, 0.75, 51)
EDGE_QUANTILES = np.concatenate([SCORE_QUANTILES[:2], PAT_QUANTILES])
PAT_SHARES = np.diff(PAT_QUANTILES, prepend=0.0, append=1.0)
_IS_CELL_EDGE = np.isin(EDGE_QUANTILES.round(2), SCORE_QUANTILES)
# Score cell of the rows between two edges.
_CELL = np.concatenate([[0], np.cumsum(_IS_CELL_EDGE)]).astype(np.uint8)
_N_BELOW = len(EDGE_QUANTILES) - len(PAT_QUANTILES)


class RegionCounter(CountingQuantifier):
    """Cells are score cells times the bins of many partitions, and PAT's cells behind them.

    The attributes are those of `RCQ`, which turns the counts into prevalences.
    """

    def _learn(self, rows: Rows) -> None:
        self.scorer_, training_scores = fit_scorer(Mahalanobis("ledoit-wolf"), rows, self.seed_)
        self.edges_ = np.quantile(training_scores, EDGE_QUANTILES)
        self.largest_tie_ = checks.largest_tie(training_scores, self.edges_)
        block = np.asarray(rows.whole(), np.float64)
        self._place_partitions(block)
        cells = _CELL[np.searchsorted(self.edges_, training_scores)]
        self.binned_ = self._with_bins(cells, block)
        self.core_freedom_ = self._core_freedom()
        self.hash_ = self._content_hash()
        self._rule = RegionRule(self._layout, self.binned_, self.seed_)

    def _place_partitions(self, block: np.ndarray) -> None:
        centred = block - self.scorer_.location_
        varying = np.setdiff1d(np.arange(block.shape[1]), self.scorer_.constant_)
        # In units of the largest value, so that no square can overflow or vanish.
        unit = np.abs(centred[:, varying]).max(axis=0)
        spread = unit * np.sqrt(((centred[:, varying] / unit) ** 2).mean(axis=0))
        # Rounded, so that values that differ by noise alone are one value.
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
            points = np.vstack([centres(standardised, k, generator) for k in CLUSTERINGS])
        self.directions_ = np.zeros((block.shape[1], len(points)))
        self.directions_[varying] = (points / spread).T
        self.offsets_ = (points**2).sum(axis=1) / 2

    def _core_freedom(self) -> float:
        core = self.binned_[self.binned_[:, 0] >= BANDS[CORE][0]]
        bins = core[:, 1 : 1 + len(self.features_), np.newaxis]
        below = bins <= np.arange(len(FEATURE_QUANTILES))
        return checks.core_freedom(below.reshape(len(core), self.cuts_.size))

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
        }
        meta = {"method": type(self).__name__, "features": names.tolist(), "seed": self.seed_}
        return container.digest(meta, arrays)

    def _bins(self, block: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Bins of all partitions, a chunk of rows at a time: shape (n_partitions, n_rows)."""
        whole = len(self.features_) == block.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, product in products(block, self.scorer_.location_, self.directions_):
                # Columns in a row each, so that the comparisons run through memory.
                columns = block[rows] if whole else block[rows][:, self.features_]
                columns = np.ascontiguousarray(columns.T, dtype=np.float64)
                above = (columns > threshold[:, np.newaxis] for threshold in self.cuts_.T)
                features = next(above).view(np.uint8)
                for more in above:
                    features += more.view(np.uint8)
                yield rows, np.vstack([features, *_nearest(product - self.offsets_[:, np.newaxis])])

    @property
    def _n_cells(self) -> int:
        return N_SCORE_CELLS * self._layout.n_columns + len(PAT_SHARES)

    def _tally(self, block: Any, groups: np.ndarray | None, counted: np.ndarray) -> None:
        n_entries = self._n_cells - len(PAT_SHARES)
        flat = counted.reshape(-1)
        starts = np.zeros(len(block), np.intp) if groups is None else groups * self._n_cells
        between = np.searchsorted(self.edges_, score(self.scorer_, block))
        np.add.at(flat, starts + n_entries + np.maximum(between - _N_BELOW, 0), 1)
        first = _CELL[between].astype(np.uint16) * np.uint16(self._layout.n_columns)
        column = self._layout.offsets.astype(np.uint16)[:, np.newaxis]
        for rows, bins in self._bins(block):
            entries = first[rows] + (column + bins)
            if groups is None:
                flat[:n_entries] += np.bincount(entries.ravel(), minlength=n_entries)
            else:
                np.add.at(flat, starts[rows] + entries, 1)

    @property
    def _layout(self) -> Layout:
        return layout(len(self.features_))

    def _binned(self, block: Any) -> np.ndarray:
        """Score cell and bins of rows, in the form of `binned_`."""
        with one_blas_thread():
            between = np.searchsorted(self.edges_, score(self.scorer_, block))
        return self._with_bins(_CELL[between], block)

    def _with_bins(self, cells: np.ndarray, block: Any) -> np.ndarray:
        with one_blas_thread():
            bins = np.concatenate([bins for _, bins in self._bins(block)], axis=1)
        return np.vstack([cells, bins]).T.copy()


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
