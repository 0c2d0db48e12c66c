import functools
import hashlib
import importlib
import io
import json
import os
import pickle
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import poscount
from answers import assert_same_answer
from poscount import BBE, PAT, Counts, FileError, InputError, Mahalanobis, ODIn
from poscount.storage import container

# One file of each kind, as small as they get, and what reads it.


def small_model():
    rows = np.random.default_rng(0).normal(size=(12, 1))
    return PAT(q=0.5, random_state=0).fit(rows)


FILES = {
    "model": (small_model, poscount.load),
    "counts": (lambda: Counts(np.array([3, 0, 1]), 4, "m" * 64), Counts.load),
}


@pytest.fixture(params=FILES, scope="module")
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def content(kind, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "file"
    FILES[kind][0]().save(path)
    return path.read_bytes()


@pytest.fixture
def read(kind, tmp_path):
    """Reads bytes as a file of the kind."""

    def read(content):
        path = tmp_path / "file"
        path.write_bytes(content)
        return FILES[kind][1](path)

    return read


def zipped(members, comment=b"0" * 64, **options):
    """An archive that ends with a correct checksum, whatever is in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as archive:
        for name, member in members.items():
            # Without a date, which would be in the names of tests: workers must agree on those.
            archive.writestr(zipfile.ZipInfo(name), member, archive.compression)
        archive.comment = comment
    body = buffer.getvalue()[:-64]
    return body + hashlib.sha256(body).hexdigest().encode()


def npy(array, **options):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), **options)
    return buffer.getvalue()


def crafted(meta, **arrays):
    """A file with a valid checksum and any description."""
    text = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    members = {f"{name}.npy": npy(array) for name, array in arrays.items()}
    return zipped({"meta.npy": npy(text), **members})


def refused(read, content):
    with pytest.raises(FileError) as caught:
        read(content)
    assert "file" in str(caught.value).partition(": ")[0]
    return str(caught.value)


# Damage


def test_the_undamaged_file_is_read(read, content):
    assert read(content) is not None


def test_truncated_at_every_length(read, content):
    for length in range(len(content)):
        refused(read, content[:length])


def test_every_byte_flipped(read, content):
    for i in range(len(content)):
        damaged = bytearray(content)
        damaged[i] ^= 0xFF
        refused(read, bytes(damaged))


def test_bytes_appended(read, content):
    refused(read, content + b"\0")


@pytest.mark.parametrize(
    "other",
    [
        b"",
        b"PK",
        b"PK" + bytes(200),
        b"a,b\n1,2\n",
        pickle.dumps({"a": 1}),
        zipped({"meta.npy": b""}),
        zipped({}),
        zipped({"meta.txt": b"{}"}),
        zipped({"meta.npy": npy(np.zeros(3, np.uint8))}),
        zipped({"meta.npy": npy(np.frombuffer(b"[1]", np.uint8))}),
        zipped({"meta.npy": npy(np.frombuffer(b"[" * 100_000, np.uint8))}),
        zipped({"meta.npy": npy(np.zeros(10**5, np.uint8))}, compression=zipfile.ZIP_DEFLATED),
        zipped({"meta.npy": b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16}),
        zipped({"meta.npy": b"\x93NUMPY\x01\x00\x10\x00" + b"'''" + b" " * 13}),
        zipped({"meta.npy": b"\x93NUMPY\x09\x00\x10\x00" + b" " * 16}),
        zipped({"other.npy": npy(np.zeros(3))}),
    ],
    ids=lambda content: repr(content[:20]),
)
def test_not_one_of_our_files(read, other):
    refused(read, other)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300))
def test_any_bytes(read, content):
    refused(read, content)
    refused(read, zipped({"meta.npy": content}))


def test_a_header_that_claims_a_huge_array_allocates_nothing(read, kind):
    header = npy(np.zeros(1)).replace(b"(1,), ", b"(1000000000000,), ")[:-8].replace(b" " * 13, b"")
    length = (len(header) - 10).to_bytes(2, "little")
    member = header[:8] + length + header[10:] + bytes(8)
    meta = npy(np.frombuffer(json.dumps({"kind": kind, "version": 1}).encode(), np.uint8))
    assert "size" in refused(read, zipped({"meta.npy": meta, "huge.npy": member}))


def test_another_layout_of_arrays_is_refused(read, kind):
    meta = npy(np.frombuffer(json.dumps({"kind": kind, "version": 1}).encode(), np.uint8))
    member = npy(np.zeros(3))
    assert member[6:8] == b"\x01\x00"
    other = member[:6] + b"\x04\x00" + member[8:]
    assert "unknown layout" in refused(read, zipped({"meta.npy": meta, "x.npy": other}))


def test_another_version(read, kind):
    for version in (container.VERSION + 1, None, "1", 1.5, [1]):
        sentence = refused(read, crafted({"kind": kind, "version": version}))
        assert "another version of poscount wrote this file" in sentence


def test_other_kind(kind, content, tmp_path):
    (other,) = set(FILES) - {kind}
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(FileError, match=f"is a {kind} file, not a {other} file"):
        FILES[other][1](path)


# Nothing in a file runs


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("exploded",)


@pytest.fixture
def no_explosion(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    yield
    assert not (tmp_path / "exploded").exists()


@pytest.mark.usefixtures("no_explosion")
def test_pickle_as_a_file(read):
    refused(read, pickle.dumps(Bomb()))


@pytest.mark.usefixtures("no_explosion")
def test_pickle_in_an_array(read, kind):
    meta = npy(np.frombuffer(json.dumps({"kind": kind, "version": 1}).encode(), np.uint8))
    objects = npy(np.array([Bomb()], dtype=object), allow_pickle=True)
    sentence = refused(read, zipped({"meta.npy": meta, "cells.npy": objects}))
    assert "pickle" in sentence


@pytest.mark.usefixtures("no_explosion")
def test_pickle_where_skops_should_be(tmp_path):
    content = np.frombuffer(pickle.dumps(Bomb()), np.uint8)
    description = {"class": "PAT", "state": {"scorer_": {"skops": "scorer"}}}
    refused_model(tmp_path, description, scorer=content)


def refused_model(tmp_path, description, **arrays):
    path = tmp_path / "file"
    path.write_bytes(crafted({"kind": "model", "version": 1, "model": description}, **arrays))
    return refused(poscount.load, path)


@pytest.mark.parametrize(
    "name", ["fit", "quantify", "_estimate", "__class__", "__dict__", "_x_", "__reduce__"]
)
def test_methods_cannot_be_set(tmp_path, name):
    sentence = refused_model(tmp_path, {"class": "PAT", "state": {name: "evil"}})
    assert repr(name) in sentence


@pytest.mark.parametrize("name", ["Counts", "OneClassSVM", "os.system", "", "poscount", None, 5])
def test_unknown_classes_are_not_made(tmp_path, name):
    sentence = refused_model(tmp_path, {"class": name, "state": {}})
    assert "does not have" in sentence


@pytest.mark.parametrize(
    "description",
    [
        {"class": "PAT"},
        {"class": "PAT", "state": 5},
        {"class": "PAT", "state": {"scorer_": 5}},
        {"class": "PAT", "state": {"edges_": {"array": "missing"}}},
        {"class": "PAT", "state": {"edges_": {"array": {}}}},
        {"class": "PAT", "state": {"edges_": {"tuple": 5}}},
        {"class": "PAT", "state": {"edges_": {"set": []}}},
        {"class": "PAT", "state": {"edges_": {}}},
        {"class": "PAT", "state": {"scorer_": {"skops": "missing"}}},
        {"class": "Mahalanobis", "state": {}},
        {"class": "PAT", "state": {}},
        5,
        None,
        "PAT",
        [],
    ],
    ids=json.dumps,
)
def test_nonsense_with_a_valid_checksum(tmp_path, description):
    refused_model(tmp_path, description)


def test_a_model_without_its_parts(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(crafted({"kind": "model", "version": 1}))
    refused(poscount.load, path)


@pytest.mark.parametrize(
    ("meta", "cells"),
    [
        ({}, [1.5, 2.5]),
        ({}, [[1, 3]]),
        ({}, [-1, 5]),
        ({}, [1, 5]),
        ({"n": -4}, [1, 3]),
        ({"n": "4"}, [1, 3]),
        ({"n": 2**60}, [1, 3]),
        ({"model": 7}, [1, 3]),
        ({"model": "\x1b[31m"}, [1, 3]),
        ({"parts": ["x"]}, [1, 3]),
        ({"weights": 5}, [1, 3]),
        ({"more": 5}, [1, 3]),
    ],
)
def test_crafted_counts(tmp_path, meta, cells):
    path = tmp_path / "file"
    usual = {"n": 4, "model": "m", "skipped": [], "weights": None, "parts": []}
    described = {"kind": "counts", "version": container.VERSION, **usual, **meta}
    path.write_bytes(crafted(described, cells=np.array(cells)))
    with pytest.raises(FileError, match="does not hold counts"):
        Counts.load(path)


# Writing


@pytest.mark.parametrize("step", ["os.replace", "os.fsync", "Path.write_bytes"])
def test_a_failed_write_changes_nothing(kind, content, tmp_path, monkeypatch, step):
    path = tmp_path / "file"
    path.write_bytes(content)

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(f"poscount.storage.writer.{step}", fail)
    with pytest.raises(OSError, match="disk full"):
        FILES[kind][0]().save(path)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_an_existing_file_is_replaced(kind, content, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    FILES[kind][0]().save(path)
    assert path.read_bytes() == content  # equal content, equal bytes
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_permissions_are_those_of_an_ordinary_file(kind, tmp_path):
    (tmp_path / "ordinary").write_bytes(b"")
    FILES[kind][0]().save(tmp_path / "file")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


def test_plain_numpy_reads_the_arrays(tmp_path):
    # The format is an ordinary npz, for people without poscount.
    Counts(np.array([3, 0, 1]), 4, "m").save(tmp_path / "part.npz")
    with np.load(tmp_path / "part.npz") as arrays:
        assert arrays["cells"].tolist() == [3, 0, 1]
        assert json.loads(arrays["meta"].tobytes())["n"] == 4


def test_an_unfitted_model_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        PAT().save(tmp_path / "file")


def test_a_missing_file_is_an_ordinary_error(kind, tmp_path):
    with pytest.raises(FileNotFoundError):
        FILES[kind][1](tmp_path / "nothing")


def test_a_missing_folder_is_named(kind, tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no such directory") as caught:
        FILES[kind][0]().save(tmp_path / "nowhere" / "file")
    assert caught.value.filename == str(tmp_path / "nowhere")


# What comes back


@pytest.mark.parametrize(
    "model",
    [
        PAT(random_state=3),
        PAT(q=0.4, confidence=0.8, n_jobs=2, random_state=3),
        PAT(q=(0.3, 0.6), random_state=np.random.default_rng(5)),
        PAT(random_state=np.random.RandomState(5)),
        PAT(random_state=None),
        PAT(Mahalanobis("ledoit-wolf", keep_float32=True), random_state=3),
        ODIn(random_state=3),
    ],
    # Not their repr: that of a generator is its address, which no two workers share.
    ids=["seed", "parameters", "generator", "random state", "no seed", "shrunk", "ODIn"],
)
@pytest.mark.parametrize(
    "data", [np.asarray, functools.partial(pd.DataFrame, columns=["a", "ä", " "])]
)
def test_a_loaded_model_answers_the_same(model, data, positives, sample, tmp_path):
    positives, sample = data(positives), data(sample)
    model.fit(positives)
    model.save(tmp_path / "file")
    loaded = poscount.load(tmp_path / "file")
    assert type(loaded) is type(model)
    assert loaded.quantify(sample).to_dict() == model.quantify(sample).to_dict()
    assert_same_answer(loaded.estimate(model.count(sample)), model.quantify(sample))
    assert np.array_equal(loaded.posterior(sample), model.posterior(sample))
    # The loaded model knows how to be fitted again.
    assert loaded.fit(positives).hash_ == model.hash_


def test_names_of_features_come_back_as_scikit_learn_has_them(positives, tmp_path):
    model = PAT(random_state=0).fit(pd.DataFrame(positives, columns=["a", "ä", "long name"]))
    model.save(tmp_path / "file")
    names = poscount.load(tmp_path / "file").feature_names_in_
    assert names.dtype == model.feature_names_in_.dtype == object
    assert names.tolist() == ["a", "ä", "long name"]


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="this system does not list open files")
def test_writing_leaves_no_file_open(kind, tmp_path):
    FILES[kind][0]().save(tmp_path / "file")
    before = len(os.listdir("/dev/fd"))
    for _ in range(5):
        FILES[kind][0]().save(tmp_path / "file")
    assert len(os.listdir("/dev/fd")) == before


def test_saving_twice_gives_the_same_file(pat, tmp_path):
    pat.save(tmp_path / "one")
    poscount.load(tmp_path / "one").save(tmp_path / "two")
    # Only the scorer that stands for None is written out in the second.
    one, two = (container.read(tmp_path / name, "model") for name in ("one", "two"))
    assert one[1].keys() == two[1].keys()
    assert one[0] == two[0]


# Scorers of other libraries


FOREIGN = {
    "one-class svm": OneClassSVM,
    "pipeline": lambda: make_pipeline(StandardScaler(), OneClassSVM()),
    "ours in a pipeline": lambda: make_pipeline(StandardScaler(), Mahalanobis()),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_scikit_learn_scorers_go_through_skops(name, positives, sample, tmp_path):
    model = PAT(FOREIGN[name](), random_state=0).fit(positives)
    model.save(tmp_path / "file")
    loaded = poscount.load(tmp_path / "file")
    assert loaded.quantify(sample).to_dict() == model.quantify(sample).to_dict()
    assert_same_answer(loaded.estimate(model.count(sample)), model.quantify(sample))


UNTRUSTED = {
    # A PyOD detector, and a scikit-learn one whose trees could be made to read beyond memory.
    "pyod.models.hbos.HBOS": lambda: importlib.import_module("pyod.models.hbos").HBOS(),
    "sklearn.tree._tree.Tree": lambda: IsolationForest(n_estimators=5),
}


@pytest.mark.parametrize("name", UNTRUSTED)
def test_other_types_are_built_only_when_trusted(name, positives, sample, tmp_path):
    model = PAT(UNTRUSTED[name](), random_state=0).fit(positives)
    model.save(tmp_path / "file")
    with pytest.raises(FileError, match=rf"\({name}.*trusted=\[") as caught:
        poscount.load(tmp_path / "file")
    error = caught.value
    assert (error.file, error.option) == (str(tmp_path / "file"), "trusted")
    assert f"({', '.join(error.value)})" in error.message
    with pytest.raises(FileError, match="not known to be safe"):
        poscount.load(tmp_path / "file", trusted=["something.Else"])
    loaded = poscount.load(tmp_path / "file", trusted=error.value)
    assert loaded.quantify(sample).to_dict() == model.quantify(sample).to_dict()


def test_without_skops_a_sentence_says_what_to_install(positives, pat, tmp_path, monkeypatch):
    model = PAT(OneClassSVM(), random_state=0).fit(positives)
    model.save(tmp_path / "file")
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r'pip install "poscount\[skops\]"'):
        model.save(tmp_path / "other")
    assert not (tmp_path / "other").exists()
    with pytest.raises(ImportError, match=r'pip install "poscount\[skops\]"'):
        poscount.load(tmp_path / "file")
    pat.save(tmp_path / "ours")  # needs no skops
    assert poscount.load(tmp_path / "ours").hash_ == pat.hash_


# What mutants survived


def test_a_file_of_another_program_is_not_called_damaged(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_bytes(b"%PDF-1.7 " * 40)
    with pytest.raises(FileError) as caught:
        container.read(path, "model")
    assert caught.value.message == "this is not a poscount model file."
    assert caught.value.file == str(path)


def test_objects_are_never_written(tmp_path):
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        container.write(tmp_path / "x", "counts", {}, {"cells": np.array([{}], dtype=object)})
    assert list(tmp_path.iterdir()) == []


class Unknown:
    """Has the methods of a classifier, and is of no library."""

    def fit(self, X, y):
        return self


def test_a_value_that_no_model_file_holds_is_named(positives, tmp_path):
    model = PAT(random_state=0).fit(positives)
    model.extra_ = 5
    with pytest.raises(InputError, match="'extra_' does not belong to PAT"):
        model.save(tmp_path / "x.poscount")
    assert list(tmp_path.iterdir()) == []


def test_a_parameter_that_no_model_file_holds_is_named(positives, tmp_path):
    model = BBE(classifier=object.__new__(Unknown), random_state=0).fit(positives)
    with pytest.raises(TypeError, match=r"A Unknown \(model.classifier\) cannot be saved"):
        model.save(tmp_path / "x.poscount")
    assert list(tmp_path.iterdir()) == []


def test_lists_and_tuples_come_back_as_what_they_were(positives, tmp_path):
    frame = pd.DataFrame(positives, columns=["a", "b", "c"])
    PAT(q=(0.3, 0.6), random_state=0).fit(frame).save(tmp_path / "x.poscount")
    loaded = poscount.load(tmp_path / "x.poscount")
    assert loaded.numeric_features_ == ["a", "b", "c"]
    assert loaded.q == (0.3, 0.6)
    assert loaded.get_params(deep=False).keys() == PAT().get_params(deep=False).keys()
