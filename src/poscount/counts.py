"""How many rows fell into each cell of a fitted model: all that a rule needs to see of any data."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np

from poscount import container


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

    def __add__(self, other: Counts) -> Counts:
        if not isinstance(other, Counts):
            return NotImplemented
        self._check_same_model(other)
        return Counts(self.cells + other.cells, self.n + other.n, self.model)

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
            raise ValueError(
                "These counts cannot be subtracted: a cell would fall below zero, so the second "
                "were not part of the first."
            )
        return Counts(cells, self.n - other.n, self.model)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return (
            self.model == other.model
            and self.n == other.n
            and np.array_equal(self.cells, other.cells)
        )

    __hash__ = None  # type: ignore[assignment]

    def _check_same_model(self, other: Counts) -> None:
        if self.model != other.model:
            raise ValueError(
                f"These counts belong to different models ({self.model[:12]} and "
                f"{other.model[:12]}): count both with the same fitted model."
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a file that `Counts.load` reads."""
        container.write(path, "counts", {"n": self.n, "model": self.model}, {"cells": self.cells})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Counts:
        """Read what `save` wrote; nothing in the file is executed."""
        meta, arrays = container.read(path, "counts")
        cells = arrays.get("cells")
        n, model = meta.get("n"), meta.get("model")
        if (
            cells is None
            or cells.dtype != np.int64
            or cells.ndim != 1
            or (cells < 0).any()
            or not isinstance(n, int)
            or n < 0
            or not isinstance(model, str)
        ):
            raise container.FileError(f"{path} does not hold counts.")
        return cls(cells, n, model)


@dataclass(frozen=True, eq=False)
class GroupedCounts:
    """The counts of many groups, as one matrix.

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
    """

    by: tuple[str, ...]
    keys: list[tuple[Hashable, ...]]
    cells: np.ndarray
    n: np.ndarray
    model: str

    def __len__(self) -> int:
        return len(self.keys)

    def items(self) -> Iterator[tuple[tuple[Hashable, ...], Counts]]:
        """Pairs of a group and its counts."""
        for key, cells, n in zip(self.keys, self.cells, self.n, strict=True):
            yield key, Counts(cells, int(n), self.model)

    def __add__(self, other: GroupedCounts) -> GroupedCounts:
        if not isinstance(other, GroupedCounts):
            return NotImplemented
        if self.model != other.model or self.by != other.by:
            raise ValueError(
                "These counts belong to different models or groupings: count both with the same "
                "fitted model and grouping columns."
            )
        where = {key: i for i, key in enumerate(self.keys)}
        new = [key for key in other.keys if key not in where]
        where.update((key, len(self.keys) + i) for i, key in enumerate(new))
        cells = np.concatenate([self.cells, np.zeros((len(new), self.cells.shape[1]), np.int64)])
        n = np.concatenate([self.n, np.zeros(len(new), np.int64)])
        rows = [where[key] for key in other.keys]
        cells[rows] += other.cells
        n[rows] += other.n
        return GroupedCounts(self.by, self.keys + new, cells, n, self.model)
