"""Chapters of tables and pictures, and how they are written: as Markdown and CSV."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from poscount.plotting.display import png, pyplot
from poscount.storage.writer import csv_writer

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


def span(numbers: Any) -> str | None:
    """Range of a series of numbers, or the number if they are equal; None if there are none."""
    if numbers.empty:
        return None
    low, high = numbers.min(), numbers.max()
    return f"{low:g}" if low == high else f"{low:g}-{high:g}"


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
        Whether it is only for looking things up: then it is a CSV file alone.
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
    def of(cls, figure: Any, name: str, title: str) -> Picture:
        """The picture of a figure, which is closed."""
        picture = cls(name, title, png(figure))
        pyplot().close(figure)
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
