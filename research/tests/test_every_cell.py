"""The page with every cell of the paper: nothing is left out, and it follows from the results."""

from collections import Counter

import pytest

from research import published
from research.report.every_cell import (
    NOT_COMPARED,
    REPEATED,
    cells_page,
    every_cell,
    how_many,
)
from research.tests import committed


@pytest.fixture(scope="module")
def cells():
    return every_cell(committed.errors())


def test_the_committed_page_is_that_of_the_committed_evaluations():
    page = (committed.REPRODUCTION / "cells.md").read_text(encoding="utf-8")
    assert page == cells_page(committed.errors())


def test_every_cell_is_there_once(cells):
    keys = [(cell.table, cell.letter, cell.column) for cell in cells]
    assert len(keys) == len(set(keys)) == 480
    assert set(keys) == {key for key in published.tables() if key[1] != "rank"}


def test_a_cell_is_compared_or_has_a_reason(cells):
    assert all((cell.ours is None) == bool(cell.why_not) for cell in cells)
    reasons = Counter(cell.why_not for cell in cells if cell.letter not in "NIH")
    # Eight columns of C, R and W in #2 and in the three tables of #3.
    assert reasons[REPEATED] == 3 * 8 * 4
    assert set(reasons) <= {"", REPEATED, NOT_COMPARED}
    # N and I: nine columns in five tables, and two more in two; H without KM's ten.
    assert Counter(c.letter for c in cells if c.letter in "NIH") == {"N": 49, "I": 49, "H": 39}


def test_cells_that_repeat_another(cells):
    # C, R and W: BFT in #3-b, and with it RanFocE and the minimum in #3-c.
    assert sum(not cell.distinct for cell in cells if cell.ours is not None) == 3 * (1 + 3)


def test_how_many_agree_is_counted_by_hand(cells):
    text = how_many(cells)
    compared = [cell for cell in cells if cell.ours is not None]
    agreeing = [c for c in compared if abs(c.ours - c.published) <= max(1, 0.15 * c.published)]
    n, all_n = len(agreeing), len(compared)
    assert f"{all_n} of them are compared, and {n} of these ({100 * n / all_n:.1f} %) agree" in text


def test_h_with_g_is_among_what_the_tables_allow():
    """H's cell of #3 is that of the worse of p and g, so g's error is not above it."""
    for column, error in published.handwritten_g().items():
        assert error <= published.tables()["3a", "H", column].mae
