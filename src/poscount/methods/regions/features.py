"""What the regions say about a sample, as features: the facts that a calibration learns from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poscount.methods.regions.layout import (
    BANDS,
    LARGEST_SHARE,
    LEARNED_QUANTILES,
    SMALLEST_SHARE,
    RegionLayout,
)

if TYPE_CHECKING:
    from poscount.methods.regions.part import SideCounts
    from poscount.methods.regions.rule import RegionCounts
    from poscount.methods.regions.view import PartView

# Regions are looked at by their share of the positives.
SHARE_LIMITS = (SMALLEST_SHARE, 0.15, 0.3, 0.5, LARGEST_SHARE)
RATIO_QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75)
FEW = 0.02
# Which of PAT's 51 thresholds.
PAT_POINTS = (0, 12, 25, 37, 50)
# Share of the positives above each of PAT's thresholds.
_PASSED = 1 - np.linspace(0.25, 0.75, 51)
N_BEST = 3
DECIMALS = 6

_OF_SHARE = ["high", "high_ratio", "few_high", *(f"ratio_{q:g}" for q in RATIO_QUANTILES)]
FEATURE_NAMES = [
    *("prevalence", "ratio", "null_ratio", "gap", "high"),
    *("region_share", "region_ratio", "region_low", "below_ratio", "near_bound"),
    *("log_positives", "log_rows", "log_features", "core_difference", "log_core_freedom"),
    *("difference", "largest_difference", "mean_distance", "score_difference"),
    *("pat", *(f"pat_{i}" for i in range(len(PAT_POINTS)))),
    *("above_.05", "above_.1", "inside", "near_1", "near_2", "near_4"),
    *(f"log_regions{k}" for k in range(len(SHARE_LIMITS) - 1)),
    *(f"share{k}_{name}" for k in range(len(SHARE_LIMITS) - 1) for name in _OF_SHARE),
    *(f"{kind}_{name}" for kind in ("whole", "features", "clusters") for name in _OF_SHARE[:2]),
    *(f"feature{i}_high" for i in range(N_BEST)),
    "median_feature_high",
    *(f"band{i}_high" for i in range(len(BANDS))),
]
# What the regions say if columns may have been recorded differently: the tolerance, the prevalence
# by the null calibration, and the smallest upper bound.
OF_TOLERANCE = ["tolerance", "tolerant", "tolerant_high"]
# What is known besides where there is a learned score: the smallest upper bound along it, and its
# ratio; the prevalence by the null calibration, and the smallest upper bound, without it, and both
# if columns may have been recorded differently; how well it tells positives from the reference, and
# from the sample; the size of the reference; and the ratio above some quantiles of the score.
LEARNED_POINTS = (1, 3, 5, 7)
OF_LEARNED_SCORE = [
    *("learned_high", "learned_ratio", "rcq", "rcq_high", "rcq_tolerant", "rcq_tolerant_high"),
    *("skill", "skill_in_sample", "log_reference"),
    *(f"learned_above_{LEARNED_QUANTILES[i]:g}" for i in LEARNED_POINTS),
]


def feature_names(*, learned: bool) -> list[str]:
    """Names of what a calibration of RCQ looks at, with or without a learned score."""
    return [*FEATURE_NAMES, *OF_TOLERANCE, *(OF_LEARNED_SCORE if learned else ())]


class RegionFeatures:
    """Sums up the regions of a set of positives for each sample, thousands of samples at once.

    Parameters
    ----------
    layout : RegionLayout
    indices : ndarray of int
        The regions that are used, as flat indices of band and cut.
    in_positives : ndarray
        Positives in each of them.
    n_labeled : int
    """

    def __init__(
        self, layout: RegionLayout, indices: np.ndarray, in_positives: np.ndarray, n_labeled: int
    ) -> None:
        self._n_labeled = n_labeled
        band, cut = np.divmod(indices, layout.cuts.shape[1])
        shares = in_positives / n_labeled
        # A share that is a limit up to its last bit belongs above it.
        classes = np.searchsorted(np.array(SHARE_LIMITS[1:-1]) - 1e-9, shares, side="right")
        self._by_share = [np.flatnonzero(classes == k) for k in range(len(SHARE_LIMITS) - 1)]
        partition = layout.partition_of_cuts[cut]
        n_learned = len(LEARNED_QUANTILES) if layout.learned else 0
        self._learned = np.flatnonzero(cut >= layout.cuts.shape[1] - n_learned)
        kind = np.where(partition >= 0, 1, np.where(cut == 0, 0, 2))
        self._by_kind = [np.flatnonzero(kind == k) for k in range(3)]
        # Regions are in the order of their bands.
        self._bands, self._band_starts = np.unique(band, return_index=True)
        of_features = self._by_kind[1]
        feature = partition[of_features]
        order = np.argsort(feature, kind="stable")
        self._by_feature = of_features[order]
        self._feature_starts = np.flatnonzero(np.diff(feature[order], prepend=-1))

    def of_view(self, view: PartView) -> np.ndarray:
        """Features of each sample: `FEATURE_NAMES`, NaN where there is no such region."""
        found, n_rows, curve = view.found, view.counts.n_rows, view.pat_curve
        n_samples = len(n_rows)
        # C order, so that a group gets the bits that it gets alone.
        ratio, low, high = (np.ascontiguousarray(values) for values in found.bounds)
        near = found.region_high + found.gap / 2
        columns = [
            *(found.prevalence, found.ratio, found.null_ratio, found.gap, found.region_high),
            *(found.region_share, found.region_ratio, found.region_low),
            (low < found.ratio[:, np.newaxis]).mean(axis=1),
            (high <= near[:, np.newaxis]).mean(axis=1),
            np.full(n_samples, np.log(self._n_labeled)),
            np.log(n_rows),
            np.full(n_samples, np.log(len(view.part.columns_.kinds_))),
            *(view.core_difference, np.full(n_samples, np.log(view.part.core_dof_))),
            *_distance(view, self._n_labeled),
            np.abs(curve * _PASSED - _PASSED).max(axis=1)
            / np.sqrt(1 / self._n_labeled + 1 / n_rows),
            *(np.median(curve, axis=1), *curve[:, PAT_POINTS].T),
            *_inside(view.counts, view.side),
            *(np.full(n_samples, np.log1p(len(used))) for used in self._by_share),
        ]
        for used in self._by_share:
            columns += _of_share(ratio, high, used)
        for used in self._by_kind:
            columns += _smallest(ratio, high, used)
        columns += self._best_features(high)
        of_bands = np.full((len(BANDS), n_samples), np.nan)
        of_bands[self._bands] = np.minimum.reduceat(high, self._band_starts, axis=1).T
        columns += list(of_bands)
        return _lines(columns)

    def of_tolerance(self, view: PartView) -> np.ndarray:
        """What is said of each sample if its columns may differ: `OF_TOLERANCE`."""
        found = view.tolerant(view.tolerance)
        return _lines([np.full(len(view), view.tolerance), found.prevalence, found.region_high])

    def of_learned_score(self, view: PartView) -> np.ndarray:
        """What is known of each sample where there is a learned score: `OF_LEARNED_SCORE`."""
        learned, n_cuts = view.part.learned_score_, len(LEARNED_QUANTILES)
        assert learned is not None
        counts, without = view.counts, view.plain
        tolerant = view.plain_tolerant(view.tolerance)
        ratio, _, high = view.found.bounds
        best = _smallest(ratio, high, self._learned)
        above = counts.in_cuts[:, 0, -n_cuts:] / counts.n_rows[:, np.newaxis]
        columns = [
            *(best.high, best.ratio, without.prevalence, without.region_high),
            *(tolerant.prevalence, tolerant.region_high),
            np.full(len(ratio), learned.skill_),
            0.5 - _mean_rank(above),
            np.full(len(ratio), np.log(learned.n_reference_)),
            *(above[:, i] / (1 - LEARNED_QUANTILES[i]) for i in LEARNED_POINTS),
        ]
        return _lines(columns)

    def _best_features(self, high: np.ndarray) -> list[np.ndarray]:
        """The smallest upper bounds of features, and the median one."""
        if not len(self._feature_starts):
            return [np.full(len(high), np.nan)] * (N_BEST + 1)
        of_each = np.minimum.reduceat(high[:, self._by_feature], self._feature_starts, axis=1)
        best = np.sort(of_each, axis=1)
        last = best.shape[1] - 1
        return [best[:, min(i, last)] for i in (*range(N_BEST), best.shape[1] // 2)]


def _lines(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Columns as a line for each sample, NaN where there is nothing."""
    features = np.ascontiguousarray(np.array(columns).T)
    features[~np.isfinite(features)] = np.nan
    # The last bits depend on the machine, and a tree could split between them.
    return features.round(DECIMALS)


