"""What is guessed of how files are written; and that nothing is where nothing needs to be."""

import csv
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poscount.cli.words import flag
from poscount.errors import InputError
from poscount.files.guessed_options import GuessedOptions
from poscount.files.guessing import guess_encoding, guess_totals
from poscount.files.read_options import DEFAULT_OPTIONS, read_options
from poscount.files.reading import read_files, read_table
from workbooks import xlsx


@pytest.fixture
def guess(tmp_path):
    """Guess how one file after the other is written, and give the tables and what was said."""

    def guess(*contents, **said):
        notes = []
        guesses = GuessedOptions(read_options(**said), set(said), notes.append)
        tables = []
        for i, content in enumerate(contents):
            path = tmp_path / f"{'pt'[i]}.{'xlsx' if content[:2] == b'PK' else 'csv'}"
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            options = guesses.of([str(path)])
            tables.append(read_table(path, read_options=options).to_pydict())
        return tables, [note.message.replace(f"{tmp_path}/", "") for note in notes]

    return guess


# A clean file is read as it always was

NAMES = st.lists(
    st.text("abcdefgh_ äéж", min_size=1).map(str.strip).filter(bool),
    min_size=1,
    max_size=5,
    unique=True,
)
NUMBERS = st.one_of(
    st.integers(-(10**9), 10**9).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(0, 1e4).map("{:.3f}".format),
    st.just(""),
)
WORDS = st.one_of(
    st.text("abcdefgh xyzäéж", max_size=8).map(str.strip),
    st.sampled_from(["north", "2026-01-31", "31/01/2026", "yes", "A1", "NA", ">50K", "<=50K"]),
)


@st.composite
def clean_files(draw):
    names = draw(NAMES)
    kinds = [draw(st.sampled_from([NUMBERS, WORDS])) for _ in names]
    rows = draw(
        st.lists(st.tuples(*kinds).filter(any), min_size=1, max_size=12) if names else st.just([])
    )
    buffer = io.StringIO()
    delimiter = draw(st.sampled_from(",;\t"))
    writer = csv.writer(
        buffer, delimiter=delimiter, lineterminator=draw(st.sampled_from(["\n", "\r\n"]))
    )
    writer.writerow(names)
    writer.writerows(rows)
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
    return buffer.getvalue().encode(encoding)


@given(clean_files())
@settings(max_examples=400)
def test_a_clean_file_means_what_it_meant(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "clean.csv"
    path.write_bytes(content)
    notes = []
    found = GuessedOptions(DEFAULT_OPTIONS, (), notes.append).of([str(path)])
    assert found == DEFAULT_OPTIONS
    assert notes == []


@given(
    st.lists(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), min_size=2, max_size=20),
    st.sampled_from(["utf-8", "cp1252", "utf-16-le", "utf-16-be"]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=200)
def test_german_files_give_the_numbers_back(tmp_path_factory, rows, encoding, notes, source):
    """Every mixture of these habits is read as the clean file is, or left as it is."""
    lines = ["größe;länge", *(";".join(f"{x:.2f}".replace(".", ",") for x in row) for row in rows)]
    lines = [*(["Käfer", ""] if notes else []), *lines]
    if source:
        lines += ["", "Quelle: Käfer"]
    path = tmp_path_factory.getbasetemp() / "german.csv"
    path.write_bytes("\n".join(lines).encode(encoding))
    options = GuessedOptions(DEFAULT_OPTIONS, (), lambda note: None).of([str(path)])
    table = read_table(path, read_options=options)
    assert table.column_names == ["größe", "länge"]
    expected = np.array([[float(f"{x:.2f}") for x in row] for row in rows])
    assert np.array_equal(
        np.column_stack([column.to_numpy() for column in table.columns]), expected
    )


# Encodings

WORDS_OF_EUROPE = ["größe", "Länge", "naïve", "créée", "señor", "São", "Åse", "über", "Œuvre"]
SIGNS = ["20 µm", "5 °C", "it\u2019s", "a\u2013b"]


@pytest.mark.parametrize("word", [*WORDS_OF_EUROPE, *SIGNS])
def test_words_of_western_europe(word):
    assert guess_encoding(f"{word};1\n".encode("cp1252")) == "cp1252"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("größe", "mac-roman"),
        ("größe", "cp850"),
        ("температура", "cp1251"),
        ("θερμοκρασία", "cp1253"),
        ("重さ", "shift-jis"),
        ("żółć", "cp1250"),
    ],
)
def test_what_is_not_clear_is_not_guessed(text, encoding):
    assert guess_encoding(f"{text};1\n".encode(encoding)) is None


