import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from poscount import PAT, Mahalanobis
from poscount.data.rows import InputSupport, Rows
from poscount.methods.pat import _quantiles, tail_ratios
from poscount.scorers import fit_scorer

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


def plain_pat(training_scores, scores, quantiles):
    """PAT as the paper has it, one threshold after the other."""
    estimates = []
    for q in quantiles:
        ordered = sorted(training_scores)
        place = q * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        threshold = ordered[below] + (place - below) * (ordered[above] - ordered[below])
        share = sum(score > threshold for score in scores) / len(scores)
        estimates.append(min(1.0, share / (1 - q)))
    return np.median(estimates)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("prevalence", [0.0, 0.03, 0.5, 1.0])
def test_agrees_with_the_plain_one(seed, prevalence, draw):
    rng = np.random.default_rng(seed)
    positives, sample = (
        draw(rng, 83),
        draw(rng, round(200 * prevalence), round(200 - 200 * prevalence)),
    )
    # Some negatives that overlap with the positives.
    sample[::7] = 3 * rng.normal(size=(29, 3))
    scorer, training_scores = fit_scorer(None, Rows(positives, None, InputSupport()), seed=seed)
    quantiles = [i / 100 for i in range(25, 76)]
    expected = plain_pat(training_scores, scorer.score_samples(sample), quantiles)
    answer = PAT(random_state=seed).fit(positives).quantify(sample)
    assert answer == pytest.approx(expected, abs=1e-12)


scores = hnp.arrays(
    np.float64, st.integers(1, 60), elements=st.integers(-20, 20).map(lambda i: i / 4)
)


@given(
    hnp.arrays(np.float64, st.integers(10, 60), elements=st.floats(-4, 4), unique=True),
    scores,
    st.one_of(st.just((0.25, 0.75)), st.floats(0.05, 0.95)),
)
def test_agrees_with_the_plain_one_on_any_scores(training_scores, scores, q):
    # Also where scores lie exactly on thresholds.
    model = PAT(q=q)
    model._place_edges(training_scores)
    cells = np.bincount(np.searchsorted(model.edges_, scores), minlength=len(model.shares_))
    plain = [
        min(1.0, np.mean(scores > edge) / (1 - quantile))
        for edge, quantile in zip(model.edges_, model.quantiles_, strict=True)
    ]
    assert model._rule(cells, model.shares_) == pytest.approx(np.median(plain), abs=1e-12)
    assert tail_ratios(cells, model.shares_).tolist() == pytest.approx(
        [np.mean(scores > e) / (1 - k) for e, k in zip(model.edges_, model.quantiles_, strict=True)]
    )


# Known answers


def test_nothing_alike_is_zero(pat, positives):
    assert pat.quantify(positives + 1000) == 0


def test_everything_in_the_middle_is_one(pat, positives):
    assert pat.quantify(np.tile(positives.mean(axis=0), (50, 1))) == 1


@pytest.mark.parametrize("n_positive", [0, 100, 500, 1000])
def test_the_share_that_was_put_in(n_positive, draw):
    rng = np.random.default_rng(n_positive)
    model = PAT(random_state=0).fit(draw(rng, 5000))
    # Counting 1000 rows: a standard deviation of at most 0.9 sqrt(1/1000) = 0.028.
    answer = model.quantify(draw(rng, n_positive, 1000 - n_positive))
    assert abs(answer - n_positive / 1000) < 0.1
    assert answer.count == pytest.approx(1000 * answer)


def test_negatives_below_every_threshold_scale_the_answer(pat, positives, sample):
    near = sample[sample[:, 0] < 50]
    far = np.full((3 * len(near), 3), 1e6)
    # The cells behind those of the score count gaps.
    n_cells = len(pat.shares_)
    alone, mixed = (pat.count(rows).cells[:n_cells] for rows in (near, np.vstack([near, far])))
    curve = tail_ratios(alone, pat.shares_)
    np.testing.assert_allclose(tail_ratios(mixed, pat.shares_), curve / 4)


# Quantiles


