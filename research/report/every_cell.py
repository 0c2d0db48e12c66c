"""All cells of the paper's tables of errors on one page: compared, or why not."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from research import published
from research.experiments.methods import GROUPS, resolve
from research.report.document import ReportTable, TableCell
from research.report.frames import table_label
from research.report.paper_comparison import agrees, compare_errors

LETTERS = ("N", "I", "A", "B", "C", "H", "L", "P", "R", "W")
TABLES = ("1", "2", "3a", "3b", "3c")
REPEATED = "repeats #1"
NOT_COMPARED = "not in these results"
_NO_DATA = {
    "N": "its owners ask not to publish results",
    "I": "not at hand",
    "H": "only the letters q and g are at hand",
}
_BY_LABEL = {resolve(name).label: resolve(name) for name in GROUPS["paper"]}


class Cell(NamedTuple):
    """One cell of the paper.

    Attributes
    ----------
    table, letter, column : str
        Where it is.
    published : float
        The paper's error, in points.
    ours : float or None
        Our error, measured as the authors did; None if it is not compared.
    why_not : str
        Why it is not compared; empty if it is.
    """

    table: str
    letter: str
    column: str
    published: float
    ours: float | None
    why_not: str

    @property
    def agrees(self) -> bool:
        """Whether it is compared and agrees."""
        return self.ours is not None and agrees(self.ours, self.published)

    @property
    def distinct(self) -> bool:
        """Whether it says more than a cell before it: one sub-class has one error in #3."""
        return self.table not in ("3b", "3c") or published.N_NEGATIVES.get(self.letter) != 1


def every_cell(errors: pd.DataFrame) -> list[Cell]:
    """List all cells of the paper's tables of errors, with ours beside them where there is one.

    Parameters
    ----------
    errors : DataFrame
        From `research.report.frames.errors`.
    """
    ours = {
        (row.table, published.name_in_paper(row.dataset), resolve(row.method).column): row.mae
        for row in compare_errors(errors).itertuples()
    }
    cells = []
    for (table, letter, column), cell in published.tables().items():
        if letter == "rank":
            continue
        found, why_not = ours.get((table, letter, column)), ""
        if found is None and published.repeats_experiment_1(table, letter, column):
            why_not = REPEATED
        elif found is None:
            why_not = _NO_DATA.get(letter, NOT_COMPARED)
        cells.append(Cell(table, letter, column, cell.mae, found, why_not))
    return cells


def cells_page(errors: pd.DataFrame) -> str:
    """Write the page: numbers of cells, every cell, and q-g beside the authors' H without p."""
    cells = every_cell(errors)
    parts = [
        "# Every cell of the paper",
        "Written with the report, from the same results.",
        f"{how_many(cells)} "
        "B's cells are compared with those of its [stand-in](vowels-network.md). The cells that "
        "differ are listed, with the reason as far as it is known, under [Beside the "
        "paper](paper.md).",
        _numbers(cells).markdown(),
        f"Not compared: {'; '.join(f'{letter}, {why}' for letter, why in _NO_DATA.items())}; the "
        "cells of C, R and W that repeat #1's to the digit. Of KM on H the paper has no numbers.",
        "Each cell below has our error / the paper's, in points, in bold if they differ by more "
        "than that. A number in brackets is the paper's alone.",
    ]
    for table in TABLES:
        parts += [f"## {table_label(table)}", _table(table, cells).markdown()]
    parts += [
        "## H with one of its sub-classes",
        "H has the letters p and g as negatives, and its cells of #3 are those of the worse one, "
        "which differs from method to method. We have g alone: q-g. The authors' raw results have "
        "it apart.",
        _handwritten(errors).markdown(),
    ]
    wrapped = [part if part[0] in "|#" else textwrap.fill(part, 118) for part in parts]
    return "\n\n".join(part.rstrip() for part in wrapped) + "\n"


def how_many(cells: Sequence[Cell]) -> str:
    """Say how many cells are compared, and how many agree."""
    compared = [cell for cell in cells if cell.ours is not None]
    distinct = [cell for cell in compared if cell.distinct]
    unfinished = sum(cell.why_not == NOT_COMPARED for cell in cells)
    return (
        f"The paper's tables of errors have {len(cells)} cells with a number. {len(compared)} of "
        f"them are compared, and {_share(compared)} agree: they are within max(1 point, 15 %). "
        "C, R and W have one sub-class of negatives: where their cells repeat #1's they are not "
        "compared again, and #3-b's and #3-c's others repeat #3-a's; without these repetitions "
        f"{len(distinct)} cells are compared, and {_share(distinct)} "
        f"agree. {unfinished} comparable cells have not been run yet."
    )


def _share(cells: Sequence[Cell]) -> str:
    agreeing = sum(cell.agrees for cell in cells)
    if not cells:
        return "none of these"
    return f"{agreeing} of these ({100 * agreeing / len(cells):.1f} %)"


def _numbers(cells: Sequence[Cell]) -> ReportTable:
    reasons = list(dict.fromkeys(cell.why_not for cell in cells if cell.why_not))
    rows = []
    for table in (*TABLES, None):
        part = [cell for cell in cells if table in (cell.table, None)]
        compared = [cell for cell in part if cell.ours is not None]
        distinct = [cell for cell in compared if cell.distinct]
        numbers = [len(part), len(compared), sum(cell.agrees for cell in compared)]
        numbers += [len(distinct), sum(cell.agrees for cell in distinct)]
        numbers += [sum(cell.why_not == reason for cell in part) for reason in reasons]
        rows.append(["all" if table is None else table_label(table), *numbers])
    head = ["experiment", "cells", "compared", "agree", "distinct", "of these agree"]
    letters = {reason: letter for letter, reason in _NO_DATA.items()}
    head += [letters.get(reason, reason) for reason in reasons]
    return ReportTable("cells", "Cells", head, rows)


def _table(table: str, cells: Sequence[Cell]) -> ReportTable:
    found = {(cell.letter, cell.column): cell for cell in cells if cell.table == table}
    columns = list(dict.fromkeys(column for _, column in found))
    rows = []
    for letter in LETTERS:
        row: list[Any] = [letter]
        for column in columns:
            cell = found.get((letter, column))
            if cell is None:
                row.append(None)  # KM failed on H
            elif cell.ours is None:
                row.append(f"({cell.published:.2f})")
            else:
                text = f"{cell.ours:.2f} / {cell.published:.2f}"
                row.append(TableCell(text, bold=not cell.agrees))
        rows.append(row)
    labels = {method.column: label.partition(" (as")[0] for label, method in _BY_LABEL.items()}
    head = ["data set", *(labels[column] for column in columns)]
    return ReportTable(table, table_label(table), head, rows)


def _handwritten(errors: pd.DataFrame) -> ReportTable:
    """Our errors on q-g beside the authors' on H with g alone, Experiment #3."""
    own = errors[(errors["table"] == "3a") & (errors["dataset"] == "q-g")].set_index("method")[
        "mae"
    ]
    theirs = published.handwritten_g()
    rows = []
    for label, method in _BY_LABEL.items():
        if method.name in own.index and method.column in theirs:
            ours, other = float(own[method.name]), theirs[method.column]
            differs = not agrees(ours, other)
            why = (published.explanation("3a", "q-g", method.name) or "") if differs else ""
            rows.append([label, TableCell(ours, bold=differs), other, why])
    return ReportTable("q-g", "q-g", ["method", "ours", "the authors'", "why it differs"], rows)
