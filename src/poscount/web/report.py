"""The result in plain language, and as one HTML file that needs nothing else.

What was noticed comes from the warnings of each prevalence; the assumption report is a file of its
own, made later.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from poscount import __version__
from poscount.plotting.page import picture_element, whole_page
from poscount.workflows import Result

MEANING = (
    "The number is the share of positives among the unlabeled rows: 30 % of 1,000 rows means that "
    "about 300 of them are positives. It does not say which rows these are.",
    "The interval says how far chance alone could have moved the number, because only so many rows "
    "and only so many positives were looked at.",
)
DOUBTS = (
    "Do not believe it if the labelled positives are not like the positives in the unlabeled rows: "
    "another instrument, season, place or way of choosing. The number is then usually too low.",
    "Do not believe it if something else looks just like a typical positive in all chosen columns: "
    "it is counted as positive, and the number is too high. Columns that tell the two apart help.",
    "The interval knows nothing of these two: it is about chance only.",
    "If you can, check one sample by hand, or compare with another method: answers that differ "
    "by more than their intervals are a reason to doubt.",
)

_CSS = """
body { max-width: 60rem; } .big { font-size: 1.3rem; } .wide { overflow-x: auto; }
table { border-collapse: collapse; }
td, th { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; border-bottom: 1px solid var(--line); }
pre { background: var(--soft); padding: 0.8rem; overflow-x: auto; }
"""


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _between(low: float, high: float) -> str:
    return f"{_percent(low)} to {_percent(high)}"


def label(result: Result) -> str:
    """Say what a result is the result of."""
    return ", ".join(map(str, result.group.values())) or "all rows"


def headline(results: Sequence[Result]) -> str:
    """Say the answer in a sentence or two."""
    if len(results) == 1:
        return sentence(results[0])
    low = min(results, key=lambda result: result.prevalence)
    high = max(results, key=lambda result: result.prevalence)
    if _percent(low.prevalence) == _percent(high.prevalence):
        return f"In all {len(results)} groups the share of positives is {_percent(low.prevalence)}."
    return (
        f"In {len(results)} groups the share of positives goes from {_percent(low.prevalence)} "
        f"({label(low)}) to {_percent(high.prevalence)} ({label(high)})."
    )


def sentence(result: Result) -> str:
    """Say one result in a sentence or two."""
    p = result.prevalence
    where = f" of {label(result)}" if result.group else ""
    answer = (
        f"About {_percent(p)} of the {p.n_unlabeled:,} rows{where} are positives, that is about "
        f"{p.count:,.0f} rows."
    )
    if p.interval is None:
        return (
            f"{answer} This method gives no interval by itself: ask for replicates to see how "
            "uncertain the number is."
        )
    ends = _between(p.interval.low, p.interval.high)
    return f"{answer} The {100 * p.interval.level:g} % interval goes from {ends}."


def warnings(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Collect the warnings: each kind once, in the words of its worst case, with all its places."""
    found: dict[str, dict[str, Any]] = {}
    worst: dict[str, float] = {}
    for result in results:
        for caution in result.prevalence.warnings:
            kind = found.setdefault(caution.code, {"code": caution.code, "where": []})
            kind["where"].append(label(result))
            value = abs(caution.value or 0.0)
            if value >= worst.get(caution.code, 0.0):
                worst[caution.code] = value
                kind["sentence"] = caution.sentence[:1].upper() + caution.sentence[1:]
    return list(found.values())


def html(answer: dict[str, Any], picture: bytes | None) -> str:
    """Write the answer as one page; `picture` is a PNG."""
    rows = "".join(f"<tr>{_cells(entry, answer)}</tr>\n" for entry in answer["results"])
    heads = [
        answer["labelled"],
        "share",
        "interval",
        *(["truth"] if answer["truth"] else []),
        "positives",
        "rows",
        "warnings",
    ]
    noticed = [
        f"<strong>{escape(kind['sentence'])}</strong> ({escape(', '.join(kind['where']))})"
        for kind in answer["warnings"]
    ]
    parts = [
        f'<p class="big">{escape(answer["headline"])}</p>\n',
        '<div class="wide" tabindex="0"><table>\n',
        f"<tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>\n{rows}</table></div>\n",
        "" if picture is None else picture_element(picture, answer["picture"]),
        f"<h2>What was noticed</h2>{_list(noticed) or '<p>No warning was raised.</p>'}\n",
        f"<h2>What it means</h2>{_list(map(escape, answer['meaning']))}\n",
        f"<h2>When not to believe it</h2>{_list(map(escape, answer['doubts']))}\n",
        f"<h2>How it was made</h2><p>{escape(answer['made'])}</p>\n",
        f"<h3>On the command line</h3>{_code(answer['command'])}\n",
        f"<h3>In Python</h3>{_code(answer['python'])}\n",
        f'<p class="note">poscount {__version__}</p>\n',
    ]
    return whole_page("Share of positives", "".join(parts), _CSS)


def _cells(entry: dict[str, Any], answer: dict[str, Any]) -> str:
    interval = entry["interval"]
    cells = [
        entry["label"],
        _percent(entry["prevalence"]),
        _between(interval["low"], interval["high"]) if interval else "none",
        *([_percent(entry["truth"])] if answer["truth"] else []),
        f"{entry['count']:,.0f}",
        f"{entry['n_unlabeled']:,}",
        " ".join(caution["code"] for caution in entry["warnings"]) or "none",
    ]
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)


def _code(text: str) -> str:
    # What scrolls must be reached by the keyboard, too.
    return f'<pre tabindex="0">{escape(text)}</pre>'


def _list(items: Any) -> str:
    entries = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{entries}</ul>" if entries else ""
