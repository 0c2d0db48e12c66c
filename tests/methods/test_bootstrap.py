"""Bootstrap: the interval of a method, by resampling."""

import re

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

import poscount
from answers import assert_same_answer
from poscount import BBE, EN, PAT, TRCQ, Bootstrap, InputError, Minimum
from poscount.methods.bootstrap import bootstrap_distribution
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.results.estimates import single_estimate
from poscount.seeds import stream


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    sample = rng.normal(size=(200, 2))
    sample[80:] += 3
    return rng.normal(size=(100, 2)), sample


def interval(data, **parameters):
    model = Bootstrap(BBE(), 8, random_state=0).set_params(**parameters)
    return model.fit(data[0]).quantify(data[1]).interval


def test_the_interval_is_that_of_halves_one_after_the_other(data):
    """As it was when each method resampled by itself: the same seeds, the same halves."""
    positives, sample = data
    model = BBE(random_state=0).fit(positives)
    value = float(model.quantify(sample))
    replicates = []
    for i in range(8):
        generator = stream(0, f"bootstrap {i}")
        halves = [rows[generator.permutation(len(rows))[: len(rows) // 2]] for rows in data]
        replicates.append(float(model._estimate_from(*halves, generator).value[0]))
    half = 1.959963984540054 * np.sqrt(np.mean((np.array(replicates) - value) ** 2))
    found = interval(data)
    assert (found.low, found.high) == pytest.approx(
        (max(0, value - half), min(1, value + half)), rel=1e-12
    )


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_same_interval_for_any_number_of_workers(data, backend):
    with parallel_config(backend=backend):
        assert interval(data, n_jobs=2) == interval(data, n_jobs=1)


def test_seeds(data):
    assert interval(data) == interval(data)
    assert interval(data) != interval(data, random_state=1)


@pytest.mark.parametrize("method", [BBE, EN])
def test_everything_else_is_the_answer_of_the_method(method, data):
    p = method(random_state=0).fit(data[0]).quantify(data[1])
    resampled = Bootstrap(method(), 2, random_state=0).fit(data[0]).quantify(data[1])
    assert_same_answer(resampled, p, without=["interval", "distribution"])
    assert resampled in resampled.interval


def test_the_method_is_cloned_and_keeps_its_own_seed(data):
    method = BBE(random_state=7)
    model = Bootstrap(method, 2, random_state=0).fit(data[0])
    assert model.quantifier_.seed_ == 7
    assert not hasattr(method, "positives_")


def test_progress(data, capfd):
    interval(data, verbose=0)
    assert capfd.readouterr() == ("", "")
    interval(data, verbose=50)
    # joblib says "8 out of   8", or "8 tasks" before 1.5.
    assert re.search(r"Done +8 (out of +8|tasks)", "".join(capfd.readouterr()))


@pytest.mark.parametrize("wrong", [1, 0, 2.5])
def test_wrong_number_of_resamples(data, wrong):
    with pytest.raises(ValueError, match="n_resamples"):
        interval(data, n_resamples=wrong)


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (PAT(), "PAT cannot be resampled: .* such as ExTIcE, BBE and DEDPUL"),
        (Minimum(), "Minimum cannot be resampled"),
        (Bootstrap(BBE()), "Bootstrap cannot be resampled"),
        (TRCQ(), "TRCQ gives an interval by itself: use it without Bootstrap"),
    ],
)
def test_methods_that_have_an_interval_are_refused(data, method, sentence):
    with pytest.raises(InputError, match=sentence):
        Bootstrap(method, 2).fit(data[0])


def test_frames_words_and_gaps(data):
    positives, sample = (
        pd.DataFrame(rows, columns=list("ab")).assign(
            word=np.where(np.arange(len(rows)) % 2, "one", "two"),
            day=pd.date_range("2026-01-01", periods=len(rows), freq="h"),
            key="x",
        )
        for rows in data
    )
    sample.loc[3, "a"] = np.nan
    features = ["a", "word", "day"]
    model = Bootstrap(BBE(), 2, random_state=0).fit(positives, features=features)
    alone = BBE(random_state=0).fit(positives, features=features)
    p = model.quantify(sample[["day", "a", "word"]])
    assert_same_answer(p, alone.quantify(sample), without=["interval", "distribution"])
    assert len(model.quantify_by(sample.assign(night=np.arange(200) % 2), by="night")) == 2


def test_save_and_load(data, tmp_path):
    model = Bootstrap(BBE(), 3, confidence=0.8, random_state=0).fit(data[0])
    model.save(tmp_path / "model.poscount")
    loaded = poscount.load(tmp_path / "model.poscount")
    assert_same_answer(loaded.quantify(data[1]), model.quantify(data[1]))
    assert loaded.quantify(data[1]).interval.level == 0.8


def test_a_fitted_method_of_another_class_is_refused(data):
    model = Bootstrap(BBE(), 3, random_state=0).fit(data[0])
    model.quantifier_ = PAT(random_state=0).fit(data[0])
    with pytest.raises(ValueError, match="another method"):
        model.check_learned()


class Share(TransductiveQuantifier):
    """Share of the sample above zero: its bootstrap is known exactly."""

    def _estimate_from(self, positives, sample, generator):
        return single_estimate(float(np.mean(sample > 0)), {})


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_width_of_a_known_case(confidence):
    sample = np.repeat([[-1.0], [1.0]], [700, 300], axis=0)
    model = Bootstrap(Share(), 2000, confidence=confidence, random_state=0).fit(sample[::20])
    p = model.quantify(sample)
    z = {0.8: 1.2816, 0.95: 1.9600}[confidence]
    assert p.interval.width == pytest.approx(2 * z * np.sqrt(0.3 * 0.7 / 1000), rel=0.08)
    assert p.interval.level == confidence


def test_an_interval_is_normal_about_the_estimate():
    # Replicates 0.1 away on either side: a standard deviation of 0.1.
    found = bootstrap_distribution(0.5, np.array([0.4, 0.6] * 20)).interval(0.9)
    assert (found.low, found.high) == pytest.approx((0.5 - 0.16449, 0.5 + 0.16449), abs=1e-5)
    # Replicates that all lie on one side are no less uncertain for it.
    assert bootstrap_distribution(0.5, np.full(40, 0.6)).interval(0.9) == found
    assert bootstrap_distribution(0.3, np.full(10, 0.3)).interval(0.95).width == 0


@pytest.mark.parametrize("value", [0.0, 0.02, 0.97, 1.0])
def test_an_interval_holds_the_estimate_and_stays_in_range(value):
    replicates = np.random.default_rng(0).uniform(0, 1, 50)
    found = bootstrap_distribution(value, replicates).interval(0.95)
    assert 0 <= found.low <= value <= found.high <= 1
