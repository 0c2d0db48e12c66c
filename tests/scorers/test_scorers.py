import importlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import mahalanobis
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.covariance import EllipticEnvelope, LedoitWolf
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import OneClassSVM

from answers import assert_same_answer
from poscount import PAT, InputError, Mahalanobis, ODIn
from poscount.data.rows import InputSupport, Rows
from poscount.scorers import fit_scorer, score

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


# Mahalanobis


def test_distance_as_scipy_computes_it(positives, sample):
    inverse = np.linalg.inv(np.cov(positives.T, ddof=1))
    expected = [mahalanobis(row, positives.mean(axis=0), inverse) for row in sample]
    np.testing.assert_allclose(
        Mahalanobis().fit(positives).score_samples(sample), -np.array(expected)
    )


def test_distance_in_one_dimension():
    # Mean 2, variance (4 + 0 + 4) / 2 = 4.
    scorer = Mahalanobis().fit([[0.0], [2.0], [2.0], [4.0]])
    spread = np.sqrt(8 / 3)
    np.testing.assert_allclose(
        scorer.score_samples([[2.0], [0.0], [10.0]]), [0, -2 / spread, -8 / spread], atol=1e-12
    )


def test_shrunk_distance_as_scikit_learn_computes_it(positives, sample):
    mean, spread = positives.mean(axis=0), positives.std(axis=0)
    shrunk = LedoitWolf(assume_centered=True).fit((positives - mean) / spread).covariance_
    # The covariance has ddof 1, in the units of the features.
    n = len(positives)
    inverse = np.linalg.inv(shrunk * np.outer(spread, spread) * n / (n - 1))
    expected = [mahalanobis(row, mean, inverse) for row in sample]
    scorer = Mahalanobis("ledoit-wolf").fit(positives)
    np.testing.assert_allclose(scorer.score_samples(sample), -np.array(expected), rtol=1e-2)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(-60, 60))
def test_any_invertible_map_changes_nothing(seed, power):
    rng = np.random.default_rng(seed)
    positives, sample = rng.normal(size=(50, 4)), 3 * rng.normal(size=(80, 4))
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    mapping = rotation * rng.uniform(0.5, 2, size=4) * 10.0**power
    shift = rng.normal(size=4) * 10.0**power
    plain = Mahalanobis().fit(positives).score_samples(sample)
    mapped = Mahalanobis().fit(positives @ mapping + shift).score_samples(sample @ mapping + shift)
    np.testing.assert_allclose(mapped, plain, rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e20, 1e200])
@pytest.mark.parametrize("covariance", ["empirical", "ledoit-wolf"])
@pytest.mark.parametrize("kind", [PAT, ODIn])
def test_scale_of_a_feature_changes_no_answer(kind, covariance, scale, positives, sample):
    scales = [1.0, scale, 1 / scale]
    plain = kind(Mahalanobis(covariance), random_state=0).fit(positives)
    scaled = kind(Mahalanobis(covariance), random_state=0).fit(positives * scales)
    assert_same_answer(scaled.quantify(sample * scales), plain.quantify(sample))


@pytest.mark.parametrize("keep_float32", [True, False])
@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_values_near_the_end_of_floats_are_far_away(keep_float32, scale, positives):
    # -3.4e38 stands for "no data" in many float32 rasters.
    model = PAT(Mahalanobis(keep_float32=keep_float32), random_state=0)
    model.fit(positives.astype(np.float32) * np.float32(scale))
    nothing = np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1]]) * -3.4e38
    assert model.count(nothing.astype(np.float32)).cells[0] == 3
    assert model.count(nothing * 1e269).cells[0] == 3  # a float64, and finite


def test_float32_is_scored_in_float64_unless_asked(positives, sample):
    single = sample.astype(np.float32)
    in_double = Mahalanobis().fit(positives).score_samples(single.astype(float))
    assert np.array_equal(Mahalanobis().fit(positives).score_samples(single), in_double)
    kept = Mahalanobis(keep_float32=True).fit(positives).score_samples(single)
    assert not np.array_equal(kept, in_double)
    np.testing.assert_allclose(kept, in_double, rtol=1e-4)


