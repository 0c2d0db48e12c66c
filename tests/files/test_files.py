import gzip
import io
import json
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from poscount.errors import InputError
from poscount.files import csv as csv_module
from poscount.files import streams
from poscount.files.read_options import ReadOptions
from poscount.files.reading import expand, read_batches, read_table
from workbooks import ods, xls, xlsx

TABLE = pa.table(
    {
        "night": ["01", "02", None, "n"],
        "size": [1.5, -2.0, 3.0, None],
        "other": ['a "quoted" word', "two\nlines", "é, ü", "x"],
    }
)


@pytest.fixture
def write(tmp_path):
    def write(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 16)


def stdin(monkeypatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))


def as_csv(table: pa.Table, delimiter: str = ",") -> bytes:
    buffer = io.BytesIO()
    pyarrow.csv.write_csv(table, buffer, pyarrow.csv.WriteOptions(delimiter=delimiter))
    return buffer.getvalue()


def as_ipc(table: pa.Table, new, rows: int | None = None) -> bytes:
    buffer = io.BytesIO()
    with new(buffer, table.schema) as writer:
        writer.write_table(table, max_chunksize=rows)
    return buffer.getvalue()


def as_parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue()


def as_zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def as_json(table: pa.Table) -> bytes:
    # A key that is missing is as good as null.
    lines = [{k: v for k, v in row.items() if v is not None} for row in table.to_pylist()]
    return "\n".join(json.dumps(line) for line in lines).encode()


def as_cells(table: pa.Table) -> list:
    return [table.column_names, *zip(*table.to_pydict().values(), strict=True)]


def together(path, **options) -> pa.Table:
    return pa.Table.from_batches(read_batches(path, **options))


def error(path, read=together, **options) -> InputError:
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert str(caught.value).startswith(caught.value.file or ("the ", "no file was given"))
    assert "\n" not in str(caught.value)
    assert str(caught.value)[-1] in ".?"
    for jargon in ("pyarrow", "Arrow error", "Invalid", "schema", "codec"):
        assert jargon not in caught.value.message
    return caught.value


# Formats


FORMATS = {
    "trap.csv": as_csv,
    "trap.txt": as_csv,
    "TRAP.CSV": as_csv,
    "trap.tsv": lambda table: as_csv(table, "\t"),
    "trap.csv.gz": lambda table: gzip.compress(as_csv(table)),
    "zipped.csv": lambda table: gzip.compress(as_csv(table)),
    "unzipped.csv.gz": as_csv,
    "two_members.csv.gz": lambda table: (
        gzip.compress(as_csv(table)[:20]) + gzip.compress(as_csv(table)[20:])
    ),
    "trap.csv.zst": lambda table: pa.Codec("zstd").compress(as_csv(table), asbytes=True),
    "trap.csv.zip": lambda table: as_zip({"trap.csv": as_csv(table)}),
    "trap.zip": lambda table: as_zip(
        {"__MACOSX/._t.csv": b"x", "a/": b"", "a/t.csv": as_csv(table)}
    ),
    "trap.jsonl": lambda table: as_json(table),
    "trap.ndjson.gz": lambda table: gzip.compress(as_json(table)),
    "lines.zip": lambda table: as_zip({"trap.jsonl": as_json(table)}),
    "trap.xlsx": lambda table: xlsx({"trap": as_cells(table)}),
    "trap.xls": lambda table: xls({"trap": as_cells(table)}),
    "trap.ods": lambda table: ods({"trap": as_cells(table)}),
    "trap.parquet": as_parquet,
    "file.arrow": lambda table: as_ipc(table, pa.ipc.new_file),
    "stream.arrow": lambda table: as_ipc(table, pa.ipc.new_stream),
    "batches.ipc": lambda table: as_ipc(table, pa.ipc.new_file, rows=3),
    "trap.feather": lambda table: as_ipc(table, pa.ipc.new_file),
}


@pytest.mark.parametrize("name", FORMATS)
def test_content_is_the_same_in_every_format(write, name):
    path = write(name, FORMATS[name](TABLE))
    assert together(path, numeric=["size"]) == TABLE
    assert read_table(path, numeric=["size"]) == TABLE


