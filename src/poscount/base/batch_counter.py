"""Counting batches of rows with a fitted model, of each group and with weights."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_is_fitted

from poscount.counts.counts import Counts, GroupedCounts
from poscount.counts.weights import WeightSums, add_weights, row_weights
from poscount.data.grouping import group_codes, group_keys
from poscount.data.rows import Rows
from poscount.data.rows_seen import RowsSeen
from poscount.data.validation import as_frame, as_frame_with_names

if TYPE_CHECKING:
    from poscount.base.counting import CountingQuantifier


class Counted(NamedTuple):
    """Counts of some of the groups: cells, rows, and sums of weights if there are any."""

    cells: np.ndarray
    n_rows: np.ndarray
    weights: list[WeightSums] | None = None

    def part(self, chosen: slice) -> Counted:
        """Those of some of these groups."""
        weights = None if self.weights is None else self.weights[chosen]
        return Counted(self.cells[chosen], self.n_rows[chosen], weights)

    @classmethod
    def together(cls, parts: Iterable[Counted]) -> Counted:
        """The counts of all rows of all groups, from those of some of them after the others."""
        cells, n_rows, weights = zip(*parts, strict=True)
        total = np.array([sum(of_part.sum(axis=0) for of_part in cells)])
        sums = None
        if weights[0] is not None:
            sums = [sum(itertools.chain.from_iterable(weights), WeightSums())]
        return cls(total, np.array([sum(of_part.sum() for of_part in n_rows)]), sums)


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
        # Set where rows are looked at, too.
        self.seen: RowsSeen | None = None
        self.by = model._grouping(by) if by else ()
        self.weights = weights

    @property
    def other_columns(self) -> list[str]:
        """Columns that are needed besides the features: those of the groups and the weights."""
        return [*self.by, *self.weight_columns]

    @property
    def weight_columns(self) -> list[str]:
        """The column of the weights, if there is one."""
        return [] if self.weights is None else [self.weights]

    def count(self, batch: Any) -> Counts | GroupedCounts:
        """Count the rows of a batch, of each group if there are grouping columns."""
        if self.by:
            return self.count_groups(batch)[1]
        cells, n_rows, weights = self.count_codes(batch, None, 1)
        sums = None if weights is None else weights[0]
        return Counts(cells[0], int(n_rows[0]), self.model.hash_, sums)

    def count_groups(self, batch: Any) -> tuple[nw.DataFrame, GroupedCounts]:
        """Groups of a batch whose weights are not all 0, and their counts."""
        frame = as_frame_with_names(batch)
        groups, codes = group_codes(frame, self.by)
        cells, n_rows, weights = self.count_codes(frame, codes, len(groups))
        keys, model = group_keys(groups), self.model.hash_
        counts = GroupedCounts(self.by, keys, cells, n_rows, model, weights)
        if n_rows.all():
            return groups, counts
        return groups.filter((n_rows > 0).tolist()), counts.with_rows()

    def _looked_at(
        self, batch: Any, rows: Rows, codes: np.ndarray | None
    ) -> tuple[Any, Rows, np.ndarray | None]:
        """Look at rows; those that are counted."""
        assert self.seen is not None
        known = self.seen.look(rows)
        if not (self.seen.drop_known and known.any()):
            return batch, rows, codes
        kept = np.flatnonzero(~known)
        batch = as_frame_with_names(batch)[kept.tolist()]
        return batch, rows.take(kept), None if codes is None else codes[kept]

    def count_codes(self, batch: Any, codes: np.ndarray | None, n_groups: int) -> Counted:
        """Count the rows of groups that are numbers, from 0 to `n_groups` - 1."""
        # Once, because a lazy frame may have its rows in another order the next time.
        frame = as_frame(batch) if isinstance(self.weights, str) else None
        rows = self.model._sample(batch if frame is None else frame)
        if self.seen is not None:
            batch, rows, codes = self._looked_at(batch if frame is None else frame, rows, codes)
            frame = None if frame is None else batch
        units = row_weights(frame, self.weights, len(rows))
        if units is None:
            cells = self.model._count_rows(rows, codes, n_groups)
            n_rows = [len(rows)] if codes is None else np.bincount(codes, minlength=n_groups)
            return Counted(cells, np.asarray(n_rows))
        core = np.zeros(len(rows), bool)
        cells = self.model._count_rows(rows, codes, n_groups, units, core)
        groups = np.zeros(len(rows), np.intp) if codes is None else codes
        n_rows = np.bincount(groups[units > 0], minlength=n_groups)
        return Counted(cells, n_rows, add_weights(units, core, groups, n_groups))