@pytest.mark.parametrize("n_features", [1, 2, 7, 40])
def test_a_row_scores_the_same_wherever_it_stands(n_features):
    rng = np.random.default_rng(0)
    scorer = Mahalanobis().fit(rng.normal(size=(100, n_features)))
    rows = rng.normal(size=(3000, n_features))
    whole = scorer.score_samples(rows)
    for start, stop in [(0, 1), (1, 3), (5, 100), (17, 2999), (2047, 2050)]:
        assert np.array_equal(scorer.score_samples(rows[start:stop]), whole[start:stop])
    assert np.array_equal(scorer.score_samples(np.asfortranarray(rows)), whole)
    order = np.random.default_rng(1).permutation(len(rows))
    assert np.array_equal(scorer.score_samples(rows[order]), whole[order])


def test_directions_without_spread_do_not_count(positives):
    flat = np.column_stack([positives, np.full(len(positives), 7.0), positives[:, 0]])
    scorer = Mahalanobis().fit(flat)
    assert (scorer.rank_, scorer.constant_.tolist()) == (3, [3])
    moved = flat.copy()
    moved[:, 3] += 1000
    np.testing.assert_allclose(scorer.score_samples(moved), scorer.score_samples(flat))


@pytest.mark.parametrize(
    "parameters", [{"covariance": "diagonal"}, {"keep_float32": 1.5}], ids=repr
)
def test_wrong_parameters(parameters, positives):
    with pytest.raises(ValueError, match="parameter of Mahalanobis"):
        Mahalanobis(**parameters).fit(positives)


# Out-of-fold scores


def test_training_scores_are_out_of_fold(positives):
    _, scores = fit_scorer(None, Rows(positives, None, InputSupport()), seed=0)
    own = Mahalanobis().fit(positives).score_samples(positives)
    # Each positive is scored by the mean and covariance of about nine tenths without it.
    without = np.empty(len(positives))
    for i in range(len(positives)):
        rest = np.delete(positives, i, axis=0)
        without[i] = Mahalanobis().fit(rest).score_samples(positives[[i]])[0]
    assert scores.mean() < own.mean()
    np.testing.assert_allclose(scores, without, atol=0.6)
    assert np.corrcoef(scores - own, without - own)[0, 1] > 0.5


def test_folds_are_ten_and_each_row_is_held_out_once(positives):
    seen = []

    class Spy(Mahalanobis):
        def fit(self, X, y=None):
            seen.append({tuple(row) for row in X.tolist()})
            return super().fit(X)

    everything = {tuple(row) for row in positives.tolist()}
    fit_scorer(Spy(), Rows(positives, None, InputSupport()), seed=0)
    assert sorted(map(len, seen)) == [180] * 10 + [200]
    held_out = [everything - rows for rows in seen if len(rows) < 200]
    assert set.union(*held_out) == everything


def test_scores_that_cannot_tell_anything(positives):
    class Flat(Mahalanobis):
        def score_samples(self, X):
            return np.zeros(len(X))

        _score_block = score_samples

    with pytest.raises(ValueError, match="every positive the same score"):
        PAT(Flat()).fit(positives)


class Steps(Mahalanobis):
    """Three scores only: a third of normal rows are further than 1 away, a twentieth than 2."""

    def _score_block(self, X):
        return np.maximum(np.ceil(super()._score_block(X)), -2.0)


def test_few_distinct_scores_are_cautioned(positives):
    model = PAT(Steps(), random_state=0).fit(positives)
    (caution,) = (c for c in model.quantify(positives).warnings if c.code == "tied-scores")
    share = np.mean(Mahalanobis().fit(positives).score_samples(positives) > -2)
    assert 0.05 < caution.value < share


# Detectors of other libraries


def pyod(name):
    module = importlib.import_module(f"pyod.models.{name.lower()}")
    return getattr(module, name)


