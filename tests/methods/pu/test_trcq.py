"""TRCQ: RCQ whose score is learned from the sample that it counts."""

import numpy as np
import pytest

from oblique import oblique
from poscount import RCQ, TRCQ
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


@pytest.fixture(scope="module")
def task():
    return oblique(0, 0.3)


@pytest.fixture(scope="module")
def model(task):
    return TRCQ(random_state=0).fit(task[0])


def test_it_is_rcq_with_the_sample_as_its_reference(task, model):
    positives, sample = task
    answer = model.quantify(sample)
    rcq = RCQ(random_state=0).fit(positives, unlabeled=sample).quantify(sample)
    assert (float(answer), answer.interval) == (float(rcq), rcq.interval)
    assert answer.details == rcq.details
    assert (answer.method, answer.n_labeled, answer.n_unlabeled) == ("TRCQ", 300, 600)


def test_copies_among_the_positives_are_used_once(task):
    positives, sample = np.repeat(task[0], 2, axis=0), task[1]
    answer = TRCQ(random_state=0).fit(positives).quantify(sample)
    assert float(answer) == float(TRCQ(random_state=0).fit(task[0]).quantify(sample))
    assert answer.n_labeled == 300


def test_a_border_along_no_feature():
    errors, of_rcq = [], []
    for seed in range(3):
        positives, sample = oblique(seed, 0.3)
        for kind, found in ((TRCQ, errors), (RCQ, of_rcq)):
            model = kind(calibration="null", random_state=0).fit(positives)
            found.append(abs(model.quantify(sample) - 0.3))
    # With 600 rows to learn from; with thousands it is followed closely (`test_learned_score.py`).
    assert np.mean(errors) < np.mean(of_rcq) - 0.1


def test_parameters_and_levels(task, model):
    assert isinstance(model, TransductiveQuantifier)
    assert set(model.get_params()) == {
        *("calibration", "confidence", "random_state"),
        *("recognisable", "tolerance"),
    }
    answer = model.quantify(task[1])
    assert answer.interval.level == 0.95
    narrow = TRCQ(confidence=0.5, random_state=0).fit(task[0]).quantify(task[1])
    assert narrow.interval.width < answer.interval.width


@pytest.mark.parametrize("n", [1, 2, 5])
def test_tiny_samples(task, model, n):
    answer = model.quantify(task[1][:n])
    assert 0 <= answer.interval.low <= answer <= answer.interval.high <= 1


def test_nothing_alike_is_zero(task, model):
    assert model.quantify(task[0] + 100) == 0


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scales(task, model, scale):
    positives, sample = task
    scaled = TRCQ(random_state=0).fit(positives * scale).quantify(sample * scale)
    assert float(scaled) == pytest.approx(float(model.quantify(sample)), abs=1e-3)


def test_absurd_values_are_counted_too(task, model):
    far = np.vstack([task[1], np.full((5, 6), 1e300), np.full((5, 6), -1e300)])
    assert 0.3 in model.quantify(far).interval


def test_a_feature_that_only_the_sample_varies_in():
    rng = np.random.default_rng(0)
    positives, sample = rng.normal(size=(300, 3)), rng.normal(size=(600, 3))
    positives[:, 1] = 1e-9
    sample[:, 1] = np.where(np.arange(600) < 180, 1e-9, 2e-9)
    answer = TRCQ(random_state=0).fit(positives).quantify(sample)
    assert float(answer) == pytest.approx(0.3, abs=0.1)


def test_another_seed_is_another_answer(task):
    answers = [TRCQ(random_state=seed).fit(task[0]).quantify(task[1]) for seed in (0, 1)]
    assert answers[0] != answers[1]


def test_few_positives_are_counted_by_pat(task):
    answer = TRCQ(random_state=0).fit(task[0][:15]).quantify(task[1])
    assert "few-positives-for-rcq" in {warning.code for warning in answer.warnings}
