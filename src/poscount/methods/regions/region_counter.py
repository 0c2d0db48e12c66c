"""RCQ's partitions of the feature space: learned from the positives, and rows counted in them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from poscount.base.counting import CountingQuantifier
from poscount.checks.copies import copied_share, use_once
from poscount.checks.core_differs import core_freedom
from poscount.checks.tied_scores import check_tie, largest_tie
from poscount.counts.counts import adds_up
from poscount.counts.missing_counts import GapCounts, n_gap_cells
from poscount.data.columns import Columns
from poscount.data.rows import InputSupport, Rows
from poscount.methods.regions.feature_ranges import N_COLUMNS, OutsideCounts, learn_limits
from poscount.methods.regions.k_means import k_means
from poscount.methods.regions.own_order import OwnOrder
from poscount.methods.regions.region_layout import (
    BANDS,
    CLUSTERINGS,
    CORE,
    FEATURE_QUANTILES,
    N_BINS,
    N_SCORE_CELLS,
    NO_BIN,
    SCORE_QUANTILES,
    CutNames,
    RegionLayout,
    region_layout,
)
from poscount.methods.regions.region_tally import RegionTally
from poscount.methods.regions.tally_plan import N_EDGES, TallyPlan, counted_together
from poscount.scorers import Mahalanobis, fit_scorer, own_if_tied, score
from poscount.seeds import stream
from poscount.storage import container
from poscount.storage.schema import Array, Field, Number, Part, Whole, ascending_places, require
from poscount.threads import one_blas_thread

# Columns that are cut, of numbers and of categories.
MOST_FEATURES, MOST_WORDS = 40, 64
DECIMALS = 6
# In standard deviations.
SMALLEST_GAP = 1e-5

# The thresholds of PAT, some of which also divide the score cells, and two more below.
PAT_QUANTILES = np.linspace(0.25, 0.75, 51)
EDGE_QUANTILES = np.concatenate([SCORE_QUANTILES[:2], PAT_QUANTILES])
PAT_SHARES = np.diff(PAT_QUANTILES, prepend=0.0, append=1.0)
_IS_CELL_EDGE = np.isin(EDGE_QUANTILES.round(2), SCORE_QUANTILES)
# Score cell of the rows between two neighbouring edges.
_CELL = np.concatenate([[0], np.cumsum(_IS_CELL_EDGE)]).astype(np.uint8)
_N_BELOW = len(EDGE_QUANTILES) - len(PAT_QUANTILES)
# Score cells of PAT's cells; the first stands for all below.
_PAT_CELLS = np.unique(_CELL[_N_BELOW:])
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
        Rows outside of the range of each number.
    gaps : GapCounts
        Rows without a value that the positives could have, of each column.
    """

    pat_cells: np.ndarray
    far: np.ndarray
    outside: OutsideCounts
    gaps: GapCounts


