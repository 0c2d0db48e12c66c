"""From what the kinds of positives say about samples to a prevalence for each, and their sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from poscount.calibration.calibration import Answers, Calibration
from poscount.checks import Evidence, sample_cautions
from poscount.methods.regions.kinds_profile import KINDS_PROFILE
from poscount.methods.regions.region_estimator import null_answers, number
from poscount.methods.regions.region_profile import PROFILE
from poscount.results.prevalence import Estimate, Interval

# Warnings of the positives as one kind that the sum makes anew, and those that it answers: a kind
# that has become more frequent is no longer a reason to doubt.
_REPLACED = ("wide-interval", "unlike-experience", "core-differs", "pat-disagrees")


class KindShare(NamedTuple):
    """Share of one kind in a sample.

    Attributes
    ----------
    name : str
    positives : int
        Labelled positives of this kind.
    prevalence, low, high : float
        Its share of the sample, and the ends of its interval.
    """

    name: str
    positives: int
    prevalence: float
    low: float
    high: float


def answers_of_kind(lines: np.ndarray, calibration: Calibration | None, level: float) -> Answers:
    """Answers about one kind, from its lines with the columns `PROFILE`."""
    p, ratio, gap = (lines[:, PROFILE.index(name)] for name in ("prevalence", "ratio", "gap"))
    null = null_answers(p, ratio, gap, level)
    return null if calibration is None else calibration.answer(lines, PROFILE, level).beside(null)


def answers_of_sum(lines: np.ndarray, calibration: Calibration | None, level: float) -> Answers:
    """Answers about all kinds together, from lines with the columns `KINDS_PROFILE`.

    Whatever the experience says, intervals reach up to the sum over kinds, which is right if kinds
    have drifted: no sample rules that out.
    """
    p, total, ratio, gap = (
        lines[:, KINDS_PROFILE.index(name)]
        for name in ("prevalence", "kinds", "kinds_ratio", "kinds_gap")
    )
    if calibration is None:
        answers = null_answers(p, ratio, gap, level)
    else:
        answers = calibration.answer(lines, KINDS_PROFILE, level)
    return answers._replace(high=np.maximum(answers.high, total))


def shares_of_kinds(
    names: Sequence[str], sizes: Sequence[int], answers: Sequence[Answers], i: int, total: float
) -> list[KindShare]:
    """Shares of all kinds in sample `i`, which add up to `total`.

    What each kind's own model says is stretched, because the sum knows better: the models of
    neighbouring kinds count some rows twice. Ends stay where they are, unless the share would be
    outside.
    """
    values = np.array([answer.value[i] for answer in answers])
    if not values.any():
        values = np.array([answer.high[i] for answer in answers])
    if not values.any():
        values = np.array(sizes, float)
    values = np.minimum(values * (total / values.sum()), total)
    return [
        KindShare(
            name,
            int(size),
            float(value),
            min(float(answer.low[i]), float(value)),
            max(float(answer.high[i]), float(value)),
        )
        for name, size, value, answer in zip(names, sizes, values, answers, strict=True)
    ]


def estimate_of_sum(
    plain: Estimate,
    answers: Answers,
    line: np.ndarray,
    i: int,
    shares: Sequence[KindShare],
    n_labeled: int,
    level: float,
) -> Estimate:
    """The estimate for sample `i`, given that of the positives as one kind."""
    value = float(answers.value[i])
    interval = Interval(float(answers.low[i]), float(answers.high[i]), level)
    gap = float(line[KINDS_PROFILE.index("kinds_gap")])
    details: dict[str, Any] = {
        **plain.details,
        "expected_error": number(answers.expected_error[i]),
        "likely_error": number(answers.likely_error[i]),
        "bound": max(value, min(1.0, float(line[KINDS_PROFILE.index("kinds_high")]))),
        "one_kind": plain.value,
        "heterogeneity": float(np.expm1(line[KINDS_PROFILE.index("log_heterogeneity")])),
        "kinds": [share._asdict() for share in shares],
    }
    evidence = Evidence(
        n_labeled=n_labeled,
        interval=interval,
        gap=gap,
        unlike_experience=bool(answers.outside[i]),
    )
    kept = tuple(caution for caution in plain.warnings if caution.code not in _REPLACED)
    return Estimate(value, details, interval, (*sample_cautions(evidence, ()), *kept))
