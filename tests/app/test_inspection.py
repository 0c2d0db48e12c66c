"""Descriptions of files: first rows, columns, their kinds, and what is wrong; limits."""

import gzip
import io
import zipfile

import pyarrow as pa
import pyarrow.parquet
import pytest

from poscount.app import inspection
from poscount.app.inspection import FileLimits, inspect_file
from poscount.errors import InputError
from poscount.files import reading
from poscount.files.features import choose_features
from poscount.files.read_options import ReadOptions
from workbooks import xlsx

LIMITS = FileLimits(rows=1000, columns=10, unpacked_bytes=100_000, groups=5)

TABLE = {
    "weight": [0.5, 1.5, 2.5] * 10,
    "row_id": list(range(30)),
    "n": list(range(100, 130)),
    "site": ["a", "b", None] * 10,
    "digits": ["1", "2", "3"] * 10,
}
KINDS = {"weight": "number", "row_id": "identifier", "n": "identifier", "site": "category"}


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
    assert {column.name: column.kind for column in found.columns} == {**KINDS, "digits": "number"}
    doubts = dict.fromkeys(("row_id", "n"), "looks like an identifier")
    expected = {name: doubts.get(name) for name in TABLE}
    assert {column.name: column.why_not_used for column in found.columns} == expected
    assert {column.name: column.missing for column in found.columns} == {
        column: 1 / 3 if column == "site" else 0 for column in TABLE
    }
    # Words are no problem of positives; of other files they are one, if the positives have numbers.
    broken = {column.name for column in found.columns if column.problem}
    assert broken == text - ({"site"} if positives else set())


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_the_first_rows_are_shown_as_they_were_read(write, name):
    found = inspect_file(write(name, TABLE), positives=False, limits=LIMITS)
    assert found.preview[:3] == (
        ("0.5", "0", "100", "a", "1"),
        ("1.5", "1", "101", "b", "2"),
        ("2.5", "2", "102", None, "3"),
    )
    assert len(found.preview) == 10
    wide = write(name, {f"c{i}": ["x" * 100] for i in range(60)})
    (row,) = inspect_file(wide, positives=False, limits=LIMITS._replace(columns=60)).preview
    assert row == ("x" * 60,) * 50


@pytest.mark.parametrize("positives", [True, False])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_infinity_is_a_problem_with_its_row(write, monkeypatch, name, positives):
    path = write(name, {"a": [0.5] * 20 + [float("inf")], "b": [0.5] * 20 + [float("nan")]})

    def in_small_batches(*arguments, **options):
        return reading.read_batches(*arguments, **options, batch_rows=8)

    monkeypatch.setattr(inspection, "read_batches", in_small_batches)
    found = inspect_file(path, positives=positives, limits=LIMITS)
    (a, b) = found.columns
    assert str(a.problem) == (
        f"{path}: column 'a', row 21: the number is infinite; correct it or remove the row."
    )
    assert (b.problem, round(b.missing * 21)) == (None, 1)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("columns", [["weight"], ["weight", "n"], ["weight", "site"], ["digits"]])
def test_the_doubts_are_those_of_fitting(write, name, columns):
    path = write(name, {column: TABLE[column] for column in columns})
    found = inspect_file(path, positives=True, limits=LIMITS)
    left_out = {column.name: column.why_not_used for column in found.columns if column.why_not_used}
    if any(column.problem for column in found.columns) or len(left_out) == len(columns):
        with pytest.raises(InputError):
            choose_features(reading.read_table(path), None, [], path)
    else:
        used = [name for name in columns if name not in left_out]
        assert choose_features(reading.read_table(path), None, [], path) == (used, left_out)


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


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_rows_with_each_label_have_sketches_of_their_own(write, name):
    table = {
        "seen": ["yes", None, "no", None] * 10,
        "size": [i / 7 for i in range(40)],
        "site": ["north", "south", "south", None, "east"] * 8,
        "many": [f"m{i}" for i in range(40)],
    }
    encoded = {"seen": pa.array(table["seen"]).dictionary_encode()} if "parquet" in name else {}
    path = write(name, {**table, **encoded})
    found = dict(inspect_file(path, positives=True, limits=LIMITS, label="seen").by_label)
    assert set(found) == {"yes", "no", None}
    for value, sketches in found.items():
        rows = [i for i in range(40) if table["seen"][i] == value]
        alone = write(f"1{name}", {name: [table[name][i] for i in rows] for name in table})
        expected = inspect_file(alone, positives=True, limits=LIMITS).sketches
        assert [sketches[name] for name in ("size", "site")] == [
            expected[name] for name in ("size", "site")
        ]
    # Nothing is told apart by a column of many values, or one that is not there.
    for label in ("many", "other", ""):
        assert inspect_file(path, positives=True, limits=LIMITS, label=label).by_label == []


def test_a_column_is_typed_by_all_of_its_batches(write, monkeypatch):
    # The first batch holds running numbers only; the last cell decides.
    path = write("t.csv", {"a": [*range(40), "x"], "b": [*range(40), 0.5]})

    def in_small_batches(*arguments, **options):
        return reading.read_batches(*arguments, **options, batch_rows=8)

    monkeypatch.setattr(inspection, "read_batches", in_small_batches)
    for positives in (True, False):
        found = inspect_file(path, positives=positives, limits=LIMITS)
        assert [column.numeric for column in found.columns] == [False, True]
        (broken, fine) = found.columns
        assert (broken.problem.row, fine.problem) == (40, None)


def test_numbers_are_read_as_the_format_says(write, tmp_path):
    (tmp_path / "german.csv").write_text("a;b\n0,5;1,5\n2,5;3,5\n")
    path = str(tmp_path / "german.csv")
    for decimal, numeric in ((",", True), (".", False)):
        found = inspect_file(
            path, positives=True, limits=LIMITS, read_options=ReadOptions(decimal=decimal)
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


@pytest.mark.parametrize("name", ["t.zip", "t.csv.zst", "t.jsonl.gz", "t.xlsx"])
def test_every_packed_format_is_measured(tmp_path, name):
    text = b'{"a": 1}\n' * 900 if "json" in name else b"a\n" + b"1\n" * 900
    if name.endswith(".zst"):
        content = pa.Codec("zstd").compress(text, asbytes=True)
    elif name.endswith(".gz"):
        content = gzip.compress(text)
    elif name.endswith(".xlsx"):
        content = xlsx({"s": [["a"], *([1] for _ in range(900))]})
    else:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("t.csv", text)
        content = buffer.getvalue()
    path = tmp_path / name
    path.write_bytes(content)
    assert inspect_file(str(path), positives=True, limits=LIMITS).rows == 900
    with pytest.raises(InputError, match="after decompression"):
        inspect_file(str(path), positives=True, limits=LIMITS._replace(unpacked_bytes=1500))
