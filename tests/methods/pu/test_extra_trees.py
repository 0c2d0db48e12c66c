"""TRCQ's trees are scikit-learn's, grown with less ado."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier

from poscount.methods.pu import extra_trees
from poscount.methods.pu.extra_trees import ExtraTrees

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


@pytest.mark.parametrize("directly", [True, False])
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(4, 300))
def test_probabilities_are_those_of_the_public_class(directly, seed, n_features, n_rows):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, n_features)).round(seed % 4)
    labels = rng.random(n_rows) < 0.4
    labels[:2] = True, False
    weights, new = rng.random(n_rows) + 0.1, rng.normal(size=(50, n_features))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extra_trees, "_can_grow", lambda: directly)
        ours = clone(ExtraTrees(7, random_state=seed % 1000)).fit(rows, labels, weights)
    public = ExtraTreesClassifier(7, min_samples_leaf=5, random_state=seed % 1000)
    public.fit(rows, labels, weights)
    assert (ours._grown is not None) == directly
    assert (ours.predict_proba(new) == public.predict_proba(new)).all()


def test_the_short_way_works_with_this_scikit_learn():
    assert extra_trees._can_grow()


def test_other_code_inside_of_scikit_learn_is_noticed(monkeypatch):
    for wrong in (lambda *_: 1 / "", lambda self, *_: []):
        with monkeypatch.context() as patch:
            patch.setattr(ExtraTrees, "_grow", wrong)
            patch.setattr(ExtraTrees, "predict_proba", lambda self, rows: np.zeros((60, 2)))
            assert not extra_trees._can_grow.__wrapped__()
