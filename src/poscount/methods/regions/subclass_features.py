r"""What kinds of positives say about a sample: the features that the sum's calibration learns from.

Every kind is counted by regions of its own, whose features (`features`) have its prevalence
p_k, the gap between its bound and its ratio, and so on. Without drift, all p_k / share_k are the
same, with the share of the kind among the positives; the heterogeneity

.. math:: Q = \frac{1}{K - 1} \sum_k \left(\frac{p_k - r \, share_k}{s_k}\right)^2

tells how far they are from it, in units of their standard errors s_k, around their common ratio r.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poscount.methods.regions.features import DECIMALS, FEATURE_NAMES
from poscount.methods.regions.view import PartView

# Width of a 95 % interval by the null calibration, in gaps, over that in standard errors.
ERRORS_PER_GAP = 1.75 / 3.92
SMALLEST_ERROR = 1e-4
RATIO_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
# Heterogeneity at which the sum and the prevalence of all positives as one kind count the same.
EVEN = 4.0

# What is known of the unlabeled rows that scores were learned from: their number; how well all
# positives can be told from them; and the prevalence of one kind, and the sum, without the scores.
OF_REFERENCE = ["log_reference", "skill", "plain_rcq", "kinds_rcq"]
_RENAMED = {"prevalence": "plain", "high": "plain_high"}
SUBCLASS_FEATURES = [
    *("prevalence", "high", "kinds", "kinds_ratio", "kinds_low", "kinds_high", "kinds_pat"),
    *("kinds_gap", "common_ratio", "largest_kind", "largest_excess"),
    *(f"kind_ratio_{q:g}" for q in RATIO_QUANTILES),
    *("log_heterogeneity", "log_kinds", "log_smallest_kind", "log_median_kind"),
    *("core_difference_of_kinds", "null_ratio_of_kinds", "told"),
    *("log_sum_over_one_kind", "excess_difference", "log_grown_kinds"),
    *("log_distance_of_grown", "log_core_difference", "log_largest_difference"),
    *("log_core_difference_of_grown", "log_separation"),
    *OF_REFERENCE,
    *(_RENAMED.get(name, name) for name in FEATURE_NAMES),
]


def subclass_features(
    plain: np.ndarray,
    of_kinds: np.ndarray,
    of_reference: np.ndarray,
    sizes: np.ndarray,
    separation: float,
    named_by_user: bool,
) -> np.ndarray:
    """Features of each sample: `SUBCLASS_FEATURES`.

    Parameters
    ----------
    plain : ndarray of shape (n_samples, len(FEATURE_NAMES))
        What the regions of all positives together say.
    of_kinds : ndarray of shape (n_kinds, n_samples, len(FEATURE_NAMES))
        What those of each kind say.
    of_reference : ndarray of shape (n_samples, len(OF_REFERENCE))
        What the learned scores have changed (`reference_features`).
    sizes : ndarray of shape (n_kinds,)
        Positives of each kind.
    separation : float
        How far apart the kinds are (`poscount.methods.regions.subclasses.separation`).
    named_by_user : bool
        Whether the caller has named the kinds.
    """
    p, ratio, gap, high, low, pat, difference, null = (
        of_kinds[..., FEATURE_NAMES.index(name)]
        for name in (
            *("prevalence", "ratio", "gap", "high", "region_low", "pat"),
            *("core_difference", "null_ratio"),
        )
    )
    # Without any bound, a kind may be everything.
    gap, high, low = np.nan_to_num(gap, nan=1.0), np.nan_to_num(high, nan=1.0), np.nan_to_num(low)
    shares = (sizes / sizes.sum())[:, np.newaxis]
    one_kind, core, largest = (
        plain[:, FEATURE_NAMES.index(name)]
        for name in ("prevalence", "core_difference", "largest_difference")
    )
    excess = p - shares * one_kind
    distance = of_kinds[..., FEATURE_NAMES.index("mean_distance")]
    ratios = p / shares
    common, heterogeneity = _heterogeneity(p, gap, shares)
    total = np.minimum(p.sum(axis=0), 1)
    together = np.sqrt((gap**2).sum(axis=0))
    by_sum = heterogeneity**2 / (heterogeneity**2 + EVEN**2)
    value = by_sum * total + (1 - by_sum) * one_kind
    grown = np.maximum(excess, 0) + SMALLEST_ERROR
    n = plain.shape[0]
    columns = [
        value,
        np.minimum(np.maximum(total, one_kind) + together, 1),
        *(total, ratio.sum(axis=0), np.maximum(low, 0).sum(axis=0)),
        *(np.minimum(high, 1).sum(axis=0), np.minimum(pat, 1).sum(axis=0)),
        *(together, common, p.max(axis=0), excess.max(axis=0)),
        *np.quantile(ratios, RATIO_QUANTILES, axis=0),
        *(np.log1p(heterogeneity), np.full(n, np.log(len(sizes)))),
        *(np.full(n, np.log(size)) for size in (sizes.min(), np.median(sizes))),
        *(np.median(difference, axis=0), np.median(null, axis=0), np.full(n, float(named_by_user))),
        np.log(np.maximum(total, 0.005) / np.maximum(one_kind, 0.005)).clip(-2, 4),
        ((total - one_kind) / np.maximum(together, 0.01)).clip(-3, 10),
        np.log1p((ratios > 2 * np.maximum(one_kind, 0.001)).sum(axis=0)),
        np.log1p(10 * (grown * distance).sum(axis=0) / grown.sum(axis=0)),
        *(np.log1p(core.clip(0, 1e4)), np.log1p(largest.clip(0, 1e5))),
        np.log1p((grown * difference).sum(axis=0) / grown.sum(axis=0)),
        np.full(n, separation),
    ]
    return np.column_stack([np.column_stack(columns).round(DECIMALS), of_reference, plain])


def reference_features(one_kind: PartView, kinds: Sequence[PartView]) -> np.ndarray:
    """What learned scores have changed for each sample: `OF_REFERENCE`.

    Without unlabeled rows to learn from, nothing: the first two are 0, and the others are what all
    regions say.
    """
    learned = one_kind.part.learned_score_
    known = (0.0, 0.0) if learned is None else (np.log(learned.n_reference_), learned.skill_)
    total = sum(kind.plain.prevalence for kind in kinds)
    columns = [*(np.full(len(one_kind), value) for value in known), one_kind.plain.prevalence]
    return np.column_stack([*columns, np.minimum(total, 1)]).round(DECIMALS)


def _heterogeneity(
    p: np.ndarray, gap: np.ndarray, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Common ratio of kinds, and how much more than chance they differ from it."""
    weights = (shares / np.maximum(ERRORS_PER_GAP * gap, SMALLEST_ERROR)) ** 2
    ratios = p / shares
    common = (weights * ratios).sum(axis=0) / weights.sum(axis=0)
    return common, (weights * (ratios - common) ** 2).sum(axis=0) / (len(p) - 1)
