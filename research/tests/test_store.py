"""The results file: each result once, never half, never mixed; a full disk is a sentence."""

import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from research.datasets import DataSet
from research.experiments.protocols import Place
from research.experiments.store import Evaluation, Store

PLACE = Place("1", "made", "", 0, 0)


def rows(method="pat", estimate=0.5, n=11):
    return [
        Evaluation("1", "made", method, "", 0, 0, point, truth=point / 10, estimate=estimate)
        for point in range(n)
    ]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.sqlite"


@pytest.fixture
def store(path):
    with Store(path, seed=0) as made:
        made.begin("a command")
        yield made


def made(features):
    labels = np.array(["a"] * (len(features) - 1) + ["b"])
    return DataSet("made", "made", features, labels, "a", ("x",), str(features.sum()))


def test_a_place_is_done_when_all_its_samples_are(store):
    store.add(rows(n=10))
    assert store.done() == set()
    store.add(rows())
    assert store.done() == {(PLACE, "pat")}
    assert store.count() == 11


def test_the_first_result_stays(store, path):
    store.add(rows(estimate=0.25))
    store.add(rows(estimate=0.75))
    with sqlite3.connect(path) as connection:
        assert set(connection.execute("SELECT estimate FROM evaluations")) == {(0.25,)}


def test_all_rows_of_a_call_or_none(store):
    broken = [*rows()[:5], rows()[5]._replace(method=None)]
    with pytest.raises(OSError, match="NOT NULL"):
        store.add(broken)
    assert store.count() == 0
    store.add(rows())
    assert store.count() == 11


def test_failures_are_forgotten_on_request(store):
    store.add([row._replace(error="ValueError: no", estimate=None) for row in rows("pe")])
    store.add(rows())
    assert store.forget_failures() == 11
    assert store.done() == {(PLACE, "pat")}


def test_one_file_has_one_seed(store, path):
    with pytest.raises(ValueError, match="these results have the seed 0, not 1; write"):
        Store(path, seed=1)


def test_a_data_set_cannot_change(store):
    store.note(made(np.ones((5, 1))))
    store.note(made(np.ones((5, 1))))
    with pytest.raises(ValueError, match="'made' has changed since"):
        store.note(made(np.full((5, 1), 2.0)))


def test_other_files_are_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database at all, but long enough to be looked at as one" * 20)
    with pytest.raises(OSError, match="not a database"):
        Store(text, seed=0)
    assert "not a database at all" in text.read_text()
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE birds (name TEXT)")
    with pytest.raises(ValueError, match="holds no results of experiments"):
        Store(other, seed=0)
    newer = tmp_path / "newer.sqlite"
    Store(newer, seed=0).close()
    with sqlite3.connect(newer) as connection:
        connection.execute("UPDATE about SET value = 'poscount experiments 9' WHERE key = 'format'")
    with pytest.raises(ValueError, match="has the format 'poscount experiments 9'"):
        Store(newer, seed=0)


def test_a_missing_directory_is_a_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no such directory: .*nowhere"):
        Store(tmp_path / "nowhere" / "results.sqlite", seed=0)


def test_a_read_only_file_is_a_sentence_and_stays_as_it_is(store, path):
    store.add(rows())
    store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(OSError, match="what was stored before is kept"):
        store.add(rows("tice"))
    store._connection.execute("PRAGMA query_only = OFF")
    store.add(rows("tice"))
    assert store.count() == 22


# Files may not grow beyond a limit in this process: to SQLite that is a disk that is full.
FULL_DISK = """
import resource, signal
from research.experiments.store import Store
from research.tests.test_store import rows
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Store({path!r}, seed=0) as store:
    store.begin("a command")
    resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
    stored = 0
    try:
        for i in range(1_000):
            store.add(rows(f"pat:q=0.{{i:05d}}"))
            stored += 11
    except OSError as error:
        print(stored, error)
"""


def test_a_full_disk_leaves_the_file_usable(path):
    pytest.importorskip("resource")
    Store(path, seed=0).close()
    code = FULL_DISK.format(path=str(path), limit=100_000)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    stored, _, sentence = done.stdout.partition(" ")
    assert "the results cannot be read or written there" in sentence
    assert "run again to resume" in sentence
    with Store(path, seed=0) as store:
        assert 0 < store.count() == int(stored)
        store.begin("once more, with room")
        store.add(rows("extice"))
        assert store.count() == int(stored) + 11
        assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_two_runners_share_a_file(store, path):
    with Store(path, seed=0) as second:
        second.begin("another")
        store.add(rows("pat"))
        second.add(rows("pat", estimate=0.9))
        second.add(rows("tice"))
        assert store.count() == second.count() == 22
