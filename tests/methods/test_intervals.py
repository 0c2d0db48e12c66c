import functools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm

from poscount import PAT, Counts, ODIn
from poscount.methods.intervals import Resampler, half_width, pat_interval
from poscount.results.distribution import ends_at

N_LABELED, N_ROWS = 200, 300


@pytest.fixture(scope="module")
def models(draw):
    """Models that each learned from their own positives."""

    @functools.cache
    def model(kind, seed):
        positives = draw(np.random.default_rng([seed, 0]), N_LABELED)
        return kind(random_state=seed).fit(positives)

    return model


@pytest.fixture
def simulate(models, draw):
    """Intervals of samples with a known number of positives and negatives that cannot be taken
    for them: nothing but sampling can be wrong.
    """

    def simulate(kind, n_positive, level, n_samples):
        ends = []
        for seed in range(n_samples):
            sample = draw(np.random.default_rng([seed, 1]), n_positive, N_ROWS - n_positive)
            model = models(kind, seed).set_params(confidence=level)
            interval = model.quantify(sample).interval
            assert interval.level == level
            ends.append((interval.low, interval.high))
        return np.array(ends)

    return simulate


# Coverage


@pytest.mark.parametrize(
    ("kind", "n_positive", "level", "n_samples"),
    [
        (PAT, 0, 0.95, 50),
        (PAT, 15, 0.95, 300),
        (PAT, 150, 0.95, 300),
        (PAT, 300, 0.95, 150),
        (PAT, 150, 0.8, 150),
        (PAT, 150, 0.99, 50),
        (ODIn, 150, 0.95, 50),
    ],
)
def test_coverage_and_width(simulate, kind, n_positive, level, n_samples):
    p = n_positive / N_ROWS
    low, high = simulate(kind, n_positive, level, n_samples).T
    # Less than the level by no more than chance would have it once in a thousand times.
    least = min(0.91, level) - 3 * np.sqrt(level * (1 - level) / n_samples) * (level < 0.95)
    assert np.mean((low <= p) & (p <= high)) >= least
    # And not because it says nothing: what counting alone leaves open, times two, is enough.
    alone = 2 * norm.ppf((1 + level) / 2) * np.sqrt(max(p, 1 / N_ROWS) / N_ROWS + p**2 / N_LABELED)
    # If no row is above the middle threshold, so many positives may still be below it.
    below = -np.log((1 - level) / 2) / 0.5 / N_ROWS
    assert np.mean(high - low) < max(1.5 * alone, below)
    assert (low >= 0).all()
    assert (high <= 1).all()


DEFAULT = np.arange(25, 76) / 100


def simulated_coverage(quantiles, n_positive, n_labeled, n_rows, of_population=False):
    """How many of PAT's 95 % intervals hold if negatives score below all positives.

    Only the order of scores matters, so that they may be uniform.
    """
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(2000):
        thresholds = np.quantile(rng.random(n_labeled), quantiles)
        n = rng.binomial(n_rows, n_positive / n_rows) if of_population else n_positive
        above = n - np.searchsorted(np.sort(rng.random(n)), thresholds, side="right")
        p = np.median(np.minimum(1, above / n_rows / (1 - quantiles)))
        low, high = pat_interval(p, quantiles, n_labeled, n_rows, 0.95)
        held += low <= n_positive / n_rows <= high
    return held / 2000


@pytest.mark.parametrize("q", [DEFAULT, np.array([0.9]), np.array([0.5]), np.array([0.1])])
@pytest.mark.parametrize(("n_labeled", "n_rows"), [(100, 400), (500, 1000)])
@pytest.mark.parametrize("n_positive", [30, 60, 200])  # at q = .9, three rows or more are above
def test_coverage_of_any_quantiles(q, n_labeled, n_rows, n_positive):
    # Four standard errors of 2,000 trials are .02.
    assert simulated_coverage(q, n_positive, n_labeled, n_rows) > 0.93
    of_population = simulated_coverage(q, n_positive, n_labeled, n_rows, of_population=True)
    assert 0.925 < of_population < 0.975


@pytest.mark.parametrize("q", [0.9, 0.5, 0.25])
def test_no_row_above_the_threshold_bounds_the_prevalence_from_above(q):
    # None of n rows is above with probability (1 - x (1 - q))^n, about exp(-n x (1 - q)).
    low, high = pat_interval(0.0, np.array([q]), 10**9, 10**6, 0.95)
    assert low == 0
    assert 10**6 * high == pytest.approx(-np.log(0.025) / (1 - q), rel=0.05)


def test_a_known_threshold_gives_wilson_s_interval():
    found = pat_interval(0.4, np.array([0.75]), 10**12, 300, 0.95)
    expected = binomtest(30, 300).proportion_ci(0.95, method="wilson")
    assert found == pytest.approx((expected.low / 0.25, expected.high / 0.25), rel=1e-6)


