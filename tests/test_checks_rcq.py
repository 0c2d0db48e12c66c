"""The warnings of RCQ: their statistics by the formula, their alarms, true and false."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poscount import PAT, RCQ, Mahalanobis
from poscount.checks.core_differs import core_difference, core_freedom
from poscount.reusable.region_counter import EDGE_QUANTILES

N_LABELED, N_UNLABELED = 300, 600


def halves(rng, n, first=0.5, d=5):
    """Rows of two clusters, with a share of the first."""
    rows = rng.normal(size=(n, d))
    rows[rng.random(n) >= first, 0] += 4.0
    return rows


def separate(rng, n, d=5):
    return rng.normal(size=(n, d)) + 12.0


def sample_of(rng, p, negatives, first=0.5):
    n_positive = round(p * N_UNLABELED)
    return np.vstack([halves(rng, n_positive, first), negatives(rng, N_UNLABELED - n_positive)])


def answers(p, negatives, first=0.5, n=12):
    for seed in range(n):
        rng = np.random.default_rng([seed, round(100 * p)])
        yield (
            RCQ(random_state=0)
            .fit(halves(rng, N_LABELED))
            .quantify(sample_of(rng, p, negatives, first))
        )


def codes(answer):
    return {caution.code for caution in answer.warnings}


# By the formula


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 70)), min_size=1, max_size=6),
    st.integers(50, 90),
    st.integers(70, 100),
)
def test_core_difference_by_the_formula(below, n, other_n):
    expected = 0.0
    for x, y in below:
        a, b, m = x / n, y / other_n, (x + y) / (n + other_n)
        expected += (a - b) ** 2 / (max(m * (1 - m), 0.02) * (1 / n + 1 / other_n)) / len(below)
    x, y = np.array(below, float).T
    found = core_difference(x, np.array(float(n)), y, np.array(float(other_n)))
    assert found == pytest.approx(expected, rel=1e-9)


def test_an_empty_core_says_nothing():
    assert core_difference(np.zeros((1, 3)), np.zeros(1), np.ones(3), np.array(5.0)) == 0
    assert core_difference(np.zeros((1, 0)), np.ones(1), np.ones(0), np.array(5.0)) == 0


def test_statistics_of_an_answer():
    rng = np.random.default_rng(0)
    positives = halves(rng, N_LABELED)
    sample = sample_of(rng, 0.4, lambda rng, n: halves(rng, n, first=0.0))
    model = RCQ(random_state=0).fit(positives)
    answer = model.quantify(sample)
    # H by masks over the rows.
    edge = model.edges_[np.abs(EDGE_QUANTILES - 0.4).argmin()]
    in_sample = sample[model.scorer_.score_samples(sample) > edge]
    in_positives = model.binned_[:, 0] >= 4
    squares = []
    for j, thresholds in enumerate(model.cuts_):
        for i, threshold in enumerate(thresholds):
            a = (in_sample[:, j] <= threshold).mean()
            b = (model.binned_[in_positives, 1 + j] <= i).mean()
            n, other = len(in_sample), in_positives.sum()
            m = (a * n + b * other) / (n + other)
            squares.append((a - b) ** 2 / (max(m * (1 - m), 0.02) * (1 / n + 1 / other)))
    assert answer.details["core_difference"] == pytest.approx(np.mean(squares))
    # PAT with the same scorer and the same folds.
    same = PAT(Mahalanobis("ledoit-wolf"), random_state=0).fit(positives)
    uncapped = np.median(
        [
            (same.scorer_.score_samples(sample) > t).mean() / (1 - q)
            for t, q in zip(same.edges_, same.quantiles_, strict=True)
        ]
    )
    assert answer.details["pat"] == pytest.approx(uncapped)
    excess = (uncapped - 1) / np.sqrt(0.8 * (1 / N_LABELED + 1 / N_UNLABELED))
    assert answer.details["core_excess"] == pytest.approx(excess)
    assert answer.details["disagreement"] == pytest.approx(
        (uncapped - answer) / answer.details["gap"]
    )


# Alarms


@pytest.mark.parametrize("d", [1, 5])
def test_clean_samples_give_few_alarms(d):
    alarms = []
    for seed in range(60):
        rng = np.random.default_rng([seed, d])
        n_positive = rng.integers(30, N_UNLABELED)
        sample = np.vstack(
            [halves(rng, n_positive, d=d), separate(rng, N_UNLABELED - n_positive, d=d)]
        )
        alarms.append(codes(RCQ(random_state=0).fit(halves(rng, N_LABELED, d=d)).quantify(sample)))
    # Each at most 5 in 100 in the long run: more than 7 of 60 has a probability of 1 %.
    for code in ("core-differs", "pat-disagrees", "overlap"):
        assert sum(code in alarm for alarm in alarms) <= 7


def test_freedom_of_independent_cuts():
    below = np.random.default_rng(0).random((20_000, 12)) < 0.3
    assert core_freedom(below) == pytest.approx(12, abs=0.1)
    assert core_freedom(np.repeat(below, 3, axis=1)) == pytest.approx(12, abs=0.1)
    assert core_freedom(np.ones((5, 3), bool)) == 1


@pytest.mark.parametrize("p", [0.3, 0.5])
def test_overlap_is_noticed(p):
    found = [codes(answer) for answer in answers(p, lambda rng, n: halves(rng, n, first=0.0))]
    assert sum("core-differs" in code for code in found) >= 8
    assert sum("pat-disagrees" in code for code in found) >= 6


def test_drift_is_noticed():
    found = [codes(answer) for answer in answers(0.7, separate, first=0.15)]
    assert sum("core-differs" in code for code in found) >= 8


def test_a_crowded_core_is_noticed():
    def inside(rng, n):
        return 0.3 * rng.normal(size=(n, 5)) + [2, 0, 0, 0, 0]

    found = list(answers(0.3, inside, n=5))
    assert all("overlap" in codes(answer) for answer in found)
    (caution,) = [c for c in found[0].warnings if c.code == "overlap"]
    assert "RCQ" in caution.sentence
    assert caution.value == found[0].details["core_excess"]


def test_both_readings_have_their_numbers():
    for answer in answers(0.3, lambda rng, n: halves(rng, n, first=0.0), n=3):
        cautions = [c for c in answer.warnings if c.code in ("core-differs", "pat-disagrees")]
        assert cautions
        for caution in cautions:
            assert f"the estimate of {100 * answer:.1f} %" in caution.sentence
            pat = 100 * min(1, answer.details["pat"])
            assert f"PAT's estimate of {pat:.1f} %" in caution.sentence
            statistic = {"core-differs": "core_difference", "pat-disagrees": "disagreement"}[
                caution.code
            ]
            assert caution.value == answer.details[statistic]


def test_a_wide_gap_is_noticed():
    rng = np.random.default_rng(0)
    model = RCQ(random_state=0).fit(halves(rng, N_LABELED))
    few, many = (
        model.quantify(sample_of(rng, 0.5, separate)[::20]),
        model.quantify(sample_of(rng, 0.1, separate)),
    )
    assert "wide-interval" in codes(few)
    assert "wide-interval" not in codes(many)
    assert few.details["gap"] > 0.12 > many.details["gap"]
