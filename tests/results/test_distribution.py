"""The distribution of a prevalence: its functions agree with each other and with its quantiles."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from poscount import Distribution, Prevalence
from poscount.results.distribution import (
    INTERVAL_LEVELS,
    LEVELS,
    NORMAL,
    around,
    ends_at,
    quantile_at,
    quantiles_from_intervals,
    widened,
)

shares = st.floats(0, 1, allow_subnormal=False)
# Few different values make atoms, of which 0 and 1 are frequent.
values = st.one_of(shares, st.sampled_from([0.0, 0.25, 1.0]))
all_quantiles = st.lists(values, min_size=49, max_size=49).map(sorted).map(np.array)
distributions = all_quantiles.map(Distribution)
probabilities = st.floats(0, 1)


def test_levels_are_those_of_the_common_intervals_bit_for_bit():
    assert len(LEVELS) == 49
    assert (np.diff(LEVELS) > 0).all()
    for level in (0.5, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999):
        assert (1 - level) / 2 in LEVELS
        assert (1 + level) / 2 in LEVELS
    np.testing.assert_array_equal(NORMAL, -NORMAL[::-1])


@given(all_quantiles)
def test_quantiles_at_the_levels_are_those_that_are_kept(quantiles):
    np.testing.assert_array_equal(Distribution(quantiles).quantile(LEVELS), quantiles)


@given(distributions, probabilities)
def test_quantile_and_cdf_are_inverse(distribution, q):
    x = distribution.quantile(q)
    # The quantile itself may lie between two numbers that a float can hold.
    assert distribution.cdf(np.nextafter(x, 2.0)) >= q - 1e-9
    # Whatever is clearly below the quantile has a smaller probability.
    assert distribution.cdf(x - 1e-9) <= q + 1e-6 or distribution.cdf(x - 1e-9) <= LEVELS[0]


@given(distributions, shares)
def test_cdf_and_quantile_are_inverse(distribution, x):
    first, last = distribution.quantiles[[0, -1]]
    q = distribution.cdf(x)
    assert 0 <= q <= 1
    if x < first:
        assert q == 0
    elif x >= last:
        assert q == 1
    else:
        # In an empty stretch of an atom's neighbour, the quantile is x itself.
        assert distribution.quantile(q) == pytest.approx(x, abs=1e-9)


@given(distributions, st.lists(shares, min_size=2, max_size=20))
def test_above_and_at_most_are_all_there_is(distribution, x):
    x = np.array(x)
    np.testing.assert_array_equal(distribution.above(x) + distribution.cdf(x), 1)
    assert [distribution.above(float(each)) for each in x] == distribution.above(x).tolist()


@given(distributions, st.lists(probabilities, min_size=2), st.lists(st.floats(-1, 2), min_size=2))
def test_everything_is_monotone(distribution, q, x):
    assert (np.diff(distribution.quantile(sorted(q))) >= 0).all()
    assert (np.diff(distribution.cdf(sorted(x))) >= 0).all()
    assert set(distribution.quantile([0.0, 1.0])) <= set(distribution.quantiles)


@given(distributions, st.floats(0.001, 0.9999), st.floats(0.001, 0.9999))
def test_intervals_are_nested_and_read_off_the_quantiles(distribution, one, two):
    inner, outer = (distribution.interval(level) for level in sorted([one, two]))
    assert outer.low <= inner.low <= inner.high <= outer.high
    assert tuple(inner) == (
        distribution.quantile((1 - inner.level) / 2),
        distribution.quantile((1 + inner.level) / 2),
    )


@given(st.integers(1, 47), shares)
def test_an_atom_has_the_probability_of_its_levels(last, other):
    quantiles = np.where(np.arange(49) <= last, 0.0, np.maximum(other, 0.5))
    distribution = Distribution(quantiles)
    assert distribution.cdf(0.0) == LEVELS[last]
    assert distribution.quantile(LEVELS[last]) == distribution.quantile(0.0) == 0
    assert distribution.cdf(-1e-300) == 0
    mirrored = Distribution(1 - quantiles[::-1])
    assert mirrored.above(np.nextafter(1, 0)) == pytest.approx(LEVELS[last], abs=1e-9)
    assert mirrored.above(1.0) == 0


def test_known_distribution():
    truth = beta(3, 9)
    distribution = Distribution(truth.ppf(LEVELS))
    x = np.linspace(0.01, 0.7, 50)
    assert distribution.cdf(x) == pytest.approx(truth.cdf(x), abs=0.002)
    # The tail that is kept no more.
    assert distribution.above(0.9) == 0
    drawn = distribution.sample(20_000, random_state=0)
    assert drawn.mean() == pytest.approx(truth.mean(), abs=4 * truth.std() / np.sqrt(20_000))
    assert drawn.std() == pytest.approx(truth.std(), rel=0.03)


def test_draws_follow_the_random_state():
    distribution = Distribution(LEVELS)
    first, again, other = (distribution.sample(5, seed).tolist() for seed in (1, 1, 2))
    assert first == again != other
    one = Distribution(np.full(49, 0.25)).sample(3, np.random.default_rng(0))
    assert one.tolist() == [0.25] * 3


@pytest.mark.parametrize("quantiles", [[0.5], np.zeros((49, 1)), 0.5])
def test_other_shapes_are_refused(quantiles):
    with pytest.raises(ValueError, match="49 quantiles"):
        Distribution(quantiles)


@pytest.mark.parametrize("q", [-0.1, 1.1, np.nan, [0.5, 2.0]])
def test_what_is_no_probability_is_refused(q):
    with pytest.raises(ValueError, match="between 0 and 1"):
        Distribution(LEVELS).quantile(q)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, np.nan])
def test_what_is_no_level_is_refused(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        Distribution(LEVELS).interval(level)


# Several samples


@given(st.lists(all_quantiles, min_size=1, max_size=3), probabilities)
def test_a_sample_has_the_quantiles_that_it_has_alone(rows, q):
    together = quantile_at(np.array(rows), q)
    assert together.tolist() == [Distribution(row).quantile(q) for row in rows]


def test_quantiles_are_the_ends_of_intervals():
    value = np.array([0.5, 0.1])
    half = INTERVAL_LEVELS[:, np.newaxis] / np.array([2, 20])
    found = quantiles_from_intervals(value, value - half, value + half)
    assert found[:, 24].tolist() == value.tolist()
    for i, level in enumerate(INTERVAL_LEVELS.tolist()):
        low, high = ends_at(found, level)
        assert low.tolist() == (value - half[i]).tolist()
        assert high.tolist() == (value + half[i]).tolist()
    # Ends on the wrong side of the value.
    crossed = quantiles_from_intervals(value, value + half, value - half)
    assert (crossed == value[:, np.newaxis]).all()


@given(all_quantiles, shares)
def test_another_median_moves_only_what_is_on_the_wrong_side(quantiles, value):
    moved = around(quantiles[np.newaxis], np.array([value]))[0]
    assert (np.diff(moved) >= 0).all()
    assert moved[24] == value
    assert (moved[:24] == np.minimum(quantiles[:24], value)).all()
    assert (moved[25:] == np.maximum(quantiles[25:], value)).all()


@given(all_quantiles, all_quantiles)
def test_widened_quantiles_reach_as_far_as_both(one, two):
    pair = np.array([one, one]), np.array([two, two])
    above, both = widened(*pair, below=np.array([[False], [True]]))
    assert above[:25].tolist() == one[:25].tolist()
    assert above[25:].tolist() == both[25:].tolist() == np.maximum(one, two)[25:].tolist()
    assert both[:24].tolist() == np.minimum(one, two)[:24].tolist()
    assert both[24] == one[24]


# Prevalences


def test_the_interval_is_that_of_the_distribution():
    p = Prevalence(
        0.5, n_labeled=1, n_unlabeled=1, method="PAT", distribution=Distribution(LEVELS), level=0.8
    )
    assert p.interval == p.distribution.interval(0.8)
    assert p.replace(level=0.5).interval == p.distribution.interval(0.5)
    again = pickle.loads(pickle.dumps(p))
    assert again.distribution.quantiles.tolist() == LEVELS.tolist()
    assert again.interval == p.interval


def test_without_a_distribution_there_is_no_interval():
    p = Prevalence(0.5, n_labeled=1, n_unlabeled=1, method="BBE")
    assert p.distribution is None
    assert p.interval is None
