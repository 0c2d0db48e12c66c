import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from poscount import ODIn
from poscount.data.rows import InputSupport, Rows
from poscount.methods.odin import _largest_fitting
from poscount.scorers import fit_scorer

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


def bin_shares(scores, edges):
    """Shares of the scores in the twelve bins between eleven edges, one score after the other."""
    shares = np.zeros(12)
    for score in scores:
        if score < edges[0]:
            place = 0
        elif score > edges[-1]:
            place = 11
        else:
            place = next(i for i in range(1, 11) if score <= edges[i])
        shares[place] += 1 / len(scores)
    return shares


def overflow(a, inside, outside):
    return sum(max(0.0, a * i - o) for i, o in zip(inside, outside, strict=True))


def plain_odin(inside, outside, limit):
    """ODIn as the paper has it: bisection to 1e-5."""
    if overflow(1, inside, outside) <= limit:
        s = 1.0
    else:
        low, high = 0.0, 1.0
        while high - low > 1e-5:
            middle = (low + high) / 2
            if overflow(middle, inside, outside) <= middle * limit:
                low = middle
            else:
                high = middle
        s = low
    return s - overflow(s, inside, outside)


def plain_overflows(training_scores, edges, rng, n_parts):
    """Overflows between two random parts, thirds or halves, of the training scores."""
    n = len(training_scores) // n_parts
    overflows = []
    for _ in range(100):
        drawn = rng.permutation(training_scores)
        shares = [bin_shares(part, edges) for part in (drawn[:n], drawn[n : 2 * n])]
        overflows.append(overflow(1, *shares))
    return overflows


@pytest.fixture(scope="module")
def model(positives):
    return ODIn(random_state=0).fit(positives)


@pytest.fixture(scope="module")
def training_scores(positives):
    return fit_scorer(None, Rows(positives, None, InputSupport()), seed=0)[1]


@pytest.mark.parametrize("n_positive", [0, 5, 50, 150, 200])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_plain_one(model, training_scores, n_positive, seed, draw):
    rng = np.random.default_rng(seed)
    sample = draw(rng, n_positive, 200 - n_positive)
    sample[::9] = 3 * rng.normal(size=(23, 3))
    edges = [np.percentile(training_scores, q) for q in range(0, 101, 10)]
    inside = bin_shares(training_scores, edges)
    outside = bin_shares(model.scorer_.score_samples(sample), edges)
    expected = plain_odin(inside, outside, model.limit_)
    assert model.quantify(sample) == pytest.approx(expected, abs=5e-5)


def test_the_limit_is_that_of_random_thirds(model, training_scores):
    edges = [np.percentile(training_scores, q) for q in range(0, 101, 10)]
    rng = np.random.default_rng(0)
    draws = [plain_overflows(training_scores, edges, rng, 3) for _ in range(8)]
    others = [np.mean(each) + 3 * np.std(each) for each in draws]
    # Another 100 draws: the same limit, up to the scatter of such limits.
    assert abs(model.limit_ - np.mean(others)) < 4 * np.std(others, ddof=1)


def test_the_limit_of_the_text_is_the_mean_of_random_halves(positives, training_scores):
    edges = [np.percentile(training_scores, q) for q in range(0, 101, 10)]
    rng = np.random.default_rng(0)
    others = [np.mean(plain_overflows(training_scores, edges, rng, 2)) for _ in range(8)]
    found = ODIn(limit="mean", random_state=0).fit(positives).limit_
    assert abs(found - np.mean(others)) < 4 * np.std(others, ddof=1)
    with pytest.raises(ValueError, match="limit"):
        ODIn(limit="median").fit(positives)


shares = hnp.arrays(np.float64, 12, elements=st.integers(0, 50).map(float)).filter(np.any)


@given(shares, shares, st.floats(0, 0.6))
def test_largest_fitting_is_exact(inside, outside, limit):
    inside, outside = inside / inside.sum(), outside / outside.sum()
    s = _largest_fitting(inside, outside, limit)
    assert 0 <= s <= 1
    assert overflow(s, inside, outside) <= s * limit + 1e-12
    for more in np.linspace(s, 1, 20)[1:] if s < 1 else []:
        assert overflow(more, inside, outside) > more * limit - 1e-12


# Known answers


def test_the_cells_of_the_positives(model, training_scores):
    # Of 200 positives, twenty lie in each bin, and none outside.
    assert (model.shares_ * 200).round().astype(int).tolist() == [0, *[20] * 10, 0]
    assert len(model.edges_) == 11


def test_nothing_alike_is_zero(model, positives):
    assert model.quantify(positives + 1000) == 0


def test_a_sample_with_the_shares_of_the_positives(model):
    counts = (model.shares_ * 200).round().astype(np.int64)
    assert model._rule(counts, model.shares_) == pytest.approx(1)
    diluted = counts.copy()
    diluted[0] += 600
    s = _largest_fitting(model.shares_, diluted / 800, model.limit_)
    # Up to 0.25 nothing overflows; beyond, all that is added does: a - 0.25 <= a limit.
    assert s == pytest.approx(0.25 / (1 - model.limit_))
    assert model._rule(diluted, model.shares_) == pytest.approx(0.25)


@pytest.mark.parametrize("n_positive", [0, 200, 1000])
def test_the_share_that_was_put_in(n_positive, draw):
    rng = np.random.default_rng(n_positive)
    model = ODIn(random_state=0).fit(draw(rng, 3000))
    answer = model.quantify(draw(rng, n_positive, 1000 - n_positive))
    assert abs(answer - n_positive / 1000) < 0.1
    assert answer.method == "ODIn"


def test_seed_decides_the_limit(positives):
    limits = [ODIn(random_state=seed).fit(positives).limit_ for seed in (0, 0, 1)]
    assert limits[0] == limits[1] != limits[2]
