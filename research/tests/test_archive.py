"""Results as Parquet files and back, and that the committed ones are those of this code."""

import sqlite3

import numpy as np
import pytest

from research.datasets import load
from research.experiments import Store, methods, run
from research.experiments.archive import export, restore
from research.experiments.protocols import Place
from research.experiments.runner import Unit, evaluate
from research.report import frames
from research.tests import committed

COLUMNS = "experiment, dataset, method, point, truth, n_labeled, n_unlabeled, warnings, error, run"


def rows_of(path, columns="*"):
    with sqlite3.connect(path) as connection:
        return connection.execute(
            f"SELECT {columns} FROM evaluations ORDER BY 1, 2, 3, 7"
        ).fetchall()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "results.sqlite"
    with Store(path, seed=3) as store:
        for experiment in "14":
            names = ["pat", "bft", "pat:q=(3,4)"]
            list(run(store, [experiment], ["overlap-half"], names, seed=3, repetitions=1, n_jobs=1))
    return path


def test_what_comes_back_is_what_was_written(results, tmp_path):
    export(results, tmp_path / "folder")
    back = tmp_path / "back.sqlite"
    count = restore(tmp_path / "folder", back)
    assert count == len(rows_of(results)) > 0
    assert rows_of(back, COLUMNS) == rows_of(results, COLUMNS)
    ours, theirs = (frames.read(path) for path in (back, results))
    assert ours.about == theirs.about
    assert ours.datasets.equals(theirs.datasets)
    assert ours.runs.equals(theirs.runs)
    for column in ("estimate", "low", "high"):
        left, right = (read.evaluations[column].to_numpy() for read in (ours, theirs))
        assert np.allclose(left, right, rtol=0, atol=1e-6, equal_nan=True)
    for one, other in zip(ours.curves, theirs.curves, strict=True):
        assert np.abs(one.estimates - other.estimates).max() < 1e-6
    assert frames.seconds(ours.evaluations).equals(frames.seconds(theirs.evaluations))


def test_a_restored_file_is_completed_and_not_repeated(results, tmp_path):
    export(results, tmp_path / "folder")
    restore(tmp_path / "folder", tmp_path / "back.sqlite")
    with Store(tmp_path / "back.sqlite", seed=3) as store:
        arguments = (store, ["1"], ["overlap-half"])
        done, *_ = run(*arguments, ["pat", "bft"], seed=3, repetitions=1, n_jobs=1)
        assert done.total == 0
        more, *_ = run(*arguments, ["pat"], seed=3, repetitions=2, n_jobs=1)
        assert more.total == 5
    with pytest.raises(FileExistsError, match="There is a results file already"):
        restore(tmp_path / "folder", tmp_path / "back.sqlite")


@pytest.mark.parametrize(
    ("place", "names"),
    [
        (Place("1", "W", "", 0, 0), ("pat", "odin", "tice", "extice", "en-auto", "pe-published")),
        (Place("2", "L", "", 0, 0), ("pat", "tice", "extice")),
        (Place("3", "P", "8", 0, 0), ("pat", "tice", "extice", "minimum")),
    ],
)
def test_the_committed_evaluations_are_those_of_this_code(
    place, names, paper_directory, monkeypatch
):
    monkeypatch.setenv("POSCOUNT_DATA", str(paper_directory))
    frame = committed.stored().evaluations
    for column, value in zip(place._fields, place, strict=True):
        frame = frame[frame[column] == value]
    dataset = load(place.dataset)
    for method in methods.select(names):
        theirs = frame[frame["method"] == method.name].sort_values("point")
        ours = evaluate(dataset, Unit(place, (method,)), 0)
        assert [row.truth for row in ours] == theirs["truth"].to_list()
        found = [row.estimate for row in ours]
        # Support vector machines are not exact in the last digits on every processor.
        assert found == pytest.approx(theirs["estimate"].to_list(), abs=1e-4)
