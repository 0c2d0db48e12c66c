"""How many rows fell into each cell of a fitted model: all that a rule needs of a sample."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from poscount import container
from poscount.errors import FileError, InputError
from poscount.weights import UNITS, WeightSums

_WEIGHTED = "weighted counts"


class Skipped(NamedTuple):
    """A file that was left out, because the caller asked to skip files that cannot be counted."""

    file: str
    reason: str

    @classmethod
    def because(cls, error: InputError, file: str) -> Skipped:
        """Make it from the error that the file had.

        Examples
        --------
        >>> Skipped.because(InputError("it is empty.", column="size", row=4), "trap.csv").reason
        "column 'size', row 5: it is empty."
        """
        place = error.at(file=file).place_inside
        return cls(file, f"{place}: {error.message}" if place else error.message)


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
    skipped : tuple of Skipped
        Files that could not be counted and were left out.
    weights : WeightSums, optional
        Sums over the weights, if the rows have any. Added to weighted counts, rows without weights
        weigh 1.

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
    skipped: tuple[Skipped, ...] = ()
    weights: WeightSums | None = None

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        self._check_same_model(other)
        skipped = self.skipped + other.skipped
        if self.weights is None and other.weights is None:
            ours, theirs = _of_one_length(self.cells, other.cells)
            return Counts(ours + theirs, self.n + other.n, self.model, skipped)
        (cells, sums), (other_cells, other_sums) = self._in_units(), other._in_units()
        # The sums come first, because they refuse what would overflow.
        sums += other_sums
        ours, theirs = _of_one_length(cells, other_cells)
        return Counts(ours + theirs, self.n + other.n, self.model, skipped, sums)

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
        if cells.min() < 0 or not (sums is None or sums.could_be_of(n, cells)):
            raise InputError(
                "These counts cannot be subtracted: a cell would fall below zero, so the second "
                "counts are not part of the first."
            )
        skipped = tuple(file for file in self.skipped if file not in other.skipped)
        return Counts(cells, n, self.model, skipped, sums)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return (
            self.model == other.model
            and self.n == other.n
            and self.skipped == other.skipped
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a file that `Counts.load` reads."""
        meta: dict[str, Any] = {"n": self.n, "model": self.model, "skipped": self.skipped}
        kind = "counts"
        if self.weights is not None:
            # A kind of its own, which versions that know no weights refuse.
            kind, meta["weights"] = _WEIGHTED, self.weights.to_meta()
        container.write(path, kind, meta, {"cells": self.cells})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Counts:
        """Read a file that `save` wrote; nothing in it is executed."""
        meta, arrays = container.read(path, "counts", _WEIGHTED)
        cells = arrays.get("cells")
        n, model, skipped = meta.get("n"), meta.get("model"), meta.get("skipped", [])
        if (
            cells is None
            or cells.dtype != np.int64
            or cells.ndim != 1
            or (cells < 0).any()
            or not isinstance(n, int)
            or n < 0
            or not isinstance(model, str)
            or not _is_list_of_pairs(skipped)
        ):
            raise FileError("this file does not hold counts.", file=str(path))
        weights = None
        if meta["kind"] == _WEIGHTED:
            weights = WeightSums.from_meta(meta.get("weights"))
            if weights is None or not weights.could_be_of(n, cells):
                raise FileError("this file does not hold weighted counts.", file=str(path))
        return cls(cells, n, model, tuple(Skipped(*pair) for pair in skipped), weights)


def _of_one_length(*parts: np.ndarray) -> list[np.ndarray]:
    """Cells of the same model; older versions did not count the last ones, which were empty."""
    longest = max(map(len, parts))
    return [np.pad(part, (0, longest - len(part))) for part in parts]


def _is_list_of_pairs(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)
        for pair in value
    )


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
    skipped : tuple of Skipped
        Files that could not be counted and were left out.
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
    skipped: tuple[Skipped, ...] = ()
    weights: list[WeightSums] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def items(self) -> Iterator[tuple[tuple[Hashable, ...], Counts]]:
        """Yield pairs of a group and its counts."""
        weights = [None] * len(self) if self.weights is None else self.weights
        for key, cells, n, sums in zip(self.keys, self.cells, self.n, weights, strict=True):
            yield key, Counts(cells, int(n), self.model, self.skipped, sums)

    def __add__(self, other: GroupedCounts) -> GroupedCounts:
        if not isinstance(other, GroupedCounts):
            return NotImplemented
        return GroupedCounts.total([self, other])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupedCounts):
            return NotImplemented
        return (
            (self.by, self.keys, self.model, self.skipped, self.weights)
            == (other.by, other.keys, other.model, other.skipped, other.weights)
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
        skipped = tuple(file for part in parts for file in part.skipped)
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
        return cls(first.by, keys, cells, n, first.model, skipped, weights)

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
        return GroupedCounts(
            self.by, keys, self.cells[chosen], self.n[chosen], self.model, self.skipped, weights
        )

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
