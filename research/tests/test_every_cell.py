"""The page with every cell of the paper: nothing is left out, and it follows from the results."""

from collections import Counter

import pytest

from research import published
from research.report.every_cell import NOT_COMPARED, REPEATED, cells_page, every_cell
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
    # Eight columns of C, R and W in #2.
    assert {why: n for why, n in reasons.items() if why} == {REPEATED: 3 * 8}
    assert NOT_COMPARED not in reasons
    # N and I: nine columns in five tables, and two more in two; H without KM's ten.
    assert Counter(c.letter for c in cells if c.letter in "NIH") == {"N": 49, "I": 49, "H": 39}


def test_cells_that_repeat_another(cells):
    # C, R and W: nine columns of #3-b and eleven of #3-c.
    assert sum(not cell.distinct for cell in cells if cell.ours is not None) == 3 * (9 + 11)


def test_the_readme_quotes_these_numbers(cells):
    text = " ".join((committed.REPRODUCTION / "README.md").read_text(encoding="utf-8").split())
    compared = [cell for cell in cells if cell.ours is not None]
    distinct = [cell for cell in compared if cell.distinct]
    agreeing = sum(cell.agrees for cell in compared), sum(cell.agrees for cell in distinct)
    assert f"{len(compared)} of {len(cells)}; {agreeing[0]} of them agree" in text
    percent = 100 * agreeing[1] / len(distinct)
    assert f"{len(distinct)} of these do not repeat" in text
    assert f"{agreeing[1]} of the {len(distinct)} ({percent:.1f} %) agree" in text


def test_h_with_g_is_among_what_the_tables_allow():
    """H's cell of #3 is that of the worse of p and g, so g's error is not above it."""
    for column, error in published.handwritten_g().items():
        assert error <= published.tables()["3a", "H", column].mae