@pytest.mark.parametrize("name", FORMATS)
def test_columns_come_in_the_order_asked_for(write, name):
    path = write(name, FORMATS[name](TABLE))
    columns = ["other", "size"]
    assert together(path, columns=columns, numeric=["size"]) == TABLE.select(columns)
    # A feature may also be what the rows are grouped by.
    twice = together(path, columns=["size", "night", "size"], numeric=["size"])
    assert twice == TABLE.select(["size", "night"])


@pytest.mark.parametrize("name", FORMATS)
def test_path_objects(write, name):
    path = Path(write(name, FORMATS[name](TABLE)))
    assert together(path, numeric=["size"]) == TABLE


@pytest.mark.parametrize("name", FORMATS)
def test_missing_column_names_file_column_and_columns(write, name):
    path = write(name, FORMATS[name](TABLE))
    for options in ({"columns": ["size", "sise"]}, {"numeric": ["sise"]}):
        caught = error(path, **options)
        assert (caught.file, caught.column) == (path, "sise")
        assert "no such column; its columns are 'night', 'size', 'other'." in str(caught)


def test_long_lists_of_columns_are_cut_short(write):
    path = write("wide.csv", ",".join(f"x{j}" for j in range(500)) + "\n")
    assert str(error(path, columns=["y"])).endswith("'x19' and 480 more.")


# Without a line, JSON has no keys.
@pytest.mark.parametrize("name", [n for n in FORMATS if "json" not in n and n != "lines.zip"])
def test_no_rows_give_one_empty_batch_with_the_columns(write, name):
    path = write(name, FORMATS[name](TABLE.slice(0, 0)))
    batches = list(read_batches(path, columns=["size", "night"], numeric=["size"]))
    assert [batch.num_rows for batch in batches] == [0]
    assert batches[0].schema == TABLE.select(["size", "night"]).schema
    assert read_table(path, numeric=["size"]) == TABLE.slice(0, 0)


@pytest.mark.parametrize("name", ["file.arrow", "stream.arrow"])
def test_arrow_without_any_batch(write, name):
    path = write(name, FORMATS[name](TABLE.schema.empty_table()))
    assert [batch.num_rows for batch in read_batches(path)] == [0]


@pytest.mark.parametrize("name", FORMATS)
def test_batches_have_at_most_the_rows_asked_for(write, name):
    path = write(name, FORMATS[name](TABLE))
    batches = list(read_batches(path, numeric=["size"], batch_rows=2))
    assert all(batch.num_rows <= 2 for batch in batches)
    assert pa.Table.from_batches(batches) == TABLE


@pytest.mark.parametrize("name", FORMATS)
def test_progress_rises_to_its_total(write, name, small_blocks):
    path = write(name, FORMATS[name](TABLE))
    seen: list[tuple[int, int]] = []
    together(path, batch_rows=2, progress=lambda done, total: seen.append((done, total)))
    done = [step[0] for step in seen]
    assert done == sorted(done)
    assert len({total for _, total in seen}) == 1
    assert seen[-1][0] == seen[-1][1]


def test_progress_is_reported_after_use(write):
    path = write("trap.csv", "a\n1\n")
    seen: list[tuple[int, int]] = []
    batches = read_batches(path, progress=lambda done, total: seen.append((done, total)))
    next(batches)
    assert seen == []
    assert list(batches) == []
    assert seen == [(4, 4)]


def test_files_are_closed_when_reading_is_given_up(write, small_blocks):
    for name, content in FORMATS.items():
        batches = read_batches(write(name, content(TABLE)), batch_rows=1)
        next(batches)
        batches.close()
    # An open file would warn when it is collected, and warnings are errors.


# Standard input


@pytest.mark.parametrize("zipped", [False, True])
def test_standard_input(monkeypatch, zipped):
    content = as_csv(TABLE)
    stdin(monkeypatch, gzip.compress(content) if zipped else content)
    seen: list[int] = []
    got = together("-", numeric=["size"], progress=lambda done, total: seen.append(done))
    assert got == TABLE
    assert seen == []
    assert not sys.stdin.closed


