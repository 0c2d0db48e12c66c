"""Labelled rows by codes of 64 bits, to find them again in a sample."""

from __future__ import annotations

import threading
from collections import Counter

import numpy as np

from poscount.seeds import stream

# Chance that two rows are equal if the columns have nothing to do with each other, by the upper end
# of what pairs of rows tell of each (the rule of three); where it is larger, values are coarse.
LARGEST_CHANCE, THREE = 1e-7, 3


def column_salts(n_columns: int) -> np.ndarray:
    """Odd factors for each column, so that no two values become one."""
    salts = stream(0, "row codes").integers(2**64, size=(n_columns, 3), dtype=np.uint64)
    return salts | np.uint64(1)


def column_codes(column: np.ndarray, salts: np.ndarray) -> np.ndarray:
    """A 64-bit code of each number, another one for each column."""
    # Adding zero turns -0 into 0, which equals it but has other bits; so has each kind of NaN.
    numbers = np.asarray(column, np.float64)
    bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
    mixed = (bits ^ salts[0]) * salts[1]
    mixed = (mixed ^ (mixed >> np.uint64(32))) * salts[2]
    return mixed ^ (mixed >> np.uint64(32))


def block_codes(block: np.ndarray) -> np.ndarray:
    """A 64-bit code of every row; two different rows share one in 10^19 cases.

    Examples
    --------
    >>> codes = block_codes(np.array([[0.0, 1.0], [1.0, 0.0], [-0.0, 1.0]]))
    >>> bool(codes[0] == codes[2]), bool(codes[0] == codes[1])
    (True, False)
    """
    salts = column_salts(block.shape[1])
    total = np.zeros(len(block), np.uint64)
    for j in range(block.shape[1]):
        total += column_codes(block[:, j], salts[j])
    return total


def learn_known_rows(codes: np.ndarray) -> tuple[int, np.ndarray]:
    """What finds labelled rows again.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n_columns)

    Returns
    -------
    int, ndarray of int64, shape (n_rows, 2)
        The column with the most different values; and the codes of each row's value in it and of
        the whole row, in the order of the latter. No rows if values are so coarse that rows are
        equal by chance.
    """
    chance, widest = 1.0, (0, 0)
    for j, column in enumerate(codes.T):
        sizes = np.unique(column, return_counts=True)[1]
        pairs = max(len(codes) * (len(codes) - 1), 1)
        chance *= min(1.0, float((sizes * (sizes - 1)).sum() + THREE) / pairs)
        widest = max(widest, (len(sizes), -j))
    if chance > LARGEST_CHANCE:
        return 0, np.empty((0, 2), np.int64)
    place = -widest[1]
    of_column = column_codes(
        np.ascontiguousarray(codes[:, place]), column_salts(codes.shape[1])[place]
    )
    both = np.column_stack([of_column, block_codes(codes)]).view(np.int64)
    return place, both[np.argsort(both[:, 1], kind="stable")]


class KnownRows:
    """Finds labelled rows in a sample, batch by batch.

    Parameters
    ----------
    column, codes
        From `learn_known_rows`.
    """

    def __init__(self, column: int, codes: np.ndarray) -> None:
        self._column = column
        self._values = np.unique(codes[:, 0])
        self._copies = Counter(codes[:, 1].tolist())
        self._codes = np.unique(codes[:, 1])
        self._found: Counter[int] = Counter()
        self._lock = threading.Lock()

    @property
    def n_found(self) -> int:
        """How many of the labelled rows were found, each copy once."""
        return self._found.total()

    def find(self, block: np.ndarray) -> np.ndarray:
        """Which rows of a block are labelled ones: as many of equal ones as were labelled."""
        known = np.zeros(len(block), bool)
        places = self._candidates(block)
        codes = block_codes(block[places]).view(np.int64)
        with self._lock:
            for place, code in zip(places.tolist(), codes.tolist(), strict=True):
                if self._found[code] < self._copies[code]:
                    self._found[code] += 1
                    known[place] = True
        return known

    def _candidates(self, block: np.ndarray) -> np.ndarray:
        """Rows with the right value in one column, which most others do not have."""
        column = np.ascontiguousarray(block[:, self._column])
        codes = column_codes(column, column_salts(block.shape[1])[self._column]).view(np.int64)
        at = np.searchsorted(self._values, codes).clip(max=len(self._values) - 1)
        return np.flatnonzero(self._values[at] == codes)
