"""What a column of text looks like: the kinds of cells, and the sentence for each."""

import pytest

from poscount.files.text_cells import look_at_text

KINDS = {
    # decimal commas
    ("3,14", "7", "-1,5e3"): ("decimal", "3,14"),
    ("12,000", "3,5"): ("decimal", "3,5"),
    ("0,125", "0,250"): ("decimal", "0,125"),
    ("1234,567",): ("decimal", "1234,567"),
    (",5", "2"): ("decimal", ",5"),
    # thousands marks
    ("1,234,567",): ("thousands", "1,234,567"),
    ("12,000", "1,234,567"): ("thousands", "1,234,567"),
    ("1,234.5",): ("thousands", "1,234.5"),
    ("12,000", "3.5"): ("thousands", "12,000"),
    ("12'000", "950"): ("thousands", "12'000"),
    ("12\u2019000",): ("thousands", "12\u2019000"),
    ("12 000", "1 234 567"): ("thousands", "12 000"),
    ("12\u00a0000",): ("thousands", "12\u00a0000"),
    ("12\u202f000",): ("thousands", "12\u202f000"),
    ("1.234.567", "12.000"): ("thousands", "1.234.567"),
    # both are possible, or both are there
    ("12,000", "950"): ("decimal or thousands", "12,000"),
    ("-12,000",): ("decimal or thousands", "-12,000"),
    ("1.234,56",): ("decimal and thousands", "1.234,56"),
    ("12 000,5",): ("decimal and thousands", "12 000,5"),
    # units and signs
    ("40.25 g", "12 g"): ("unit", "40.25 g"),
    ("12 %", "5%"): ("unit", "12 %"),
    ("3 kg", "500 g"): ("units", "3 kg"),
    ("5 m2", "7 km/h"): ("units", "5 m2"),
    ("$12", "$1,200.50"): ("unit", "$12"),
    ("<0.5", "3.2"): ("sign", "<0.5"),
    ("21 °C",): ("unit", "21 °C"),
    # answers
    ("yes", "no"): ("yes or no", "yes"),
    ("TRUE", "FALSE"): ("yes or no", "TRUE"),
    ("Y", "N", "?"): ("yes or no", "Y"),
    # dates and times
    ("2024-05-31",): ("date", "2024-05-31"),
    ("2024-05-31T12:30:00Z",): ("date", "2024-05-31T12:30:00Z"),
    ("2024-05-31 12:30:15.25",): ("date", "2024-05-31 12:30:15.25"),
    ("2024/5/31",): ("date", "2024/5/31"),
    ("31.05.2024", "1.6.2024"): ("date", "31.05.2024"),
    ("5/31/24",): ("date", "5/31/24"),
    ("31 May 2024",): ("date", "31 May 2024"),
    ("31-May-24",): ("date", "31-May-24"),
    ("May 31, 2024",): ("date", "May 31, 2024"),
    ("12:30", "9:05 pm"): ("date", "12:30"),
    # missing values
    ("1.5", "-"): ("missing", "-"),
    ("n.a.", "2"): ("missing", "n.a."),
    ("#DIV/0!",): ("missing", "#DIV/0!"),
    # numbers with a few slips
    ("1", "2", "3", "4", "high"): ("slip", "high"),
    ("1.5", "2,5"): ("slip", "2,5"),
    # words
    ("north", "south"): ("words", "north"),
    ("m", "f"): ("words", "m"),
    ("1", "A", "B"): ("words", "A"),
    ("3A", "4B", "5C", "6D"): ("words", "3A"),
    ("1.2.3",): ("words", "1.2.3"),
    ("0x1F",): ("words", "0x1F"),
    ("99.99.2024",): ("words", "99.99.2024"),
    # numbers in a column of text
    ("1.5", "nan", "-2e3"): ("numbers", "1.5"),
}


@pytest.mark.parametrize("cells", KINDS, ids=" ".join)
def test_kinds_of_text(cells):
    looks = look_at_text(cells)
    assert (looks.kind, looks.example) == KINDS[cells]
    assert looks.row == cells.index(looks.example)
    # Nothing depends on missing cells, repetitions and spaces around the text.
    again = look_at_text([None, "", "NA", *(f" {cell} " for cell in cells), *cells])
    assert (again.kind, again.example) == KINDS[cells]
    assert again.row == 3 + looks.row


