r"""The rule of RCQ and TRCQ: find the regions where positives are common but the sample is sparse.

If a region holds a share m of the positives and a share s of the sample, the prevalence is at most
r = s / m, up to noise, because negatives can only add rows to the region. With h = (1 - m) / m, n_L
positives and n_U rows, the ratio r of a sample with prevalence u has variance
h (u^2 / n_L + u / n_U). So each region bounds the prevalence by the larger root of

.. math:: (u - r)^2 = k^2 h \left(\frac{u^2}{n_L} + \frac{u}{n_U}\right), \qquad k^2 = 2 \ln R

with k the size of the largest of R normal errors, because the smallest of R bounds is taken. The
variance is the one at u, not at r: at r, a region with few rows by chance would have a small
variance and win. The estimate is the ratio of all regions together, weighted by how close their
bounds are to the smallest.

If something is known about the other rows of the sample, such as the shares of other targets, what
they explain is subtracted from the counts. Its variance v, as a share of the sample, is then part
of the bounds: the right-hand side gets a second term, k^2 v / m^2. So is that of m itself, if the
positives of the sample may have been recorded a little differently: u^2 times the variance of m.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from poscount.checks.few_positives import FEWEST_POSITIVES
from poscount.methods.regions.features import RegionFeatures
from poscount.methods.regions.layout import (
    CORE,
    LARGEST_SHARE,
    SMALLEST_SHARE,
    CutNames,
    RegionLayout,
)
from poscount.methods.regions.rule_kernel import compiled_bound
from poscount.seeds import stream

BANDWIDTH = 0.7
# Of the calibration, and with a learned score, by which more of the negatives are left behind.
EXPONENT, LEARNED_EXPONENT = 2, 3
N_PAIRS = 10
LARGEST_NULL_RATIO = 1.2
SMALLEST_CURVATURE = 0.05
# A category has vanished if the sample has less than so much of what it would have if all were
# positives, and so many of the positives have it.
HARDLY, FREQUENT = 0.05, 0.1


@dataclass(frozen=True)
class RegionEstimates:
    """What the regions say about each sample.

    Attributes
    ----------
    ratio : ndarray
        Share of the sample over share of the positives in the weighted regions.
    region : ndarray of int
        The region with the smallest upper bound.
    region_share, region_ratio, region_low, region_high : ndarray
        Share of the positives in that region, its ratio, and its bounds on the prevalence.
    weights : ndarray of shape (n_samples, n_regions)
        Weight of each region.
    bounds : tuple of three ndarrays of shape (n_samples, n_regions)
        Ratio, lower and upper bound of each region.
    null_ratio : ndarray
        The ratio in samples of positives alone.
    exponent : int
        Of the correction by it.
    """

    ratio: np.ndarray
    region: np.ndarray
    region_share: np.ndarray
    region_ratio: np.ndarray
    region_low: np.ndarray
    region_high: np.ndarray
    weights: np.ndarray
    bounds: tuple[np.ndarray, np.ndarray, np.ndarray]
    null_ratio: np.ndarray | float = 1.0
    exponent: int = EXPONENT

    @functools.cached_property
    def prevalence(self) -> np.ndarray:
        """The ratio, stretched so that samples of positives alone give 1.

        The smaller the ratio, the smaller the effect of choosing among many regions, and the less
        it is stretched.
        """
        near_one = np.minimum(1, self.ratio / self.null_ratio) ** self.exponent
        return np.minimum(1, self.ratio * (1 + (1 / self.null_ratio - 1) * near_one))

    @functools.cached_property
    def gap(self) -> np.ndarray:
        """How far the smallest upper bound is above the ratio."""
        return np.maximum(self.region_high - self.ratio, 0)


def bounds(
    in_sample: np.ndarray,
    n_unlabeled: np.ndarray,
    in_positives: np.ndarray,
    n_labeled: int,
    noise: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ratio, lower and upper bound of each region.

    Parameters
    ----------
    in_sample : ndarray of shape (n_samples, n_regions)
        Rows of each sample in each region.
    n_unlabeled : ndarray of shape (n_samples, 1)
    in_positives : ndarray of shape (n_regions,) or (n_samples, n_regions)
    n_labeled : int
    noise : ndarray of shape (n_samples, n_regions), optional
        Variance of the rows besides that of drawing them, as a share of the sample.

    Examples
    --------
    >>> r, low, high = bounds(np.array([[30.0]]), np.array([[200]]), np.array([50.0]), 100)
    >>> float(r[0, 0]), bool(low[0, 0] == high[0, 0] == r[0, 0])  # ln 1 = 0: one region, no search
    (0.3, True)
    """
    share = in_positives / n_labeled
    search = 2 * math.log(in_sample.shape[1])
    spread = search * (1 - share) / share
    curvature = 1 - spread / n_labeled
    usable = curvature > SMALLEST_CURVATURE
    of_noise = np.atleast_2d(search * noise / share**2)
    compiled = compiled_bound(*in_sample.shape) if share.ndim == 1 else None
    if compiled is not None:
        ratio, low, high = np.empty((3, *in_sample.shape))
        n_rows = np.array(n_unlabeled[:, 0], np.float64)
        rows = np.require(in_sample, np.float64, ("C", "W"))
        compiled(rows, n_rows, share, spread, curvature, usable, of_noise, ratio, low, high)
        return ratio, low, high
    ratio = in_sample / n_unlabeled / share
    middle = 2 * ratio + spread / n_unlabeled
    root = np.sqrt(np.maximum(middle**2 - 4 * curvature * (ratio**2 - of_noise), 0))
    with np.errstate(divide="ignore"):
        low, high = (
            np.where(usable, (middle + sign * root) / (2 * curvature), sign * np.inf)
            for sign in (-1, 1)
        )
    # More may have been subtracted than there was; no prevalence is below 0.
    return ratio, low, np.maximum(high, 0)