class RegionCounter(CountingQuantifier):
    """Counts rows by score cell and by the bins of many partitions, and what lies outside.

    The attributes are those of `RCQ`, which turns the counts into prevalences.
    """

    # What models of the first versions did not have, without which nothing can be counted.
    NEEDED = ("far_", "limits_", "zeros_", "copied_", "n_given_")

    # Numbers, the last ones, that are made of the other columns: they are always cut, and have no
    # units that could be wrong.
    n_derived_ = 0

    columns_: Columns
    _arranged: RegionLayout
    _counts_rows: RegionTally

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "scorer_": Part("Mahalanobis"),
        "edges_": Array("float64", (len(EDGE_QUANTILES),), infinite=True, ascending=True),
        "far_": Array("float64", (len(FAR),), most=0, infinite=True),
        "features_": Array("int64", ("cut",)),
        # Infinite where there is no gap between values.
        "cuts_": Array("float64", ("cut", len(FEATURE_QUANTILES)), infinite=True, ascending=True),
        "words_": Array("int64", (None,)),
        "directions_": Array("float64", ("design", sum(CLUSTERINGS)), infinite=True),
        "offsets_": Array("float64", (sum(CLUSTERINGS),), least=0),
        "binned_": Array("uint8", ("positives", None)),
        "limits_": Array("float64", ("numbers", N_COLUMNS - 1), infinite=True),
        "zeros_": Array("int64", ("numbers",), least=0),
        "copied_": Number(0, 1),
        "n_given_": Whole(1),
        "largest_tie_": Number(0, 1),
        "core_freedom_": Number(1 - 1e-9),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless what was learned fits together: files may hold anything."""
        known, scorer = self.block_columns, self.scorer_
        n_numbers, n_design = len(known.numbers), known.n_design
        require(scorer.n_features_in_ == n_design, "its scorer is of other columns.")
        require(len(self.directions_) == n_design, "its clusters are of other columns.")
        require(len(self.limits_) == n_numbers, "its ranges are of other columns.")
        most = MOST_FEATURES + self.n_derived_
        cut = ascending_places(self.features_, n_numbers) and len(self.features_) <= most
        require(cut, "the features that it cuts are not columns of numbers.")
        several = [j for j in known.words.tolist() if known.n_bins(j) > 1]
        words = ascending_places(self.words_, len(known.kinds_)) and len(self.words_) <= MOST_WORDS
        require(words and set(self.words_.tolist()) <= set(several), "it cuts unknown categories.")
        require(self.edges_[-1] < np.inf, "no score is above its last edge.")
        require((self.cuts_ > -np.inf).all(), "no value is below a cut.")
        far = (self.far_ == self.far_[0] * np.array(FAR)).all() and self.far_[0] <= self.edges_[0]
        require(far, "the farthest positive is not the farthest.")
        below, above = np.split(self.limits_, 2, axis=1)
        nested = (np.diff(below[:, ::-1]) >= 0).all() and (np.diff(above) >= 0).all()
        require(nested and (below[:, 0] <= above[:, 0]).all(), "its ranges are not in order.")
        require((self.zeros_ <= self.n_labeled_).all(), "more zeros than positives.")
        once = use_once(self.copied_, self.n_given_)
        n_labeled = round((1 - self.copied_) * self.n_given_) if once else self.n_given_
        require(n_labeled == self.n_labeled_, "its positives are more or fewer than were given.")
        check_tie(self.largest_tie_, self.n_labeled_)
        self._check_binned()
        # Last, because it recomputes the hash.
        super().check_learned()

    def _check_binned(self) -> None:
        """Refuse bins that there are not, and scores that do not lie between the edges."""
        widths = np.concatenate([[N_SCORE_CELLS], self._layout.widths])
        require(self.binned_.shape[1] == len(widths), "its positives are not in its bins.")
        require((self.binned_.max(axis=0) < widths).all(), "a positive is in no bin.")
        n = self.n_labeled_
        up_to = np.cumsum(np.bincount(self.binned_[:, 0], minlength=N_SCORE_CELLS))[:-1]
        # As many as a quantile says, one more or less by rounding, and those with the same score.
        expected = np.floor(np.array(SCORE_QUANTILES) * (n - 1)) + 1
        tied = max(round(self.largest_tie_ * n), 1)
        fits = (up_to >= expected - 1) & (up_to <= expected + tied)
        require(fits.all(), "its positives do not have the scores that its edges divide.")
        freedom = self._core_freedom()
        same = abs(freedom - self.core_freedom_) <= 1e-6 * freedom
        require(same, "its core_freedom_ is not that of its positives.")

    def _recomputed_hash(self) -> str | None:
        return self._content_hash()

    def _input_support(self) -> InputSupport:
        return super()._input_support()._replace(sparse=True, wide=True)

    def complete(self) -> None:
        """Add what a model from an older file lacks."""
        super().complete()
        if not hasattr(self, "words_"):
            self.words_ = np.empty(0, np.intp)

    def _learn(self, rows: Rows) -> None:
        self.learn_codes(rows.whole())

    def learn_codes(self, positives: np.ndarray) -> None:
        """Learn from the codes of positives; `columns_` and `seed_` are known."""
        for name in ("_arranged", "_counts_rows"):
            self.__dict__.pop(name, None)
        self.n_given_ = self.n_labeled_ = len(positives)
        block, ordered, columns = self._in_own_order(positives)
        self.copied_ = copied_share(ordered, self.seed_)
        if use_once(self.copied_, len(block)):
            # A copy in another fold would tell what the scorer must not know.
            block, ordered, columns = self._in_own_order(distinct_rows(block))
            self.n_labeled_ = len(block)
        self.scorer_, training_scores = fit_scorer(Mahalanobis("ledoit-wolf"), ordered, self.seed_)
        numbers = block[:, self.block_columns.numbers]
        design = self.block_columns.design(block)
        self.limits_ = learn_limits(design[:, : numbers.shape[1]])
        self.zeros_ = np.count_nonzero(numbers == 0, axis=0)
        self._place_partitions(ordered.data, columns, np.isnan(numbers))
        self._put_columns_back(columns)
        if not self.block_columns.all_numbers:
            training_scores = own_if_tied(self.scorer_, design, training_scores)
        self.edges_ = np.quantile(training_scores, EDGE_QUANTILES)
        self.largest_tie_ = largest_tie(training_scores, self.edges_)
        self.far_ = training_scores.min() * np.array(FAR)
        cells = _CELL[np.searchsorted(self.edges_, training_scores)]
        self.binned_ = self._with_bins(cells, block)
        self.core_freedom_ = self._core_freedom()
        self.hash_ = self._content_hash()

    def _in_own_order(self, positives: np.ndarray) -> tuple[np.ndarray, Rows, np.ndarray]:
        """Codes of positives in the order of what they hold; their design matrix; its order.

        The columns of the design matrix are in an order of their own.
        """
        block = np.asarray(positives, np.float64)
        design = np.ascontiguousarray(self.block_columns.design(block))
        order = OwnOrder(design, self.seed_)
        rows = order.sorted_rows(design)
        ordered = np.ascontiguousarray(design[rows][:, order.columns])
        return block[rows], Rows(ordered, None, InputSupport()), order.columns

    def _place_partitions(self, block: np.ndarray, columns: np.ndarray, gaps: np.ndarray) -> None:
        """Cut numbers at quantiles, choose categories, and find clusters.

        Parameters
        ----------
        block : ndarray of shape (n_labeled, n_design_columns)
            The design matrix, its columns in an order of their own.
        columns : ndarray of int
            That order.
        gaps : ndarray of bool, shape (n_labeled, n_numbers)
            Where numbers are missing.
        """
        centred = block - self.scorer_.location_
        varying = np.setdiff1d(np.arange(block.shape[1]), self.scorer_.constant_)
        # In units of the largest value, so that no square can overflow or vanish.
        unit = np.abs(centred[:, varying]).max(axis=0)
        spread = unit * np.sqrt(((centred[:, varying] / unit) ** 2).mean(axis=0))
        # Rounded, so that values that differ only by noise become equal.
        standardised = (centred[:, varying] / spread).round(DECIMALS)
        generator = stream(self.seed_, "features")
        n_given = gaps.shape[1] - self.n_derived_
        chosen = np.flatnonzero(columns[varying] < n_given)
        if len(chosen) > MOST_FEATURES:
            chosen = np.sort(generator.choice(chosen, MOST_FEATURES, replace=False))
        if self.n_derived_:
            derived = (columns[varying] >= n_given) & (columns[varying] < gaps.shape[1])
            chosen = np.sort(np.concatenate([chosen, np.flatnonzero(derived)]))
        self.features_ = varying[chosen]
        there = ~gaps[:, columns[self.features_]]
        thresholds = np.array(
            [place_cuts(standardised[known, j]) for j, known in zip(chosen, there.T, strict=True)]
        ).reshape(-1, len(FEATURE_QUANTILES))
        location, scale = self.scorer_.location_[self.features_], spread[chosen]
        self.cuts_ = location[:, np.newaxis] + scale[:, np.newaxis] * thresholds
        self.words_ = self._chosen_words(generator)
        generator = stream(self.seed_, "clusters")
        with one_blas_thread():
            points = np.vstack([k_means(standardised, k, generator) for k in CLUSTERINGS])
        self.directions_ = np.zeros((block.shape[1], len(points)))
        self.directions_[varying] = (points / spread).T
        self.offsets_ = (points**2).sum(axis=1) / 2

    def _chosen_words(self, generator: np.random.Generator) -> np.ndarray:
        """Columns of categories that are cut: those with several values, or some of them."""
        known = self.block_columns
        several = np.array([j for j in known.words.tolist() if known.n_bins(j) > 1], np.intp)
        if len(several) > MOST_WORDS:
            several = np.sort(generator.choice(several, MOST_WORDS, replace=False))
        return several

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
        n_numbers = len(self.features_)
        bins = core[:, 1 : 1 + n_numbers, np.newaxis]
        below = bins <= np.arange(len(FEATURE_QUANTILES))
        parts = [below.reshape(len(core), self.cuts_.size)]
        parts += [core[:, [1 + j]] == N_BINS for j in self._layout.gapped]
        parts += [
            core[:, [1 + n_numbers + i]] == np.arange(n)
            for i, n in enumerate(self._layout.categories)
        ]
        return core_freedom(np.hstack(parts))

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
        if hasattr(self, "projection_"):
            arrays |= {"dimension": self.projection_.dimension_, "weight": self.projection_.weight_}
            arrays["centre"] = self.projection_.location_
        return container.digest({**meta, **self.columns_.described()}, arrays)

    @property
    def cut_names(self) -> CutNames:
        """What the cuts are called."""
        known = self.block_columns
        numbers = [known.names_[j] for j in known.numbers[self.features_].tolist()]
        words = self.words_.tolist()
        return CutNames(
            numbers, self.cuts_, [known.names_[j] for j in words], [known.bins(j) for j in words]
        )

    @property
    def _n_cells(self) -> int:
        return self.n_own_cells

    @property
    def _n_gap_cells(self) -> int:
        return n_gap_cells(self.block_columns)

    @property
    def n_own_cells(self) -> int:
        """Number of cells, without those of models that count along with this one."""
        return self._ends[-1] + n_gap_cells(self.block_columns)

    @property
    def _ends(self) -> tuple[int, int, int, int]:
        """Where the cells of the regions end, and PAT's, and those of far rows, and of ranges."""
        in_regions = N_SCORE_CELLS * self._layout.n_columns
        in_ranges = len(self.limits_) * N_COLUMNS
        widths = [in_regions, len(PAT_SHARES), len(FAR), in_ranges]
        return tuple(itertools.accumulate(widths))  # type: ignore[return-value]

    def _tally(
        self,
        block: Any,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
        counted: np.ndarray,
    ) -> np.ndarray:
        return self.tally_from(0, block, groups, weights, counted)

    @property
    def _first_core_cell(self) -> int:
        return 1

    def _could_count(self, cells: np.ndarray, totals: np.ndarray) -> bool:
        """Whether all partitions, and what is counted beside them, tell of the same rows."""
        tables, beside = self.split_cells(cells)
        layout, known = self._layout, self.block_columns
        bins = np.split(tables, layout.offsets[1:], axis=2)
        first_clustering = layout.n_features + len(layout.categories)
        in_cells = bins[first_clustering].sum(axis=2)
        if not adds_up(in_cells, totals) or not adds_up(beside.pat_cells, totals):
            return False
        # PAT's first cell is several score cells.
        coarse = [beside.pat_cells[:, _CELL[_N_BELOW:] == cell].sum(axis=1) for cell in _PAT_CELLS]
        lowest = in_cells[:, : _PAT_CELLS[0] + 1].sum(axis=1, keepdims=True)
        same_scores = np.column_stack(coarse) == np.hstack([lowest, in_cells[:, _PAT_CELLS[1:]]])
        far = np.column_stack([in_cells[:, 0], beside.far])
        places = [*known.numbers[self.features_].tolist(), *self.words_.tolist()]
        return bool(
            same_scores.all()
            and (np.diff(far) <= 0).all()
            and beside.outside.could_be_of(totals)
            and beside.gaps.could_be_of(totals)
            and all((part.sum(axis=2) == in_cells).all() for part in bins[first_clustering:])
            and all(
                self._could_fill(part, in_cells, beside.gaps, j, totals)
                for part, j in zip(bins, places, strict=False)
            )
        )

    def _could_fill(
        self,
        bins: np.ndarray,
        in_cells: np.ndarray,
        gaps: GapCounts,
        j: int,
        totals: np.ndarray,
    ) -> bool:
        """Whether rows in the bins of column `j`, and those in none, are all rows there are."""
        missing, unseen = gaps.missing[:, j], gaps.unseen[:, j]
        in_bins = bins.sum(axis=2)
        if self.block_columns.missing_[j]:
            # The last bin is that of missing values.
            if (bins[:, :, -1].sum(axis=1) != missing).any():
                return False
            missing = np.zeros_like(missing)
        return bool((in_bins <= in_cells).all()) and adds_up(
            np.column_stack([in_bins, missing, unseen]), totals
        )

    def _score_cells(self, cells: np.ndarray) -> np.ndarray:
        in_regions, pat_end, *_ = self._ends
        return cells[:, in_regions:pat_end]

    def tally_from(
        self,
        first_cell: int,
        block: Any,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
        counted: np.ndarray,
    ) -> np.ndarray:
        """Do as `_tally`, from a cell on: the row of a group may hold cells of other models."""
        starts = None if groups is None else groups * counted.shape[1]
        # A view, because counts are in C order.
        flat = counted.reshape(-1)[first_cell:]
        return self._region_tally.add(block, starts, weights, flat)

    @property
    def _region_tally(self) -> RegionTally:
        if "_counts_rows" not in vars(self):
            self._counts_rows = RegionTally(self._tally_plan(), self.scorer_, self.directions_)
        return self._counts_rows

    def _tally_plan(self) -> TallyPlan:
        known, layout = self.block_columns, self._layout
        gapped = np.isin(np.arange(len(self.features_)), layout.gapped)
        between = np.minimum(np.arange(N_EDGES + 1), len(self.edges_))
        widths = tuple(layout.widths.tolist())
        return TallyPlan(
            edges=np.pad(self.edges_, (0, N_EDGES - len(self.edges_)), constant_values=np.inf),
            score_cells=_CELL[between].astype(np.int64),
            pat_cells=np.maximum(between - _N_BELOW, 0),
            far=self.far_,
            features=known.numbers[self.features_],
            cuts=np.ascontiguousarray(self.cuts_),
            missing_bins=np.where(gapped, N_BINS, NO_BIN).astype(np.uint8),
            words=self.words_,
            word_bins=known.bins_of_codes(self.words_),
            clusterings=np.array(CLUSTERINGS),
            distances=self.offsets_,
            offsets=layout.offsets,
            n_columns=layout.n_columns,
            numbers=known.numbers,
            limits=np.ascontiguousarray(self.limits_),
            all_words=known.words,
            unseen=np.array([float(known.unseen(j)) for j in known.words.tolist()]),
            ends=np.array(self._ends),
            columns=known,
            widths=widths,
            together=counted_together(widths, N_SCORE_CELLS),
        )

    @property
    def _layout(self) -> RegionLayout:
        if "_arranged" not in vars(self):  # a model from a file
            known = self.block_columns
            places = known.numbers[self.features_]
            gapped = tuple(np.flatnonzero(known.missing_[places] > 0).tolist())
            categories = tuple(known.n_bins(j) for j in self.words_.tolist())
            self._arranged = region_layout(len(self.features_), False, gapped, categories)
        return self._arranged

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
        tables, pat_cells, far, outside, gaps = np.split(own, self._ends, axis=1)
        beside = CountsBeside(
            pat_cells,
            far,
            OutsideCounts.of_cells(outside),
            GapCounts.of_cells(gaps, self.block_columns),
        )
        return tables.reshape(len(cells), N_SCORE_CELLS, -1), beside

    def place(self, block: np.ndarray) -> np.ndarray:
        """Place rows in the partitions, one by one.

        Parameters
        ----------
        block : ndarray of shape (n_rows, n_columns)
            Codes, the columns in the order of the model.

        Returns
        -------
        ndarray of uint8, shape (n_rows, 1 + n_partitions)
            Score cell and bins of each row, as in `binned_`.
        """
        with one_blas_thread():
            between = np.searchsorted(self.edges_, self._scores(block))
        return self._with_bins(_CELL[between], block)

    def _scores(self, block: np.ndarray) -> np.ndarray:
        return score(self.scorer_, self.block_columns.design(block))

    def _with_bins(self, cells: np.ndarray, block: np.ndarray) -> np.ndarray:
        with one_blas_thread():
            bins = self._region_tally.bins(block)
        return np.vstack([cells, bins]).T.copy()


def distinct_rows(coded: np.ndarray) -> np.ndarray:
    """Distinct rows of codes, sorted; missing equals missing."""
    # Codes are finite or NaN, so that infinity is free.
    rows = np.unique(np.where(np.isnan(coded), np.inf, coded), axis=0)
    return np.where(np.isinf(rows), np.nan, rows)


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
