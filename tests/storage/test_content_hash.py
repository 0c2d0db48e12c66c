"""A model is what its hash says: whatever decides an answer changes it."""

import contextlib
import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import poscount
from benchmarks.robustness import swapped
from poscount import PAT, RCQ, FileError, InputError, registry
from poscount.calibration import doubt
from poscount.calibration.files import shipped
from poscount.cli import main
from poscount.data.columns import Columns
from poscount.methods.regions import quantifier
from poscount.storage import model_files
from poscount.storage.foreign_scorers import content_of
from poscount.storage.model_files import content_hash


@pytest.fixture(scope="module")
def rows():
    return swapped.rows(0)


@pytest.fixture(scope="module")
def model(rows):
    return RCQ(random_state=0).fit(rows[0])


@pytest.fixture(scope="module")
def own(rows):
    return RCQ(calibration=swapped.own_calibration(1), random_state=0).fit(rows[0])


DECIDES = {
    "confidence": lambda m: setattr(m, "confidence", 0.5),
    "recognisable": lambda m: setattr(m, "recognisable", True),
    "tolerance": lambda m: setattr(m, "tolerance", 0.3),
    "calibration": lambda m: setattr(m, "calibration_", swapped.own_calibration(2)),
    "no calibration": lambda m: setattr(m, "calibration_", None),
    "centres": lambda m: m.columns_.centres_.__iadd__(1),
    "precision": lambda m: m.columns_.precision_.__imul__(2),
    "shares": lambda m: m.columns_.shares_[3].__imul__(0.5),
    "limits": lambda m: m.part_.range_limits_.__imul__(2),
    "zeros": lambda m: m.part_.zeros_.__iadd__(1),
    "bins": lambda m: m.part_.binned_.__setitem__((0, 0), 1),
    "known rows": lambda m: m.known_rows_.__iadd__(1),
    "doubt": lambda m: setattr(m, "doubt_hash_", "0" * 64),
}


@pytest.mark.parametrize("what", DECIDES)
def test_whatever_decides_an_answer_is_in_the_hash(model, what, tmp_path):
    changed = copy.deepcopy(model)
    DECIDES[what](changed)
    assert content_hash(changed) != content_hash(model) == model.hash_
    with pytest.raises(InputError, match="not what its hash says"):
        changed.save(tmp_path / "model.poscount")
    assert not (tmp_path / "model.poscount").exists()
    swapped.write_model(changed, tmp_path / "forged.poscount")
    with pytest.raises(FileError, match="not what its hash says"):
        poscount.load(tmp_path / "forged.poscount")


def test_what_decides_no_answer_is_not_in_the_hash(rows, model):
    assert RCQ(random_state=0, n_jobs=2).fit(rows[0]).hash_ == model.hash_
    assert RCQ(calibration=shipped("RCQ"), random_state=0).fit(rows[0]).hash_ == model.hash_
    assert content_hash(pickle.loads(pickle.dumps(model))) == model.hash_


def test_a_shipped_calibration_is_named_and_not_copied(model, own, tmp_path):
    model.save(tmp_path / "shipped.poscount")
    own.save(tmp_path / "own.poscount")
    sizes = [(tmp_path / f"{name}.poscount").stat().st_size for name in ("shipped", "own")]
    assert sizes[0] < 40_000
    assert sizes[1] > sizes[0] + 200_000
    again = poscount.load(tmp_path / "shipped.poscount")
    assert again.calibration_ is shipped("RCQ")


def test_a_model_of_another_version_is_refused_in_a_sentence(model, tmp_path, monkeypatch):
    model.save(tmp_path / "model.poscount")
    changed = copy.deepcopy(shipped("RCQ"))
    changed.temperature_ *= 2
    model_files.mark_shipped(changed, "RCQ")
    with monkeypatch.context() as patched:
        patched.setattr(registry, "_shipped", lambda name: changed)
        with pytest.raises(FileError, match="another version of poscount had learned"):
            poscount.load(tmp_path / "model.poscount")
    monkeypatch.setattr(quantifier, "shipped_doubt_hash", lambda: "1" * 64)
    with pytest.raises(FileError, match="another version of poscount had learned"):
        poscount.load(tmp_path / "model.poscount")
    assert doubt.shipped_doubt_hash() == model.doubt_hash_


