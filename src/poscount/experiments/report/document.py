"""Chapters of tables and pictures, and how they are written: as Markdown, CSV and HTML."""

from __future__ import annotations

import html
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from poscount.plotting.display import Display, png, pyplot
from poscount.plotting.page import picture_element, whole_page
from poscount.storage.writer import csv_writer

# Tables with more rows are left out of the HTML page.
_MAX_ROWS = 400

_CSS = """
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.6rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th { border-bottom: 2px solid var(--line); vertical-align: bottom; white-space: normal; }
.text { text-align: left; }
td.text { white-space: normal; min-width: 5rem; max-width: 26rem; overflow-wrap: anywhere; }
td:first-child.text { min-width: 6.5rem; overflow-wrap: break-word; position: sticky; left: 0;
  background: Canvas; }
tbody tr:nth-child(even) { background: var(--soft); }
small { font-size: 0.75rem; color: var(--quiet); }
.caption { font-weight: 600; margin: 1.5rem 0 0.3rem; }
"""

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~])")


@dataclass(frozen=True, slots=True)
class TableCell:
    """One entry of a table: a number, a text or nothing, with a small number in brackets after it.

    Attributes
    ----------
    value : float, int, str or None
        None and NaN are an empty cell.
    aside : float or None
        The number in brackets, such as a standard deviation.
    bold : bool
        Whether it is the best one.
    decimals : int
        Digits after the decimal point of both numbers.
    """

    value: float | int | str | None
    aside: float | None = None
    bold: bool = False
    decimals: int = 2

    @property
    def text(self) -> str:
        """The value for readers.

        Examples
        --------
        >>> cells = TableCell(2.345), TableCell(0.0001, decimals=3), TableCell(None), TableCell(12)
        >>> [cell.text for cell in cells]
        ['2.35', '<0.001', '', '12']
        """
        if isinstance(self.value, float):
            return self._number(self.value)
        return "" if self.value is None else " ".join(str(self.value).split())

    @property
    def small(self) -> str:
        """The number in brackets for readers."""
        number = None if self.aside is None else self._number(self.aside)
        return f"({number})" if number else ""

    def _number(self, number: float) -> str:
        if math.isnan(number):
            return ""
        if 0 < number < 0.5 * 10**-self.decimals:
            return f"<{10**-self.decimals:.{self.decimals}f}"
        return f"{number:.{self.decimals}f}"


def span(numbers: Any) -> int | str | None:
    """Range of a series of numbers, or the number if they are equal; None if there are none."""
    if numbers.empty:
        return None
    low, high = int(numbers.min()), int(numbers.max())
    return low if low == high else f"{low}-{high}"


@dataclass
class ReportTable:
    """A table of the report.

    Attributes
    ----------
    name : str
        Stem of its file name.
    title : str
        Caption.
    head : sequence of str
        Names of the columns.
    rows : list of sequence of TableCell or plain values
    aside : str
        What the numbers in brackets are; CSV files name their columns after it.
    notes : list of str
        Sentences below it.
    long : bool
        Whether it is only for looking things up: then it is folded away, or only a CSV file.
    main : bool
        Whether it is what the experiment was run for.
    """

    name: str
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    aside: str = "sd"
    notes: list[str] = field(default_factory=list)
    long: bool = False
    main: bool = False

    @property
    def cells(self) -> list[list[TableCell]]:
        """All entries as cells."""
        return [[v if isinstance(v, TableCell) else TableCell(v) for v in row] for row in self.rows]

    def markdown(self) -> str:
        """Write a Markdown table without its title."""
        lines = [[_markdown(name) for name in self.head]]
        lines.append([":--" if text else "--:" for text in self._is_text()])
        for row in self.cells:
            lines.append([_markdown_cell(cell) for cell in row])
        notes = [f"\n{_markdown(note)}" for note in self.notes]
        return "\n".join(["| " + " | ".join(line) + " |" for line in lines] + notes) + "\n"

    def csv(self) -> str:
        """Write CSV with every digit; numbers in brackets get columns of their own."""
        cells = self.cells
        has_aside = [any(row[i].aside is not None for row in cells) for i in range(len(self.head))]
        out = io.StringIO()
        writer = csv_writer(out)
        head = []
        for name, more in zip(self.head, has_aside, strict=True):
            head += [name, f"{name} {self.aside}"] if more else [name]
        writer.writerow(head)
        for row in cells:
            line: list[object] = []
            for cell, more in zip(row, has_aside, strict=True):
                line += [_plain(cell.value), _plain(cell.aside)] if more else [_plain(cell.value)]
            writer.writerow(line)
        return out.getvalue()

    def html(self) -> str:
        """Write a table element with its caption and notes."""
        kinds = [' class="text"' if text else "" for text in self._is_text()]
        head = "".join(
            f'<th scope="col"{kind}>{html.escape(name)}</th>'
            for name, kind in zip(self.head, kinds, strict=True)
        )
        body = "\n".join(
            "<tr>"
            + "".join(
                f"<td{kind}>{_html_cell(cell)}</td>" for cell, kind in zip(row, kinds, strict=True)
            )
            + "</tr>"
            for row in self.cells
        )
        notes = "".join(f'<p class="note">{html.escape(note)}</p>\n' for note in self.notes)
        table = (
            f'<div class="wide"><table id="{html.escape(self.name)}">\n<thead><tr>{head}</tr>'
            f"</thead>\n<tbody>\n{body}\n</tbody></table></div>\n"
        )
        title = html.escape(self.title)
        if self.long:
            return f"<details><summary>{title}</summary>\n{table}</details>\n{notes}"
        return f'<p class="caption">{title}</p>\n{table}{notes}'

    def _is_text(self) -> list[bool]:
        """Which columns hold text, and are aligned to the left."""
        cells = self.cells
        return [
            any(isinstance(row[i].value, str) and row[i].value for row in cells)
            for i in range(len(self.head))
        ]


