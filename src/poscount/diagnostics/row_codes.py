"""A number for each row, equal for equal rows: to find copies without comparing rows."""

from __future__ import annotations

import numpy as np

from poscount.diagnostics.evidence import blocks
from poscount.seeds import stream
from poscount.validation import Rows


def row_codes(rows: Rows, shuffle: np.random.Generator | None = None) -> np.ndarray:
    """A 64-bit code of every row; different rows share one in a case of 10^19.

    Parameters
    ----------
    rows : Rows
        Of finite numbers.
    shuffle : Generator, optional
        Shuffles every column by itself first. Rows that are then equal are so because values are
        coarse, not because rows were copied.

    Returns
    -------
    ndarray of uint64, shape (n_rows,)
    """
    # Odd factors, so that no two values become one.
    salts = stream(0, "row codes").integers(2**64, size=(rows.data.shape[1], 3), dtype=np.uint64)
    salts |= np.uint64(1)
    codes = [np.empty(0, np.uint64)]
    for block in blocks(rows):
        total = np.zeros(len(block), np.uint64)
        for j in range(block.shape[1]):
            # Adding zero turns -0 into 0, which equals it but has other bits.
            column = _mixed((block[:, j] + 0.0).view(np.uint64), salts[j])
            total += column if shuffle is None else shuffle.permutation(column)
        codes.append(total)
    return np.concatenate(codes)


def _mixed(bits: np.ndarray, salts: np.ndarray) -> np.ndarray:
    """Scramble 64 bits, differently for each column."""
    mixed = (bits ^ salts[0]) * salts[1]
    mixed = (mixed ^ (mixed >> np.uint64(32))) * salts[2]
    return mixed ^ (mixed >> np.uint64(32))


def copies(codes: np.ndarray) -> float:
    """Share of rows that are copies of an earlier one.

    Examples
    --------
    >>> copies(np.array([5, 5, 7, 5], dtype=np.uint64))
    0.5
    """
    return 1 - len(np.unique(codes)) / len(codes)


def copies_by_chance(rows: Rows, seed: int) -> float:
    """Share of copies that coarse values alone would give."""
    return copies(row_codes(rows, stream(seed, "diagnose copies")))
