"""Quantifiers under the protocols and the model selection of QuaPy and mlquantify."""

import copy
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from poscount import PAT, Mahalanobis, registry

quapy = pytest.importorskip("quapy")
pytest.importorskip("mlquantify")

from mlquantify import config_context  # noqa: E402
from mlquantify import model_selection as mlquantify_selection  # noqa: E402
from quapy.data import LabelledCollection  # noqa: E402
from quapy.method.base import newOneVsAll  # noqa: E402
from quapy.model_selection import GridSearchQ  # noqa: E402

from poscount.interop.mlquantify import MLQuantifyQuantifier  # noqa: E402
from poscount.interop.quapy import QuaPyQuantifier  # noqa: E402

pytestmark = pytest.mark.usefixtures("global_generator_untouched")

ADAPTERS = [QuaPyQuantifier, MLQuantifyQuantifier]
SAMPLE_SIZE = 60


@pytest.fixture(params=ADAPTERS)
def adapter(request):
    return request.param


@pytest.fixture(scope="module")
def rows():
    """Train rows and labels, test rows and labels; class 1 lies around the origin."""
    rng = np.random.default_rng(0)
    labels = np.arange(480) % 2
    features = rng.normal(size=(480, 3))
    features[labels == 0] += 3
    return features[:160], labels[:160], features[160:], labels[160:]


# One that counts, and one that learns from each sample.
@pytest.fixture(params=["pat", "bbe"])
def quantifier(request):
    return registry.method(request.param)(random_state=0)


# The same samples, the same error


def our_error(quantifier, rows, samples):
    """Mean absolute error without any adapter."""
    X, y, pool, truth = rows
    model = clone(quantifier).fit(X[y == 1])
    errors = [abs(model.quantify(pool[index]) - truth[index].mean()) for index in samples]
    return np.mean(errors)


QUAPY_PROTOCOLS = {
    "APP": {"n_prevalences": 3, "repeats": 1},
    "NPP": {"repeats": 2},
    "UPP": {"repeats": 2},
}


def quapy_protocol(name, pool, truth, **options):
    kind = getattr(quapy.protocol, name)
    collection = LabelledCollection(pool, truth)
    return kind(collection, SAMPLE_SIZE, random_state=1, **QUAPY_PROTOCOLS[name], **options)


@pytest.mark.parametrize("name", QUAPY_PROTOCOLS)
def test_quapy_s_protocols_find_our_error(name, quantifier, rows):
    X, y, pool, truth = rows
    model = QuaPyQuantifier(quantifier).fit(X, y)
    protocol = quapy_protocol(name, pool, truth)
    theirs = quapy.evaluation.evaluate(model, protocol, error_metric="mae")
    samples = list(quapy_protocol(name, pool, truth, return_type="index")())
    assert len(samples) == protocol.total() >= 2
    assert theirs == pytest.approx(our_error(quantifier, rows, samples), abs=1e-12)


MLQUANTIFY_PROTOCOLS = {
    "APP": {"n_prevalences": 3},
    "NPP": {"n_samples": 2},
    "UPP": {"n_prevalences": 2},
}


@pytest.mark.parametrize("name", MLQUANTIFY_PROTOCOLS)
def test_mlquantify_s_protocols_find_our_error(name, quantifier, rows):
    X, y, pool, truth = rows
    kind = getattr(mlquantify_selection, name)
    protocol = kind(SAMPLE_SIZE, random_state=1, **MLQUANTIFY_PROTOCOLS[name])
    model = MLQuantifyQuantifier(quantifier).fit(X, y)
    result = mlquantify_selection.apply_protocol(model, pool, truth, fit=False, protocol=protocol)
    samples = list(protocol.split(pool, truth))
    assert len(samples) == result["n_batches"] >= 2
    expected = our_error(quantifier, rows, samples)
    assert result["MAE"].mean() == pytest.approx(expected, abs=1e-12)


def test_mlquantify_fits_a_copy_by_itself(rows):
    X, y, _, _ = rows
    model = MLQuantifyQuantifier(PAT(random_state=0))
    result = mlquantify_selection.apply_protocol(
        model, X, y, batch_size=40, random_state=0, return_estimator=True
    )
    assert result["MAE"].mean() < 0.15
    assert result["estimator"].quantifier_.n_labeled_ < 80
    assert not hasattr(model, "quantifier_")


