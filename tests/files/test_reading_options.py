"""Files as people write them: signs of missing values, marks, units, sheets, archives."""

import datetime
import io
import json
import sys
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poscount.errors import InputError
from poscount.files.features import describe_column
from poscount.files.read_options import ReadOptions
from poscount.files.reading import read_batches, read_table
from poscount.files.text_numbers import infer, numbers
from workbooks import ods, xls, xlsx


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def refused(path, read=read_table, **options):
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert caught.value.file == path
    assert caught.value.message.endswith((".", "?"))
    return caught.value


# Missing values

SIGNS = ["", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "None"]


@pytest.mark.parametrize("sign", SIGNS)
def test_the_usual_signs_mean_missing_in_words_and_numbers(write, sign):
    table = read_table(write("t.csv", f"size,site\n1.5,north\n{sign},{sign} \n2.5,south\n"))
    assert table.to_pydict() == {"size": [1.5, None, 2.5], "site": ["north", None, "south"]}


def test_more_signs_of_missing_values(write):
    na = ReadOptions(na=("-", ".", "-999"))
    rows = {"size": [1.5, "-", ".", -999, "-999.0"], "site": ["a", " - ", ".", "-999", "b"]}
    expected = {"size": [1.5, None, None, None, None], "site": ["a", None, None, None, "b"]}
    cells = list(zip(*rows.values(), strict=True))
    lines = [f"{size},{site}" for size, site in cells]
    contents = {
        "t.csv": "\n".join(["size,site", *lines]),
        "t.jsonl": "\n".join(
            json.dumps(dict(zip(rows, row, strict=True)))
            for row in zip(*rows.values(), strict=True)
        ),
        "t.xlsx": xlsx({"s": [list(rows), *zip(*rows.values(), strict=True)]}),
    }
    for name, content in contents.items():
        path = write(name, content)
        assert read_table(path, read_options=na).to_pydict() == expected
        by_batches = pa.Table.from_batches(read_batches(path, numeric=["size"], read_options=na))
        assert by_batches.to_pydict() == expected


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int64(), pa.int8()])
def test_signs_in_typed_files(tmp_path, kind):
    words = pa.array(["-", "a ", None])
    table = pa.table(
        {"x": pa.array([1, -9, None], kind), "w": words, "d": words.dictionary_encode()}
    )
    pq.write_table(table, tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet", read_options=ReadOptions(na=("-9", "-")))
    assert found["x"].type == kind
    assert found.to_pydict() == {
        "x": [1, None, None],
        "w": [None, "a ", None],
        "d": [None, "a ", None],
    }


# Marks and units


@given(
    st.integers(-(10**15), 10**15),
    st.sampled_from([",", " ", "'", "_", ".", "\u202f", "\u2019"]),
    st.sampled_from(["", "5", "25"]),
)
def test_grouped_numbers_are_read_as_they_are_meant(whole, mark, decimals):
    decimal = "," if mark == "." else "."
    end = decimal + decimals if decimals else ""
    cell = f"{whole:,}".replace(",", mark) + end
    thousands = {"\u202f": " ", "\u2019": "'"}.get(mark, mark)
    written = ReadOptions(decimal=decimal, thousands=thousands)
    assert numbers(pa.array([cell]), "x", written).to_pylist() == [float(f"{whole}.{decimals}")]


@pytest.mark.parametrize("cell", ["1,23", "12,34,567", "1234,567", ",123", "1,234,", "1,2345"])
def test_marks_elsewhere_are_no_thousands_marks(cell):
    column = pa.array([cell])
    written = ReadOptions(thousands=",")
    assert infer(column, "x", written) is column
    with pytest.raises(InputError, match="is not a number"):
        numbers(column, "x", written)


def test_thousands_and_decimal_marks_must_differ(write):
    path = write("t.csv", "a\n1\n")
    for thousands in (".", "x", ""):
        with pytest.raises(InputError) as caught:
            read_table(path, read_options=ReadOptions(thousands=thousands))
        assert caught.value.option == "thousands"


@pytest.mark.parametrize("unit", ["g", "%", "°C", "km/h", "m2", "$", "€", "g/m^2", "µg"])
def test_units(write, unit):
    cells = [f"40.25 {unit}", f"12{unit}", "7", "", f"-1.5e3 {unit}"]
    path = write("t.csv", "\n".join(["size,n", *(f"{cell},1" for cell in cells)]))
    error = describe_column(read_table(path)["size"], "size").problem
    assert (error.option, error.value) == ("units", {"size": unit})
    units = ReadOptions(units=tuple(error.value.items()))
    expected = [40.25, 12.0, 7.0, None, -1500.0]
    assert read_table(path, read_options=units)["size"].to_pylist() == expected
    batches = read_batches(path, numeric=["size"], read_options=units)
    assert pa.Table.from_batches(batches)["size"].to_pylist() == expected


def test_a_currency_may_come_first(write):
    units = ReadOptions(thousands=",", units=(("price", "$"),))
    path = write("t.csv", 'price\n$12\n"$1,200.50"\n$ 3\n')
    assert read_table(path, read_options=units)["price"].to_pylist() == [12.0, 1200.5, 3.0]


def test_mixed_units_are_named(write):
    path = write("t.csv", "size,n\n40 g,1\n0.5 kg,2\n")
    error = refused(path, lambda path: list(read_batches(path, numeric=["size"])))
    assert error.message == (
        "'40 g' is not a number: the column has the units g and kg; write all numbers in one unit."
    )
    assert error.option is None
    grams = ReadOptions(units=(("size", "g"),))
    error = refused(
        path, lambda path: list(read_batches(path, numeric=["size"], read_options=grams))
    )
    assert (error.row, error.option) == (1, None)
    assert error.message.endswith("it has the unit kg, but the column's unit is g.")


def test_options_add_up():
    written = ReadOptions(na=("-",), units=(("a", "g"),))
    error = describe_column(pa.array(["1", "?"]), "x", written).problem
    assert (error.option, error.value) == ("na", ["-", "?"])
    error = describe_column(pa.array(["1 mm"]), "x", written).problem
    assert (error.option, error.value) == ("units", {"a": "g", "x": "mm"})


# Similar names


@pytest.mark.parametrize("name", ["weight", "Weight", "WEIGHT ", "wieght", "we ight"])
def test_a_similar_column_is_asked_about(write, name):
    path = write("t.csv", "Weight ,size\n1,2\n")
    error = refused(path, columns=[name])
    assert error.message == (
        "the file has no such column; did you mean 'Weight '? Its columns are 'Weight ', 'size'."
    )
    assert refused(path, columns=["length"]).message == (
        "the file has no such column; its columns are 'Weight ', 'size'."
    )


# Workbooks

DAY = datetime.date(2026, 1, 12)
ROWS = [
    ["size", "n", "flies", "site", "day", "mixed", "part"],
    [1.5, 3, True, "north", DAY, 1, None],
    [None, 4, False, None, None, "x", 0.5],
    [None] * 7,
    [2.5, None, None, " n/a ", DAY, 2.5, 2.0],
]


@pytest.mark.parametrize(("name", "make"), [("t.xlsx", xlsx), ("t.xls", xls), ("t.ods", ods)])
def test_cells_of_workbooks_have_types(write, name, make):
    table = read_table(write(name, make({"data": ROWS})))
    assert table.to_pydict() == {
        "size": [1.5, None, 2.5],
        "n": [3, 4, None],
        "flies": [True, False, None],
        "site": ["north", None, None],
        "day": [DAY, None, DAY],
        "mixed": ["1", "x", "2.5"],
        "part": [None, 0.5, 2.0],
    }
    kinds = ["double", "int64", "bool", "string", "date32[day]", "string", "double"]
    assert [str(field.type) for field in table.schema] == kinds


def test_dates_with_times_in_workbooks(write):
    time = datetime.datetime(2026, 1, 12, 13, 45)
    path = write("t.xlsx", xlsx({"s": [["a", "b"], [time, DAY], [DAY, time]]}))
    midnight = datetime.datetime(2026, 1, 12)
    assert read_table(path).to_pydict() == {"a": [time, midnight], "b": [midnight, time]}


def test_sheets(write):
    other = [["a"], [1]]
    one = write("one.xlsx", xlsx({"data": ROWS, "empty": [], "notes": other}, hidden=["notes"]))
    assert read_table(one)["size"].to_pylist() == [1.5, None, 2.5]
    assert read_table(one, read_options=ReadOptions(sheet="notes"))["a"].to_pylist() == [1]
    error = refused(one, read_options=ReadOptions(sheet="Data"))
    assert error.message == "the workbook has no sheet 'Data'; it has 'data', 'empty', 'notes'."
    two = write("two.xlsx", xlsx({"data": ROWS, "more": other}))
    error = refused(two)
    assert error.message == "the workbook has several sheets with data: 'data', 'more'."
    assert error.option == "sheet"
    assert read_table(two, read_options=ReadOptions(sheet="more")).num_rows == 1


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "the sheet is empty."),
        ([["Our results", None, None], ["a", "b", "c"], [1, 2, 3]], "the first row names 1 of 3"),
        ([[1, 2], [3, 4]], "the first row holds only numbers, not column names."),
        ([["a", "a"], [3, 4]], "the file has 2 columns of this name; rename them."),
    ],
)
def test_sheets_that_cannot_be_used(write, rows, sentence):
    assert refused(write("t.xlsx", xlsx({"s": rows}))).message.startswith(sentence)