def test_an_unknown_shipped_calibration_is_refused():
    with pytest.raises(ValueError, match="no shipped calibration"):
        shipped("../calibration/doubt")


def test_ones_own_calibration_is_named_everywhere(own, rows, tmp_path, capsys, monkeypatch):
    def printed(*words):
        monkeypatch.setattr("sys.argv", ["poscount", *map(str, words)])
        with contextlib.suppress(SystemExit):
            main()
        return " ".join(capsys.readouterr().out.split())

    own.save(tmp_path / "own.poscount")
    answer = poscount.load(tmp_path / "own.poscount").quantify(rows[1])
    name = own.calibration_.own_name
    assert answer.details["own_calibration"] == name
    assert name in printed("show", tmp_path / "own.poscount")
    rows[1].to_csv(tmp_path / "trap.csv", index=False)
    said = printed("quantify", tmp_path / "own.poscount", tmp_path / "trap.csv")
    assert f"a calibration of your own ({name})" in said
    assert name in str(poscount.diagnose(own, rows[1]))


@pytest.mark.parametrize("scorer", ["isolation-forest", "local-outlier-factor", "one-class-svm"])
def test_scorers_of_other_libraries_are_in_the_hash(rows, scorer, tmp_path):
    pytest.importorskip("skops")
    numbers = rows[0][["size", "age"]]
    model = PAT(registry.scorer(scorer), random_state=0).fit(numbers)
    again = PAT(registry.scorer(scorer), random_state=0).fit(numbers)
    assert model.hash_ == again.hash_
    before = content_of(model.scorer_)
    model.quantify(rows[1][["size", "age"]])
    assert content_of(model.scorer_) == before
    model.save(tmp_path / "model.poscount")
    loaded = poscount.load(tmp_path / "model.poscount", trusted=swapped.TRUSTED)
    assert loaded.hash_ == model.hash_
    step = loaded.scorer_.steps[-1][1]
    step.offset_ = step.offset_ + 0.1
    assert content_hash(loaded) != model.hash_


@pytest.mark.parametrize(
    ("parameters", "words"),
    [({"degree": 60}, "degree of its PolynomialFeatures"), ({"degree": "many"}, "degree")],
)
def test_impossible_parameters_of_scorers_are_refused(rows, parameters, words, tmp_path):
    pytest.importorskip("skops")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures
    from sklearn.svm import OneClassSVM

    pipeline = make_pipeline(PolynomialFeatures(2), OneClassSVM())
    model = PAT(pipeline, random_state=0).fit(rows[0][["size", "age"]])
    model.scorer_.steps[0][1].set_params(**parameters)
    model.hash_ = content_hash(model)
    with pytest.raises(InputError, match=words):
        model.save(tmp_path / "model.poscount")


def test_checks_take_time_in_proportion_to_the_columns():
    """Ten times as many columns: with a search in a list for each, a hundred times as long."""
    calibration = copy.deepcopy(shipped("RCQ"))
    calibration.columns_ = [f"{i}_ratio" for i in range(64_000)]
    calibration.least_ = calibration.most_ = np.zeros(64_000)
    with pytest.raises(ValueError, match="too many columns"):
        calibration.check_learned()
    names = [str(i) for i in range(64_000)]
    Columns.plain(names).check_learned()


LABELS = {
    "numbers": [7, 3],
    "dates": list(pd.to_datetime(["2026-01-01", "2026-01-02"])),
    "pairs": pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]),
    "of two types": ["a", 1],
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("method", ["rcq", "extice"])
def test_columns_are_chosen_by_whatever_they_are_called(rows, labels, method):
    tables = [each[["size", "age"]].assign(age=each["age"] * 5 + 20) for each in rows]
    expected = registry.method(method)(random_state=0).fit(tables[0]).quantify(tables[1])
    positives, sample = (each.set_axis(LABELS[labels], axis=1) for each in tables)
    model = registry.method(method)(random_state=0).fit(positives)
    exchanged = sample.iloc[:, ::-1]
    assert float(model.quantify(sample)) == float(model.quantify(exchanged)) == float(expected)
    with pytest.raises(InputError, match="this column is missing"):
        model.quantify(sample.iloc[:, :1])