# Model selection

GRID = {"quantifier__q": [0.02, 0.5, (0.25, 0.75)], "quantifier__scorer": [Mahalanobis()]}


def by_hand(X, y, pool, truth, samples):
    return {
        str(q): our_error(PAT(q=q, random_state=0), (X, y, pool, truth), samples)
        for q in GRID["quantifier__q"]
    }


def test_quapy_s_grid_search(rows):
    X, y, pool, truth = rows
    search = GridSearchQ(
        QuaPyQuantifier(PAT(random_state=0)),
        GRID,
        quapy_protocol("UPP", pool, truth),
        n_jobs=1,
        raise_errors=True,
    ).fit(X, y)
    samples = list(quapy_protocol("UPP", pool, truth, return_type="index")())
    expected = by_hand(*rows, samples)
    assert list(search.param_scores_.values()) == pytest.approx(list(expected.values()), abs=1e-12)
    assert str(search.best_params_["quantifier__q"]) == min(expected, key=expected.get)
    # Refitted on training and validation rows together.
    assert search.best_model().quantifier_.n_labeled_ == y.sum() + truth.sum()


def error_by_class(true, found):
    """As mlquantify's MAE, for samples of one class too: see docs/libraries.md."""
    return np.mean([abs(true.get(label, 0) - share) for label, share in found.items()])


def test_mlquantify_s_grid_search(rows):
    X, y, pool, truth = rows
    everything, labels = np.vstack([X, pool]), np.concatenate([y, truth])
    with config_context(prevalence_return_type="dict"):
        search = mlquantify_selection.GridSearchQ(
            MLQuantifyQuantifier(PAT(random_state=0)),
            GRID,
            protocol="app",
            samples_sizes=SAMPLE_SIZE,
            n_repetitions=3,
            scoring=error_by_class,
        ).fit(everything, labels)
    split = mlquantify_selection._search.train_test_split
    X, pool, y, truth = split(everything, labels, test_size=0.4, random_state=42)
    protocol = mlquantify_selection.APP(SAMPLE_SIZE, n_prevalences=3, repeats=3, random_state=42)
    expected = by_hand(X, y, pool, truth, list(protocol.split(pool, truth)))
    assert search.best_score_ == pytest.approx(min(expected.values()), abs=1e-12)
    assert str(search.best_params_["quantifier__q"]) == min(expected, key=expected.get)
    assert search.best_model_.quantifier_.n_labeled_ == labels.sum()


def test_mlquantify_misreads_samples_of_one_class():
    # Why docs/libraries.md gives GridSearchQ a score of its own: without the class that a sample
    # lacks, the share of the other is taken for that of the first class.
    true = mlquantify_selection._search.get_prev_from_labels(np.ones(5, dtype=int))
    assert mlquantify_selection._search.MAE(true, {0: 0.0, 1: 1.0}) == 1
    assert error_by_class(true, {0: 0.0, 1: 1.0}) == 0


# Labels


def shares(model, sample):
    return np.asarray(model.predict(sample))


@pytest.mark.parametrize(
    ("labels", "positive", "place"),
    [
        ([0, 1], None, 1),
        ([0, 1], 1, 1),
        ([1, 0], 0, 0),
        ([False, True], None, 1),
        (["other", "aedes"], "aedes", 0),
        (["aedes", "culex"], None, 1),
        ([-1.0, 1.0], -1.0, 0),
    ],
)
def test_the_positive_class_can_be_chosen(labels, positive, place, adapter, rows):
    X, y, pool, _ = rows
    if positive is not None and positive == labels[0]:
        labels = labels[::-1]
    named = np.array(labels)[y]
    model = adapter(PAT(random_state=0), positive).fit(X, named)
    p = PAT(random_state=0).fit(X[y == 1]).quantify(pool)
    expected = [1 - p, p] if place == 1 else [p, 1 - p]
    assert shares(model, pool) == pytest.approx(expected, abs=1e-15)
    assert model.classes_.tolist() == sorted(labels)
    assert model.classes_[place] == model.positive_


