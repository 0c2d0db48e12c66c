"""The regions that tell most about a sample, for people to look at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poscount.counts import Counts
from poscount.reusable.rcq import RCQ


class Region(NamedTuple):
    """What one region says about the prevalence.

    Attributes
    ----------
    where : str
        The region in words.
    share : float
        Share of the positives in it.
    ratio : float
        Share of the sample over share of the positives: the prevalence if no negatives are in it.
    low, high : float
        Bounds on the prevalence; `high` holds whatever the negatives are.
    """

    where: str
    share: float
    ratio: float
    low: float
    high: float


def telling_regions(model: RCQ, counts: Counts, n_regions: int = 15) -> list[Region]:
    """The regions with the smallest upper bounds, smallest first.

    Parameters
    ----------
    model : RCQ
        Fitted.
    counts : Counts
        Of the sample, by the same model.
    n_regions : int, default=15
        How many at most.

    Returns
    -------
    list of Region
        Empty if the positives are too few for regions.

    Examples
    --------
    >>> import numpy as np
    >>> from poscount import RCQ
    >>> rng = np.random.default_rng(0)
    >>> model = RCQ(random_state=0).fit(rng.normal(size=(300, 2)))
    >>> sample = rng.normal(size=(500, 2)) + [3, 0]
    >>> first, *_ = telling_regions(model, model.count(sample))
    >>> first._asdict() == model.quantify(sample).details["region"]
    True
    """
    model._check_counts(counts)
    rule = model._region_rule()
    if model._too_few_positives(rule):
        return []
    tables, n_rows = model._tables(counts.cells[np.newaxis]), np.array([counts.n])
    ratio, low, high = (values[0] for values in rule.bounds(tables, n_rows))
    return [
        Region(
            model._where(rule, region),
            float(rule.in_positives[region] / model.n_labeled_),
            float(ratio[region]),
            float(low[region]),
            float(high[region]),
        )
        for region in np.argsort(high, kind="stable")[:n_regions].tolist()
    ]
