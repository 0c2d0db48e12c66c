"""What many samples have in the regions, as compiled loops; each has its equal in numpy.

Only what gives the same bits in any order is here: sums of whole numbers, formulas for each region
by itself, and comparisons. Sums of other numbers are left to numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from poscount import compiling

# For fewer samples, nobody should wait for machine code.
FEWEST_SAMPLES = 32
# Samples whose ratios are sorted side by side. Indices are without a sign where they come from
# memory, which saves the question whether they count from the end.
LANES = 32


def sum_cuts(
    tables: np.ndarray,
    members: np.ndarray,
    starts: np.ndarray,
    bands: np.ndarray,
    of_cells: np.ndarray,
    in_cuts: np.ndarray,
) -> None:
    """Rows in every band and cut, as `RegionLayout.in_cuts`.

    Parameters
    ----------
    tables : ndarray of int64, shape (n_samples, n_score_cells, n_columns)
    members, starts : ndarray of uint64 and of int64
        Columns of all cuts, one after the other, and where those of each cut start.
    bands : ndarray of int64, shape (n_bands, 2)
        First and last score cell, the last one excluded.
    of_cells : ndarray of int64, shape (n_score_cells, n_cuts)
        Work space.
    in_cuts : ndarray of shape (n_samples, n_bands, n_cuts)
        Becomes the result.
    """
    n_cells, n_cuts = of_cells.shape
    for sample in range(len(tables)):
        for cell in range(n_cells):
            row = tables[sample, cell]
            for cut in range(n_cuts):
                total = 0
                for i in range(starts[cut], starts[cut + 1]):
                    total += row[members[i]]
                of_cells[cell, cut] = total
        for band in range(len(bands)):
            in_band = in_cuts[sample, band]
            for cut in range(n_cuts):
                in_band[cut] = 0
            for cell in range(bands[band, 0], bands[band, 1]):
                row = of_cells[cell]
                for cut in range(n_cuts):
                    in_band[cut] += row[cut]


def bound(
    in_sample: np.ndarray,
    n_rows: np.ndarray,
    share: np.ndarray,
    spread: np.ndarray,
    curvature: np.ndarray,
    usable: np.ndarray,
    of_noise: np.ndarray,
    ratios: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
) -> None:
    """Ratio, lower and upper bound of each region, as `poscount.methods.regions.rule.bounds`.

    Parameters
    ----------
    in_sample : ndarray of shape (n_samples, n_regions)
    n_rows : ndarray of shape (n_samples,)
    share, spread, curvature, usable : ndarray of shape (n_regions,)
        As there.
    of_noise : ndarray of shape (n_samples, n_regions) or (1, n_regions)
        The same for all samples if there is one line.
    ratios, lows, highs : ndarray of shape (n_samples, n_regions)
        Become the results.
    """
    for sample in range(len(in_sample)):
        n = n_rows[sample]
        row = of_noise[sample if len(of_noise) > 1 else 0]
        for i in range(len(share)):
            ratio = in_sample[sample, i] / n / share[i]
            middle = 2 * ratio + spread[i] / n
            square = middle * middle - 4 * curvature[i] * (ratio * ratio - row[i])
            root = math.sqrt(square if square > 0 else 0.0)
            low = (middle - root) / (2 * curvature[i])
            high = (middle + root) / (2 * curvature[i])
            ratios[sample, i] = ratio
            lows[sample, i] = low if usable[i] else -np.inf
            highs[sample, i] = (high if high > 0 else 0.0) if usable[i] else np.inf


def fall_off(highs: np.ndarray, high: np.ndarray, width: np.ndarray, exponents: np.ndarray) -> None:
    """How far upper bounds are above the smallest one, negative and in units of a width.

    Parameters
    ----------
    highs : ndarray of shape (n_samples, n_regions)
    high, width : ndarray of shape (n_samples,)
        The smallest one, and the width.
    exponents : ndarray of shape (n_samples, n_regions)
        Becomes the result.
    """
    for sample in range(len(highs)):
        smallest = high[sample]
        unit = width[sample]
        for i in range(highs.shape[1]):
            exponents[sample, i] = (smallest - highs[sample, i]) / unit


def weigh(
    weights: np.ndarray,
    in_sample: np.ndarray,
    n_rows: np.ndarray,
    share: np.ndarray,
    of_sample: np.ndarray,
    of_positives: np.ndarray,
) -> None:
    """Weight times share of the rows of samples, and of the positives, in each region.

    Parameters
    ----------
    weights, in_sample : ndarray of shape (n_samples, n_regions)
    n_rows : ndarray of shape (n_samples,)
    share : ndarray of shape (n_regions,)
    of_sample, of_positives : ndarray of shape (n_samples, n_regions)
        Become the results, which numpy adds up.
    """
    for sample in range(len(weights)):
        n = n_rows[sample]
        for i in range(len(share)):
            weight = weights[sample, i]
            of_sample[sample, i] = weight * in_sample[sample, i] / n
            of_positives[sample, i] = weight * share[i]


def sum_up(
    ratios: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
    middle: np.ndarray,
    near: np.ndarray,
    members: np.ndarray,
    starts: np.ndarray,
    n_few: np.ndarray,
    places: np.ndarray,
    by_feature: np.ndarray,
    feature_starts: np.ndarray,
    work: np.ndarray,
    below: np.ndarray,
    best: np.ndarray,
    few: np.ndarray,
    quantiles: np.ndarray,
    of_features: np.ndarray,
) -> None:
    """What a profile says about sets of regions (`poscount.methods.regions.features`).

    Parameters
    ----------
    ratios, lows, highs : ndarray of shape (n_samples, n_regions)
    middle, near : ndarray of shape (n_samples,)
        What lower and upper bounds are compared with.
    members, starts : ndarray of uint64 and of int64
        Regions of all sets, one after the other, and where those of each set start. No set is
        empty.
    n_few : ndarray of int64, shape (n_sorted,)
        How many of the smallest bounds are wanted, of the first sets.
    places : ndarray of int64, shape (n_sorted, n_quantiles)
        Which of the sorted ratios are wanted, of these sets.
    by_feature, feature_starts : ndarray of uint64 and of int64
        The same as `members` and `starts`, for features.
    work : ndarray of shape (n_regions * LANES,)
        Work space.
    below : ndarray of shape (2, n_samples)
        Becomes the number of lower bounds below `middle`, and of upper bounds of at most `near`.
    best : ndarray of shape (2, n_sets, n_samples)
        Becomes the smallest upper bound and the ratio of its region.
    few : ndarray of shape (n_sorted, n_samples, largest of n_few)
        Becomes the smallest upper bounds, ascending.
    quantiles : ndarray of shape (n_sorted, n_quantiles, n_samples)
        Becomes the ratios.
    of_features : ndarray of shape (n_samples, n_features)
        Becomes the smallest upper bound of each feature.
    """
    n_samples, n_regions = ratios.shape
    for sample in range(n_samples):
        n_low = 0
        n_near = 0
        for i in range(n_regions):
            n_low += lows[sample, i] < middle[sample]
            n_near += highs[sample, i] <= near[sample]
        below[0, sample] = n_low
        below[1, sample] = n_near
        row = highs[sample]
        for k in range(len(starts) - 1):
            at = members[starts[k]]
            smallest = row[at]
            for i in range(starts[k] + 1, starts[k + 1]):
                value = row[members[i]]
                if value < smallest:
                    smallest = value
                    at = members[i]
            best[0, k, sample] = smallest
            best[1, k, sample] = ratios[sample, at]
        for k in range(len(n_few)):
            lowest = few[k, sample]
            last = n_few[k] - 1
            for i in range(n_few[k]):
                lowest[i] = np.inf
            for i in range(starts[k], starts[k + 1]):
                value = row[members[i]]
                if value < lowest[last]:
                    j = last
                    while j > 0 and lowest[j - 1] > value:
                        lowest[j] = lowest[j - 1]
                        j -= 1
                    lowest[j] = value
        for k in range(len(feature_starts) - 1):
            smallest = row[by_feature[feature_starts[k]]]
            for i in range(feature_starts[k] + 1, feature_starts[k + 1]):
                value = row[by_feature[i]]
                smallest = value if value < smallest else smallest
            of_features[sample, k] = smallest

    # Ratios of several samples are sorted at once, by merge exchange (Knuth, volume 3, 5.2.2 M).
    for first in range(0, n_samples, LANES):
        n_lanes = min(LANES, n_samples - first)
        for k in range(len(n_few)):
            n = starts[k + 1] - starts[k]
            used = members[starts[k] : starts[k + 1]]
            for lane in range(n_lanes):
                row = ratios[first + lane]
                for i in range(n):
                    work[LANES * i + lane] = row[used[i]]
            p = 1
            while 2 * p < n:
                p *= 2
            top = p
            while p > 0:
                q = top
                r = 0
                d = p
                while True:
                    # All i below n - d in which the bit p is set, or is not set: runs of p.
                    for begin in range(r, n - d, 2 * p):
                        end = min(begin + p, n - d)
                        for i in range(LANES * begin, LANES * end):
                            one = work[np.uint64(i)]
                            other = work[np.uint64(i + LANES * d)]
                            work[np.uint64(i)] = one if one < other else other
                            work[np.uint64(i + LANES * d)] = other if one < other else one
                    if q == p:
                        break
                    d = q - p
                    q >>= 1
                    r = p
                p >>= 1
            for i in range(places.shape[1]):
                for lane in range(n_lanes):
                    quantiles[k, i, first + lane] = work[LANES * places[k, i] + lane]


SIGNATURES = {
    "sum_cuts": (
        "void(int64[:, :, :], uint64[::1], int64[::1], int64[:, ::1], int64[:, ::1],"
        "float64[:, :, ::1])"
    ),
    "bound": (
        "void(float64[:, ::1], float64[::1], float64[::1], float64[::1], float64[::1],"
        "boolean[::1], float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])"
    ),
    "fall_off": "void(float64[:, ::1], float64[::1], float64[::1], float64[:, ::1])",
    "weigh": (
        "void(float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[:, ::1],"
        "float64[:, ::1])"
    ),
    "sum_up": (
        "void(float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[::1], float64[::1],"
        "uint64[::1], int64[::1], int64[::1], int64[:, ::1], uint64[::1], int64[::1],"
        "float64[::1], float64[:, ::1], float64[:, :, ::1], float64[:, :, ::1],"
        "float64[:, :, ::1], float64[:, ::1])"
    ),
}
INTEGERS = {
    "sum_cuts": "n_cells n_cuts sample cell cut total i band",
    "bound": "sample i",
    "fall_off": "sample i",
    "weigh": "sample i",
    "sum_up": (
        "n_samples n_regions sample n_low n_near i j k last first n_lanes n lane p top q r d begin "
        "end"
    ),
}


def kernel(name: str, n_samples: int, n_numbers: int) -> Callable[..., Any] | None:
    """One of the loops above as machine code, if that is worth it for so many samples.

    Parameters
    ----------
    name : str
    n_samples : int
    n_numbers : int
        Numbers that it has to look at, of each sample.
    """
    if n_samples < FEWEST_SAMPLES or not compiling.worth_compiling(n_samples * n_numbers):
        return None
    return compiling.compiled(globals()[name], SIGNATURES[name], INTEGERS[name])