def test_the_other_class_is_not_looked_at(adapter, rows):
    X, y, pool, _ = rows
    other = np.where((y == 1)[:, np.newaxis], X, np.nan)
    expected = shares(adapter(PAT(random_state=0)).fit(X, y), pool)
    assert np.array_equal(shares(adapter(PAT(random_state=0)).fit(other, y), pool), expected)


@pytest.mark.parametrize(
    ("labels", "options", "sentence"),
    [
        ([1] * 160, {}, "two classes, one of them the positives, but has 1: 1;"),
        ([0, 1, 2, 2] * 40, {}, r"has 3: 0, 1, 2; with more than two, .* \(y == label\)"),
        ([0, 1] * 80, {"positive": "yes"}, "positive='yes' is not a label in y, .* are 0 and 1"),
        ([0, 1] * 79, {}, "inconsistent numbers of samples"),
    ],
)
def test_wrong_labels(labels, options, sentence, adapter, rows):
    with pytest.raises(ValueError, match=sentence):
        adapter(PAT(), **options).fit(rows[0], labels)


@pytest.mark.parametrize(
    "quantifier", [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression()), 5]
)
def test_what_is_no_quantifier_of_ours_is_refused(quantifier, adapter, rows):
    with pytest.raises(TypeError, match="quantifier of poscount"):
        adapter(quantifier).fit(*rows[:2])


def test_quapy_takes_one_class_after_another(rows):
    rng = np.random.default_rng(5)
    centres = np.array([[0, 0], [8, 0], [0, 8]])
    X, y = rng.normal(size=(600, 2)), np.arange(600) % 3
    X += centres[y]
    model = newOneVsAll(QuaPyQuantifier(PAT(random_state=0)), n_jobs=1).fit(X, y)
    found = rng.choice(3, p=[0.2, 0.3, 0.5], size=1000)
    answer = model.predict(rng.normal(size=(1000, 2)) + centres[found])
    assert answer == pytest.approx(np.bincount(found) / 1000, abs=0.06)


# The rest


def test_a_pipeline_that_ends_in_a_quantifier(adapter, rows):
    X, y, pool, _ = rows
    pipeline = make_pipeline(StandardScaler(), PAT(random_state=0))
    model = adapter(pipeline).fit(X, y)
    p = clone(pipeline).fit(X[y == 1]).predict(pool)
    assert shares(model, pool)[1] == pytest.approx(p, abs=1e-15)


def test_frames(adapter, rows):
    X, y, pool, _ = rows
    frame, sample = (pd.DataFrame(part, columns=list("abc")) for part in (X, pool))
    model = adapter(PAT(random_state=0)).fit(frame, pd.Series(y))
    assert np.array_equal(shares(model, sample), shares(model.fit(X, y), pool))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies(copied, adapter, rows):
    X, y, pool, _ = rows
    model = adapter(PAT(random_state=0)).fit(X, y)
    assert np.array_equal(shares(copied(model), pool), shares(model, pool))


def test_mlquantify_decides_on_dict_or_array(rows):
    X, y, pool, _ = rows
    model = MLQuantifyQuantifier(PAT(random_state=0)).fit(X, y)
    with config_context(prevalence_return_type="dict"):
        named = model.predict(pool)
    with config_context(prevalence_return_type="array"):
        assert list(named.values()) == model.predict(pool).tolist()
    assert list(named) == [0, 1]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_global_generator_has_no_say_and_is_left_alone(seed, adapter, rows):
    X, y, pool, _ = rows
    state = np.random.get_state()  # noqa: NPY002
    expected = shares(adapter(registry.method("extice")(random_state=0)).fit(X, y), pool[:60])
    np.random.seed(seed)  # noqa: NPY002
    try:
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        model = adapter(registry.method("extice")(random_state=0)).fit(X, y)
        assert np.array_equal(shares(model, pool[:60]), expected)
        # QuaPy draws its next samples from it.
        assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    finally:
        np.random.set_state(state)  # noqa: NPY002


@pytest.mark.parametrize("library", ["quapy", "mlquantify"])
def test_without_the_library_a_sentence_names_the_extra(library):
    script = f"""
        import sys
        sys.modules["{library}"] = None
        import poscount.interop
        try:
            import poscount.interop.{library}
        except ImportError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f'pip install "poscount[{library}]"' in told
