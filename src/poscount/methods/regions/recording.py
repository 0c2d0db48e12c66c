"""Rows as another sensor, night or laboratory might have recorded them."""

from __future__ import annotations

import numpy as np

from poscount.seeds import stream

# By how many standard deviations copies differ. Large enough to move rows of a small table across
# cuts; variances are divided by its square.
SIZE = 0.1
N_COPIES = 20
MOST_ROWS = 500


def recorded_differently(block: np.ndarray, numbers: np.ndarray, seed: int) -> np.ndarray:
    r"""Copies of labelled rows in which every column of numbers is stretched and shifted.

    A value x of a column with mean m and standard deviation s becomes

    .. math:: m + (x - m) (1 + D u) + D s z

    with D = 0.1, u uniform between -1 and 1 and z standard normal, both drawn once for each copy
    and column. What is missing stays missing, and categories stay as they are.

    Parameters
    ----------
    block : ndarray of shape (n_labeled, n_columns)
        Codes, in an order of rows that does not depend on that of the table.
    numbers : ndarray of int
        Columns of numbers, in an order that does not depend on that of the table.
    seed : int

    Returns
    -------
    ndarray of shape (1 + N_COPIES, n_rows, n_columns)
        At most 500 of the rows, as they are and as copies.
    """
    generator = stream(seed, "recording")
    # 0 for the rows as they are, and for categories.
    stretch, shift = np.zeros((2, 1 + N_COPIES, 1, block.shape[1]))
    stretch[1:, 0, numbers] = SIZE * generator.uniform(-1, 1, (N_COPIES, len(numbers)))
    shift[1:, 0, numbers] = SIZE * generator.standard_normal((N_COPIES, len(numbers)))
    mean, spread = means_and_spreads(block)
    n_rows = min(len(block), MOST_ROWS)
    rows = block[np.arange(n_rows) * len(block) // n_rows]
    copies = (rows - mean) * stretch
    copies += spread * shift
    copies += rows
    return copies


def means_and_spreads(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the numbers that are there; 0 if there is none."""
    there = ~np.isnan(values)
    n = np.maximum(there.sum(axis=0), 1)
    known = np.where(there, values, 0.0)
    # In units of the largest value, so that no square overflows or vanishes.
    unit = np.abs(known).max(axis=0)
    unit[unit == 0] = 1.0
    known /= unit
    mean = known.sum(axis=0) / n
    squares = np.where(there, known - mean, 0.0) ** 2
    return unit * mean, unit * np.sqrt(squares.sum(axis=0) / n)
