"""The statistics behind the warnings: reasons to doubt an estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator

from poscount.prevalence import Caution, Interval
from poscount.scorers import Mahalanobis


def wide_interval(interval: Interval) -> list[Caution]:
    """Warn when the interval is too wide for the number to be of use."""
    if interval.width <= 0.24:
        return []
    return [
        Caution(
            "wide-interval",
            f"the interval is {100 * interval.width:.0f} points wide: too few rows or too few "
            "positives for a useful answer.",
            interval.width,
        )
    ]


def crowded_core(uncapped: float, n_labeled: int, n_unlabeled: int) -> list[Caution]:
    """Warn when the core of the positives holds more rows than positives alone could fill.

    The statistic is O = (PAT before its cap at 1, minus 1) / sqrt(0.8 (1/n_L + 1/n_U)), for which
    1.65 gives at most 5 false alarms in 100 samples of positives alone, and about 1 in 100 over
    samples of all prevalences.
    """
    excess = (uncapped - 1) / math.sqrt(0.8 * (1 / n_labeled + 1 / n_unlabeled))
    if excess <= 1.65:
        return []
    return [
        Caution(
            "overlap",
            "more rows look like typical positives than if all were positive: some negatives sit "
            "in the core of the positives, or the positives have drifted; the estimate is too "
            "high.",
            excess,
        )
    ]


def singular_covariance(scorer: BaseEstimator, names: Sequence[str] | None) -> list[Caution]:
    """Warn when the positives do not vary in every direction, so that some do not count."""
    if not isinstance(scorer, Mahalanobis) or scorer.rank_ == scorer.n_features_in_:
        return []
    constant = [names[i] if names is not None else str(i) for i in scorer.constant_.tolist()]
    unused = scorer.n_features_in_ - scorer.rank_
    reason = f"constant: {', '.join(constant)}" if constant else "columns that repeat others"
    return [
        Caution(
            "singular-covariance",
            f"the positives do not vary in {unused} of {scorer.n_features_in_} directions "
            f"({reason}), and these do not count in the score.",
            float(unused),
        )
    ]


def few_positives(scorer: BaseEstimator, n_labeled: int) -> list[Caution]:
    """Warn when the plain covariance has too few positives for its features.

    Of m rows in d dimensions, the covariance makes new rows look m / (m - d - 2) times too far
    away, in squared distance. The training scores come from nine tenths of the rows and so look
    farther than those of a sample; the estimate is too high by about the share of positives that
    lies in this shift, 0.8 sqrt(d / 2) times the logarithm of the ratio, relative to itself.
    `benchmarks/few_positives.py` compares this with simulations of Gaussian positives: it is about
    right up to a fifth and an upper bound beyond, and a shrunk covariance takes nearly all of the
    bias away.
    """
    if not isinstance(scorer, Mahalanobis) or scorer.covariance != "empirical":
        return []
    d, m = scorer.rank_, n_labeled - math.ceil(n_labeled / 10)
    too_far = [n / max(n - d - 2, 0.5) for n in (m, n_labeled)]
    bias = 0.8 * math.sqrt(d / 2) * math.log(too_far[0] / too_far[1])
    if bias <= 0.05:
        return []
    return [
        Caution(
            "few-positives",
            f"{n_labeled} positives are few for {d} features: with the plain covariance the "
            f"estimate may be too high by {100 * min(bias, 1):.0f} % of itself; shrink it, "
            'Mahalanobis("ledoit-wolf"), or give more positives.',
            bias,
        )
    ]


def largest_tie(training_scores: np.ndarray, edges: np.ndarray) -> float:
    """Largest share of the positives whose score is exactly that of an edge."""
    ordered = np.sort(training_scores)
    ties = np.searchsorted(ordered, edges, "right") - np.searchsorted(ordered, edges, "left")
    return float(ties.max() / len(ordered))


def tied_scores(largest: float) -> list[Caution]:
    """Warn when so many positives share a score that the shares between the edges are wrong."""
    if largest <= 0.05:
        return []
    return [
        Caution(
            "tied-scores",
            f"{100 * largest:.0f} % of the positives have one and the same score, so that shares "
            "of positives are known only up to as much; use a scorer with finer scores.",
            largest,
        )
    ]
