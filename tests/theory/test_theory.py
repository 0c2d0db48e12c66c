"""The theory against direct sums, exact arithmetic and simulation."""

from __future__ import annotations

import dataclasses
import math
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from poscount.methods.intervals import half_width
from poscount.theory import (
    adjusted_count,
    classify_and_count,
    classify_and_count_error,
    pat_error_mean,
    pat_error_variance,
    pat_estimate_variance,
    plan,
)

QUANTILES = (0.01, 0.1, 0.25, 0.3, 1 / 3, 0.5, 0.6, 0.75, 0.9, 0.99)
Z95 = 1.959963984540054

shares = st.floats(0, 1)
sizes = st.integers(1, 10**6)


def exact_moments(positives, n, q):
    """Mean and variance of |p - p'|, summed term by term in rational arithmetic."""
    q = Fraction(q)
    s = 1 - q
    terms = [
        (
            abs(positives * s - i) / (n * s),
            math.comb(positives, i) * s**i * q ** (positives - i),
        )
        for i in range(positives + 1)
    ]
    mean = sum(error * weight for error, weight in terms)
    return mean, sum(error**2 * weight for error, weight in terms) - mean**2


def windowed_mean(positives, n, q):
    """E|p - p'| with 40 digits: the sum over the 16 standard deviations around the mean.

    The binomial weights come from the ratio of neighbours and are normalised by their own sum;
    what lies outside is below 1e-50.
    """
    with localcontext() as context:
        context.prec = 40
        q = Decimal(q)
        s = 1 - q
        centre = int(positives * s)
        reach = int(16 * (positives * q * s).sqrt()) + 50
        weights = {centre: Decimal(1)}
        for i in range(centre, min(positives, centre + reach)):
            weights[i + 1] = weights[i] * (positives - i) / (i + 1) * s / q
        for i in range(centre, max(0, centre - reach), -1):
            weights[i - 1] = weights[i] * i / (positives - i + 1) * q / s
        total = sum(abs(positives * s - i) * weight for i, weight in weights.items())
        return float(total / sum(weights.values()) / (n * s))


def pat_errors(rng, prevalence, n_labeled, n_unlabeled, repetitions, cap=math.inf):
    """Errors of PAT on uniform scores, where all negatives score below the lowest threshold."""
    q = np.arange(25, 76) / 100
    positives = round(prevalence * n_unlabeled)
    thresholds = np.quantile(rng.random((repetitions, n_labeled)), q, axis=1).T
    scores = np.sort(rng.random((repetitions, positives)), axis=1)
    below = np.array(
        [np.searchsorted(u, t, side="right") for u, t in zip(scores, thresholds, strict=True)]
    )
    estimates = np.minimum((positives - below) / n_unlabeled / (1 - q), cap)
    return np.median(estimates, axis=1) - positives / n_unlabeled


# PAT with one quantile


@pytest.mark.parametrize("q", QUANTILES)
def test_pat_moments_equal_the_plain_sums(q):
    # 4 * 0.75, 10 * 0.7, 10 * 0.9, 30 * 2/3, ... are whole: the edge of De Moivre's formula.
    for positives in (*range(1, 25), 30, 60, 100):
        mean, variance = exact_moments(positives, positives, q)
        assert pat_error_mean(positives, q=q) == pytest.approx(float(mean), rel=1e-11)
        assert pat_error_variance(positives, q=q) == pytest.approx(
            float(variance), rel=1e-9, abs=1e-15
        )


def test_pat_known_answers():
    # One positive, q = 1/2: p' is 0 or 2, always wrong by 1.
    assert pat_error_mean(1) == pytest.approx(1)
    assert pat_estimate_variance(1) == pytest.approx(1)
    assert pat_error_variance(1) == pytest.approx(0, abs=1e-15)
    # Two of four rows positive, q = 1/2: p' is 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4.
    assert pat_error_mean(4, prevalence=0.5) == pytest.approx(1 / 4)
    assert pat_estimate_variance(4, prevalence=0.5) == pytest.approx(1 / 8)
    assert pat_error_variance(4, prevalence=0.5) == pytest.approx(1 / 16)


