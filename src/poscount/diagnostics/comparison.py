"""Two samples side by side: how much their prevalences differ, and whether RCQ may be trusted."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from poscount import checks
from poscount.counts import Counts
from poscount.prevalence import Interval, Prevalence
from poscount.reusable.rcq import RCQ


@dataclass(frozen=True)
class Comparison:
    """Two samples compared.

    Attributes
    ----------
    difference : float
        Prevalence of the first sample minus that of the second, both from the same regions.
    interval : Interval
        Range for it; the error that both samples share through the positives cancels.
    prevalences : tuple of Prevalence
        What the model says about each sample by itself.
    core_difference : float
        How differently the two cores are spread (`poscount.checks.core_difference`).
    limit : float
        What `core_difference` exceeds in one of 20 pairs of clean samples.
    reading : {"overlap", "drift", "clean"}
        "overlap" if the cores differ from each other: their mixture of positives and negatives
        does, so that negatives are in them. "drift" if they are alike, but not like the positives.
        "clean" if neither is seen.
    """

    difference: float
    interval: Interval
    prevalences: tuple[Prevalence, Prevalence]
    core_difference: float
    limit: float
    reading: str

    def __str__(self) -> str:
        sign, more = (1, "more") if self.difference >= 0 else (-1, "fewer")
        low, high = sorted(100 * sign * end for end in (self.interval.low, self.interval.high))
        return (
            f"The first sample has {100 * abs(self.difference):.1f} points {more} positives "
            f"({low:.1f} to {high:.1f}); {_SENTENCES[self.reading]}"
        )


_SENTENCES = {
    "overlap": "negatives overlap with part of the positives: trust RCQ rather than PAT.",
    "drift": "both look alike, and not like the labelled positives: either these have drifted, "
    "then trust PAT rather than RCQ, or the prevalences are too close to tell.",
    "clean": "no sign of overlap or drift.",
}


def compare_samples(model: RCQ, counts_1: Counts, counts_2: Counts) -> Comparison:
    r"""Compare two samples that one model has counted.

    The difference is that of two ratios of the same regions, those that decide about the sample
    whose prevalence they bound most. Let f be the weight that a row carries (the sum of the weights
    of all regions that hold it) and v the variance of f among positives over the square of its
    mean. If negatives carry
    none, a sample with prevalence p has the mean weight p times that of its own positives, so that
    its ratio has variance v p / n from its own rows and v p^2 / n_L from the labelled positives.
    The second error is one and the same factor in both ratios, so that of their difference d only
    d^2 v / n_L remains. The luck of choosing among many regions makes both too small by one more
    factor, which is corrected, and whose size in samples of positives alone, 1 - g, stays as a
    doubt:

    .. math:: Var = d^2 \left(\frac{v}{n_L} + (1 - g)^2\right)
              + v \left(\frac{p_1}{n_1} + \frac{p_2}{n_2}\right)

    It assumes that the negatives of both samples keep out of the regions of the largest weights,
    and that the positives of both samples are spread alike (as the labelled ones or not, where
    only their scale is concerned).

    The cores tell overlap from drift, if the prevalences differ: negatives in the core change its
    spread with the prevalence, positives that have drifted do not.

    Parameters
    ----------
    model : RCQ
        Fitted; its `confidence` is the level of the interval.
    counts_1, counts_2 : Counts
        Of the two samples.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import RCQ
    >>> rng = np.random.default_rng(0)
    >>> def sample(n_positives, n_negatives):
    ...     rows = rng.normal(size=(n_positives + n_negatives, 3))
    ...     rows[n_positives:] += 6
    ...     return rows
    >>> model = RCQ(random_state=0).fit(sample(300, 0))
    >>> found = compare_samples(model, model.count(sample(600, 400)), model.count(sample(300, 700)))
    >>> 0.3 in found.interval, found.reading
    (True, 'clean')
    """
    if not isinstance(model, RCQ):
        raise TypeError(
            f"Samples are compared through the regions of RCQ, and this is a "
            f"{type(model).__name__}: fit RCQ() on the same positives."
        )
    prevalences = model.estimate(counts_1), model.estimate(counts_2)
    rule = model._region_rule()
    if model._too_few_positives(rule):
        raise ValueError(
            f"Samples are compared through regions, for which {model.n_labeled_} positives are too "
            "few: give more."
        )
    tables = model._tables(np.array([counts_1.cells, counts_2.cells]))
    n_rows = np.array([counts_1.n, counts_2.n])
    alone = rule.find(tables, n_rows)
    # The sample that bounds its prevalence most shows best where negatives are not; of two alike,
    # neither may choose, because it would choose by its own luck.
    clearer = int(alone.decision.its_high.argmin())
    behind = alone.decision.its_high - alone.decision.its_high[clearer]
    says = np.exp(-behind / max(float(alone.gap[clearer]), np.finfo(float).tiny))
    each = alone.decision.weights
    weights = says @ (each / each.sum(axis=1, keepdims=True))
    ratio, p = float(alone.decision.ratio[clearer]), float(alone.prevalence[clearer])
    stretch = p / ratio if ratio > 0 else 1.0
    p_1, p_2 = (rule.ratios(tables, n_rows, weights) * stretch).tolist()
    luck = 1 - float(alone.null_ratio[clearer])
    interval = _interval(p_1, p_2, n_rows, rule.spread(weights), luck, model)
    cores = (model._core(rule, alone.in_cuts[i]) for i in range(2))
    between = float(checks.core_difference(*next(cores), *next(cores)))
    limit = checks.core_limit(model.core_freedom_, 1.7, 0.05)
    return Comparison(
        p_1 - p_2, interval, prevalences, between, limit, _reading(between, limit, prevalences)
    )


def _interval(
    p_1: float, p_2: float, n_rows: np.ndarray, spread: float, luck: float, model: RCQ
) -> Interval:
    difference = p_1 - p_2
    n_1, n_2 = n_rows.tolist()
    counting = max(p_1, 1 / n_1) / n_1 + max(p_2, 1 / n_2) / n_2
    scale = spread / model.n_labeled_ + luck**2
    sd = math.sqrt(difference**2 * scale + spread * counting)
    half = float(ndtri((1 + model.confidence) / 2)) * sd
    return Interval(max(-1.0, difference - half), min(1.0, difference + half), model.confidence)


def _reading(between: float, limit: float, prevalences: tuple[Prevalence, Prevalence]) -> str:
    if between > limit:
        return "overlap"
    doubts = {caution.code for p in prevalences for caution in p.warnings}
    return "drift" if "core-differs" in doubts else "clean"
