"""Quantifiers that see a sample only through counts."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, cast

import narwhals as nw
import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from poscount.base.batch_counter import BatchCounter as BatchCounter
from poscount.base.batch_counter import Counted as Counted
from poscount.base.clustered import (
    estimate_clusters,
    estimate_clusters_by,
    quantify_clusters,
)
from poscount.base.quantifier import Quantifier
from poscount.counts.clusters import with_cluster
from poscount.counts.counts import Counts, GroupedCounts
from poscount.counts.posterior import CellPosterior, cell_posterior
from poscount.counts.weights import WeightSums, effective
from poscount.data.grouping import group_codes, require_grouping
from poscount.data.rows import BLOCK_ROWS, Rows
from poscount.data.validation import as_frame_with_names
from poscount.errors import InputError, require_rows
from poscount.results.estimates import Estimates
from poscount.results.prevalence import Prevalence, as_columns
from poscount.storage.model_files import content_hash
from poscount.storage.schema import Digest, Field, require
from poscount.threads import one_blas_thread, sum_over_blocks

# Up to so many cells, 64 MB, all groups are counted in one pass over the rows as they are.
_CELLS_IN_ONE_PASS = 2**23
# Otherwise rows are sorted, and so many cells counted at once, 8 MB, in memory that is used again.
_CELLS_AT_ONCE = 2**20

T = TypeVar("T")


class CountingQuantifier(Quantifier):
    """A quantifier that sees a sample only through counts.

    A subclass says how rows become counts (`_count_block`) and how counts become estimates
    (`_estimate`), both for many groups at once.

    Attributes
    ----------
    hash_ : str
        Hash of everything that decides an answer (`poscount.storage.model_files.content_hash`).
        Counts carry it, so that no other model can use them.
    """

    # Number of groups whose estimates are made together.
    _groups_at_once = 2**14

    n_jobs: int | None
    hash_: str

    LEARNED: ClassVar[Mapping[str, Field]] = {"hash_": Digest()}

    def check_learned(self) -> None:
        """Raise ValueError unless the hash, by which counts are known, is that of the content."""
        super().check_learned()
        require(
            self.hash_ == content_hash(self),
            "its content is not what its hash says; a model that was changed after it was fitted "
            "must be fitted again.",
        )

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

    def quantify(self, sample: Any, *, weights: Any = None, cluster: Any = None) -> Prevalence:
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
        cluster : array-like or str, optional
            Cluster of each row, such as its patient or trap, or the column that names it. The
            interval is then not for these rows alone but for the population that the clusters are
            from (`poscount.counts.clusters`). At least 10 clusters are needed.

        Examples
        --------
        >>> import numpy as np
        >>> from poscount import PAT
        >>> rng = np.random.default_rng(1)
        >>> model = PAT(random_state=0).fit(rng.normal(size=(500, 2)))
        >>> sample = np.vstack([rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) + 9])
        >>> model.quantify(sample)
        Prevalence(0.490, 95% interval [0.410, 0.585], n=400, PAT)
        >>> p = model.quantify(sample, weights=np.repeat([0.5, 1.5], 200))
        >>> p, p.details["effective_rows"]
        (Prevalence(0.245, 95% interval [0.184, 0.325], n=400, PAT), 320.0)
        """
        if cluster is not None:
            return quantify_clusters(self, sample, weights, cluster)
        if weights is None:
            return super().quantify(sample)
        answer = self.estimate(self.count(sample, weights=weights))
        return self._told_of_rows(self._sample(sample), answer)

    def estimate(self, counts: Counts | GroupedCounts, *, cluster: str | None = None) -> Prevalence:
        """Turn counts into a prevalence, the same as `quantify` gives for the rows counted.

        Parameters
        ----------
        counts : Counts or GroupedCounts
        cluster : str, optional
            The column of the clusters, as in `quantify`: the counts are those of each cluster, from
            `count_by` or `poscount.engines.count`.
        """
        if isinstance(counts, GroupedCounts):
            return estimate_clusters(self, counts, cluster)
        if cluster is not None:
            raise InputError("These counts are of all clusters together: count by the clusters.")
        counted = self._counted(counts)
        if counts.weights is not None and counts.n == 0:
            raise InputError("No row has a weight above 0: at least one must count.")
        require_rows(counts.n, "These counts have")
        return self._answers(counted)[0]

    def estimate_by(self, counts: GroupedCounts, *, cluster: str | None = None) -> list[Prevalence]:
        """Turn the counts of groups into prevalences, in the order of ``counts.keys``.

        If one of the grouping columns is that of a `cluster`, as in `quantify`, the groups are
        those of the others.
        """
        if cluster is not None:
            return estimate_clusters_by(self, counts, cluster)
        chunks = self._chunks(self._counted(counts))
        return [answer for part in chunks for answer in self._answers(part)]

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
        counts = Counts(self._count_rows(rows, None, 1)[0], len(rows), self.hash_)
        of_cells = self._cell_posterior(counts)
        posterior = of_cells.probability[self._posterior_cells_of(rows)]
        mean, value = float(posterior.mean()), float(of_cells.prevalence)
        if value > mean + 1e-9:
            warnings.warn(
                f"The mean posterior is {mean:.4f}, not the prevalence {value:.4f}, because only "
                "that share of the sample lies where positives do.",
                stacklevel=2,
            )
        return posterior

    # For the other rooms

    def _posterior_cells_of(self, rows: Rows) -> np.ndarray:
        """Cell of each row, among the cells of `_cell_posterior`.

        Together they give the posterior of rows that do not fit into memory: a first pass counts,
        a second one looks the probability of each row up.
        """
        cells = [self._posterior_cells(block) for block in rows.blocks()]
        return np.concatenate([np.empty(0, np.intp), *cells])

    def _cell_posterior(self, counts: Counts) -> CellPosterior:
        """Probability that the rows of each cell are positive, as in `posterior`.

        If the mean over the sample cannot reach the prevalence, it is as large as it can be.
        """
        prevalence = self.estimate(counts)
        rows = self._posterior_rows(self._counted(counts).cells)[0]
        return cell_posterior(rows, self._posterior_shares, prevalence)

    def _scores_of(self, rows: Rows) -> np.ndarray:
        """Score of each row: the higher, the more it looks like the positives."""
        with one_blas_thread():
            scores = [self._scores(block) for block in rows.blocks()]
        return np.concatenate([np.empty(0), *scores])

    def _rows_of(self, *counts: Counts) -> tuple[np.ndarray, np.ndarray]:
        """Rows in the cells of samples, a line each, and all rows; effective ones with weights."""
        lines = [self._effective(self._counted(each)) for each in counts]
        cells, n_rows = zip(*lines, strict=True)
        return np.concatenate(cells), np.concatenate(n_rows)

    # From counts to answers

    def _counted(self, counts: Counts | GroupedCounts) -> Counted:
        """Counts with a line for each group, which this model must have made."""
        check_is_fitted(self)
        if counts.model != self.hash_:
            raise InputError(
                f"These counts were made by another model ({counts.model[:12]}) than this one "
                f"({self.hash_[:12]}): count again with this model."
            )
        cells, n_rows = np.atleast_2d(counts.cells), np.atleast_1d(counts.n)
        if cells.shape[1] != self._n_cells:
            raise InputError(
                f"These counts have {cells.shape[1]} cells, and this model has {self._n_cells}: "
                "they are damaged; count again."
            )
        weights = counts.weights
        if isinstance(weights, WeightSums):
            weights = [weights]
        totals = n_rows if weights is None else [sums.total for sums in weights]
        if (self._score_cells(cells).sum(axis=1) != totals).any():
            raise InputError(
                "These counts contradict themselves, because their cells do not add up to their "
                "number of rows: they are damaged; count again."
            )
        return Counted(cells, n_rows, weights)

    def _answers(self, counted: Counted) -> list[Any]:
        """Answers for some groups."""
        cells, n_rows = self._effective(counted)
        return self._make_answers(self._estimate(cells, n_rows), counted, n_rows)

    def _make_answers(self, estimates: Any, counted: Counted, n_effective: np.ndarray) -> list[Any]:
        given, weights = counted.n_rows.tolist(), counted.weights
        if weights is None:
            return [self._prevalence(estimates, i, n) for i, n in enumerate(given)]
        return [
            self._prevalence(estimates, i, int(n_effective[i]))
            if sums.whole
            else self._prevalence(
                estimates, i, n, sums.weight, {"effective_rows": n_effective[i].item()}
            )
            for i, (n, sums) in enumerate(zip(given, weights, strict=True))
        ]

    def _columns(self, counted: Counted) -> dict[str, Any]:
        """The columns of a table with a line for each of some groups."""
        if counted.weights is not None:
            return as_columns(self._answers(counted))
        estimates, n_rows = self._estimate(*counted[:2]), counted.n_rows
        low, high = estimates.ends
        return {
            "prevalence": estimates.value,
            "low": low,
            "high": high,
            "count": estimates.value * n_rows,
            "n": n_rows,
            "verdict": estimates.warnings.statuses(),  # type: ignore[union-attr]
            "warnings": estimates.warnings.codes(),  # type: ignore[union-attr]
        }

    def _effective(self, counted: Counted) -> tuple[np.ndarray, np.ndarray]:
        """Rows per cell, and all rows; with weights, those that they are worth."""
        cells, n_rows, weights = counted
        if weights is None:
            return cells, n_rows
        in_core = self._score_cells(cells)[:, self._first_core_cell :].sum(axis=1)
        return effective(cells, n_rows, weights, in_core)

    def _quantify(self, rows: Rows) -> Prevalence:
        cells = self._count_rows(rows, None, 1)
        return self._answers(Counted(cells, np.array([len(rows)])))[0]

    # Groups

    def _columns_by_group(
        self, frame: Any, by: str | Sequence[str], weights: Any
    ) -> tuple[nw.DataFrame, Mapping[str, Any]]:
        groups, parts = self._by_group(frame, by, weights, self._columns)
        return groups, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _answers_by_group(
        self, frame: Any, by: str | Sequence[str], weights: Any
    ) -> tuple[nw.DataFrame, list[Any]]:
        groups, parts = self._by_group(frame, by, weights, self._answers)
        return groups, [answer for part in parts for answer in part]

    def _answers_and_total(
        self, frame: Any, by: str | Sequence[str], weights: Any
    ) -> tuple[nw.DataFrame, list[Any], Any]:
        sums = []

        def make(part: Counted) -> list[Any]:
            sums.append(Counted.together([part]))
            return self._answers(part)

        groups, parts = self._by_group(frame, by, weights, make)
        (total,) = self._answers(Counted.together(sums))
        total = self._told_of_rows(self._sample(frame), total)
        return groups, [answer for part in parts for answer in part], total

    def _answers_of_clusters(
        self, frame: Any, by: str | Sequence[str], weights: Any, cluster: str
    ) -> tuple[nw.DataFrame, list[Any], Any]:
        names = require_grouping(by)
        both = with_cluster(names, cluster)
        lines, counts = BatchCounter(self, both, weights).count_groups(frame)
        require_rows(len(counts))
        first = [of_group[0] for of_group in counts.lines_by(names).values()]
        groups = nw.maybe_reset_index(lines[first].select(names))
        answers = self.estimate_by(counts, cluster=cluster)
        total = self.estimate(counts, cluster=cluster)
        return groups, answers, self._told_of_rows(self._sample(frame), total)

    def _by_group(
        self,
        frame: Any,
        by: str | Sequence[str],
        weights: Any,
        make: Callable[[Counted], T],
    ) -> tuple[nw.DataFrame, list[T]]:
        """Groups of a frame, and what `make` makes of the counts of some of them after the others.

        Groups are counted one after the other, and their answers made in threads.
        """
        if weights is not None:
            groups, counts = BatchCounter(self, require_grouping(by), weights).count_groups(frame)
            require_rows(len(counts))
            chunks = self._chunks(Counted(counts.cells, counts.n, counts.weights))
            return groups, [make(part) for part in chunks]
        wrapped = as_frame_with_names(frame)
        groups, codes = group_codes(wrapped, self._grouping(by))
        require_rows(len(groups))
        rows = self._sample(wrapped)
        parts = self._count_groups(rows, codes, len(groups))
        n_parts = -(-len(groups) // self._groups_at_once)
        n_workers = max(min(effective_n_jobs(self.n_jobs), n_parts), 1)
        # One part for each thread is in memory.
        answers = Parallel(n_workers, backend="threading", pre_dispatch="n_jobs")
        try:
            with one_blas_thread():
                return groups, answers(delayed(make)(part) for part in parts)
        except InputError:
            # Rows that were put in the order of their groups do not know where they stood.
            for _ in rows.blocks():
                pass
            raise

    def _chunks(self, counted: Counted) -> Iterator[Counted]:
        for start in range(0, len(counted.cells), self._groups_at_once):
            yield counted.part(slice(start, start + self._groups_at_once))

    def _count_groups(self, rows: Rows, codes: np.ndarray, n_groups: int) -> Iterator[Counted]:
        """Counts of some groups after the others."""
        n_rows = np.bincount(codes, minlength=n_groups)
        if n_groups * self._n_cells <= _CELLS_IN_ONE_PASS:
            yield from self._chunks(Counted(self._count_rows(rows, codes, n_groups), n_rows))
            return
        at_once = max(self._groups_at_once, _CELLS_AT_ONCE // self._n_cells)
        order = np.argsort(codes, kind="stable")
        ends = np.concatenate([[0], np.cumsum(n_rows)])
        for first in range(0, n_groups, at_once):
            n = min(at_once, n_groups - first)
            chosen = order[ends[first] : ends[first + n]]
            cells = self._count_rows(rows.take(chosen), codes[chosen] - first, n)
            yield from self._chunks(Counted(cells, n_rows[first : first + n]))

    def _count_rows(
        self,
        rows: Rows,
        codes: np.ndarray | None,
        n_groups: int,
        weights: np.ndarray | None = None,
        core: np.ndarray | None = None,
    ) -> np.ndarray:
        """Count rows; if `core` is given, it becomes which rows are in the core."""

        def count(start: int, stop: int, counted: np.ndarray) -> None:
            groups, units = (
                None if values is None else values[start:stop] for values in (codes, weights)
            )
            score_cells = self._count_block(counted, rows.block(start, stop), groups, units)
            if core is not None:
                core[start:stop] = score_cells >= self._first_core_cell

        shape, n_workers = (n_groups, self._n_cells), effective_n_jobs(self.n_jobs)
        return sum_over_blocks(count, shape, len(rows), BLOCK_ROWS, n_workers)

    # What a method defines

    @property
    @abstractmethod
    def _n_cells(self) -> int: ...

    @abstractmethod
    def _count_block(
        self,
        counted: np.ndarray,
        block: Any,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
    ) -> np.ndarray:
        """Add the rows of a block to `counted`, an int64 array of shape (n_groups, n_cells).

        A row counts 1, or its weight, which is a whole number of units. The cell of each row along
        the score is returned.
        """

    _first_core_cell: int
    """The first of the cells along the score that are in the core of the positives."""

    _core_share: float
    """Share of the positives in their core."""

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
    def _posterior_cells(self, block: Any) -> np.ndarray:
        """Cell of each row of a block, among these."""

    @abstractmethod
    def _posterior_rows(self, cells: np.ndarray) -> np.ndarray:
        """Rows in each of these cells, from counts of shape (n_groups, n_cells)."""

    @abstractmethod
    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> Estimates:
        """Turn counts of shape (n_samples, n_cells) into estimates."""
