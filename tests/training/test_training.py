"""Tasks with a known truth, banks of them, and what is learned from a bank."""

import json

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import poscount
from poscount import RCQ
from poscount.calibration.calibration import N_CLASSES, RECOGNISABLE, probabilities
from poscount.calibration.files import read_calibration
from poscount.calibration.trees import DEPTH, N_LEAVES, trees_of_boosting
from poscount.cli import main
from poscount.errors import FileError
from poscount.results.distribution import ends_at
from poscount.seeds import stream
from poscount.storage import container
from poscount.training import bank as banks
from poscount.training import learning
from poscount.training.bank import Bank, make_bank, read_bank
from poscount.training.sources import Source, read_table
from poscount.training.tasks import (
    Limits,
    Task,
    draw_mixture,
    draw_real,
    draw_samples,
    recognisable,
    record_differently,
    some_of,
)
from research.calibrations import as_numbers

SMALL = Limits(n_labeled=200, n_rows=300, n_samples=3)


def some_source(seed=0):
    rng = np.random.default_rng(seed)
    classes = rng.integers(4, size=900)
    return Source("some", "some", rng.normal(size=(900, 5)) + 2 * classes[:, np.newaxis], classes)


@pytest.mark.parametrize("number", range(20))
def test_samples_have_the_prevalence_that_is_told(number):
    source = some_source()
    # Every feature tells the class, so whichever columns are drawn, rows can be counted.
    named = source._replace(features=np.repeat(source.classes[:, np.newaxis], 5, axis=1) * 1.0)
    rng = stream(0, f"test {number}")
    task = draw_real(named, rng, SMALL)
    for sample in draw_samples(task, rng, SMALL):
        assert 0 < len(sample.rows) <= 300
        share = np.isin(sample.rows[:, 0], np.unique(task.labeled[:, 0])).mean()
        assert sample.prevalence == pytest.approx(share)


def test_no_row_is_learned_from_and_counted():
    source = some_source()
    numbered = source._replace(features=np.column_stack([source.features, np.arange(900.0)]))
    for number in range(10):
        rng = stream(0, f"test {number}")
        task = draw_real(numbered, rng, SMALL)
        if task.labeled.shape[1] == 6:
            for sample in draw_samples(task, rng, SMALL):
                assert not np.isin(sample.rows, task.labeled).any(axis=1).any()


def test_synthetic_tasks():
    for number in range(10):
        rng = stream(0, f"test {number}")
        task = draw_mixture(rng, SMALL)
        assert np.isfinite(task.labeled).all()
        for sample in draw_samples(task, rng, SMALL):
            assert np.isfinite(sample.rows).all()
            assert sample.rows.shape[1] == task.labeled.shape[1]


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(banks, "PART", 4)
    monkeypatch.setitem(banks.LIMITS, "RCQ", SMALL)


def equal(one, two):
    return all(
        np.array_equal(getattr(one, name), getattr(two, name), equal_nan=name == "lines")
        for name in ("lines", "truth", "source", "task")
    )


def test_a_bank_can_be_interrupted_and_does_not_depend_on_processes(tmp_path, quick):
    plan = [(some_source(), 10), ("mixture", 4)]
    made = make_bank(tmp_path / "whole", "RCQ", plan)
    whole = read_bank(made)
    assert whole.method == "RCQ"
    assert len(whole.truth) > 20
    make_bank(tmp_path / "parts", "RCQ", plan[:1])
    sorted((tmp_path / "parts").iterdir())[0].unlink()
    assert equal(read_bank(make_bank(tmp_path / "parts", "RCQ", plan, n_jobs=2)), whole)
    assert not equal(read_bank(make_bank(tmp_path / "other", "RCQ", plan, seed=1)), whole)