class _Smallest(NamedTuple):
    high: np.ndarray
    ratio: np.ndarray


def _mean_rank(above: np.ndarray) -> np.ndarray:
    """Mean rank of rows among the positives, from their shares above the learned quantiles.

    Examples
    --------
    >>> float(_mean_rank(1 - np.array([LEARNED_QUANTILES]))[0].round(9))
    0.5
    """
    nodes, last = [0.0, *LEARNED_QUANTILES, 1.0], np.zeros(len(above))
    return np.trapezoid(np.column_stack([last + 1, above, last]), nodes, axis=1)


def _distance(view: PartView, n_labeled: int) -> Iterator[np.ndarray]:
    """How differently samples and positives are spread over the cuts.

    The mean and the largest squared difference of their shares, in units of their variance if there
    were no difference; and the mean squared difference itself, less what noise explains.
    """
    n_rows = view.counts.n_rows
    shares = view.counts.marginal_counts / n_rows[:, np.newaxis]
    of_positives = view.rule.positives_in_cuts[0, 1:] / n_labeled
    squares = (shares - of_positives) ** 2
    noise = 1 / n_labeled + 1 / n_rows[:, np.newaxis]
    variance = np.maximum(of_positives * (1 - of_positives), 0.02) * noise
    yield (squares / variance).mean(axis=1)
    yield (squares / variance).max(axis=1)
    yield np.sqrt(np.maximum((squares - variance).mean(axis=1), 0))


