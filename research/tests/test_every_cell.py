"""The page with every cell of the paper: nothing is left out, and it is made of the reports."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from research import published
from research.__main__ import main
from research.report.every_cell import NOT_COMPARED, REPEATED, every_cell

FOLDER = Path(__file__).parents[2] / "docs" / "reproduction"
REPORTS = [FOLDER, FOLDER / "vowels-network"]


@pytest.fixture(scope="module")
def cells():
    return every_cell(REPORTS)


def of_report(folder, name):
    with open(folder / "csv" / name, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_committed_page_is_that_of_the_committed_reports(tmp_path, monkeypatch):
    made = tmp_path / "cells.md"
    monkeypatch.setattr("sys.argv", ["research", "cells", *map(str, REPORTS), "-o", str(made)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert made.read_text(encoding="utf-8") == (FOLDER / "cells.md").read_text(encoding="utf-8")


def test_every_cell_is_there_once(cells):
    keys = [(cell.table, cell.letter, cell.column) for cell in cells]
    assert len(keys) == len(set(keys)) == 480
    assert set(keys) == {key for key in published.tables() if key[1] != "rank"}


def test_a_cell_is_compared_or_has_a_reason(cells):
    assert all((cell.ours is None) == bool(cell.why_not) for cell in cells)
    reasons = Counter(cell.why_not for cell in cells if cell.letter not in "NIH")
    # Eight columns of C, R and W in #2, and BFT's there, which older reports do not compare.
    assert {why: n for why, n in reasons.items() if why} == {REPEATED: 3 * 8, NOT_COMPARED: 3}
    # N and I: nine columns in five tables, and two more in two; H without KM's ten.
    assert Counter(c.letter for c in cells if c.letter in "NIH") == {"N": 49, "I": 49, "H": 39}


def test_the_numbers_are_those_that_the_reports_count(cells):
    counted = [of_report(folder, "paper-agreement.csv")[-1] for folder in REPORTS]
    assert [row["experiment"] for row in counted] == ["all", "all"]
    compared = [cell for cell in cells if cell.ours is not None]
    assert len(compared) == sum(int(row["measured"]) for row in counted)
    assert sum(cell.agrees for cell in compared) == sum(int(row["agree"]) for row in counted)
    # C, R and W: nine columns of #3-b and eleven of #3-c.
    assert sum(not cell.distinct for cell in compared) == 3 * (9 + 11)


def test_the_readme_quotes_these_numbers(cells):
    text = " ".join((FOLDER / "README.md").read_text(encoding="utf-8").split())
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
