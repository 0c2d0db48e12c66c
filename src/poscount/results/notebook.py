"""Answers in a notebook: small pieces of HTML, made of numbers and words.

No script, no style sheet and nothing from outside is in them. Lines and letters have the colour of
the text around them, so that light and dark pages suit them, and text from data is escaped.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from poscount.printable import in_a_sentence

# Rows of a table: a notebook keeps what it shows in its file.
MOST_ROWS = 100
# Characters of a cell, and of a sentence.
_MOST_IN_CELL, _MOST_IN_SENTENCE = 80, 2000
_BLUE = "#1f83c4"


class Share(NamedTuple):
    """A share with its interval, to be drawn as a bar."""

    value: float
    low: float
    high: float


Cell = str | Share | None


def percent(share: float) -> str:
    """A share for people, without its sign.

    Examples
    --------
    >>> percent(0.3081)
    '30.8'
    """
    return f"{100 * share:.1f}"


def piece(*parts: str) -> str:
    """Put parts together that belong to one answer."""
    return f'<div style="max-width:60em;line-height:1.4">{"".join(parts)}</div>'


def paragraph(text: str, *, strong: str = "", small: bool = False) -> str:
    """A paragraph that may begin with something strong; neither is HTML yet.

    Examples
    --------
    >>> paragraph(" of <all>", strong="3 %")
    '<p style="margin:.3em 0"><b style="font-size:1.4em">3 %</b> of &lt;all&gt;</p>'
    """
    head = f'<b style="font-size:1.4em">{_text(strong)}</b>' if strong else ""
    size = ";font-size:.85em;opacity:.8" if small else ""
    return f'<p style="margin:.3em 0{size}">{head}{_text(text)}</p>'


def listed(sentences: Iterable[tuple[str, str]]) -> str:
    """A list of sentences, each with a few strong words in front; nothing without any."""
    items = [f"<li><b>{_text(head)}</b> {_text(text)}</li>" for head, text in sentences]
    return f'<ul style="margin:.3em 0;padding-left:1.4em">{"".join(items)}</ul>' if items else ""


def bar(share: Share, *, width: int = 420, scale: bool = True) -> str:
    """Draw a share from 0 to 100 %: a bar with a line for its interval.

    Parameters
    ----------
    share : Share
    width : int
        In pixels; it becomes narrower where there is less room.
    scale : bool
        Whether to write 0, 50 and 100 % below it.
    """
    height = 34 if scale else 16
    at = [6 + (width - 12) * end for end in share]
    label = f"{percent(share.value)} %, interval {percent(share.low)} to {percent(share.high)} %"
    parts = [
        f'<svg role="img" aria-label="{label}" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" style="max-width:100%;vertical-align:middle">',
        f'<rect x="6" y="3" width="{width - 12}" height="10" fill="currentColor" '
        'fill-opacity=".14"/>',
        f'<rect x="6" y="3" width="{at[0] - 6:.1f}" height="10" fill="{_BLUE}"/>',
        f'<path d="M{at[1]:.1f} 8H{at[2]:.1f}M{at[1]:.1f} 3v10M{at[2]:.1f} 3v10" fill="none" '
        'stroke="currentColor" stroke-width="1.6"/>',
    ]
    if scale:
        marks = (("start", 6, "0 %"), ("middle", width // 2, "50 %"), ("end", width - 6, "100 %"))
        parts += [
            f'<text x="{x}" y="28" text-anchor="{anchor}" font-size="11" fill="currentColor" '
            f'fill-opacity=".75">{text}</text>'
            for anchor, x, text in marks
        ]
    return f"{''.join(parts)}</svg>"


def table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[str], n_rows: int
) -> str:
    """A table of texts and bars.

    Parameters
    ----------
    heads : sequence of str
    rows : sequence of sequences
        A `Share` becomes a bar, None an empty cell.
    right : sequence of str
        Heads of the columns that are aligned to the right.
    n_rows : int
        How many rows there are; a table shows no more than `MOST_ROWS` of them.
    """
    styles = [f"text-align:{'right' if head in right else 'left'}" for head in heads]
    head = _row("th", styles, [_text(text) for text in heads])
    body = "".join(_row("td", styles, list(map(_cell, row))) for row in rows)
    rest = n_rows - len(rows)
    more = paragraph(f"... and {rest:,} more rows.", small=True) if rest else ""
    return (
        f'<div style="overflow-x:auto"><table style="border-collapse:collapse"><thead>{head}'
        f"</thead><tbody>{body}</tbody></table></div>{more}"
    )


def _row(kind: str, styles: Sequence[str], cells: Sequence[str]) -> str:
    pairs = zip(styles, cells, strict=True)
    inside = "".join(
        f'<{kind} style="padding:.1em .6em;white-space:nowrap;{s}">{c}</{kind}>' for s, c in pairs
    )
    return f"<tr>{inside}</tr>"


def _cell(cell: Cell) -> str:
    if isinstance(cell, Share):
        return bar(cell, width=150, scale=False)
    return html.escape(in_a_sentence(cell or "", _MOST_IN_CELL))


def _text(text: str) -> str:
    return html.escape(in_a_sentence(text, _MOST_IN_SENTENCE))
