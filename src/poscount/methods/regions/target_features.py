"""What the regions of several groups say about a sample: what their calibrations learn from.

There are features of each group, and of everything that belongs to none of them ("other").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.methods.regions.features import DECIMALS, FEATURE_NAMES
from poscount.methods.regions.targets import TargetRegions, TargetViews

QUANTILES = (0.0, 0.5, 1.0)

# The bound by which errors are measured is that of the group alone: it holds whatever the others
# are, while more may have been subtracted than was there.
TARGET_FEATURES = [
    *("left_high" if name == "high" else name for name in FEATURE_NAMES),
    *("alone", "high", "explained", "noise", "others", "largest_other", "left_over"),
    *("total_alone", "outside", "unexplained", "log_groups", "log_overlap", "log_overlap_there"),
]
# Of each group, summed up by the smallest, the median and the largest of them.
_SUMMED_UP = (
    *("prevalence", "gap", "left_high", "alone", "explained", "noise", "null_ratio", "pat"),
    *("core_difference", "mean_distance", "log_overlap", "near_1", "near_4"),
)
OTHER_FEATURES = [
    *("prevalence", "high", "left_over_alone", "total", "total_alone", "total_high", "total_low"),
    *("total_pat", "total_gap", "outside", "unexplained", "log_groups", "log_rows", "log_features"),
    "log_positives",
    *(f"{name}_{q:g}" for name in _SUMMED_UP for q in QUANTILES),
]


class TargetFeatures(NamedTuple):
    """Features of each group, of shape (n_groups, n_samples, n_columns), and of all others."""

    groups: np.ndarray
    other: np.ndarray


def target_features(regions: TargetRegions, views: TargetViews) -> TargetFeatures:
    """What the calibrations look at: `TARGET_FEATURES` of each group, and `OTHER_FEATURES`."""
    unexplained = views.outside - (views.shares * regions.outside_).sum(axis=1)
    groups = np.array(
        [_of_group(regions, k, views, unexplained) for k in range(len(regions.parts_))]
    )
    n_features = len(regions.columns_.kinds_)
    return TargetFeatures(groups, _of_other(groups, views, unexplained, n_features))


def _of_group(
    regions: TargetRegions, k: int, views: TargetViews, unexplained: np.ndarray
) -> np.ndarray:
    alone, left, shares = views.alone[k], views.left[k], views.shares
    n, found = len(shares), left.found
    at = np.arange(n), left.rule.indices[found.region]
    explained = (alone.counts.in_cuts - left.counts.in_cuts).reshape(n, -1)[at]
    assert left.counts.noise is not None  # because something was subtracted
    noise = np.sqrt(left.counts.noise.reshape(n, -1)[at])
    others = np.delete(shares, k, axis=1)
    overlap = np.delete(regions.core_shares(k), k)
    columns = [
        *(alone.found.prevalence, alone.found.region_high),
        *(explained / left.counts.n_rows / found.region_share, noise / found.region_share),
        *(others.sum(axis=1), others.max(axis=1), 1 - shares.sum(axis=1)),
        np.sum([view.found.prevalence for view in views.alone], axis=0),
        *(views.outside, unexplained, np.full(n, np.log(len(regions.names_)))),
        np.full(n, np.log1p(overlap.max())),
        np.log1p((others * overlap).sum(axis=1) / np.maximum(others.sum(axis=1), 1e-9)),
    ]
    more = np.column_stack(columns)
    more[~np.isfinite(more)] = np.nan
    return np.column_stack([left.of_regions, more.round(DECIMALS)])


def _of_other(
    groups: np.ndarray, views: TargetViews, unexplained: np.ndarray, n_features: int
) -> np.ndarray:
    def of_groups(name: str) -> np.ndarray:
        return groups[..., TARGET_FEATURES.index(name)]

    # Without any bound, a group may be everything, and its gap is as large.
    high = np.nan_to_num(of_groups("left_high"), nan=1.0)
    gap = np.nan_to_num(of_groups("gap"), nan=1.0)
    low = np.nan_to_num(of_groups("region_low")).clip(0, 1)
    total = views.shares.sum(axis=1)
    total_alone = np.minimum(of_groups("alone").sum(axis=0), 1)
    n = len(total)
    columns = [
        *(1 - total, 1 - np.minimum(low.sum(axis=0), total)),
        *(1 - total_alone, total, total_alone, np.minimum(high, 1).sum(axis=0), low.sum(axis=0)),
        np.minimum(of_groups("pat"), 1).sum(axis=0),
        np.sqrt((gap**2).sum(axis=0)),
        *(views.outside, unexplained, np.full(n, np.log(len(groups)))),
        *(of_groups("log_rows")[0], np.full(n, np.log(n_features))),
        of_groups("log_positives").min(axis=0),
    ]
    for name in _SUMMED_UP:
        columns += list(np.quantile(np.nan_to_num(of_groups(name), nan=1.0), QUANTILES, axis=0))
    made = np.column_stack(columns)
    made[~np.isfinite(made)] = np.nan
    return made.round(DECIMALS)
