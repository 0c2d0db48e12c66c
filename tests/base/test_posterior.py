import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poscount import PAT, ODIn
from poscount.counts.posterior import cell_posterior
from poscount.results.prevalence import Prevalence

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


@pytest.fixture(scope="module")
def model_of(positives):
    models = {kind: kind(random_state=0).fit(positives) for kind in (PAT, ODIn)}
    return models.__getitem__


@pytest.mark.parametrize("kind", [PAT, ODIn])
@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(0, 120), st.integers(0, 120), st.floats(0.1, 3))
def test_mean_is_the_prevalence(kind, model_of, draw, seed, n_positive, n_negative, spread):
    rng = np.random.default_rng(seed)
    sample = np.vstack(
        [draw(rng, n_positive, n_negative), spread * rng.normal(size=(20, 3)) + [1, -2, 5]]
    )
    model = model_of(kind)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior = model.posterior(sample)
    assert posterior.shape == (len(sample),)
    assert ((posterior >= 0) & (posterior <= 1)).all()
    p = model.quantify(sample)
    if caught:
        assert kind is ODIn
        assert posterior.mean() < p
    else:
        assert posterior.mean() == pytest.approx(p, abs=1e-9)


@pytest.mark.parametrize("kind", [PAT, ODIn])
def test_by_the_formula(kind, model_of, sample):
    model = model_of(kind)
    posterior = model.posterior(sample)
    cells = np.searchsorted(model.edges_, model.scorer_.score_samples(sample))
    in_sample = np.bincount(cells, minlength=len(model.shares_)) / len(sample)
    ratio = model.shares_[cells] / in_sample[cells]
    inside = posterior < 1
    # Below the cap the posterior is one and the same multiple of share_L / share_U.
    multiples = posterior[inside & (ratio > 0)] / ratio[inside & (ratio > 0)]
    np.testing.assert_allclose(multiples, multiples[0])
    assert (multiples[0] * ratio[~inside] >= 1 - 1e-12).all()


def test_rows_far_away_are_less_likely(pat, positives, sample):
    far = sample[:, 0] > 50
    posterior = pat.posterior(sample)
    # Negatives share the lowest cell with a quarter of the positives.
    assert posterior[far].max() <= posterior[~far].min() + 1e-12
    assert posterior[far].max() < 0.5
    assert posterior[~far].mean() > 0.5


def test_zero_and_one(pat, positives):
    far = positives + 1000
    assert (pat.posterior(far) == 0).all()
    core = np.tile(positives.mean(axis=0), (30, 1))
    assert (pat.posterior(core) == 1).all()


def test_a_mean_that_cannot_be_reached(model_of):
    # No positive scored below all of its edges, so that rows there cannot be positive: bins that
    # hold a tenth of the positives each, but one row of the sample too few.
    rows = np.array([110, *[9] * 10, 0])
    half = Prevalence(0.5, n_labeled=100, n_unlabeled=200, method="ODIn")
    found = cell_posterior(rows, model_of(ODIn).shares_, half)
    assert found.probability.tolist() == [0, *[1] * 10, 0]


def test_the_warning_reaches_the_caller(model_of, draw, monkeypatch):
    model = model_of(ODIn)
    monkeypatch.setattr(model, "_rule", lambda cells, shares: np.array([0.9]))
    words = r"mean posterior is 0\.[0-8]\d{3}, not the prevalence 0\.9000, .* lies where positives"
    with pytest.warns(UserWarning, match=words) as caught:
        model.posterior(draw(np.random.default_rng(0), 50, 50))
    assert caught[0].filename == __file__


@pytest.mark.usefixtures("small_blocks")
def test_blocks_change_nothing(model_of, sample, make_frame, positives):
    named = PAT(random_state=0).fit(make_frame(positives))
    in_blocks = named.posterior(make_frame(sample))
    order = np.random.default_rng(0).permutation(len(sample))
    assert np.array_equal(named.posterior(make_frame(sample[order])), in_blocks[order])
    cells = named._cells_of(sample)
    assert all(len(set(in_blocks[cells == cell])) == 1 for cell in set(cells))