def test_standard_input_is_named_in_errors(monkeypatch):
    stdin(monkeypatch, b"")
    assert str(error("-")) == "standard input: the file is empty."
    stdin(monkeypatch, b"a\nx\n")
    assert str(error("-", numeric=["a"])).startswith("standard input: column 'a', row 1: 'x'")


def test_failing_device(monkeypatch):
    class Failing(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            if not hasattr(self, "started"):
                self.started = True
                buffer[:4] = b"a\n1\n"
                return 4
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Failing())))
    assert str(error("-")) == "standard input: it cannot be read: Input/output error."


# Which files


def test_expand_files_globs_directories_and_stdin(tmp_path):
    names = ["b.csv", "a.parquet", "sub/c.TSV", "sub/d.csv.gz", "sub/deep/e.feather"]
    ignored = ["README.md", "_SUCCESS", ".a.parquet.crc", ".hidden.csv", "_delta_log/1.parquet"]
    for name in names + ignored:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    everything = sorted(str(tmp_path / name) for name in names)
    assert expand([str(tmp_path)]) == everything
    assert expand([f"{tmp_path}/*.csv"]) == [f"{tmp_path}/b.csv"]
    assert expand([f"{tmp_path}/**/*.csv.gz"]) == [f"{tmp_path}/sub/d.csv.gz"]
    assert expand([f"{tmp_path}/s*"]) == [file for file in everything if "/sub/" in file]
    assert expand(["-", f"{tmp_path}/b.csv"]) == ["-", f"{tmp_path}/b.csv"]
    # No file twice, and a file named first stays first.
    assert expand([f"{tmp_path}/b.csv", str(tmp_path), "-", f"{tmp_path}/sub/../b.csv", "-"]) == [
        f"{tmp_path}/b.csv",
        *[file for file in everything if not file.endswith("b.csv")],
        "-",
    ]


def test_expand_takes_brackets_in_a_real_name_literally(write):
    path = write("run[1].csv", "a\n")
    assert expand([path]) == [path]


def test_expand_says_what_was_not_found(tmp_path):
    assert "name files" in str(error([], expand))
    missing = str(tmp_path / "no.csv")
    assert str(error([missing], expand)) == f"{missing}: there is no such file or directory."
    pattern = str(tmp_path / "*.csv")
    assert str(error([pattern], expand)) == f"{pattern}: no file matches this pattern."
    assert "no file in this directory ends in .csv, .tsv" in str(error([str(tmp_path)], expand))


def test_directory_of_several_formats(write, tmp_path):
    for name in FORMATS:
        write(name, FORMATS[name](TABLE))
    parts = [together(path, numeric=["size"]) for path in expand([str(tmp_path)])]
    assert parts == [TABLE] * len(FORMATS)


@pytest.mark.parametrize("name", ["trap.doc", "trap", "trap.gz", "trap.parquet.gz"])
def test_unknown_extension_lists_the_known(write, name):
    path = write(name, "a\n1\n")
    assert ".csv, .tsv, .txt, .jsonl, .ndjson, .xlsx, .xls, .xlsm, .xlsb, .ods, .parquet, " in str(
        error(path)
    )


@pytest.mark.parametrize("name", ["trap.csv", "trap.parquet", "trap.arrow"])
def test_missing_empty_and_unreadable_files(write, tmp_path, monkeypatch, name):
    path = str(tmp_path / name)
    assert str(error(path)) == f"{path}: there is no such file."
    assert str(error(write(name, ""))) == f"{path}: the file is empty."
    (tmp_path / f"folder_{name}").mkdir()
    assert "this is a directory" in str(error(str(tmp_path / f"folder_{name}")))
    write(name, "a\n")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "not allowed to read" in str(error(path))


