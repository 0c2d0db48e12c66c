"""Several targets, and labelled negatives, on the command line."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest

from poscount import MultiRCQ, RCQWithNegatives
from poscount.app import estimates, fitting
from poscount.app.data_files import DataFiles
from poscount.example import example_path
from poscount.example.simulate import FEATURES, record

TRAP = str(example_path("trap.csv.gz"))
SPECIES = {
    "aegypti": "Aedes aegypti female",
    "male": "Aedes aegypti male",
    "culex": "Culex quinquefasciatus female",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file of positives for each target, and one of all of them."""
    folder = tmp_path_factory.mktemp("targets")
    rng = np.random.RandomState(1)
    frames = {
        name: pd.DataFrame(record(insect, 150, rng), columns=list(FEATURES)).round(2)
        for name, insect in SPECIES.items()
    }
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    named = [frame.assign(species=name) for name, frame in frames.items()]
    pd.concat(named).to_csv(folder / "all.csv", index=False)
    return folder


def files(folder):
    return [folder / f"{name}.csv" for name in SPECIES]


@pytest.fixture
def model(folder, tmp_path, poscount_):
    path = tmp_path / "trap.poscount"
    fitted = poscount_("fit", *files(folder), "--targets", ",".join(SPECIES), "-o", path)
    assert fitted.status == 0, fitted.err
    assert "450 positives of aegypti, male, culex" in fitted.out
    return path


def test_what_python_says(poscount_, model, folder, tmp_path):
    tables = {path.stem: pd.read_csv(path) for path in files(folder)}
    expected = MultiRCQ(random_state=0).fit(tables).quantify(pd.read_csv(TRAP))
    found = poscount_("quantify", model, TRAP, "--format", "json").results()
    assert [result["target"] for result in found] == [*SPECIES, "other"]
    assert [result["prevalence"] for result in found] == [float(p) for p in expected.values()]
    assert sum(result["prevalence"] for result in found) == 1.0
    other = tmp_path / "column.poscount"
    poscount_("fit", folder / "all.csv", "--target-column", "species", "-o", other)
    again = poscount_("quantify", other, TRAP, "--format", "json").results()
    assert {r["target"]: r["prevalence"] for r in again} == {
        n: float(p) for n, p in expected.items()
    }


def test_groups_tables_and_pictures(poscount_, model, tmp_path):
    for name in ("nights.png", "nights.svg"):
        outcome = poscount_(
            "quantify", model, TRAP, "--by", "night", "--format", "csv", "--plot", tmp_path / name
        )
        assert (tmp_path / name).stat().st_size > 1000
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert len(rows) == (1 + 9) * 4
    assert list(rows[0])[:3] == ["night", "target", "prevalence"]
    for start in range(0, 40, 4):
        assert sum(float(row["prevalence"]) for row in rows[start : start + 4]) == 1.0
    table = poscount_("quantify", model, TRAP).out
    assert "MultiRCQ, 450 positives" in table
    assert "culex" in table


def test_counts_merge(poscount_, model, tmp_path):
    trap = pd.read_csv(TRAP)
    for i, part in enumerate((trap[:3000], trap[3000:])):
        part.to_csv(tmp_path / f"{i}.csv", index=False)
        poscount_("count", model, tmp_path / f"{i}.csv", "-o", tmp_path / f"{i}.counts")
    merged = tmp_path / "all.counts"
    poscount_("merge", tmp_path / "0.counts", tmp_path / "1.counts", "-o", merged)
    of_counts, of_rows = (
        poscount_("quantify", model, data, "--format", "json").results() for data in (merged, TRAP)
    )
    assert of_counts == of_rows


def test_show_and_estimate(poscount_, model, folder):
    assert re.search(r"^male +150$", poscount_("show", model).out, re.MULTILINE)
    shown = poscount_("show", model, "--format", "json").results()
    assert shown["targets"] == dict.fromkeys(SPECIES, 150)
    found = poscount_(
        "estimate", folder / "all.csv", TRAP, "--target-column", "species", "--format", "json"
    ).results()
    assert [result["target"] for result in found] == ["aegypti", "culex", "male", "other"]


