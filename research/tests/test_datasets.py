"""Data sets by name: the paper's, the user's own, and what is said when one cannot be used."""

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import typer.testing
from hypothesis import given
from hypothesis import strategies as st

from research import datasets
from poscount.cli.datasets import app
from research.datasets import CATALOG, load, overlaps, register, unregister
from research.datasets.dataset import checksum
from research.datasets.directory import data_directory
from poscount.errors import InputError

CSV = "a,night,b,species\n1,mon,0.5,x\n2,tue,1.5,y\n3,tue,-1,z\n4,mon,2e1,x\n"


@pytest.fixture
def own_file(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text(CSV)
    return path


def add(path, name="own", **changes):
    options = {"label": "species", "positive": "x", "drop": ["night"], **changes}
    return register(name, path, **options)


# The paper's


def test_the_catalog_has_the_paper_s_ten_and_three_stand_ins():
    letters = [name for name in datasets.names() if len(name) == 1]
    assert "".join(sorted(letters)) == "ABCHILNPRW"
    assert set(datasets.names()) - set(letters) == {"vowels", "vowels-network", "q-g"}
    for entry in CATALOG.values():
        assert entry.title
        assert entry.licence
        assert entry.page.startswith("https://")
        assert "not verified" in entry.verified
    assert {key for key, entry in CATALOG.items() if not entry.address} == {
        *("I", "N", "vowels-network")
    }


@pytest.mark.parametrize(
    ("key", "rows", "positives", "negatives"),
    # Counted in the files with a shell: zcat, cut, sort, uniq -c.
    [
        ("A", 8800, 880, 9),
        ("C", 2165 + 4420, 2165, 1),
        ("L", 20000, 752, 25),
        ("P", 10992, 1055, 9),
        ("R", 17898, 1639, 1),
        ("W", 6497, 1599, 1),
        ("vowels", 9961, 1096, 8),
        ("q-g", 4010, 2000, 1),
    ],
)
def test_the_paper_s_files(key, rows, positives, negatives, paper_directory, monkeypatch):
    monkeypatch.setenv("POSCOUNT_DATA", str(paper_directory))
    data = load(key)
    assert data.features.shape == (rows, CATALOG[key].n_features)
    assert data.features.dtype == np.float64
    assert data.is_positive.sum() == positives
    assert len(data.negatives) == negatives
    assert data.sha256 == CATALOG[key].sha256
    by_file = load(CATALOG[key].file)
    assert (by_file.key, by_file.sha256) == (key, data.sha256)


def test_values_are_those_of_the_file(paper_directory, monkeypatch):
    monkeypatch.setenv("POSCOUNT_DATA", str(paper_directory))
    with gzip.open(paper_directory / "anuran_calls.csv.gz", "rt") as file:
        first = file.readlines()[1].strip().split(",")
    data = load("C")
    assert data.features[0].tolist() == [float(cell) for cell in first[:22]]
    assert data.labels[0] == first[-1]
    assert data.feature_names[-1] == "MFCCs_22"


def test_another_positive_class(paper_directory, monkeypatch):
    monkeypatch.setenv("POSCOUNT_DATA", str(paper_directory))
    data = load("C:positive=Bufonidae")
    assert data.is_positive.sum() == 68
    # All others, also those that the paper leaves out.
    assert data.negatives == ("Dendrobatidae", "Hylidae", "Leptodactylidae")
    assert data.key == "C:positive=Bufonidae"
    with pytest.raises(InputError, match="no row has the class 'a'; the classes are A, B, C"):
        load("L:positive=a")


@pytest.mark.parametrize("name", ["L:positive=", "L:negative=A", "L:A", "L:"])
def test_an_option_that_is_none(name):
    with pytest.raises(ValueError, match="only positive=CLASS is allowed"):
        load(name)


def test_a_missing_file_says_where_and_how(data_home):
    with pytest.raises(InputError) as caught:
        load("letter")
    assert str(data_home / "letter.csv.gz") in str(caught.value)
    assert "python -m research datasets fetch L" in str(caught.value)


def test_insects_v2_says_what_its_owners_ask(data_home):
    with pytest.raises(InputError, match="without contacting them first") as caught:
        load("N")
    assert "fetch" not in str(caught.value)


def test_an_unknown_name_lists_the_known(data_home, own_file):
    add(own_file)
    with pytest.raises(ValueError, match=r"no data set 'X'.* A, B, C.*overlap-half.*own"):
        load("X")


def small(monkeypatch, home, text, **changes):
    """Make L a small data set, stored as the text."""
    home.joinpath("letter.csv.gz").write_bytes(gzip.compress(text.encode()))
    entry = replace(CATALOG["L"], n_features=1, positive="x", **{"rows": 2, **changes})
    monkeypatch.setitem(CATALOG, "L", entry)


def test_the_checksum_is_that_of_the_values(data_home, monkeypatch):
    known = checksum(["a"], np.array([[1.0], [2.0]]), np.array(["x", "y"]))
    small(monkeypatch, data_home, "a,class\n1.0,x\n2e0,y\n", sha256=known)
    assert load("L").sha256 == known
    small(monkeypatch, data_home, "a,class\n1,x\n2.1,y\n", sha256=known)
    with pytest.raises(InputError, match=r"checksum.*remove the file and fetch it again"):
        load("L")


def test_a_wrong_size_is_seen_without_a_checksum(data_home, monkeypatch):
    small(monkeypatch, data_home, "a,class\n1,x\n2,y\n", sha256=None, rows=3)
    with pytest.raises(InputError, match="2 rows x 1 features, but the data set L has 3 x 1"):
        load("L")


def test_a_damaged_file_is_one_sentence(data_home):
    whole = gzip.compress(b"a,class\n" + b"1,x\n" * 100)
    data_home.joinpath("letter.csv.gz").write_bytes(whole[:-12])
    with pytest.raises(InputError, match="damaged or incomplete"):
        load("L")


@given(
    st.lists(st.tuples(st.floats(allow_nan=False), st.text("ab:1,", max_size=3)), min_size=1),
    st.data(),
)
def test_any_change_changes_the_checksum(rows, data):
    def of(rows, names=("f",)):
        numbers, labels = zip(*rows, strict=True)
        return checksum(names, np.array(numbers)[:, None], np.array(labels, dtype=np.str_))

    before = of(rows)
    assert of(rows) == before
    assert of(rows, ("g",)) != before
    assert of([*rows, rows[0]]) != before
    place = data.draw(st.integers(0, len(rows) - 1))
    number, label = rows[place]
    changed = list(rows)
    changed[place] = (np.nextafter(number, np.inf) if number < 1e308 else 0.0, label)
    assert of(changed) != before
    changed[place] = (number, f"{label}c")
    assert of(changed) != before


# The user's own


def test_a_registered_file_is_loaded_by_its_name(data_home, own_file):
    add(own_file)
    data = load("own")
    assert data.feature_names == ("a", "b")
    assert data.features.tolist() == [[1, 0.5], [2, 1.5], [3, -1], [4, 20]]
    assert data.labels.tolist() == ["x", "y", "z", "x"]
    assert data.is_positive.tolist() == [True, False, False, True]
    assert data.negatives == ("y", "z")
    assert load("own:positive=y").negatives == ("x", "z")
    unregister("own")
    with pytest.raises(ValueError, match="no data set 'own'"):
        load("own")
    with pytest.raises(ValueError, match="registered as 'own'; registered are: none"):
        unregister("own")
    assert own_file.read_text() == CSV


def test_chosen_negatives_leave_other_classes_out(data_home, own_file):
    data = add(own_file, negatives=["z"])
    assert data.labels.tolist() == ["x", "z", "x"]
    assert load("own").features.tolist() == data.features.tolist()
    assert load("own:positive=z").negatives == ("x", "y")


@pytest.mark.parametrize("kind", ["text", "dictionary", "int", "bool"])
def test_parquet_with_every_kind_of_class(kind, data_home, tmp_path):
    classes = {"text": ["x", "y"], "dictionary": ["x", "y"], "int": [1, 0], "bool": [True, False]}
    column = pa.array(classes[kind])
    table = pa.table(
        {
            "f": pa.array([1, 2], pa.int8()),
            "g": pa.array([True, False]),
            "c": column.dictionary_encode() if kind == "dictionary" else column,
        }
    )
    path = tmp_path / "own.parquet"
    pa.parquet.write_table(table, path)
    positive = {"text": "x", "dictionary": "x", "int": "1", "bool": "true"}[kind]
    register("own", path, label="c", positive=positive)
    assert load("own").is_positive.tolist() == [True, False]
    assert load("own").features.tolist() == [[1, 1], [2, 0]]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"label": "kind"}, "column 'kind': the file has no such column; its columns are 'a', "),
        ({"drop": ["nigth"]}, "column 'nigth': the file has no such column"),
        ({"positive": "w"}, "no row has the class 'w'; the classes are x, y, z."),
        ({"negatives": ["y", "w"]}, "no row has the class 'w'"),
        ({"negatives": ["y", "x"]}, "the class 'x' cannot be both positive and negative"),
        ({"drop": []}, "column 'night', row 1: 'mon' is not a number"),
        ({"drop": ["a", "b", "night"]}, "no features besides the label"),
        ({"name": "L"}, "'L' is the name of a data set of the catalog"),
        ({"name": "letter"}, "'letter' is the name of a data set of the catalog"),
        ({"name": "overlap-half"}, "the name of a data set of the catalog"),
        ({"name": "a:b"}, "'a:b' cannot be the name of a data set"),
        ({"name": ""}, "'' cannot be the name of a data set"),
    ],
)
def test_what_cannot_be_registered(change, sentence, data_home, own_file):
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        add(own_file, **change)
    assert "\n" not in str(caught.value)
    assert not (data_home / "registered.json").exists()


