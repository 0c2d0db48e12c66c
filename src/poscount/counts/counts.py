"""How many rows fell into each cell of a fitted model: all that a rule needs of a sample."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from poscount.counts.weights import UNITS, WeightSums
from poscount.errors import FileError, InputError
from poscount.storage import container

_WEIGHTED = "weighted counts"
# Up to it, float64 holds every whole number.
MOST_ROWS = 2**53


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
        parts = self.parts + other.parts
        if self.n + other.n > MOST_ROWS:
            raise InputError(
                f"These counts add up to {self.n + other.n:.1e} rows, and sums are exact only up "
                f"to {MOST_ROWS:.1e}."
            )
        if self.weights is None and other.weights is None:
            ours, theirs = _of_one_length(self.cells, other.cells)
            return Counts(ours + theirs, self.n + other.n, self.model, None, parts)
        (cells, sums), (other_cells, other_sums) = self._in_units(), other._in_units()
        # The sums come first, because they refuse what would overflow.
        sums += other_sums
        ours, theirs = _of_one_length(cells, other_cells)
        return Counts(ours + theirs, self.n + other.n, self.model, sums, parts)

    def __radd__(self, other: object) -> Counts:
        # sum() starts from 0.
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented

    def __sub__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        self._check_same_model(other)
        n, sums = self.n - other.n, None
        if self.weights is None and other.weights is None:
            ours, theirs = _of_one_length(self.cells, other.cells)
        else:
            (cells, sums), (other_cells, other_sums) = self._in_units(), other._in_units()
            ours, theirs = _of_one_length(cells, other_cells)
            sums -= other_sums
        cells = ours - theirs
        if n < 0 or cells.min(initial=0) < 0 or not (sums is None or sums.could_be_of(n, cells)):
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

    def _in_units(self) -> tuple[np.ndarray, WeightSums]:
        """Cells in units of weights, and the sums of the weights."""
        if self.weights is not None:
            return self.cells, self.weights
        sums = WeightSums.of_rows(self.n)
        return self.cells * UNITS, sums

    def _check_same_model(self, other: Counts) -> None:
        if self.model != other.model:
            raise InputError(
                f"These counts belong to different models ({self.model[:12]} and "
                f"{other.model[:12]}): count both with the same fitted model."
            )

    @property
    def content_id(self) -> str:
        """SHA-256 of the counts, by which a part is known that is added twice."""
        weights = None if self.weights is None else self.weights.to_meta()
        meta = {"n": self.n, "model": self.model, "weights": weights}
        return container.digest(meta, {"cells": self.cells})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a file that `Counts.load` reads."""
        problem = self._problem()
        if problem:
            raise InputError(f"These counts cannot be saved: {problem}.", file=str(path))
        meta: dict[str, Any] = {"n": self.n, "model": self.model}
        kind = "counts"
        if self.weights is not None:
            # A kind of its own, which versions that know no weights refuse.
            kind, meta["weights"] = _WEIGHTED, self.weights.to_meta()
        # A file is a part of its own, too, without saying so.
        parts = [part for part in self.parts if part != self.content_id]
        if parts:
            meta["parts"] = parts
        container.write(path, kind, meta, {"cells": self.cells})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Counts:
        """Read a file that `save` wrote; nothing in it is executed."""
        meta, arrays = container.read(path, "counts", _WEIGHTED)
        weighted = meta.pop("kind") == _WEIGHTED
        del meta["version"]
        weights = WeightSums.from_meta(meta.pop("weights", None)) if weighted else None
        parts = meta.pop("parts", [])
        problem = ""
        if meta.keys() != {"n", "model"} or arrays.keys() != {"cells"}:
            problem = "something is missing, or does not belong there"
        elif weighted and weights is None:
            problem = "the sums of its weights are impossible"
        elif not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            problem = "its parts are not content ids"
        else:
            counts = cls(arrays["cells"], meta["n"], meta["model"], weights, tuple(parts))
            problem = counts._problem()
        if problem:
            kind = _WEIGHTED if weighted else "counts"
            raise FileError(f"this file does not hold {kind}: {problem}.", file=str(path))
        if counts.n and counts.content_id not in counts.parts:
            counts = replace(counts, parts=(*counts.parts, counts.content_id))
        return counts

    def _problem(self) -> str:
        """Why no model can have counted this; nothing if one can."""
        cells = self.cells
        if type(self.n) is not int or not 0 <= self.n <= MOST_ROWS:
            return "its number of rows is impossible"
        if cells.dtype != np.int64 or cells.ndim != 1 or not len(cells) or cells.min() < 0:
            return "its cells are not numbers of rows"
        if self.weights is None:
            if cells.max() > self.n:
                return "a cell holds more rows than there are"
        elif not self.weights.could_be_of(self.n, cells):
            return "the sums of its weights are impossible"
        model = self.model
        if type(model) is not str or len(model) > 64 or not model.isprintable():
            return "it does not say which model has counted"
        if len(set(self.parts)) < len(self.parts) or any(len(part) != 64 for part in self.parts):
            return "its parts are not content ids"
        return ""


def adds_up(parts: np.ndarray, totals: np.ndarray) -> bool:
    """Whether whole numbers along the last axis have these sums, even where int64 overflows.

    Examples
    --------
    >>> adds_up(np.array([[1, 2], [3, 3]]), np.array([3, 6]))
    True
    >>> adds_up(np.full((1, 4), 2**62), np.array([0]))
    False
    """
    near = np.isclose(parts.sum(axis=-1, dtype=np.float64), totals, rtol=1e-6, atol=0.5)
    # An int64 that has overflowed is wrong by so much that the other sum is not near.
    return bool(near.all() and (parts.sum(axis=-1) == totals).all())


def _of_one_length(*parts: np.ndarray) -> list[np.ndarray]:
    """Cells of the same model; older versions did not count the last ones, which were empty."""
    longest = max(map(len, parts))
    return [np.pad(part, (0, longest - len(part))) for part in parts]


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
    >>> both.keys, both.n
    ([('tue',), ('mon',)], array([2, 8]))
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
            weights = _total_sums(parts, keys)
        for part, at in zip(parts, rows, strict=True):
            cells[at] += part.cells
            n[at] += part.n
        return cls(first.by, keys, cells, n, first.model, weights)

    def in_order(self) -> GroupedCounts:
        """Sort the groups by their keys, as `count_by` does: missing values come last."""
        return self.of_groups(
            sorted(
                range(len(self)), key=lambda i: [(value is None, value) for value in self.keys[i]]
            )
        )

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


def _total_sums(parts: Iterable[GroupedCounts], keys: list[tuple]) -> list[WeightSums]:
    total = dict.fromkeys(keys, WeightSums())
    for part in parts:
        for key, sums in zip(part.keys, part.weights or [], strict=True):
            total[key] += sums
    return list(total.values())
