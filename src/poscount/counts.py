"""How many rows fell into each cell of a fitted model: all that a rule needs of a sample."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from poscount import container
from poscount.errors import FileError, InputError


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
        Rows in each cell of the model.
    n : int
        Number of rows counted.
    model : str
        Content hash of the model that counted.
    skipped : tuple of Skipped
        Files that could not be counted and were left out.

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

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        self._check_same_model(other)
        skipped = self.skipped + other.skipped
        return Counts(self.cells + other.cells, self.n + other.n, self.model, skipped)

    def __radd__(self, other: object) -> Counts:
        # sum() starts from 0.
        if isinstance(other, int) and other == 0:
            return self
        return NotImplemented

    def __sub__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        self._check_same_model(other)
        cells = self.cells - other.cells
        if cells.min() < 0:
            raise InputError(
                "These counts cannot be subtracted: a cell would fall below zero, so the second "
                "counts are not part of the first."
            )
        skipped = tuple(file for file in self.skipped if file not in other.skipped)
        return Counts(cells, self.n - other.n, self.model, skipped)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return (
            self.model == other.model
            and self.n == other.n
            and self.skipped == other.skipped
            and np.array_equal(self.cells, other.cells)
        )

    __hash__ = None  # type: ignore[assignment]

    def _check_same_model(self, other: Counts) -> None:
        if self.model != other.model:
            raise InputError(
                f"These counts belong to different models ({self.model[:12]} and "
                f"{other.model[:12]}): count both with the same fitted model."
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a file that `Counts.load` reads."""
        meta = {"n": self.n, "model": self.model, "skipped": self.skipped}
        container.write(path, "counts", meta, {"cells": self.cells})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Counts:
        """Read a file that `save` wrote; nothing in it is executed."""
        meta, arrays = container.read(path, "counts")
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
        return cls(cells, n, model, tuple(Skipped(*pair) for pair in skipped))


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
        Rows per group and cell.
    n : ndarray of int64, shape (n_groups,)
        Rows per group.
    model : str
        Content hash of the model that counted.
    skipped : tuple of Skipped
        Files that could not be counted and were left out.

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

    def __len__(self) -> int:
        return len(self.keys)

    def items(self) -> Iterator[tuple[tuple[Hashable, ...], Counts]]:
        """Yield pairs of a group and its counts."""
        for key, cells, n in zip(self.keys, self.cells, self.n, strict=True):
            yield key, Counts(cells, int(n), self.model, self.skipped)

    def __add__(self, other: GroupedCounts) -> GroupedCounts:
        if not isinstance(other, GroupedCounts):
            return NotImplemented
        return GroupedCounts.total([self, other])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupedCounts):
            return NotImplemented
        return (
            (self.by, self.keys, self.model, self.skipped)
            == (other.by, other.keys, other.model, other.skipped)
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
        for part, at in zip(parts, rows, strict=True):
            cells[at] += part.cells
            n[at] += part.n
        return cls(first.by, keys, cells, n, first.model, skipped)

    def in_order(self) -> GroupedCounts:
        """Sort the groups by their keys, as `count_by` does."""
        order = sorted(range(len(self)), key=self.keys.__getitem__)
        keys = [self.keys[i] for i in order]
        return GroupedCounts(
            self.by, keys, self.cells[order], self.n[order], self.model, self.skipped
        )
