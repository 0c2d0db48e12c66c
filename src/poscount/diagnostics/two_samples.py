"""Two samples compared: how much their prevalences differ, and whether RCQ can be trusted."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from poscount.checks.core_differs import core_difference
from poscount.checks.second_sample import Comparison, limit_between_samples
from poscount.counts import Counts
from poscount.prevalence import Interval
from poscount.reusable.rcq import RCQ


def compare_samples(model: RCQ, counts_1: Counts, counts_2: Counts) -> Comparison:
    r"""Compare two samples that were counted by one model.

    The difference is that of two ratios in the same regions, those that decide about the sample
    with the smaller bound. Let f be the weight that a row carries (the sum of the weights of all
    regions that contain it) and v the variance of f among positives over the square of its mean. If
    negatives carry no weight, the mean weight in a sample with prevalence p is p times that of its
    own positives, so its ratio has variance v p / n from its own rows and v p^2 / n_L from the
    labelled positives. The second error is the same factor in both ratios, so that only d^2 v / n_L
    of it remains in their difference d. Choosing among many regions makes both too small by another
    factor. It is corrected, and its size in samples of positives alone, 1 - g, is kept as a further
    uncertainty:

    .. math:: Var = d^2 \left(\frac{v}{n_L} + (1 - g)^2\right)
              + v \left(\frac{p_1}{n_1} + \frac{p_2}{n_2}\right)

    This assumes that there are no negatives in the regions with the largest weights, and that the
    positives of both samples are distributed alike.

    If the prevalences differ, the cores tell overlap from drift: negatives in the core change its
    distribution with the prevalence, positives that have drifted do not.

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
            f"Samples are compared by RCQ's regions, and this is a {type(model).__name__}: fit "
            "RCQ() on the same positives."
        )
    prevalences = model.estimate(counts_1), model.estimate(counts_2)
    regions = model.regions
    if not regions.enough_positives:
        raise ValueError(
            f"Samples are compared by regions, for which {model.n_labeled_} positives are too few: "
            "give more."
        )
    counts = model.count_in_regions(counts_1, counts_2)
    alone = regions.find(counts)
    # The sample with the smaller bound shows best where negatives are not. Of two with similar
    # bounds neither may decide alone, because it would choose by its own luck.
    high, each = alone.decision.region_high, alone.decision.weights
    clearer = int(high.argmin())
    behind = high - high[clearer]
    says = np.exp(-behind / max(float(alone.gap[clearer]), np.finfo(float).tiny))
    weights = says @ (each / each.sum(axis=1, keepdims=True))
    ratio, p = float(alone.decision.ratio[clearer]), float(alone.prevalence[clearer])
    stretch = p / ratio if ratio > 0 else 1.0
    p_1, p_2 = (regions.ratios(counts, weights) * stretch).tolist()
    luck = 1 - float(alone.null_ratio[clearer])
    interval = _interval(p_1, p_2, counts.n_rows, regions.spread(weights), luck, model)
    cores = [regions.core(in_cuts) for in_cuts in counts.in_cuts]
    between = float(core_difference(*cores[0], *cores[1]))
    limit = limit_between_samples(model.core_freedom_)
    return Comparison(p_1 - p_2, interval, prevalences, between, limit)


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
