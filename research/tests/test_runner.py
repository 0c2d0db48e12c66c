"""The runner: only what is missing, the same with any workers, and no harm from SIGKILL."""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

from poscount import KM1, KM2
from research.datasets import load
from research.experiments import Store, protocols, run
from research.experiments import methods as experiment_methods

# Everything but times, and which run it was.
RESULTS = (
    "SELECT experiment, dataset, method, negative, repetition, fold, point, truth, estimate, low, "
    "high, n_labeled, n_unlabeled, warnings, curve, error FROM evaluations ORDER BY 1,2,3,4,5,6,7"
)


SMALL = "small.csv:positive=yes"


@pytest.fixture(autouse=True)
def small(tmp_path, monkeypatch):
    """A small data set of our own, in the current folder."""
    rng = np.random.default_rng(0)
    labels = np.repeat(["yes", "no", "never"], [150, 100, 100])
    features = rng.normal(size=(350, 2)) + 3 * (labels != "yes")[:, np.newaxis]
    lines = [f"{a},{b},{label}" for (a, b), label in zip(features, labels, strict=True)]
    (tmp_path / "small.csv").write_text("\n".join(["a,b,class", *lines]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # for commands


def results(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return connection.execute(RESULTS).fetchall()
    finally:
        connection.close()


def finish(path, methods, *, experiments=("4",), datasets=(SMALL,), **options):
    with Store(path, seed=0) as store:
        return list(run(store, experiments, datasets, methods, seed=0, **options))


def test_only_what_is_missing_is_run(tmp_path):
    path = tmp_path / "results.sqlite"
    assert finish(path, ["pat"])[0].total == 1
    assert finish(path, ["pat"])[0].total == 0
    steps = finish(path, ["pat", "tice"])
    assert [(step.done, step.total) for step in steps] == [(0, 1), (1, 1)]
    assert steps[-1].seconds_left == 0
    assert len(results(path)) == 22
    # A run of nothing is no run.
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT COUNT(*) FROM runs").fetchone() == (2,)


def test_more_repetitions_later_are_the_same_as_at_once(tmp_path):
    few_first, at_once = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    options = {"experiments": ["1"], "n_jobs": 1}
    finish(few_first, ["pat"], repetitions=1, **options)
    finish(few_first, ["pat", "odin"], repetitions=2, **options)
    finish(at_once, ["odin", "pat"], repetitions=2, **options)
    assert results(few_first) == results(at_once)
    assert len(results(at_once)) == 2 * 2 * 5 * 11


def test_workers_do_not_matter(tmp_path):
    one, two = tmp_path / "one.sqlite", tmp_path / "two.sqlite"
    methods = ["pat", "extice", "dedpul", "bft"]
    options = {"experiments": ["2", "4"], "repetitions": 1}
    finish(one, methods, n_jobs=1, **options)
    finish(two, methods, n_jobs=2, **options)
    assert results(one) == results(two)


def test_methods_of_one_model_are_computed_once_and_agree_with_the_methods_alone(tmp_path):
    path = tmp_path / "results.sqlite"
    assert finish(path, ["km1", "km2"])[0].total == 1
    dataset = load(SMALL)
    (place,) = protocols.places("4", dataset)
    for positives, sample in list(protocols.evaluations(dataset, place, 0))[::5]:
        for name, quantifier in [("km1", KM1()), ("km2", KM2())]:
            (found,) = [row[8] for row in results(path) if row[2:7:4] == (name, sample.point)]
            assert found == quantifier.fit(positives).quantify(sample.rows)


def test_a_failing_method_is_recorded_and_does_not_stop_the_rest(tmp_path):
    path = tmp_path / "results.sqlite"
    steps = finish(path, ["pat:q=(3,4)", "pat"])
    assert steps[-1].failed == 11
    found = results(path)
    errors = {row[2]: row[-1] for row in found}
    assert errors["pat"] is None
    assert errors["pat:q=(3,4)"].startswith("ValueError: q is one quantile or a range")
    assert finish(path, ["pat:q=(3,4)", "pat"])[0].total == 0
    with Store(path, seed=0) as store:
        assert store.forget_failures() == 11
    assert finish(path, ["pat:q=(3,4)", "pat"])[0].total == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"methods": ["patt"]}, "no method 'patt'; the methods are .*pat, "),
        ({"methods": ["pat"], "datasets": ["Q"]}, "'Q' is neither a data set .A, "),
        ({"methods": ["pat"], "experiments": ["7"]}, "no experiment '7'; the experiments are 1, 2"),
        ({"methods": ["pat:q"]}, "'q' is no parameter; write name=value"),
    ],
)
def test_unknown_names_list_the_known_ones(tmp_path, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        finish(tmp_path / "results.sqlite", **options)


def test_names_of_methods():
    assert experiment_methods.select(["paper"])[0].name == "pat"
    names = [method.name for method in experiment_methods.select(["all", "scorers", "pat"])]
    assert len(set(names)) == len(names)
    assert {"pat", "pat-shrunk", "rcq", "km1-published"} <= set(names)
    method = experiment_methods.make("en:gamma=auto,held_out=False", 7, "L")
    assert (method.gamma, method.held_out, method.random_state) == ("auto", False, 7)


def test_the_paper_s_data_sets_do_not_judge_themselves():
    assert experiment_methods.make("rcq", 0, "L").calibration == "null"
    assert experiment_methods.make("trcq", 0, "vowels-network").calibration == "null"
    assert experiment_methods.make("rcq", 0, "mine").calibration == "experience"
    assert experiment_methods.make("rcq:calibration=experience", 0, "L").calibration == "experience"


COMMAND = [
    *(sys.executable, "-m", "research", "reproduce", "1", "--datasets", SMALL),
    *("--methods", "pat", "odin", "--repetitions", "4", "--n-jobs"),
]


def rows_in(path):
    try:
        return len(results(path))
    except sqlite3.Error:  # there is nothing yet, or it is just being written
        return 0


def killed_and_resumed(path, n_kills, n_jobs, seed):
    """Kill the command n times, each at a random moment, and then let it finish."""
    rng = random.Random(seed)
    command = [*COMMAND, n_jobs, "-o", str(path), "--report", str(path.with_suffix(""))]
    total = 2 * 4 * 5 * 11
    killed_at = []
    for i in range(n_kills):
        process = subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        # Somewhere between here and where the last kill would be, then a little later.
        goal = rows_in(path)
        goal += rng.uniform(0, 2 * (total - goal) / (n_kills - i + 1))
        deadline = time.monotonic() + 60
        while process.poll() is None and rows_in(path) < goal and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.05))
        with contextlib.suppress(ProcessLookupError):  # it may have finished
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        killed_at.append(rows_in(path))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return killed_at


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="Windows kills no groups of processes")
@pytest.mark.parametrize(
    ("n_kills", "n_jobs"), [(1, "1"), pytest.param(20, "2", marks=pytest.mark.slow, id="twenty")]
)
def test_killed_at_random_moments(tmp_path, n_kills, n_jobs):
    whole = tmp_path / "whole.sqlite"
    finish(whole, ["pat", "odin"], experiments=["1"], repetitions=4, n_jobs=1)
    for seed in range(1, 6):
        broken = tmp_path / f"broken-{seed}.sqlite"
        killed_at = killed_and_resumed(broken, n_kills, n_jobs, seed)
        assert results(broken) == results(whole)
        # On a busy machine, all kills may come before the first result or after the last one.
        if any(0 < n < len(results(whole)) for n in killed_at):
            return
    pytest.fail("no kill came in the middle")