def test_a_character_that_is_cut_off_is_utf8():
    data = "größe".encode()
    assert guess_encoding(data[:3], whole=False) is None
    assert guess_encoding(data[:3], whole=True) == "cp1252"


def test_binary_data_are_not_utf16():
    assert guess_encoding(b"a\0\0\0b\0\0\0" * 10) is None


# Marks

GERMAN = "a;b\n1,5;2\n2,25;3\n"


def test_marks_of_the_positives_hold_for_the_sample(guess):
    (positives, sample), notes = guess(GERMAN, "a;b\n1.500;2\n2.000;3\n7,5;1\n")
    assert positives == {"a": [1.5, 2.25], "b": [2, 3]}
    assert sample["a"] == [1500, 2000, 7.5]
    assert notes == [
        "p.csv: read with decimal commas.",
        "t.csv: read with points between thousands.",
    ]


def test_positives_without_decimals_leave_it_to_the_sample(guess):
    (_, sample), notes = guess("a;b\n1;2\n2;3\n", GERMAN)
    assert sample["a"] == [1.5, 2.25]
    assert notes == ["t.csv: read with decimal commas."]


@pytest.mark.parametrize(
    ("positives", "sample", "cell", "marks"),
    [
        (GERMAN, "a;b\n1.5;2\n2.25;3\n", "'1.5'", ("points", "commas")),
        ("a;b\n1.5;2\n2.25;3\n", GERMAN, "'1,5'", ("commas", "points")),
        # Read as 1.234, which with decimal commas would have been 1234.
        ("a;b\n1.234;2\n2;3\n", GERMAN, "'1,5'", ("commas", "points")),
    ],
)
def test_a_file_that_contradicts_the_positives_is_refused(guess, positives, sample, cell, marks):
    with pytest.raises(InputError) as caught:
        guess(positives, sample)
    error = caught.value
    assert error.message.startswith(f"{cell} has decimals marked by {marks[0]}, but in ")
    assert error.message.endswith(f"p.csv it is {marks[1]}; write all files in the same way.")
    assert error.file.endswith("t.csv")
    assert (error.column, error.row) == ("a", 0)


def test_other_columns_than_those_of_the_positives_do_not_contradict(guess):
    (_, sample), notes = guess("a\n1.5\n2.5\n", 'a,at,up\n1.5,"52,1",1 m\n2.5,"53,2",2 m\n')
    assert sample == {"a": [1.5, 2.5], "at": ["52,1", "53,2"], "up": ["1 m", "2 m"]}
    assert notes == []


def test_both_marks_in_one_file_are_not_guessed(guess):
    (table,), notes = guess("a;b\n1,5;2.5\n2,5;3.5\n")
    assert table == {"a": ["1,5", "2,5"], "b": [2.5, 3.5]}
    assert notes == []


def test_units_are_guessed_only_if_all_numbers_have_the_same(guess):
    text = "a,b,c,d\n1 mm,1 mm,1 mm,north 1\n2.5 mm,2 cm,x,south 2\n"
    (table,), notes = guess(text)
    assert table == {
        "a": [1.0, 2.5],
        "b": ["1 mm", "2 cm"],
        "c": ["1 mm", "x"],
        "d": ["north 1", "south 2"],
    }
    assert notes == ["p.csv: read with 'a' in mm."]
    assert guess(text, units={})[0][0]["a"] == ["1 mm", "2.5 mm"]


def test_units_have_the_new_names_of_columns(guess):
    tables, notes = guess("wing\n1 mm\n2 mm\n", "Wing\n3 mm\n4 mm\n", rename={"Wing": "wing"})
    assert tables == [{"wing": [1, 2]}, {"wing": [3, 4]}]
    assert notes == ["p.csv: read with 'wing' in mm."]