@pytest.mark.parametrize("n_positive", [200, 600, 1200])
def test_it_is_that_of_redrawn_counts(n_positive):
    # Counts from the multinomial and shares from the Dirichlet distribution, as ODIn has them; the
    # ends of 20,000 draws are stable to a percent, and v is that of the mean: .80 for .75.
    shares = np.diff(DEFAULT, prepend=0.0, append=1.0)
    cells = (n_positive * shares).round().astype(int)
    cells[0] += 2000 - cells.sum()
    n_labeled, level = 500, 0.999

    def rule(cells, shares):
        above = np.cumsum(cells[..., :0:-1], axis=-1) / cells.sum(axis=-1, keepdims=True)
        return np.median(above / np.cumsum(shares[..., :0:-1], axis=-1), axis=-1)

    generator = np.random.default_rng(0)
    resampler = Resampler(rule, (n_labeled + 1) * shares, level, generator)
    low, high = ends_at(resampler.quantiles(cells), level)
    found = pat_interval(float(rule(cells, shares)), DEFAULT, n_labeled, 2000, level)
    assert found[1] - found[0] == pytest.approx(high - low, rel=0.1)


@pytest.mark.parametrize("parameters", [{}, {"q": 0.9}])
def test_the_number_of_groups_does_not_matter(parameters, positives, sample):
    model = PAT(**parameters, random_state=0).fit(positives)
    names = [f"x{i}" for i in range(sample.shape[1])]
    frame = pd.DataFrame(np.repeat(sample[None, :40], 1001, axis=0).reshape(-1, 3), columns=names)
    frame["group"] = np.repeat(np.arange(1001), 40)
    fitted = PAT(**parameters, random_state=0).fit(pd.DataFrame(positives, columns=names))
    alone = model.quantify(sample[:40]).interval
    for n_groups in (1, 1000, 1001):
        table = fitted.quantify_by(frame[frame["group"] < n_groups], "group")
        assert set(table["low"]) == {alone.low}
        assert set(table["high"]) == {alone.high}


@pytest.mark.parametrize("n_positive", [15, 150])
def test_the_distribution_of_one_answer_covers_at_every_level(models, draw, n_positive):
    p, n_samples = n_positive / N_ROWS, 300
    found = []
    for seed in range(n_samples):
        sample = draw(np.random.default_rng([seed, 1]), n_positive, N_ROWS - n_positive)
        found.append(models(PAT, seed).set_params(confidence=0.95).quantify(sample).distribution)
    for level in (0.5, 0.8, 0.9, 0.99):
        low, high = np.array([tuple(each.interval(level)) for each in found]).T
        # Less than the level by no more than chance would have it once in a thousand times.
        least = level - 3 * np.sqrt(level * (1 - level) / n_samples)
        assert np.mean((low <= p) & (p <= high)) >= least
        alone = 2 * norm.ppf((1 + level) / 2) * np.sqrt(p / N_ROWS + p**2 / N_LABELED)
        assert np.mean(high - low) < 1.5 * alone


@pytest.mark.parametrize("kind", [PAT, ODIn])
def test_one_estimate_has_the_intervals_of_all_levels(kind, positives, sample):
    model = kind(random_state=0, confidence=0.9).fit(positives)
    answer = model.quantify(sample)
    assert answer.interval == answer.distribution.interval(0.9)
    # As many draws are made for each of these levels.
    for level in (0.5, 0.6, 0.8, 0.95):
        again = model.set_params(confidence=level).quantify(sample)
        assert again.interval == answer.distribution.interval(level)


# Forms


def closed_form(p, n_labeled, n_rows, level):
    z = norm.ppf((1 + level) / 2)
    return z * np.sqrt(0.8 * (p**2 / n_labeled + max(p, 1 / n_rows) / n_rows))


@given(st.floats(0, 1), st.integers(10, 10**6), st.integers(1, 10**9), st.floats(0.01, 0.999))
def test_closed_form(p, n_labeled, n_rows, level):
    expected = closed_form(p, n_labeled, n_rows, level)
    assert half_width(p, n_labeled, n_rows, level) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [PAT, ODIn])
@settings(max_examples=40)
@given(data=st.data())
def test_any_counts_have_an_interval_around_the_answer(kind, data, positives_model):
    model = positives_model(kind)
    cells = data.draw(
        st.lists(st.integers(0, 200), min_size=len(model.shares_), max_size=len(model.shares_))
    )
    cells[data.draw(st.integers(0, len(cells) - 1))] += 1
    # The cells behind those of the score count gaps.
    counted = np.pad(cells, (0, model._n_cells - len(cells)))
    answer = model.estimate(Counts(counted, sum(cells), model.hash_))
    low, high = answer.interval.low, answer.interval.high
    assert 0 <= low <= answer <= high <= 1
    CHECKS_OF_ENDS[kind](model, float(answer), low, high, sum(cells))


