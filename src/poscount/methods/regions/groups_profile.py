"""What the regions of several groups say about a sample: what their calibrations learn from.

There is a line for each group, and one for everything that belongs to none of them ("other").
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.methods.regions.joint_regions import JointCounts, JointRegions
from poscount.methods.regions.region_profile import DECIMALS, PROFILE
from poscount.methods.regions.regions import RegionEstimates

QUANTILES = (0.0, 0.5, 1.0)

# The bound by which errors are measured is that of the group alone: it holds whatever the others
# are, while more may have been subtracted than was there.
GROUP_PROFILE = [
    *("left_high" if name == "high" else name for name in PROFILE),
    *("alone", "high", "explained", "noise", "others", "largest_other", "left_over"),
    *("total_alone", "outside", "unexplained", "log_groups", "log_overlap", "log_overlap_there"),
]
# Of each group, summed up by the smallest, the median and the largest of them.
_SUMMED_UP = (
    *("prevalence", "gap", "left_high", "alone", "explained", "noise", "null_ratio", "pat"),
    *("core_difference", "mean_distance", "log_overlap", "near_1", "near_4"),
)
OTHER_PROFILE = [
    *("prevalence", "high", "left_over_alone", "total", "total_alone", "total_high", "total_low"),
    *("total_pat", "total_gap", "outside", "unexplained", "log_groups", "log_rows", "log_features"),
    "log_positives",
    *(f"{name}_{q:g}" for name in _SUMMED_UP for q in QUANTILES),
]


class GroupsProfile(NamedTuple):
    """Lines of each group, of shape (n_groups, n_samples, n_columns), and of all others."""

    groups: np.ndarray
    other: np.ndarray


def profile_groups(joint: JointRegions, counted: JointCounts, n_features: int) -> GroupsProfile:
    """Lines with the columns `GROUP_PROFILE` and `OTHER_PROFILE`.

    Parameters
    ----------
    joint : JointRegions
    counted : JointCounts
    n_features : int
        Columns of the rows.
    """
    outside = counted.outside
    unexplained = outside - (counted.shares * joint.outside_).sum(axis=1)
    alone = [
        part.regions.find(group.alone)
        for part, group in zip(joint.parts_, counted.groups, strict=True)
    ]
    lines = np.array(
        [_of_group(joint, k, counted, alone, unexplained) for k in range(len(joint.parts_))]
    )
    return GroupsProfile(lines, _of_other(lines, counted, unexplained, n_features))


def _of_group(
    joint: JointRegions,
    k: int,
    counted: JointCounts,
    alone: list[RegionEstimates],
    unexplained: np.ndarray,
) -> np.ndarray:
    part, group, shares = joint.parts_[k], counted.groups[k], counted.shares
    n = len(shares)
    lines = part.profile_in_regions(part.regions, group.left, group.beside)
    found = part.regions.find(group.left)
    at = np.arange(n), part.regions.indices[found.decision.region]
    rows = (group.alone.in_cuts - group.left.in_cuts).reshape(n, -1)[at] / group.left.n_rows
    assert group.left.noise is not None  # because something was subtracted
    noise = np.sqrt(group.left.noise.reshape(n, -1)[at])
    others = np.delete(shares, k, axis=1)
    overlap = np.delete(joint.core_shares(k), k)
    columns = [
        *(alone[k].prevalence, alone[k].decision.region_high),
        *(rows / found.decision.region_share, noise / found.decision.region_share),
        *(others.sum(axis=1), others.max(axis=1), 1 - shares.sum(axis=1)),
        np.sum([of_part.prevalence for of_part in alone], axis=0),
        *(counted.outside, unexplained, np.full(n, np.log(len(joint.names_)))),
        np.full(n, np.log1p(overlap.max())),
        np.log1p((others * overlap).sum(axis=1) / np.maximum(others.sum(axis=1), 1e-9)),
    ]
    more = np.column_stack(columns)
    more[~np.isfinite(more)] = np.nan
    return np.column_stack([lines, more.round(DECIMALS)])


def _of_other(
    lines: np.ndarray, counted: JointCounts, unexplained: np.ndarray, n_features: int
) -> np.ndarray:
    def of_groups(name: str) -> np.ndarray:
        return lines[..., GROUP_PROFILE.index(name)]

    # Without any bound, a group may be everything, and its gap is as large.
    high = np.nan_to_num(of_groups("left_high"), nan=1.0)
    gap = np.nan_to_num(of_groups("gap"), nan=1.0)
    low = np.nan_to_num(of_groups("region_low")).clip(0, 1)
    total = counted.shares.sum(axis=1)
    total_alone = np.minimum(of_groups("alone").sum(axis=0), 1)
    n = len(total)
    columns = [
        *(1 - total, 1 - np.minimum(low.sum(axis=0), total)),
        *(1 - total_alone, total, total_alone, np.minimum(high, 1).sum(axis=0), low.sum(axis=0)),
        np.minimum(of_groups("pat"), 1).sum(axis=0),
        np.sqrt((gap**2).sum(axis=0)),
        *(counted.outside, unexplained, np.full(n, np.log(len(lines)))),
        *(of_groups("log_rows")[0], np.full(n, np.log(n_features))),
        of_groups("log_positives").min(axis=0),
    ]
    for name in _SUMMED_UP:
        columns += list(np.quantile(np.nan_to_num(of_groups(name), nan=1.0), QUANTILES, axis=0))
    made = np.column_stack(columns)
    made[~np.isfinite(made)] = np.nan
    return made.round(DECIMALS)
