import copy
import json
import pickle

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.svm import OneClassSVM

from answers import assert_same_answer
from poscount import PAT, InputError, Mahalanobis, estimate_contamination

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


@pytest.fixture(scope="module")
def contamination(positives, sample):
    return estimate_contamination(Mahalanobis(), positives, sample, random_state=0)


def test_is_what_the_positives_leave(contamination, pat, sample):
    p = pat.quantify(sample)
    assert contamination == 1 - p
    assert_same_answer(contamination.prevalence, p)
    assert contamination.interval.low == 1 - p.interval.high
    assert contamination.interval.high == 1 - p.interval.low
    assert contamination.interval.level == 0.95
    # 240 of 400 rows were put in.
    assert 0.6 in contamination.interval


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c)), copy.copy]
)
def test_a_copy_keeps_everything(contamination, copied):
    other = copied(contamination)
    assert other == contamination
    assert repr(other) == repr(contamination)
    assert other.prevalence.to_dict() == contamination.prevalence.to_dict()


def test_is_a_number(contamination):
    number = float(contamination)
    assert json.loads(json.dumps(contamination)) == number
    assert str(contamination) == f"{contamination}" == repr(number)
    assert np.array([contamination]).dtype == np.float64
    assert repr(contamination).startswith(f"Contamination({number:.3f}, 95% interval [")


def test_goes_into_the_detector_that_asks_for_it(positives, sample):
    detector = IsolationForest(n_estimators=10)
    share = estimate_contamination(detector, positives, sample, random_state=0)
    assert detector.get_params() == IsolationForest(n_estimators=10).get_params()
    assert not hasattr(detector, "estimators_")
    # scikit-learn takes at most a half.
    chosen = IsolationForest(n_estimators=10, contamination=min(share, 0.5), random_state=0)
    assert np.mean(chosen.fit_predict(sample) == -1) == pytest.approx(min(share, 0.5), abs=0.02)


def test_goes_into_pyod_s_detector(positives, draw):
    from pyod.models.knn import KNN

    sample = draw(np.random.default_rng(3), 300, 100)
    share = estimate_contamination(KNN(), positives, sample, random_state=0)
    flagged = KNN(contamination=share).fit(sample).labels_
    assert flagged.sum() == pytest.approx(share * 400, abs=1)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5])
def test_pyod(share, draw):
    from pyod.models.hbos import HBOS

    rng = np.random.default_rng(0)
    sample = draw(rng, round(400 * (1 - share)), round(400 * share))
    answer = estimate_contamination(HBOS(), draw(rng, 300), sample, random_state=0)
    assert abs(answer - share) < 0.15


def test_confidence_and_seed_are_passed_on(positives, sample):
    options = {"confidence": 0.5, "random_state": 3}
    answer = estimate_contamination(OneClassSVM(), positives, sample, **options)
    assert answer.interval.level == 0.5
    assert_same_answer(
        answer.prevalence, PAT(OneClassSVM(), **options).fit(positives).quantify(sample)
    )


def test_errors_are_those_of_the_data(positives, sample):
    with pytest.raises(InputError, match="no rows"):
        estimate_contamination(Mahalanobis(), positives, sample[:0])
