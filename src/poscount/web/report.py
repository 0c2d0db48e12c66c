"""The report of an estimate: one HTML file to keep and to send."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from poscount import __version__
from poscount.plotting.page import picture_element, whole_page
from poscount.storage.writer import write_whole
from poscount.web import schemas
from poscount.web.answers import interval_text, percent

_CSS = """
body { max-width: 60rem; } .big { font-size: 1.3rem; } .wide { overflow-x: auto; }
table { border-collapse: collapse; }
td, th { padding: 0.2rem 0.8rem 0.2rem 0; text-align: left; border-bottom: 1px solid var(--line); }
pre { background: var(--soft); padding: 0.8rem; overflow-x: auto; }
"""


def write_report(folder: Path, *, title: str = "", notes: str = "") -> None:
    """Write the answer in a folder as one HTML page that needs no other file.

    Parameters
    ----------
    folder : Path
        With ``result.json`` and, if there is a picture, ``prevalence.png``.
    title, notes : str
        What somebody wants to add; empty lines separate paragraphs of the notes.
    """
    text = (folder / schemas.Download.json).read_text(encoding="utf-8")
    answer = schemas.Answer.model_validate_json(text)
    picture = folder / schemas.Download.png
    png = picture.read_bytes() if picture.exists() else None
    page = _html(answer, png, title, notes)
    write_whole(folder / schemas.Download.report, page.encode())


def _html(answer: schemas.Answer, png: bytes | None, title: str, notes: str) -> str:
    rows = "".join(f"<tr>{_cells(entry, answer.truth)}</tr>\n" for entry in answer.results)
    truth = ["truth"] if answer.truth else []
    heads = [
        answer.label_title,
        "share",
        _interval_head(answer),
        *truth,
        "positives",
        "rows",
        "verdict",
        "warnings",
    ]
    noticed = [
        f"<strong>{escape(kind.sentence)}</strong> ({escape(', '.join(kind.where))})"
        for kind in answer.warnings
    ]
    level = f"<p>{escape(answer.date)}, poscount {__version__}</p>\n"
    paragraphs = [part for part in notes.split("\n\n") if part.strip()]
    parts = [
        level,
        "".join(f"<p>{escape(part)}</p>\n" for part in paragraphs),
        f'<p class="big">{escape(answer.headline)}</p>\n<p>{escape(answer.verdict)}</p>\n',
        '<div class="wide" tabindex="0"><table>\n',
        f"<tr>{''.join(f'<th>{escape(head)}</th>' for head in heads)}</tr>\n{rows}</table></div>\n",
        picture_element(png, answer.picture) if png and answer.picture else "",
        f"<h2>Warnings</h2>{_list(noticed) or '<p>There are none.</p>'}\n",
        f"<h2>What it means</h2>{_list(map(escape, answer.meaning))}\n",
        f"<h2>When not to trust it</h2>{_list(map(escape, answer.doubts))}\n",
        f"<h2>How it was made</h2><p>{escape(answer.made)}</p>\n",
        _files_table(answer.files),
        _columns_table(answer.columns),
        f"<h3>On the command line</h3>{_code(answer.command)}\n",
        f"<h3>In Python</h3>{_code(answer.python)}\n",
        f"<h2>For a paper</h2><p>{escape(answer.methods_paragraph)}</p>\n",
    ]
    return whole_page(title or "Share of positives", "".join(parts), _CSS)


def _interval_head(answer: schemas.Answer) -> str:
    levels = {entry.interval.level for entry in answer.results if entry.interval}
    return f"{100 * levels.pop():g} % interval" if len(levels) == 1 else "interval"


def _cells(entry: schemas.ResultEntry, with_truth: bool) -> str:
    cells = [
        entry.label,
        percent(entry.prevalence),
        interval_text(entry.interval) if entry.interval else "none",
        *([percent(entry.truth)] if with_truth and entry.truth is not None else []),
        f"{entry.count:,.0f}",
        f"{entry.n_unlabeled:,}",
        entry.verdict.grade,
        " ".join(caution.code for caution in entry.warnings) or "none",
    ]
    return "".join(f"<td>{escape(cell)}</td>" for cell in cells)


def _files_table(files: Sequence[schemas.UsedFile]) -> str:
    rows = "".join(
        f"<tr><td>{escape(file.name)}</td><td>{escape(file.role)}</td>"
        f"<td><code>{file.sha256}</code></td></tr>\n"
        for file in files
    )
    head = "<tr><th>file</th><th>used as</th><th>SHA-256</th></tr>\n"
    return f'<div class="wide" tabindex="0"><table>\n{head}{rows}</table></div>\n'


def _columns_table(columns: Sequence[schemas.UsedColumn]) -> str:
    rows = "".join(
        f"<tr><td>{escape(column.name)}</td><td>{escape(column.kind)}</td>"
        f"<td>{escape(column.done)}</td></tr>\n"
        for column in columns
    )
    head = "<tr><th>column</th><th>kind</th><th>what the model did with it</th></tr>\n"
    return f'<div class="wide" tabindex="0"><table>\n{head}{rows}</table></div>\n'


def _code(text: str) -> str:
    # What scrolls must be reachable by keyboard.
    return f'<pre tabindex="0">{escape(text)}</pre>'


def _list(items: Iterable[str]) -> str:
    entries = "".join(f"<li>{item}</li>" for item in items)
    return f"<ul>{entries}</ul>" if entries else ""
