"""From what the regions of several groups say about samples to a share for each, and for others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from poscount.calibration.calibration import Calibration
from poscount.calibration.files import chosen_calibrations
from poscount.checks import BatchWarnings, Evidence, batch_warnings
from poscount.methods.regions.estimate import by_calibration, null_estimates
from poscount.methods.regions.features import DECIMALS, FEATURE_NAMES
from poscount.methods.regions.labeled_groups import refuse_same_rows
from poscount.methods.regions.quantifier import RegionQuantifier
from poscount.methods.regions.targets import TargetRegions, TargetViews
from poscount.results.distribution import around
from poscount.results.estimates import Estimates
from poscount.results.target_shares import exact_shares
from poscount.storage.model_files import content_hash
from poscount.storage.schema import Field, OrNone, Part, require, same_learned

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


# Warnings that a group may have for no other reason than that the sample has none of it.
ABOUT_COLUMNS = (
    "other-units",
    "missing-code",
    "exchanged-columns",
    "nothing-like-positives",
)


class TargetsQuantifier(RegionQuantifier):
    """A region quantifier with the regions of several groups, and the calibrations of their shares.

    Attributes
    ----------
    groups_ : TargetRegions
        What was learned about the groups.
    group_calibration_, other_calibration_ : Calibration or None
        Of the share of a group, and of what belongs to none; None for "null".
    """

    LEARNED: ClassVar[Mapping[str, Field]] = {
        "groups_": Part("TargetRegions"),
        "group_calibration_": OrNone(Part("Calibration")),
        "other_calibration_": OrNone(Part("Calibration")),
    }

    def check_learned(self) -> None:
        """Raise ValueError unless the groups are of the model's own columns."""
        super().check_learned()
        same = same_learned(self.groups_.columns_, self.model_columns)
        require(same, "its groups are of other columns.")
        if self.group_calibration_ is not None:
            self.group_calibration_.check_for("RCQ-groups", TARGET_FEATURES)
        if self.other_calibration_ is not None:
            self.other_calibration_.check_for("RCQ-other", OTHER_FEATURES)

    def _learn_groups(
        self, block: np.ndarray, codes: np.ndarray, names: Sequence[str], noun: str, option: str
    ) -> None:
        """Learn from codes of rows and of groups, in an order that is not the caller's."""
        self.group_calibration_, self.other_calibration_ = chosen_calibrations(
            self.calibration, *self._calibrations
        )[-2:]
        design = self.model_columns.design(block)
        refuse_same_rows(design, codes, names, noun, self.seed_)
        self.groups_ = TargetRegions().fit_codes(
            block,
            codes,
            names,
            self.model_columns,
            self.seed_,
            option,
            projected=hasattr(self, "projection_"),
        )
        self.hash_ = content_hash(self)

    # Methods that a calibration of the caller's own may be for.
    _calibrations: tuple[str, ...] = ("RCQ-groups", "RCQ-other")

    def _target_estimates(self, cells: np.ndarray, n_rows: np.ndarray) -> list[Estimates]:
        """Estimates of each group, and last of what belongs to none."""
        calibrations = self.group_calibration_, self.other_calibration_
        level, recognisable = self.confidence, self.recognisable
        return target_estimates(self.groups_, cells, n_rows, *calibrations, level, recognisable)