def test_negatives(poscount_, folder, tmp_path):
    path = tmp_path / "aegypti.poscount"
    known = [folder / "male.csv", folder / "culex.csv"]
    options = [option for file in known for option in ("--negatives", file)]
    poscount_("fit", folder / "aegypti.csv", *options, "-o", path)
    (found,) = poscount_("quantify", path, TRAP, "--format", "json").results()
    kinds = {str(file): pd.read_csv(file) for file in known}
    model = RCQWithNegatives(random_state=0).fit(
        pd.read_csv(folder / "aegypti.csv"), negatives=kinds
    )
    assert found["prevalence"] == float(model.quantify(pd.read_csv(TRAP)))
    assert [kind["name"] for kind in found["negatives"]] == [*sorted(kinds), "other"]
    assert "beside them" in poscount_("quantify", path, TRAP).out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["aegypti.csv", "male.csv"], "2 files of positives: name the target of each. Choose it"),
        (["aegypti.csv", "--targets", "a"], "only 'a': use RCQ"),
        (["aegypti.csv", "male.csv", "--targets", "a,b,c"], "3 targets (a, b, c) and 2 files"),
        (["aegypti.csv", "male.csv", "--targets", "a,a"], "'a' is there 2 times"),
        (["aegypti.csv", "male.csv", "--targets", "a,other"], "named 'other'"),
        (["aegypti.csv", "aegypti.csv", "--targets", "a,b"], "have the same rows"),
        (["aegypti.csv", "all.csv", "--targets", "a,b"], "aegypti.csv: column 'species'"),
        (["all.csv", "--target-column", "kind"], "no such column"),
        (["all.csv", "--target-column", "species", "--method", "pat"], "Leave --method out"),
        (["all.csv", "--target-column", "species", "--subclasses", "2"], "Leave --subclasses out"),
        (
            ["all.csv", "--target-column", "species", "--negatives", "male.csv"],
            "Leave --negatives out",
        ),
        (["aegypti.csv", "--method", "pat", "--negatives", "male.csv"], "rcq takes negatives"),
    ],
)
def test_mistakes(refused, folder, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(folder)
    assert sentence in refused("fit", *arguments, "-o", tmp_path / "x.poscount")
    assert not (tmp_path / "x.poscount").exists()


def test_a_missing_target_says_file_and_row(refused, folder, tmp_path):
    frame = pd.read_csv(folder / "all.csv")
    frame.loc[3, "species"] = None
    frame.to_csv(tmp_path / "gap.csv", index=False)
    options = ("--target-column", "species", "-o", tmp_path / "x.poscount")
    message = refused("fit", tmp_path / "gap.csv", *options)
    assert "gap.csv: column 'species', row 4: the target is missing" in message


def test_a_column_named_target_cannot_make_groups(refused, model, tmp_path):
    pd.read_csv(TRAP).rename(columns={"night": "target"}).to_csv(tmp_path / "t.csv", index=False)
    message = refused("quantify", model, tmp_path / "t.csv", "--by", "target")
    assert "column 'target'" in message


def test_the_door_for_front_ends(folder):
    """There is a result for each group and target."""
    positives = DataFiles([str(folder / "all.csv")])
    options = {"random_state": 0}
    model = fitting.fit([positives], target_column="species", options=options).model
    assert fitting.describe_targets(model) == dict.fromkeys(sorted(SPECIES), 150)
    results = estimates.quantify(model, DataFiles([TRAP]), by=["night"])
    assert [result.target for result in results[:4]] == [*sorted(SPECIES), "other"]
    assert results[0].group == {"night": "all rows", "target": "aegypti"}
    assert results[4].group == {"night": "2026-01-12", "target": "aegypti"}
