"""Bootstrap intervals of the transductive quantifiers."""

import re

import numpy as np
import pytest
from joblib import parallel_config

from answers import assert_same_answer
from poscount import BBE, EN
from poscount.methods.intervals import bootstrap_interval
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.results.prevalence import Estimate, Interval
from poscount.results.verdict import AnswerWarning


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    sample = rng.normal(size=(200, 2))
    sample[80:] += 3
    return rng.normal(size=(100, 2)), sample


def interval(data, **parameters):
    model = BBE(bootstrap=8, random_state=0).set_params(**parameters)
    return model.fit(data[0]).quantify(data[1]).interval


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_same_interval_for_any_number_of_workers(data, backend):
    with parallel_config(backend=backend):
        assert interval(data, n_jobs=2) == interval(data, n_jobs=1)


def test_seeds(data):
    assert interval(data) == interval(data)
    assert interval(data) != interval(data, random_state=1)


def test_none_without_being_asked_for(data):
    assert interval(data, bootstrap=None) is None


def test_estimate_is_the_same_with_and_without(data):
    model = EN(random_state=0).fit(data[0])
    p = model.quantify(data[1])
    with_interval = model.set_params(bootstrap=2).quantify(data[1])
    assert_same_answer(with_interval, p, without=["interval"])


def test_progress(data, capfd):
    interval(data, verbose=0)
    assert capfd.readouterr() == ("", "")
    interval(data, verbose=50)
    # joblib says "8 out of   8", or "8 tasks" before 1.5.
    assert re.search(r"Done +8 (out of +8|tasks)", "".join(capfd.readouterr()))


@pytest.mark.parametrize("wrong", [1, 0, 2.5])
def test_wrong_number_of_replicates(data, wrong):
    with pytest.raises(ValueError, match="bootstrap"):
        interval(data, bootstrap=wrong)


class Share(TransductiveQuantifier):
    """Share of the sample above zero: its bootstrap is known exactly."""

    def __init__(self, bootstrap=None, confidence=0.95, n_jobs=None, verbose=0, random_state=None):
        self.bootstrap = bootstrap
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def _estimate_from(self, positives, sample, generator):
        return Estimate(float(np.mean(sample > 0)), {})


class Certain(Share):
    """Gives an interval and a warning of its own."""

    def _estimate_from(self, positives, sample, generator):
        self.n_calls = getattr(self, "n_calls", 0) + 1
        caution = AnswerWarning("made-up", "Just a test.", 1.0)
        return Estimate(0.5, {"a": 1}, Interval(0.4, 0.6, 0.9), (caution,))


def test_an_interval_of_its_own_is_not_resampled():
    model = Certain(bootstrap=10, random_state=0).fit(np.zeros((5, 1)))
    p = model.quantify(np.zeros((8, 1)))
    assert model.n_calls == 1
    assert p.interval == Interval(0.4, 0.6, 0.9)
    assert [caution.code for caution in p.warnings] == ["made-up"]
    assert p.details == {"seed": 0, "a": 1}
    assert (float(p), p.n_labeled, p.n_unlabeled, p.method) == (0.5, 5, 8, "Certain")


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_width_of_a_known_case(confidence):
    sample = np.repeat([[-1.0], [1.0]], [700, 300], axis=0)
    model = Share(bootstrap=2000, confidence=confidence, random_state=0).fit(sample[:50])
    p = model.quantify(sample)
    z = {0.8: 1.2816, 0.95: 1.9600}[confidence]
    assert p.interval.width == pytest.approx(2 * z * np.sqrt(0.3 * 0.7 / 1000), rel=0.08)
    assert p.interval.level == confidence


def test_interval_holds_the_estimate_and_stays_in_range():
    rng = np.random.default_rng(0)
    for value in (0.0, 0.02, 0.5, 0.97, 1.0):
        found = bootstrap_interval(value, rng.uniform(0, 1, 50), 0.95)
        assert 0 <= found.low <= value <= found.high <= 1
    assert bootstrap_interval(0.3, np.full(10, 0.3), 0.95).width == 0
