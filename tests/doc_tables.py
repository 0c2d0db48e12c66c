"""The Markdown tables of the pages, for tests and for pictures that are drawn from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def tables(text: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Header and body of every table of a text."""
    for table in _TABLE.findall(text):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")]
        header, *body = [row for row in rows if not set("".join(row)) <= set("-: ")]
        yield header, body


def table_below(path: Path, heading: str) -> tuple[list[str], list[list[str]]]:
    """Header and body of the first table below a heading, or below a line of text."""
    return next(tables(path.read_text(encoding="utf-8").split(f"{heading}\n", 1)[1]))


def rows_of(path: Path, heading: str) -> dict[str, dict[str, str]]:
    """Rows of the first table below a heading, by their first cell."""
    header, body = table_below(path, heading)
    return {
        row[0].strip("`").partition("`")[0]: dict(zip(header, row, strict=True)) for row in body
    }
