"""Descriptions of files: rows, columns, and which of them look like features; limits."""

import gzip

import pyarrow as pa
import pyarrow.parquet
import pytest

from poscount.errors import InputError
from poscount.files import reading
from poscount.files.csv import CsvFormat
from poscount.files.features import choose_features
from poscount.workflows import FileLimits, inspect_file, inspection

LIMITS = FileLimits(rows=1000, columns=10, unpacked_bytes=100_000, groups=5)

TABLE = {
    "weight": [0.5, 1.5, 2.5] * 10,
    "row_id": list(range(30)),
    "n": list(range(100, 130)),
    "site": ["a", "b", None] * 10,
    "digits": ["1", "2", "3"] * 10,
}


@pytest.fixture
def write(tmp_path):
    def write(name, table):
        path = tmp_path / name
        if name.endswith(".parquet"):
            pa.parquet.write_table(pa.table(table), path)
        else:
            rows = zip(*table.values(), strict=True)
            cells = [["" if value is None else str(value) for value in row] for row in rows]
            lines = "\n".join(map(",".join, [list(table), *cells])).encode()
            path.write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)
        return str(path)

    return write


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize("positives", [True, False])
def test_rows_and_columns_are_described(write, name, positives):
    found = inspect_file(write(name, TABLE), positives=positives, limits=LIMITS)
    assert found.rows == 30
    columns = {column.name: column for column in found.columns}
    assert list(columns) == list(TABLE)
    # A Parquet file says itself that these digits are text.
    text = {"site", "digits"} if name == "t.parquet" else {"site"}
    assert {column.name for column in found.columns if not column.numeric} == text
    assert columns["site"].values == ("a", "b")
    assert columns["site"].distinct == 2
    assert columns["row_id"].distinct is None
    doubts = dict.fromkeys(("row_id", "n"), "looks like an identifier")
    doubts["site"] = "holds words such as 'a'"
    if name == "t.parquet":
        doubts["digits"] = "holds numbers stored as text, such as '1'"
    expected = {name: doubts.get(name) if positives else None for name in TABLE}
    assert {column.name: column.why_not_feature for column in found.columns} == expected


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("columns", [["weight"], ["weight", "n"], ["weight", "site"], ["digits"]])
def test_the_doubts_are_those_of_fitting(write, name, columns):
    path = write(name, {column: TABLE[column] for column in columns})
    found = inspect_file(path, positives=True, limits=LIMITS)
    if any(column.why_not_feature for column in found.columns):
        with pytest.raises(InputError):
            choose_features(reading.read_table(path), None, [], path)
    else:
        assert choose_features(reading.read_table(path), None, [], path) == columns


@pytest.mark.parametrize("positives", [True, False])
def test_a_file_is_read_once(write, positives, monkeypatch):
    path = write("t.csv", TABLE)
    read = []

    def counted(*arguments, **options):
        read.append(arguments)
        return reading.read_batches(*arguments, **options)

    monkeypatch.setattr(inspection, "read_batches", counted)
    inspect_file(path, positives=positives, limits=LIMITS)
    assert read == [(path,)]


def test_a_column_is_typed_by_all_of_its_batches(write, monkeypatch):
    # The first batch holds running numbers only; the last cell decides.
    path = write("t.csv", {"a": [*range(40), "x"], "b": [*range(40), 0.5]})

    def in_small_batches(*arguments, **options):
        return reading.read_batches(*arguments, **options, batch_rows=8)

    monkeypatch.setattr(inspection, "read_batches", in_small_batches)
    for positives in (True, False):
        found = inspect_file(path, positives=positives, limits=LIMITS)
        assert [column.numeric for column in found.columns] == [False, True]
    found = inspect_file(path, positives=True, limits=LIMITS)
    assert [column.why_not_feature is None for column in found.columns] == [False, True]


def test_numbers_are_read_as_the_format_says(write, tmp_path):
    (tmp_path / "german.csv").write_text("a;b\n0,5;1,5\n2,5;3,5\n")
    path = str(tmp_path / "german.csv")
    for decimal, numeric in ((",", True), (".", False)):
        found = inspect_file(
            path, positives=True, limits=LIMITS, csv_format=CsvFormat(decimal=decimal)
        )
        assert [column.numeric for column in found.columns] == [numeric, numeric]
        problems = [column.problem for column in found.columns if column.problem]
        assert {(error.file, error.row, error.option, error.value) for error in problems} == (
            set() if numeric else {(path, 0, "decimal", ",")}
        )


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
@pytest.mark.parametrize(
    ("limit", "words"),
    [({"rows": 29}, "more than 29 rows"), ({"columns": 4}, "more than 4 columns")],
)
def test_a_file_beyond_a_limit_is_refused(write, name, limit, words):
    path = write(name, TABLE)
    with pytest.raises(InputError, match=words) as caught:
        inspect_file(path, positives=False, limits=LIMITS._replace(**limit))
    assert (caught.value.file, caught.value.option) == (path, "limits")
    enough = {name: most + 1 for name, most in limit.items()}
    assert inspect_file(path, positives=False, limits=LIMITS._replace(**enough)).rows == 30


@pytest.mark.parametrize("name", ["t.csv.gz", "t.parquet"])
def test_a_file_that_unpacks_to_too_much_is_refused(write, name):
    path = write(name, TABLE)
    with pytest.raises(InputError, match=r"more than 0\.0003 MB after decompression"):
        inspect_file(path, positives=False, limits=LIMITS._replace(unpacked_bytes=300))


def test_a_file_without_rows_is_refused(write):
    with pytest.raises(InputError, match="no rows"):
        inspect_file(write("t.csv", {"a": []}), positives=False, limits=LIMITS)


def test_long_texts_and_lists_make_no_groups(write):
    table = {"note": ["x" * 201, "y"], "list": [[1], [2]]}
    found = inspect_file(write("t.parquet", table), positives=False, limits=LIMITS)
    assert [column.distinct for column in found.columns] == [None, None]
    assert max(len(value) for column in found.columns for value in column.values) == 200
