"""Files in parts: one thread reads while others parse and count, and nothing shows of it."""

import threading
import time
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from poscount import PAT, InputError
from poscount.base.batch_counter import BatchCounter
from poscount.engines import count
from poscount.engines.batches import BatchSource, count_sources
from poscount.files import csv as csv_module
from poscount.files import streams
from poscount.files.read_options import ReadOptions
from poscount.files.reading import read_batches, read_parts

ANY_FIXTURE = [HealthCheck.function_scoped_fixture]


# The two ways through a CSV file


@pytest.fixture
def carefully(monkeypatch):
    """Read as before there was another way: all cells are text first."""
    parsed = csv_module._parsed

    def read(path, **options):
        with monkeypatch.context() as patch:
            patch.setattr(csv_module, "_parsed", lambda block, table, _: parsed(block, table, ()))
            return outcome(path, **options)

    return read


def outcome(path, **options):
    """The table, or the error with all that it says."""
    try:
        table = pa.Table.from_batches(read_batches(path, **options))
    except InputError as error:
        return str(error), error.row, error.column, error.option, error.value
    # As text, because NaN is not equal to itself.
    return repr(table.schema), repr(table.to_pydict())


number = st.one_of(
    st.floats(allow_subnormal=True).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["007", "+1.5", "1.", ".5", "-0", "1E3", "1e-400", "1e999", "inf", "NaN"]),
)
_MISSING = ["", "NA", "n/a", "null", "None", "NULL", " NA", '"NA"', '""', "-", "-nan"]
_NUMBERS = [" 7", "7 ", "\t7", "\u00a07", '"7"', '" 7"', '"7\n8"', "1,5", '"1,5"', "Infinity"]
_WORDS = [
    "7g",
    "1.234.567",
    "1_0",
    "0x1",
    "1 2",
    "1e",
    "e5",
    "--1",
    "+-1",
    "1;5",
    "a,b",
    "yes",
    "é",
]
odd = st.sampled_from([*_MISSING, *_NUMBERS, *_WORDS])
# Mostly numbers, because most files are.
cell = st.integers(0, 9).flatmap(lambda kind: odd if kind == 0 else number)


@settings(max_examples=150, deadline=None, suppress_health_check=ANY_FIXTURE)
@given(
    rows=st.lists(st.lists(cell, min_size=3, max_size=3), max_size=12),
    decimal=st.sampled_from(".,"),
    na=st.sampled_from([(), ("-",), ("7",)]),
    ending=st.sampled_from(["\n", "\r\n"]),
    block=st.sampled_from([40, 200, 1 << 22]),
)
def test_both_ways_read_the_same_or_say_the_same(
    tmp_path, carefully, monkeypatch, rows, decimal, na, ending, block
):
    lines = ["a;b;c", *(";".join(row) for row in rows)]
    path = tmp_path / "trap.csv"
    path.write_bytes((ending.join(lines) + ending).encode())
    monkeypatch.setattr(streams, "BLOCK_BYTES", block)
    options = {
        "numeric": ["a", "c"],
        "read_options": ReadOptions(delimiter=";", decimal=decimal, na=na),
    }
    assert outcome(path, **options) == carefully(path, **options)


def test_numbers_need_no_detour_by_text(tmp_path, monkeypatch):
    path = tmp_path / "trap.csv"
    path.write_text("a,b\n1.5,x\n NA,y\nNA,NA\n2,z\n")
    kinds = []
    parsed = csv_module._parsed
    monkeypatch.setattr(
        *(csv_module, "_parsed"),
        lambda block, table, numeric: kinds.append(list(numeric)) or parsed(block, table, numeric),
    )
    monkeypatch.setattr(streams, "BLOCK_BYTES", 8)
    table = pa.Table.from_batches(read_batches(path, numeric=["a"]))
    assert table.to_pydict() == {"a": [1.5, None, None, 2.0], "b": ["x", "y", None, "z"]}
    # The first block goes the quick way; " NA" ends it for all blocks after.
    assert kinds[0] == ["a"]
    assert kinds[-1] == []


# Many threads


@pytest.fixture
def counter(positives):
    return BatchCounter(PAT(random_state=0).fit(positives))


def slow(batch, seconds):
    time.sleep(seconds)
    if isinstance(batch, BaseException):
        raise batch
    return [batch]


def sources(layout, rows, read):
    """Sources of parts that are batches of rows, or errors, each after a while."""

    def parts(name, part_list):
        for kind, n_rows, wait in part_list:
            read.append(name)
            if kind == "unreadable":
                raise InputError("it cannot be read.", file=name, row=None)
            bad = InputError("bad.", row=n_rows - 1)
            yield partial(slow, rows[:n_rows] if kind == "good" else bad, wait / 1000)

    for i, part_list in enumerate(layout):
        yield BatchSource(f"source {i}", partial(parts, f"source {i}", part_list))


part = st.tuples(
    st.sampled_from(["good"] * 6 + ["bad", "unreadable"]), st.integers(1, 9), st.integers(0, 3)
)
layouts = st.lists(st.lists(part, max_size=6), min_size=1, max_size=4)