SWAP = str.maketrans(".,", ",.")


@pytest.mark.parametrize(
    "cells",
    [cells for cells, (kind, _) in KINDS.items() if "decimal" in kind or kind == "thousands"],
    ids=" ".join,
)
def test_the_other_decimal_mark_is_the_mirror_image(cells):
    looks = look_at_text([cell.translate(SWAP) for cell in cells], ",")
    assert (looks.kind, looks.example.translate(SWAP)) == KINDS[cells]


def test_the_kind_of_most_cells_counts():
    assert look_at_text(["?", "unknown", "1,5", "2,25", "oops"]).kind == "decimal"
    assert look_at_text(["2024-05-31", "2024-06-01", "later"]).kind == "date"
    assert look_at_text(["3 g", "heavy", "light", "middling"]).kind == "words"


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        (["3,14"], "'3,14' is not a number unless the comma is the decimal mark. Set decimal=','."),
        (
            ["1,234,567"],
            "'1,234,567' is not a number: it has thousands marks. Set thousands=','.",
        ),
        (["1,234.5"], "'1,234.5' is not a number: it has thousands marks. Set thousands=','."),
        (["1 234"], "'1 234' is not a number: it has thousands marks. Set thousands=' '."),
        (
            ["1\u202f234"],
            "'1\\u202f234' is not a number: it has thousands marks. Set thousands=' '.",
        ),
        (["1.234.567"], "'1.234.567' is not a number: it has thousands marks. Set decimal=','."),
        (
            ["12,000"],
            "'12,000' is not a number: the comma is either a thousands mark (then it is 12000) or "
            "the decimal mark. Set thousands=',' or decimal=','.",
        ),
        (
            ["1.234,5"],
            "'1.234,5' is not a number: it has a decimal comma and thousands marks. Set "
            "decimal=','.",
        ),
        (["12 %"], "'12 %' is not a number: it has the unit %. Set units={'size': '%'}."),
        (
            ["12 g", "3 kg"],
            "'12 g' is not a number: the column has the units g and kg; write all numbers in one "
            "unit.",
        ),
        (["<0.5"], "'<0.5' is not a number: it has the sign <; write the number alone."),
        (["yes"], "'yes' is not a number; write 1 for yes and 0 for no."),
        (
            ["?"],
            "'?' is not a number, but it may mean that the value is missing. Set na=['?'].",
        ),
        (
            [".", "-", "1.5"],
            "'.' is not a number, but it may mean that the value is missing. Set na=['.', '-'].",
        ),
        (
            ["12:30"],
            "'12:30' is not a number but looks like a date or a time; correct it or remove the "
            "row.",
        ),
        (["high"], "'high' is not a number; correct it or remove the row."),
        (["1.5"], "'1.5' is not a number but text; store the column as numbers."),
    ],
)
def test_sentences(cells, sentence):
    error = look_at_text(cells).error("size")
    assert str(error) == f"column 'size', row 0: {sentence}"


def test_dates_words_and_answers_are_not_measurements():
    kinds = {look_at_text(cells).kind: look_at_text(cells).is_measurement for cells in KINDS}
    assert len(kinds) == 13
    assert {kind for kind, measured in kinds.items() if not measured} == {
        "date",
        "words",
        "yes or no",
    }


def test_long_text_is_cut():
    looks = look_at_text(["word " * 1000])
    assert len(looks.reason) < 80
    assert len(str(looks.error("size"))) < 130


def test_a_column_without_cells():
    assert look_at_text([None, ""]).kind == "numbers"


def test_classes_that_look_like_bounds_are_words():
    for cells in ([">50K", "<=50K"], ["<18", "18-64", ">64", None], ["<1 h", ">1 h"]):
        assert look_at_text(cells).kind == "words"
    # Among numbers they are bounds of measurements, which only the user can turn into numbers.
    assert look_at_text(["0.7", "<0.5", "<0.1"]).kind == "sign"
