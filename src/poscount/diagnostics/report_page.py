"""The assumption report as one HTML page."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from poscount import __version__
from poscount.diagnostics.pictures import Drawing
from poscount.plotting.display import png, pyplot
from poscount.plotting.page import picture_element, whole_page
from poscount.results.prevalence import Prevalence
from poscount.results.user_knowledge import knowledge_in_words
from poscount.results.verdict import AnswerWarning
from poscount.results.what_if import QUESTION, WhatIf

if TYPE_CHECKING:
    from poscount.diagnostics.assumption_report import Diagnosis

TITLE = "Can this estimate be trusted?"
NO_PROOF = (
    "That nothing is found is no proof: nobody can see that positives were picked, or that "
    "negatives look exactly like positives."
)

# A word and a shape for each, so that nothing depends on colour alone.
_SIGNS = {
    "note": "\u25cf Note",
    "check": "\u25b2 Check",
    "do not use": "\u2716 Do not use",
}

_CSS = """
body { max-width: 56rem; }
.answer { font-size: 1.15rem; } .answer strong { font-size: 1.6rem; }
article { border-left: 6px solid var(--line); padding: 0.1rem 0 0.1rem 1rem; margin: 1.2rem 0; }
article h2 { font-size: 1.1rem; margin: 0.3rem 0; }
article.check, article.do-not-use { border-color: #D55E00; } article.note { border-color: #0072B2; }
article p { margin: 0.3rem 0; } figure { margin: 0.7rem 0; }
"""


def html_page(diagnosis: Diagnosis) -> str:
    """Write a diagnosis as a page with pictures."""
    p, by_rcq, comparison = diagnosis.prevalence, diagnosis.by_rcq, diagnosis.comparison
    parts = [
        f'<p class="answer"><strong>{100 * p:.1f} %</strong> of {p.n_unlabeled:,} rows are '
        f"positive{_interval(p)}.</p>\n<p><strong>{html.escape(str(diagnosis.verdict))}</strong>"
        f"</p>\n<p>{html.escape(p.method)} has learned from {p.n_labeled:,} labelled positives."
        "</p>\n",
        *(f"<p>{sentence}</p>\n" for sentence in knowledge_in_words(p.details)),
    ]
    if by_rcq is not None:
        parts.append(
            f"<p>RCQ, from the same positives: {100 * by_rcq:.1f} %{_interval(by_rcq)}.</p>\n"
        )
    if diagnosis.what_if:
        parts.append(_what_if(diagnosis.what_if))
    parts += map(_article, diagnosis.warnings)
    if comparison is not None:
        parts.append(
            f'<article id="comparison">\n<h2>Second sample</h2>\n<p>{html.escape(str(comparison))}'
            "</p>\n</article>\n"
        )
    parts += [picture_element(_drawn(picture), picture.title) for picture in diagnosis.pictures]
    parts.append(
        f'<p class="note">{NO_PROOF} poscount {__version__}, seed {p.details.get("seed")}.</p>\n'
    )
    return whole_page(TITLE, "".join(parts), _CSS)


def _interval(p: Prevalence) -> str:
    if p.interval is None:
        return ""
    low, high, level = p.interval.low, p.interval.high, p.interval.level
    return f", {100 * level:g} % interval {100 * low:.1f} to {100 * high:.1f} %"


def _what_if(what_if: WhatIf) -> str:
    items = "".join(f"<li>{html.escape(str(reading))}</li>\n" for reading in what_if)
    return (
        f'<article id="what-if">\n<h2>What if?</h2>\n<ul>\n{items}</ul>\n<p>{QUESTION}</p>\n'
        "</article>\n"
    )


def _article(warning: AnswerWarning) -> str:
    title = html.escape(warning.reason or warning.code)
    return (
        f'<article class="{warning.severity.replace(" ", "-")}" id="{html.escape(warning.code)}">\n'
        f"<h2>{_SIGNS[warning.severity]}: {title}</h2>\n<p>{html.escape(warning.sentence)}</p>\n"
        "</article>\n"
    )


def _drawn(picture: Drawing) -> bytes:
    pyplot()  # raises an error that says how to install it
    from matplotlib.figure import Figure

    # Not a figure of pyplot's, because its list of figures is not safe for several threads.
    figure = Figure(figsize=picture.size, layout="constrained")
    picture(figure.subplots())
    return png(figure)
