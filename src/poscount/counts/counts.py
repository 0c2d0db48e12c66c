"""How many rows fell into each cell of a fitted model: all that a rule needs of a sample."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from poscount.counts.weights import UNITS, WeightSums
from poscount.errors import FileError, InputError
from poscount.results import notebook
from poscount.storage import container
from poscount.storage.schema import (
    Array,
    Digest,
    Field,
    ListOf,
    Number,
    Text,
    Whole,
    check_fields,
    require,
)

# Up to it, float64 holds every whole number.
MOST_ROWS = 2**53
_FILE: dict[str, Field] = {
    "cells": Array("int64", (None,), least=0),
    "n": Whole(most=MOST_ROWS),
    "model": Text(),
    "parts": ListOf(Digest(), distinct=True),
}
_WEIGHTS: dict[str, Field] = {
    "total": Whole(most=2**62),
    "fractional": Whole(),
    "squares": Number(),
    "core_excess": Number(),
}


@dataclass(frozen=True, eq=False)
class Counts:
    """Rows per cell of one fitted model; counts of the same model add and subtract.

    Attributes
    ----------
    cells : ndarray of int64
        Rows in each cell of the model; with weights, their weight in units of 2^-20.
    n : int
        Number of rows counted; with weights, of those whose weight is not 0.
    model : str
        Content hash of the model that counted.
    weights : WeightSums, optional
        Sums over the weights, if the rows have any. Added to weighted counts, rows without weights
        weigh 1.
    parts : tuple of str
        Content ids of the counts files that these counts are the sum of; none for counts that were
        not read from files. Counts that have a part in common cannot be added, because its rows
        would count twice.

    Examples
    --------
    >>> a = Counts(np.array([3, 1]), 4, model="m")
    >>> b = Counts(np.array([0, 2]), 2, model="m")
    >>> (a + b).cells
    array([3, 3])
    >>> (a + b - a) == b
    True
    """

    cells: np.ndarray
    n: int
    model: str
    weights: WeightSums | None = None
    parts: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        weights = "" if self.weights is None else f" with a weight of {self.weights.weight:,.6g}"
        return notebook.piece(
            notebook.paragraph(
                f"{self.n:,} rows{weights} in {len(self.cells):,} cells of the model "
                f"{self.model[:12]}."
            )
        )

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        self._check_same_model(other)
        if set(self.parts) & set(other.parts):
            raise InputError(
                "These counts are, or contain, counts that have been added already, and their rows "
                "would count twice: leave them out. Count different samples that happen to have "
                "equal counts in one go."
            )
        if self.n + other.n > MOST_ROWS:
            raise InputError(
                f"These counts add up to {self.n + other.n:.1e} rows, and sums are exact only up "
                f"to {MOST_ROWS:.1e}."
            )
        cells, sums = self._combine(other, operator.add)
        return Counts(cells, self.n + other.n, self.model, sums, self.parts + other.parts)

    def __radd__(self, other: object) -> Counts:
        # sum() starts from 0.
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented

    def __sub__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        self._check_same_model(other)
        cells, sums = self._combine(other, operator.sub)
        n = self.n - other.n
        if n < 0 or cells.min() < 0 or not (sums is None or sums.could_be_of(n)):
            raise InputError(
                "These counts cannot be subtracted: a cell would fall below zero, so the second "
                "counts are not part of the first."
            )
        parts = tuple(part for part in self.parts if part not in other.parts)
        return Counts(cells, n, self.model, sums, parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return (
            self.model == other.model
            and self.n == other.n
            and self.weights == other.weights
            and np.array_equal(self.cells, other.cells)
        )

    __hash__ = None  # type: ignore[assignment]

    def _combine(
        self, other: Counts, by: Callable[[Any, Any], Any]
    ) -> tuple[np.ndarray, WeightSums | None]:
        """Cells and sums of weights, added or subtracted."""
        if self.weights is None and other.weights is None:
            return by(self.cells, other.cells), None
        (ours, sums), (theirs, more) = self._in_units(), other._in_units()
        # The sums come first, because they refuse what would overflow.
        sums = by(sums, more)
        return by(ours, theirs), sums

    def _in_units(self) -> tuple[np.ndarray, WeightSums]:
        """Cells in units of weights, and the sums of the weights."""
        if self.weights is not None:
            return self.cells, self.weights
        return self.cells * UNITS, WeightSums.of_rows(self.n)

    def _check_same_model(self, other: Counts) -> None:
        if self.model != other.model or len(self.cells) != len(other.cells):
            raise InputError(
                f"These counts belong to different models ({self.model[:12]} and "
                f"{other.model[:12]}): count both with the same fitted model."
            )

    @property
    def content_id(self) -> str:
        """SHA-256 of the counts, by which a part is known that is added twice."""
        # Without sums of squares, whose last bits depend on the order of the rows.
        total = None if self.weights is None else self.weights.total
        meta = {"n": self.n, "model": self.model, "total": total}
        return container.digest(meta, {"cells": self.cells})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a file that `Counts.load` reads."""
        meta = {
            "n": self.n,
            "model": self.model,
            "weights": None if self.weights is None else asdict(self.weights),
            # A file is a part of its own, too, without saying so.
            "parts": [part for part in self.parts if part != self.content_id],
        }
        container.write(path, "counts", meta, {"cells": self.cells})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Counts:
        """Read a file that `save` wrote; nothing in it is executed."""
        meta, arrays = container.read(path, "counts")
        found = {**meta, **arrays}
        try:
            weights = found.pop("weights", {})
            check_fields("counts", _FILE, found)
            if weights is not None:
                require(type(weights) is dict, "its weights are no record.")
                check_fields("weights", _WEIGHTS, weights)
                weights = WeightSums(**weights)
            counts = cls(**{**found, "parts": tuple(found["parts"])}, weights=weights)
            counts._check()
        except ValueError as error:
            raise FileError(f"this file does not hold counts: {error}", file=str(path)) from None
        if counts.n and counts.content_id not in counts.parts:
            counts = replace(counts, parts=(*counts.parts, counts.content_id))
        return counts

    def _check(self) -> None:
        """Raise ValueError if counts of a file could act on a terminal or give endless answers."""
        named = len(self.model) <= 64 and self.model.isprintable()
        require(named, "it does not say which model has counted.")
        total, sums = self.n, self.weights
        if sums is not None:
            total = sums.total
            require(sums.could_be_of(self.n) and sums.finite, "its weights are impossible.")
        require(self.cells.max(initial=0) <= total, "a cell holds more rows than there are.")