def test_sheets_without_a_header(write):
    path = write("t.xlsx", xlsx({"s": [[1, 2.5], [3, 4]]}))
    table = read_table(path, read_options=ReadOptions(header=False))
    assert table.to_pydict() == {"1": [1, 3], "2": [2.5, 4.0]}


@pytest.mark.parametrize("name", ["t.xlsx", "t.xls", "t.xlsb", "t.ods"])
def test_what_is_no_workbook(write, name):
    assert refused(write(name, "a,b\n1,2\n")).message.startswith("this is not a workbook,")


def test_without_calamine_the_extra_is_named(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r'pip install "poscount\[excel\]"'):
        read_table(write("t.xlsx", b"x"))


def test_a_workbook_with_the_wrong_extension(write):
    path = write("t.csv", xlsx({"s": ROWS}))
    assert "give an Excel workbook the extension .xlsx" in refused(path).message


# JSON lines


def test_keys_may_be_missing_and_come_late(write, monkeypatch):
    monkeypatch.setattr("poscount.files.streams.BLOCK_BYTES", 16)
    lines = [{"a": 1}] * 9 + [{}, {"b": "x", "a": None}, {"c": True, "a": 2.5}]
    path = write("t.jsonl", "\n\n".join(map(json.dumps, lines)))
    table = read_table(path)
    assert table.column_names == ["a", "b", "c"]
    assert table["a"].to_pylist() == [1.0] * 9 + [None, None, 2.5]
    assert table["c"].to_pylist() == [None] * 11 + ["true"]
    batches = list(read_batches(path, columns=["c"]))
    assert sum(batch.num_rows for batch in batches) == 12
    assert refused(path, columns=["z"]).column == "z"