def test_what_the_user_has_said_is_not_guessed(guess):
    text = "Käfer\n\na;b\n1,5 mm;31/01/2026\n2,5 mm;01/02/2026\nSumme;1\n".replace("Summe;1\n", "")
    (table,), notes = guess(text)
    assert table["a"] == [1.5, 2.5]
    assert (
        notes
        == [
            "p.csv: read with 'a' in mm and days before months and decimal commas; header in row 3."
        ]
        or len(notes) == 1
    )
    said = {"header_row": 3, "decimal": ",", "units": {"a": "mm"}, "day_first": True}
    assert guess(text, **said) == ([table], [])


# Dates


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (["31/01/2026", "02/03/2026"], True),
        (["01/31/2026", "02/03/2026"], False),
        (["01/02/2026", "02/03/2026"], None),
        (["31/01/2026", "30/03/2026"], None),
        (["31/01/2026", "01/31/2026", "01/02/2026"], None),
        (["2026-01-31", "2026-03-02"], None),
    ],
)
def test_days_and_months(tmp_path, dates, expected):
    """Guessed if some dates may mean two days, and others only one."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["night,a", *(f"{date},1" for date in dates)]))
    assert GuessedOptions(DEFAULT_OPTIONS, (), str).of([str(path)]).day_first is expected


# Headers, footers, sheets


def test_a_word_that_is_in_the_column_elsewhere_is_no_total():
    rows = [["Total", "3"], ["Mean", "4"]]
    assert guess_totals([*rows, ["Total", "7"]]) == 0
    assert guess_totals([*rows, ["Sum", "7"]]) == 1
    assert guess_totals([*rows, ["Sum", "north"]]) == 0
    assert guess_totals([["Total", "3"]]) == 0


def test_totals_at_the_end_of_a_long_file(guess):
    lines = [f"{('north', 'south')[i % 2]},{i},{i / 7}" for i in range(40_000)]
    (table,), notes = guess("\n".join(["site,a,b", *lines, "Total,1,2", "", "Source: us"]))
    assert len(table["a"]) == 40_000
    assert table["a"][-1] == 39_999
    assert notes == ["p.csv: without the last 2 rows, of notes or totals."]


def test_each_of_several_files_ends_as_it_does(tmp_path, monkeypatch):
    """All are looked at as soon as one has such rows: nobody would miss rows of data."""
    monkeypatch.setattr("poscount.files.guessed_options._MOST_FILES", 2)
    ends = ["", "Total,3\n", "", "Total,3\nSource: us\n"]
    files = [str(tmp_path / f"{i}.csv") for i in range(len(ends))]
    for file, end in zip(files, ends, strict=True):
        Path(file).write_text(f"site,a\nnorth,1\nsouth,2\n{end}")
    notes = []
    options = GuessedOptions(DEFAULT_OPTIONS, (), notes.append).of(files)
    assert [note.rendered(flag) for note in notes] == [
        f"{files[0]}: without the notes or totals at the end of {files[1]}, {files[3]}. "
        "To change that, use --footer."
    ]
    assert read_files(files, read_options=options).table["a"].to_pylist() == [1, 2] * 4
    # What the user says holds for all.
    said = read_options(footer=1)
    assert GuessedOptions(said, {"footer"}, str).of(files) == said


@pytest.mark.parametrize(
    ("contents", "sentence"),
    [
        (
            ["Bees\nsite,a\nnorth,1\n", "site,a\nnorth,1\n"],
            "header in row 2 there, but nothing unusual here",
        ),
        (
            ["site,a\nnorth,1\n", "Bees\nsite,a\nnorth,1\n"],
            "nothing unusual there, but header in row 2 here",
        ),
    ],
)
def test_files_that_are_given_together_are_written_alike(tmp_path, contents, sentence):
    files = [str(tmp_path / f"{i}.csv") for i in range(len(contents))]
    for file, content in zip(files, contents, strict=True):
        Path(file).write_text(content)
    with pytest.raises(InputError) as caught:
        GuessedOptions(DEFAULT_OPTIONS, (), str).of(files)
    assert caught.value.file == files[1]
    assert caught.value.message == (
        f"it is written in another way than {files[0]}: {sentence}; write these files alike."
    )
    # Not together, they may differ.
    guesses = GuessedOptions(DEFAULT_OPTIONS, (), str)
    for file in files:
        assert read_table(file, read_options=guesses.of([file]))["a"].to_pylist() in ([1, 2], [1])


@pytest.mark.parametrize("n", range(6))
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_rows_at_the_end_are_left_out_wherever_blocks_end(tmp_path, monkeypatch, n, ending):
    """With blocks of any size: a cut between the last rows must not change what is left out."""
    lines = ["a,b", *(f'{i},"x{ending}y"' for i in range(50)), *["1"] * n]
    path = tmp_path / "t.csv"
    path.write_bytes(ending.join(lines).encode())
    for size in (7, 16, 61, 1 << 20):
        monkeypatch.setattr("poscount.files.streams.BLOCK_BYTES", size)
        table = read_table(path, read_options=read_options(footer=n))
        assert table["a"].to_pylist() == list(range(50))


def test_a_header_row_that_is_not_there(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    for row, sentence in ((9, "has no row 9"), (0, "rows are counted from 1")):
        with pytest.raises(InputError, match=sentence):
            read_table(path, read_options=read_options(header_row=row))
    with pytest.raises(InputError, match="no row of column names"):
        read_table(path, read_options=read_options(header=False, header_row=1))
    with pytest.raises(InputError, match="must not be -1"):
        read_table(path, read_options=read_options(footer=-1))


def test_rows_of_a_workbook_are_counted_as_it_shows_them(guess):
    above = [[None], [None], ["Bees of 2026"], [None]]
    rows = [["site", "wing", "body"], ["north", 2.5, 7], ["south", 3.5, 8]]
    expected = {"site": ["north", "south"], "wing": [2.5, 3.5], "body": [7, 8]}
    assert guess(xlsx({"d": [*above, *rows]})) == ([expected], ["p.xlsx: header in row 5."])
    assert guess(xlsx({"d": [*above, *rows]}), header_row=5) == ([expected], [])


# Names


def test_columns_get_other_names(tmp_path):
    table = pa.table({"Bill Length": [1.5, 2.5], "b": ["x", "y"]})
    contents = {
        "t.csv": "Bill Length,b\n1.5,x\n2.5,y\n",
        "t.jsonl": '{"Bill Length": 1.5, "b": "x"}\n{"Bill Length": 2.5, "b": "y"}\n',
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.xlsx").write_bytes(xlsx({"t": [table.column_names, [1.5, "x"], [2.5, "y"]]}))
    options = read_options(rename={"Bill Length": "bill_length_mm"})
    for name in (*contents, "t.parquet", "t.xlsx"):
        path = tmp_path / name
        assert read_table(path, read_options=options).to_pydict() == {
            "bill_length_mm": [1.5, 2.5],
            "b": ["x", "y"],
        }
        chosen = {"columns": ["b", "bill_length_mm"], "numeric": ["bill_length_mm"]}
        assert read_table(path, read_options=options, **chosen).to_pydict() == {
            "b": ["x", "y"],
            "bill_length_mm": [1.5, 2.5],
        }
        with pytest.raises(InputError, match="2 columns of this name"):
            read_table(path, read_options=read_options(rename={"Bill Length": "b"}))


def test_all_columns_that_are_spelled_differently_are_named_at_once(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Bill Length (mm),Mass G,island,harmonic_2\n1,2,x,3\n")
    columns = ["bill_length_mm", "mass_g", "harmonic_2", "harmonic_3"]
    with pytest.raises(InputError) as caught:
        read_table(path, columns=columns)
    assert caught.value.value == {"Bill Length (mm)": "bill_length_mm", "Mass G": "mass_g"}
    assert str(caught.value).endswith(
        "Set rename={'Bill Length (mm)': 'bill_length_mm', 'Mass G': 'mass_g'}."
    )
    with pytest.raises(InputError) as caught:
        read_table(path, columns=columns[2:])
    # A column that is wanted itself is no other spelling of one that is missing.
    assert caught.value.option is None
    assert "did you mean" not in caught.value.message
