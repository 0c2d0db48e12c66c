"""What an earlier version answered and wrote: answers have not changed, and its files are read."""

import importlib.util
import json
import sys
from pathlib import Path

import pytest

import poscount
from poscount import Counts
from poscount.example import load_example
from poscount.storage import container

ROOT = Path(__file__).parents[1]
EARLIER = ROOT / "tests" / "earlier"
# At the end, because there is an `answers.py` among the tests, too.
sys.path.append(str(ROOT / "benchmarks"))
place = importlib.util.spec_from_file_location("earlier", ROOT / "benchmarks" / "answers.py")
answers = importlib.util.module_from_spec(place)
place.loader.exec_module(answers)
PREVALENCES = json.loads((EARLIER / "prevalences.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def trap():
    return load_example("pyarrow").trap


def test_every_model_file_is_compared():
    assert {path.stem for path in EARLIER.glob("*.poscount")} == set(PREVALENCES)


@pytest.mark.parametrize("name", PREVALENCES)
def test_model_files_answer_as_before(name, trap):
    model = poscount.load(EARLIER / f"{name}.poscount")
    expected = float.fromhex(PREVALENCES[name])
    assert float(model.quantify(trap[:500])) == pytest.approx(expected, rel=0, abs=1e-9)


@pytest.mark.parametrize("path", sorted(EARLIER.glob("*.counts")), ids=lambda path: path.stem)
def test_counts_files_belong_to_their_models(path, trap):
    counts, model = Counts.load(path), poscount.load(path.with_suffix(".poscount"))
    now = model.count(trap[:1000])
    # What is counted of gaps comes last, and these rows have none.
    n = len(counts.cells)
    assert (counts.model, counts.n) == (now.model, now.n)
    assert now.cells[:n].tolist() == counts.cells.tolist()
    assert not now.cells[n:].any()
    assert model.estimate(counts + model.count(trap[1000:1500])).n_unlabeled == 1500


def test_models_fitted_again_accept_the_counts(trap):
    positives = load_example("pyarrow").positives[:60]
    for path in sorted(EARLIER.glob("*.counts")):
        earlier = poscount.load(path.with_suffix(".poscount"))
        again = type(earlier)(random_state=earlier.seed_).fit(positives)
        assert again.hash_ == earlier.hash_


def test_models_that_have_counted_less_must_be_fitted_again(tmp_path):
    meta, arrays = container.read(EARLIER / "rcq.poscount", "model")
    del meta["model"]["state"]["range_limits_"], arrays["model.range_limits_"]
    container.write(tmp_path / "rcq.poscount", "model", meta, arrays)
    with pytest.raises(poscount.FileError, match="fit the model again"):
        poscount.load(tmp_path / "rcq.poscount")


def test_all_answers_are_as_before():
    earlier, found = answers.read(EARLIER / "answers.json.gz"), answers.answers()
    assert len(found) == len(earlier) > 1000
    # Another machine's linear algebra may differ in the last bits.
    assert list(answers.differences(earlier, found, tolerance=1e-9)) == []


VERSION = {answers.VERSION: "1"}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({"a: hash": "x", "b: hash": "x", "c: hash": "y"}, []),
        ({"a: hash": "x", "b: hash": "z", "c: hash": "y"}, ["b: hash and a: hash were equal"]),
        ({"a: hash": "x", "b: hash": "x", "c: hash": "x"}, ["c: hash and a: hash are now equal"]),
    ],
)
def test_hashes_are_compared_by_a_table(new, expected):
    old = {"a: hash": "1", "b: hash": "1", "c: hash": "2"}
    assert list(answers.differences(old | VERSION, new | VERSION, 0.0)) == expected


def test_differences_are_found(monkeypatch):
    old = {"p": {"value": (0.5).hex(), "H": 1, "codes": "far drift"}, "weighted: p": 1} | VERSION
    new = {"p": {"value": (0.25).hex(), "G": 1, "codes": "far moved"}, "weighted: p": 2} | VERSION
    assert len([*answers.differences(old, new, 0.0)]) == 5
    monkeypatch.setattr(answers, "RENAMED", {"H": "G", "drift": "moved"})
    monkeypatch.setattr(answers, "MAY_DIFFER", ("weighted: ",))
    different = "p value: 0x1.0000000000000p-1 became 0x1.0000000000000p-2"
    assert [*answers.differences(old, new, 0.0)] == [different]
    assert [*answers.differences(old, new, 0.3)] == []