def target_estimates(
    regions: TargetRegions,
    cells: np.ndarray,
    n_rows: np.ndarray,
    of_group: Calibration | None,
    of_other: Calibration | None,
    level: float,
    recognisable: bool | None,
) -> list[Estimates]:
    """Estimates of each group, and last of what belongs to none.

    Parameters
    ----------
    regions : TargetRegions
    cells : ndarray of shape (n_samples, n_cells)
        Counts of the samples.
    n_rows : ndarray of shape (n_samples,)
    of_group, of_other : Calibration or None
        Of the share of a group, and of what belongs to none; None for "null".
    level : float
        Of the intervals.
    recognisable : bool or None
        As in `RCQ`.
    """
    views = regions.views(cells, n_rows)
    features = target_features(regions, views)
    groups = [
        _calibrated(lines, of_group, TARGET_FEATURES, level, recognisable)
        for lines in features.groups
    ]
    other = _calibrated(features.other, of_other, OTHER_FEATURES, level, recognisable)
    values = np.column_stack([found.value for found, _ in groups])
    shares = exact_shares(scaled_to_rest(values, other[0].value)).T
    estimates = [
        _with_share(*found, share, lines, TARGET_FEATURES, view.evidence)
        for found, share, lines, view in zip(
            groups, shares[:-1], features.groups, views.alone, strict=True
        )
    ]
    of_models = [part.model_results(part.rule) for part in regions.parts_]
    warned = [
        replace(found, warnings=batch_warnings(evidence, of_model))
        for (found, evidence), of_model in zip(estimates, of_models, strict=True)
    ]
    n_labeled = int(regions.sizes_.sum())
    rest, evidence = _with_share(
        *other,
        shares[-1],
        features.other,
        OTHER_FEATURES,
        Evidence(len(n_rows), n_labeled=n_labeled),
    )
    return [*_common_warnings(warned), replace(rest, warnings=batch_warnings(evidence))]


def scaled_to_rest(values: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Shares of groups, given answers about each group and about all others.

    The groups are scaled to what the others leave, because what belongs to none is known better
    than the sum of many answers: on japanese_vowels, left out, the error of "other" was a third of
    that of the sum, and errors of targets became smaller, too (`research/tuning/targets_split.md`).
    """
    total = values.sum(axis=1)
    factor = (1 - other) / np.where(total > 0, total, 1.0)
    return values * factor[:, np.newaxis]


def _calibrated(
    features: np.ndarray,
    calibration: Calibration | None,
    names: Sequence[str],
    level: float,
    recognisable: bool | None,
) -> tuple[Estimates, np.ndarray]:
    """Estimates, and which samples are unlike all training."""
    p, gap = features[:, names.index("prevalence")], features[:, names.index(_gap_of(names))]
    ratio = features[:, names.index("ratio")] if "ratio" in names else p
    null = null_estimates(p, ratio, gap, level)
    return by_calibration(calibration, features, names, null, recognisable)


def _gap_of(names: Sequence[str]) -> str:
    return "gap" if "gap" in names else "total_gap"


def _with_share(
    estimates: Estimates,
    unfamiliar: np.ndarray,
    share: np.ndarray,
    features: np.ndarray,
    names: Sequence[str],
    evidence: Evidence,
) -> tuple[Estimates, Evidence]:
    """Estimates of one group with its share of the whole, and the evidence about them."""
    assert estimates.quantiles is not None  # by either calibration
    gap = features[:, names.index(_gap_of(names))]
    details = {
        "uncalibrated": features[:, names.index("prevalence")],
        "gap": gap,
        **estimates.details,
    }
    if "alone" in names:
        details["alone"] = features[:, names.index("alone")]
    quantiles = around(estimates.quantiles, share)
    found = replace(estimates, value=share, quantiles=quantiles, details=details)
    low, high = found.ends
    return found, evidence.having(
        low=low, high=high, level=estimates.level, gap=gap, unlike_training=unfamiliar
    )


def _common_warnings(estimates: list[Estimates]) -> list[Estimates]:
    """Keep warnings about the columns of the sample only if all groups have them.

    Where a group is absent, the sample may well be in none of its ranges.
    """
    each = [found.warnings for found in estimates]
    common = {
        code: np.all([of_group.fires(code) for of_group in each], axis=0)  # type: ignore[union-attr]
        for code in ABOUT_COLUMNS
    }
    kept = [
        [
            result.masked(common[result.check.code]) if result.check.code in common else result
            for result in of_group.results  # type: ignore[union-attr]
        ]
        for of_group in each
    ]
    return [
        replace(found, warnings=BatchWarnings(len(found), results))
        for found, results in zip(estimates, kept, strict=True)
    ]
