r"""Regions of several labelled groups of rows at once, and what they say about a sample together.

Each group k (a target, or a kind of known negatives) has regions of its own, as in RCQ, in a space
that has the log odds of all groups (`poscount.methods.regions.discriminant`) as further columns: so there
are regions where a group is common and the others are rare. In every region g

.. math:: share_U(g) = \sum_j p_j \, share_j(g) + rest(g), \qquad rest(g) \ge 0

with the shares of the labelled groups known and the rest unknown. Given the other p_j, what they
explain is subtracted from the counts, and RCQ's rule bounds p_k, with the noise of what was
subtracted in the bounds. Starting from the groups by themselves, that is repeated, each step
halfway to the new answers, which are scaled down where they add up to more than 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from poscount.base import constraints
from poscount.checks import Evidence
from poscount.checks.few_positives import FEWEST_POSITIVES
from poscount.data.columns import Columns
from poscount.errors import InputError
from poscount.methods.regions.discriminant import Discriminant
from poscount.methods.regions.region_counter import CountsBeside
from poscount.methods.regions.region_estimator import RegionEstimator
from poscount.methods.regions.region_layout import CORE, N_SCORE_CELLS
from poscount.methods.regions.regions import RegionCounts
from poscount.results.prevalence import Estimate
from poscount.storage import container
from poscount.storage.schema import (
    Array,
    Digest,
    Field,
    ListOf,
    Part,
    Text,
    Whole,
    require,
    same_learned,
)

N_STEPS = 6


class GroupRegions(RegionEstimator):
    """The regions of one of several groups; made by `JointRegions`."""

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012 (scikit-learn's own convention)
        "confidence": [constraints.Interval(Real, 0, 1, closed="neither")],
        "n_jobs": constraints.N_JOBS,
        "random_state": ["random_state", np.random.Generator],
    }

    LEARNED: ClassVar[Mapping[str, Field]] = {"n_derived_": Whole(2)}

    def __init__(
        self, *, confidence: float = 0.95, n_jobs: int | None = None, random_state: Any = None
    ) -> None:
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.random_state = random_state

    def learn(self, columns: Columns, n_derived: int, rows: np.ndarray, seed: int) -> None:
        """Learn from rows whose last columns are derived from the others."""
        self.seed_ = seed
        self.n_derived_ = n_derived
        self.columns_ = columns
        self.n_features_in_ = len(columns.names_)
        self.feature_names_in_ = np.array(columns.names_, dtype=object)
        self.learn_codes(rows)

    def _estimate(self, cells: np.ndarray, n_rows: np.ndarray) -> Sequence[Estimate]:
        tables, beside = self.split_cells(cells)
        counts = self.regions.read_tables(tables, n_rows)
        return self.estimate_in_regions(self.regions, counts, beside, None)


class GroupCounts(NamedTuple):
    """What was counted of samples by the regions of one group.

    Attributes
    ----------
    alone : RegionCounts
        As they were counted.
    left : RegionCounts
        Without what the other groups explain.
    beside : CountsBeside
    """

    alone: RegionCounts
    left: RegionCounts
    beside: CountsBeside


class JointCounts(NamedTuple):
    """What was counted of samples by the regions of all groups, and what follows from it.

    Attributes
    ----------
    groups : list of GroupCounts
    shares : ndarray of shape (n_samples, n_groups)
        Of each group, after the last step.
    outside : ndarray of shape (n_samples,)
        Share of the rows that score below the .25 quantile of every group.
    """

    groups: list[GroupCounts]
    shares: np.ndarray
    outside: np.ndarray


class JointRegions(BaseEstimator):
    """Counts rows in the regions of several groups, and finds the shares of all of them together.

    Attributes
    ----------
    names_ : list of str
        Names of the groups.
    discriminant_ : Discriminant
    parts_ : list of GroupRegions
        The regions of each group.
    tables_ : list of ndarray of shape (n_groups, n_score_cells, n_columns)
        For each part, how many labelled rows of each group are in the cells of its table.
    sizes_ : ndarray of int, shape (n_groups,)
        Labelled rows of each group.
    outside_ : ndarray of shape (n_groups,)
        Share of each group's rows that score below the .25 quantile of every group.
    hash_ : str
        Content hash.
    """

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "names_": ListOf(Text(), "groups", distinct=True),
        "discriminant_": Part("Discriminant"),
        "parts_": ListOf(Part("GroupRegions"), "groups"),
        "tables_": ListOf(Array("int64", ("groups", N_SCORE_CELLS, None), least=0), "groups"),
        "sizes_": Array("int64", ("groups",), least=1),
        "outside_": Array("float64", ("groups",), least=0, most=1),
        "hash_": Digest(),
    }

    names_: list[str]
    discriminant_: Discriminant
    parts_: list[GroupRegions]
    tables_: list[np.ndarray]
    sizes_: np.ndarray
    outside_: np.ndarray
    hash_: str

    def learn(
        self,
        columns: Columns,
        rows: np.ndarray,
        codes: np.ndarray,
        names: Sequence[str],
        seed: int,
        option: str,
    ) -> None:
        """Learn from labelled rows.

        Parameters
        ----------
        columns : Columns
            Of the rows.
        rows : ndarray of shape (n_rows, n_columns)
            Codes.
        codes : ndarray of int, shape (n_rows,)
            Group of each row.
        names : sequence of str
            Of the groups, in an order that does not depend on the caller's.
        seed : int
        option : str
            The parameter that an error is about.
        """
        self.names_ = list(names)
        n = len(names)
        rows = np.asarray(rows, np.float64)
        for k, name in enumerate(names):
            if not (rows[codes == k] != rows[codes == k][0]).any():
                raise _too_much_alike(name, int(np.count_nonzero(codes == k)), option)
        design = np.ascontiguousarray(columns.design(rows))
        self.discriminant_ = Discriminant()
        odds = self.discriminant_.learn(design, codes, n, seed)
        derived = columns.with_numbers([f"log odds of {name}" for name in names])
        extended = np.column_stack([rows, odds])
        groups = [extended[codes == k] for k in range(n)]
        self.parts_ = [GroupRegions(random_state=seed) for _ in names]
        for name, part, group in zip(names, self.parts_, groups, strict=True):
            part.learn(derived, n, group, seed)
            if not part.regions.enough_positives:
                raise _too_much_alike(name, len(group), option)
        placed = [
            [part.binned_ if k == j else part.place(group) for j, group in enumerate(groups)]
            for k, part in enumerate(self.parts_)
        ]
        self.tables_ = [
            np.array([part.regions.layout.tabulate(b[:, 0], b[:, 1:]) for b in of_part], np.int64)
            for part, of_part in zip(self.parts_, placed, strict=True)
        ]
        self.sizes_ = np.array([part.n_labeled_ for part in self.parts_])
        self.outside_ = np.array([self._share_outside(group) for group in groups])
        self.hash_ = self._content_hash()

    def _share_outside(self, group: np.ndarray) -> float:
        counted = np.zeros((1, self.n_cells), np.int64)
        self._tally_extended(group, None, None, counted)
        return float(counted[0, -1] / len(group))

    def _content_hash(self) -> str:
        meta = {"names": self.names_, "parts": [part.hash_ for part in self.parts_]}
        told_apart = self.discriminant_
        arrays = {
            "location": told_apart.location_,
            "directions": told_apart.directions_,
            "offsets": told_apart.offsets_,
            "sizes": self.sizes_,
        }
        arrays |= {f"table {k}": table for k, table in enumerate(self.tables_)}
        return container.digest(meta, {**arrays, "outside": self.outside_})

    def check_learned(self) -> None:
        """Raise ValueError unless what was learned fits together: files may hold anything."""
        n, columns = len(self.names_), self.parts_[0].columns_
        require(n > 1, "there is only one group.")
        sizes = [part.n_labeled_ for part in self.parts_]
        require(self.sizes_.tolist() == sizes, "its groups have other sizes.")
        for k, part in enumerate(self.parts_):
            binned, layout = part.binned_, part.regions.layout
            own = layout.tabulate(binned[:, 0], binned[:, 1:])
            same = self.tables_[k].shape[1:] == own.shape and (self.tables_[k][k] == own).all()
            require(same, "the rows of a group are not in its regions.")
            require(part.n_derived_ == n, "a group has other log odds.")
            require(same_learned(part.columns_, columns), "a group has other columns.")
            require(part.regions.enough_positives, "a group has too few rows.")
        n_design = columns.n_design - n
        learned = self.discriminant_.directions_.shape == (n_design, n)
        require(learned, "what tells its groups apart is of other columns.")
        require(self.hash_ == self._content_hash(), "its content is not what its hash says.")

    def could_count(self, cells: np.ndarray, totals: np.ndarray) -> bool:
        """Whether there can be rows with these counts, as `CountingQuantifier` asks."""
        first = 0
        for part in self.parts_:
            if not part._could_count(cells[:, first:], totals):
                return False
            first += part.n_own_cells
        return bool((cells[:, first] <= totals).all())

    @property
    def n_cells(self) -> int:
        """Cells of all parts, and one for the rows outside of all groups."""
        return sum(part.n_own_cells for part in self.parts_) + 1

    def tally_from(
        self,
        first_cell: int,
        columns: Columns,
        block: Any,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
        counted: np.ndarray,
    ) -> np.ndarray:
        """Add the rows of a block to counts, from a cell on.

        Returns
        -------
        ndarray of int
            The highest place of each row along the scores of all groups.
        """
        odds = self.discriminant_.log_odds(columns.design(block))
        extended = np.column_stack([np.asarray(block, np.float64), odds])
        return self._tally_extended(extended, groups, weights, counted, first_cell)

    def _tally_extended(
        self,
        extended: np.ndarray,
        groups: np.ndarray | None,
        weights: np.ndarray | None,
        counted: np.ndarray,
        first: int = 0,
    ) -> np.ndarray:
        highest = np.zeros(len(extended), np.intp)
        for part in self.parts_:
            places = part.tally_from(first, extended, groups, weights, counted)
            np.maximum(highest, places, out=highest)
            first += part.n_own_cells
        outside = highest == 0
        if groups is None and weights is None:
            counted[0, first] += np.count_nonzero(outside)
        else:
            at = np.zeros(len(extended), np.intp) if groups is None else groups
            units = np.ones(len(extended), np.int64) if weights is None else weights
            np.add.at(counted[:, first], at[outside], units[outside])
        return highest

    def score_cells(self, cells: np.ndarray) -> np.ndarray:
        """Rows outside of all groups, and the others: shape (n_samples, 2)."""
        first = self.parts_[0]
        total = first.split_cells(cells)[1].pat_cells.sum(axis=1)
        outside = cells[:, self.n_cells - 1]
        return np.column_stack([outside, total - outside])

    def count(self, cells: np.ndarray, n_rows: np.ndarray) -> JointCounts:
        """Find the shares of all groups, from counts of shape (n_samples, n_cells)."""
        alone, besides, first = [], [], 0
        for part in self.parts_:
            tables, beside = part.split_cells(cells[:, first:])
            first += part.n_own_cells
            alone.append(part.regions.read_tables(tables, n_rows))
            besides.append(beside)
        shares = self._limited(self._answers(alone))
        for _ in range(N_STEPS):
            answers = self._answers(self._left(alone, shares))
            shares = self._limited((shares + answers) / 2)
        left = self._left(alone, shares)
        groups = [GroupCounts(*each) for each in zip(alone, left, besides, strict=True)]
        return JointCounts(groups, shares, cells[:, first] / n_rows)

    def _answers(self, counts: Sequence[RegionCounts]) -> np.ndarray:
        found = [
            part.regions.find(of_part).prevalence
            for part, of_part in zip(self.parts_, counts, strict=True)
        ]
        return np.column_stack(found)

    @staticmethod
    def _limited(shares: np.ndarray) -> np.ndarray:
        return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)

    def _left(self, alone: Sequence[RegionCounts], shares: np.ndarray) -> list[RegionCounts]:
        """Counts without what the other groups explain."""
        return [self.explained(k, shares, counts) for k, counts in enumerate(alone)]

    def explained(self, k: int, shares: np.ndarray, counts: RegionCounts) -> RegionCounts:
        """Subtract from the counts of part k what the other groups explain.

        Its variance is that of drawing these rows into the sample, and that of the shares of
        labelled rows: p s (1 - s) / n_U + p^2 s (1 - s) / n_L, with a region that no labelled row
        is in counted as if it had a quarter of one. The shares p are not known exactly either, as
        if by one region: s^2 (p^2 / n_L + p / n_U). Without that, a share that is too high by
        chance takes all rows of a group away where the other one has most of its own.
        """
        n_rows = counts.n_rows[:, np.newaxis, np.newaxis]
        rows, noise = np.zeros(counts.in_cuts.shape), np.zeros(counts.in_cuts.shape)
        for j, of_group in enumerate(self._group_shares(k)):
            if j == k:
                continue
            p = shares[:, j, np.newaxis, np.newaxis]
            spread = of_group * (1 - of_group)
            rows += n_rows * p * of_group
            noise += p * spread / n_rows
            noise += p**2 * np.maximum(spread, 0.25 / self.sizes_[j]) / self.sizes_[j]
            noise += of_group**2 * (p**2 / self.sizes_[j] + p / n_rows)
        return RegionCounts(counts.in_cuts - rows, counts.n_rows, noise)

    def evidence(self, k: int) -> Evidence:
        """What the checks of the model look at, for group k."""
        part = self.parts_[k]
        return Evidence(
            n_labeled=part.n_labeled_,
            feature_names=part.block_columns.design_names,
            largest_tie=part.largest_tie_,
            copied=part.copied_,
            n_given=part.n_given_,
        )

    def core_shares(self, k: int) -> np.ndarray:
        """How much of every group is in the core of group k, as a multiple of its own share."""
        in_core = self._group_shares(k)[:, CORE, 0]
        return in_core / in_core[k]

    def _group_shares(self, k: int) -> np.ndarray:
        """Share of every group in the bands and cuts of part k."""
        kept = self.__dict__.setdefault("_shares", {})
        if k not in kept:
            in_cuts = self.parts_[k].regions.layout.in_cuts(self.tables_[k])
            # The whole space is a region, too, so it tells how many rows a table has.
            kept[k] = in_cuts / in_cuts[:, :1, :1]
        return kept[k]


def check_joint(joint: JointRegions, columns: Columns, seed: int) -> None:
    """Raise ValueError unless groups were learned from rows with these columns."""
    derived = columns.with_numbers([f"log odds of {name}" for name in joint.names_])
    for part in joint.parts_:
        require(same_learned(part.columns_, derived), "its groups have other columns.")
        require(part.seed_ == seed, "its groups have another seed.")


def _too_much_alike(name: str, n_rows: int, option: str) -> InputError:
    return InputError(
        f"The {n_rows} labelled rows of {name!r} are too much alike to be told from others: at "
        f"least {FEWEST_POSITIVES} different ones are needed.",
        option=option,
    )