@pytest.mark.parametrize("content", [b"\n\r\n\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_files_of_nothing(write, content):
    assert "the file is empty." in str(error(write("trap.csv", content)))


@pytest.mark.parametrize("name", ["trap.parquet", "file.arrow", "stream.arrow"])
def test_damaged_or_misnamed_binary_files(write, name):
    kind = "Parquet" if name.endswith("parquet") else "Arrow"
    whole = FORMATS[name](TABLE)
    for content in (b"a,b\n1,2\n", whole[:6], whole[: len(whole) // 2], whole[:-200] + bytes(200)):
        path = write(name, content)
        assert (
            f"{path}: this is not {kind}, although its extension says so, or it is damaged"
            in str(error(path))
        )


@pytest.mark.parametrize("name", ["trap.parquet", "file.arrow", "stream.arrow"])
def test_flipped_bytes_are_reported_or_harmless(write, name):
    rng = np.random.default_rng(0)
    whole = np.frombuffer(FORMATS[name](TABLE), dtype=np.uint8)
    reported = 0
    for _ in range(300):
        flipped = whole.copy()
        flipped[rng.integers(len(whole), size=3)] = rng.integers(256, size=3)
        try:
            for batch in read_batches(write(name, flipped.tobytes())):
                batch.to_pydict()
        except InputError:
            reported += 1
    assert reported > 50


def test_duplicate_column_names_in_every_kind_of_file(write):
    twice = pa.Table.from_arrays([[1], [2], [3]], names=["a", "b", "a"])
    contents = {
        "t.csv": b"a,b,a\n1,2,3\n",
        "t.parquet": as_parquet(twice),
        "t.ipc": as_ipc(twice, pa.ipc.new_file),
    }
    for name, content in contents.items():
        caught = error(write(name, content), columns=["b"])
        assert caught.column == "a"
        assert "2 columns of this name; rename them." in str(caught)


def test_without_pyarrow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "poscount\[cli\]"'):
        next(read_batches("trap.csv"))


# The text of CSV files


def test_compressed_file_that_breaks_off(write):
    rng = np.random.default_rng(0)
    content = gzip.compress(as_csv(pa.table({"a": rng.random(20_000)})))
    for damaged in (content[:-10], content[: len(content) // 2], content[:-8] + bytes(8)):
        path = write("trap.csv.gz", damaged)
        assert f"{path}: the compressed file is damaged or incomplete" in str(
            error(path, numeric=["a"])
        )


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", ["", "ending"])
def test_byte_order_mark_and_line_ends(write, small_blocks, ending, last):
    content = "\ufeffa,b\n1,x\n\n2,\n3,z"
    path = write("trap.csv", (content + ("\n" if last else "")).replace("\n", ending))
    got = together(path, numeric=["a"])
    assert got.to_pydict() == {"a": [1.0, 2.0, 3.0], "b": ["x", None, "z"]}


def test_empty_lines_before_the_header(write):
    path = write("trap.csv", "\n\na,b\n1,2\n3\n")
    assert "line 5 has 1 cell(s) but the first has 2;" in str(error(path))


@pytest.mark.parametrize(
    ("content", "delimiter"),
    [
        ("a,b\n1,2\n", None),
        ("a;b\n1;2\n", None),
        ("a\tb\n1\t2\n", None),
        ('"a"|"b"\n1|2\n', "|"),
        ('a;b\n"1";2\n', ";"),
    ],
)
def test_delimiters(write, content, delimiter):
    path = write("trap.csv", content)
    assert together(path, read_options=ReadOptions(delimiter), numeric=["a", "b"]).to_pydict() == {
        "a": [1.0],
        "b": [2.0],
    }


def test_delimiter_is_looked_for_outside_of_quotes(write):
    path = write("trap.csv", '"size, mm";"a;b"\n1;2\n')
    assert together(path).column_names == ["size, mm", "a;b"]


def test_ambiguous_delimiter(write):
    content = "size, mm;weight\n1;2\n"
    path = write("trap.csv", content)
    assert "the first line has commas and semicolons" in str(error(path))
    assert error(path).option == "delimiter"
    assert together(path, read_options=ReadOptions(";")).column_names == ["size, mm", "weight"]
    # The extension is as good as the option.
    assert together(write("trap.tsv", content.replace(";", "\t"))).column_names == [
        "size, mm",
        "weight",
    ]


def test_options_that_make_no_sense(write):
    path = write("trap.csv", "a\n1\n")
    for delimiter in ("\\t", "", '"', "\n", "é", "\0"):
        assert "the delimiter must be one ASCII character" in str(
            error(path, read_options=ReadOptions(delimiter))
        )
    assert "a point or a comma, not ';'" in str(error(path, read_options=ReadOptions(decimal=";")))
    for encoding in ("klingon", "utf-8\0", "\ud800", "base64"):
        assert f"the encoding {encoding!r} is not known" in str(
            error(path, read_options=ReadOptions(encoding=encoding))
        )


def test_decimal_comma(write):
    path = write("trap.csv", "a;b\n3,14;x\n-1,5e3;y\n 7 ;z\n;w\n")
    assert together(path, read_options=ReadOptions(decimal=","), numeric=["a"])[
        "a"
    ].to_pylist() == [
        3.14,
        -1500,
        7,
        None,
    ]
    assert read_table(path, read_options=ReadOptions(decimal=","))["a"].to_pylist() == [
        3.14,
        -1500,
        7,
        None,
    ]
    caught = error(path, numeric=["a"])
    assert (caught.column, caught.row) == ("a", 0)
    assert (caught.option, caught.value) == ("decimal", ",")
    assert "'3,14' is not a number unless the comma is the decimal mark." in str(caught)


def test_points_are_not_taken_for_decimal_commas(write):
    caught = error(
        write("trap.csv", "a;b\n1,5;2\n1.234;3\n"),
        read_options=ReadOptions(decimal=","),
        numeric=["a"],
    )
    assert (caught.column, caught.row) == ("a", 1)
    assert "'1.234' is not a number: it has thousands marks." in str(caught)
    assert (caught.option, caught.value) == ("thousands", ".")
    caught = error(
        write("trap.csv", "a;b\n1;2\n1.25;3\n"),
        read_options=ReadOptions(decimal=","),
        numeric=["a"],
    )
    assert (caught.option, caught.value) == ("decimal", ".")
    assert "'1.25' is not a number unless the point is the decimal mark." in str(caught)


def test_decimal_commas_do_not_hide_the_delimiter(write):
    path = write("trap.csv", "1,5;2,5\n")
    got = together(path, read_options=ReadOptions(decimal=",", header=False), numeric=["1", "2"])
    assert got.to_pydict() == {"1": [1.5], "2": [2.5]}


def test_header_of_numbers_suggests_that_there_is_none(write):
    path = write("trap.csv", "1.5,-2e3\n3,4\n")
    for read in (together, read_table):
        assert f"{path}: the first line holds only numbers" in str(error(path, read))
    caught = error(path, columns=["size"])
    assert (caught.option, caught.value) == ("header", False)
    got = together(path, read_options=ReadOptions(header=False), numeric=["1", "2"])
    assert got.to_pydict() == {"1": [1.5, 3.0], "2": [-2000.0, 4.0]}
    assert together(path, read_options=ReadOptions(header=False), columns=["2"]).column_names == [
        "2"
    ]


def test_names_that_are_numbers_can_be_asked_for(write):
    path = write("spectra.csv", "400,410\n0.1,0.2\n")
    assert together(path, columns=["410"], numeric=["410"])["410"].to_pylist() == [0.2]


def test_ragged_lines_are_found(write, small_blocks):
    path = write("trap.csv", 'a,b\n1,"x\ny"\n\n' + "2,3\n" * 10 + "4,5,6\n7,8\n")
    assert f"{path}: line 15 has 3 cell(s) but the first has 2;" in str(error(path))
    path = write("trap.csv", "a,b\n" + "2,3\n" * 10 + "4")
    assert "line 12 has 1 cell(s) but the first has 2;" in str(error(path))


@pytest.mark.parametrize("text", ['"x\n\n""y"""', '"\n"', '""', 'x"y"'])
def test_quotes_across_blocks(write, monkeypatch, text):
    content = f"a,b\n1,{text}\n" * 1 + f"2,{text}\n3,{text}\n4,z\n" * 5
    path = write("trap.csv", content)
    expected = together(path, numeric=["a"])
    assert expected.num_rows == 16
    for size in range(1, 40):
        monkeypatch.setattr(streams, "BLOCK_BYTES", size)
        assert together(path, numeric=["a"]) == expected


def test_header_that_spans_lines(write, small_blocks):
    path = write("trap.csv", 'a,"wing beat\n(Hz)"\n1,2\n3\n')
    assert together(write("good.csv", 'a,"wing\nbeat"\n1,2\n')).column_names == ["a", "wing\nbeat"]
    assert "line 4 has 1 cell(s)" in str(error(path))


def test_quotation_mark_left_open_loses_no_rows_silently(write, monkeypatch):
    path = write("trap.csv", 'a,b\n1,x\n2,"y\n' + "3,z\n" * 100)
    assert f"{path}: line 3 opens a quotation mark that is never closed" in str(error(path))
    monkeypatch.setattr(streams, "BLOCK_BYTES", 16)
    monkeypatch.setattr(csv_module, "LONGEST_RECORD", 64)
    assert "line 3 is too long or opens a quotation mark" in str(error(path))


ENCODINGS = [
    "cp1252",
    "latin-1",
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
]


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["trap.csv", "trap.csv.gz", "trap.jsonl", "trap.jsonl.gz"])
def test_encodings(write, small_blocks, encoding, name):
    text = "größe,b\n1,x\n2,é\n"
    if "json" in name:
        text = '{"größe": 1, "b": "x"}\n{"größe": 2, "b": "é"}'
    content = text.encode(encoding)
    path = write(name, gzip.compress(content) if name.endswith(".gz") else content)
    got = together(path, numeric=["größe"], read_options=ReadOptions(encoding=encoding))
    assert got.to_pydict() == {"größe": [1.0, 2.0], "b": ["x", "é"]}
    if encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        # The byte-order mark tells it, whatever the option says.
        assert together(path, numeric=["größe"]) == got
        if encoding != "utf-8":
            assert (
                together(path, numeric=["größe"], read_options=ReadOptions(encoding="cp1252"))
                == got
            )


@pytest.mark.parametrize("name", ["trap.csv", "trap.jsonl"])
def test_text_that_is_not_utf8(write, name):
    text = "a,b\n1,x\n2,é\n" if name == "trap.csv" else '{"a": 1}\n\n{"b": "é"}'
    path = write(name, text.encode("latin-1"))
    caught = error(path)
    assert str(caught).startswith(f"{path}: line 3 is not UTF-8 text;")
    assert "cp1252" in caught.message
    assert "utf-16" in caught.message
    assert (caught.option, caught.value) == ("encoding", "cp1252")
    together(path, read_options=ReadOptions(encoding=caught.value))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_recognised(write, encoding):
    caught = error(write("trap.csv", "a,b\n1,x\n".encode(encoding)))
    assert (caught.option, caught.value) == ("encoding", encoding)


def test_a_wrong_encoding_names_the_line(write, small_blocks):
    # 0x81 is no character of cp1252.
    path = write("trap.csv", b"a,b\n" + b"1,x\n" * 20 + b"2,\x81\n")
    caught = error(path, read_options=ReadOptions(encoding="cp1252"))
    assert str(caught).startswith(f"{path}: line 22 is not text in cp1252;")
    for encoding in ("klingon", "base64"):
        caught = error(path, read_options=ReadOptions(encoding=encoding))
        assert "is not known" in caught.message


# Numbers in CSV files


def test_text_in_a_numeric_column(write, small_blocks):
    content = "night,size\n" + "".join(f"n,{row}.5\n" for row in range(50)) + "n,\nn,big\nn,bad\n"
    path = write("trap.csv", content)
    caught = error(path, columns=["size"], numeric=["size"])
    assert str(caught).startswith(f"{path}: column 'size', row 52: 'big' is not a number; correct")
    assert (caught.column, caught.row) == ("size", 51)


@pytest.mark.parametrize("row", [0, 1, 7, 98, 99])
def test_row_of_the_first_wrong_number(write, row):
    cells = ["1"] * row + ["x"] + ["2", "y"] * 60
    assert error(write("trap.csv", "\n".join(["a", *cells])), numeric=["a"]).row == row


def test_types_do_not_depend_on_the_first_block(write, small_blocks):
    path = write("trap.csv", "a,b\n" + "1,7\n" * 30 + "2.5,x\n,\n")
    batches = list(read_batches(path, numeric=["a"]))
    assert len(batches) > 3
    assert {batch.schema.field("a").type for batch in batches} == {pa.float64()}
    assert {batch.schema.field("b").type for batch in batches} == {pa.string()}
    table = pa.Table.from_batches(batches)
    assert table["a"].to_pylist() == [1.0] * 30 + [2.5, None]
    assert table["b"].to_pylist() == ["7"] * 30 + ["x", None]


def test_ways_to_write_a_number(write):
    cells = ["1", " 2.5 ", "+3", "-4.", ".5", "6e3", "7E-1", "inf", "NA", "#N/A", "null", "''"]
    path = write("trap.csv", "a,b\n" + "".join(f"{cell},\n" for cell in cells).replace("''", ""))
    expected = [1, 2.5, 3, -4, 0.5, 6000, 0.7, np.inf, None, None, None, None]
    assert together(path, numeric=["a"])["a"].to_pylist() == expected
    assert np.isnan(together(write("t.csv", "a\nNaN\n"), numeric=["a"])["a"][0].as_py())
    for cell in ("1_000", "0x1F", "1 000", "12%", "1.2.3"):
        assert f"{cell!r} is not a number" in str(
            error(write("t.csv", f"a\n{cell}\n"), numeric="a")
        )


def test_table_types_are_inferred_over_the_whole_file(write, small_blocks):
    lines = ["i,f,late,text,missing,hexadecimal"]
    lines += ["1,1.5,1,1,,0x1"] * 20 + ["NA,2,2.5,x,,0x2", "3,,,NA,NA,0x3"]
    table = read_table(write("positives.csv", "\n".join(lines)))
    assert [str(field.type) for field in table.schema] == [
        "int64",
        "double",
        "double",
        "string",
        "double",
        "string",
    ]
    assert table["i"].to_pylist()[-2:] == [None, 3]
    assert table["text"].to_pylist()[-2:] == ["x", None]


def test_table_with_columns_and_types_of_its_own(write):
    small = pa.table({"a": pa.array([1, 2], pa.int8()), "b": pa.array([0.5, 1], pa.float32())})
    for name in ("t.parquet", "file.arrow", "stream.arrow"):
        path = write(name, FORMATS.get(name, as_parquet)(small))
        assert read_table(path, columns=["b", "a"]) == small.select(["b", "a"])


# Size


def test_a_million_rows_in_bounded_memory(tmp_path):
    pytest.importorskip("resource")
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.standard_normal(1_000_000) for name in "abcd"})
    path = tmp_path / "trap.csv"
    pyarrow.csv.write_csv(table, path)
    # A process of its own, because the peak of this one depends on the tests before.
    script = f"""
        import resource, sys
        import pyarrow.compute
        from poscount.files.reading import read_batches

        peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        batches = read_batches({str(path)!r}, numeric=["a", "b", "c", "d"])
        total, rows = 0.0, 0
        for batch in batches:
            before = peak() if not rows else before
            rows += batch.num_rows
            total += pyarrow.compute.sum(batch["a"]).as_py()
        print(rows, total, (peak() - before) * (1 if sys.platform == "darwin" else 1024))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True
    )
    rows, total, grown = run.stdout.split()
    assert int(rows) == 1_000_000
    assert float(total) == pytest.approx(np.sum(table["a"].to_numpy()))
    assert os.path.getsize(path) > 70e6
    assert float(grown) < 40e6
