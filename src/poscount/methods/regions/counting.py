"""Counting rows for RCQ: one pass over stacks of rows that fit into the cache."""

from __future__ import annotations

import numpy as np

from poscount import compiling
from poscount.counts.missing_counts import add_to, count_different
from poscount.methods.regions import counting_kernel
from poscount.methods.regions.counting_numpy import (
    CountingPlan,
    CountingTarget,
    NumpyCounting,
    bins_of,
)
from poscount.methods.regions.learned_score import LearnedScore
from poscount.scorers import Mahalanobis
from poscount.scorers.products import STACK_NUMBERS, Multiplier, along_rows, put_rows, stacks

# How much longer numpy takes for rows that have groups or weights.
COST_OF_GROUPS = 4


class RegionCounting:
    """Counts rows by score cell and bin, and what lies outside; finds the bins of single rows.

    Parameters
    ----------
    plan : CountingPlan
    scorer : Mahalanobis
    directions : ndarray of shape (n_design_columns, n_clusters)
        By which rows are multiplied to find the nearest cluster.
    learned_score : LearnedScore or None
        Whose bins are the last columns of the table.
    """

    def __init__(
        self,
        plan: CountingPlan,
        scorer: Mahalanobis,
        directions: np.ndarray,
        learned_score: LearnedScore | None = None,
    ) -> None:
        self.plan = plan
        self.scorer = scorer
        self.directions = directions
        self.learned_score = learned_score

    def add(
        self,
        block: np.ndarray,
        starts: np.ndarray | None,
        weights: np.ndarray | None,
        out: np.ndarray,
    ) -> np.ndarray:
        """Add the rows of a block to counts.

        Parameters
        ----------
        block : ndarray of shape (n_rows, n_table_columns)
            Codes.
        starts : ndarray of int64, shape (n_rows,), or None
            Where the counts of each row's group start in `out`; None for one group.
        weights : ndarray of int64, shape (n_rows,), or None
            What each row counts; 1 if None.
        out : ndarray of int64
            Counts, which are added to.

        Returns
        -------
        ndarray of int64, shape (n_rows,)
            PAT cell of each row.
        """
        between = np.empty(len(block), np.int64)
        work = block.size * (1 if starts is None and weights is None else COST_OF_GROUPS)
        way = CompiledCounting if compiling.worth_compiling(work) else NumpyCounting
        design = self.plan.columns.design(block)
        # Only numbers without gaps are scored as they are.
        complete = design is block
        target = CountingTarget(starts, weights, out, between, complete)
        counting = way(self.plan, target)
        score_stack = self.scorer.stack_scorer()
        multiply = Multiplier(self.directions)
        different = self.plan.columns.constants_.differ(block)
        count_different(different, starts, out[self.plan.different_cell :], weights)
        memory = None
        # Half of what others have, because there is twice as much besides the stack.
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, stack in stacks(design, numbers=STACK_NUMBERS // 2):
                if memory is None:
                    memory = np.zeros((len(stack), block.shape[1], stack.shape[2]))
                other = memory[: len(stack)]
                # Bins are found by what the codes are before they are centred.
                codes, centred = (stack, other) if complete else (other, stack)
                if not complete:
                    put_rows(block[rows], codes)
                scores = score_stack(stack, centred)
                if different is not None:
                    along_rows(scores, rows.stop - rows.start)[different[rows]] = -np.inf
                counting.add(rows, codes, scores, multiply(centred))
        if self.learned_score is not None:
            entries = self.plan.score_cells[between] * self.plan.n_columns + self.plan.n_plain
            entries += self.learned_score.bins(block, self.plan.columns)
            add_to(out, entries if starts is None else entries + starts, weights)
        return self.plan.pat_cells[between]

    def bins(self, block: np.ndarray) -> np.ndarray:
        """Bins of rows in all partitions: uint8, shape (n_partitions, n_rows)."""
        design = self.plan.columns.design(block)
        multiply = Multiplier(self.directions)
        location = self.scorer.location_[:, np.newaxis]
        found = [np.empty((len(self.plan.offsets), 0), np.uint8)]
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, stack in stacks(design):
                stack -= location
                nearness = multiply(stack)
                codes = np.ascontiguousarray(block[rows].T, dtype=np.float64)
                n_clusters, n_rows = nearness.shape[1], codes.shape[1]
                together = nearness.transpose(1, 0, 2).reshape(n_clusters, -1)[:, :n_rows]
                gaps = bool(np.isnan(np.sum(codes)))
                found.append(bins_of(self.plan, codes, together, gaps))
        bins = np.concatenate(found, axis=1)
        if self.learned_score is None:
            return bins
        return np.vstack([bins, self.learned_score.bins(block, self.plan.columns)])


class CompiledCounting:
    """As `NumpyCounting`, in machine code."""

    def __init__(self, plan: CountingPlan, target: CountingTarget) -> None:
        self._kernel = compiling.compiled(
            counting_kernel.count_stack, counting_kernel.SIGNATURE, counting_kernel.INTEGERS
        )
        self._target = target
        # joblib may have mapped a model's arrays, which are then not writable, and the kernel is
        # compiled for those that are.
        self._of_plan = tuple(
            np.require(value, requirements="W") if isinstance(value, np.ndarray) else value
            for value in plan[: CountingPlan._fields.index("columns")]
        )
        kinds = (np.int64, np.int64, np.float64, np.uint8)
        self._work = tuple(np.empty(counting_kernel.AT_ONCE, kind) for kind in kinds)

    def add(self, rows: slice, codes: np.ndarray, scores: np.ndarray, nearness: np.ndarray) -> None:
        """Count the rows of a stack."""
        starts, weights, out, all_places, complete = self._target
        row_edges = all_places[rows]
        self._kernel(
            codes,
            len(row_edges),
            scores,
            nearness,
            # Whatever is not used has to be of the right type.
            row_edges if starts is None else starts[rows],
            starts is not None,
            row_edges if weights is None else weights[rows],
            weights is not None,
            complete,
            *self._of_plan,
            out,
            row_edges,
            *self._work,
        )