def decide(
    in_sample: np.ndarray,
    n_unlabeled: np.ndarray,
    in_positives: np.ndarray,
    n_labeled: int,
    noise: np.ndarray | float = 0.0,
) -> RegionEstimates:
    """Find the smallest bound and the weighted ratio near it; parameters as in `bounds`."""
    of_regions = bounds(in_sample, n_unlabeled, in_positives, n_labeled, noise)
    ratios, lower, upper = of_regions
    region = upper.argmin(axis=1)
    shares = np.broadcast_to(in_positives / n_labeled, upper.shape)
    chosen = np.arange(len(upper)), region
    share, ratio, low, high = (values[chosen] for values in (shares, ratios, lower, upper))
    of_noise = np.broadcast_to(noise, upper.shape)[chosen] / share**2
    variance = (1 - share) / share * (high**2 / n_labeled + high / n_unlabeled[:, 0])
    sd = np.sqrt(variance + of_noise)
    # A single region without rows has no spread.
    width = np.maximum(BANDWIDTH * sd, np.finfo(float).tiny)
    weights = np.exp((high[:, np.newaxis] - upper) / width[:, np.newaxis])
    of_sample, of_positives = weights * in_sample / n_unlabeled, weights * shares
    together = np.maximum(of_sample.sum(axis=1) / of_positives.sum(axis=1), 0)
    return RegionEstimates(together, region, share, ratio, low, high, weights, of_regions)


class RegionCounts(NamedTuple):
    """Rows of samples in every band and cut.

    Attributes
    ----------
    in_cuts : ndarray of shape (n_samples, n_bands, n_cuts)
    n_rows : ndarray of int, shape (n_samples,)
        All rows of each sample.
    noise : ndarray of shape (n_samples, n_bands, n_cuts), optional
        Variance of `in_cuts` besides that of drawing rows, as a share of the sample: of what was
        subtracted, or of how the positives were recorded.
    """

    in_cuts: np.ndarray
    n_rows: np.ndarray
    noise: np.ndarray | None = None

    @property
    def marginal_counts(self) -> np.ndarray:
        """Rows in every cut at any score, of shape (n_samples, n_cuts)."""
        return self.in_cuts[..., 0, 1:]


class RegionBounds(NamedTuple):
    """What one region says about the prevalence.

    Attributes
    ----------
    where : str
        The region in words.
    share : float
        Share of the positives in it.
    ratio : float
        Share of the sample over share of the positives: the prevalence if the region is free of
        negatives.
    low, high : float
        Bounds on the prevalence; `high` holds for any negatives.
    """

    where: str
    share: float
    ratio: float
    low: float
    high: float


