"""What the user knows: it reaches every calibration, and stays with the model and its answers."""

import numpy as np
import pytest
from sklearn.base import clone

import poscount
from poscount import RCQ, TRCQ, MultiRCQ, RCQWithNegatives, SubclassRCQ, diagnose
from poscount.calibration.calibration import Calibration
from poscount.errors import InputError
from poscount.results.user_knowledge import knowledge_in_words

NEARLY_ALWAYS = (
    "It was said that somebody who knows the field could nearly always tell a positive from these "
    "columns."
)
OFTEN_NOT = NEARLY_ALWAYS.replace("nearly always", "often not")

# Each method, how it is fitted, and the calibrations that it asks for one sample.
METHODS = {
    "RCQ": (RCQ(), lambda model, a, b: model.fit(a), 1),
    "TRCQ": (TRCQ(), lambda model, a, b: model.fit(a), 1),
    "SubclassRCQ": (SubclassRCQ(2), lambda model, a, b: model.fit(np.vstack([a, b])), 4),
    "RCQWithNegatives": (
        RCQWithNegatives(),
        lambda model, a, b: model.fit(a, negatives=b),
        4,
    ),
    "MultiRCQ": (MultiRCQ(), lambda model, a, b: model.fit({"a": a, "b": b}), 3),
}


@pytest.fixture(scope="module")
def groups():
    rng = np.random.default_rng(0)
    return rng.normal(size=(80, 3)), rng.normal(size=(80, 3)) + 4


@pytest.fixture
def said(monkeypatch):
    """What calibrations are told."""
    values, estimate = [], Calibration.estimate

    def listen(self, *arguments, recognisable):
        values.append(recognisable)
        return estimate(self, *arguments, recognisable=recognisable)

    monkeypatch.setattr(Calibration, "estimate", listen)
    return values


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("recognisable", [True, False, None])
def test_every_calibration_is_told(groups, said, name, recognisable):
    model, fit, n_calibrations = METHODS[name]
    model = clone(model).set_params(recognisable=recognisable, random_state=0)
    answer = fit(model, *groups).quantify(np.vstack(groups))
    assert said == [recognisable] * n_calibrations
    shares = answer.values() if name == "MultiRCQ" else [answer]
    for share in shares:
        # Nothing is said about what nobody knows.
        assert share.details.get("recognisable", None) is recognisable
        assert ("recognisable" in share.details) == (recognisable is not None)


@pytest.mark.parametrize("name", METHODS)
def test_it_stays_with_the_model(groups, said, name, tmp_path):
    model, fit, n_calibrations = METHODS[name]
    assert model.get_params()["recognisable"] is None
    model = clone(model).set_params(recognisable=True, random_state=0)
    assert clone(model).recognisable is True
    fit(model, *groups).save(tmp_path / "m.poscount")
    loaded = poscount.load(tmp_path / "m.poscount")
    assert loaded.recognisable is True
    # Like confidence, it is about answers and not about what was learned.
    loaded.set_params(recognisable=False).quantify(groups[0])
    assert said == [False] * n_calibrations


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("wrong", ["yes", 1, 0.5])
def test_it_is_true_false_or_not_known(groups, name, wrong, tmp_path):
    model, fit, _ = METHODS[name]
    with pytest.raises(ValueError, match="'recognisable' parameter of"):
        fit(clone(model).set_params(recognisable=wrong), *groups)
    fitted = fit(clone(model), *groups).set_params(recognisable=wrong)
    with pytest.raises(ValueError, match=r"This model cannot be saved: .*recognisable"):
        fitted.save(tmp_path / "m.poscount")


def test_it_is_part_of_the_model_though_not_of_its_counts(groups):
    models = [RCQ(recognisable=value, random_state=0).fit(groups[0]) for value in (None, True)]
    counts = [model.count(groups[1]) for model in models]
    assert np.array_equal(counts[0].cells, counts[1].cells)
    with pytest.raises(InputError, match="another model"):
        models[1].estimate(counts[0])


@pytest.mark.parametrize(
    ("values", "sentences"),
    [
        ({}, []),
        ({"recognisable": None, "tolerance": 0.05}, []),
        ({"recognisable": True}, [NEARLY_ALWAYS]),
        ({"recognisable": np.False_}, [OFTEN_NOT]),
        (
            {"tolerance": 0.2},
            [
                "The estimate allows for columns that were recorded differently in the sample, by "
                "0.2 standard deviations of the positives."
            ],
        ),
    ],
)
def test_sentences(values, sentences):
    assert knowledge_in_words(values) == sentences


def test_the_assumption_report_says_it(groups):
    pytest.importorskip("matplotlib")
    found = diagnose(RCQ(recognisable=False, random_state=0).fit(groups[0]), groups[0])
    assert OFTEN_NOT in str(found).splitlines()
    assert f"<p>{OFTEN_NOT}</p>" in found.to_html()
    unsaid = diagnose(RCQ(random_state=0).fit(groups[0]), groups[0])
    assert "It was said" not in f"{unsaid}{unsaid.to_html()}"
