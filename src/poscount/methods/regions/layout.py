"""Which regions RCQ and TRCQ look at, and how a table of counts gives the rows in each.

Rows are counted once, into a table of score cells times the bins of every partition of the space
(the five bins of a number and one for missing ones, the values of a category, the cells of a
clustering). A region is a union of score cells (a band) and a union of bins of one partition (a
cut), so its count is a sum of entries of the table. A row whose value no positive has, such as a
missing number where none is missing among the positives, is in no bin of that partition.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

SCORE_QUANTILES = (0.05, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75)
N_SCORE_CELLS = len(SCORE_QUANTILES) + 1
# First and last score cell, the last one excluded: everything, the tails, and a shell.
BANDS = ((0, 8), (2, 8), (3, 8), (4, 8), (5, 8), (6, 8), (7, 8), (1, 5))
CORE = 3
# PAT's thresholds along the same score, and the share of the positives in each of its cells.
PAT_QUANTILES = np.linspace(0.25, 0.75, 51)
PAT_SHARES = np.diff(PAT_QUANTILES, prepend=0.0, append=1.0)
# Of the positives in a region that is used.
SMALLEST_SHARE, LARGEST_SHARE = 0.08, 0.9
FEATURE_QUANTILES = (0.2, 0.4, 0.6, 0.8)
N_BINS = len(FEATURE_QUANTILES) + 1
# Of a row whose value no positive has.
NO_BIN = 255
CLUSTERINGS = (2, 3, 4)
LEARNED_QUANTILES = tuple(i / 10 for i in range(1, 9))

_IN_BAND = np.array([[a <= cell < b for cell in range(N_SCORE_CELLS)] for a, b in BANDS], float)


class CutNames(NamedTuple):
    """What cuts are called.

    Attributes
    ----------
    numbers : sequence of str
        Names of the numeric features that are cut.
    thresholds : ndarray of shape (n_features, 4)
        Where they are cut.
    categories : sequence of str
        Names of the features that are categories.
    values : sequence of sequences of str
        The values of each.
    """

    numbers: Sequence[str]
    thresholds: np.ndarray
    categories: Sequence[str] = ()
    values: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class RegionLayout:
    """How the table of counts is laid out, and which regions it contains.

    Parameters
    ----------
    n_features : int
        Number of numeric features that are cut into five bins each.
    learned : bool
        Whether there is a last partition, the nine bins of a score learned from the sample.
    gapped : tuple of int
        Those of the features that have a sixth bin, because some positives have no value.
    categories : tuple of int
        Number of values of each feature that is a category.
    """

    n_features: int
    learned: bool = False
    gapped: tuple[int, ...] = ()
    categories: tuple[int, ...] = ()

    @functools.cached_property
    def widths(self) -> np.ndarray:
        """Number of bins of each partition: numbers, categories, clusterings, learned score."""
        features = [N_BINS + (j in self.gapped) for j in range(self.n_features)]
        learned = [len(LEARNED_QUANTILES) + 1] if self.learned else []
        return np.array([*features, *self.categories, *CLUSTERINGS, *learned])

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

        The order of the cuts: all rows; each number up to its quantiles; each number above them;
        each number missing, and each of these present; each value of a category; all other values,
        for those of more than two; the cells of the clusterings; the complements of cells of more
        than two; the learned score above its quantiles.
        """
        members = [columns for _, columns in self._members()]
        matrix = np.zeros((self.n_columns, len(members)))
        for cut, columns in enumerate(members):
            matrix[columns, cut] = 1
        return matrix

    @functools.cached_property
    def partition_of_cuts(self) -> np.ndarray:
        """The feature that each cut is of; -1 for all rows, clusterings and the learned score."""
        return np.array([feature for feature, _ in self._members()])

    @functools.cached_property
    def without_learned_score(self) -> RegionLayout:
        """The layout of the other partitions."""
        return RegionLayout(self.n_features, False, self.gapped, self.categories)

    def _members(self) -> Iterator[tuple[int, np.ndarray]]:
        """The feature of each cut, and its columns."""
        bins = [start + np.arange(n) for start, n in zip(self.offsets, self.widths, strict=True)]
        n_numbers, n_features = self.n_features, self.n_features + len(self.categories)
        clusters = bins[n_features : n_features + len(CLUSTERINGS)]
        thresholds = range(1, N_BINS)
        yield -1, clusters[0]
        for j in range(n_numbers):
            yield from ((j, bins[j][:i]) for i in thresholds)
        for j in range(n_numbers):
            yield from ((j, bins[j][i:N_BINS]) for i in thresholds)
        for j in self.gapped:
            yield j, bins[j][N_BINS:]
            yield j, bins[j][:N_BINS]
        for j in range(n_numbers, n_features):
            yield from ((j, bins[j][[i]]) for i in range(len(bins[j])))
            if len(bins[j]) > 2:
                yield from ((j, np.delete(bins[j], i)) for i in range(len(bins[j])))
        for columns in clusters:
            yield from ((-1, columns[[i]]) for i in range(len(columns)))
        for columns in clusters[1:]:
            yield from ((-1, np.delete(columns, i)) for i in range(len(columns)))
        if self.learned:
            yield from ((-1, bins[-1][i:]) for i in range(1, len(bins[-1])))

    @property
    def feature_cuts(self) -> slice:
        """The cuts "feature <= quantile"."""
        return slice(1, 1 + self.n_features * len(FEATURE_QUANTILES))

    @functools.cached_property
    def value_cuts(self) -> np.ndarray:
        """The cuts "number is missing" and "category is this value", as places."""
        first = 1 + 2 * self.n_features * len(FEATURE_QUANTILES)
        missing = [first + 2 * i for i in range(len(self.gapped))]
        first += 2 * len(self.gapped)
        values: list[int] = []
        for n in self.categories:
            values += range(first, first + n)
            first += n if n <= 2 else 2 * n
        return np.array([*missing, *values], np.intp)

    def tabulate(
        self, cells: np.ndarray, bins: np.ndarray, weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Count rows into a table, from the score cell and the bins of each.

        Parameters
        ----------
        cells : ndarray of shape (n_rows,)
        bins : ndarray of shape (n_rows, n_partitions)
            `NO_BIN` where a row is in none.
        weights : ndarray of shape (n_draws, n_rows), optional
            How often each row counts, for each of several tables; then every row is in a bin of
            every partition.

        Returns
        -------
        ndarray of shape ([n_draws,] N_SCORE_CELLS, n_columns)
        """
        entries = cells[:, np.newaxis].astype(np.intp) * self.n_columns + self.offsets + bins
        shape = (N_SCORE_CELLS, self.n_columns)
        n_entries = N_SCORE_CELLS * self.n_columns
        if weights is None:
            # Behind the last column if a row is in no bin.
            entries[bins == NO_BIN] = n_entries
            counted = np.bincount(entries.ravel(), minlength=n_entries + 1)
            return counted[:-1].reshape(shape)
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

    def describe(self, region: int, names: CutNames) -> str:
        """Describe a region, given by its flat index of band and cut."""
        band, cut = divmod(region, self.cuts.shape[1])
        return f"{self.describe_cut(cut, names)} {_describe_band(band)}"

    def describe_cut(self, cut: int, names: CutNames) -> str:
        """Describe a cut."""
        if cut == 0:
            return "all rows"
        cut -= 1
        n = names.thresholds.size
        if cut < 2 * n:
            feature, threshold = divmod(cut % n, len(FEATURE_QUANTILES))
            sign = "<=" if cut < n else ">"
            return f"{names.numbers[feature]} {sign} {names.thresholds[feature, threshold]:.6g}"
        cut -= 2 * n
        cells = []
        for j in self.gapped:
            cells += [f"{names.numbers[j]} is missing", f"{names.numbers[j]} is not missing"]
        for name, values in zip(names.categories, names.values, strict=True):
            cells += [f"{name} is {value}" for value in values]
            if len(values) > 2:
                cells += [f"{name} is not {value}" for value in values]
        clusters = [f"cluster {i + 1} of {k}" for k in CLUSTERINGS for i in range(k)]
        cells += clusters
        cells += [f"outside of {cell}" for cell in clusters[CLUSTERINGS[0] :]]
        if cut < len(cells):
            return cells[cut]
        q = LEARNED_QUANTILES[cut - len(cells)]
        return f"learned score above its {q:g} quantile"


def _describe_band(band: int) -> str:
    first, last = BANDS[band]
    if first == 0:
        return "at any score"
    low = SCORE_QUANTILES[first - 1]
    if last == N_SCORE_CELLS:
        return f"in the band above the {low:g} quantile"
    return f"in the band between the {low:g} and {SCORE_QUANTILES[last - 1]:g} quantiles"