def test_what_else_is_in_the_folder_is_not_read(tmp_path, quick):
    make_bank(tmp_path, "RCQ", [("mixture", 4), ("parity", 4)])
    files = make_bank(tmp_path, "RCQ", [("mixture", 3)])
    assert set(read_bank(files).source) == {"mixture"}
    assert set(read_bank(files).task) <= {0, 1, 2}


def test_another_table_of_the_same_name_is_noticed(tmp_path, quick):
    make_bank(tmp_path, "RCQ", [(some_source(0), 4)])
    with pytest.raises(FileError, match="other data"):
        make_bank(tmp_path, "RCQ", [(some_source(1), 4)])


def test_a_bank_of_another_seed_is_not_completed(tmp_path, quick):
    make_bank(tmp_path, "RCQ", [("mixture", 4)])
    with pytest.raises(FileError, match="another seed"):
        make_bank(tmp_path, "RCQ", [("mixture", 4)], seed=1)


def test_no_bank():
    with pytest.raises(ValueError, match="no bank"):
        read_bank([])


def test_words_and_gaps_in_tables(tmp_path):
    path = tmp_path / "history.csv"
    path.write_text("a,b,kind\n" + "1,x,p\n,y,n\n3,x,p\n" * 40)
    source = read_table(path, "kind")
    # Gaps stay gaps, and words are their places in the alphabet.
    expected = [[1, 0], [np.nan, 1], [3, 0]]
    assert np.array_equal(source.features[:3], expected, equal_nan=True)
    assert source.words == (1,)
    # For methods of numbers: the mean instead of the gap, and a column for each word.
    numbers = as_numbers(source)
    assert numbers.features[:3].tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]
    assert numbers.words == ()
    assert source.classes[:3].tolist() == [1, 0, 1]
    assert source.kin == "history"
    with pytest.raises(poscount.InputError, match="no such column"):
        read_table(path, "class")
    # A user's column is never dropped for its name.
    path.write_text("sex,kind\n" + "1,p\n0,n\n" * 60)
    assert read_table(path, "kind").features.shape == (120, 1)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a,kind\n" + "1,p\n" * 99, "no task"),
        ("a,kind\n1,p\n2,n\n", "no task"),
        ("kind\np\n", "no column"),
    ],
)
def test_tables_without_a_task(tmp_path, text, fault):
    path = tmp_path / "history.csv"
    path.write_text(text)
    with pytest.raises(poscount.InputError, match=fault):
        read_table(path, "kind")


def test_the_command_makes_one_from_a_table_of_one_s_own(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(banks.LIMITS, "RCQ", SMALL._replace(n_rows=100, n_samples=1))
    rng = np.random.default_rng(0)
    kinds = rng.integers(3, size=600)
    rows = rng.normal(size=(600, 2)) + 3 * kinds[:, np.newaxis]
    lines = [f"{a},{b},k{kind}" for (a, b), kind in zip(rows, kinds, strict=True)]
    (tmp_path / "history.csv").write_text("\n".join(["a,b,kind", *lines]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(learning, "N_TREES", 5)
    command = "calibrate history.csv --label kind --tasks 100 -o own.npz --n-jobs 1"
    monkeypatch.setattr("sys.argv", ["poscount", *command.split()])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code in (0, None)
    assert "learned from 125 tasks" in capsys.readouterr().out
    own = read_calibration(tmp_path / "own.npz")
    assert json.loads(own.provenance_)["tasks"] == {"history": 100, "mixture": 25}
    answer = RCQ(calibration=str(tmp_path / "own.npz"), random_state=0).fit(rows[kinds == 0])
    assert 0 <= answer.quantify(rows) <= 1


def test_a_bank_file_is_checked_as_every_other(tmp_path, quick):
    make_bank(tmp_path, "RCQ", [("mixture", 4)])
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileError, match="damaged"):
        container.read(path, "bank")


def test_arrays_predict_what_scikit_learn_predicts():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2000, 6)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    target = np.nansum(rows[:, :3], axis=1)
    model = HistGradientBoostingClassifier(
        max_iter=20, max_depth=DEPTH, max_leaf_nodes=N_LEAVES, early_stopping=False
    ).fit(rows, np.digitize(target, [-1, 0, 1]))
    found = probabilities(trees_of_boosting(model).predict(rows), 1.0)
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-5)


