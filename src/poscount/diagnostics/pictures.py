"""The pictures of the assumption report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from poscount.counts.counts import Counts
from poscount.methods.regions.core import core_difference
from poscount.methods.regions.quantifier import PositivesQuantifier
from poscount.methods.regions.view import PartView
from poscount.plotting import PATCurveDisplay, RegionDisplay, SharesDisplay
from poscount.results.prevalence import Prevalence

MOST_FEATURES = 12


@dataclass(frozen=True)
class Drawing:
    """A picture that can be drawn later, also in another process.

    Attributes
    ----------
    title : str
        What it shows.
    draw : callable
        Takes the arguments and `ax`.
    arguments : mapping of str to object
        Keyword arguments of `draw`.
    size : (float, float)
        Width and height of a figure for it, in inches.
    """

    title: str
    draw: Callable[..., Any]
    arguments: Mapping[str, Any]
    size: tuple[float, float] = (9.0, 4.6)

    def __call__(self, ax: Any) -> Any:
        """Draw it on matplotlib's axes."""
        return self.draw(**self.arguments, ax=ax)


def drawings(
    answer: Prevalence, regions: PositivesQuantifier | None = None, counts: Counts | None = None
) -> Iterator[Drawing]:
    """Pictures of an answer, and of what a model with regions has counted, if there is one."""
    if "curve" in answer.details:
        yield Drawing(
            "Estimates by threshold", PATCurveDisplay.from_predictions, {"prevalence": answer}
        )
    if regions is None or counts is None or not regions.part_.rule.enough_positives:
        return
    view = regions._view(counts)
    if "region" in answer.details:
        yield Drawing(
            "The regions that say most",
            RegionDisplay.from_predictions,
            {"prevalence": answer, "regions": view.most_informative_regions()},
        )
    if view.rule.core_of_positives[1] > 0 and view.rule.core(view.counts.in_cuts[0])[1] > 0:
        yield _cores(view)


def _cores(view: PartView) -> Drawing:
    """Draw the features in which the cores differ most, each by its most different cut."""
    rule = view.rule
    (below, n), (other_below, other_n) = rule.core_of_positives, rule.core(view.counts.in_cuts[0])
    # One cut at a time, so that the mean over cuts is that of one.
    squares = core_difference(
        below[:, np.newaxis],
        np.full(len(below), n),
        other_below[:, np.newaxis],
        np.full(len(below), other_n),
    )
    best: dict[str, int] = {}
    for cut in np.argsort(-squares, kind="stable").tolist():
        best.setdefault(rule.core_cuts[cut][0], cut)
    cuts = list(best.values())[:MOST_FEATURES]
    title = "Where the typical rows differ most from the labelled positives"
    return Drawing(
        title,
        SharesDisplay.from_shares,
        {
            "conditions": [rule.core_cuts[cut][1] for cut in cuts],
            "first": below[cuts] / n,
            "second": other_below[cuts] / other_n,
            "names": ("labelled positives", "sample"),
            "xlabel": "share of the rows most like positives (%)",
            "title": title,
        },
    )
