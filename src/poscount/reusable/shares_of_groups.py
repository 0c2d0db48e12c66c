"""From what the regions of several groups say about samples to a share for each, and for others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from poscount.calibration.calibration import Answers, Calibration
from poscount.checks import Evidence, model_cautions, sample_cautions
from poscount.prevalence import Estimate, Interval
from poscount.reusable.groups_profile import GROUP_PROFILE, OTHER_PROFILE, profile_groups
from poscount.reusable.joint_regions import JointCounts, JointRegions
from poscount.reusable.region_estimator import null_answers, number
from poscount.schema import require
from poscount.target_shares import exact_shares

ABOUT_COLUMNS = {
    *("other-units", "missing-code", "added-zeros", "exchanged-columns", "shifted-columns"),
    *("only-columns-fit", "nothing-like-positives"),
}


class GroupCalibrations(NamedTuple):
    """Calibrations of the share of a group, and of what belongs to none; None for "null"."""

    group: Calibration | None
    other: Calibration | None


def check_calibrations(calibrations: Sequence[Calibration | None], null: bool) -> None:
    """Raise ValueError unless calibrations of groups and of others are those that a model needs."""
    group, other = calibrations
    asked = (group is None) == (other is None) == null
    require(asked, "its calibrations are others than it was asked for.")
    if group is not None and other is not None:
        group.check_for("RCQ-groups", GROUP_PROFILE)
        other.check_for("RCQ-other", OTHER_PROFILE)


def estimate_groups(
    joint: JointRegions,
    counted: JointCounts,
    n_features: int,
    calibrations: GroupCalibrations,
    level: float,
) -> list[list[Estimate]]:
    """Estimates of each group of every sample, and last of what belongs to none.

    Parameters
    ----------
    joint : JointRegions
    counted : JointCounts
        Of the samples.
    n_features : int
        Columns of the rows.
    calibrations : GroupCalibrations
    level : float
        Of the intervals.
    """
    lines = profile_groups(joint, counted, n_features)
    of_groups = [_answers(of_group, calibrations.group, level) for of_group in lines.groups]
    of_other = _answers_of_other(lines.other, calibrations.other, level)
    values = np.column_stack([answers.value for answers in of_groups])
    shares = exact_shares(combined(values, of_other.value))
    seen = [
        part.seen_of(part.regions, group.alone, group.beside)
        for part, group in zip(joint.parts_, counted.groups, strict=True)
    ]
    of_models = [model_cautions(joint.evidence(k)) for k in range(len(joint.parts_))]
    estimates = []
    for i, sample in enumerate(shares.tolist()):
        of_sample = [
            _estimate(
                *(sample[k], of_groups[k], i, lines.groups[k, i], part.evidence_of(seen[k], i)),
                of_models[k],
                level,
            )
            for k, part in enumerate(joint.parts_)
        ]
        evidence = Evidence(n_labeled=int(joint.sizes_.sum()))
        of_rest = _estimate(sample[-1], of_other, i, lines.other[i], evidence, (), level)
        estimates.append([*_common_warnings(of_sample), of_rest])
    return estimates


def _common_warnings(estimates: list[Estimate]) -> list[Estimate]:
    """Keep warnings about the columns of the sample only if all groups have them.

    Where a group is absent, the sample may well be in none of its ranges.
    """
    codes = [{caution.code for caution in estimate.warnings} for estimate in estimates]
    single = {code for code in ABOUT_COLUMNS if not all(code in of_one for of_one in codes)}
    return [
        estimate._replace(warnings=tuple(c for c in estimate.warnings if c.code not in single))
        for estimate in estimates
    ]


def combined(values: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Shares of groups, given answers about each group and about all others.

    The groups are scaled to what the others leave, because what belongs to none is known better
    than the sum of many answers: on japanese_vowels, left out, the error of "other" was a third of
    that of the sum, and errors of targets became smaller, too (`research/tuning/targets_split.md`).
    """
    total = values.sum(axis=1)
    factor = (1 - other) / np.where(total > 0, total, 1.0)
    return values * factor[:, np.newaxis]


def _answers(lines: np.ndarray, calibration: Calibration | None, level: float) -> Answers:
    if calibration is not None:
        return calibration.answer(lines, GROUP_PROFILE, level)
    p, ratio, gap = (lines[:, GROUP_PROFILE.index(name)] for name in ("prevalence", "ratio", "gap"))
    return null_answers(p, ratio, gap, level)


def _answers_of_other(lines: np.ndarray, calibration: Calibration | None, level: float) -> Answers:
    if calibration is not None:
        return calibration.answer(lines, OTHER_PROFILE, level)
    p, gap = (lines[:, OTHER_PROFILE.index(name)] for name in ("prevalence", "total_gap"))
    return null_answers(p, p, gap, level)


def _estimate(
    value: float,
    answers: Answers,
    i: int,
    line: np.ndarray,
    seen: Evidence,
    of_model: tuple,
    level: float,
) -> Estimate:
    interval = Interval(
        min(float(answers.low[i]), value), max(float(answers.high[i]), value), level
    )
    columns: Sequence[str] = GROUP_PROFILE if len(line) == len(GROUP_PROFILE) else OTHER_PROFILE
    gap = float(line[columns.index("gap" if columns is GROUP_PROFILE else "total_gap")])
    details = {
        "uncalibrated": float(line[columns.index("prevalence")]),
        "gap": gap,
        "expected_error": number(answers.expected_error[i]),
        "likely_error": number(answers.likely_error[i]),
    }
    if columns is GROUP_PROFILE:
        details["alone"] = float(line[columns.index("alone")])
    evidence = replace(seen, interval=interval, gap=gap, unlike_experience=bool(answers.outside[i]))
    return Estimate(value, details, interval, sample_cautions(evidence, of_model))
