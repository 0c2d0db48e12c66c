"""The paper's tables in the package: they are whole, and give the ranks that the paper prints."""

import numpy as np
import pytest

from research import published

ALL = ("N", "I", "A", "B", "C", "H", "L", "P", "R", "W")


@pytest.mark.parametrize("experiment", ["1", "2", "3a", "3b", "3c"])
def test_ranks_from_the_cells_are_the_printed_ones(experiment):
    ranks = published.average_ranks(experiment, ALL, published.MAIN_COLUMNS)
    printed = {c: published.tables()[experiment, "rank", c].mae for c in ranks}
    # One digit is printed, and 5.35 as 5.3.
    assert ranks == pytest.approx(printed, abs=0.0501)


@pytest.mark.parametrize(
    ("own", "columns"),
    [
        ("min(ExTIcE,PAT_M)", ("ExTIcE", "PAT_M", "min(ExTIcE,PAT_M)")),
        ("RanFocE", ("TIcE", "RanFocE")),
    ],
)
@pytest.mark.parametrize("experiment", ["3a", "3c"])
def test_ranks_in_the_small_tables(experiment, own, columns):
    ranks = published.average_ranks(experiment, ALL, columns)
    assert ranks[own] == pytest.approx(published.tables()[experiment, "rank", own].mae, abs=0.0501)


def test_ranks_on_some_data_sets_only():
    # W: KM1 5.45, TIcE 8.56, PAT 2.23. R: 6.46, 7.86, 2.64. L: 16.02, 10.23, 3.18.
    ranks = published.average_ranks("1", ["W", "R", "L"], ["KM1", "TIcE", "PAT_M"])
    assert ranks == pytest.approx({"KM1": 7 / 3, "TIcE": 8 / 3, "PAT_M": 1.0})


def test_cells_that_cannot_be_compared():
    assert published.comparable("1", "W", "PAT_M") == (2.23, 1.87)
    assert published.comparable("3c", "P", "RanFocE") == (12.2, 2.12)
    # It stands in for B; vowels, from which both come, does not.
    assert published.comparable("1", "vowels-network", "PAT_M") == (5.76, 2.37)
    assert published.comparable("1", "vowels", "PAT_M") is None
    for experiment, dataset, column in [
        ("2", "W", "PAT_M"),  # repeats #1
        ("1", "N", "PAT_M"),  # nobody can get the data
        ("1", "W", "RanFocE"),  # not in that table
        ("1", "W", None),
        ("1", "rank", "PAT_M"),
    ]:
        assert published.comparable(experiment, dataset, column) is None


def test_all_but_bft_of_the_sets_with_one_sub_class_repeat_the_first_experiment():
    cells = [key for key in published.tables() if key[1] != "rank"]
    repeated = {key[1:] for key in cells if published.repeats_experiment_1(*key)}
    others = set(published.MAIN_COLUMNS) - {"BFT_M"}
    assert repeated == {(letter, column) for letter in "CRW" for column in others}
    assert published.comparable("2", "C", "BFT_M").mae == 10.77  # 10.85 in #1


def test_every_number_is_there():
    cells = [key for key in published.tables() if key[1] != "rank"]
    # Nine columns on ten data sets in five tables, less KM on H, and two more columns in two.
    assert len(cells) == 5 * (9 * 10 - 2) + 2 * 2 * 10
    assert len(published.seconds()) == 8 * 10 - 1
    assert all(np.isfinite(published.tables()[key].mae) for key in cells)


def test_an_explanation_is_that_of_the_first_row_that_fits(monkeypatch):
    rows = (
        {"experiment": "1", "dataset": "W", "method": "tice", "sentence": "this cell"},
        {"experiment": "", "dataset": "", "method": "tice", "sentence": "always"},
    )
    monkeypatch.setattr(published, "_rows", lambda name: rows)
    assert published.explanation("1", "W", "tice") == "this cell"
    assert published.explanation("3c", "W", "tice") == "always"
    assert published.explanation("1", "W", "pat") is None
