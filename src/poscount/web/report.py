"""The report of an estimate: one HTML file to keep and to send."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from poscount import __version__
from poscount.plotting.page import picture_element, whole_page
from poscount.storage.writer import write_whole
from poscount.web.answers import interval_text, percent
from poscount.web.schemas import Download

_CSS = """
body { max-width: 60rem; } .big { font-size: 1.3rem; } .wide { overflow-x: auto; }
table { border-collapse: collapse; }
td, th { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; border-bottom: 1px solid var(--line); }
pre { background: var(--soft); padding: 0.8rem; overflow-x: auto; }
"""


def write_report(folder: Path, answer: dict[str, Any], title: str = "", notes: str = "") -> None:
    """Write an answer as one HTML page that needs no other file.

    Parameters
    ----------
    folder : Path
        Where to write it; with ``prevalence.png`` if there is a picture.
    answer : dict
        As `poscount.web.answers.build_answer` makes it.
    title, notes : str
        What somebody wants to add; empty lines separate paragraphs of the notes.
    """
    picture = folder / Download.png
    png = picture.read_bytes() if picture.exists() else None
    page = _html(answer, png, title, notes)
    write_whole(folder / Download.report, page.encode())


def _html(answer: dict[str, Any], png: bytes | None, title: str, notes: str) -> str:
    noticed = [
        f"<strong>{escape(kind['sentence'])}</strong> ({escape(', '.join(kind['where']))})"
        for kind in answer["warnings"]
    ]
    paragraphs = [part for part in notes.split("\n\n") if part.strip()]
    columns = ["column", "kind", "what the model did with it"]
    parts = [
        f"<p>{escape(answer['date'])}, poscount {__version__}</p>\n",
        "".join(f"<p>{escape(part)}</p>\n" for part in paragraphs),
        f'<p class="big">{escape(answer["headline"])}</p>\n<p>{escape(answer["verdict"])}</p>\n',
        _results(answer),
        picture_element(png, answer["picture"]) if png and answer["picture"] else "",
        f"<h2>Warnings</h2>{_list(noticed) or '<p>There are none.</p>'}\n",
        f"<h2>What it means</h2>{_list(map(escape, answer['meaning']))}\n",
        f"<h2>When not to trust it</h2>{_list(map(escape, answer['doubts']))}\n",
        f"<h2>How it was made</h2><p>{escape(answer['made'])}</p>\n",
        _table(["file", "used as", "SHA-256"], [file.values() for file in answer["files"]]),
        _table(columns, [column.values() for column in answer["columns"]]),
        f"<h3>On the command line</h3>{_code(answer['command'])}\n",
        f"<h3>In Python</h3>{_code(answer['python'])}\n",
        f"<h2>For a paper</h2><p>{escape(answer['methods_paragraph'])}</p>\n",
    ]
    return whole_page(title or "Share of positives", "".join(parts), _CSS)


def _results(answer: dict[str, Any]) -> str:
    entries, with_truth = answer["results"], answer["truth"]
    levels = {entry["interval"]["level"] for entry in entries if entry["interval"]}
    heads = [
        answer["label_title"],
        "share",
        f"{100 * levels.pop():g} % interval" if len(levels) == 1 else "interval",
        *(["truth"] if with_truth else []),
        "positives",
        "rows",
        "verdict",
        "warnings",
    ]
    return _table(heads, [_cells(entry, with_truth) for entry in [*answer["totals"], *entries]])


def _cells(entry: dict[str, Any], with_truth: bool) -> list[str]:
    interval = entry["interval"]
    return [
        entry["label"],
        percent(entry["prevalence"]),
        interval_text(interval["low"], interval["high"]) if interval else "none",
        *([percent(entry["truth"]) if entry["truth"] is not None else ""] if with_truth else []),
        f"{entry['count']:,.0f}",
        f"{entry['n_unlabeled']:,}",
        entry["verdict"]["status"],
        " ".join(caution["code"] for caution in entry["warnings"]) or "none",
    ]


def _table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [
        f"<tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>\n",
        *(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows),
    ]
    # What scrolls must be reachable by keyboard.
    return f'<div class="wide" tabindex="0"><table>\n{"".join(lines)}</table></div>\n'


def _code(text: str) -> str:
    return f'<pre tabindex="0">{escape(text)}</pre>'


def _list(items: Iterable[str]) -> str:
    entries = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{entries}</ul>" if entries else ""
