r"""The rule of RCQ and TRCQ: the region that the sample fills least, among very many.

A region that holds a share m of the positives and a share s of the sample says that the prevalence
is at most r = s / m, up to noise: whatever the negatives do, they can only add to it. With
h = (1 - m) / m, n_L positives and n_U rows, the ratio r of a sample with prevalence u has variance
h (u^2 / n_L + u / n_U). So each region bounds the prevalence by the larger root of

.. math:: (u - r)^2 = k^2 h \left(\frac{u^2}{n_L} + \frac{u}{n_U}\right), \qquad k^2 = 2 \ln R

with k the size of the largest of R normal errors, because the smallest of R bounds is taken. The
variance is that at u, not at r: a region that holds few rows by luck would have a small variance at
r, and win. The estimate is the ratio of all regions together, weighted by how close their bounds
come to the smallest.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from poscount.reusable.regions import LARGEST_SHARE, SMALLEST_SHARE, Layout
from poscount.seeds import stream

BANDWIDTH = 0.7
N_PAIRS = 10
LARGEST_NULL_RATIO = 1.2
SMALLEST_CURVATURE = 0.05


class Decision(NamedTuple):
    """What the regions say, for each sample.

    Attributes
    ----------
    ratio : ndarray
        Share of the sample over share of the positives in the weighted regions.
    region : ndarray of int
        The region with the smallest upper bound.
    its_share, its_ratio, its_low, its_high : ndarray
        Its share of the positives, its own ratio, and its bounds on the prevalence.
    weights : ndarray of shape (n_samples, n_regions)
    """

    ratio: np.ndarray
    region: np.ndarray
    its_share: np.ndarray
    its_ratio: np.ndarray
    its_low: np.ndarray
    its_high: np.ndarray
    weights: np.ndarray


def bounds(
    in_sample: np.ndarray, n_unlabeled: np.ndarray, in_positives: np.ndarray, n_labeled: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ratio, lower and upper bound of each region.

    Parameters
    ----------
    in_sample : ndarray of shape (n_samples, n_regions)
        Rows of each sample in each region.
    n_unlabeled : ndarray of shape (n_samples, 1)
    in_positives : ndarray of shape (n_regions,) or (n_samples, n_regions)
    n_labeled : int

    Examples
    --------
    >>> r, low, high = bounds(np.array([[30.0]]), np.array([[200]]), np.array([50.0]), 100)
    >>> float(r[0, 0]), bool(low[0, 0] == high[0, 0] == r[0, 0])  # ln 1 = 0: one region, no search
    (0.3, True)
    """
    share = in_positives / n_labeled
    spread = 2 * math.log(in_sample.shape[1]) * (1 - share) / share
    ratio = in_sample / n_unlabeled / share
    curvature = 1 - spread / n_labeled
    middle = 2 * ratio + spread / n_unlabeled
    usable = curvature > SMALLEST_CURVATURE
    root = np.sqrt(np.maximum(middle**2 - 4 * curvature * ratio**2, 0))
    with np.errstate(divide="ignore"):
        low, high = (
            np.where(usable, (middle + sign * root) / (2 * curvature), sign * np.inf)
            for sign in (-1, 1)
        )
    return ratio, low, high


def decide(
    in_sample: np.ndarray, n_unlabeled: np.ndarray, in_positives: np.ndarray, n_labeled: int
) -> Decision:
    """Smallest bound, and the weighted ratio near it; parameters as those of `bounds`."""
    ratios, lower, upper = bounds(in_sample, n_unlabeled, in_positives, n_labeled)
    region = upper.argmin(axis=1)
    shares = np.broadcast_to(in_positives / n_labeled, upper.shape)
    chosen = np.arange(len(upper)), region
    share, ratio, low, high = (values[chosen] for values in (shares, ratios, lower, upper))
    sd = np.sqrt((1 - share) / share * (high**2 / n_labeled + high / n_unlabeled[:, 0]))
    # A lone region without rows has no spread.
    width = np.maximum(BANDWIDTH * sd, np.finfo(float).tiny)[:, np.newaxis]
    weights = np.exp(-(upper - high[:, np.newaxis]) / width)
    together = (weights * in_sample / n_unlabeled).sum(axis=1) / (weights * shares).sum(axis=1)
    return Decision(together, region, share, ratio, low, high, weights)