def test_pat_without_positives_never_errs():
    assert pat_error_mean(100, prevalence=0) == 0
    assert pat_error_variance(100, prevalence=0) == 0
    assert pat_estimate_variance(100, prevalence=0) == 0


def test_pat_rounds_the_number_of_positives():
    mean, _ = exact_moments(33, 100, 0.4)
    assert pat_error_mean(100, prevalence=0.333, q=0.4) == pytest.approx(float(mean), rel=1e-11)
    assert pat_error_mean(100, 0.326, 0.4) == pat_error_mean(100, 0.334, 0.4)


@pytest.mark.parametrize(
    ("prevalence", "q"), [(1, 0.5), (1, 0.25), (1, 0.7), (0.3, 0.75), (1, 0.999), (0.001, 0.5)]
)
def test_pat_error_mean_is_accurate_for_a_million_rows(prevalence, q):
    n = 10**6
    expected = windowed_mean(round(prevalence * n), n, q)
    assert pat_error_mean(n, prevalence, q) == pytest.approx(expected, rel=1e-8)


def test_the_window_is_a_sum_like_any_other():
    mean, _ = exact_moments(200, 300, 0.3)
    assert windowed_mean(200, 300, 0.3) == pytest.approx(float(mean), rel=1e-14)


def test_pat_is_vectorised():
    n, q = np.array([[50], [400]]), np.array([0.25, 0.5, 0.75])
    for function in (pat_error_mean, pat_error_variance, pat_estimate_variance):
        table = function(n, 0.5, q)
        assert table.shape == (2, 3)
        assert table[1, 2] == function(400, 0.5, 0.75)
        assert type(function(400, 0.5, 0.75)) is float


@pytest.mark.parametrize(("n", "prevalence", "q"), [(40, 1, 0.5), (40, 0.5, 0.25), (90, 0.1, 0.75)])
def test_pat_moments_match_simulated_scores(n, prevalence, q):
    rng = np.random.default_rng(20)
    repetitions = 40_000
    positives = round(prevalence * n)
    above = (rng.random((repetitions, positives)) > q).sum(axis=1)
    estimates = above / n / (1 - q)
    errors = np.abs(estimates - positives / n)

    def close(simulated, expected):
        """Within four standard errors of the mean of the simulated values."""
        return abs(simulated.mean() - expected) < 4 * simulated.std() / math.sqrt(repetitions)

    mean = pat_error_mean(n, prevalence, q)
    assert close(errors, mean)
    assert close((errors - mean) ** 2, pat_error_variance(n, prevalence, q))
    assert close((estimates - positives / n) ** 2, pat_estimate_variance(n, prevalence, q))


@given(n=sizes, step=st.integers(1, 1000), q=st.floats(0.01, 0.99))
def test_more_rows_never_make_pat_worse(n, step, q):
    # The mean of n draws is a reverse martingale: its absolute deviation cannot grow with n.
    assert pat_error_mean(n + step, q=q) <= pat_error_mean(n, q=q) * (1 + 1e-8)


@given(n=sizes, prevalence=shares, q=st.floats(1e-12, 1 - 1e-12))
def test_pat_error_lies_between_its_bounds(n, prevalence, q):
    mean = pat_error_mean(n, prevalence, q)
    variance = pat_estimate_variance(n, prevalence, q)
    assert 0 <= mean <= math.sqrt(variance) * (1 + 1e-8)
    assert pat_error_variance(n, prevalence, q) == pytest.approx(
        variance - mean**2, abs=1e-8 * variance
    )
    assert variance <= pat_estimate_variance(n, 1.0, q)


