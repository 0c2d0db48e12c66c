"""Two samples compared: how much their prevalences differ, and whether RCQ can be trusted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import chdtri

from poscount.change.shared_regions import (
    SharedRegions,
    difference_interval,
    quantile,
    score_interval,
    shared_regions,
)
from poscount.counts.counts import Counts
from poscount.methods.regions.core import core_difference
from poscount.methods.regions.quantifier import PositivesQuantifier
from poscount.results import notebook
from poscount.results.distribution import Interval
from poscount.results.prevalence import Prevalence
from poscount.results.tables import html_table

Reading = Literal["clean", "overlap", "drift", "close"]
_SENTENCES: dict[Reading, str] = {
    "clean": "no sign of overlap or drift.",
    "overlap": "negatives overlap with part of the positives: trust RCQ rather than PAT.",
    "drift": "both samples look alike, but not like the labelled positives, as if the positives "
    "had drifted: trust PAT rather than RCQ, and label new positives from where the samples come "
    "from.",
    "close": "both samples look alike, but not like the labelled positives. They may have drifted, "
    "or negatives may overlap with them: compare with a sample that has clearly more or fewer "
    "positives, because these are too close to tell.",
}
# Prevalences that differ by less do not tell overlap from drift.
_CLOSE = 0.1
# PAT's estimate above RCQ's, for it to matter why a sample's core is unlike that of the positives.
_SAME_ANSWER = 0.05


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
        How differently the two cores are spread (`poscount.methods.regions.core`).
    limit : float
        What `core_difference` exceeds in 1 of 20 pairs of samples with nothing wrong.
    unlike_positives : tuple of bool
        Whether the core of each sample is spread differently than that of the positives.
    """

    difference: float
    interval: Interval
    prevalences: tuple[Prevalence, Prevalence]
    core_difference: float
    limit: float
    unlike_positives: tuple[bool, bool]

    @property
    def reading(self) -> Reading:
        """What the cores of the two samples tell.

        "overlap" if they differ from each other: the mixture of positives and negatives in them
        does, so there are negatives. If they are alike, but not like the positives, "drift", or
        "close" if the prevalences are so close that overlap would look the same. "clean" if neither
        is seen.
        """
        if self.core_difference > self.limit:
            return "overlap"
        if not any(self.unlike_positives):
            return "clean"
        return "close" if abs(self.difference) < _CLOSE else "drift"

    def to_dict(self) -> dict[str, Any]:
        """Its numbers, its reading and its sentence, in types that JSON knows."""
        return {
            "difference": self.difference,
            "interval": asdict(self.interval),
            "reading": self.reading,
            "sentence": str(self),
        }

    def _repr_html_(self) -> str:
        answers = zip(("first sample", "second sample"), self.prevalences, strict=True)
        return notebook.piece(
            notebook.paragraph(str(self)),
            html_table(["of"], [([name], p) for name, p in answers]),
        )

    def __str__(self) -> str:
        sign, more = (1, "more") if self.difference >= 0 else (-1, "fewer")
        low, high = sorted(100 * sign * end for end in (self.interval.low, self.interval.high))
        return (
            f"The first sample has {100 * abs(self.difference):.1f} points {more} positives "
            f"({low:.1f} to {high:.1f}); {_SENTENCES[self.reading]}"
        )


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

    See Also
    --------
    poscount.trend : For a series of groups.
    poscount.ChangeDetector : For a stream.

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
    dof = model.part_.core_dof_
    one, other = (_unlike_positives(prevalence, dof) for prevalence in prevalences)
    limit = core_limit(dof, 1.7, 0.05)
    return Comparison(difference, interval, prevalences, between, limit, (one, other))


def core_limit(dof: float, floor: float, false_alarms: float) -> float:
    """Largest core difference that is no reason for doubt.

    The quantile of chi-squared over its degrees of freedom, and never less than `floor`, which
    allows for what the theory leaves out where there are many cuts.

    Examples
    --------
    >>> round(core_limit(2.0, 1.8, 0.03), 2), core_limit(50.0, 1.8, 0.03)
    (3.51, 1.8)
    """
    return max(floor, float(chdtri(dof, false_alarms)) / dof)


def _unlike_positives(prevalence: Prevalence, dof: float) -> bool:
    """Whether a sample's core is unlike that of the positives, and it matters why."""
    details = prevalence.details
    matters = min(1.0, details["pat"]) - prevalence > _SAME_ANSWER
    return matters and details["core_difference"] > core_limit(dof, 1.8, 0.03)


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