class Findings(NamedTuple):
    """What the rule finds, for each sample.

    Attributes
    ----------
    prevalence : ndarray
    n_rows : ndarray of int
    null_ratio : ndarray
        The ratio in samples of positives alone.
    gap : ndarray
        How far the smallest upper bound is above the ratio.
    decision : Decision
        Its regions are those of the rule, `RegionRule.regions`.
    in_cuts : ndarray of shape (n_samples, n_bands, n_cuts)
        Rows in every band and cut.
    """

    prevalence: np.ndarray
    n_rows: np.ndarray
    null_ratio: np.ndarray
    gap: np.ndarray
    decision: Decision
    in_cuts: np.ndarray


class RegionRule:
    """From tables of counts to prevalences.

    Parameters
    ----------
    layout : Layout
    binned : ndarray of uint8, shape (n_labeled, 1 + n_partitions)
        Score cell and bins of every positive.
    seed : int
    exponent : int
        Of the calibration.

    Attributes
    ----------
    regions : ndarray of int
        Bands and cuts, as flat indices, that hold neither too few nor too many positives.
    positives_in_cuts : ndarray of shape (n_bands, n_cuts)
        Positives in every band and cut.
    in_positives : ndarray
        Positives in each of the regions.
    """

    def __init__(self, layout: Layout, binned: np.ndarray, seed: int, exponent: int = 2) -> None:
        self.layout = layout
        self.cells, self.bins = binned[:, 0], binned[:, 1:]
        self.seed = seed
        self.exponent = exponent
        table = layout.tabulate(self.cells, self.bins)
        self.positives_in_cuts = layout.in_cuts(table)
        share = self.positives_in_cuts.ravel() / len(binned)
        # A band above the .1 quantile is meant to be in, whatever the last bit says.
        enough = (share >= SMALLEST_SHARE - 1e-9) & (share <= LARGEST_SHARE + 1e-9)
        self.regions = np.flatnonzero(enough)
        self.in_positives = self.positives_in_cuts.ravel()[self.regions]
        self._nulls: dict[int, float] = {}

    def find(self, tables: np.ndarray, n_rows: np.ndarray) -> Findings:
        """Prevalences of samples from their tables, of shape (n_samples, cells, columns)."""
        in_cuts = self.layout.in_cuts(tables)
        # C order, as `take` gives it, so that a group gets the bits that it gets alone.
        counted = in_cuts.reshape(len(tables), -1).take(self.regions, axis=1)
        decision = decide(counted, n_rows[:, np.newaxis], self.in_positives, len(self.cells))
        points = [grid_point(int(n)) for n in n_rows]
        null = np.array([self.null_ratio(point) for point in points])
        return Findings(
            calibrated(decision.ratio, null, self.exponent),
            n_rows,
            null,
            np.maximum(decision.its_high - decision.ratio, 0),
            decision,
            in_cuts,
        )

    def spread(self, weights: np.ndarray) -> float:
        """Variance of the weight that a positive carries, over the square of its mean.

        It is to the weighted ratio of many regions what (1 - m) / m is to that of one.
        """
        values = self.layout.values(self.regions, weights)
        columns = self.layout.offsets + self.bins
        carried = values[self.cells[:, np.newaxis], columns].sum(axis=1)
        return float(carried.var() / carried.mean() ** 2)

    def ratios(self, tables: np.ndarray, n_rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weighted ratio of samples, with weights that somebody else has chosen."""
        counted = self._counted(tables)
        return counted @ weights / n_rows / (self.in_positives @ weights / len(self.cells))

    def bounds(
        self, tables: np.ndarray, n_rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ratio, lower and upper bound of every region, for each sample (see `bounds`)."""
        counted = self._counted(tables)
        return bounds(counted, n_rows[:, np.newaxis], self.in_positives, len(self.cells))

    def _counted(self, tables: np.ndarray) -> np.ndarray:
        return self.layout.in_cuts(tables).reshape(len(tables), -1)[:, self.regions]

    def null_ratio(self, point: int) -> float:
        """Mean ratio of samples of positives alone, in which it ought to be 1.

        The smallest of many ratios is too small. How much is seen by drawing positives and a
        sample of 2^(point/2) rows from the positives themselves, ten times. The seed depends on the
        point alone, so that keeping the result, as is done, changes nothing.
        """
        if point not in self._nulls:
            self._nulls[point] = self._draw_null_ratio(point)
        return self._nulls[point]

    def _draw_null_ratio(self, point: int) -> float:
        n_labeled, n_unlabeled = len(self.cells), round(2 ** (point / 2))
        generator = stream(self.seed, f"calibration {point}")
        weights = np.concatenate(
            [_redraw(n_labeled, n, generator) for n in (n_labeled, n_unlabeled)]
        )
        tables = self.layout.tabulate(self.cells, self.bins, weights)
        counted = self._counted(tables)
        # Half a row less than none or all, so that every region has a ratio and a spread.
        in_positives = np.clip(counted[:N_PAIRS], 0.5, n_labeled - 0.5)
        n_rows = np.full((N_PAIRS, 1), n_unlabeled)
        decision = decide(counted[N_PAIRS:], n_rows, in_positives, n_labeled)
        return float(np.minimum(decision.ratio, LARGEST_NULL_RATIO).mean())


def _redraw(n_rows: int, n_drawn: int, generator: np.random.Generator) -> np.ndarray:
    """How often each row comes when some are drawn with replacement; one line per pair."""
    if n_drawn > 16 * n_rows:  # then one binomial per row is cheaper than the rows one by one
        return generator.multinomial(n_drawn, np.full(n_rows, 1 / n_rows), N_PAIRS)
    drawn = generator.integers(n_rows, size=(N_PAIRS, n_drawn))
    place = drawn + n_rows * np.arange(N_PAIRS)[:, np.newaxis]
    return np.bincount(place.ravel(), minlength=N_PAIRS * n_rows).reshape(N_PAIRS, n_rows)


def grid_point(n_unlabeled: int) -> int:
    """Nearest k with n_unlabeled = 2^(k/2): close sizes share one calibration.

    Examples
    --------
    >>> [grid_point(n) for n in (1, 2, 3, 1000, 1024, 1100)]
    [0, 2, 3, 20, 20, 20]
    """
    return round(2 * math.log2(n_unlabeled))


def calibrated(ratio: np.ndarray, null: np.ndarray, exponent: int) -> np.ndarray:
    """Prevalence from the ratio: stretched so that samples of positives alone give 1.

    The smaller the ratio, the less is there to choose from by luck, and the less it is stretched.
    """
    near_one = np.minimum(1, ratio / null) ** exponent
    return np.minimum(1, ratio * (1 + (1 / null - 1) * near_one))


def interval(ratio: float, prevalence: float, gap: float, confidence: float) -> tuple[float, float]:
    """Lower and upper end from the gap between the smallest bound and the ratio.

    At 95 % the ratio minus the gap, and the prevalence plus three quarters of it; at other levels
    the gap is scaled by (z / 1.96)^1.27. The constants were fitted to coverage. The lower end
    starts from the ratio before the calibration, which is right only where no negatives are in
    the regions: where there are some, the ratio is too large already, and not too small by luck.

    Examples
    --------
    >>> interval(0.48, 0.5, 0.04, 0.95)
    (0.44, 0.53)
    """
    scaled = gap * float(ndtri((1 + confidence) / 2) / ndtri(0.975)) ** 1.27
    return max(0.0, min(ratio, prevalence) - scaled), min(1.0, prevalence + 0.75 * scaled)
