"""The pictures of the report."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from poscount.checks.core_differs import core_difference
from poscount.checks.finding import Drawing
from poscount.diagnostics.evidence import Gathered, RegionalView
from poscount.methods.regions.rule import RegionRule
from poscount.plotting import PATCurveDisplay, PrevalenceDisplay, RegionDisplay, SharesDisplay
from poscount.results.prevalence import Prevalence

MOST_FEATURES = 12

Core = tuple[np.ndarray, np.ndarray]


def drawings(gathered: Gathered) -> Iterator[tuple[str, Drawing]]:
    """Pictures, each with the code of the finding that it belongs to."""
    answer, _, view, dedpul = gathered
    if "curve" in answer.details:
        yield "wide-interval", Drawing(PATCurveDisplay.from_predictions, {"prevalence": answer})
    if view is None:
        return
    if view.answer is answer:
        regions = view.model._view(view.counts).most_informative_regions()
        arguments = {"prevalence": answer, "regions": regions}
        yield "wide-interval", Drawing(RegionDisplay.from_predictions, arguments)
    yield from _cores(view)
    if dedpul is not None:
        yield "dedpul-disagrees", _methods(answer, view.answer, dedpul)


def _cores(view: RegionalView) -> Iterator[tuple[str, Drawing]]:
    regions = view.model.part_.rule
    core = regions.core(view.model._view(view.counts).counts.in_cuts[0])
    pairs = [("core-differs", regions.core_of_positives, core, ("labelled positives", "sample"))]
    if view.reference is not None:
        other = regions.core(view.model._view(view.reference).counts.in_cuts[0])
        pairs.append(("second-sample", core, other, ("sample", "reference")))
    for code, first, second, names in pairs:
        if first[1] > 0 and second[1] > 0:
            yield code, _two_cores(regions, first, second, names)


def _two_cores(regions: RegionRule, first: Core, second: Core, names: tuple[str, str]) -> Drawing:
    """Draw the features in which two cores differ most, each by its most different cut."""
    (below, n), (other_below, other_n) = first, second
    # One cut at a time, so that the mean over cuts is that of one.
    squares = core_difference(
        below[:, np.newaxis],
        np.full(len(below), n),
        other_below[:, np.newaxis],
        np.full(len(below), other_n),
    )
    best: dict[str, int] = {}
    for cut in np.argsort(-squares, kind="stable").tolist():
        best.setdefault(regions.core_cuts[cut][0], cut)
    cuts = list(best.values())[:MOST_FEATURES]
    return Drawing(
        SharesDisplay.from_shares,
        {
            "conditions": [regions.core_cuts[cut][1] for cut in cuts],
            "first": below[cuts] / n,
            "second": other_below[cuts] / other_n,
            "names": names,
            "xlabel": "share of the rows most like positives (%)",
            "title": "Where the typical rows differ most",
        },
    )


def _methods(answer: Prevalence, of_rcq: Prevalence, of_dedpul: Prevalence) -> Drawing:
    pat = Prevalence(
        min(1.0, of_rcq.details["pat"]),
        n_labeled=answer.n_labeled,
        n_unlabeled=answer.n_unlabeled,
        method="PAT",
    )
    answers = {"RCQ": of_rcq, "PAT": pat, "DEDPUL": of_dedpul}
    if of_rcq is not answer:
        answers["this model"] = answer
    return Drawing(
        PrevalenceDisplay.from_predictions,
        {
            "prevalences": list(answers.values()),
            "labels": list(answers),
            "title": "Estimates of different methods",
        },
        size=(5.0, 3.8),
    )