DETECTORS = {
    "OneClassSVM": lambda: OneClassSVM(gamma="scale", nu=0.1),
    "LocalOutlierFactor": lambda: LocalOutlierFactor(novelty=True),
    "IsolationForest": lambda: IsolationForest(n_estimators=5),
    "GaussianMixture": lambda: GaussianMixture(2),
    "EllipticEnvelope": lambda: EllipticEnvelope(support_fraction=1.0),
    "KernelDensity": lambda: KernelDensity(),
    "scaler + detector": lambda: make_pipeline(StandardScaler(), OneClassSVM()),
    "PyOD IForest": lambda: pyod("IForest")(n_estimators=5),
    "PyOD HBOS": lambda: pyod("HBOS")(),
    "PyOD OCSVM": lambda: pyod("OCSVM")(),
    "PyOD in a pipeline": lambda: make_pipeline(StandardScaler(), pyod("HBOS")()),
    "PyOD in a pipeline in a pipeline": lambda: make_pipeline(
        StandardScaler(), make_pipeline(StandardScaler(), pyod("KNN")())
    ),
    "ours in a pipeline": lambda: make_pipeline(StandardScaler(), Mahalanobis()),
}


@pytest.fixture(params=DETECTORS)
def detector(request):
    return DETECTORS[request.param]()


def test_detector_is_turned_the_right_way_round(detector, positives):
    scorer, _ = fit_scorer(detector, Rows(positives, None, InputSupport()), seed=0)
    near, far = score(scorer, positives.mean(axis=0, keepdims=True)), score(scorer, positives + 60)
    assert near > far.max()


def test_every_detector_counts(detector, positives, sample):
    # 160 of 400 rows are positive, and the others far away.
    model = PAT(detector, random_state=0).fit(positives)
    answer = model.quantify(sample)
    assert abs(answer - 0.4) < 0.13
    assert answer.interval.width < 0.5
    # An unseeded detector is seeded by the model.
    again = PAT(detector, random_state=0).fit(positives)
    assert_same_answer(again.quantify(sample), answer)
    assert again.hash_ == model.hash_
    assert not hasattr(detector, "n_features_in_")
    assert "random_state" not in detector.get_params() or detector.random_state is None


