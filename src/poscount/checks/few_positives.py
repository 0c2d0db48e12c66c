"""Few positives: for the method, for the covariance of its scorer, for RCQ's regions."""

from __future__ import annotations

import functools
import math

from poscount.checks.check import Check, Evidence, Missing, Outcome
from poscount.scorers import Mahalanobis

# RCQ answers by PAT's rule with fewer.
FEWEST_POSITIVES = 20
# With fewer, the mean error on real data was 4 points and more (docs/rcq.md).
COMFORTABLE = 60
LARGEST_BIAS = 0.05


def covariance_bias(n_features: int, n_labeled: int) -> float:
    """Share of itself by which PAT's estimate is too high with a plain covariance.

    Of m rows in d dimensions, the covariance makes new rows look m / (m - d - 2) times too far
    away, in squared distance. The training scores come from nine tenths of the rows and so look
    farther than those of a sample; the estimate is too high by about the share of positives that
    lies in this shift, 0.8 sqrt(d / 2) times the logarithm of the ratio, relative to itself.
    `research/tuning/few_positives.py` compares this with simulations of Gaussian positives: it is
    about right up to a fifth and an upper bound beyond. A shrunk covariance removes nearly all of
    the bias.

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


def _look(evidence: Evidence) -> Outcome:
    n, needed, bias, rank = evidence.n_labeled, FEWEST_POSITIVES, 0.0, 0
    scorer = evidence.scorer
    if isinstance(scorer, Mahalanobis) and scorer.covariance == "empirical":
        rank = scorer.rank_
        bias = covariance_bias(rank, n)
        needed = positives_needed(rank)
    if bias > LARGEST_BIAS:
        sentence = (
            f"{n} positives are few for {rank} features: with the plain covariance, the estimate "
            f"may be too high by a factor of {1 + min(bias, 1):.2f}."
        )
        advice = 'Label more positives, or shrink the covariance: Mahalanobis("ledoit-wolf").'
        # The bias does not fall with every single positive.
        return Outcome("warning" if n < needed else "notice", n, needed, sentence, advice, bias)
    if n < needed:
        sentence = f"The model has learned from {n} positives; it needs at least {needed}."
        return Outcome("warning", n, needed, sentence, "Label more positives.")
    if n < COMFORTABLE:
        sentence = (
            f"The model has learned from {n} positives. That is enough for an estimate, but its "
            "error is then often 4 points or more."
        )
        return Outcome("notice", n, needed, sentence, "Label more positives.")
    d = len(evidence.feature_names)
    features = f"{d} feature{'s' if d > 1 else ''}"
    sentence = f"The model has learned from {n} positives with {features}, which is enough."
    return Outcome("ok", n, needed, sentence)


def _look_for_rcq(evidence: Evidence) -> Outcome | Missing:
    n = evidence.n_labeled
    if not evidence.answered_by_pat:
        return Missing()
    reason = (
        f"it has {n} positives and needs {FEWEST_POSITIVES}"
        if n < FEWEST_POSITIVES
        else "no region holds a fair share of the positives"
    )
    sentence = (
        f"RCQ has used PAT's rule, because {reason}. PAT's estimate is too high where negatives "
        "look like positives, and with so few positives nobody can see whether they do: take the "
        "estimate for an upper bound."
    )
    return Outcome("warning", n, None, sentence, "Label more positives.", caution=n)


FEW_POSITIVES = Check(
    code="few-positives",
    look=_look,
    title="Number of positives",
    quantity="labelled positives",
    cannot_detect="whether the positives are typical of those in the sample",
)
FEW_POSITIVES_FOR_RCQ = Check(
    code="few-positives-for-rcq",
    look=_look_for_rcq,
    caution_severity="doubt",
    reason="there are too few positives to see whether negatives look like them",
)
