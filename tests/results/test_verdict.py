"""The verdict: one line on how far an answer may be off."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from poscount import PAT, RCQ, TRCQ
from poscount.results.verdict import MEANINGS, AnswerWarning, verdict

RNG = np.random.default_rng(0)
POSITIVES = RNG.normal(size=(400, 4))


def caution(severity, reason):
    return AnswerWarning("code", "A sentence.", 1.0, severity, reason)


@pytest.mark.parametrize(
    ("likely_error", "grade", "words"),
    [
        (0.0, "good", "within 3 points, if the labelled positives are like"),
        (0.03, "good", "within 3 points"),
        (0.031, "fair", "within 8 points, if"),
        (0.081, "rough", "up to 15 points: answers that looked like this one were, too"),
        (0.16, "unsure", "more than 15 points"),
        (None, "unknown", "does not predict"),
    ],
)
def test_grades_by_the_likely_error(likely_error, grade, words):
    found = verdict(likely_error, [])
    assert found.grade == grade
    assert words in str(found)
    assert grade in MEANINGS


def test_the_worst_severity_decides():
    note, doubt = caution("note", "few rows"), caution("doubt", "zeros in x")
    no_use, other = caution("do not use", "units of y"), caution("do not use", "codes in z")
    # A note explains, and changes no grade.
    assert verdict(0.01, [note]).grade == "good"
    assert str(verdict(0.2, [note])) == "Could be off by more than 15 points: few rows."
    assert verdict(0.01, [note, doubt]).grade == "unsure"
    assert str(verdict(0.01, [note, doubt])) == "Doubtful: zeros in x."
    found = verdict(0.01, [doubt, no_use, other, no_use])
    assert found.grade == "do not use"
    assert str(found) == "Do not use this number: units of y; codes in z."


def test_easy_and_hopeless_samples():
    model = RCQ(random_state=0).fit(POSITIVES)
    far = np.vstack([RNG.normal(size=(300, 4)), RNG.normal(size=(700, 4)) + 8])
    assert model.quantify(far).verdict.grade in ("good", "fair")
    few = RCQ(random_state=0).fit(POSITIVES[:25]).quantify(RNG.normal(size=(40, 4)) + 0.5)
    assert few.verdict.grade == "unsure"


def test_likely_errors_are_at_least_as_large_as_the_error_in_four_of_five_answers():
    held = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, shift = int(rng.integers(50, 900)), rng.uniform(1, 4)
        positives, hidden = rng.normal(size=(300, 3)), rng.normal(size=(n, 3))
        sample = np.vstack([hidden, rng.normal(size=(1000 - n, 3)) + shift])
        p = RCQ(random_state=0).fit(positives).quantify(sample)
        held.append(abs(p - n / 1000) <= p.details["likely_error"])
    # At 80 %, fewer than 26 of 40 would be seen once in a hundred times.
    assert sum(held) >= 26


def test_where_it_is_told():
    frame = pd.DataFrame(RNG.normal(size=(600, 2)), columns=["a", "b"])
    model = RCQ(random_state=0).fit(frame[:300])
    table = model.quantify_by(frame.assign(site=["x", "y"] * 300), "site")
    assert set(table["verdict"]) <= set(MEANINGS)
    p = model.quantify(frame)
    assert json.loads(json.dumps(p.to_dict()))["verdict"]["sentence"] == str(p.verdict)
    assert pickle.loads(pickle.dumps(p)).verdict == p.verdict


@pytest.mark.parametrize("method", [PAT(random_state=0), RCQ(calibration="null", random_state=0)])
def test_methods_that_predict_no_error_say_so(method):
    assert method.fit(POSITIVES).quantify(POSITIVES[:99]).verdict.grade == "unknown"


def test_trcq_predicts_its_error():
    p = TRCQ(random_state=0).fit(POSITIVES).quantify(RNG.normal(size=(200, 4)) + 3)
    assert p.verdict.grade != "unknown"
