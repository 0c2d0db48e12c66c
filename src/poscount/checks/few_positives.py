"""Few positives: for the method, for the covariance of its scorer, for RCQ's regions."""

from __future__ import annotations

import functools
import math

import numpy as np

from poscount.checks.check import NOTE, TO_CHECK, Check, above
from poscount.checks.evidence import Evidence

# RCQ answers by PAT's rule with fewer.
FEWEST_POSITIVES = 20
LARGEST_BIAS = 0.05


def covariance_bias(n_features: int, n_labeled: int) -> float:
    """Share of itself by which PAT's estimate is too high with a plain covariance.

    Of m rows in d dimensions, the covariance makes new rows look m / (m - d - 2) times too far
    away, in squared distance. The training scores come from nine tenths of the rows and so look
    farther than those of a sample; the estimate is too high by about the share of positives that
    lies in this shift, 0.8 sqrt(d / 2) times the logarithm of the ratio, relative to itself. In
    simulations of Gaussian positives this is about right up to a fifth and an upper bound beyond.
    A shrunk covariance removes nearly all of the bias.

    Examples
    --------
    >>> round(covariance_bias(20, 50), 2), round(covariance_bias(20, 500), 3)
    (0.23, 0.013)
    """
    m = n_labeled - math.ceil(n_labeled / 10)
    too_far = [n / max(n - n_features - 2, 0.5) for n in (m, n_labeled)]
    return 0.8 * math.sqrt(n_features / 2) * math.log(too_far[0] / too_far[1])


@functools.cache
def positives_needed(n_features: int) -> int:
    """Number of positives that keeps the bias of a plain covariance small.

    Examples
    --------
    >>> n = positives_needed(20)
    >>> covariance_bias(20, n) <= LARGEST_BIAS < covariance_bias(20, n - 1)
    True
    """
    # With fewer than d + 3 there is no covariance at all.
    n = max(FEWEST_POSITIVES, n_features + 3)
    while covariance_bias(n_features, n) > LARGEST_BIAS:
        n += 1
    return n


def _bias(evidence: Evidence) -> float:
    """By how much the plain covariance of the scorer makes estimates too high."""
    if evidence.has("scorer") and evidence.scorer.covariance == "empirical":
        return covariance_bias(evidence.scorer.rank_, evidence.n_labeled)
    return 0.0


def _sentence_about_bias(evidence: Evidence, i: int) -> str:
    return (
        f"{evidence.n_labeled} positives are few for {evidence.scorer.rank_} features: with the "
        f"plain covariance, the estimate may be too high by a factor of "
        f"{1 + min(_bias(evidence), 1):.2f}."
    )


def _sentence_for_rcq(evidence: Evidence, i: int) -> str:
    n = evidence.n_labeled
    reason = (
        f"it has {n} positives and needs {FEWEST_POSITIVES}"
        if n < FEWEST_POSITIVES
        else "no region holds a fair share of the positives"
    )
    return (
        f"RCQ has used PAT's rule, because {reason}. PAT's estimate is too high where negatives "
        "look like positives, and with so few positives nobody can see whether they do: take the "
        "estimate for an upper bound."
    )


FEW_POSITIVES = Check(
    code="few-positives",
    statistic=_bias,
    severity=above(LARGEST_BIAS, NOTE),
    sentence=_sentence_about_bias,
    advice='Label more positives, or shrink the covariance: Mahalanobis("ledoit-wolf").',
)
FEW_POSITIVES_FOR_RCQ = Check(
    code="few-positives-for-rcq",
    statistic=lambda evidence: evidence.n_labeled,
    severity=lambda evidence, n: np.where(
        evidence.answered_by_pat, TO_CHECK, np.zeros(len(n), int)
    ),
    sentence=_sentence_for_rcq,
    advice="Label more positives.",
    reason="there are too few positives to see whether negatives look like them",
)