def ends_solve_the_equation(model, p, low, high, n):
    """At each end chance does as much as the estimate is away from it, with the default's v."""
    odds = [q / 100 / (1 - q / 100) for q in range(25, 76)]
    v = np.mean([min(one, other) for one in odds for other in odds])

    def by_chance(x):
        return norm.ppf(0.975) * np.sqrt(v * (x**2 / model.n_labeled_ + x / n) + x * (1 - x) / n)

    assert p - low == pytest.approx(by_chance(low), abs=1e-9)
    if high < 1:
        assert high - p == pytest.approx(by_chance(high), abs=1e-9)
    else:
        assert 1 - p <= by_chance(1.0) + 1e-9


def closed_form_is_a_floor(model, p, low, high, n):
    floor = closed_form(p, model.n_labeled_, n, 0.95)
    assert low <= max(0, p - floor) + 1e-12
    assert high >= min(1, p + floor) - 1e-12


CHECKS_OF_ENDS = {PAT: ends_solve_the_equation, ODIn: closed_form_is_a_floor}


@pytest.fixture(scope="module")
def positives_model(positives):
    models = {kind: kind(random_state=0).fit(positives) for kind in (PAT, ODIn)}
    return models.__getitem__


@pytest.mark.parametrize("kind", [PAT, ODIn])
def test_levels_are_nested(kind, positives, sample):
    model = kind(random_state=0).fit(positives)
    intervals = []
    for level in (0.5, 0.8, 0.95, 0.99, 0.9999):
        intervals.append(model.set_params(confidence=level).quantify(sample).interval)
        assert intervals[-1].level == level
    lows, highs = [i.low for i in intervals], [i.high for i in intervals]
    assert lows == sorted(lows, reverse=True)
    assert highs == sorted(highs)
    assert len({*lows}) == 5


def test_more_rows_and_more_positives_make_it_narrower(draw):
    def width(n_labeled, n_rows):
        rng = np.random.default_rng(0)
        model = PAT(random_state=0).fit(draw(rng, n_labeled))
        return model.quantify(draw(rng, n_rows // 2, n_rows // 2)).interval.width

    # A hundred times the data, a tenth of the width.
    assert width(100, 100) / width(10_000, 10_000) == pytest.approx(10, rel=0.35)
    assert width(100, 10_000) > 3 * width(10_000, 10_000)
    assert width(10_000, 100) > 3 * width(10_000, 10_000)


def test_extreme_levels_do_not_fill_the_memory(pat, positives, sample):
    model = PAT(q=0.5, confidence=1 - 1e-12, random_state=0).fit(positives)
    assert model.quantify(sample).interval.width <= 1


# Resampling


def share_of_second(cells, shares):
    return cells[..., 1] / cells.sum(axis=-1) / shares[..., 1]


def test_resampled_spread_is_the_delta_method_s():
    # p = B/n / share: relative variance (1-b)/(n b) of the counts and s/(1-s)... of the shares.
    b, s, n, n_labeled = 0.25, 0.5, 4000, 2000
    resampler = Resampler(
        share_of_second, n_labeled * np.array([1 - s, s]), 0.95, np.random.default_rng(0)
    )
    low, high = ends_at(resampler.quantiles(np.array([n - n * b, n * b]).astype(int)), 0.95)
    relative = np.sqrt((1 - b) / (n * b) + (1 - s) / (n_labeled * s))
    assert (high - low) / 2 == pytest.approx(1.96 * relative * b / s, rel=0.15)
    assert (high + low) / 2 == pytest.approx(b / s, rel=0.03)


def test_resampling_depends_on_neither_order_nor_company():
    def resampler():
        return Resampler(share_of_second, np.array([9.0, 9.0]), 0.9, np.random.default_rng(1))

    one, two = np.array([30, 10]), np.array([5, 400])
    shared = resampler()
    first = [shared.quantiles(cells) for cells in (one, two, one)]
    np.testing.assert_array_equal(
        first, [resampler().quantiles(cells) for cells in (one, two, one)]
    )


def test_an_empty_cell_of_the_positives_stays_empty():
    resampler = Resampler(
        lambda cells, shares: shares[..., 0], np.array([0.0, 5.0]), 0.9, np.random.default_rng(0)
    )
    assert not resampler.quantiles(np.array([1, 1])).any()


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 0.999, 0.999999])
def test_draws_are_enough_for_the_ends_but_do_not_fill_the_memory(level):
    resampler = Resampler(share_of_second, np.array([9.0, 9.0]), level, np.random.default_rng(0))
    n_draws = len(resampler.shares)
    outside = n_draws * (1 - level)
    assert 400 <= n_draws <= 20_000
    assert outside > 19.99 or n_draws == 20_000
    # Not many more than that either.
    assert n_draws == 400 or outside < 21
