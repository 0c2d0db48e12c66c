"""Quantifiers that see a sample only through counts, and the counting of batches of rows."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import narwhals as nw
import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from poscount.base.quantifier import Quantifier
from poscount.counts.counts import Counts, GroupedCounts, Skipped
from poscount.counts.posterior import CellPosterior, nearest_posterior, posterior_of_cells
from poscount.counts.weights import SMALLEST_MEAN, WeightSums, add_weights, effective, row_weights
from poscount.data.grouping import column_names, group_codes, group_keys, require_grouping
from poscount.data.rows import BLOCK_ROWS, Rows
from poscount.data.validation import as_frame, as_frame_with_names, sample_rows
from poscount.errors import InputError, join_names, require_rows
from poscount.results.prevalence import Estimate, Estimates, Prevalence, as_columns
from poscount.results.verdict import Caution
from poscount.storage.schema import Digest, Field, require
from poscount.threads import one_blas_thread, run_in_threads, sum_over_blocks

# Up to so many cells, 64 MB, all groups are counted in one pass over the rows as they are.
_CELLS_IN_ONE_PASS = 2**23
# Otherwise rows are sorted, and so many cells counted at once, 8 MB, in memory that is used again.
_CELLS_AT_ONCE = 2**20


class CountingQuantifier(Quantifier):
    """A quantifier that sees a sample only through counts.

    A subclass says how rows become counts (`_tally`) and how counts become estimates
    (`_estimate`), both for many groups at once.

    Attributes
    ----------
    hash_ : str
        Content hash of what was learned. Counts carry it, so that no other model can use them.
    """

    n_jobs: int | None
    hash_: str

    LEARNED: ClassVar[Mapping[str, Field]] = {"hash_": Digest()}

    def check_learned(self) -> None:
        """Raise ValueError unless what was learned fits together, and is what the hash says."""
        super().check_learned()
        expected = self._recomputed_hash()
        require(expected in (None, self.hash_), "its content is not what its hash says.")

    @abstractmethod
    def _recomputed_hash(self) -> str | None:
        """Content hash of what was learned; None if it cannot be had without the positives."""

    def count(self, sample: Any, *, weights: Any = None) -> Counts:
        """Count the rows of a sample in each cell; counts of batches add up.

        An empty batch gives counts of zero.

        Parameters
        ----------
        sample : array or frame
            Unlabeled rows.
        weights : array-like or str, optional
            Weight of each row, or the column of the frame that has it: finite numbers of at least
            0, which are rounded to multiples of 2^-20.
        """
        return cast(Counts, BatchCounter(self, (), weights).count(sample))

    def count_by(
        self, frame: Any, by: str | Sequence[str], *, weights: Any = None
    ) -> GroupedCounts:
        """Count the rows of each group of a frame; `weights` are as in `count`.

        Groups in which all weights are 0 are left out.
        """
        return cast(GroupedCounts, BatchCounter(self, require_grouping(by), weights).count(frame))

    def quantify(self, sample: Any, *, weights: Any = None) -> Prevalence:
        """Estimate the share of positives in a sample.

        Parameters
        ----------
        sample : array or frame
            Unlabeled rows. The columns of a frame are chosen by name; others are ignored.
        weights : array-like or str, optional
            Weight of each row, or the column of the frame that has it. If all weights are whole
            numbers, they are numbers of repetitions, and the answer is that of the repeated rows.
            Otherwise they are survey weights: the interval is that of as many rows as
            ``details["effective_rows"]`` says, and `Prevalence.count` adds up weights.

        Examples
        --------
        >>> import numpy as np
        >>> from poscount import PAT
        >>> rng = np.random.default_rng(1)
        >>> model = PAT(random_state=0).fit(rng.normal(size=(500, 2)))
        >>> sample = np.vstack([rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 9])
        >>> model.quantify(sample)
        Prevalence(0.490, 95% interval [0.418, 0.601], n=400, PAT)
        >>> p = model.quantify(sample, weights=np.repeat([0.5, 1.5], 200))
        >>> p, p.details["effective_rows"]
        (Prevalence(0.245, 95% interval [0.183, 0.321], n=400, PAT), 320.0)
        """
        if weights is None:
            return super().quantify(sample)
        return self.estimate(self.count(sample, weights=weights))

    def estimate(self, counts: Counts) -> Prevalence:
        """Turn counts into a prevalence, the same as `quantify` gives for the rows counted."""
        cells = self._checked_cells(counts)
        if counts.weights is not None and counts.n == 0:
            raise InputError("No row has a weight above 0: at least one must count.")
        require_rows(counts.n, "These counts have")
        weights = None if counts.weights is None else [counts.weights]
        (answer,) = self._prevalences(cells, np.array([counts.n]), weights)
        return _with_skipped([answer], counts.skipped)[0]

    def estimate_by(self, counts: GroupedCounts) -> list[Prevalence]:
        """Turn the counts of groups into prevalences, in the order of ``counts.keys``."""
        answers = self._prevalences(self._checked_cells(counts), counts.n, counts.weights)
        return _with_skipped(answers, counts.skipped)

    def posterior(self, sample: Any) -> np.ndarray:
        """Probability that each row of a sample is positive.

        All rows of a cell have the same probability, min(1, s share_L / share_U), with the shares
        of the positives and of the sample in the cell, and s such that the mean over the sample is
        the estimated prevalence. The cells are those along the score; RCQ's are its score cells
        crossed with four clusters.

        Returns
        -------
        ndarray of shape (n_rows,)
            Values in [0, 1].

        Warns
        -----
        UserWarning
            If the mean cannot reach the prevalence, because too few rows lie where positives do.
        """
        rows = self._sample(sample, allow_empty=False)
        places, shares = self._places(rows), self._posterior_shares
        counted = np.bincount(places, minlength=len(shares)) / len(rows)
        return posterior_of_cells(shares, counted, float(self._quantify(rows)))[places]

    def posterior_places(self, sample: Any) -> np.ndarray:
        """Cell of each row of a sample, among the cells of `cell_posterior`.

        Together they give the posterior of rows that do not fit into memory: a first pass counts,
        a second one looks the probability of each row up.

        Examples
        --------
        >>> import numpy as np
        >>> from poscount import PAT
        >>> rng = np.random.default_rng(1)
        >>> model = PAT(random_state=0).fit(rng.normal(size=(500, 2)))
        >>> batches = [rng.normal(size=(300, 2)), rng.normal(size=(700, 2)) + 9]
        >>> of_cells = model.cell_posterior(sum(model.count(batch) for batch in batches))
        >>> one, other = (of_cells.probability[model.posterior_places(b)] for b in batches)
        >>> bool(one.mean() > 0.6), bool(other.mean() < 0.2)
        (True, True)
        """
        return self._places(self._sample(sample))

    def scores(self, sample: Any) -> np.ndarray:
        """Score of each row of a sample: the higher, the more it looks like the positives."""
        with one_blas_thread():
            scores = [self._scores(block) for block in self._sample(sample).blocks()]
        return np.concatenate([np.empty(0), *scores])

    def cell_posterior(self, counts: Counts) -> CellPosterior:
        """Probability that the rows of each cell are positive, as in `posterior`.

        If the mean over the sample cannot reach the prevalence, it is as large as it can be.
        """
        prevalence = self.estimate(counts)
        rows = self._posterior_rows(self._checked_cells(counts))[0]
        shares = self._posterior_shares
        value, in_sample = float(prevalence), rows / rows.sum()
        probability, _ = nearest_posterior(shares, in_sample, value)
        return CellPosterior(rows, shares, probability, prevalence)

    def _places(self, rows: Rows) -> np.ndarray:
        places = [self._posterior_places(block) for block in rows.blocks()]
        return np.concatenate([np.empty(0, np.intp), *places])

    def rows_of(self, *counts: Counts) -> tuple[np.ndarray, np.ndarray]:
        """Rows in the cells of samples, a line each, and all rows; effective ones with weights."""
        lines = []
        for each in counts:
            line = self._checked_cells(each), np.array([each.n])
            weights = each.weights
            lines.append(line if weights is None else self._effective(*line, [weights]))
        cells, n_rows = zip(*lines, strict=True)
        return np.concatenate(cells), np.concatenate(n_rows)

    def rows_along_score(self, *counts: Counts) -> tuple[np.ndarray, np.ndarray]:
        """Rows in the cells along the score of samples, a line each, and all rows."""
        cells, n_rows = self.rows_of(*counts)
        return self._score_cells(cells), n_rows

    def _checked_cells(self, counts: Counts | GroupedCounts) -> np.ndarray:
        """Cells of counts, a line for each group, that this model can have counted."""
        check_is_fitted(self)
        if counts.model != self.hash_:
            raise InputError(
                f"These counts were made by another model ({counts.model[:12]}) than this one "
                f"({self.hash_[:12]}): count again with this model."
            )
        cells = np.atleast_2d(counts.cells)
        lacking = self._n_cells - cells.shape[1]
        if lacking not in (0, self._n_gap_cells):
            raise InputError(
                f"These counts have {cells.shape[1]} cells, and this model has {self._n_cells}: "
                "they are damaged; count again."
            )
        # Older files have no cells of gaps, because none of their rows had any.
        cells = np.pad(cells, ((0, 0), (0, lacking)))
        weights = [counts.weights] if isinstance(counts, Counts) else counts.weights
        n_rows = np.atleast_1d(counts.n)
        sums = [each for each in weights or () if each is not None]
        totals = np.array([each.total for each in sums], np.int64) if sums else n_rows
        possible = cells.min(initial=0) >= 0 and self._could_count(cells, totals)
        if possible and sums:
            each_core = zip(sums, n_rows.tolist(), self._in_core(cells).tolist(), strict=True)
            possible = all(each.core_could_be_of(n, core) for each, n, core in each_core)
        if not possible:
            raise InputError(
                "These counts contradict themselves, because their cells do not add up to their "
                "number of rows: they are damaged; count again."
            )
        return cells

    @abstractmethod
    def _could_count(self, cells: np.ndarray, totals: np.ndarray) -> bool:
        """Whether there can be rows with these counts.

        Parameters
        ----------
        cells : ndarray of int64, shape (n_groups, n_cells)
        totals : ndarray of int64, shape (n_groups,)
            Number of rows, or their weight in units.
        """

    def _in_core(self, cells: np.ndarray) -> np.ndarray:
        return self._score_cells(cells)[:, self._first_core_cell :].sum(axis=1)

    def _prevalences(
        self, cells: np.ndarray, n_rows: np.ndarray, weights: Sequence[WeightSums] | None = None
    ) -> list[Prevalence]:
        wrap, cells, rows = self._wrapping(cells, n_rows, weights)
        return [wrap(i, estimate) for i, estimate in enumerate(self._estimate(cells, rows))]

    def _wrapping(
        self, cells: np.ndarray, n_rows: np.ndarray, weights: Sequence[WeightSums] | None
    ) -> tuple[Callable[[int, Estimate], Prevalence], np.ndarray, np.ndarray]:
        """How to make the answer for each group of its estimate, and what to estimate from.

        That is the rows per cell, and all rows, of each group; with weights, effective ones.
        """
        given = n_rows.tolist()
        if weights is None:
            return lambda i, estimate: self._prevalence(estimate, given[i]), cells, n_rows
        _require_fine_weights(weights, n_rows)
        rows, n_effective = self._effective(cells, n_rows, weights)
        worth = n_effective.tolist()

        def wrap(i: int, estimate: Estimate) -> Prevalence:
            return self._weighted_prevalence(estimate, given[i], worth[i], weights[i])

        return wrap, rows, n_effective

    def _weighted_prevalence(
        self, estimate: Estimate, n_rows: int, n_effective: float, sums: WeightSums
    ) -> Prevalence:
        if sums.whole:
            return self._prevalence(estimate, int(n_effective))
        details = {**estimate.details, "effective_rows": n_effective}
        return self._prevalence(estimate._replace(details=details), n_rows, sums.weight)

    def _effective(
        self, cells: np.ndarray, n_rows: np.ndarray, weights: Sequence[WeightSums]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows per cell, and all rows, that the weighted rows of groups are worth."""
        return effective(cells, n_rows, weights, self._in_core(cells))

    def _quantify(self, rows: Rows) -> Prevalence:
        return self._prevalences(self._count(rows, None, 1), np.array([len(rows)]))[0]

    def _quantify_groups(
        self, frame: nw.DataFrame, codes: np.ndarray, n_groups: int
    ) -> list[Prevalence]:
        cells = self._count(self._sample(frame), codes, n_groups)
        return self._prevalences(cells, np.bincount(codes, minlength=n_groups))

    def _answers_by_group(
        self, frame: Any, by: str | Sequence[str], weights: Any
    ) -> tuple[nw.DataFrame, list[Prevalence]]:
        if weights is None:
            return super()._answers_by_group(frame, by, None)
        groups, counts = BatchCounter(self, require_grouping(by), weights).count_groups(frame)
        require_rows(len(counts))
        return groups, self.estimate_by(counts)

    def _columns_by_group(
        self, frame: Any, by: str | Sequence[str], weights: Any
    ) -> tuple[nw.DataFrame, dict[str, Any]]:
        if weights is not None:
            return super()._columns_by_group(frame, by, weights)
        wrapped = as_frame_with_names(frame)
        groups, codes = group_codes(wrapped, require_grouping(by))
        require_rows(len(groups))
        rows = self._sample(wrapped)
        n_rows = np.bincount(codes, minlength=len(groups))
        found: dict[int, dict[str, Any]] = {}
        counted = self._cells_of_groups(rows, codes, n_rows)
        lock = threading.Lock()

        stopped = threading.Event()

        def work(_: int) -> None:
            try:
                while not stopped.is_set():
                    with lock:
                        first, cells = next(counted, (0, None))
                    if cells is None:
                        return
                    of_part = n_rows[first : first + len(cells)]
                    estimates = self._estimate_some(cells, of_part, len(groups))
                    found[first] = self._columns_of(estimates, of_part)
            except BaseException:
                # Ctrl-C, for example: the others are not to go on.
                stopped.set()
                raise

        n_parts = -(-len(groups) // self._groups_at_once)
        try:
            run_in_threads(work, max(min(effective_n_jobs(self.n_jobs), n_parts), 1))
        except InputError:
            # Rows that were put in the order of their groups do not know where they stood.
            for _ in rows.blocks():
                pass
            raise
        parts = [found[first] for first in sorted(found)]
        return groups, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _cells_of_groups(
        self, rows: Rows, codes: np.ndarray, n_rows: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray | None]]:
        """The first of some groups, and their counts, of all groups one after the other."""
        n_groups, at_once = len(n_rows), self._groups_at_once
        n_counted = n_groups
        if n_groups * self._n_cells > _CELLS_IN_ONE_PASS:
            n_counted = max(at_once, _CELLS_AT_ONCE // self._n_cells)
            order = np.argsort(codes, kind="stable")
            ends = np.concatenate([[0], np.cumsum(n_rows)])
        for first in range(0, n_groups, n_counted):
            n = min(n_counted, n_groups - first)
            if n == n_groups:
                cells = self._count(rows, codes, n_groups)
            else:
                chosen = order[ends[first] : ends[first + n]]
                cells = self._count(rows.take(chosen), codes[chosen] - first, n)
            for start in range(0, n, at_once):
                yield first + start, cells[start : start + at_once]

    def _columns_of(self, estimates: Sequence[Estimate], n_rows: np.ndarray) -> dict[str, Any]:
        if isinstance(estimates, Estimates):
            return estimates.columns(n_rows)
        pairs = zip(estimates, n_rows.tolist(), strict=True)
        return as_columns([self._prevalence(estimate, n) for estimate, n in pairs])

    def _count(
        self,
        rows: Rows,
        codes: np.ndarray | None,
        n_groups: int,
        weights: np.ndarray | None = None,
        core: np.ndarray | None = None,
    ) -> np.ndarray:
        """Count rows; if `core` is given, it is told which rows are in the core."""

        def tally(start: int, stop: int, counted: np.ndarray) -> None:
            groups, units = (
                None if values is None else values[start:stop] for values in (codes, weights)
            )
            places = self._tally(rows.block(start, stop), groups, units, counted)
            if core is not None:
                core[start:stop] = places >= self._first_core_cell

        shape, n_workers = (n_groups, self._n_cells), effective_n_jobs(self.n_jobs)
        return sum_over_blocks(tally, shape, len(rows), BLOCK_ROWS, n_workers)

    @property
    @abstractmethod
    def _n_cells(self) -> int: ...

    @property
    def _n_gap_cells(self) -> int:
        """Cells, the last ones, that count missing values and words that no positive has."""
        return 0

    @abstractmethod
    def _tally(
        self,
        block: Any,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
        counted: np.ndarray,
    ) -> np.ndarray:
        """Add the rows of a block to `counted`, an int64 array of shape (n_groups, n_cells).

        A row counts 1, or its weight, which is a whole number of units. The place of each row
        among the cells along the score is returned.
        """

    @property
    @abstractmethod
    def _first_core_cell(self) -> int:
        """The first of the cells along the score that are in the core of the positives."""

    @abstractmethod
    def _score_cells(self, cells: np.ndarray) -> np.ndarray:
        """Those of the cells, of shape (n_groups, n_cells), that lie along the score."""

    @property
    @abstractmethod
    def _posterior_shares(self) -> np.ndarray:
        """Share of the positives in each of the cells in which rows have one posterior."""

    @abstractmethod
    def _scores(self, block: Any) -> np.ndarray:
        """Score of each row of a block."""

    @abstractmethod
    def _posterior_places(self, block: Any) -> np.ndarray:
        """Place of each row of a block among these cells."""

    @abstractmethod
    def _posterior_rows(self, cells: np.ndarray) -> np.ndarray:
        """Rows in each of these cells, from counts of shape (n_groups, n_cells)."""

    @abstractmethod
    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> Sequence[Estimate]:
        """Turn counts of shape (n_groups, n_cells) into estimates."""

    def _estimate_some(
        self, cells: np.ndarray, n_rows: np.ndarray, n_groups: int
    ) -> Sequence[Estimate]:
        """Do as `_estimate`, for some of so many groups."""
        return self._estimate(cells, n_rows)

    @property
    def _groups_at_once(self) -> int:
        """Number of groups whose estimates are made together."""
        return 2**14


class BatchCounter:
    """Counts batches of rows with a fitted model, which is checked once and not for every batch.

    Parameters
    ----------
    model : CountingQuantifier
    by : str or sequence of str
        Grouping columns, if there are any.
    weights : str or array-like, optional
        Column of weights; or the weights themselves, if there is a single batch.
    """

    def __init__(
        self, model: CountingQuantifier, by: str | Sequence[str] = (), weights: Any = None
    ) -> None:
        check_is_fitted(model)
        self.model = model
        self.by = column_names(by)
        self.weights = weights
        self._accepts = model._input_support()

    @property
    def other_columns(self) -> list[str]:
        """Columns that are needed besides the features: those of the groups and the weights."""
        return [*self.by, *self.weight_columns]

    @property
    def weight_columns(self) -> list[str]:
        """The column of the weights, if there is one."""
        return [] if self.weights is None else [self.weights]

    @property
    def numeric_columns(self) -> list[str]:
        """Columns to be read as numbers from a file without types."""
        return [*self.model.numeric_features_, *self.weight_columns]

    def count(self, batch: Any) -> Counts | GroupedCounts:
        """Count the rows of a batch, of each group if there are grouping columns."""
        if self.by:
            return self.count_groups(batch)[1]
        return self.counts_of([()], *self.count_codes(batch, None, 1))

    def count_groups(self, batch: Any) -> tuple[nw.DataFrame, GroupedCounts]:
        """Groups of a batch whose weights are not all 0, and their counts."""
        frame = as_frame_with_names(batch)
        groups, codes = group_codes(frame, self.by)
        counted = self.count_codes(frame, codes, len(groups))
        counts = cast(GroupedCounts, self.counts_of(group_keys(groups), *counted))
        if counts.n.all():
            return groups, counts
        return groups.filter((counts.n > 0).tolist()), counts.with_rows()

    def count_codes(
        self, batch: Any, codes: np.ndarray | None, n_groups: int
    ) -> tuple[np.ndarray, np.ndarray, list[WeightSums] | None]:
        """Count the rows of groups that are numbers, from 0 to `n_groups` - 1.

        Returns
        -------
        cells : ndarray of int64, shape (n_groups, n_cells)
        n_rows : ndarray of int64, shape (n_groups,)
        weights : list of WeightSums, or None
        """
        rows = sample_rows(self.model, batch, self._accepts)
        units = row_weights(as_frame(batch), self.weights, len(rows))
        if units is None:
            cells = self.model._count(rows, codes, n_groups)
            n_rows = [len(rows)] if codes is None else np.bincount(codes, minlength=n_groups)
            return cells, np.asarray(n_rows), None
        core = np.zeros(len(rows), bool)
        cells = self.model._count(rows, codes, n_groups, units, core)
        groups = np.zeros(len(rows), np.intp) if codes is None else codes
        n_rows = np.bincount(groups[units > 0], minlength=n_groups)
        return cells, n_rows, add_weights(units, core, codes, n_groups)

    def counts_of(
        self,
        keys: list[tuple],
        cells: np.ndarray,
        n_rows: np.ndarray,
        weights: list[WeightSums] | None = None,
    ) -> Counts | GroupedCounts:
        """Make counts of cells, one row of them for each group."""
        model = self.model.hash_
        if self.by:
            return GroupedCounts(self.by, keys, cells, n_rows, model, weights=weights)
        sums = None if weights is None else weights[0]
        return Counts(cells[0], int(n_rows[0]), model, weights=sums)

    @property
    def n_cells(self) -> int:
        """Number of cells of the model."""
        return self.model._n_cells


def _with_skipped(answers: list[Prevalence], skipped: Sequence[Skipped]) -> list[Prevalence]:
    """Warn of the files that are not part of the answers."""
    if not skipped:
        return answers
    caution = Caution(
        "skipped-files",
        f"{len(skipped)} file(s) could not be counted and are not part of this estimate: "
        f"{join_names(file for file, _ in skipped)}.",
        float(len(skipped)),
    )
    return [answer.with_warning(caution) for answer in answers]


def _require_fine_weights(weights: Sequence[WeightSums], n_rows: np.ndarray) -> None:
    """Refuse survey weights that rounding to units has changed too much."""
    for sums, n in zip(weights, n_rows.tolist(), strict=True):
        if not sums.whole and sums.weight < n * SMALLEST_MEAN:
            raise InputError(
                f"The mean weight is about {sums.weight / n:.1g}, but weights are counted in "
                "multiples of 2^-20, which is too coarse for it: multiply all weights by the same "
                "number, such as the number of rows over their sum, and count again."
            )
