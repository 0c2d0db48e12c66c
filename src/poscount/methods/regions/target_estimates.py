"""From what the regions of several groups say about samples to a share for each, and for others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from poscount.calibration.calibration import Calibration
from poscount.checks import BatchWarnings, Evidence, batch_warnings
from poscount.methods.regions.estimate import null_estimates
from poscount.methods.regions.target_features import (
    OTHER_FEATURES,
    TARGET_FEATURES,
    target_features,
)
from poscount.methods.regions.targets import TargetRegions
from poscount.results.distribution import around
from poscount.results.estimates import Estimates
from poscount.results.target_shares import exact_shares

# Warnings that a group may have for no other reason than that the sample has none of it.
ABOUT_COLUMNS = (
    "other-units",
    "missing-code",
    "added-zeros",
    "exchanged-columns",
    "shifted-columns",
    "only-columns-fit",
    "nothing-like-positives",
)


def check_calibrations(of_group: Calibration | None, of_other: Calibration | None) -> None:
    """Raise ValueError unless calibrations are those of a group and of what belongs to none."""
    if of_group is not None:
        of_group.check_for("RCQ-groups", TARGET_FEATURES)
    if of_other is not None:
        of_other.check_for("RCQ-other", OTHER_FEATURES)


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
    if calibration is not None:
        return calibration.estimate(features, names, level, recognisable=recognisable)
    p, gap = features[:, names.index("prevalence")], features[:, names.index(_gap_of(names))]
    ratio = features[:, names.index("ratio")] if "ratio" in names else p
    return null_estimates(p, ratio, gap, level), np.zeros(len(p), bool)


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
    return [
        replace(found, warnings=_masked(of_group, common))  # type: ignore[arg-type]
        for found, of_group in zip(estimates, each, strict=True)
    ]


def _masked(warnings: BatchWarnings, kept: dict[str, np.ndarray]) -> BatchWarnings:
    results = [
        result.masked(kept[result.check.code]) if result.check.code in kept else result
        for result in warnings.results
    ]
    return BatchWarnings(len(warnings), results)