@dataclass(frozen=True, eq=False)
class GroupedCounts:
    """The counts of many groups in one matrix.

    Attributes
    ----------
    by : tuple of str
        The grouping columns.
    keys : list of tuple
        The group of each row of `cells`: one value per grouping column.
    cells : ndarray of int64, shape (n_groups, n_cells)
        Rows per group and cell; with weights, their weight in units of 2^-20.
    n : ndarray of int64, shape (n_groups,)
        Rows per group; with weights, those whose weight is not 0.
    model : str
        Content hash of the model that counted.
    weights : list of WeightSums, optional
        Sums over the weights of each group, if the rows have any.

    Examples
    --------
    >>> mon = GroupedCounts(("night",), [("mon",)], np.array([[3, 1]]), np.array([4]), "m")
    >>> tue = GroupedCounts(("night",), [("tue",)], np.array([[0, 2]]), np.array([2]), "m")
    >>> both = tue + mon + mon
    >>> both.keys, both.n, both.together.n
    ([('tue',), ('mon',)], array([2, 8]), 10)
    """

    by: tuple[str, ...]
    keys: list[tuple[Hashable, ...]]
    cells: np.ndarray
    n: np.ndarray
    model: str
    weights: list[WeightSums] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def items(self) -> Iterator[tuple[tuple[Hashable, ...], Counts]]:
        """Yield pairs of a group and its counts."""
        weights = [None] * len(self) if self.weights is None else self.weights
        for key, cells, n, sums in zip(self.keys, self.cells, self.n, weights, strict=True):
            yield key, Counts(cells, int(n), self.model, sums)

    def __add__(self, other: GroupedCounts) -> GroupedCounts:
        if not isinstance(other, GroupedCounts):
            return NotImplemented
        return GroupedCounts.total([self, other])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupedCounts):
            return NotImplemented
        return (
            (self.by, self.keys, self.model, self.weights)
            == (other.by, other.keys, other.model, other.weights)
            and np.array_equal(self.cells, other.cells)
            and np.array_equal(self.n, other.n)
        )

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def total(cls, parts: Iterable[GroupedCounts]) -> GroupedCounts:
        """Add counts, of which there is at least one, much faster than by repeated addition.

        The groups are in the order in which they are first seen.
        """
        parts = list(parts)
        first = parts[0]
        if any((part.model, part.by) != (first.model, first.by) for part in parts):
            raise InputError(
                "These counts belong to different models or groupings: count all of them with the "
                "same fitted model and the same grouping columns."
            )
        rows: list[Any]
        if all(part.keys == first.keys for part in parts):
            keys, rows = first.keys, [slice(None)] * len(parts)
        else:
            where: dict[tuple[Hashable, ...], int] = {}
            rows = [[where.setdefault(key, len(where)) for key in part.keys] for part in parts]
            keys = list(where)
        cells = np.zeros((len(keys), first.cells.shape[1]), np.int64)
        n = np.zeros(len(keys), np.int64)
        weights = None
        if any(part.weights is not None for part in parts):
            parts = [part._in_units() for part in parts]
            total = dict.fromkeys(keys, WeightSums())
            for part in parts:
                for key, sums in zip(part.keys, part.weights or [], strict=True):
                    total[key] += sums
            weights = list(total.values())
        for part, at in zip(parts, rows, strict=True):
            cells[at] += part.cells
            n[at] += part.n
        return cls(first.by, keys, cells, n, first.model, weights)

    def lines_by(self, by: Sequence[str]) -> dict[tuple[Hashable, ...], list[int]]:
        """Lines of each group by some of the grouping columns alone, in the order of the lines."""
        places = [self.by.index(name) for name in by]
        found: dict[tuple[Hashable, ...], list[int]] = {}
        for line, key in enumerate(self.keys):
            found.setdefault(tuple(key[i] for i in places), []).append(line)
        return found

    def without(self, name: str) -> GroupedCounts:
        """The counts of groups by the other columns."""
        by = tuple(each for each in self.by if each != name)
        groups = self.lines_by(by)
        parts = [self.of_groups(lines).together for lines in groups.values()]
        weights = [part.weights for part in parts if part.weights is not None]
        cells, n = np.array([part.cells for part in parts]), np.array([part.n for part in parts])
        return GroupedCounts(by, list(groups), cells, n, self.model, weights or None)

    @property
    def together(self) -> Counts:
        """The counts of the rows of all groups."""
        sums = None if self.weights is None else sum(self.weights, WeightSums())
        return Counts(self.cells.sum(axis=0), int(self.n.sum()), self.model, sums)

    def in_order(self) -> GroupedCounts:
        """Sort the groups by their keys, as `count_by` does: missing values come last."""
        keys = [[(value is None, value) for value in key] for key in self.keys]
        return self.of_groups(sorted(range(len(keys)), key=keys.__getitem__))

    def with_rows(self) -> GroupedCounts:
        """Leave out groups in which all rows have the weight 0, because those count nothing."""
        return self if self.n.all() else self.of_groups(np.flatnonzero(self.n).tolist())

    def of_groups(self, chosen: list[int]) -> GroupedCounts:
        """The groups in these places, in this order."""
        keys = [self.keys[i] for i in chosen]
        weights = None if self.weights is None else [self.weights[i] for i in chosen]
        return GroupedCounts(self.by, keys, self.cells[chosen], self.n[chosen], self.model, weights)

    def _in_units(self) -> GroupedCounts:
        """The same with weights; rows without weights weigh 1."""
        if self.weights is not None:
            return self
        sums = [WeightSums.of_rows(n) for n in self.n.tolist()]
        return replace(self, cells=self.cells * UNITS, weights=sums)