def test_a_text_is_no_list_of_names(data_home, own_file):
    with pytest.raises(TypeError, match="drop must be a list of names, not the text 'night'"):
        add(own_file, drop="night")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a,species\n1,x\n,y\n", "column 'a', row 2: missing"),
        ("a,species\n1,x\nnan,y\n", "column 'a', row 2: missing, NaN"),
        ("a,species\n1,x\ninf,y\n", "column 'a', row 2: missing, NaN or infinite"),
        ("a,species\n1,x\n2,\n", "column 'species', row 2: the class is missing"),
        ("a,species\n1,x\n2,x\n", "all rows have the class 'x': at least one negative"),
    ],
)
def test_values_that_cannot_be_used(text, place, data_home, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(place)):
        register("bad", path, label="species", positive="x")


def test_parquet_columns_that_cannot_be_used(data_home, tmp_path):
    path = tmp_path / "bad.parquet"
    pa.parquet.write_table(pa.table({"f": [1.0, 2.0], "t": ["u", "v"], "c": [0.5, 1.5]}), path)
    with pytest.raises(InputError, match="column 't': it holds string, not numbers") as caught:
        register("bad", path, label="c", positive="0.5", drop=["f"])
    assert (caught.value.option, caught.value.value) == ("drop", ["f", "t"])
    with pytest.raises(InputError, match="column 'c': it holds double; classes must be text"):
        register("bad", path, label="c", positive="0.5", drop=["t"])


