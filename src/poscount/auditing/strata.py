"""Strata by the posterior, and how many rows of each are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.counts.posterior import CellPosterior

# Chosen on the tuning split of benchmarks/accuracy/audit.py, as is the floor.
MOST_STRATA = 8
# Of labels; with fewer, a stratum would say next to nothing about itself.
LABELS_PER_STRATUM = 5
# A row that the model is sure of is taken to be wrong with this probability, so that no stratum is
# left to the model.
FLOOR = 0.1
# Share of the labelled positives with the lowest scores.
OUTSIDE = 0.25
# In each stratum, so that rows of it can differ.
FEWEST = 2


class Strata(NamedTuple):
    """Rows divided by how likely they are to be positive, from the least likely on.

    Attributes
    ----------
    of_cell : ndarray of int, shape (n_cells,)
        Stratum of each cell of the posterior; -1 for a cell without rows.
    rows : ndarray of int, shape (n_strata,)
        Rows in each.
    drawn : ndarray of int, shape (n_strata,)
        Rows of each that are to be labelled.
    expected : ndarray of shape (n_strata,)
        Share of each that is positive, according to the model.
    shares : ndarray of shape (n_strata,)
        Share of the labelled positives that lie there.
    outside : ndarray of bool, shape (n_cells,)
        Cells with the lowest scores, which hold about a quarter of the labelled positives. They
        depend on the labelled positives alone.
    share_outside : float
        Share of the labelled positives in these cells.
    """

    of_cell: np.ndarray
    rows: np.ndarray
    drawn: np.ndarray
    expected: np.ndarray
    shares: np.ndarray
    outside: np.ndarray
    share_outside: float

    @property
    def probability(self) -> np.ndarray:
        """Probability that a row of each stratum is drawn."""
        return self.drawn / self.rows


def make_strata(cells: CellPosterior, n: int) -> Strata:
    r"""Divide the rows of a sample into strata, and `n` labels among them.

    Cells are sorted by the ratio of the positives' share to the sample's, as the posterior sorts
    them, and cut where a row's expected standard deviation

    .. math:: \sqrt{q (1 - q)}, \quad q = 0.1 + 0.8 P(\text{positive})

    adds up to equal parts (Dalenius and Hodges 1959 do the same with the square root of a density).
    Labels are divided in proportion to the sums of this standard deviation (Neyman 1934). With q
    and not with the posterior itself every stratum gets labels, whatever the model thinks of it.

    Parameters
    ----------
    cells : CellPosterior
    n : int
        Number of labels; all rows if there are fewer.

    Examples
    --------
    >>> rows, shares = np.array([600, 200, 200]), np.array([0.0, 0.5, 0.5])
    >>> cells = CellPosterior(rows, shares, np.array([0.0, 0.5, 1.0]), prevalence=None)
    >>> strata = make_strata(cells, 40)
    >>> strata.rows.tolist(), strata.drawn.tolist()
    ([600, 200, 200], [21, 12, 7])
    """
    there = np.flatnonzero(cells.rows)
    ratio = cells.shares[there] / cells.rows[there]
    # Equal ratios are a matter of the cells' order, never of a last bit.
    there = there[np.lexsort((there, ratio))]
    rows, probability = cells.rows[there], cells.probability[there]
    q = FLOOR + (1 - 2 * FLOOR) * probability
    spread = rows * np.sqrt(q * (1 - q))
    n_strata = max(1, min(MOST_STRATA, n // LABELS_PER_STRATUM))
    middle = (np.cumsum(spread) - spread / 2) / spread.sum()
    stratum = np.unique(
        np.minimum((middle * n_strata).astype(int), n_strata - 1), return_inverse=True
    )[1]
    # The cells of every model are in the order of the score.
    outside = np.cumsum(cells.shares) <= OUTSIDE + 1e-9
    of_cell = np.full(len(cells.rows), -1)
    of_cell[there] = stratum
    sizes = np.bincount(stratum, rows).astype(np.int64)
    return Strata(
        of_cell,
        sizes,
        _allocate(sizes, np.bincount(stratum, spread), n),
        np.bincount(stratum, rows * probability) / sizes,
        np.bincount(stratum, cells.shares[there]),
        outside,
        float(cells.shares[outside].sum()),
    )


def _allocate(sizes: np.ndarray, spread: np.ndarray, n: int) -> np.ndarray:
    """Labels of each stratum; more labels in all are never fewer in any."""
    n = min(n, int(sizes.sum()))
    drawn = np.minimum(sizes, FEWEST)
    while drawn.sum() < n:
        # The stratum that is worst off, so that the strata of fewer labels are the same ones.
        short = np.where(drawn < sizes, spread / (drawn + 0.5), -1.0)
        drawn[np.argmax(short)] += 1
    return drawn
