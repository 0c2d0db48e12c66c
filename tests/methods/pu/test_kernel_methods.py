"""PE, pen-L1 and AlphaMax: against plain versions, on known answers and on degenerate samples."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from plain import alphamax as plain_alphamax
from plain import pe as plain_pe
from plain import pen_l1 as plain_pen_l1
from poscount import PE, AlphaMax, PenL1
from poscount.methods.pu import alphamax, gaussian, pe, pen_l1
from poscount.seeds import stream

FORMS = {
    "pe": PE(random_state=0),
    "pe published": PE(published=True, random_state=0),
    "pen-l1": PenL1(random_state=0),
    "alphamax": AlphaMax(random_state=0),
    "alphamax published": AlphaMax(knee="published", random_state=0),
}
DEFAULTS = ("pe", "pen-l1", "alphamax")


@pytest.fixture(params=FORMS)
def form(request):
    return FORMS[request.param]


@pytest.fixture(params=DEFAULTS)
def default(request):
    return FORMS[request.param]


def mixture(n_labeled, n_unlabeled, p, n_features=3, shift=4.0, seed=0):
    rng = np.random.default_rng(seed)
    n_positives = round(p * n_unlabeled)
    positives = rng.normal(size=(n_labeled, n_features))
    sample = rng.normal(size=(n_unlabeled, n_features))
    sample[n_positives:] += shift
    return positives, sample


# Fast against plain


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize(
    ("n_labeled", "n_unlabeled", "n_features"),
    [(37, 64, 1), (23, 90, 5), (8, 3, 2), (2, 40, 3), (1, 7, 2), (30, 1, 2)],
)
def test_pe_equals_plain(n_labeled, n_unlabeled, n_features, published):
    for seed in range(3):
        positives, sample = mixture(n_labeled, n_unlabeled, 0.4, n_features, 2.0, seed)
        p = PE(published=published, random_state=seed).fit(positives).quantify(sample)
        expected, scores = plain_pe.estimate(
            positives, sample, stream(seed, "estimate"), published=published
        )
        np.testing.assert_allclose(p.details["scores"], scores, rtol=1e-7)
        assert float(p) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 60])
def test_path_of_penalties_solves_the_systems(n):
    rng = np.random.default_rng(n)
    factor = rng.normal(size=(n, n // 2 + 1))
    H, h = factor @ factor.T, rng.normal(size=n)
    found = pe.solve_path(H, h, pe.PENALTIES)
    for penalty, a in zip(pe.PENALTIES, found.T, strict=True):
        np.testing.assert_allclose(H @ a + penalty * a, h, atol=1e-9)


@pytest.mark.parametrize(
    ("n_labeled", "n_unlabeled", "n_features"), [(40, 120, 1), (25, 60, 4), (3, 30, 2), (9, 2, 2)]
)
def test_pen_l1_equals_plain(n_labeled, n_unlabeled, n_features):
    for seed in range(3):
        positives, sample = mixture(n_labeled, n_unlabeled, 0.4, n_features, 2.0, seed)
        p = PenL1(random_state=seed).fit(positives).quantify(sample)
        some = slice(0, None, 40)
        expected = plain_pen_l1.curve(
            positives, sample, stream(seed, "estimate"), pen_l1.GRID[some]
        )
        np.testing.assert_allclose(p.details["curve"][some], expected, rtol=1e-8, atol=1e-8)
        assert float(p) == pen_l1.GRID[np.argmin(p.details["curve"])]


# SLSQP may step beyond the bounds by a rounding error, of which older versions of scipy warn.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
def test_dual_search_finds_the_maximum():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 9))
        labeled, unlabeled = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k))
        r = np.array([0.05, 0.3, 0.6, 0.9])
        fall = alphamax.falls(labeled, unlabeled, r)
        top = labeled @ np.log(labeled) + unlabeled @ np.log(unlabeled)
        expected = [plain_alphamax.maximum(labeled, unlabeled, x) for x in r]
        np.testing.assert_allclose(top - fall, expected, atol=1e-6)
        # A general optimiser may stop early; nothing may beat the exact search.
        assert (top - fall >= np.array(expected) - 1e-9).all()


def test_squared_distances_far_from_the_origin_and_beside_a_huge_value():
    rng = np.random.default_rng(0)
    rows, centres = rng.normal(size=(30, 4)) + 1e6, rng.normal(size=(9, 4)) + 1e6
    rows[3, 1] = centres[0, 0] = 1e12
    expected = ((rows[:, np.newaxis] - centres) ** 2).sum(axis=2)
    np.testing.assert_allclose(gaussian.squared_distances(rows, centres), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["pe", "pen-l1"])
def test_a_huge_value_counts_as_one_row(name):
    positives, sample = mixture(150, 450, 0.3)
    plain = float(FORMS[name].fit(positives).quantify(sample))
    for table in (positives, sample):
        kept, table[0, 0] = table[0, 0], 1e12
        # One row of 150 or 450 has gone, and the folds are drawn as before.
        assert float(FORMS[name].fit(positives).quantify(sample)) == pytest.approx(plain, abs=0.02)
        table[0, 0] = kept


# Known answers


def test_likelihood_is_flat_while_the_positives_fit_under_the_sample():
    labeled = np.array([0.5, 0.4, 0.1])
    rest = np.array([0.01, 0.09, 0.9])
    unlabeled = 0.3 * labeled + 0.7 * rest
    # Positives fit up to the smallest ratio, here that of the first bin.
    limit = unlabeled[0] / labeled[0]
    fall = alphamax.falls(labeled, unlabeled, alphamax.GRID)
    fits = limit > alphamax.GRID
    assert (fall[fits] < 1e-12).all()
    assert (np.diff(fall[~fits]) > 0).all()


def test_fall_at_one_is_the_symmetric_divergence():
    rng = np.random.default_rng(1)
    labeled, unlabeled = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
    at_one = ((unlabeled - labeled) * np.log(unlabeled / labeled)).sum()
    assert alphamax.falls(labeled, unlabeled, np.array([1 - 1e-9]))[0] == pytest.approx(
        at_one, abs=1e-6
    )


def test_published_knee_of_a_clean_bend():
    r = alphamax.GRID
    curve = -4.0 - np.maximum(0, r - 0.4) ** 1.2
    assert alphamax.published_knee(r, curve) == pytest.approx(0.4, abs=0.05)


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
def test_separated_mixture(default, p):
    positives, sample = mixture(200, 600, p)
    assert float(default.fit(positives).quantify(sample)) == pytest.approx(p, abs=0.08)


def test_published_pe_reports_the_joint_prior():
    positives, sample = mixture(150, 450, 0.3)
    p = PE(published=True, random_state=0).fit(positives).quantify(sample)
    joint = (150 + 0.3 * 450) / 600
    assert float(p) == pytest.approx(joint, abs=0.05)


def test_unit_of_the_features_does_not_matter(default):
    positives, sample = mixture(80, 200, 0.4)
    p = default.fit(positives).quantify(sample)
    scaled = default.fit(1024 * positives).quantify(1024 * sample)
    assert float(scaled) == pytest.approx(float(p), abs=1e-6)


def test_any_classifier():
    for classifier in (GaussianNB(), DecisionTreeClassifier(min_samples_leaf=20)):
        answers = []
        for seed in range(8):
            positives, sample = mixture(150, 500, 0.4, seed=seed)
            model = AlphaMax(classifier, random_state=0).fit(positives)
            answers.append(float(model.quantify(sample)))
        assert np.mean(answers) == pytest.approx(0.4, abs=0.06)
        assert not hasattr(classifier, "classes_")
    with pytest.raises(ValueError, match="classifier"):
        AlphaMax("logistic").fit(positives)


def test_fall_by_chance_is_the_fall_of_samples_drawn_so():
    rng = np.random.default_rng(0)
    labeled = np.array([200, 80, 40, 0])
    shares, r, n = labeled / labeled.sum(), 0.4, 1000
    falls = []
    for _ in range(300):
        n_positives = round(r * n)
        unlabeled = rng.multinomial(n_positives, shares)
        unlabeled[-1] += n - n_positives
        drawn = rng.multinomial(labeled.sum(), shares)
        parts = [(x + 0.25) / (x.sum() + 1) for x in (drawn, unlabeled)]
        falls.append(alphamax.falls(*parts, np.array([r]))[0])
    tolerance = alphamax.falls_by_chance(labeled, unlabeled, np.array([r]), rng)
    assert tolerance[0] == pytest.approx(np.quantile(falls, 0.25), rel=0.25)


# Determinism


def test_chunks_do_not_change_the_answer(monkeypatch):
    positives, sample = mixture(50, 120, 0.5, shift=2.0)
    whole = [model.fit(positives).quantify(sample) for model in (FORMS["pe"], FORMS["pen-l1"])]
    monkeypatch.setattr(gaussian, "CHUNK_VALUES", 300)
    parts = [model.fit(positives).quantify(sample) for model in (FORMS["pe"], FORMS["pen-l1"])]
    np.testing.assert_allclose([float(p) for p in parts], [float(p) for p in whole], atol=1e-9)


def test_many_positives_have_at_most_500_centres():
    positives, sample = mixture(620, 40, 0.5)
    assert PE(random_state=0).fit(positives).quantify(sample).details["n_centres"] == 500


# Degenerate samples, as documented


def test_sample_identical_to_the_positives(default):
    positives, _ = mixture(120, 1, 1.0)
    assert float(default.fit(positives).quantify(positives)) > 0.85


def test_sample_far_from_the_positives():
    positives, sample = mixture(100, 200, 0.0, shift=1000.0)
    answers = {name: float(FORMS[name].fit(positives).quantify(sample)) for name in FORMS}
    assert answers["pe"] == pytest.approx(0.0, abs=0.02)
    assert answers["pe published"] == pytest.approx(1 / 3, abs=0.02)
    assert answers["alphamax"] == 0.0
    # No centre is near the positives: nothing contradicts that all are positive.
    assert answers["pen-l1"] == 1.0


def test_all_rows_equal(form):
    positives, sample = np.full((20, 3), 7.0), np.full((50, 3), 7.0)
    p = form.fit(positives).quantify(sample)
    # The published rule needs ten points on both sides of a knee.
    expected = 0.9 if form is FORMS["alphamax published"] else 1.0
    assert float(p) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    "case",
    [
        "duplicates",
        "two values",
        "one feature",
        "500 features",
        "20 positives",
        "1 row",
        "2 rows",
        "constant features",
        "ties",
        "1 positive",
        "equal rows unlike the positives",
        "outlier",
    ],
)
def test_degenerate_samples_have_an_answer(form, case):
    rng = np.random.default_rng(3)
    positives, sample = mixture(60, 100, 0.5)
    if case == "duplicates":
        positives, sample = (
            np.repeat(positives[:6], 10, axis=0),
            np.repeat(sample[::10], 10, axis=0),
        )
    elif case == "two values":
        positives, sample = rng.integers(2, size=(60, 1)), rng.integers(2, size=(100, 1))
    elif case == "one feature":
        positives, sample = positives[:, :1], sample[:, :1]
    elif case == "500 features":
        positives, sample = mixture(40, 60, 0.5, n_features=500)
    elif case == "20 positives":
        positives = positives[:20]
    elif case == "1 row":
        sample = sample[:1]
    elif case == "2 rows":
        sample = sample[[0, -1]]
    elif case == "constant features":
        positives, sample = (
            np.column_stack([x, np.full(len(x), 5.0)]) for x in (positives, sample)
        )
    elif case == "ties":
        positives, sample = (np.round(x / 3) for x in (positives, sample))
    elif case == "1 positive":
        positives = positives[:1]
    elif case == "equal rows unlike the positives":
        sample = np.full((100, 3), 3.0)
    elif case == "outlier":
        sample[-1] = 1e12
    p = form.fit(positives).quantify(sample)
    assert 0 <= float(p) <= 1
