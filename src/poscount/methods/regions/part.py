"""One set of labelled rows as regions: what was learned of it, and rows counted against it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from poscount.checks import Evidence, model_results
from poscount.checks.check import CheckResult
from poscount.checks.code_among_positives import far_values
from poscount.checks.copies import duplicate_share, use_once
from poscount.checks.tied_scores import max_tie_share
from poscount.counts.missing_counts import MissingCounts, n_missing_cells
from poscount.data.columns import Columns
from poscount.data.rows import InputSupport, Rows
from poscount.methods.regions.core import core_dof
from poscount.methods.regions.counting import RegionCounting
from poscount.methods.regions.counting_numpy import N_EDGES, CountingPlan
from poscount.methods.regions.layout import (
    BANDS,
    CLUSTERINGS,
    CORE,
    FEATURE_QUANTILES,
    N_BINS,
    N_SCORE_CELLS,
    NO_BIN,
    PAT_QUANTILES,
    PAT_SHARES,
    SCORE_QUANTILES,
    CutNames,
    RegionLayout,
)
from poscount.methods.regions.learned_score import N_TREES, LearnedScore, classifier_design
from poscount.methods.regions.order import CanonicalOrder
from poscount.methods.regions.partition import (
    MOST_CATEGORIES,
    MOST_FEATURES,
    in_table_order,
    learn_partitions,
)
from poscount.methods.regions.ranges import N_COLUMNS, RangeCounts, learn_limits
from poscount.methods.regions.recording import N_COPIES, SIZE, recorded_differently
from poscount.methods.regions.rule import RegionCounts, RegionRule
from poscount.methods.regions.view import PartView
from poscount.scorers import Mahalanobis, fit_scorer, own_if_tied, score
from poscount.storage.schema import (
    Array,
    Field,
    Flag,
    Number,
    OrNone,
    Part,
    Whole,
    ascending_places,
    require,
)
from poscount.threads import one_blas_thread

# PAT's thresholds, some of which also divide the score cells, and two more below.
EDGE_QUANTILES = np.concatenate([SCORE_QUANTILES[:2], PAT_QUANTILES])
_IS_CELL_EDGE = np.isin(EDGE_QUANTILES.round(2), SCORE_QUANTILES)
# Score cell of the rows between two neighbouring edges.
_CELL = np.concatenate([[0], np.cumsum(_IS_CELL_EDGE)]).astype(np.uint8)
_N_BELOW = len(EDGE_QUANTILES) - len(PAT_QUANTILES)
# A row is far if it is farther away than the farthest positive, or twice or four times as far.
FAR = (1.0, 2.0, 4.0)


class SideCounts(NamedTuple):
    """What is counted of samples besides the regions.

    Attributes
    ----------
    pat_cells : ndarray of shape (n_samples, 52)
        Rows in PAT's cells.
    far : ndarray of shape (n_samples, 3)
        Rows farther away than the farthest positive, by the factors `FAR`.
    ranges : RangeCounts
        Rows outside of the range of each number.
    missing : MissingCounts
        Rows without a value that the positives could have, of each column.
    """

    pat_cells: np.ndarray
    far: np.ndarray
    ranges: RangeCounts
    missing: MissingCounts


class RegionPart(BaseEstimator):
    """What was learned of one set of labelled rows: partitions of the space, and where they lie.

    It counts blocks of rows into cells, and turns counted cells into a `PartView`. It has no
    parameters: a quantifier has one part or several.

    Attributes
    ----------
    columns_ : Columns
        Columns of the blocks: those of the table, or of its projection.
    projected_ : bool
        Whether they are sums of the table's columns, which have neither units nor codes for
        missing values.
    n_derived_ : int
        Numbers, the last ones, that are made of the other columns: they are always cut, and have
        no units that could be wrong.
    scorer_ : Mahalanobis
        The scorer, with a shrunk covariance.
    edges_ : ndarray
        Edges along the score.
    far_scores_ : ndarray of shape (3,)
        Scores of rows that are as far away as the farthest positive, or twice or four times as far.
    features_ : ndarray of int
        Numbers that are cut: those that vary, or 40 of them at random if there are more.
    cuts_ : ndarray of shape (n_cut_features, 4)
        Thresholds at which they are cut.
    categories_ : ndarray of int
        Columns of categories that are cut.
    directions_, offsets_ : ndarray
        A row belongs to the cluster whose direction, times the row, minus the offset is largest.
    learned_score_ : LearnedScore or None
        A score of the labelled rows against unlabeled ones, if there were any to learn from; its
        bins are one more partition.
    binned_ : ndarray of uint8, shape (n_labeled, 1 + n_partitions)
        Score cell, bins and clusters of every labelled row; the null calibration redraws them. So a
        model file tells roughly where each of them lies.
    range_limits_ : ndarray of shape (n_numbers, 8)
        Limits outside of each number's range (`poscount.methods.regions.ranges`).
    zeros_ : ndarray of int, shape (n_numbers,)
        Labelled rows whose value is exactly 0.
    far_values_ : ndarray of shape (n_numbers, 3)
        A value far from all others (`poscount.checks.code_among_positives`); none of sums.
    duplicate_share_ : float
        Share of the rows given that are copies of others, 0 where values are coarse. If it is above
        0.2, each distinct row is used once.
    n_positives_in_ : int
        Number of rows given, copies included.
    n_labeled_ : int
        Number of rows learned from.
    recording_variance_ : ndarray of shape (n_bands, n_cuts)
        Variance of the share of the labelled rows in each band and cut if columns are recorded
        differently by a standard deviation, the square of the mean change included
        (`poscount.methods.regions.recording`).
    max_tie_share_ : float
        Largest share of them with one score.
    core_dof_ : float
        How many independent cuts the cuts of the features are worth.
    seed_ : int
        Seed of everything random.
    """

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "columns_": Part("Columns"),
        "projected_": Flag(),
        "n_derived_": Whole(0),
        "n_labeled_": Whole(1, size="positives"),
        "seed_": Whole(0, 2**32 - 1),
        "scorer_": Part("Mahalanobis"),
        "edges_": Array("float64", (len(EDGE_QUANTILES),), infinite=True, ascending=True),
        "far_scores_": Array("float64", (len(FAR),), most=0, infinite=True),
        "features_": Array("int64", ("cut",)),
        # Infinite where there is no gap between values.
        "cuts_": Array("float64", ("cut", len(FEATURE_QUANTILES)), infinite=True, ascending=True),
        "categories_": Array("int64", (None,)),
        "directions_": Array("float64", ("design", sum(CLUSTERINGS)), infinite=True),
        "offsets_": Array("float64", (sum(CLUSTERINGS),), least=0),
        "learned_score_": OrNone(Part("LearnedScore")),
        "binned_": Array("uint8", ("positives", None)),
        # No share changes by more than 1.
        "recording_variance_": Array("float64", (len(BANDS), None), least=0, most=SIZE**-2),
        "range_limits_": Array("float64", ("numbers", N_COLUMNS - 1), infinite=True),
        "zeros_": Array("int64", ("numbers",), least=0),
        "far_values_": Array("float64", ("numbers", 3), missing=True),
        "duplicate_share_": Number(0, 1),
        "n_positives_in_": Whole(1),
        "max_tie_share_": Number(0, 1),
        "core_dof_": Number(1 - 1e-9),
    }

    columns_: Columns
    learned_score_: LearnedScore | None

    def __getstate__(self) -> dict[str, Any]:
        # What a leading underscore marks is made again; some of it cannot be pickled.
        state = super().__getstate__()
        kept = (name for name in state if name[0] != "_" or name == "_sklearn_version")
        return {name: state[name] for name in kept}

    def check_learned(self) -> None:
        """Raise ValueError unless every index is in range: files may hold anything."""
        known = self.columns_
        n_numbers, n_design = len(known.numbers), known.n_design
        require(self.scorer_.n_features_in_ == n_design, "its scorer is of other columns.")
        require(len(self.directions_) == n_design, "its clusters are of other columns.")
        require(len(self.range_limits_) == n_numbers, "its ranges are of other columns.")
        most = MOST_FEATURES + self.n_derived_
        cut = ascending_places(self.features_, n_numbers) and len(self.features_) <= most
        require(cut, "the features that it cuts are not columns of numbers.")
        several = {j for j in known.categorical.tolist() if known.n_bins(j) > 1}
        categories = self.categories_
        known_ones = ascending_places(categories, len(known.kinds_))
        known_ones = known_ones and len(categories) <= MOST_CATEGORIES
        require(known_ones and set(categories.tolist()) <= several, "it cuts unknown categories.")
        if self.learned_score_ is not None:
            n_learned = classifier_design(np.ones((1, len(known.kinds_))), known).shape[1]
            same = len(self.learned_score_.order_) == n_learned
            require(same, "its learned score is of other columns.")
        require(self.edges_[-1] < np.inf, "no score is above its last edge.")
        require((self.cuts_ > -np.inf).all(), "no value is below a cut.")
        widths = np.concatenate([[N_SCORE_CELLS], self.layout.widths])
        require(self.binned_.shape[1] == len(widths), "its positives are not in its bins.")
        require((self.binned_.max(axis=0) < widths).all(), "a positive is in no bin.")
        same = self.recording_variance_.shape[1] == self.layout.cuts.shape[1]
        require(same, "its variances of recording are of other cuts.")

    def fit_codes(
        self,
        codes: np.ndarray,
        columns: Columns,
        seed: int,
        *,
        projected: bool = False,
        n_derived: int = 0,
        reference: np.ndarray | None = None,
        n_trees: int = N_TREES,
    ) -> Self:
        """Learn from the codes of labelled rows, in any order.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, n_columns)
        columns : Columns
            Of these codes.
        seed : int
        projected, n_derived
            See `projected_` and `n_derived_`.
        reference : ndarray of shape (n_unlabeled, n_columns), optional
            Codes of unlabeled rows, from which and the labelled ones a score is learned.
        n_trees : int
            Of each fold of that score.
        """
        self.columns_, self.projected_, self.n_derived_ = columns, projected, n_derived
        self.seed_ = seed
        self.n_positives_in_ = len(codes)
        block, ordered, order = self._in_canonical_order(codes)
        self.duplicate_share_ = duplicate_share(ordered, seed)
        if use_once(self.duplicate_share_, len(block)):
            # A copy in another fold would tell what the scorer must not know.
            block, ordered, order = self._in_canonical_order(distinct_rows(block))
        self.n_labeled_ = len(block)
        self.scorer_, training_scores = fit_scorer(Mahalanobis("ledoit-wolf"), ordered, seed)
        numbers, design = block[:, columns.numbers], columns.design(block)
        self.range_limits_ = learn_limits(design[:, : numbers.shape[1]])
        self.zeros_ = np.count_nonzero(numbers == 0, axis=0)
        # Sums of columns have no codes.
        self.far_values_ = far_values(numbers[: 0 if projected else None])
        found = learn_partitions(
            ordered.data, order, np.isnan(numbers), self.scorer_, columns, n_derived, seed
        )
        (
            self.features_,
            self.cuts_,
            self.categories_,
            self.directions_,
            self.offsets_,
        ) = in_table_order(found, order)
        # The scorer of columns in this order becomes one of columns as they stand in the table.
        back, learned = np.argsort(order), self.scorer_
        learned.location_, learned.whitening_ = learned.location_[back], learned.whitening_[back]
        learned.constant_ = np.sort(order[learned.constant_])
        if not columns.all_numbers:
            training_scores = own_if_tied(self.scorer_, design, training_scores)
        alone = columns.constants_.exceptions_of(block)
        training_scores[alone] = training_scores.min()
        self.edges_ = np.quantile(training_scores, EDGE_QUANTILES)
        self.max_tie_share_ = max_tie_share(training_scores, self.edges_)
        self.far_scores_ = training_scores.min() * np.array(FAR)
        self.learned_score_ = None
        if reference is not None:
            self.learned_score_ = LearnedScore().fit(block, reference, columns, seed, n_trees)
        cells = _CELL[np.searchsorted(self.edges_, training_scores)]
        self.binned_ = self._with_bins(cells, block)
        self.recording_variance_ = self._learn_recording_variance(block, order)
        self.core_dof_ = self._core_dof()
        return self

    def with_reference(self, codes: np.ndarray, reference: np.ndarray) -> RegionPart:
        """The same, which has no learned score, with one that is learned from unlabeled rows.

        Parameters
        ----------
        codes : ndarray of shape (n_labeled, n_columns)
            Codes of the labelled rows, in the order of `binned_`.
        reference : ndarray of shape (n_unlabeled, n_columns)
        """
        part = RegionPart()
        part.__dict__.update((name, x) for name, x in vars(self).items() if name[0] != "_")
        part.learned_score_ = LearnedScore().fit(codes, reference, self.columns_, self.seed_)
        learned = part.learned_score_.bins(codes, self.columns_)
        part.binned_ = np.column_stack([self.binned_, learned])
        *_, order = self._in_canonical_order(codes)
        part.recording_variance_ = part._learn_recording_variance(codes, order)
        return part

    def of_some(self, chosen: np.ndarray) -> RegionPart:
        """The same of some of the labelled rows: the regions have other shares of them."""
        part = RegionPart()
        part.__dict__.update((name, x) for name, x in vars(self).items() if name[0] != "_")
        part.binned_ = self.binned_[chosen]
        part.n_labeled_ = len(part.binned_)
        part.zeros_ = np.rint(self.zeros_ * chosen.mean()).astype(np.int64)
        # PAT's cells divide the score cells, in each of which shares change alike.
        of_cells, of_all = (
            np.bincount(rows[:, 0], minlength=N_SCORE_CELLS) / len(rows)
            for rows in (part.binned_, self.binned_)
        )
        shares = (
            PAT_SHARES * (of_cells / np.maximum(of_all, 1 / len(self.binned_)))[_CELL[_N_BELOW:]]
        )
        shares[0] = of_cells[: _CELL[_N_BELOW] + 1].sum()
        part.pat_shares = shares / shares.sum()
        return part

    # Share of the labelled rows in each of PAT's cells.
    pat_shares = PAT_SHARES

    def _in_canonical_order(self, codes: np.ndarray) -> tuple[np.ndarray, Rows, np.ndarray]:
        """Codes in the order of what they hold; their design matrix; the order of its columns."""
        block = np.asarray(codes, np.float64)
        design = np.ascontiguousarray(self.columns_.design(block))
        order = CanonicalOrder(design, self.seed_)
        rows = order.sorted_rows(design)
        ordered = np.ascontiguousarray(design[rows][:, order.columns])
        return block[rows], Rows(ordered, None, InputSupport()), order.columns

    def _learn_recording_variance(self, block: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Learn how shares change if rows are recorded differently, from copies of them."""
        numbers = self.columns_.numbers
        # In the canonical order; the design matrix begins with the numbers.
        numbers = numbers[order[order < len(numbers)]]
        copies = recorded_differently(block, numbers, self.seed_)
        n_rows = copies.shape[1]
        rows = copies.reshape(-1, copies.shape[2])
        cells = self._score_cells_of(rows).reshape(-1, n_rows)
        with one_blas_thread():
            bins = self._counting.bins(rows).T.reshape(1 + N_COPIES, n_rows, -1)
        pairs = zip(cells, bins, strict=True)
        tables = np.array([self.layout.tabulate(*of_copy) for of_copy in pairs])
        shares = self.layout.in_cuts(tables) / n_rows
        return ((shares[1:] - shares[0]) ** 2).mean(axis=0) / SIZE**2

    def _core_dof(self) -> float:
        core = self.binned_[self.binned_[:, 0] >= BANDS[CORE][0]]
        n_numbers = len(self.features_)
        bins = core[:, 1 : 1 + n_numbers, np.newaxis]
        below = bins <= np.arange(len(FEATURE_QUANTILES))
        parts = [below.reshape(len(core), self.cuts_.size)]
        parts += [core[:, [1 + j]] == N_BINS for j in self.layout.gapped]
        parts += [
            core[:, [1 + n_numbers + i]] == np.arange(n)
            for i, n in enumerate(self.layout.categories)
        ]
        return core_dof(np.hstack(parts))

    @functools.cached_property
    def _layout(self) -> RegionLayout:
        places = self.columns_.numbers[self.features_]
        gapped = tuple(np.flatnonzero(self.columns_.missing_[places] > 0).tolist())
        categories = tuple(self.columns_.n_bins(j) for j in self.categories_.tolist())
        learned = self.learned_score_ is not None
        return RegionLayout(len(self.features_), learned, gapped, categories)

    @property
    def layout(self) -> RegionLayout:
        """How cells are laid out as regions."""
        return self._layout

    @functools.cached_property
    def _rule(self) -> RegionRule:
        return RegionRule(self.layout, self.binned_, self.cut_names, self.seed_)

    @property
    def rule(self) -> RegionRule:
        """The regions, and the rule from counts in them to prevalences."""
        return self._rule

    @property
    def cut_names(self) -> CutNames:
        """What the cuts are called."""
        known = self.columns_
        numbers = [known.names_[j] for j in known.numbers[self.features_].tolist()]
        chosen = self.categories_.tolist()
        return CutNames(
            numbers, self.cuts_, [known.names_[j] for j in chosen], [known.bins(j) for j in chosen]
        )

    # Counting

    @property
    def n_cells(self) -> int:
        """Number of cells that a sample is counted into."""
        return self._ends[-1] + n_missing_cells(self.columns_)

    @functools.cached_property
    def _ends(self) -> tuple[int, int, int, int]:
        """Where the cells of the regions end, and PAT's, and those of far rows, and of ranges."""
        in_regions = N_SCORE_CELLS * self.layout.n_columns
        in_ranges = len(self.range_limits_) * N_COLUMNS
        widths = [in_regions, len(PAT_SHARES), len(FAR), in_ranges]
        return tuple(itertools.accumulate(widths))  # type: ignore[return-value]

    def count_into(
        self,
        counted: np.ndarray,
        first_cell: int,
        block: Any,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
    ) -> np.ndarray:
        """Add the rows of a block to counts, of shape (n_groups, n_cells), from a cell on.

        Returns
        -------
        ndarray of int
            PAT cell of each row.
        """
        starts = None if groups is None else groups * counted.shape[1]
        # A view, because counts are in C order.
        return self._counting.add(block, starts, weights, counted.reshape(-1)[first_cell:])

    @functools.cached_property
    def _counting(self) -> RegionCounting:
        known, layout = self.columns_, self.layout
        gapped = np.isin(np.arange(len(self.features_)), layout.gapped)
        between = np.minimum(np.arange(N_EDGES + 1), len(self.edges_))
        # The learned score is counted by itself.
        n_plain = len(layout.widths) - layout.learned
        plan = CountingPlan(
            edges=np.pad(self.edges_, (0, N_EDGES - len(self.edges_)), constant_values=np.inf),
            score_cells=_CELL[between].astype(np.int64),
            pat_cells=np.maximum(between - _N_BELOW, 0),
            far=self.far_scores_,
            features=known.numbers[self.features_],
            cuts=np.ascontiguousarray(self.cuts_),
            missing_bins=np.where(gapped, N_BINS, NO_BIN).astype(np.uint8),
            categories=self.categories_,
            category_bins=known.bins_of_codes(self.categories_),
            clusterings=np.array(CLUSTERINGS),
            distances=self.offsets_,
            offsets=layout.offsets[:n_plain],
            n_columns=layout.n_columns,
            numbers=known.numbers,
            limits=np.ascontiguousarray(self.range_limits_),
            all_categories=known.categorical,
            unseen=np.array([float(known.unseen(j)) for j in known.categorical.tolist()]),
            ends=np.array(self._ends),
            columns=known,
            n_plain=int(layout.widths[:n_plain].sum()),
            different_cell=self.n_cells - 1,
        )
        return RegionCounting(plan, self.scorer_, self.directions_, self.learned_score_)

    def place(self, block: np.ndarray) -> np.ndarray:
        """Score cell and bins of each row of a block, as in `binned_`."""
        return self._with_bins(self._score_cells_of(block), block)

    def _score_cells_of(self, block: np.ndarray) -> np.ndarray:
        with one_blas_thread():
            return _CELL[np.searchsorted(self.edges_, self.scores(block))]

    def scores(self, block: np.ndarray) -> np.ndarray:
        """Score of each row of a block."""
        scores = score(self.scorer_, self.columns_.design(block))
        return self.columns_.constants_.lower(scores, block)

    def _with_bins(self, cells: np.ndarray, block: np.ndarray) -> np.ndarray:
        with one_blas_thread():
            bins = self._counting.bins(block)
        return np.vstack([cells, bins]).T.copy()

    # From counts to what they say

    def score_cells(self, cells: np.ndarray) -> np.ndarray:
        """Those of the cells, of shape (n_samples, n_cells), that are PAT's."""
        in_regions, pat_end, *_ = self._ends
        return cells[:, in_regions:pat_end]

    def tables(self, cells: np.ndarray) -> np.ndarray:
        """Cells of the regions as tables of the layout: (n_samples, n_score_cells, n_columns)."""
        return cells[:, : self._ends[0]].reshape(len(cells), N_SCORE_CELLS, -1)

    def view(self, cells: np.ndarray, n_rows: np.ndarray, tolerance: float = 0.0) -> PartView:
        """What the regions say about samples.

        Parameters
        ----------
        cells : ndarray of shape (n_samples, n_cells)
        n_rows : ndarray of shape (n_samples,)
        tolerance : float, default=0.0
            As in `PartView`.
        """
        counts = RegionCounts(self.layout.in_cuts(self.tables(cells)), n_rows)
        return PartView(self, self.rule, counts, self.side_counts(cells), tolerance)

    def side_counts(self, cells: np.ndarray) -> SideCounts:
        """What was counted besides the regions, from cells of shape (n_samples, n_cells)."""
        _, pat_cells, far, ranges, missing = np.split(cells, self._ends, axis=1)
        return SideCounts(
            pat_cells,
            far,
            RangeCounts.of_cells(ranges),
            MissingCounts.of_cells(missing, self.columns_),
        )

    @functools.cached_property
    def _of_model(self) -> dict[bool, Sequence[CheckResult]]:
        return {}

    def model_results(self, rule: RegionRule) -> Sequence[CheckResult]:
        """What the checks see in the labelled rows alone, which holds for every sample."""
        by_pat = not rule.enough_positives
        if by_pat not in self._of_model:
            self._of_model[by_pat] = model_results(
                Evidence(
                    1,
                    n_labeled=self.n_labeled_,
                    feature_names=self.columns_.design_names,
                    max_tie_share=self.max_tie_share_,
                    duplicate_share=self.duplicate_share_,
                    n_positives_in=self.n_positives_in_,
                    answered_by_pat=by_pat,
                    far_values=self.far_values_,
                )
            )
        return self._of_model[by_pat]


def distinct_rows(codes: np.ndarray) -> np.ndarray:
    """Distinct rows of codes, sorted; missing equals missing."""
    # Codes are finite or NaN, so that infinity is free.
    rows = np.unique(np.where(np.isnan(codes), np.inf, codes), axis=0)
    return np.where(np.isinf(rows), np.nan, rows)
