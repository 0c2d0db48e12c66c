"""Every method survives being copied, sent to another process, and put into a pipeline."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from answers import assert_same_answer
from poscount import BBE, PAT, Mahalanobis, estimate_contamination, registry
from poscount.results.what_if import WhatIf

pytestmark = pytest.mark.usefixtures("global_generator_untouched")

ROWS = 80


@pytest.fixture(params=registry.METHODS)
def quantifier(request):
    return registry.method(request.param)(random_state=0)


@pytest.fixture
def positives(positives):
    return positives[:ROWS]


@pytest.fixture
def sample(sample):
    return sample[:ROWS]


def joblib_file(value, folder):
    joblib.dump(value, folder / "copy.joblib")
    return joblib.load(folder / "copy.joblib")


COPIES = {
    "copy": lambda value, folder: copy.copy(value),
    "deepcopy": lambda value, folder: copy.deepcopy(value),
    "pickle": lambda value, folder: pickle.loads(pickle.dumps(value)),
    "joblib": joblib_file,
}


def plain(value):
    """What a result says, in lists and numbers that can be compared."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, WhatIf):
        return plain(value.to_dict())
    if hasattr(value, "to_dict"):
        return plain(value.to_dict()), plain(value.details)
    return np.asarray(value).tolist()


@pytest.mark.parametrize("copied", list(COPIES.values())[:3], ids=list(COPIES)[:3])
def test_models_and_results_survive(copied, quantifier, positives, sample, tmp_path):
    model = quantifier.fit(positives)
    answer = model.quantify(sample)
    other = copied(model, tmp_path)
    assert type(other) is type(model)
    assert plain(other.quantify(sample)) == plain(answer)
    again = copied(answer, tmp_path)
    assert type(again) is type(answer)
    assert_same_answer(again, answer)
    assert plain(again) == plain(answer)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_contamination_survives(copied, positives, sample, tmp_path):
    share = estimate_contamination(Mahalanobis(), positives, sample, random_state=0)
    again = copied(share, tmp_path)
    assert repr(again) == repr(share)
    assert plain(again.prevalence) == plain(share.prevalence)


def test_a_clone_is_unfitted_and_learns_the_same(quantifier, positives, sample):
    fresh = clone(quantifier.fit(positives))
    assert not hasattr(fresh, "n_labeled_")
    assert repr(fresh) == repr(quantifier)
    assert plain(fresh.fit(positives).quantify(sample)) == plain(quantifier.quantify(sample))


def test_other_processes_give_the_same_answers(positives, sample):
    models = [kind(random_state=0).fit(positives) for kind in (PAT, BBE)]
    here = [model.quantify(sample) for model in models]
    there = joblib.Parallel(n_jobs=2)(joblib.delayed(model.quantify)(sample) for model in models)
    assert plain(there) == plain(here)


@pytest.mark.parametrize(
    ("output", "kind"),
    [("default", np.asarray), ("pandas", np.asarray), ("polars", pd.DataFrame)],
)
def test_the_last_step_of_a_pipeline(output, kind, quantifier, positives, sample):
    if kind is not np.asarray:
        positives, sample = (
            kind(dict(zip("abc", rows.T, strict=True))) for rows in (positives, sample)
        )
    scaler = StandardScaler().set_output(transform=output)
    pipeline = make_pipeline(scaler, quantifier).fit(positives)
    scaled = clone(scaler).fit(positives)
    alone = clone(quantifier).fit(scaled.transform(positives))
    assert plain(pipeline.predict(sample)) == plain(alone.quantify(scaled.transform(sample)))
    assert clone(pipeline).get_params()[f"{type(quantifier).__name__.lower()}__random_state"] == 0


@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, pl.DataFrame])
def test_what_a_scorer_s_steps_hand_on_changes_nothing(output, kind, positives, sample):
    if kind is not np.asarray:
        positives, sample = (
            kind(dict(zip("abc", rows.T, strict=True))) for rows in (positives, sample)
        )
    forest = IsolationForest(n_estimators=5)
    plain_pipeline = make_pipeline(StandardScaler(), forest)
    expected = PAT(plain_pipeline, random_state=0).fit(positives).count(sample).cells
    named = make_pipeline(StandardScaler().set_output(transform=output), forest)
    assert np.array_equal(PAT(named, random_state=0).fit(positives).count(sample).cells, expected)
    with sklearn.config_context(transform_output=output):
        model = PAT(plain_pipeline, random_state=0).fit(positives)
        assert np.array_equal(model.count(sample).cells, expected)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_columns_picked_by_a_transformer_inside_the_scorer(output, positives, sample):
    learned, found = (pd.DataFrame(rows, columns=list("abc")) for rows in (positives, sample))
    pick = make_column_transformer((StandardScaler(), ["a", "c"])).set_output(transform=output)
    model = PAT(make_pipeline(pick, Mahalanobis()), random_state=0).fit(learned)
    expected = PAT(random_state=0).fit(learned[["a", "c"]]).quantify(found)
    # Mahalanobis does not mind the scale.
    assert_same_answer(model.quantify(found), expected)
    assert_same_answer(model.quantify(found[["c", "b", "a"]]), model.quantify(found))


def test_metadata_is_routed_to_predict(positives, sample):
    weight = np.random.default_rng(0).gamma(2, 0.5, len(sample))
    alone = PAT(random_state=0).fit(StandardScaler().fit_transform(positives))
    scaled = StandardScaler().fit(positives).transform(sample)
    with sklearn.config_context(enable_metadata_routing=True):
        last = PAT(random_state=0).set_predict_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler(), last).fit(positives)
        found = pipeline.predict(sample, sample_weight=weight)
    assert plain(found) == plain(alone.quantify(scaled, weights=weight))
    assert plain(alone.predict(scaled, sample_weight=weight)) == plain(found)
    assert not hasattr(alone, "score")
    assert not hasattr(alone, "predict_proba")