def test_default_quantiles(pat):
    np.testing.assert_allclose(pat.quantiles_, np.arange(25, 76) / 100)
    assert len(pat.shares_) == 52
    np.testing.assert_allclose(pat.shares_, [0.25, *[0.01] * 50, 0.25])


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9, (0.5, 0.5), [0.5, 0.5]])
def test_single_quantile(q, positives, sample):
    model = PAT(q=q, random_state=0).fit(positives)
    one = q if isinstance(q, float) else q[0]
    scorer, training_scores = fit_scorer(None, Rows(positives, None, InputSupport()), seed=0)
    expected = plain_pat(training_scores, scorer.score_samples(sample), [one])
    answer = model.quantify(sample)
    assert answer == pytest.approx(expected, abs=1e-12)
    assert answer.details["curve"].shape == (1,)
    assert answer in answer.interval


def test_quantile_zero_counts_the_rows_that_score_above_the_lowest_positive(positives, sample):
    model = PAT(q=0, random_state=0).fit(positives)
    scorer, training_scores = fit_scorer(None, Rows(positives, None, InputSupport()), seed=0)
    share = np.mean(scorer.score_samples(sample) > training_scores.min())
    answer = model.quantify(sample)
    assert answer == pytest.approx(share)
    assert answer.interval.low < share < answer.interval.high
    assert len(PAT(q=(0, 0.1), random_state=0).fit(positives).edges_) == 11


@pytest.mark.parametrize(
    ("q", "expected"),
    [
        ((0.3, 0.33), [0.3, 0.31, 0.32, 0.33]),
        ((0.1, 0.9), np.arange(10, 91) / 100),
        # A range has both of its ends, however short it is.
        ((0.25, 0.254), [0.25, 0.254]),
        ((0.25, 0.266), [0.25, 0.258, 0.266]),
        ((0.5, 0.5), [0.5]),
    ],
)
def test_range_of_quantiles(q, expected):
    np.testing.assert_allclose(_quantiles(q), expected)


@pytest.mark.parametrize(
    "q", [1, -0.1, 1.5, (0.7, 0.3), (-0.1, 0.5), (0.5, 1), (0.5,), "0.5", None]
)
def test_quantiles_that_make_no_sense(q, positives):
    with pytest.raises(ValueError, match=r"\bq\b|'q'"):
        PAT(q=q).fit(positives)


@pytest.mark.parametrize(
    "parameters",
    [
        {"confidence": 0},
        {"confidence": 1},
        {"confidence": 95},
        {"n_jobs": 1.5},
        {"random_state": -1},
    ],
    ids=repr,
)
def test_parameters_that_make_no_sense(parameters, positives):
    (name,) = parameters
    with pytest.raises(ValueError, match=name):
        PAT(**parameters).fit(positives)


# Reasons for doubt


def codes(answer):
    return [caution.code for caution in answer.warnings]


def test_a_crowded_core_is_cautioned(pat, positives, sample):
    crowd = np.tile(positives.mean(axis=0), (400, 1))
    assert "overlap" in codes(pat.quantify(crowd))
    assert "overlap" not in codes(pat.quantify(sample))


def test_false_alarms_of_overlap_are_few(draw):
    # Samples of positives alone are the worst case: at most 5 in 100 by the normal quantile 1.65.
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        answer = PAT(random_state=0).fit(draw(rng, 100)).quantify(draw(rng, 300))
        alarms += "overlap" in codes(answer)
    assert alarms <= 12


def test_a_wide_interval_is_no_warning(pat, sample, draw):
    assert pat.quantify(sample[:20]).interval.width > 0.3
    assert codes(pat.quantify(sample[:20])) == []
    assert codes(pat.quantify(draw(np.random.default_rng(0), 100, 1900))) == []


def test_unfitted(sample):
    for call in ("quantify", "count", "predict", "posterior"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(PAT(), call)(sample)


def test_refit_forgets(positives, sample):
    model = PAT(Mahalanobis(), random_state=0).fit(positives * 3 + 1)
    fresh = PAT(Mahalanobis(), random_state=0).fit(positives)
    assert model.fit(positives).quantify(sample).to_dict() == fresh.quantify(sample).to_dict()
