"""Labelled negatives of a single target: what they explain is not counted as positives.

They may be of several kinds, and there may be other negatives that nobody has labelled. Kinds of
negatives are groups of labelled rows like the positives themselves, so the shares of all of them
are found together (`poscount.reusable.joint_regions`); that of the positives is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from poscount.errors import InputError
from poscount.prevalence import Estimate, Interval
from poscount.reusable.labeled_groups import LabeledGroups, require_enough, stack
from poscount.target_shares import OTHER

POSITIVES, NEGATIVES = "positives", "negatives"
# Warnings of the positives by themselves that are made anew, or that the negatives answer.
_REPLACED = ("wide-interval", "unlike-experience", "core-differs", "pat-disagrees", "overlap")


def stack_with_negatives(
    positives: Any, negatives: Any, features: Sequence[str] | None
) -> LabeledGroups:
    """Positives, and the kinds of negatives behind them, in one table.

    Parameters
    ----------
    positives : array or frame
    negatives : array or frame, or mapping of str to these
        Of one kind, or of several.
    features : sequence of str, optional
        The columns that are used.
    """
    kinds = negatives if isinstance(negatives, Mapping) else {NEGATIVES: negatives}
    if POSITIVES in kinds:
        raise InputError(
            f"No kind of negatives can be named {POSITIVES!r}: rename it.", option="negatives"
        )
    if not kinds:
        raise InputError("There are no negatives: leave them out.", option="negatives")
    groups = stack({POSITIVES: positives, **kinds}, features, "group")
    require_enough(groups.names, groups.codes, "group", "negatives")
    return groups


def with_negatives(
    plain: Estimate, estimates: Sequence[Estimate], names: Sequence[str]
) -> Estimate:
    """The estimate for a sample, given that of the positives by themselves.

    The more of the sample's negatives are of known kinds, the more the known ones tell. With the
    share k of them among all negatives, the answer is k^2 times that of all groups together, and
    1 - k^2 times that of the positives by themselves; so are the ends of the interval. (The square
    was chosen on the tuning sets of `research/tuning/targets_split.md`.)

    Parameters
    ----------
    plain : Estimate
        As if no negatives were known.
    estimates : sequence of Estimate
        Of each group, and last of what belongs to none.
    names : sequence of str
        Of the groups.
    """
    of = dict(zip([*names, OTHER], estimates, strict=True))
    joint = of.pop(POSITIVES)
    negative = 1 - joint.value
    known = (1 - of[OTHER].value / negative if negative > 0 else 1.0) ** 2

    def mixed(one: float, other: float) -> float:
        return known * one + (1 - known) * other

    value = mixed(joint.value, plain.value)
    one, other = joint.interval, plain.interval
    assert one is not None
    assert other is not None  # because RCQ always has intervals
    interval = Interval(mixed(one.low, other.low), mixed(one.high, other.high), one.level)
    errors = {
        name: mixed(joint.details[name], plain.details[name])
        if joint.details[name] is not None and plain.details[name] is not None
        else None
        for name in ("expected_error", "likely_error")
    }
    # What is left for the negatives.
    factor = (1 - value) / negative if negative > 0 else 1.0
    shares = [
        {
            "name": name,
            "prevalence": factor * estimate.value,
            "low": min(estimate.interval.low, factor * estimate.value),
            "high": max(estimate.interval.high, factor * estimate.value),
        }
        for name, estimate in of.items()
        if estimate.interval is not None  # which it never is
    ]
    details = {
        **plain.details,
        **joint.details,
        **errors,
        "without_negatives": plain.value,
        "negatives": shares,
    }
    kept = tuple(caution for caution in plain.warnings if caution.code not in _REPLACED)
    told = {caution.code for caution in kept}
    new = (caution for caution in joint.warnings if caution.code not in told)
    return Estimate(value, details, interval, (*new, *kept))
