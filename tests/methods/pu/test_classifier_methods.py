"""EN, BBE and DEDPUL, and the scores they share."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from answers import assert_same_answer
from plain import best_bin as plain_bbe
from plain import density_ratio as plain_dedpul
from poscount import BBE, DEDPUL, EN
from poscount.methods.pu import bbe, dedpul, en
from poscount.methods.pu.transductive_quantifier import out_of_fold_scores

METHODS = [EN, BBE, DEDPUL]


def task(p, n_labeled=300, n_unlabeled=600, distance=4.0, n_features=3, seed=0):
    """Positives, and a sample whose negatives are `distance` away."""
    rng = np.random.default_rng(seed)
    n_positive = round(p * n_unlabeled)
    sample = rng.normal(size=(n_unlabeled, n_features))
    sample[n_positive:, 0] += distance
    return rng.normal(size=(n_labeled, n_features)), sample


def answer(method, positives, sample, **parameters):
    return method(random_state=0, **parameters).fit(positives).quantify(sample)


# -- the scores


def test_scores_are_out_of_fold():
    # A forest knows its own training rows by heart, and nothing about noise.
    rng = np.random.default_rng(0)
    positives, sample = rng.normal(size=(100, 5)), rng.normal(size=(100, 5))
    forest = RandomForestClassifier(20, bootstrap=False)
    inside, outside = out_of_fold_scores(forest, positives, sample, rng)
    assert abs(inside.mean() - outside.mean()) < 0.1
    assert not hasattr(forest, "estimators_")


def test_scores_follow_the_generator_alone():
    positives, sample = task(0.5)
    forest = RandomForestClassifier(5)

    def scores(seed):
        return out_of_fold_scores(forest, positives, sample, np.random.default_rng(seed))

    np.random.seed(1)  # noqa: NPY002 (the global state must not matter)
    first = scores(0)
    np.random.seed(2)  # noqa: NPY002
    assert all(np.array_equal(a, b) for a, b in zip(first, scores(0), strict=True))
    assert not np.array_equal(first[0], scores(1)[0])


def test_scores_where_nothing_can_be_fitted():
    positives = np.arange(20.0)[:, np.newaxis]
    rng = np.random.default_rng(0)
    assert out_of_fold_scores(None, positives, positives[:1], rng)[1] == 1.0
    assert out_of_fold_scores(None, positives[:1], positives, rng)[0] == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_classifier_without_probabilities(method):
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        answer(method, *task(0.5), classifier=LinearSVC())


# -- what all three have in common


@pytest.mark.parametrize("p", [0.0, 0.25, 0.6, 1.0])
def test_dedpul_on_known_prevalence(p):
    # Seven standard deviations apart: hardly any error but the sampling of 300 positives.
    assert abs(answer(DEDPUL, *task(p, distance=7.0)) - p) < 0.03


@pytest.mark.parametrize("p", [0.0, 0.25, 0.6, 1.0])
def test_bbe_on_known_prevalence(p):
    found = answer(BBE, *task(p, distance=7.0))
    assert abs(found - p) < found.details["bound"] - found
    assert p < found.details["bound"]


@pytest.mark.parametrize("p", [0.0, 0.25, 0.6, 1.0])
@pytest.mark.parametrize("classifier", [LogisticRegression(C=1e6), DecisionTreeClassifier()])
def test_en_on_known_prevalence(classifier, p):
    # Two kinds of rows, so that the classifier knows the label frequency exactly.
    sample = (np.arange(600.0) >= p * 600)[:, np.newaxis]
    positives = np.zeros((300, 1))
    for held_out in (True, False):
        found = answer(EN, positives, sample, classifier=classifier, held_out=held_out)
        assert found == pytest.approx(p, abs=0.01)


# Beyond, Platt's sigmoid cannot follow: the paper's EN is not a good estimator.
@pytest.mark.parametrize("p", [0.0, 0.25])
def test_svm_while_most_positives_are_labelled(p):
    assert abs(answer(EN, *task(p, distance=7.0)) - p) < 0.08


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_answer(method):
    positives, sample = task(0.4, distance=2.0)
    first = answer(method, positives, sample)
    assert_same_answer(answer(method, positives, sample), first)
    assert method(random_state=1).fit(positives).quantify(sample) != first


@pytest.mark.parametrize("method", METHODS)
def test_any_classifier(method):
    positives, sample = task(0.3)
    forest = RandomForestClassifier(30, min_samples_leaf=10)
    p = answer(method, positives, sample, classifier=forest)
    assert abs(p - 0.3) < 0.15
    assert_same_answer(p, answer(method, positives, sample, classifier=forest))


@pytest.mark.parametrize("method", METHODS)
def test_scale_of_the_features(method):
    positives, sample = task(0.4, distance=2.0)
    p = answer(method, positives, sample)
    assert float(answer(method, 1000 * positives, 1000 * sample)) == pytest.approx(
        float(p), abs=0.002
    )


@pytest.mark.parametrize("method", METHODS)
def test_sample_like_the_positives(method):
    positives, _ = task(1.0, n_labeled=400)
    assert answer(method, positives, positives) > (0.7 if method is EN else 0.9)


@pytest.mark.parametrize("method", METHODS)
def test_no_overlap(method):
    positives, _ = task(0.0)
    assert answer(method, positives, positives + 50) < 0.01


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_tell_rows_apart(method):
    same = np.ones((40, 3))
    assert answer(method, same, same) > 0.9
    assert answer(method, same, np.ones((400, 3))) > 0.9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("positives", "sample"),
    [
        (np.arange(20.0)[:, np.newaxis], np.arange(50.0)[:, np.newaxis]),
        (*task(0.5, n_labeled=20, n_unlabeled=100, n_features=500),),
        (task(0.5)[0], task(0.5)[1][:1]),
        (task(0.5)[0], task(0.5)[1][:2]),
        (task(0.5)[0][:1], task(0.5)[1]),
        (np.repeat(task(0.5)[0][:30], 10, axis=0), np.repeat(task(0.5)[1][:30], 10, axis=0)),
        (np.round(task(0.5)[0]), np.round(task(0.5)[1])),
        (np.ones((30, 2)), np.zeros((30, 2))),
        (np.c_[task(0.5)[0], np.ones(300)], np.c_[task(0.5)[1], np.ones(600)]),
    ],
    ids=[
        "one feature",
        "500 features",
        "one row",
        "two rows",
        "one positive",
        "duplicates",
        "ties",
        "two points",
        "constant feature",
    ],
)
def test_degenerate(method, positives, sample):
    p = answer(method, positives, sample)
    assert 0 <= p <= 1
    if len(sample) == 1:
        assert p > 0.99


# -- EN


def test_platt_scaling_is_maximum_likelihood():
    rng = np.random.default_rng(0)
    decisions = rng.normal(size=2000)
    labeled = (rng.random(2000) < 1 / (1 + np.exp(-(2 * decisions - 1)))).astype(int)
    slope, intercept = en.platt_scaling(decisions, labeled)
    free = LogisticRegression(C=np.inf, tol=1e-8).fit(decisions[:, np.newaxis], labeled)
    # Platt's softened targets move it by about 1 / n.
    assert slope == pytest.approx(free.coef_.item(), abs=0.02)
    assert intercept == pytest.approx(free.intercept_.item(), abs=0.02)


@pytest.mark.parametrize("n_rows", [8, 120, 100_000])
def test_platt_scaling_of_constant_decisions_is_the_share(n_rows):
    labeled = np.repeat([1, 0], [n_rows // 4, n_rows - n_rows // 4])
    slope, intercept = en.platt_scaling(np.full(n_rows, -0.7), labeled)
    # Platt's targets stay away from 0 and 1 as if there were one row more of each kind.
    found = 1 / (1 + np.exp(-(slope * -0.7 + intercept)))
    assert found == pytest.approx(0.25, abs=1 / n_rows + 1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_svm_is_that_of_scikit_learn(monkeypatch, shared):
    if not shared:
        monkeypatch.setattr(en, "MAX_SHARED_ROWS", 0)
    positives, sample = task(0.4, distance=1.5)
    rows, labeled = np.vstack([positives, sample]), np.repeat([1, 0], [300, 600])
    folds = KFold(5, shuffle=True, random_state=0)
    calibrated = CalibratedClassifierCV(SVC(), method="sigmoid", cv=folds, ensemble=False)
    expected = calibrated.fit(rows, labeled).predict_proba(positives)[:, 1].mean()
    p = answer(EN, positives, sample, held_out=False)
    # Other folds for the calibration.
    assert p.details["label_frequency"] == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("held_out", [True, False])
def test_svm_far_from_the_origin(monkeypatch, shared, held_out):
    if not shared:
        monkeypatch.setattr(en, "MAX_SHARED_ROWS", 0)
    # Rounded, so that adding 2^27, about 1e8, is exact: only the computation can lose digits.
    positives, sample = (np.round(x * 2**20) / 2**20 for x in task(0.4, distance=1.5))
    p = answer(EN, positives, sample, gamma=0.3, held_out=held_out)
    far = answer(EN, positives + 2.0**27, sample + 2.0**27, gamma=0.3, held_out=held_out)
    assert float(far) == pytest.approx(float(p), abs=1e-9)
    p = answer(EN, positives, sample, held_out=held_out)
    far = answer(EN, positives + 2.0**27, sample + 2.0**27, held_out=held_out)
    assert float(far) == pytest.approx(float(p), abs=1e-6)


@pytest.mark.parametrize("shared", [True, False])
def test_svm_beside_a_huge_value(monkeypatch, shared):
    if not shared:
        monkeypatch.setattr(en, "MAX_SHARED_ROWS", 0)
    positives, sample = task(0.4, distance=1.5)
    p = answer(EN, positives, sample, gamma=0.3)
    positives[0, 0] = 1e12
    # One row of 300 has gone.
    assert float(answer(EN, positives, sample, gamma=0.3)) == pytest.approx(float(p), abs=0.02)


def test_gammas():
    positives, sample = task(0.4, distance=1.5)
    rows = np.vstack([positives, sample])
    for name, width in (("auto", 1), ("scale", rows.var()), ("std", rows.std())):
        by_name = answer(EN, positives, sample, gamma=name)
        assert_same_answer(by_name, answer(EN, positives, sample, gamma=1 / (3 * width)))


def test_scoring_training_rows_looks_too_sure():
    rng = np.random.default_rng(0)
    positives, sample = rng.normal(size=(200, 5)), rng.normal(size=(400, 5))
    forest = RandomForestClassifier(20)
    assert answer(EN, positives, sample, classifier=forest, held_out=False) < 0.2
    assert answer(EN, positives, sample, classifier=forest) > 0.9


# -- BBE


def test_best_bin_is_the_plain_one():
    rng = np.random.default_rng(0)
    for decimals in (1, 2, 8):
        for _ in range(40):
            n_labeled, n_unlabeled = rng.integers(1, 80, 2)
            labeled = np.round(rng.beta(4, 2, n_labeled), decimals)
            unlabeled = np.round(rng.beta(2, 3, n_unlabeled), decimals)
            best = bbe.best_bin(labeled, unlabeled)
            bound, ratio = plain_bbe.best_bin(labeled.tolist(), unlabeled.tolist())
            assert best.bound == pytest.approx(bound)
            assert best.share_unlabeled / best.share_labeled == pytest.approx(ratio)
            assert best.share_unlabeled <= best.share_labeled


def test_best_bin_depends_on_the_order_of_scores_only():
    rng = np.random.default_rng(0)
    labeled, unlabeled = rng.beta(4, 2, 100), rng.beta(2, 3, 100)
    assert bbe.best_bin(labeled, unlabeled)[1:] == bbe.best_bin(labeled**3, unlabeled**3)[1:]


def test_bbe_never_exceeds_one():
    # Everything in the sample scores higher than every positive.
    assert bbe.best_bin(np.linspace(0, 0.5, 50), np.full(20, 0.9)).share_unlabeled == 1
    assert bbe.best_bin(np.linspace(0, 0.5, 50), np.full(20, 0.9)).share_labeled == 1


# -- DEDPUL


def test_density_ratio_is_the_plain_one():
    rng = np.random.default_rng(0)
    for _ in range(10):
        labeled = rng.normal(1, 1, rng.integers(20, 100))
        unlabeled = np.sort(rng.normal(0, 2, rng.integers(20, 100)))
        bandwidth = rng.uniform(0.05, 1)
        ratio = dedpul.density_ratio(labeled, unlabeled, bandwidth)
        expected = np.array(plain_dedpul.density_ratio(labeled, unlabeled, bandwidth))
        # Dealing a value onto two grid points widens its kernel by less than a percent.
        assert ratio == pytest.approx(expected, rel=0.05, abs=0.005 * expected.max())


def test_smoothing_is_the_plain_one():
    rng = np.random.default_rng(0)
    for n in (1, 2, 19, 40, 41, 333):
        ratio = rng.exponential(size=n)
        for start in {0, 1, n // 3, n}:
            expected = plain_dedpul.smoothed(ratio.tolist(), start)
            assert dedpul.smoothed(ratio, start) == pytest.approx(expected)


def test_fixed_point_is_the_plain_one():
    rng = np.random.default_rng(0)
    for top in (0.5, 1.0, 2.0, 10.0):
        for _ in range(3):
            ratio = rng.uniform(0, top, rng.integers(1, 40))
            n_labeled = int(rng.integers(1, 100))
            expected = plain_dedpul.largest_consistent(ratio.tolist(), n_labeled)
            found = dedpul.largest_consistent(ratio, n_labeled)
            assert found == pytest.approx(expected, abs=1 / 2000)
