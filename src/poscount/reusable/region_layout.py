"""Which regions RCQ and TRCQ look at, and how a table of counts gives the rows in each.

Rows are counted once, into a table of score cells times the bins of every partition of the space
(the five bins of a feature, the cells of a clustering). A region is a union of score cells (a band)
and a union of bins of one partition (a cut), so its count is a sum of entries of the table.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

SCORE_QUANTILES = (0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75)
N_SCORE_CELLS = len(SCORE_QUANTILES) + 1
# First and last score cell, the last one excluded: everything, the tails, and a shell.
BANDS = ((0, 8), (2, 8), (3, 8), (4, 8), (5, 8), (6, 8), (7, 8), (1, 5))
CORE = 3
# Of the positives in a region that is used.
SMALLEST_SHARE, LARGEST_SHARE = 0.08, 0.9
FEATURE_QUANTILES = (0.2, 0.4, 0.6, 0.8)
CLUSTERINGS = (2, 3, 4)
LEARNED_QUANTILES = tuple(i / 10 for i in range(1, 9))

_IN_BAND = np.array([[a <= cell < b for cell in range(N_SCORE_CELLS)] for a, b in BANDS], float)


@dataclass(frozen=True)
class RegionLayout:
    """How the table of counts is laid out, and which regions it contains.

    Parameters
    ----------
    n_features : int
        Number of features that are cut into five bins each.
    learned : bool
        Whether there is a last partition, the nine bins of a score learned from the sample.
    """

    n_features: int
    learned: bool = False

    @functools.cached_property
    def widths(self) -> np.ndarray:
        """Number of bins of each partition: the features, the clusterings, the learned score."""
        features = [len(FEATURE_QUANTILES) + 1] * self.n_features
        learned = [len(LEARNED_QUANTILES) + 1] if self.learned else []
        return np.array([*features, *CLUSTERINGS, *learned])

    @functools.cached_property
    def offsets(self) -> np.ndarray:
        """First column of each partition in the table."""
        return np.concatenate([[0], np.cumsum(self.widths)[:-1]])

    @functools.cached_property
    def n_columns(self) -> int:
        """Columns of the table."""
        return int(self.widths.sum())

    @functools.cached_property
    def cuts(self) -> np.ndarray:
        """Which columns belong to each cut, as a matrix of zeros and ones.

        The order of the cuts: all rows; each feature up to its quantiles; each feature above them;
        the cells of the clusterings; the complements of cells of more than two; the learned score
        above its quantiles.
        """
        first = self.n_features
        clusters = [self.offsets[first + i] + np.arange(k) for i, k in enumerate(CLUSTERINGS)]
        bins = [
            self.offsets[j] + np.arange(len(FEATURE_QUANTILES) + 1) for j in range(self.n_features)
        ]
        thresholds = range(1, len(FEATURE_QUANTILES) + 1)
        members = [clusters[0]]
        members += [columns[:i] for columns in bins for i in thresholds]
        members += [columns[i:] for columns in bins for i in thresholds]
        members += [columns[[i]] for columns in clusters for i in range(len(columns))]
        members += [np.delete(columns, i) for columns in clusters[1:] for i in range(len(columns))]
        if self.learned:
            ranks = self.offsets[-1] + np.arange(self.widths[-1])
            members += [ranks[i:] for i in range(1, len(ranks))]
        matrix = np.zeros((self.n_columns, len(members)))
        for cut, columns in enumerate(members):
            matrix[columns, cut] = 1
        return matrix

    @property
    def feature_cuts(self) -> slice:
        """The cuts "feature <= quantile"."""
        return slice(1, 1 + self.n_features * len(FEATURE_QUANTILES))

    def tabulate(
        self, cells: np.ndarray, bins: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Count rows into a table, from the score cell and the bins of each.

        Parameters
        ----------
        cells : ndarray of shape (n_rows,)
        bins : ndarray of shape (n_rows, n_partitions)
        weights : ndarray of shape (n_draws, n_rows), optional
            How often each row counts, for each of several tables.

        Returns
        -------
        ndarray of shape ([n_draws,] N_SCORE_CELLS, n_columns)
        """
        entries = cells[:, np.newaxis].astype(np.intp) * self.n_columns + self.offsets + bins
        shape = (N_SCORE_CELLS, self.n_columns)
        n_entries = N_SCORE_CELLS * self.n_columns
        if weights is None:
            return np.bincount(entries.ravel(), minlength=n_entries).reshape(shape)
        n_rows, n_bins = entries.shape
        ends = np.arange(0, entries.size + 1, n_bins)
        member = sparse.csr_array(
            (np.ones(entries.size), entries.ravel(), ends), shape=(n_rows, n_entries)
        )
        return (weights @ member).reshape(len(weights), *shape)

    def in_cuts(self, tables: np.ndarray) -> np.ndarray:
        """Rows in every band and cut: shape ([n_tables,] n_bands, n_cuts).

        The products are of whole numbers, which float64 adds exactly in any order.
        """
        return _IN_BAND @ (np.asarray(tables, np.float64) @ self.cuts)

    def values(self, regions: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Turn weights of regions into weights of the entries of the table.

        Summed over the entries of a row, they give the total weight of the regions that contain the
        row.
        """
        of_cuts = np.zeros((len(BANDS), self.cuts.shape[1]))
        of_cuts.flat[regions] = weights
        return _IN_BAND.T @ of_cuts @ self.cuts.T

    def words(self, region: int, names: Sequence[str], thresholds: np.ndarray) -> str:
        """Describe a region.

        Parameters
        ----------
        region : int
            Flat index of band and cut.
        names : sequence of str
            Names of the features that are cut.
        thresholds : ndarray of shape (n_features, 4)
            Where they are cut.
        """
        band, cut = divmod(region, self.cuts.shape[1])
        return f"{self._cut_in_words(cut, names, thresholds)} {_band_in_words(band)}"

    def _cut_in_words(self, cut: int, names: Sequence[str], thresholds: np.ndarray) -> str:
        if cut == 0:
            return "all rows"
        cut -= 1
        n = thresholds.size
        if cut < 2 * n:
            feature, threshold = divmod(cut % n, len(FEATURE_QUANTILES))
            sign = "<=" if cut < n else ">"
            return f"{names[feature]} {sign} {thresholds[feature, threshold]:.6g}"
        cut -= 2 * n
        cells = [f"cluster {i + 1} of {k}" for k in CLUSTERINGS for i in range(k)]
        cells += [f"outside of {cell}" for cell in cells[CLUSTERINGS[0] :]]
        if cut < len(cells):
            return cells[cut]
        q = LEARNED_QUANTILES[cut - len(cells)]
        return f"learned score above its {q:g} quantile"


@functools.lru_cache(maxsize=64)
def region_layout(n_features: int, learned: bool = False) -> RegionLayout:
    """Layout for a number of features; models with the same number share one."""
    return RegionLayout(n_features, learned)


def _band_in_words(band: int) -> str:
    first, last = BANDS[band]
    if first == 0:
        return "at any score"
    low = SCORE_QUANTILES[first - 1]
    if last == N_SCORE_CELLS:
        return f"in the band above the {low:g} quantile"
    return f"in the band between the {low:g} and {SCORE_QUANTILES[last - 1]:g} quantiles"
