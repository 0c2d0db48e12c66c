"""The core of the positives: which of its rows are below each cut, as numbers and as a picture."""

from __future__ import annotations

import numpy as np

from poscount import checks
from poscount.counts import Counts
from poscount.diagnostics.finding import Drawing
from poscount.plotting import SharesDisplay
from poscount.reusable.rcq import RCQ

MOST_FEATURES = 12

Core = tuple[np.ndarray, np.ndarray]


def core_of_positives(model: RCQ) -> Core:
    """Positives of the core below each cut, and in all."""
    rule = model._region_rule()
    return model._core(rule, rule.positives_in_cuts)


def core_of_sample(model: RCQ, counts: Counts) -> Core:
    """Rows of a sample in the core below each cut, and in all."""
    rule = model._region_rule()
    tables = model._tables(counts.cells[np.newaxis])
    return model._core(rule, rule.layout.in_cuts(tables)[0])


def core_drawing(model: RCQ, first: Core, second: Core, names: tuple[str, str]) -> Drawing | None:
    """Draw the features in which two cores differ most, each by its most telling cut."""
    n, other_n = float(first[1]), float(second[1])
    if n == 0 or other_n == 0:
        return None
    # One cut at a time, which makes the mean over cuts that of one.
    one, other = (
        (below[:, np.newaxis], np.full(len(below), total)) for below, total in (first, second)
    )
    squares = checks.core_difference(*one, *other)
    feature, place = np.nonzero(np.isfinite(model.cuts_))
    best: dict[int, int] = {}
    for cut in np.argsort(-squares, kind="stable").tolist():
        best.setdefault(int(feature[cut]), cut)
    cuts = list(best.values())[:MOST_FEATURES]
    conditions = [
        f"{model._feature_name(model.features_[feature[cut]])} <= "
        f"{model.cuts_[feature[cut], place[cut]]:.4g}"
        for cut in cuts
    ]
    return Drawing(
        SharesDisplay.from_shares,
        {
            "conditions": conditions,
            "first": first[0][cuts] / n,
            "second": second[0][cuts] / other_n,
            "names": names,
            "xlabel": "share of the rows most like positives (%)",
            "title": "Where the typical rows differ most",
        },
    )
