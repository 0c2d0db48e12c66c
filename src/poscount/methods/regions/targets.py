r"""Regions of several labelled groups of rows at once, and what they say about a sample together.

Each group k (a target, or a kind of known negatives) has regions of its own, as in RCQ, in a space
that has the log odds of all groups (`poscount.methods.regions.discriminant`) as further columns: so
there are regions where a group is common and the others are rare. In every region g

.. math:: share_U(g) = \sum_j p_j \, share_j(g) + rest(g), \qquad rest(g) \ge 0

with the shares of the labelled groups known and the rest unknown. Given the other p_j, what they
explain is subtracted from the counts, and RCQ's rule bounds p_k, with the noise of what was
subtracted in the bounds. Starting from the groups by themselves, that is repeated, each step
halfway to the new answers, which are scaled down where they add up to more than 1.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from poscount.checks.few_positives import FEWEST_POSITIVES
from poscount.data.columns import Columns
from poscount.errors import InputError
from poscount.methods.regions.discriminant import Discriminant
from poscount.methods.regions.layout import CORE, N_SCORE_CELLS
from poscount.methods.regions.part import RegionPart
from poscount.methods.regions.rule import RegionCounts
from poscount.methods.regions.view import PartView
from poscount.storage.schema import (
    Array,
    Field,
    ListOf,
    Part,
    Text,
    require,
    same_learned,
)

N_STEPS = 6


class TargetViews(NamedTuple):
    """Samples as the regions of all groups see them, and the shares that follow together.

    Attributes
    ----------
    alone : list of PartView
        Of each group, as rows were counted.
    left : list of PartView
        Of each group, without what the other groups explain.
    shares : ndarray of shape (n_samples, n_groups)
        Of each group, after the last step.
    outside : ndarray of shape (n_samples,)
        Share of the rows that score below the .25 quantile of every group.
    """

    alone: list[PartView]
    left: list[PartView]
    shares: np.ndarray
    outside: np.ndarray


class TargetRegions(BaseEstimator):
    """Counts rows in the regions of several groups, and finds the shares of all of them together.

    Attributes
    ----------
    columns_ : Columns
        Columns of the blocks that are counted.
    names_ : list of str
        Names of the groups.
    discriminant_ : Discriminant
    parts_ : list of RegionPart
        The regions of each group, in a space with the log odds as further columns.
    tables_ : list of ndarray of shape (n_groups, n_score_cells, n_columns)
        For each part, how many labelled rows of each group are in the cells of its table.
    sizes_ : ndarray of int, shape (n_groups,)
        Labelled rows of each group.
    outside_ : ndarray of shape (n_groups,)
        Share of each group's rows that score below the .25 quantile of every group.
    """

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "columns_": Part("Columns"),
        "names_": ListOf(Text(), "groups", distinct=True),
        "discriminant_": Part("Discriminant"),
        "parts_": ListOf(Part("RegionPart"), "groups"),
        "tables_": ListOf(Array("int64", ("groups", N_SCORE_CELLS, None), least=0), "groups"),
        "sizes_": Array("int64", ("groups",), least=1),
        "outside_": Array("float64", ("groups",), least=0, most=1),
    }

    def fit_codes(
        self,
        rows: np.ndarray,
        groups: np.ndarray,
        names: Sequence[str],
        columns: Columns,
        seed: int,
        option: str,
        *,
        projected: bool,
    ) -> Self:
        """Learn from the codes of labelled rows.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_columns)
            Codes.
        groups : ndarray of int, shape (n_rows,)
            Group of each row.
        names : sequence of str
            Of the groups, in an order that does not depend on the caller's.
        columns : Columns
            Of the rows.
        seed : int
        option : str
            The parameter that an error is about.
        projected : bool
            Whether the columns are sums of the table's, which are the same in all rows of a group
            by chance only.
        """
        self.columns_, self.names_ = columns, list(names)
        n = len(names)
        rows = np.asarray(rows, np.float64)
        for k, name in enumerate(names):
            if not (rows[groups == k] != rows[groups == k][0]).any():
                raise _too_much_alike(name, int(np.count_nonzero(groups == k)), option)
        design = np.ascontiguousarray(columns.design(rows))
        self.discriminant_ = Discriminant()
        odds = self.discriminant_.learn(design, groups, n, seed)
        extended = np.column_stack([rows, odds])
        of_groups = [extended[groups == k] for k in range(n)]
        self.parts_: list[RegionPart] = []
        for name, group in zip(names, of_groups, strict=True):
            known = self._extended_columns
            if not projected:
                known = known.of_group(group, n)
            part = RegionPart().fit_codes(group, known, seed, n_derived=n)
            if not part.rule.enough_positives:
                raise _too_much_alike(name, len(group), option)
            self.parts_.append(part)
        placed = [
            [part.binned_ if k == j else part.place(group) for j, group in enumerate(of_groups)]
            for k, part in enumerate(self.parts_)
        ]
        self.tables_ = [
            np.array([part.layout.tabulate(b[:, 0], b[:, 1:]) for b in of_part], np.int64)
            for part, of_part in zip(self.parts_, placed, strict=True)
        ]
        self.sizes_ = np.array([part.n_labeled_ for part in self.parts_])
        self.outside_ = np.array([self._share_outside(group) for group in of_groups])
        return self

    @property
    def _extended_columns(self) -> Columns:
        return self.columns_.with_numbers([f"log odds of {name}" for name in self.names_])

    def _share_outside(self, group: np.ndarray) -> float:
        counted = np.zeros((1, self.n_cells), np.int64)
        self._count_extended(counted, 0, group, None, None)
        return float(counted[0, -1] / len(group))

    def check_learned(self) -> None:
        """Raise ValueError unless every index is in range: files may hold anything."""
        n, extended = len(self.names_), self._extended_columns
        require(n > 1, "there is only one group.")
        for part, table in zip(self.parts_, self.tables_, strict=True):
            # A group may have constants of its own.
            same = same_learned(part.columns_.with_constants(extended.constants_), extended)
            require(same, "a group has other columns.")
            require(part.n_derived_ == n, "a group has other log odds.")
            require(part.rule.enough_positives, "a group has too few rows.")
            # The whole space is a region, and shares are multiples of what it holds.
            fits = table.shape[2] == part.layout.n_columns
            require(
                fits and part.layout.in_cuts(table)[:, 0, 0].all(), "a group has other regions."
            )
        learned = self.discriminant_.directions_.shape == (self.columns_.n_design, n)
        require(learned, "what tells its groups apart is of other columns.")

    # Counting

    @property
    def n_cells(self) -> int:
        """Cells of all parts, and one for the rows outside of all groups."""
        return sum(part.n_cells for part in self.parts_) + 1

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
            The highest PAT cell of each row, of all groups.
        """
        odds = self.discriminant_.log_odds(self.columns_.design(block))
        extended = np.column_stack([np.asarray(block, np.float64), odds])
        return self._count_extended(counted, first_cell, extended, groups, weights)

    def _count_extended(
        self,
        counted: np.ndarray,
        first_cell: int,
        extended: np.ndarray,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
    ) -> np.ndarray:
        highest = np.zeros(len(extended), np.intp)
        for part in self.parts_:
            cells = part.count_into(counted, first_cell, extended, groups, weights)
            np.maximum(highest, cells, out=highest)
            first_cell += part.n_cells
        outside = highest == 0
        if groups is None and weights is None:
            counted[0, first_cell] += np.count_nonzero(outside)
        else:
            at = np.zeros(len(extended), np.intp) if groups is None else groups
            units = np.ones(len(extended), np.int64) if weights is None else weights
            np.add.at(counted[:, first_cell], at[outside], units[outside])
        return highest

    def score_cells(self, cells: np.ndarray) -> np.ndarray:
        """Rows outside of all groups, and the others: shape (n_samples, 2)."""
        total = self.parts_[0].score_cells(cells).sum(axis=1)
        outside = cells[:, self.n_cells - 1]
        return np.column_stack([outside, total - outside])

    # From counts to what they say

    def views(self, cells: np.ndarray, n_rows: np.ndarray) -> TargetViews:
        """Find the shares of all groups, from counts of shape (n_samples, n_cells)."""
        ends = np.cumsum([part.n_cells for part in self.parts_])
        of_parts = np.split(cells, ends, axis=1)
        alone = [
            part.view(of_part, n_rows)
            for part, of_part in zip(self.parts_, of_parts[:-1], strict=True)
        ]
        shares = _limited(_prevalences(alone))
        for _ in range(N_STEPS):
            shares = _limited((shares + _prevalences(self._left(alone, shares))) / 2)
        outside = of_parts[-1][:, 0] / n_rows
        return TargetViews(alone, self._left(alone, shares), shares, outside)

    def _left(self, alone: Sequence[PartView], shares: np.ndarray) -> list[PartView]:
        """The same samples without what the other groups explain."""
        return [
            view.with_counts(self.unexplained(k, shares, view.counts))
            for k, view in enumerate(alone)
        ]

    def unexplained(self, k: int, shares: np.ndarray, counts: RegionCounts) -> RegionCounts:
        """Subtract from the counts of part k what the other groups explain.

        Its variance is that of drawing these rows into the sample, and that of the shares of
        labelled rows: p s (1 - s) / n_U + p^2 s (1 - s) / n_L, with a region that no labelled row
        is in counted as if it had a quarter of one. The shares p are not known exactly either, as
        if by one region: s^2 (p^2 / n_L + p / n_U). Without that, a share that is too high by
        chance takes all rows of a group away where the other one has most of its own.
        """
        n_rows = counts.n_rows[:, np.newaxis, np.newaxis]
        rows, noise = np.zeros(counts.in_cuts.shape), np.zeros(counts.in_cuts.shape)
        for j, of_group in enumerate(self._group_shares[k]):
            if j == k:
                continue
            p = shares[:, j, np.newaxis, np.newaxis]
            spread = of_group * (1 - of_group)
            rows += n_rows * p * of_group
            noise += p * spread / n_rows
            noise += p**2 * np.maximum(spread, 0.25 / self.sizes_[j]) / self.sizes_[j]
            noise += of_group**2 * (p**2 / self.sizes_[j] + p / n_rows)
        return RegionCounts(counts.in_cuts - rows, counts.n_rows, noise)

    def core_shares(self, k: int) -> np.ndarray:
        """How much of every group is in the core of group k, as a multiple of its own share."""
        in_core = self._group_shares[k][:, CORE, 0]
        return in_core / in_core[k]

    @functools.cached_property
    def _group_shares(self) -> list[np.ndarray]:
        """Share of every group in the bands and cuts of each part."""
        in_cuts = [
            part.layout.in_cuts(table)
            for part, table in zip(self.parts_, self.tables_, strict=True)
        ]
        # The whole space is a region, too, so it tells how many rows a table has.
        return [rows / rows[:, :1, :1] for rows in in_cuts]


def _prevalences(views: Sequence[PartView]) -> np.ndarray:
    return np.column_stack([view.found.prevalence for view in views])


def _limited(shares: np.ndarray) -> np.ndarray:
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)


def _too_much_alike(name: str, n_rows: int, option: str) -> InputError:
    return InputError(
        f"The {n_rows} labelled rows of {name!r} are too much alike to be told from others: at "
        f"least {FEWEST_POSITIVES} different ones are needed.",
        option=option,
    )
