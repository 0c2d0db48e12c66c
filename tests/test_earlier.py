"""What an earlier version answered and wrote: answers have not changed, and its files are read."""

import gzip
import json
from pathlib import Path

import pytest

import poscount
from benchmarks.regression import answers
from poscount import Counts, container
from poscount.example import load_example

ROOT = Path(__file__).parents[1]
EARLIER = ROOT / "tests" / "earlier"
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
    del meta["model"]["state"]["limits_"], arrays["model.limits_"]
    container.write(tmp_path / "rcq.poscount", "model", meta, arrays)
    with pytest.raises(poscount.FileError, match="fit the model again"):
        poscount.load(tmp_path / "rcq.poscount")


def test_all_answers_are_as_before():
    with gzip.open(EARLIER / "answers.json.gz") as file:
        earlier = json.load(file)
    found = answers.answers()
    assert len(found) == len(earlier) > 300
    # Another machine's linear algebra may differ in the last bits.
    assert list(answers.differences(earlier, found, tolerance=1e-9)) == []