def first_error(part_list):
    """What a plain loop would find: the error and the row, or None."""
    row = 0
    for kind, n_rows, _ in part_list:
        if kind == "bad":
            return f"row {row + n_rows}: bad."
        if kind == "unreadable":
            return "it cannot be read."
        row += n_rows
    return None


@settings(max_examples=60, deadline=None, suppress_health_check=ANY_FIXTURE)
@given(layout=layouts, n_jobs=st.sampled_from([1, 2, 4]))
def test_threads_find_what_a_plain_loop_finds(counter, sample, layout, n_jobs):
    errors = [first_error(part_list) for part_list in layout]
    n_good = sum(n for parts in layout for kind, n, _ in parts if kind == "good")
    threads = threading.active_count()
    if any(errors):
        i, message = next((i, error) for i, error in enumerate(errors) if error)
        with pytest.raises(InputError) as caught:
            count_sources(counter, sources(layout, sample, []), n_jobs=n_jobs)
        assert str(caught.value) == f"source {i}: {message}"
    elif n_good:
        counts = count_sources(counter, sources(layout, sample, []), n_jobs=n_jobs)
        parts = [sample[:n] for parts in layout for _, n, _ in parts]
        assert counts == counter.count(np.vstack(parts))
    assert threading.active_count() == threads


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_an_error_stops_the_reading(counter, sample, n_jobs):
    read = []
    layout = [[("bad", 1, 0), *[("good", 1, 1)] * 1000]]
    with pytest.raises(InputError):
        count_sources(counter, sources(layout, sample, read), n_jobs=n_jobs)
    # What other threads have taken in the meantime is all that is read.
    assert len(read) < 100


@pytest.mark.parametrize("where", ["reading", "parsing", "counting"])
@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_an_interrupt_leaves_no_thread_and_no_open_file(
    counter, sample, monkeypatch, where, n_jobs
):
    closed = []

    def parts():
        try:
            for i in range(1000):
                if where == "reading" and i == 5:
                    raise KeyboardInterrupt
                interrupted = where == "parsing" and i == 5
                yield partial(slow, KeyboardInterrupt() if interrupted else sample[:5], 0.001)
        finally:
            closed.append(True)

    if where == "counting":
        monkeypatch.setattr(counter, "count", lambda batch: slow(KeyboardInterrupt(), 0))
    threads = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        count_sources(counter, [BatchSource("trap", parts)], n_jobs=n_jobs)
    assert threading.active_count() == threads
    assert closed == [True]


def test_no_more_parts_are_read_ahead_than_there_are_threads(counter, sample):
    lock, ahead, most = threading.Lock(), 0, 0

    def counted(batch):
        nonlocal ahead
        time.sleep(0.002)
        with lock:
            ahead -= 1
        return [batch]

    def parts():
        nonlocal ahead, most
        for _ in range(60):
            with lock:
                ahead += 1
                most = max(most, ahead)
            yield partial(counted, sample[:5])

    count_sources(counter, [BatchSource("trap", parts)], n_jobs=2)
    assert most <= 3


def test_a_csv_file_is_parsed_by_several_threads(trap, positives, tmp_path, monkeypatch):
    model = PAT(random_state=0).fit(trap.slice(0, 500), features=["a", "b", "c"])
    path = tmp_path / "trap.csv"
    pyarrow.csv.write_csv(trap, path)
    monkeypatch.setattr(streams, "BLOCK_BYTES", 4096)
    batch = csv_module._batch
    seen = set()

    def watched(block, table):
        seen.add(threading.get_ident())
        time.sleep(0.001)
        return batch(block, table)

    monkeypatch.setattr(csv_module, "_batch", watched)
    assert count(model, path, n_jobs=2) == model.count(trap)
    assert len(seen) > 1


def test_rows_of_errors_count_from_the_part(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK_BYTES", 4)
    path = tmp_path / "trap.csv"
    path.write_text("a\n1\n2\n3\nx\n")
    *good, last = read_parts(path, numeric=["a"])
    assert sum(batch.num_rows for part in good for batch in part()) == 3
    with pytest.raises(InputError) as caught:
        last()
    assert caught.value.row == 0
    with pytest.raises(InputError, match="row 4: 'x' is not a number"):
        list(read_batches(path, numeric=["a"]))


def test_what_is_guessed_of_files_is_said_in_a_warning(named_pat, trap, tmp_path):
    path = tmp_path / "german.csv"
    rows = [
        ";".join(f"{row[name]:.3f}".replace(".", ",") for name in "abc")
        for row in trap.to_pylist()[:50]
    ]
    path.write_text("\n".join(["a;b;c", *rows]))
    with pytest.warns(
        UserWarning,
        match=r"german.csv: read with decimal commas. To change that, "
        "use decimal=.",
    ):
        guessed = count(named_pat, path)
    assert guessed == count(named_pat, path, decimal=",")
    path.write_text("\n".join(["A ;b;c", *rows]))
    renamed = count(named_pat, path, decimal=",", rename={"A ": "a"})
    assert renamed == guessed