@pytest.mark.parametrize("q", [1e-20, 1e-300])
def test_a_vanishing_quantile_gives_a_vanishing_error(q):
    # To first order the only chance to err is to miss one of the n: E = 2 q.
    assert pat_error_mean(7, q=q) == pytest.approx(2 * q, abs=0)


def test_without_a_quantile_all_positives_pass():
    assert pat_error_mean(7, q=0) == pat_error_variance(7, q=0) == 0
    assert pat_estimate_variance(7, 0.4, q=0) == 0


def test_the_error_falls_with_the_square_root_of_the_rows():
    n = np.array([10**4, 10**5, 10**6])
    assert pat_error_mean(n) * np.sqrt(n) == pytest.approx(math.sqrt(2 / math.pi), rel=1e-4)


# Classify and count


def test_classify_and_count_known_answers():
    # 30 of 40 positives and 12 of 60 negatives are called positive: 42 of 100.
    assert classify_and_count(0.4, tpr=0.75, fpr=0.2) == pytest.approx(0.42)
    assert classify_and_count_error(0.4, tpr=0.75, fpr=0.2) == pytest.approx(-0.02)
    assert adjusted_count(0.42, tpr=0.75, fpr=0.2) == pytest.approx(0.4)


@given(prevalence=shares, tpr=shares, fpr=shares)
def test_the_error_is_truth_minus_count(prevalence, tpr, fpr):
    count = classify_and_count(prevalence, tpr, fpr)
    error = classify_and_count_error(prevalence, tpr, fpr)
    assert error == pytest.approx(prevalence - count, abs=1e-15)


@given(fpr=st.floats(0.01, 1), fnr=st.floats(0.01, 1))
def test_the_error_vanishes_where_both_mistakes_balance(fpr, fnr):
    balanced = fpr / (fpr + fnr)
    assert classify_and_count_error(balanced, 1 - fnr, fpr) == pytest.approx(0, abs=1e-15)
    assert classify_and_count_error(0, 1 - fnr, fpr) == -fpr
    assert classify_and_count_error(1, 1 - fnr, fpr) == pytest.approx(fnr)


@given(prevalence=shares, fpr=st.floats(0, 0.9), gain=st.floats(0.05, 0.1))
def test_the_adjusted_count_undoes_the_count(prevalence, fpr, gain):
    count = classify_and_count(prevalence, fpr + gain, fpr)
    assert adjusted_count(count, fpr + gain, fpr) == pytest.approx(prevalence, abs=1e-13)


def test_the_adjusted_count_is_clipped():
    assert adjusted_count([0.05, 0.95], tpr=0.9, fpr=0.1).tolist() == [0, 1]


@pytest.mark.parametrize(("tpr", "fpr"), [(0.5, 0.5), (0.2, 0.8), ([0.9, 0.5], [0.1, 0.5])])
def test_the_adjusted_count_needs_a_classifier_that_tells(tpr, fpr):
    with pytest.raises(ValueError, match="tpr must be larger than fpr"):
        adjusted_count(0.5, tpr, fpr)


# The median over q: half-width and plan


def test_half_width_known_answers():
    # 0.80 (1/800 + 1/800) = 0.002
    assert half_width(1, 800, 800) == pytest.approx(Z95 * math.sqrt(0.002))
    # 0.80 (0.25/100 + 0.5/2000) = 0.0022
    assert half_width(0.5, 100, 2000) == pytest.approx(Z95 * math.sqrt(0.0022))
    assert half_width(0.5, 100, 2000, confidence=0.5) == pytest.approx(
        0.6744897501960817 * math.sqrt(0.0022)
    )
    # No positives: the sample still cannot tell less than one row from none.
    assert half_width(0, 100, 2000) == pytest.approx(Z95 * math.sqrt(0.8) / 2000)


def test_half_width_is_vectorised():
    p, n = np.array([0, 0.2, 1]), np.array([[10], [1000]])
    table = half_width(p, 300, n)
    assert table.shape == (2, 3)
    assert table[1, 1] == half_width(0.2, 300, 1000)