def test_a_file_that_has_changed_or_gone(data_home, own_file):
    add(own_file)
    own_file.write_text(CSV.replace("0.5", "0.50"))
    load("own")  # the same values
    own_file.write_text(CSV.replace("0.5", "0.6"))
    with pytest.raises(InputError, match=r"changed since it was registered as 'own'.*datasets add"):
        load("own")
    add(own_file)
    assert load("own").features[0, 1] == 0.6
    own_file.write_text(CSV.replace("0.5", "nan"))
    with pytest.raises(InputError, match="row 1: missing, NaN or infinite") as caught:
        load("own")
    assert caught.value.option is None  # its columns were chosen when it was registered
    own_file.unlink()
    with pytest.raises(InputError, match="no longer there; register it again"):
        load("own")


def test_a_damaged_list_is_one_sentence(data_home):
    for text in ("{", "[]", '{"own": {"path": 1}}', '{"own": 3}'):
        (data_home / "registered.json").write_text(text)
        with pytest.raises(ValueError, match=r"registered.json is damaged .*register your data"):
            load("own")


def test_a_relative_path_is_found_from_elsewhere(data_home, own_file, monkeypatch):
    monkeypatch.chdir(own_file.parent)
    add(own_file.name)
    monkeypatch.chdir("/")
    assert len(load("own").labels) == 4


# The directory


@pytest.mark.parametrize(
    ("platform", "variables", "place"),
    [
        ("linux", {"POSCOUNT_DATA": "/somewhere"}, "/somewhere"),
        ("linux", {}, "/home/me/.cache/poscount"),
        ("linux", {"XDG_CACHE_HOME": "/caches"}, "/caches/poscount"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/poscount"),
        ("darwin", {}, "/home/me/Library/Caches/poscount"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/poscount"),
        ("win32", {}, "/home/me/AppData/Local/poscount"),
    ],
)
def test_the_default_directory(platform, variables, place, monkeypatch):
    for name in ("POSCOUNT_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "/home/me", **variables}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert data_directory() == Path(place)


# The command line; in a process of its own where that matters


def poscount(*arguments, home):
    command = [sys.executable, "-m", "poscount", "datasets", *map(str, arguments)]
    environment = {**os.environ, "POSCOUNT_DATA": str(home)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_add_list_remove(data_home, own_file):
    options = ("--label", "species", "--positive", "x", "--drop", "night", "--negatives", "y, z")
    added = poscount("add", own_file, "--name", "own", *options, home=data_home)
    assert added.returncode == 0, added.stderr
    assert "4 rows, 2 features, 2 of class x" in added.stdout
    # What another process has registered this one loads.
    assert load("own").negatives == ("y", "z")
    run = typer.testing.CliRunner().invoke
    rows = {row["name"]: row for row in json.loads(run(app, ["list", "--format", "json"]).stdout)}
    assert set(rows) == {*datasets.names(), *overlaps.NAMES, "own"}
    assert rows["own"]["here"]
    assert not rows["L"]["here"]
    assert "without contacting" in rows["N"]["source"]
    table = run(app, ["list", "--format", "csv"]).stdout
    assert {row["name"] for row in csv.DictReader(io.StringIO(table))} == set(rows)
    printed = run(app, ["list"]).stdout.splitlines()
    assert {line.split()[0] for line in printed[1 : 1 + len(rows)]} == set(rows)
    assert run(app, ["remove", "own"]).exit_code == 0
    again = poscount("remove", "own", home=data_home)
    assert again.returncode == 2
    sentence = "poscount: No data set is registered as 'own'; registered are: none.\n"
    assert again.stderr == sentence


def test_a_directory_that_cannot_be_written_is_one_sentence(tmp_path, own_file):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    options = ("--name", "own", "--label", "species", "--positive", "x", "--drop", "night")
    done = poscount("add", own_file, *options, home=blocked / "data")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert str(blocked) in done.stderr
