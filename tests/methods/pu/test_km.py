"""KM1 and KM2: the quadratic programme, the plain version, known answers, degenerate samples."""

from __future__ import annotations

import numpy as np
import pytest

from answers import assert_same_answer
from plain import km as plain
from poscount import KM1, KM2
from poscount.methods.pu.km import kernel_means
from poscount.methods.pu.simplex_qp import nearest_on_simplex

METHODS = (KM1, KM2)


def mixture(prevalence, n_labeled=150, n_sample=300, shift=6.0, n_features=2, seed=0):
    """Positives, and a sample whose negatives lie apart."""
    rng = np.random.default_rng(seed)
    n_positives = round(prevalence * n_sample)
    sample = rng.normal(size=(n_sample, n_features))
    sample[n_positives:] += shift
    return rng.normal(size=(n_labeled, n_features)), sample


def gaussian_gram(rows, width):
    squares = np.square(rows[:, np.newaxis] - rows).sum(axis=-1)
    return np.exp(-squares / (2 * width**2))


def programme(seed):
    """A Gram matrix, from well conditioned to singular, and a target with negative weights."""
    rng = np.random.default_rng(seed)
    n_labeled, n_sample = rng.integers(1, 40, size=2)
    rows = rng.normal(size=(n_labeled + n_sample, rng.integers(1, 5)))
    if seed % 3 == 0:
        rows = np.round(rows)  # equal rows
    if seed % 4 == 0:
        gram = rows @ rows.T  # a rank far below the number of rows
    else:
        gram = gaussian_gram(rows, rng.choice([0.05, 0.5, 2.0, 20.0]))
    lam = 1 + rng.exponential(2.0)
    target = np.repeat([(1 - lam) / n_labeled, lam / n_sample], [n_labeled, n_sample])
    return gram, target, rng


def solve(gram, target, start, tolerance=1e-9, enough=0.0):
    square = float(target @ gram @ target)
    return nearest_on_simplex(gram, gram @ target, square, start, tolerance, enough)


def distance(gram, target, weights):
    return np.sqrt(max(0.0, (weights - target) @ gram @ (weights - target)))


@pytest.mark.parametrize("seed", range(120))
def test_nearest_point_equals_non_negative_least_squares(seed):
    gram, target, rng = programme(seed)
    start = rng.choice(len(gram), size=rng.integers(1, len(gram) + 1), replace=False)
    found = solve(gram, target, start)
    weights = np.zeros(len(gram))
    weights[found.support] = found.weights
    assert (found.weights > 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-9)
    scale = np.sqrt(np.abs(gram).max() * np.square(target).sum() * len(gram))
    assert found.distance == pytest.approx(distance(gram, target, weights), abs=1e-7 * scale)
    least = distance(gram, target, plain.nearest_on_simplex(gram, target))
    assert found.distance == pytest.approx(least, abs=1e-6 * scale)


@pytest.mark.parametrize("seed", range(120))
def test_nearest_point_satisfies_the_optimality_conditions(seed):
    gram, target, rng = programme(seed)
    found = solve(gram, target, np.array([rng.integers(len(gram))]))
    slopes = gram[:, found.support] @ found.weights - gram @ target
    scale = np.abs(gram).max() * np.abs(target).sum()
    level = found.weights @ slopes[found.support]
    assert slopes[found.support] == pytest.approx(level, abs=1e-7 * scale)
    assert slopes.min() >= level - 1e-7 * scale


def test_stated_error_bounds_the_true_one():
    gram, target, _ = programme(10)
    least = distance(gram, target, plain.nearest_on_simplex(gram, target))
    for tolerance in (1e-1, 1e-2, 1e-3, 1e-5):
        found = solve(gram, target, np.array([0]), tolerance)
        assert least - 1e-9 <= found.distance <= least + tolerance
        assert found.distance - found.gap / found.distance <= least + 1e-9


def test_stops_where_a_distance_is_enough():
    gram, target, _ = programme(10)
    exact = solve(gram, target, np.array([0]))
    found = solve(gram, target, np.array([0]), enough=1.5 * exact.distance)
    assert exact.distance < found.distance <= 1.5 * exact.distance


def test_target_inside_the_simplex_is_reached():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    assert solve(gaussian_gram(rows, 1.0), np.full(30, 1 / 30), np.array([3])).distance < 1e-7


def test_rows_that_differ_by_rounding_do_not_break_the_factorisation():
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(40, 3)), 10, axis=0)
    rows += 1e-13 * rng.normal(size=rows.shape)
    target = np.repeat([-3 / 200, 4 / 200], 200)
    gram = gaussian_gram(rows, 30.0)
    found = solve(gram, target, np.arange(400))
    merged = solve(gram[::10, ::10], target.reshape(40, 10).sum(axis=1), np.arange(40))
    assert found.distance == pytest.approx(merged.distance, abs=1e-6)