@given(p=shares, n_labeled=sizes, n_unlabeled=sizes, confidence=st.floats(0.01, 0.99))
def test_half_width_shrinks_with_rows_and_grows_with_confidence(
    p, n_labeled, n_unlabeled, confidence
):
    width = half_width(p, n_labeled, n_unlabeled, confidence)
    assert half_width(p, n_labeled + 1, n_unlabeled, confidence) <= width
    assert half_width(p, n_labeled, n_unlabeled + 1, confidence) < width
    assert half_width(p, n_labeled, n_unlabeled, confidence + 0.005) > width
    assert half_width(1, n_labeled, n_unlabeled, confidence) >= width
    if p * n_unlabeled >= 1:
        quarter = half_width(p, 4 * n_labeled, 4 * n_unlabeled, confidence)
        assert quarter == pytest.approx(width / 2)


def expected_error(p, n_labeled, n_unlabeled):
    return half_width(p, n_labeled, n_unlabeled) / Z95 * math.sqrt(2 / math.pi)


@given(error=st.floats(0.02, 0.9), p=st.floats(0.001, 1))
def test_no_pair_with_a_smaller_sum_achieves_the_error(error, p):
    found = plan(error, prevalence=p)
    assert found.expected_error <= error
    assert found.expected_error == pytest.approx(
        expected_error(p, found.n_labeled, found.n_unlabeled)
    )
    n_labeled = np.arange(1, found.n_labeled + found.n_unlabeled - 1)
    n_unlabeled = n_labeled[::-1]  # all pairs that sum to one row less
    assert np.all(n_labeled + n_unlabeled == found.n_labeled + found.n_unlabeled - 1)
    assert np.all(expected_error(p, n_labeled, n_unlabeled) > error * (1 - 1e-12))


@pytest.mark.parametrize("p", [1.0, 0.25, 0.04])
def test_the_cheapest_pair_is_lagranges(p):
    error = 0.001
    budget = error**2 * math.pi / 2 / 0.80
    found = plan(error, prevalence=p)
    n_unlabeled = math.sqrt(p) * (p + math.sqrt(p)) / budget
    assert found.n_unlabeled == pytest.approx(n_unlabeled, abs=2)
    assert found.n_labeled == pytest.approx(math.sqrt(p) * n_unlabeled, abs=2)


@given(error=st.floats(0.001, 0.5), p=st.floats(0.01, 1), given_rows=sizes, labeled=st.booleans())
@example(error=0.02, p=1.0, given_rows=50, labeled=True)
@example(error=0.02, p=1.0, given_rows=50, labeled=False)
@example(error=0.02, p=0.25, given_rows=200, labeled=True)
@example(error=0.02, p=0.01, given_rows=40, labeled=False)
def test_with_one_number_fixed_the_other_is_the_smallest(error, p, given_rows, labeled):
    fixed, other = ("n_labeled", "n_unlabeled") if labeled else ("n_unlabeled", "n_labeled")
    try:
        found = dataclasses.asdict(plan(error, prevalence=p, **{fixed: given_rows}))
    except ValueError as problem:
        limit, least = re.search(r"below (\S+): .* at least (\d+) ", str(problem)).groups()
        endless = {other: 10**15}
        assert expected_error(p, **{fixed: given_rows}, **endless) == pytest.approx(
            float(limit), rel=1e-3
        )
        assert expected_error(p, **{fixed: given_rows}, **endless) >= error * (1 - 1e-6)
        assert expected_error(p, **{fixed: int(least) - 1}, **endless) >= error * (1 - 1e-6)
        assert plan(error, prevalence=p, **{fixed: int(least)}).expected_error <= error
    else:
        assert found[fixed] == given_rows
        assert found["expected_error"] <= error
        if found[other] > 1:
            smaller = expected_error(p, **{fixed: given_rows, other: found[other] - 1})
            assert smaller > error * (1 - 1e-12)


