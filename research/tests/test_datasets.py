"""Data sets by name: the paper's, files of one's own, and what is said when one cannot be used."""

import gzip
import re
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

from poscount.errors import InputError
from research.__main__ import app
from research.datasets import CATALOG, data_directory, load, overlaps
from research.datasets.dataset import checksum

# The paper's


def test_the_catalog_has_the_paper_s_ten_and_three_stand_ins():
    letters = [name for name in CATALOG if len(name) == 1]
    assert "".join(sorted(letters)) == "ABCHILNPRW"
    assert set(CATALOG) - set(letters) == {"vowels", "vowels-network", "q-g"}
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


def test_an_unknown_name_lists_the_known():
    with pytest.raises(ValueError, match=r"'X' is neither a data set \(A, B, C.*half\) nor a file"):
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


# A file of one's own


def test_a_file_is_loaded_by_its_path(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("a,b,class\n1,0.5,x\n2,1.5,y\n3,-1,z\n4,2e1,x\n")
    data = load(f"{path}:positive=x")
    assert data.feature_names == ("a", "b")
    assert data.features.tolist() == [[1, 0.5], [2, 1.5], [3, -1], [4, 20]]
    assert data.labels.tolist() == ["x", "y", "z", "x"]
    assert data.is_positive.tolist() == [True, False, False, True]
    assert data.negatives == ("y", "z")
    assert data.key == f"{path}:positive=x"
    assert load(f"{path}:positive=y").negatives == ("x", "z")
    with pytest.raises(ValueError, match=r"Say which class of .*own.csv is positive"):
        load(str(path))


@pytest.mark.parametrize("classes", [["x", "y"], [1, 0], [True, False]])
def test_parquet_with_every_kind_of_class(classes, tmp_path):
    path = tmp_path / "own.parquet"
    pa.parquet.write_table(pa.table({"f": [1, 2], "g": [True, False], "class": classes}), path)
    data = load(f"{path}:positive={pa.array(classes).cast('string')[0]}")
    assert data.is_positive.tolist() == [True, False]
    assert data.features.tolist() == [[1, 1], [2, 0]]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,kind\n1,x\n2,y\n", "column 'class': the file has no such column"),
        ("class\nx\ny\n", "no features besides the class"),
        ("a,class\n1,u\n2,y\n", "no row has the class 'x'; the classes are u, y."),
        ("a,class\n1,x\nmon,y\n", "column 'a', row 2: 'mon' is not a number"),
        ("a,class\n1,x\n,y\n", "column 'a', row 2: missing"),
        ("a,class\n1,x\ninf,y\n", "column 'a', row 2: missing, NaN or infinite"),
        ("a,class\n1,x\n2,\n", "column 'class', row 2: the class is missing"),
        ("a,class\n1,x\n2,x\n", "all rows have the class 'x': at least one negative"),
    ],
)
def test_files_that_cannot_be_used(text, sentence, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(sentence)) as caught:
        load(f"{path}:positive=x")
    assert "\n" not in str(caught.value)


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


def test_the_list(data_home):
    printed = typer.testing.CliRunner().invoke(app, ["datasets", "list"]).stdout.splitlines()
    names = [*CATALOG, *overlaps.NAMES]
    assert [line.split()[0] for line in printed[1 : 1 + len(names)]] == names
    assert {line.split()[1] for line in printed[1 : 1 + len(CATALOG)]} == {"no"}
    assert any(line.startswith("N: ") and "without contacting" in line for line in printed)
