"""
Where two sets of rows differ
=============================

The sample has fewer of one kind of positives than the labelled set. The shares below a quantile
of each feature show it, most of all in the feature that tells the kinds apart.
"""

import numpy as np

from poscount.plotting import SharesDisplay

rng = np.random.default_rng(0)


def two_kinds(n, share):
    rows = rng.normal(size=(n, 3))
    rows[rng.random(n) < share, 0] += 3
    return rows


positives, sample = two_kinds(400, 0.5), two_kinds(1000, 0.2)
medians = np.median(positives, axis=0)

SharesDisplay.from_shares(
    [f"x{i} <= {median:.2f}" for i, median in enumerate(medians)],
    (positives <= medians).mean(axis=0),
    (sample <= medians).mean(axis=0),
    names=("positives", "sample"),
    xlabel="share of rows (%)",
    title="Rows below the median of the positives",
)
