"""Tables and small bars for people; wide tables take another form on a narrow terminal."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from poscount.printable import in_a_sentence

# Characters, of a value of a group, say.
_MOST_IN_CELL = 200
# Of a table that is not printed on a terminal: in a file it keeps its lines.
_WIDE = 200
_GAP = "  "
# Characters of a bar.
BAR = 8
# What the end of an axis may be.
_TOPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LIGHT = "░"


def print_table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[str],
    spare: Sequence[str] = (),
) -> None:
    """Print a table.

    If not even its words fit into the terminal, columns that can be spared are left out; if that
    is not enough, every row is printed below the other, with the heads before the cells.

    Parameters
    ----------
    heads : sequence of str
    rows : sequence of sequences of str
    right : sequence of str
        Heads of the columns that are aligned to the right; these are never broken.
    spare : sequence of str
        Heads of columns that can be left out, because they are told otherwise, too.
    """
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else _WIDE, highlight=False)
    # Heads are names of columns, and come from data, too.
    heads = [in_a_sentence(text, _MOST_IN_CELL) for text in heads]
    cells = [[in_a_sentence(text, _MOST_IN_CELL) for text in row] for row in rows]
    shown = list(range(len(heads)))
    while _least_width(heads, cells, right, shown) > console.width:
        left = [i for i in shown if heads[i] not in spare]
        if left == shown:
            _print_below_each_other(console, heads, cells, right)
            return
        shown = left
    _print_columns(console, heads, cells, right, shown)


def bars(shares: Sequence[tuple[float, float]], encoding: str | None) -> tuple[str, list[str]]:
    """Small bars for a column of a table, on one axis, and the head that tells its ends.

    Parameters
    ----------
    shares : sequence of pairs
        A share, to which the bar is dark, and the upper end of its interval, to which it is light.
    encoding : str or None
        Of the terminal: without block characters in it, the bars are of ASCII.

    Examples
    --------
    >>> bars([(0.25, 0.5), (0.03, 0.11)], "utf-8")
    ('0-50 %', ['████░░░░', '▌░'])
    >>> bars([(0.25, 0.5), (0.03, 0.11)], "ascii")
    ('0-50 %', ['####----', '#-'])
    """
    most = max(high for _, high in shares)
    top = next((end for end in _TOPS if most <= end), 1.0)
    drawn = _blocks if _can_write(_EIGHTHS + _LIGHT, encoding) else _ascii
    return f"0-{100 * top:g} %", [drawn(*(BAR * end / top for end in share)) for share in shares]


def _blocks(dark: float, high: float) -> str:
    eighths = round(8 * dark)
    text = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
    return text + _LIGHT * (math.ceil(high - 1e-9) - len(text))


def _ascii(dark: float, high: float) -> str:
    text = "#" * round(dark) if dark >= 0.5 or not dark else "#"
    return text + "-" * (math.ceil(high - 1e-9) - len(text))


def _can_write(text: str, encoding: str | None) -> bool:
    try:
        text.encode(encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


def _least_width(
    heads: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[str], shown: Sequence[int]
) -> int:
    """Characters of the columns, if text is broken between words and numbers are not."""
    from rich.cells import cell_len

    def least(i: int) -> int:
        texts = [heads[i], *(row[i] for row in cells)]
        words = texts if heads[i] in right else " ".join(texts).split()
        return max(map(cell_len, words), default=0)

    return sum(map(least, shown)) + len(_GAP) * (len(shown) - 1)


def _print_columns(
    console: Any,
    heads: Sequence[str],
    cells: Sequence[Sequence[str]],
    right: Sequence[str],
    shown: Sequence[int],
) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for i in shown:
        numbers = heads[i] in right
        justify = "right" if numbers else "left"
        table.add_column(Text(heads[i]), justify=justify, no_wrap=numbers)  # type: ignore[arg-type]
    for row in cells:
        # As text, in which square brackets are no markup.
        table.add_row(*(Text(row[i]) for i in shown))
    console.print(table)


def _print_below_each_other(
    console: Any, heads: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[str]
) -> None:
    from rich.text import Text

    for row in cells:
        named = heads[0] not in right
        if named:
            console.print(Text(row[0], style="bold"))
        pairs = list(zip(heads, row, strict=True))[1 if named else 0 :]
        items = [f"{head} {cell}".strip() for head, cell in pairs if cell.strip()]
        for line in _packed(items, console.width):
            console.print(Text(line))


def _packed(items: Iterable[str], width: int) -> list[str]:
    """Lines of items with commas between them, indented; an item is broken only if it must be."""
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(item) + 3 <= width:
            lines[-1] += f", {item}"
        else:
            if lines:
                lines[-1] += ","
            lines.append(f"  {item}")
    return lines