def test_unseeded_detectors_follow_the_seed(positives, sample):
    edges = [
        PAT(IsolationForest(n_estimators=5), random_state=seed).fit(positives).edges_
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(edges[0], edges[1])
    assert not np.array_equal(edges[0], edges[2])


def test_a_seeded_detector_keeps_its_seed(positives):
    model = PAT(make_pipeline(StandardScaler(), IsolationForest(n_estimators=2, random_state=7)))
    assert model.fit(positives).scorer_[-1].random_state == 7


@pytest.mark.parametrize("name", ["ECOD", "COPOD"])
def test_rows_must_be_scored_one_by_one(name, positives):
    with pytest.raises(ValueError, match=f"{name} scores a row differently depending on the rows"):
        PAT(pyod(name)()).fit(positives)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", ["COF", "SOS"])
def test_a_scorer_that_needs_company_is_refused(name, positives):
    with pytest.raises(ValueError, match=f"{name} cannot score a row by itself, so rows"):
        PAT(pyod(name)()).fit(positives)


@pytest.mark.parametrize("nu", [0.1, 0.5])
@pytest.mark.parametrize(
    "wrap", [lambda svm: svm, lambda svm: make_pipeline(StandardScaler(), svm)]
)
def test_sums_over_training_rows_are_made_means(nu, wrap, positives):
    # libsvm's scores of nine folds would lie a tenth below those of all rows.
    rows = Rows(positives, None, InputSupport())
    scorer, out_of_fold = fit_scorer(wrap(OneClassSVM(nu=nu)), rows, seed=0)
    ratio = np.median(out_of_fold) / np.median(score(scorer, positives))
    assert abs(ratio - 1) < 0.03


def test_a_scorer_that_cannot_be_pickled(positives, sample):
    centre = make_pipeline(FunctionTransformer(lambda rows: rows - 1.0), Mahalanobis())
    model = PAT(centre, random_state=0).fit(positives)
    assert_same_answer(model.quantify(sample), PAT(random_state=0).fit(positives).quantify(sample))
    assert model.hash_ == PAT(centre, random_state=0).fit(positives).hash_


@pytest.mark.parametrize(
    ("scorer", "sentence"),
    [
        (LocalOutlierFactor(), "novelty=True"),
        (make_pipeline(StandardScaler(), LocalOutlierFactor()), "novelty=True"),
        (make_pipeline(make_pipeline(StandardScaler(), LocalOutlierFactor())), "novelty=True"),
        (LogisticRegression(), "one-class detector"),
        (RandomForestClassifier(), "one-class detector"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "one-class detector"),
        (KMeans(), "neither"),
        (StandardScaler(), "neither"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [PAT, ODIn])
def test_what_is_no_scorer_is_refused(kind, scorer, sentence, positives):
    with pytest.raises(TypeError, match=sentence):
        kind(scorer).fit(positives)


@pytest.mark.parametrize("scorer", ["mahalanobis", 5, Mahalanobis, IsolationForest])
def test_what_is_no_estimator_is_refused(scorer, positives):
    with pytest.raises((TypeError, ValueError), match=r"scorer\b.* must be an? "):
        PAT(scorer).fit(positives)


def test_scores_that_are_nan_are_refused(positives, sample):
    class Broken(OneClassSVM):
        def score_samples(self, X):
            return np.where(X[:, 0] > 50, np.nan, 0) + super().score_samples(X)

    model = PAT(Broken(), random_state=0).fit(positives)
    with pytest.raises(InputError, match="Broken gave NaN for 240 of 400 rows"):
        model.quantify(sample)


# What only pipelines take


def with_nan(rows, share, seed):
    rows = rows.copy()
    rows[np.random.default_rng(seed).random(rows.shape) < share] = np.nan
    return rows


@pytest.mark.parametrize("data", [np.asarray, "frame"])
def test_an_imputing_pipeline_takes_nan(data, make_frame, positives, sample):
    data = make_frame if data == "frame" else data
    model = PAT(make_pipeline(SimpleImputer(), StandardScaler(), Mahalanobis()), random_state=0)
    answer = model.fit(data(with_nan(positives, 0.02, 0))).quantify(data(with_nan(sample, 0.02, 1)))
    assert abs(answer - 0.4) < 0.13


@pytest.fixture(scope="module")
def encoder():
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((encode, ["colour"]), (StandardScaler(), ["size"]))
    return make_pipeline(columns, OneClassSVM())


def coloured(rng, n, size, colours):
    return {"size": rng.normal(size, size=n), "colour": rng.choice(colours, n)}


@pytest.fixture(scope="module")
def coloured_rows():
    """Positives, and a sample of which half are too large and of an unknown colour."""
    rng = np.random.default_rng(0)
    learned, found = (coloured(rng, 200, 0, ["red", "green"]) for _ in range(2))
    others = coloured(rng, 200, 20, ["blue"])
    return learned, {name: np.concatenate([found[name], others[name]]) for name in found}


def test_a_pipeline_takes_text(make_frame, encoder, coloured_rows):
    learned, found = coloured_rows
    model = PAT(encoder, random_state=0).fit(make_frame(learned))
    answer = model.quantify(make_frame(found))
    assert abs(answer - 0.5) < 0.13
    other_order = make_frame({"note": ["?"] * 400, **dict(reversed(found.items()))})
    assert_same_answer(model.set_params(n_jobs=2).quantify(other_order), answer)
    ((group, alone),) = model.quantify_groups(other_order, "note").items()
    assert group == ("?",)
    assert_same_answer(alone, answer)
    with pytest.raises(InputError, match="column 'colour'"):
        model.quantify(make_frame({"size": found["size"]}))


def test_frames_give_the_same_answers_through_an_encoder(encoder, coloured_rows):
    learned, found = coloured_rows
    counts = [
        PAT(encoder, random_state=0).fit(kind(learned)).count(kind(found))
        for kind in (pd.DataFrame, pl.DataFrame, pa.table)
    ]
    assert counts[0] == counts[1] == counts[2]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_sparse_rows(form, n_jobs, positives, sample):
    model = PAT(OneClassSVM(), n_jobs=n_jobs, random_state=0)
    dense = model.fit(positives).count(sample).cells
    thin = model.fit(form(positives)).count(form(sample)).cells
    # A scorer may sum sparse rows in another order than dense ones: a last bit at an edge.
    assert np.abs(np.cumsum(dense) - np.cumsum(thin)).max() <= 1


def test_sparse_rows_for_a_scorer_that_takes_none(pat, sample):
    with pytest.raises(InputError, match="PAT takes no sparse matrix; RCQ and TRCQ do"):
        pat.quantify(sparse.csr_array(sample))