def _inside(counts: RegionCounts, side: SideCounts) -> Iterator[np.ndarray]:
    """Shares of samples that are not clearly outside of the positives: none can be larger.

    Rows that score above the .05 and .1 quantiles of the positives, as multiples of .95 and .9;
    rows in the range of the number that most rows are outside of, or with the words of a category
    that most rows have other words for; and rows no farther away than
    the farthest positive, or twice or four times as far.
    """
    all_rows, n_rows = counts.in_cuts[:, :, 0], counts.n_rows
    shell, upper_half = (BANDS.index(band) for band in ((1, 5), (5, 8)))
    yield (all_rows[:, shell] + all_rows[:, upper_half]) / n_rows / 0.95
    yield all_rows[:, BANDS.index((2, 8))] / n_rows / 0.9
    outside = side.ranges.below + side.ranges.above
    strange = np.hstack([outside[..., 0], side.missing.unseen])
    yield 1 - strange.max(axis=1) / n_rows
    yield from (1 - side.far.T / n_rows)


def _smallest(ratio: np.ndarray, high: np.ndarray, used: np.ndarray) -> _Smallest:
    """Smallest upper bound of some regions, and the ratio of its region."""
    if not len(used):
        return _Smallest(*np.full((2, len(high)), np.nan))
    at = np.arange(len(high)), used[high[:, used].argmin(axis=1)]
    return _Smallest(high[at], ratio[at])


def _of_share(ratio: np.ndarray, high: np.ndarray, used: np.ndarray) -> list[np.ndarray]:
    """The smallest upper bound and its ratio, the mean of the few smallest, quantiles of ratios."""
    n_regions = len(used)
    if not n_regions:
        return [np.full(len(high), np.nan)] * len(_OF_SHARE)
    n_few = max(1, round(FEW * n_regions))
    # Sorting all of them is faster than finding the smallest.
    few = np.ascontiguousarray(np.sort(high[:, used], axis=1)[:, :n_few])
    ascending = np.sort(ratio[:, used], axis=1)
    places = [round(q * (n_regions - 1)) for q in RATIO_QUANTILES]
    smallest = _smallest(ratio, high, used)
    return [*smallest, few.mean(axis=1), *(ascending[:, place] for place in places)]