def test_plan_says_what_it_planned_for():
    found = plan(0.02, prevalence=0.3, confidence=0.9)
    assert (found.prevalence, found.confidence) == (0.3, 0.9)
    assert found.half_width == half_width(0.3, found.n_labeled, found.n_unlabeled, 0.9)
    assert type(found.n_labeled) is type(found.n_unlabeled) is int
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.n_labeled = 1


def test_plan_is_quick_and_right_for_the_smallest_error():
    found = plan(1e-6)
    assert 1e-6 * (1 - 1e-9) < found.expected_error <= 1e-6


@pytest.mark.parametrize(
    "fixed", [{}, {"prevalence": 0.3}, {"prevalence": 0.5, "n_labeled": 100}, {"n_unlabeled": 300}]
)
def test_a_plan_keeps_its_promise_in_simulation(fixed):
    error = 0.05
    found = plan(error, **fixed)
    rng = np.random.default_rng(7)
    errors = pat_errors(rng, found.prevalence, found.n_labeled, found.n_unlabeled, 3000)
    absolute = np.abs(errors)
    noise = 3 * absolute.std() / math.sqrt(len(absolute))
    # The closed form is cautious by some 5 %: never worse than wanted, not much better either.
    assert 0.9 * error - noise < absolute.mean() < error + noise
    coverage = np.mean(absolute <= found.half_width)
    assert 0.95 - 3 * math.sqrt(0.95 * 0.05 / 3000) < coverage < 0.98


def test_the_cap_at_one_halves_the_error_of_positives_only():
    found = plan(0.05)
    rng = np.random.default_rng(8)
    errors = pat_errors(rng, 1, found.n_labeled, found.n_unlabeled, 2000, cap=1)
    assert np.abs(errors).mean() / 0.05 == pytest.approx(0.48, abs=0.06)


# What is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pat_error_mean(0), "n_unlabeled must be a whole number of at least 1, not 0."),
        (lambda: pat_error_mean(2.5), "n_unlabeled must be a whole number of at least 1, not 2.5."),
        (lambda: pat_error_mean([5, math.inf]), "n_unlabeled must be a whole number"),
        (lambda: pat_error_mean(5, 1.2), "prevalence must be in [0, 1], not 1.2."),
        (lambda: pat_error_mean(5, q=1), "q must be in [0, 1), not 1."),
        (lambda: pat_error_variance(5, q=-1), "q must be in [0, 1), not -1."),
        (lambda: pat_estimate_variance(5, math.nan), "prevalence must be in [0, 1], not nan."),
        (lambda: classify_and_count(0.5, 1.1, 0), "tpr must be in [0, 1], not 1.1."),
        (lambda: classify_and_count_error(0.5, 1, [0, -0.1]), "fpr must be in [0, 1], not -0.1."),
        (lambda: adjusted_count(30, 1, 0), "observed_share must be in [0, 1], not 30."),
        (lambda: plan(1), "error must be in [1e-06, 1), not 1."),
        (lambda: plan(0), "error must be in [1e-06, 1), not 0."),
        (lambda: plan(0.1, prevalence=0), "prevalence must be in (0, 1], not 0."),
        (lambda: plan(0.1, confidence=1), "confidence must be in (0, 1), not 1."),
        (lambda: plan(0.1, n_labeled=0), "n_labeled must be a whole number of at least 1, not 0."),
        (
            lambda: plan(0.1, n_unlabeled=-3),
            "n_unlabeled must be a whole number of at least 1, not -3",
        ),
        (lambda: plan(0.1, n_labeled=500, n_unlabeled=500), "Give n_labeled or n_unlabeled or"),
        (
            lambda: plan(0.02, n_labeled=50),
            "With 50 labelled positives no number of unlabeled rows brings the expected error below"
            " 0.1009: 0.02 needs at least 1274 labelled positives.",
        ),
    ],
)
def test_mistakes_are_named_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
