"""Labelled negatives of a single target: what they explain is not counted as positives.

They may be of several kinds, and there may be other negatives that nobody has labelled. Kinds of
negatives are groups of labelled rows like the positives themselves, so the shares of all of them
are found together (`poscount.reusable.joint_regions`); that of the positives is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from poscount.errors import InputError
from poscount.prevalence import Estimate
from poscount.reusable.labeled_groups import LabeledGroups, require_enough, stack

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

    Parameters
    ----------
    plain : Estimate
        As if no negatives were known.
    estimates : sequence of Estimate
        Of each group, and last of what belongs to none.
    names : sequence of str
        Of the groups.
    """
    of = dict(zip([*names, "other"], estimates, strict=True))
    answer = of.pop(POSITIVES)
    kept = tuple(caution for caution in plain.warnings if caution.code not in _REPLACED)
    known = {caution.code for caution in kept}
    details = {
        **plain.details,
        **answer.details,
        "without_negatives": plain.value,
        "negatives": [
            {
                "name": name,
                "prevalence": estimate.value,
                "low": interval.low,
                "high": interval.high,
            }
            for name, estimate in of.items()
            if (interval := estimate.interval) is not None  # which it never is
        ],
    }
    new = (caution for caution in answer.warnings if caution.code not in known)
    return Estimate(answer.value, details, answer.interval, (*new, *kept))
