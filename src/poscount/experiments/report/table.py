"""A table of numbers, and the four ways to write it: Markdown, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry: a number, a text or nothing, and a number in small brackets behind it.

    Attributes
    ----------
    value : float, int, str or None
        None and NaN are an empty cell.
    aside : float or None
        The number in brackets, such as a standard deviation.
    bold : bool
        Whether it is the best one.
    decimals : int
        Digits behind the point of both numbers.
    """

    value: float | int | str | None
    aside: float | None = None
    bold: bool = False
    decimals: int = 2

    @property
    def text(self) -> str:
        """The value for people.

        Examples
        --------
        >>> Cell(2.345).text, Cell(0.0001, decimals=3).text, Cell(None).text, Cell(12).text
        ('2.35', '<0.001', '', '12')
        """
        if isinstance(self.value, float):
            return self._number(self.value)
        return "" if self.value is None else " ".join(str(self.value).split())

    @property
    def small(self) -> str:
        """The number in brackets for people."""
        number = None if self.aside is None else self._number(self.aside)
        return f"({number})" if number else ""

    def _number(self, number: float) -> str:
        if math.isnan(number):
            return ""
        if 0 < number < 0.5 * 10**-self.decimals:
            return f"<{10**-self.decimals:.{self.decimals}f}"
        return f"{number:.{self.decimals}f}"


@dataclass
class Table:
    """A table of the report.

    Attributes
    ----------
    name : str
        Stem of its file names.
    title : str
        Caption.
    head : sequence of str
        Names of the columns.
    rows : list of sequence of Cell or plain values
    aside : str
        What the numbers in brackets are, as CSV files name them.
    notes : list of str
        Sentences below it.
    long : bool
        Whether it is one to look things up in: it is then folded away, or only a CSV file.
    """

    name: str
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    aside: str = "sd"
    notes: list[str] = field(default_factory=list)
    long: bool = False

    @property
    def cells(self) -> list[list[Cell]]:
        """All entries as cells."""
        return [[v if isinstance(v, Cell) else Cell(v) for v in row] for row in self.rows]

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
        writer = csv.writer(out, lineterminator="\n")
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

    def latex(self) -> str:
        """Write a LaTeX table environment; it needs the package booktabs."""
        columns = "".join("l" if text else "r" for text in self._is_text())
        lines = [" & ".join(map(_latex, self.head)) + r" \\", r"\midrule"]
        lines += [" & ".join(map(_latex_cell, row)) + r" \\" for row in self.cells]
        caption = " ".join([f"{self.title}.", *self.notes])
        return "\n".join(
            [
                r"\begin{table}[htb]",
                r"\centering",
                rf"\caption{{{_latex(caption)}}}",
                rf"\label{{tab:{self.name}}}",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                *lines,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )

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
        """Which columns hold words, and stand on the left."""
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


def _markdown_cell(cell: Cell) -> str:
    text = _markdown(cell.text)
    text = f"**{text}**" if cell.bold and text else text
    return f"{text} <sub>{cell.small}</sub>" if cell.small else text


def _latex(text: str) -> str:
    return "".join(_LATEX.get(mark, mark) for mark in " ".join(text.split()))


def _latex_cell(cell: Cell) -> str:
    text = _latex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.bold and text else text
    return rf"{text} {{\scriptsize {_latex(cell.small)}}}" if cell.small else text


def _html_cell(cell: Cell) -> str:
    text = html.escape(cell.text)
    text = f"<b>{text}</b>" if cell.bold and text else text
    return f"{text} <small>{html.escape(cell.small)}</small>" if cell.small else text