class RegionRule:
    """The regions of a set of positives, and the rule from counts in them to prevalences.

    Parameters
    ----------
    layout : RegionLayout
        Which regions there are.
    binned : ndarray of uint8, shape (n_labeled, 1 + n_partitions)
        Score cell and bins of every positive.
    names : CutNames
        What the cuts are called.
    seed : int
        Of the calibration.

    Attributes
    ----------
    exponent : int
        Of the calibration.
    indices : ndarray of int
        The regions that are used: those that hold neither too few nor too many positives. Each is a
        flat index of band and cut.
    in_positives : ndarray
        Positives in each of them.
    positives_in_cuts : ndarray of shape (n_bands, n_cuts)
        Positives in every band and cut, used or not.
    """

    def __init__(
        self,
        layout: RegionLayout,
        binned: np.ndarray,
        names: CutNames,
        seed: int,
    ) -> None:
        self.layout = layout
        self.binned = binned
        self.names = names
        self.seed = seed
        self.exponent = LEARNED_EXPONENT if layout.learned else EXPONENT
        table = layout.tabulate(binned[:, 0], binned[:, 1:])
        self.positives_in_cuts = layout.in_cuts(table)
        share = self.positives_in_cuts.ravel() / len(binned)
        # A band above the .1 quantile is meant to be used, whatever the last bit says.
        enough = (share >= SMALLEST_SHARE - 1e-9) & (share <= LARGEST_SHARE + 1e-9)
        self.indices = np.flatnonzero(enough)
        self.in_positives = self.positives_in_cuts.ravel()[self.indices]
        self._nulls: dict[int, float] = {}

    @functools.cached_property
    def without_learned_score(self) -> RegionRule:
        """The rule of the other regions."""
        layout = self.layout.without_learned_score
        return RegionRule(layout, self.binned[:, :-1], self.names, self.seed)

    @property
    def enough_positives(self) -> bool:
        """Whether there are enough positives, and regions, for the rule."""
        return len(self.binned) >= FEWEST_POSITIVES and len(self.indices) >= 2

    def estimate(self, counts: RegionCounts) -> RegionEstimates:
        """What the regions say about samples, from their counts."""
        n_rows = counts.n_rows[:, np.newaxis]
        # C order, so that a group gets the bits that it gets alone.
        used = np.ascontiguousarray(self._used(counts.in_cuts))
        found = decide(used, n_rows, self.in_positives, len(self.binned), self._used_noise(counts))
        sizes, which = np.unique(counts.n_rows, return_inverse=True)
        null = np.array([self.null_ratio(grid_point(n)) for n in sizes.tolist()])[which]
        return dataclasses.replace(found, null_ratio=null, exponent=self.exponent)

    def ratios(self, counts: RegionCounts, weights: np.ndarray) -> np.ndarray:
        """Weighted ratio of each sample, with weights given by the caller."""
        of_positives = self.in_positives @ weights / len(self.binned)
        return self._used(counts.in_cuts) @ weights / counts.n_rows / of_positives

    def spread(self, weights: np.ndarray) -> float:
        """Variance of the weight that a positive carries, over the square of its mean.

        It is for the weighted ratio of many regions what (1 - m) / m is for the ratio of one.
        """
        values = self.layout.values(self.indices, weights)
        columns = self.layout.offsets + self.binned[:, 1:]
        row_weight = values[self.binned[:, :1], columns].sum(axis=1)
        return float(row_weight.var() / row_weight.mean() ** 2)

    def describe(self, region: int) -> str:
        """Describe a region, given by its place in `indices`."""
        return self.layout.describe(int(self.indices[region]), self.names)

    @functools.cached_property
    def features(self) -> RegionFeatures:
        """Sums up what the regions say about a sample."""
        return RegionFeatures(self.layout, self.indices, self.in_positives, len(self.binned))

    @functools.cached_property
    def _core_cuts(self) -> np.ndarray:
        """Places of the cuts by which two cores are compared."""
        below = np.arange(self.layout.feature_cuts.start, self.layout.feature_cuts.stop)
        used = below[np.isfinite(self.names.thresholds.ravel())]
        return np.concatenate([used, self.layout.value_cuts])

    @functools.cached_property
    def core_cuts(self) -> list[tuple[str, str]]:
        """The feature of each cut by which two cores are compared, and the cut in words."""
        features = [*self.names.numbers, *self.names.categories]
        return [
            (
                features[self.layout.partition_of_cuts[cut]],
                self.layout.describe_cut(cut, self.names),
            )
            for cut in self._core_cuts.tolist()
        ]

    def core(self, in_cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the core in each of `core_cuts`, and all rows of the core.

        Parameters
        ----------
        in_cuts : ndarray of shape (..., n_bands, n_cuts)
            From `RegionCounts`.
        """
        return in_cuts[..., CORE, :].take(self._core_cuts, axis=-1), in_cuts[..., CORE, 0]

    @property
    def core_of_positives(self) -> tuple[np.ndarray, np.ndarray]:
        """The same as `core`, for the positives."""
        return self.core(self.positives_in_cuts)

    def core_shares(self, counts: RegionCounts) -> np.ndarray:
        """Rows of samples in the core, as a share of what samples of positives alone have."""
        _, in_core = self.core(counts.in_cuts)
        _, of_positives = self.core_of_positives
        expected = counts.n_rows * of_positives / len(self.binned)
        return in_core / np.maximum(expected, np.finfo(float).tiny)

    def below(self, in_cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of samples, and positives, at or below each cut of each feature, at any score."""
        shape = self.names.thresholds.shape
        cuts = self.layout.feature_cuts
        of_samples, of_positives = in_cuts[:, 0, cuts], self.positives_in_cuts[0, cuts]
        return of_samples.reshape(len(in_cuts), *shape), of_positives.reshape(shape)

    def vanished_categories(self, counts: RegionCounts) -> np.ndarray:
        """Largest share of the positives with one category that hardly a row of a sample has.

        Returns
        -------
        ndarray of shape (n_samples, n_categories)
            0 where samples have all categories that a tenth of the positives have.
        """
        layout = self.layout
        cuts = layout.value_cuts[len(layout.gapped) :]
        shares = self.positives_in_cuts[0, cuts] / len(self.binned)
        limit = HARDLY * shares * counts.n_rows[:, np.newaxis]
        gone = (shares >= FREQUENT) & (counts.in_cuts[:, 0, cuts] < limit)
        column = layout.partition_of_cuts[cuts] - layout.n_features
        found = np.zeros((len(counts.n_rows), len(layout.categories)))
        for j in range(found.shape[1]):
            found[:, j] = np.where(gone, shares, 0.0)[:, column == j].max(axis=1, initial=0.0)
        return found

    def _used(self, of_cuts: np.ndarray) -> np.ndarray:
        return of_cuts.reshape(len(of_cuts), -1)[:, self.indices]

    def _used_noise(self, counts: RegionCounts) -> np.ndarray | float:
        return 0.0 if counts.noise is None else np.ascontiguousarray(self._used(counts.noise))

    def null_ratio(self, point: int) -> float:
        """Mean ratio in samples of positives alone, which should be 1.

        The smallest of many ratios is too small. By how much is found by drawing positives and a
        sample of 2^(point/2) rows from the positives themselves, ten times. The seed depends on the
        point alone, so results can be kept.
        """
        if point not in self._nulls:
            self._nulls[point] = self._draw_null_ratio(point)
        return self._nulls[point]

    def _draw_null_ratio(self, point: int) -> float:
        n_labeled, n_unlabeled = len(self.binned), round(2 ** (point / 2))
        generator = stream(self.seed, f"calibration {point}")
        weights = np.concatenate(
            [_redraw(n_labeled, n, generator) for n in (n_labeled, n_unlabeled)]
        )
        tables = self.layout.tabulate(self.binned[:, 0], self.binned[:, 1:], weights)
        counted = self._used(self.layout.in_cuts(tables))
        # At least half a row in and half a row out, so that every region has a ratio and a spread.
        in_positives = np.clip(counted[:N_PAIRS], 0.5, n_labeled - 0.5)
        n_rows = np.full((N_PAIRS, 1), n_unlabeled)
        found = decide(counted[N_PAIRS:], n_rows, in_positives, n_labeled)
        return float(np.minimum(found.ratio, LARGEST_NULL_RATIO).mean())


def _redraw(n_rows: int, n_drawn: int, generator: np.random.Generator) -> np.ndarray:
    """How often each row is drawn, with replacement; one line per pair."""
    if n_drawn > 16 * n_rows:  # then one binomial per row is faster than drawing rows one by one
        return generator.multinomial(n_drawn, np.full(n_rows, 1 / n_rows), N_PAIRS)
    drawn = generator.integers(n_rows, size=(N_PAIRS, n_drawn))
    place = drawn + n_rows * np.arange(N_PAIRS)[:, np.newaxis]
    return np.bincount(place.ravel(), minlength=N_PAIRS * n_rows).reshape(N_PAIRS, n_rows)


def grid_point(n_unlabeled: int) -> int:
    """Nearest k with n_unlabeled = 2^(k/2): samples of similar size share one calibration.

    Examples
    --------
    >>> [grid_point(n) for n in (1, 2, 3, 1000, 1024, 1100)]
    [0, 2, 3, 20, 20, 20]
    """
    return round(2 * math.log2(n_unlabeled))


def interval_from_gap(
    ratio: np.ndarray, prevalence: np.ndarray, gap: np.ndarray, confidence: float | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end from the gap between the smallest bound and the ratio.

    At 95 % the ratio minus the gap, and the prevalence plus three quarters of it; at other levels
    the gap is scaled by (z / 1.96)^1.27. The constants were fitted to coverage. The lower end
    starts from the ratio before the calibration, because the calibration is right only where there
    are no negatives in the regions; where there are some, the ratio is too large already.

    Examples
    --------
    >>> low, high = interval_from_gap(np.array([0.48]), np.array([0.5]), np.array([0.04]), 0.95)
    >>> low.tolist(), high.tolist()
    ([0.44], [0.53])
    """
    scaled = gap * (ndtri((1 + confidence) / 2) / ndtri(0.975)) ** 1.27
    low = np.maximum(0.0, np.minimum(ratio, prevalence) - scaled)
    return low, np.minimum(1.0, prevalence + 0.75 * scaled)