@pytest.mark.parametrize("numeric", [None, ["a"]])
def test_numbers_of_json_keep_their_digits(write, numeric):
    values = [0.1, 1e300, 123456789012, -1.5e-8]
    path = write("t.jsonl", "\n".join(json.dumps({"a": value}) for value in values))
    assert read_table(path, numeric=numeric)["a"].to_pylist() == values


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("[1, 2]", "line 3 is not a JSON object;"),
        ("3", "line 3 is not a JSON object;"),
        ('{"a": 1', "line 3 is not a JSON object;"),
        ("a,b", "line 3 is not a JSON object;"),
        ('{"a": [1, 2]}', "the value is a nested list;"),
        ('{"a": {"b": 1}}', "the value is a nested object;"),
    ],
)
def test_lines_that_are_no_objects(write, line, sentence):
    path = write("t.jsonl", f'{{"a": 1}}\n\n{line}\n')
    error = refused(path)
    assert error.message.startswith(sentence)
    if "nested" in sentence:
        assert (error.column, error.row) == ("a", 1)


def test_json_lines_without_lines(write):
    for content in ("\n\n", "{}\n"):
        assert refused(write("t.jsonl", content)).message == "the file is empty."


# Archives


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


def test_archives_with_none_or_several_files(write):
    for name in ("t.zip", "t.csv.zip"):
        error = refused(write(name, zipped(a_csv="a\n1\n", b_csv="a\n1\n")))
        assert error.message == "the archive holds 2 files: a.csv, b.csv; it must hold one."
        assert (
            refused(write(name, zipped())).message == "the archive holds no file; it must hold one."
        )
    error = refused(write("t.zip", zipped(a_parquet="x")))
    assert error.message.startswith("in the archive, the extension of 'a.parquet' is not of a")


@pytest.mark.parametrize("cut", [10, 100, 300])
def test_damaged_archives(write, cut):
    text = "a\n" + "\n".join(f"{i * 7919 % 1000}" for i in range(1000))
    packed = {
        "t.zip": zipped(a_csv=text),
        "t.csv.zip": zipped(a_csv=text),
        "t.csv.zst": pa.Codec("zstd").compress(text.encode(), asbytes=True),
    }
    for name, content in packed.items():
        assert read_table(write(name, content)).num_rows == 1000
        error = refused(write(name, content[:-cut]))
        assert "damaged or incomplete" in error.message


def test_flipped_bytes_in_an_archive(write):
    text = "a\n" + "\n".join(f"{i * 7919 % 1000}" for i in range(1000))
    content = bytearray(zipped(a_csv=text))
    content[200] ^= 255
    assert "damaged" in refused(write("t.zip", bytes(content))).message
