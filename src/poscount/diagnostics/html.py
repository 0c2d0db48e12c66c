"""The assumption report as one HTML page, and its pictures."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from poscount import __version__
from poscount.checks import Evidence
from poscount.checks.core_differs import core_difference
from poscount.checks.finding import Drawing, Finding
from poscount.diagnostics.evidence import RegionalView
from poscount.methods.regions.rule import RegionRule
from poscount.plotting import PATCurveDisplay, PrevalenceDisplay, RegionDisplay, SharesDisplay
from poscount.plotting.display import png, pyplot
from poscount.plotting.page import picture_element, whole_page
from poscount.results.prevalence import Prevalence
from poscount.results.user_knowledge import knowledge_in_words
from poscount.results.what_if import QUESTION, WhatIf

if TYPE_CHECKING:
    from poscount.diagnostics.assumption_report import Diagnosis

MOST_FEATURES = 12

Core = tuple[np.ndarray, np.ndarray]

TITLE = "Can this estimate be trusted?"

# A word and a shape for each, so that nothing depends on colour alone.
_SIGNS = {
    "ok": ("\u2713", "In order"),
    "note": ("\u25cf", "Note"),
    "check": ("\u25b2", "Check"),
    "do not use": ("\u2716", "Do not use"),
}

_CSS = """
body { max-width: 56rem; }
.answer { font-size: 1.15rem; } .answer strong { font-size: 1.6rem; }
article { border-left: 6px solid var(--line); padding: 0.1rem 0 0.1rem 1rem; margin: 1.2rem 0; }
article h2 { font-size: 1.1rem; margin: 0.3rem 0; }
article.check, article.do-not-use { border-color: #D55E00; } article.note { border-color: #0072B2; }
article.ok { border-color: #009E73; }
article p { margin: 0.3rem 0; } figure { margin: 0.7rem 0; }
"""


def html_page(diagnosis: Diagnosis) -> str:
    """Write a diagnosis as a page with pictures."""
    p = diagnosis.prevalence
    interval = ""
    if p.interval is not None:
        interval = (
            f", {100 * p.interval.level:g} % interval {100 * p.interval.low:.1f} to "
            f"{100 * p.interval.high:.1f} %"
        )
    parts = [
        f'<p class="answer"><strong>{100 * p:.1f} %</strong> of {p.n_unlabeled:,} rows are '
        f"positive{interval}.</p>\n<p><strong>{html.escape(str(p.verdict))}</strong></p>\n",
        f"<p>{html.escape(p.method)} has learned from {p.n_labeled:,} labelled positives. "
        f"Findings: {html.escape(diagnosis.summary)}.</p>\n",
        *(f"<p>{sentence}</p>\n" for sentence in knowledge_in_words(p.details)),
        *([_what_if(diagnosis.what_if)] if diagnosis.what_if else []),
        *map(_article, diagnosis.by_severity),
    ]
    if diagnosis.skipped:
        # Without a remedy: the page does not know how its reader sets an option.
        items = "".join(f"<li>{html.escape(u.rendered(''))}</li>\n" for u in diagnosis.skipped)
        parts.append(f"<h2>Not checked</h2>\n<ul>\n{items}</ul>\n")
    parts.append(f'<p class="note">poscount {__version__}, seed {p.details.get("seed")}.</p>\n')
    return whole_page(TITLE, "".join(parts), _CSS)


def _what_if(what_if: WhatIf) -> str:
    items = "".join(f"<li>{html.escape(str(reading))}</li>\n" for reading in what_if)
    return (
        f'<article id="what-if">\n<h2>What if?</h2>\n<ul>\n{items}</ul>\n<p>{QUESTION}</p>\n'
        "</article>\n"
    )


def _article(finding: Finding) -> str:
    sign, word = _SIGNS[finding.severity]
    picture, advice = "", ""
    if finding.advice:
        advice = f"<p><b>What to do:</b> {html.escape(finding.advice)}</p>\n"
    if finding.plot is not None:
        picture = picture_element(_drawn(finding.plot), finding.title)
        if finding.severity == "ok":
            picture = f"<details><summary>Picture</summary>\n{picture}</details>\n"
    return (
        f'<article class="{finding.severity.replace(" ", "-")}" id="{html.escape(finding.code)}">\n'
        f"<h2>{sign} {word}: {html.escape(finding.title)}</h2>\n"
        f"<p>{html.escape(finding.sentence)}</p>\n{advice}"
        f'<p class="note">{html.escape(finding.figures)}</p>\n{picture}</article>\n'
    )


def _drawn(plot: Drawing) -> bytes:
    pyplot()  # raises an error that says how to install it
    from matplotlib.figure import Figure

    # Not a figure of pyplot's, because its list of figures is not safe for several threads.
    figure = Figure(figsize=plot.size, layout="constrained")
    plot(figure.subplots())
    return png(figure)


def drawings(answer: Prevalence, evidence: Evidence) -> Iterator[tuple[str, Drawing]]:
    """Pictures, each with the code of the finding that it belongs to."""
    if "curve" in answer.details:
        yield "overlap", Drawing(PATCurveDisplay.from_predictions, {"prevalence": answer})
    if not evidence.has("view"):
        return
    view: RegionalView = evidence.view
    if view.answer is answer:
        regions = view.model._view(view.counts).most_informative_regions()
        arguments = {"prevalence": answer, "regions": regions}
        yield "broken-assumption", Drawing(RegionDisplay.from_predictions, arguments)
    yield from _cores(view)
    if evidence.has("dedpul"):
        yield "dedpul-disagrees", _methods(answer, view.answer, evidence.dedpul)


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