def distributions_of(n, seed=0):
    """Lines whose truth is p plus normal noise in gaps, so that all quantiles are known."""
    rng = np.random.default_rng(seed)
    p, gap = rng.uniform(0.4, 0.6, n), rng.uniform(0.02, 0.06, n)
    truth = p + gap * rng.normal(size=n) / 2
    sizes = np.full(n, np.log(10**6)), np.full(n, np.log(500))
    lines = np.column_stack([p, p + gap, gap, *sizes, rng.integers(2, size=n)])
    columns = ["prevalence", "high", "gap", "log_rows", "log_positives", RECOGNISABLE]
    kin = np.array([f"kin {k}" for k in rng.integers(10, size=n)])
    return Bank("RCQ", columns, lines, truth, kin, kin, np.arange(n))


def test_a_calibration_learns_a_known_distribution(monkeypatch):
    monkeypatch.setattr(learning, "N_TREES", 20)
    calibration = learning.learn(distributions_of(6000), {})
    fresh = distributions_of(2000, seed=1)
    answers, unfamiliar = calibration.estimate(fresh.lines[:, :-1], fresh.columns[:-1], 0.9)
    assert not unfamiliar.any()
    for level in (0.5, 0.8, 0.9, 0.95):
        low, high = ends_at(answers.quantiles, level)
        held = np.mean((low <= fresh.truth) & (fresh.truth <= high))
        # Five standard errors of a share of 2,000, and what steps are coarse by.
        assert held == pytest.approx(level, abs=5 * np.sqrt(level * (1 - level) / 2000) + 0.01)
    gap = fresh.lines[:, 2]
    assert np.mean(np.abs(answers.value - fresh.lines[:, 0]) / gap) < 0.2


def test_sharper_sums_need_a_higher_temperature():
    bank = distributions_of(3000)
    classes = learning.classes_of(bank)
    shares = np.bincount(classes, minlength=N_CLASSES) / len(classes) + 1e-6
    right = np.tile(np.log(shares), (len(classes), 1))
    found = [learning.fit_temperature(bank, sharpness * right) for sharpness in (0.8, 1.0, 1.4)]
    assert found[0] < found[1] < found[2]
    assert found[1] == pytest.approx(1, abs=0.16)


def test_recognisable_tasks():
    rng = np.random.default_rng(0)
    pool = some_source().features

    def task(apart):
        sides = [
            lambda n, rng: rng.normal(size=(n, 3)),
            lambda n, rng: rng.normal(size=(n, 3)) + apart,
        ]
        return Task(pool, *sides, 1000, 1000)

    assert recognisable(task(4.0), rng)
    assert not recognisable(task(0.5), rng)


def test_samples_recorded_differently_differ_by_what_is_allowed():
    rng = np.random.default_rng(0)
    labeled = rng.normal(size=(500, 3)) * [1, 10, 100]
    labeled[:, 2] = rng.integers(4, size=500)
    task = Task(labeled, some_of(labeled), some_of(labeled), 100, 100, words=(2,))
    rows, changes = labeled[:100], []
    for _ in range(200):
        seen = record_differently(task, rows, 0.1, rng)
        assert np.array_equal(seen[:, 2], rows[:, 2])
        changes.append(np.abs(seen - rows)[:, :2] / labeled.std(axis=0)[:2])
    unchanged = np.mean([not change.any() for change in changes])
    assert 0.25 < unchanged < 0.55
    # Most of what is allowed in all columns; a single one, and noise, may change by more.
    assert np.median([change.mean() for change in changes if change.any()]) < 0.1
    assert np.max(changes) < 1.5