def test_impossible_gram_matrix_is_an_error():
    with pytest.raises(np.linalg.LinAlgError, match="positive semi-definite"):
        solve(np.array([[1.0, 5.0], [5.0, 1.0]]), np.array([-1.0, 2.0]), np.array([0, 1]))


@pytest.mark.parametrize("seed", range(20))
def test_equals_the_plain_version(seed):
    rng = np.random.default_rng(seed)
    n_labeled, n_sample = rng.integers(3, 30, size=2)
    positives, sample = mixture(
        rng.random(), n_labeled, n_sample, 5 * rng.random(), rng.integers(1, 5), seed
    )
    if seed % 3 == 0:
        positives, sample = np.round(positives), np.round(sample)
    lam_max = (8.0, 100.0)[seed % 2]
    found = kernel_means(positives, sample, lam_max)
    expected = plain.kernel_means(positives, sample, lam_max)
    assert (found.prevalence("KM1"), found.prevalence("KM2")) == pytest.approx(expected, abs=1e-12)
    assert found.kernel_width == pytest.approx(plain.choose_width(positives, sample))
    assert found.mean_distance == pytest.approx(
        plain.mean_distance(positives, sample, found.kernel_width), abs=1e-9
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("prevalence", [0.1, 0.3, 0.5])
def test_finds_the_share_of_well_separated_positives(method, prevalence):
    answers = []
    for seed in range(3):
        positives, sample = mixture(prevalence, seed=seed)
        answers.append(method(random_state=0).fit(positives).quantify(sample))
    # Both answer a little too low at this size.
    assert prevalence - 0.06 < np.mean(answers) < prevalence + 0.02


def test_published_bound_caps_what_the_default_can_answer():
    positives, sample = mixture(0.94, 400, 800, shift=20.0)
    published = KM1(lam_max=8, random_state=0).fit(positives).quantify(sample)
    default = KM1(random_state=0).fit(positives).quantify(sample)
    assert 0.86 < published <= 0.875
    assert default == pytest.approx(0.94, abs=0.03)


def test_either_method_reports_the_other():
    positives, sample = mixture(0.7, seed=1)
    one, two = (method(random_state=0).fit(positives).quantify(sample) for method in METHODS)
    assert one != two
    for p in (one, two):
        assert (p.details["KM1"], p.details["KM2"]) == (float(one), float(two))
        assert float(p) == pytest.approx(1 - 1 / p.details["lam"])
    assert one.details["threshold"] == pytest.approx(1 / np.sqrt(150))


def test_distance_curve_is_convex_and_rises_from_zero():
    positives, sample = mixture(0.4, shift=2.0)
    details = KM1(random_state=0).fit(positives).quantify(sample).details
    lam, d = details["curve"].T
    assert (lam[0], d[0]) == (1, 0)
    assert (np.diff(lam) > 0).all()
    # Smaller distances are known to be small and no better.
    known = d > 0.02 * details["threshold"]
    slopes = np.diff(d[known]) / np.diff(lam[known])
    slack = 2 * 1e-5 * details["mean_distance"] / np.diff(lam[known])
    assert (np.diff(slopes) >= -slack[1:] - slack[:-1]).all()
    assert (slopes <= details["mean_distance"] + slack).all()


@pytest.mark.parametrize("method", METHODS)
def test_same_rows_moved_turned_scaled_or_shuffled(method):
    positives, sample = mixture(0.5, shift=3.0, n_features=3)
    expected = method(random_state=0).fit(positives).quantify(sample)
    rng = np.random.default_rng(1)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    for change in (lambda x: x + 100, lambda x: 1000 * x, lambda x: x @ turn, rng.permutation):
        model = method(random_state=0).fit(change(positives))
        assert model.quantify(change(sample)) == pytest.approx(float(expected), abs=1e-9)


def test_every_row_twice_changes_nothing_in_km2():
    positives, sample = mixture(0.5, shift=3.0)
    once = KM2(random_state=0).fit(positives).quantify(sample)
    twice = KM2(random_state=0).fit(np.repeat(positives, 2, 0)).quantify(np.repeat(sample, 2, 0))
    assert float(twice) == pytest.approx(float(once), abs=1e-9)


def test_draws_rows_beyond_the_limit_and_says_so():
    positives, sample = mixture(0.5, 300, 3000, shift=6.0)
    answers = [KM1(max_rows=400, random_state=s).fit(positives).quantify(sample) for s in (0, 0, 1)]
    assert_same_answer(answers[0], answers[1])
    assert (answers[0].details["curve"] == answers[1].details["curve"]).all()
    assert answers[0].details["mean_distance"] != answers[2].details["mean_distance"]
    assert answers[0].details["n_labeled_used"] == 200
    assert answers[0].details["n_unlabeled_used"] == 200
    assert (answers[0].n_labeled, answers[0].n_unlabeled) == (300, 3000)
    assert 0.3 < answers[0] < 0.6


def test_the_authors_draw_from_all_rows_together():
    positives, sample = mixture(0.5, 300, 2700, shift=6.0)
    used = []
    for seed in range(30):
        model = KM1(max_rows=100, balanced=False, random_state=seed).fit(positives)
        details = model.quantify(sample).details
        assert details["n_labeled_used"] + details["n_unlabeled_used"] == 100
        used.append(details["n_labeled_used"])
    # A tenth of all rows are positives: hypergeometric, with a standard deviation of 2.95.
    assert np.mean(used) == pytest.approx(10, abs=4 * 2.95 / np.sqrt(30))
    assert 1.9 < np.std(used) < 4.2
    # Nobody is left out, however rare.
    lonely = KM1(max_rows=10, balanced=False, random_state=0).fit(positives[:1])
    assert lonely.quantify(sample).details["n_labeled_used"] == 1


@pytest.mark.parametrize(
    ("n_labeled", "n_sample", "used"),
    [(20, 5000, (20, 1980)), (5000, 1, (1999, 1)), (1500, 5000, (1000, 1000)), (5, 7, (5, 7))],
)
def test_rare_rows_are_not_lost_in_the_drawing(n_labeled, n_sample, used):
    rng = np.random.default_rng(0)
    model = KM1(random_state=0).fit(rng.integers(2, 4, size=(n_labeled, 1)))
    details = model.quantify(rng.integers(2, size=(n_sample, 1))).details
    assert (details["n_labeled_used"], details["n_unlabeled_used"]) == used


RNG = np.random.default_rng(7)
NORMAL = RNG.normal(size=(60, 3))
LARGEST = 1 - 1 / 100
DEGENERATE = {
    "sample is the positives": (NORMAL, NORMAL, LARGEST),
    "sample is the positives twice": (NORMAL, np.repeat(NORMAL, 2, 0), LARGEST),
    "all rows equal": (np.ones((30, 2)), np.ones((50, 2)), LARGEST),
    "one row each, equal": (np.ones((1, 2)), np.ones((1, 2)), LARGEST),
    "no overlap": (NORMAL, NORMAL + 1000, 0.012),
    "no overlap, hardly varying": (NORMAL[:30] * 1e-9, 1 + NORMAL[:50] * 1e-9, 0.012),
    "duplicates everywhere": (np.repeat(NORMAL[:3], 20, 0), np.repeat(NORMAL[:6], 30, 0), None),
    "most distances zero": (np.zeros((80, 1)), np.r_[np.zeros((90, 1)), NORMAL[:20, :1]], None),
    "one feature": (NORMAL[:, :1], RNG.normal(size=(90, 1)) + 1, None),
    "500 features": (RNG.normal(size=(40, 500)), RNG.normal(size=(80, 500)), None),
    "20 positives": (NORMAL[:20], RNG.normal(size=(200, 3)), None),
    "one positive": (NORMAL[:1], RNG.normal(size=(50, 3)), None),
    "one row": (NORMAL, NORMAL[:1] + 0.1, None),
    "constant features": (NORMAL * [1, 0, 0], RNG.normal(size=(80, 3)) * [1, 0, 0], None),
    "ties at every median": (RNG.integers(2, size=(50, 4)), RNG.integers(2, size=(90, 4)), None),
    "tiny values": (NORMAL * 1e-150, (NORMAL + 1) * 1e-150, None),
    "an outlier": (NORMAL, np.r_[NORMAL + 1, np.full((1, 3), 1e12)], None),
}


@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize("method", METHODS)
def test_degenerate_samples_have_an_answer(method, name):
    positives, sample, expected = DEGENERATE[name]
    p = method(random_state=0).fit(positives).quantify(sample)
    assert 0 <= p <= 1
    assert np.isfinite(p.details["curve"]).all()
    if expected is not None:
        assert p == pytest.approx(expected, abs=1e-3)


def test_values_whose_squares_overflow_are_scaled():
    plain = KM1(random_state=0).fit(NORMAL).quantify(NORMAL * 2)
    # A power of two changes no digit.
    huge = KM1(random_state=0).fit(NORMAL * 2.0**700).quantify(NORMAL * 2.0**701)
    assert float(huge) == float(plain)


@pytest.mark.parametrize("parameters", [{"lam_max": 1}, {"max_rows": 1}, {"lam_max": "8"}])
def test_impossible_parameters_are_an_error(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        KM2(**parameters).fit(NORMAL)


def test_slack_lowers_the_threshold_of_km2_by_its_formula():
    rng = np.random.default_rng(3)
    positives, sample = rng.normal(size=(40, 2)), rng.normal(size=(60, 2)) + 0.5
    exact, slack = (KM2(random_state=0, slack=s).fit(positives).quantify(sample) for s in (0, 1e-3))
    lowered = exact.details["threshold"] - 0.8 * 1e-3 / 0.05
    assert slack.details["threshold"] == pytest.approx(lowered, rel=1e-12)
