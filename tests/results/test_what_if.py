"""What if: the answer under each assumption that the data cannot settle."""

import copy
import json
import pickle

import numpy as np
import pandas as pd
import pytest

from poscount import PAT, RCQ, TRCQ, RCQWithNegatives, SubclassRCQ, diagnose
from poscount.errors import InputError
from poscount.results.what_if import ASSUMPTIONS


def around(rng, centre, n):
    return rng.normal(size=(n, 3)) + centre


@pytest.fixture(scope="module")
def overlap():
    """Half of the positives, and all negatives, are around 3: look-alikes, or another share."""
    rng = np.random.default_rng(0)
    positives = np.vstack([around(rng, 0, 250), around(rng, 3, 250)])
    return positives, np.vstack([around(rng, 0, 150), around(rng, 3, 850)])


def test_the_two_explanations_of_one_sample(overlap):
    # Either 300 of the rows are positive and 700 around 3 are not, or all rows are positive and
    # their kinds have other shares. No method can tell, and the readings say both.
    positives, sample = overlap
    readings = SubclassRCQ(2, random_state=0).fit(positives).quantify(sample).what_if()
    assert [reading.code for reading in readings] == list(ASSUMPTIONS)
    assert 0.3 in readings["typical"].interval
    assert 1.0 not in readings["typical"].interval
    assert 1.0 in readings["recognisable"].interval
    assert readings["recognisable"].value > 0.8


@pytest.mark.parametrize("method", [RCQ, TRCQ])
def test_readings_are_the_answers_that_one_gets_when_one_says_so(method, overlap):
    positives, sample = overlap
    told = {
        code: method(recognisable=known, random_state=0).fit(positives).quantify(sample)
        for code, known in (("typical", None), ("both", True))
    }
    for p in told.values():
        readings = p.what_if()
        assert {reading.code for reading in readings} == set(told)
        for code, answer in told.items():
            assert readings[code].value == float(answer)
            assert readings[code].interval == answer.interval


def test_groups_have_readings_of_their_own(overlap):
    positives, sample = overlap
    model = SubclassRCQ(2, random_state=0).fit(pd.DataFrame(positives).rename(columns=str))
    halves = sample[::2], sample[1::2]
    frame = pd.DataFrame(sample).rename(columns=str).assign(half=np.arange(len(sample)) % 2)
    groups = model.quantify_groups(frame, "half")
    for half, answer in zip(halves, groups.values(), strict=True):
        alone = model.quantify(pd.DataFrame(half).rename(columns=str)).what_if()
        assert [r.to_dict() for r in answer.what_if()] == [r.to_dict() for r in alone]


def test_they_survive_copies_and_pickles_and_are_json(overlap):
    positives, sample = overlap
    p = RCQ(random_state=0).fit(positives).quantify(sample)
    for again in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert str(again.what_if()) == str(p.what_if())
    assert json.loads(json.dumps(p.what_if().to_dict())) == p.what_if().to_dict()
    assert "If the labelled positives are typical" in p.what_if()._repr_html_()


def test_methods_without_regions_or_experience_say_so(overlap):
    positives, sample = overlap
    for model in (PAT(random_state=0), RCQ(calibration="null", random_state=0)):
        with pytest.raises(InputError, match="has no other readings"):
            model.fit(positives).quantify(sample).what_if()
    known = RCQWithNegatives(random_state=0).fit(positives, negatives=sample[-200:])
    with pytest.raises(InputError, match="RCQWithNegatives has no other readings"):
        known.quantify(sample[:-200]).what_if()


@pytest.mark.parametrize("model", [RCQ, TRCQ, PAT, SubclassRCQ])
def test_the_report_has_all_readings_with_the_positives(model, overlap):
    positives, sample = overlap
    fitted = model(random_state=0).fit(positives)
    report = diagnose(fitted, sample, positives=positives)
    assert [reading.code for reading in report.what_if] == list(ASSUMPTIONS)
    assert str(report.what_if["recognisable"]) in str(report)
    assert report.to_dict()["what_if"]["readings"][1]["code"] == "recognisable"
    assert 'id="what-if"' in report.to_html()


def test_the_report_has_what_the_model_tells_without_the_positives(overlap):
    positives, sample = overlap
    report = diagnose(RCQ(random_state=0).fit(positives), sample)
    assert [reading.code for reading in report.what_if] == ["typical", "both"]
    assert diagnose(PAT(random_state=0).fit(positives), sample).what_if is None