def _plain(value: object) -> object:
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    return "" if missing else value


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _markdown_cell(cell: TableCell) -> str:
    text = _markdown(cell.text)
    text = f"**{text}**" if cell.bold and text else text
    return f"{text} <sub>{cell.small}</sub>" if cell.small else text


def _html_cell(cell: TableCell) -> str:
    text = html.escape(cell.text)
    text = f"<b>{text}</b>" if cell.bold and text else text
    return f"{text} <small>{html.escape(cell.small)}</small>" if cell.small else text


class Picture(NamedTuple):
    """A picture of the report.

    Attributes
    ----------
    name : str
        Stem of its file name.
    title : str
        What it shows, also for readers who cannot see it.
    png : bytes
    """

    name: str
    title: str
    png: bytes

    @classmethod
    def of(cls, display: Display, name: str, title: str) -> Picture:
        """Draw a display, and close its figure."""
        picture = cls(name, title, png(display.figure_))
        pyplot().close(display.figure_)
        return picture


@dataclass
class Chapter:
    """A chapter of the report: sentences, then tables and pictures."""

    title: str
    text: list[str] = field(default_factory=list)
    items: list[ReportTable | Picture] = field(default_factory=list)


def as_markdown(title: str, chapters: list[Chapter]) -> str:
    """Write chapters as Markdown, with pictures and long tables as files beside it."""
    lines = [f"# {title}"]
    for chapter in chapters:
        lines += [f"## {chapter.title}", *chapter.text]
        for item in chapter.items:
            if isinstance(item, Picture):
                lines.append(f"![{item.title}](figures/{item.name}.png)")
            elif item.long:
                lines.append(f"{item.title}: [csv/{item.name}.csv](csv/{item.name}.csv)")
            else:
                lines.append(f"**{item.title}**\n\n{item.markdown().rstrip()}")
    return "\n\n".join(lines) + "\n"


def as_page(title: str, chapters: list[Chapter]) -> str:
    """Write chapters as one HTML page that needs no other file."""
    links = "\n".join(
        f'<li><a href="#{_anchor(c.title)}">{html.escape(c.title)}</a></li>' for c in chapters
    )
    body = "".join(map(_as_html, chapters))
    return whole_page(title, f"<nav><ul>\n{links}\n</ul></nav>\n{body}", _CSS)


def _as_html(chapter: Chapter) -> str:
    parts = [f'<h2 id="{_anchor(chapter.title)}">{html.escape(chapter.title)}</h2>\n']
    parts += [f"<p>{html.escape(text)}</p>\n" for text in chapter.text]
    for item in chapter.items:
        if isinstance(item, Picture):
            parts.append(picture_element(item.png, item.title))
        elif len(item.rows) > _MAX_ROWS:
            name = html.escape(f"csv/{item.name}.csv")
            title = html.escape(item.title)
            parts.append(f'<p class="note">{title}: {len(item.rows):,} rows, in {name}.</p>\n')
        else:
            parts.append(item.html())
    return "".join(parts)


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
