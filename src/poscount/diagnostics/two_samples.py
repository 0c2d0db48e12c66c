"""Two samples compared: how much their prevalences differ, and whether RCQ can be trusted."""

from __future__ import annotations

import numpy as np

from poscount.change.shared_regions import (
    SharedRegions,
    difference_interval,
    quantile,
    score_interval,
    shared_regions,
)
from poscount.checks.core_differs import core_difference, differs
from poscount.checks.second_sample import Comparison, limit_between_samples
from poscount.counts.counts import Counts
from poscount.methods.regions.quantifier import PositivesQuantifier
from poscount.results.distribution import Interval


def compare_samples(model: PositivesQuantifier, counts_1: Counts, counts_2: Counts) -> Comparison:
    r"""Compare two samples that were counted by one model.

    The difference is that of two ratios in the same regions, which are chosen by the rows of both
    samples together (`poscount.change.shared_regions`). The error of the labelled positives is the
    same factor in both ratios, so that only its share of the difference d remains. So does the
    error of choosing among many regions, whose size in samples of positives alone is 1 - g. With
    the variance v of the weight among positives over the square of its mean, and with the leak l,
    what negatives may have added to the ratios, about

    .. math:: Var = d^2 \left(\frac{v}{n_L} + (1 - g)^2\right)
              + v \left(\frac{p_1}{n_1} + \frac{p_2}{n_2}\right) + 2 (0.2 \, l)^2

    The last part is for kinds of negatives that change from one sample to the other. This assumes
    that the positives of both samples are distributed alike.

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
    if not isinstance(model, PositivesQuantifier):
        raise TypeError(
            f"Samples are compared by RCQ's regions, and this is a {type(model).__name__}: fit "
            "RCQ() on the same positives."
        )
    rule = model.part_.rule
    if not rule.enough_positives:
        raise ValueError(
            f"Samples are compared by regions, for which {model.n_labeled_} positives are too few: "
            "give more."
        )
    both = counts_1, counts_2
    prevalences = model.estimate(counts_1), model.estimate(counts_2)
    shared = shared_regions(model, both)
    difference, interval = _difference(shared, both, model.confidence)
    cores = [rule.core(in_cuts) for in_cuts in model._view(*both).counts.in_cuts]
    between = float(core_difference(*cores[0], *cores[1]))
    limit = limit_between_samples(model.part_.core_dof_)
    dof = model.part_.core_dof_
    unlike = [
        differs(p.details["core_difference"], dof, p.details["pat"], float(p)) for p in prevalences
    ]
    return Comparison(difference, interval, prevalences, between, limit, (unlike[0], unlike[1]))


def _difference(
    shared: SharedRegions, counts: tuple[Counts, Counts], confidence: float
) -> tuple[float, Interval]:
    ratio, n_rows = shared.ratios(counts)
    z = quantile(confidence)
    low, high = score_interval(ratio, n_rows, shared.second_moment, z, drawn=False)
    below, above = ratio - low, high - ratio
    difference = ratio[:1] - ratio[1:]
    ends = difference_interval(
        difference,
        (below[:1], above[:1]),
        (below[1:], above[1:]),
        z * shared.factor_sd,
        z * shared.lasting / shared.scale,
    )
    start, stop = np.clip(np.concatenate(ends) * shared.scale, -1, 1).tolist()
    return float(difference[0] * shared.scale), Interval(start, stop, confidence)
