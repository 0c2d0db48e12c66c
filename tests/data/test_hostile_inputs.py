"""Inputs that once ended in a wrong answer, a crash or an endless message."""

import os
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from poscount import PAT, RCQ, Mahalanobis, TIcE, registry
from poscount.cli import main
from poscount.engines import count
from poscount.errors import InputError
from poscount.files import csv, json_lines
from poscount.files.reading import read_table

rng = np.random.default_rng(7)
POSITIVES = pd.DataFrame(rng.normal(size=(150, 3)), columns=["a", "b", "c"])
SAMPLE = pd.concat(
    [POSITIVES + rng.normal(size=(150, 3)), POSITIVES.iloc[:50] + 3], ignore_index=True
)


@pytest.fixture(scope="module")
def model():
    return PAT(random_state=0).fit(POSITIVES)


@pytest.fixture
def refused(monkeypatch, capsys):
    """Run a command that must fail, and give back its one sentence."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["poscount", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        said = capsys.readouterr().err
        assert caught.value.code == 2, said
        assert len(said.splitlines()) == 1
        return said

    return run


# Groups


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
@pytest.mark.parametrize("first", [0.0, -0.0])
def test_zero_has_no_sign_as_a_group(model, frame, dtype, first):
    if frame is pd.DataFrame:
        frame = pd.DataFrame.copy
    signed = np.array([first, -first, 0.5, 0.1] * 50, dtype)
    grouped = model.quantify_groups(frame(SAMPLE.assign(g=signed)), ["g"])
    assert [str(key) for (key,) in grouped] == [str(dtype(0.0)), str(dtype(0.1)), "0.5"] or [
        float(key) for (key,) in grouped
    ] == [0.0, float(dtype(0.1)), 0.5]
    assert not any(np.signbit(key) for (key,) in grouped)
    plain = model.quantify_groups(frame(SAMPLE.assign(g=np.abs(signed))), ["g"])
    assert [p.to_dict() for p in grouped.values()] == [p.to_dict() for p in plain.values()]


def test_zero_has_no_sign_in_files(model, tmp_path):
    table = pa.Table.from_pandas(SAMPLE.assign(g=[-0.0, 0.0] * 100))
    # The batches have one sign each.
    pq.write_table(table.sort_by("a"), tmp_path / "u.parquet")
    counts = count(model, tmp_path / "u.parquet", by="g")
    assert counts.keys == [(0.0,)]
    assert not np.signbit(counts.keys[0][0])
    assert counts.n.tolist() == [200]


def test_zero_has_no_sign_as_a_category():
    codes = pa.array([0, 1, 2] * 20)
    signed = pa.DictionaryArray.from_arrays(codes, pa.array([0.0, -0.0, 1.0]))
    table = pa.table({"x": signed, "y": rng.normal(size=60)})
    fitted = RCQ(random_state=0).fit(table)
    assert fitted.columns_["x"].categories == ("0.0", "1.0")
    mixed = np.array([[value] for value in [-0.0, "w"] * 30], dtype=object)
    assert RCQ(random_state=0).fit(mixed).columns_["x0"].categories == ("0.0", "w")


NESTED = {
    "list": pa.array([[1, 2], [3]] * 100),
    "struct": pa.array([{"x": 1}, {"x": 2}] * 100),
    "map": pa.array([[("k", 1)]] * 200, pa.map_(pa.string(), pa.int64())),
    "fixed": pa.array([[1, 2]] * 200, pa.list_(pa.int64(), 2)),
}


@pytest.mark.parametrize("kind", NESTED)
def test_nested_columns_cannot_be_grouped_by(model, kind, tmp_path, refused):
    table = pa.Table.from_pandas(SAMPLE).append_column("g", NESTED[kind])
    frames = [table, table.to_pandas()]
    if kind != "map":  # polars has none
        frames.append(pl.from_arrow(table))
    for frame in frames:
        with pytest.raises(InputError, match="column 'g': rows cannot be grouped by what it holds"):
            model.quantify_groups(frame, ["g"])
    path = tmp_path / "u.parquet"
    pq.write_table(table, path)
    model.save(tmp_path / "m")
    said = refused("quantify", tmp_path / "m", path, "--by", "g")
    assert "u.parquet: column 'g': rows cannot be grouped by" in said


def test_values_of_several_types_cannot_be_grouped_by(model):
    with pytest.raises(InputError, match="values of several types"):
        model.quantify_groups(SAMPLE.assign(g=[1, "x"] * 100), ["g"])


# Masked arrays


@pytest.mark.parametrize("method", registry.METHODS)
def test_masked_entries_are_missing(method):
    kind = registry.method(method)
    options = {"random_state": 0} if "random_state" in kind().get_params() else {}
    table, sample = POSITIVES.to_numpy()[:80], SAMPLE.to_numpy()[:100]
    hidden = rng.random(sample.shape) < 0.2
    # What is behind the mask is of no importance.
    behind = np.where(hidden, 1e9, sample)
    masked = kind(**options).fit(np.ma.masked_array(table, np.zeros(table.shape)))
    plain = kind(**options).fit(table)
    answer = masked.quantify(np.ma.masked_array(behind, hidden))
    assert answer.to_dict() == plain.quantify(np.where(hidden, np.nan, sample)).to_dict()


def test_masked_numbers_without_a_missing_value_of_their_own():
    whole = (10 * POSITIVES.to_numpy()).astype(int)
    hidden = rng.random(whole.shape) < 0.2
    fitted = RCQ(random_state=0).fit(np.ma.masked_array(whole, hidden))
    gaps = [column.missing for column in fitted.columns_]
    assert gaps == pytest.approx(hidden.mean(axis=0).tolist())
    words = np.ma.masked_array(np.array([["x"], ["y"], ["z"]] * 20), [[0], [0], [1]] * 20)
    (column,) = RCQ(random_state=0).fit(words.astype(object)).columns_
    assert (column.categories, column.missing) == (("x", "y"), pytest.approx(1 / 3))


# Sizes of numbers


@pytest.mark.parametrize("power", [-1060, 1000])
@pytest.mark.parametrize("method", registry.METHODS)
def test_any_size_is_answered_right_or_refused(method, power):
    kind = registry.method(method)
    options = {"random_state": 0} if "random_state" in kind().get_params() else {}
    # Of few digits, so that even the smallest numbers of float64 hold them.
    tables = [np.round(64 * table.to_numpy()[::3]) / 64 for table in (POSITIVES, SAMPLE)]
    right = kind(**options).fit(tables[0]).quantify(tables[1])
    positives, sample = (np.ldexp(table, power) for table in tables)
    fresh = kind(**options)
    if power < -1000 and method in ("odin", "pat", "rcq", "subclassrcq", "trcq", "minimum"):
        with pytest.raises(InputError, match="its values differ by so little"):
            fresh.fit(positives)
    else:
        answer = fresh.fit(positives).quantify(sample)
        assert answer == pytest.approx(float(right), abs=1e-6)


def test_the_column_that_is_too_small_is_named():
    with pytest.raises(InputError, match=r"column 'b': its values differ by so little .* multiply"):
        Mahalanobis().fit(POSITIVES.assign(b=POSITIVES["b"] * 1e-311))


def test_regions_are_told_in_the_units_of_the_data():
    p = TIcE(random_state=0).fit(POSITIVES * 2.0**-700).quantify(SAMPLE * 2.0**-700)
    bounds = [end for ends in p.details["region"].intervals.values() for end in ends]
    assert all(abs(end) < 1e-200 for end in bounds if np.isfinite(end))


# Files


def test_an_arrow_file_that_is_truncated_while_it_is_read(tmp_path):
    """With a memory map, the process ended with SIGBUS."""
    path = tmp_path / "u.arrow"
    table = pa.table({"x": np.arange(300_000.0)})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=10_000)
    code = (
        "import os, sys\nfrom poscount.errors import InputError\n"
        "from poscount.files.reading import read_batches\n"
        "batches = read_batches(sys.argv[1])\nnext(batches)\n"
        "os.truncate(sys.argv[1], 4096)\n"
        "try:\n  list(batches)\nexcept InputError as error:\n  print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "it is damaged; write or copy it again" in done.stdout


def test_page_checksums_of_parquet_are_verified(tmp_path):
    path = tmp_path / "u.parquet"
    values = np.arange(20_000.0)
    pq.write_table(
        pa.table({"x": values}),
        path,
        compression="none",
        use_dictionary=False,
        write_page_checksum=True,
    )
    content = bytearray(path.read_bytes())
    # A value in the middle of a page: without the checksum, it would just be another one.
    place = content.index(values[777].tobytes())
    content[place + 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="it is damaged"):
        read_table(path)


def test_cells_of_any_length_give_short_errors(tmp_path, refused):
    (tmp_path / "nul.csv").write_bytes(b"a,b\n" + b"x" * 5000 + b"\0" * 4_000_000 + b",1\n")
    (tmp_path / "long.csv").write_bytes(b"a,b\n1,2\n" + b"9" * 3_000_000 + b"z,1\n")
    (tmp_path / "header.csv").write_bytes(b",".join([b"h" * 1_000_000] * 2) + b"\n1,2\n")
    (tmp_path / "wide.csv").write_text(",".join(f"c{j}" for j in range(5000)) + "\n1\n")
    pq.write_table(pa.table({"s" * 10_000: ["x" * 1_000_000] * 20}), tmp_path / "u.parquet")
    for name in ("nul.csv", "long.csv", "header.csv", "wide.csv", "u.parquet"):
        said = refused("fit", tmp_path / name, "-o", tmp_path / "m", "--features", "none")
        assert len(said) < 1500, name
        assert name in said


def feed(path, content):
    """Write into a pipe, as another program would, until nobody reads any more."""

    def write():
        try:
            with open(path, "wb") as pipe:
                while chunk := next(content, b""):
                    pipe.write(chunk)
        except BrokenPipeError:
            pass

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("name", ["u.csv", "u.csv.gz", "pipe"])
def test_csv_through_a_named_pipe(model, name, tmp_path):
    content = SAMPLE.to_csv(index=False, compression=None).encode()
    if name.endswith("gz"):
        import gzip

        content = gzip.compress(content)
    os.mkfifo(tmp_path / name)
    thread = feed(tmp_path / name, iter([content]))
    counts = count(model, str(tmp_path / name))
    thread.join()
    assert counts == model.count(SAMPLE)


@pytest.mark.parametrize("name", ["u.parquet", "u.arrow", "u.xlsx", "u.jsonl"])
def test_other_formats_are_not_read_from_a_pipe(model, name, tmp_path):
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="cannot be read from a pipe; write it to a file first"):
        count(model, str(tmp_path / name))


@pytest.mark.parametrize("name", ["u.csv", "u.parquet", "u.jsonl", "u.xlsx", "u.zip", "u"])
def test_devices_are_no_data(model, name, tmp_path, refused):
    (tmp_path / name).symlink_to("/dev/zero")
    model.save(tmp_path / "m")
    said = refused("quantify", tmp_path / "m", tmp_path / name)
    assert f"{name}: this is a device or a socket, not a file" in said
    assert "this is a device" in refused("fit", "/dev/zero", "-o", tmp_path / "x")


@pytest.mark.parametrize("content", [b"\0", b"x", b"1,", b'"', b'{"a":', b"\x1f\x8b"])
@pytest.mark.parametrize("name", ["u.csv", "u.jsonl"])
def test_endless_lines_are_given_up(model, content, name, tmp_path, monkeypatch):
    for module in (csv, json_lines):
        monkeypatch.setattr(module, "LONGEST_RECORD", 2**20)
    (tmp_path / name).write_bytes(content * (2**23 // len(content)))
    with pytest.raises(InputError, match=name):
        count(model, str(tmp_path / name))
