"""RCQ: against a plain version, on known answers, under changes that must not matter."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import poscount
from plain import region_counting
from poscount import PAT, RCQ, Mahalanobis
from poscount.change.two_samples import compare_samples
from poscount.methods.regions.layout import CutNames, RegionLayout
from poscount.methods.regions.partition import k_means, place_cuts
from poscount.methods.regions.rule import (
    RegionEstimates,
    bounds,
    decide,
    grid_point,
    interval_from_gap,
)

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


def two_clusters(rng, n):
    """Half of the rows around 0, half around 3, in four dimensions."""
    rows = rng.normal(size=(n, 4))
    rows[rng.random(n) < 0.5] += 3.0
    return rows


def overlapping(seed, p, n_labeled=400, n_unlabeled=1000):
    """Positives of two clusters; all negatives are like the second one."""
    rng = np.random.default_rng(seed)
    n_positive = round(p * n_unlabeled)
    negatives = rng.normal(size=(n_unlabeled - n_positive, 4)) + 3.0
    return two_clusters(rng, n_labeled), np.vstack([two_clusters(rng, n_positive), negatives])


@pytest.fixture(scope="module")
def model(positives):
    return RCQ(random_state=0).fit(positives)


def everything(answer):
    return answer.to_dict(), answer.details


# The plain version


def normal(*shape, seed):
    return np.random.default_rng(seed).normal(size=shape)


def integers(n, largest, seed):
    return np.random.default_rng(seed).integers(0, largest, (n, 3)).astype(float)


TASKS = {
    "overlap": overlapping(1, 0.4, 120, 150),
    "separate": (
        normal(80, 2, seed=0),
        np.vstack([normal(60, 2, seed=1), 4 + normal(30, 2, seed=2)]),
    ),
    "integers": (integers(100, 5, 0), integers(70, 7, 1)),
    "a constant column": (
        np.column_stack([normal(60, 2, seed=3), np.full(60, 7.0)]),
        np.column_stack([normal(50, 2, seed=4), np.repeat([7.0, 8.0], 25)]),
    ),
    "one feature": (normal(50, 1, seed=5), 0.5 + normal(40, 1, seed=6)),
    "more features than rows": (normal(30, 35, seed=7), normal(25, 35, seed=8)),
    "one row": (normal(40, 3, seed=9), normal(1, 3, seed=10)),
    "many rows": (normal(40, 2, seed=11), normal(1500, 2, seed=12)),
}


@pytest.mark.parametrize("task", TASKS)
def test_agrees_with_the_plain_one(task):
    positives, sample = region_counting.in_own_order(*TASKS[task], seed=3)
    model = RCQ(random_state=3).fit(positives)
    regions = model.part_.rule
    p, bound, in_positives, in_sample, region = region_counting.quantify(positives, sample, seed=3)
    assert regions.in_positives.tolist() == in_positives
    in_cuts = model._view(model.count(sample)).counts.in_cuts
    assert in_cuts.ravel()[regions.indices].tolist() == in_sample
    answer = model.quantify(sample)
    assert answer.details["uncalibrated"] == pytest.approx(p, abs=1e-12)
    told = answer.details["region"]
    assert told["high"] == pytest.approx(bound, rel=1e-12)
    assert told["share"] == in_positives[region] / len(positives)
    assert told["ratio"] == pytest.approx(in_sample[region] / len(sample) / told["share"])


# The rule


@given(
    st.floats(0, 1.5), st.floats(0.08, 0.9), st.integers(50, 5000), st.integers(1, 10**6),
    st.integers(2, 5000),
)  # fmt: skip
def test_bounds_are_the_roots(r, m, n_labeled, n_unlabeled, n_regions):
    in_sample = np.full((1, n_regions), r * m * n_unlabeled)
    ratio, low, high = bounds(
        in_sample, np.array([[n_unlabeled]]), np.full(n_regions, m * n_labeled), n_labeled
    )
    k2, h = 2 * np.log(n_regions), (1 - m) / m
    if 1 - k2 * h / n_labeled <= 0.05:
        assert high[0, 0] == np.inf
        return
    assert low[0, 0] <= ratio[0, 0] + 1e-9
    assert high[0, 0] >= ratio[0, 0] - 1e-9
    for u in (low[0, 0], high[0, 0]):
        variance = h * (u**2 / n_labeled + u / n_unlabeled)
        # Relative to the terms of the polynomial, which cancel.
        size = (1 + u + r) ** 2 * (1 + k2 * h / min(n_labeled, n_unlabeled))
        assert (u - ratio[0, 0]) ** 2 == pytest.approx(k2 * variance, abs=1e-9 * size)


def test_the_least_filled_region_decides():
    # Three regions with half of the positives each; negatives have filled two of them.
    in_positives, n_rows = np.array([200.0, 200.0, 200.0]), np.array([[1000]])
    found = decide(np.array([[500.0, 150.0, 400.0]]), n_rows, in_positives, 400)
    assert found.region.tolist() == [1]
    assert found.ratio[0] == pytest.approx(0.3, abs=0.01)
    equal = decide(np.array([[150.0, 150.0, 150.0]]), n_rows, in_positives, 400)
    assert equal.ratio[0] == pytest.approx(0.3)
    assert equal.weights.tolist() == [[1.0, 1.0, 1.0]]


def test_calibration_fixes_zero_and_one():
    ratios = np.array([0.0, 0.1, 0.5, 0.9, 1.0])

    def prevalences(null_ratio):
        found = RegionEstimates(ratios, *[ratios] * 6, (ratios, ratios, ratios), null_ratio)
        return found.prevalence

    p = prevalences(np.array(0.9))
    assert p[0] == 0
    assert p[3] == pytest.approx(1)
    assert p[4] == 1
    assert (p >= ratios).all()
    assert np.array_equal(prevalences(np.array(1.0)), ratios)


@pytest.mark.parametrize(
    ("level", "below", "above"),
    [(0.95, 1.0, 0.75), (0.9, 0.8, 0.6), (0.99, (2.5758 / 1.96) ** 1.27, None)],
)
def test_interval_at_known_levels(level, below, above):
    low, high = interval_from_gap(0.45, 0.5, 0.1, level)
    assert low == pytest.approx(0.45 - 0.1 * below, abs=1e-4)
    assert high == pytest.approx(0.5 + 0.1 * (0.75 * below if above is None else above), abs=1e-4)


def test_intervals_of_higher_levels_are_wider(positives, sample):
    intervals = [
        RCQ(confidence=level, random_state=0).fit(positives).quantify(sample).interval
        for level in (0.5, 0.8, 0.95, 0.999)
    ]
    # A lower end may be 0 at several levels.
    assert all(
        a.low >= b.low and a.high <= b.high and a.width < b.width
        for a, b in itertools.pairwise(intervals)
    )
    assert [i.level for i in intervals] == [0.5, 0.8, 0.95, 0.999]


def test_grid():
    assert all(abs(np.log2(n) - grid_point(n) / 2) <= 0.25 for n in range(1, 3000))


# Cuts and clusters


values = st.one_of(
    st.integers(-8, 8).map(float), st.floats(-3, 3).map(lambda x: round(x, 6)), st.just(0.5)
)


@given(hnp.arrays(np.float64, st.integers(1, 60), elements=values))
def test_cuts_keep_away_from_values(column):
    for q, threshold in zip((0.2, 0.4, 0.6, 0.8), place_cuts(column), strict=True):
        assert np.abs(column - threshold).min() > 4.9e-6
        assert (column < threshold).mean() >= q - 1 / len(column)
        assert threshold == pytest.approx(region_counting.threshold(column.tolist(), q), abs=1e-9)


def test_no_cut_above_the_largest_value():
    assert place_cuts(np.zeros(10)).tolist() == [np.inf] * 4
    assert place_cuts(np.array([0.0, 1.0])).tolist() == [0.5, 0.5, 0.5, 0.5]


def test_clusters_of_fewer_distinct_rows_than_clusters():
    rows = np.repeat([[1.0, 2.0], [3.0, 4.0]], 5, axis=0)
    points = k_means(rows, 4, np.random.default_rng(0))
    assert {tuple(point) for point in points.tolist()} == {(1.0, 2.0), (3.0, 4.0)}


def test_clusters_are_found():
    rng = np.random.default_rng(0)
    middles = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])
    rows = np.repeat(middles, 50, axis=0) + 0.1 * rng.normal(size=(200, 2))
    points = k_means(rows, 4, rng)
    np.testing.assert_allclose(sorted(points.round().tolist()), sorted(middles.tolist()))


def test_more_features_than_are_cut():
    rng = np.random.default_rng(0)
    model = RCQ(random_state=0).fit(rng.normal(size=(100, 60)))
    assert len(model.part_.features_) == 40
    assert sorted(set(model.part_.features_)) == model.part_.features_.tolist()
    # 8 score cells, 40 features with five bins and nine clusters, PAT's 52 cells, 3 of far rows,
    # 9 outside of the range of each feature, and gaps of each feature and of any.
    n_cells = 8 * (40 * 5 + 9) + 52 + 3 + 60 * 9 + 60 + 1
    assert model.count(rng.normal(size=(5, 60))).cells.shape == (n_cells,)


def test_words():
    arranged = RegionLayout(2, learned=True)
    thresholds = np.array([[-1.0, 0.0, 1.0, 1.25], [1, 2, 3, np.inf]])
    n_cuts = arranged.cuts.shape[1]
    names = CutNames(["x0", "size"], thresholds)
    words = [arranged.describe(i, names) for i in range(8 * n_cuts)]
    assert len(set(words)) == len(words)
    assert words[0] == "all rows at any score"
    assert words[3 * n_cuts + 1 + 8 + 3] == "x0 > 1.25 in the band above the 0.4 quantile"
    assert words[5] == "size <= 1 at any score"
    assert words[7 * n_cuts + 17] == "cluster 1 of 2 in the band between the 0.05 and 0.5 quantiles"
    assert words[17 + 9] == "outside of cluster 1 of 3 at any score"
    assert words[n_cuts - 1] == "learned score above its 0.8 quantile at any score"


def test_words_of_categories_and_gaps():
    arranged = RegionLayout(1, gapped=(0,), categories=(2, 3))
    names = CutNames(
        ["age"], np.array([[1.0, 2.0, 3.0, 4.0]]), ["smokes", "ward"], [["no", "yes"], list("abc")]
    )
    n_cuts = arranged.cuts.shape[1]
    words = [arranged.describe_cut(i, names) for i in range(n_cuts)]
    assert words[9:11] == ["age is missing", "age is not missing"]
    assert words[11:13] == ["smokes is no", "smokes is yes"]
    assert words[13:19] == [*(f"ward is {x}" for x in "abc"), *(f"ward is not {x}" for x in "abc")]
    assert len(set(words)) == n_cuts
    # One bin of each partition for every row: the cuts of a partition and their complements agree.
    assert arranged.cuts[:, arranged.value_cuts].sum(axis=0).tolist() == [1] * 6
    assert arranged.partition_of_cuts[[9, 11, 13, 18, 19]].tolist() == [0, 1, 2, 2, -1]


# Known answers


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5])
def test_negatives_like_some_of_the_positives(p):
    errors, of_pat = [], []
    for seed in range(5):
        positives, sample = overlapping(seed, p)
        # By the null calibration, which is exact here: other clusters are free of negatives.
        model = RCQ(calibration="null", random_state=0).fit(positives)
        errors.append(model.quantify(sample) - p)
        of_pat.append(PAT(random_state=0).fit(positives).quantify(sample) - p)
    # Half of the positives decide: a spread of sqrt(p^2/400 + p/1000), at most 0.034.
    assert abs(np.mean(errors)) < 0.06
    assert np.mean(of_pat) > 0.25


def test_nothing_alike_is_zero(model, positives):
    answer = model.quantify(positives + 1000)
    assert answer == 0
    assert answer.interval.low == 0


def test_positives_alone_are_all():
    answers = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        answers.append(
            RCQ(random_state=0).fit(two_clusters(rng, 300)).quantify(two_clusters(rng, 800))
        )
    # The calibration makes the mean ratio 1; the cap at 1 then takes something off.
    assert 0.94 < np.mean(answers) <= 1


def test_the_bound_holds_whatever_the_negatives_do():
    held = []
    for seed in range(25):
        positives, sample = overlapping(seed, 0.3, 200, 400)
        answer = RCQ(random_state=0).fit(positives).quantify(sample)
        held.append(answer.details["bound"] >= 0.3)
        assert answer.details["bound"] >= answer
    assert sum(held) >= 24


def test_the_interval_covers():
    held = []
    for seed in range(33):
        p = seed % 11 / 10
        positives, sample = overlapping(seed, p, 300, 600)
        held.append(p in RCQ(random_state=0).fit(positives).quantify(sample).interval)
    # 95 % by name, 90 % at least under overlap: 33 x .9 = 30, less three standard deviations.
    assert sum(held) >= 25


def test_the_deciding_region_is_named():
    # Negatives sit at large x1 of the positives: the region must lie at small x1.
    rng = np.random.default_rng(0)
    positives = rng.normal(size=(500, 3))
    negatives = rng.normal(size=(4000, 3))
    sample = np.vstack([rng.normal(size=(400, 3)), negatives[negatives[:, 1] > 0][:600]])
    frame, rows = (pd.DataFrame(x, columns=["a", "b", "c"]) for x in (positives, sample))
    where = RCQ(random_state=0).fit(frame).quantify(rows).details["region"]["where"]
    assert where.startswith("b <= ")
    assert (
        RCQ(random_state=0)
        .fit(positives)
        .quantify(sample)
        .details["region"]["where"]
        .startswith("x1 <= ")
    )


# Repeated values and tiny noise


@pytest.mark.parametrize("side", ["positives", "sample", "both"])
@pytest.mark.parametrize("seed", range(3))
def test_noise_in_the_last_digits_changes_nothing(side, seed):
    rng = np.random.default_rng(seed)

    def digits(n, centre):
        return np.clip(rng.normal(centre, 2.0, size=(n, 5)).round(), 0, 15)

    positives, sample = digits(200, 6), np.vstack([digits(300, 6), digits(300, [6, 9, 9, 3, 6])])

    def noisy(rows, now):
        return rows + 1e-9 * rows.std(axis=0) * rng.normal(size=rows.shape) if now else rows

    before = RCQ(random_state=0).fit(positives).quantify(sample)
    model = RCQ(random_state=0).fit(noisy(positives, side != "sample"))
    after = model.quantify(noisy(sample, side != "positives"))
    assert float(after) == pytest.approx(float(before), abs=0.002)


# Changes that must not matter


@pytest.fixture(scope="module")
def task():
    return overlapping(7, 0.4, 150, 400)


def test_scaling_by_powers_of_two_is_exact(task):
    positives, sample = task
    scale = np.array([2.0, 0.5, 1024.0, 2.0**-30])
    one = RCQ(random_state=0).fit(positives).quantify(sample)
    two = RCQ(random_state=0).fit(positives * scale).quantify(sample * scale)
    assert one.to_dict() == two.to_dict()


def test_any_scaling_and_shift(task):
    positives, sample = task
    scale, shift = np.array([3.7, 1e-5, 1e6, 0.1]), np.array([5.0, -1e-4, 1e7, 0.0])
    one = RCQ(random_state=0).fit(positives).count(sample)
    two = RCQ(random_state=0).fit(positives * scale + shift).count(sample * scale + shift)
    assert np.array_equal(one.cells, two.cells)


@pytest.mark.parametrize("name", TASKS)
def test_order_of_rows_and_columns_of_the_positives(name):
    positives, sample = TASKS[name]
    answer = RCQ(random_state=0).fit(positives).quantify(sample)
    rng = np.random.default_rng(1)
    for _ in range(3):
        rows, columns = (rng.permutation(n) for n in positives.shape)
        again = RCQ(random_state=0).fit(positives[rows]).quantify(sample)
        assert everything(again) == everything(answer)
        # Sums over columns may differ in their last bits.
        model = RCQ(random_state=0).fit(positives[rows][:, columns])
        again = model.quantify(sample[:, columns])
        assert float(again) == pytest.approx(float(answer), abs=1e-12)
        assert again.interval.low == pytest.approx(answer.interval.low, abs=1e-12)
        assert again.interval.high == pytest.approx(answer.interval.high, abs=1e-12)


def test_features_drawn_from_many_do_not_depend_on_the_order():
    positives = normal(60, 50, seed=13)
    columns = np.random.default_rng(2).permutation(50)
    one = RCQ(random_state=0).fit(positives)
    two = RCQ(random_state=0).fit(positives[:, columns])
    assert sorted(columns[two.part_.features_]) == one.part_.features_.tolist()


@pytest.mark.parametrize("block", [7, 399])
def test_model_and_posterior_do_not_depend_on_blocks(task, block, monkeypatch):
    """Those of the answer are in test_determinism.py."""
    positives, sample = task
    expected = RCQ(random_state=0).fit(positives)
    posterior = expected.posterior(sample)
    for module in ("poscount.base.counting", "poscount.data.rows"):
        monkeypatch.setattr(f"{module}.BLOCK_ROWS", block)
    model = RCQ(random_state=0, n_jobs=2).fit(positives)
    assert model.hash_ == expected.hash_
    assert np.array_equal(model.posterior(sample), posterior)


def test_groups(task):
    positives, sample = task
    model = RCQ(random_state=0).fit(pd.DataFrame(positives, columns=list("abcd")))
    frame = pd.DataFrame(sample, columns=list("abcd"))
    frame["group"] = np.arange(len(frame)) ** 2 % 7
    counted = model.count_by(frame, "group")
    answers = model.quantify_groups(frame, "group")
    for (key, counts), answer in zip(counted.items(), model.estimate_by(counted), strict=True):
        alone = frame[frame["group"] == key[0]]
        assert counts == model.count(alone)
        assert everything(answer) == everything(model.quantify(alone)) == everything(answers[key])


def test_many_groups_in_parts(task, monkeypatch):
    positives, sample = task
    frame = pd.DataFrame(sample, columns=list("abcd")).assign(group=np.arange(len(sample)) % 11)
    model = RCQ(random_state=0).fit(pd.DataFrame(positives, columns=list("abcd")))
    expected = model.quantify_groups(frame, "group")
    monkeypatch.setattr(RCQ, "_groups_at_once", 3)
    in_parts = model.quantify_groups(frame, "group")
    assert {key: everything(p) for key, p in in_parts.items()} == {
        key: everything(p) for key, p in expected.items()
    }
    assert len({p.details["pat"] for p in in_parts.values()}) > 3


def test_saved_and_loaded(task, tmp_path):
    positives, sample = task
    model = RCQ(random_state=0, confidence=0.8).fit(positives)
    first = everything(model.quantify(sample))
    model.save(tmp_path / "m.poscount")
    loaded = poscount.load(tmp_path / "m.poscount")
    assert everything(loaded.quantify(sample)) == first
    assert loaded.hash_ == model.hash_
    assert np.array_equal(loaded.posterior(sample), model.posterior(sample))
    loaded.save(tmp_path / "again.poscount")
    assert (tmp_path / "again.poscount").read_bytes() == (tmp_path / "m.poscount").read_bytes()
    # The positives are kept as bins, a byte per feature, not as they are.
    assert loaded.part_.binned_.dtype == np.uint8
    assert loaded.part_.binned_.shape == (150, 1 + 4 + 3)
    held = [x for x in vars(loaded).values() if isinstance(x, np.ndarray) and x.dtype.kind == "f"]
    assert all(x.size < positives.size for x in held)


def test_counts_of_another_seed_are_refused(task):
    one, two = (RCQ(random_state=seed).fit(task[0]) for seed in (0, 1))
    with pytest.raises(ValueError, match="another model"):
        two.estimate(one.count(task[1]))


# Posterior


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_the_mean_posterior_is_the_prevalence(model, draw, seed, p):
    rows = draw(np.random.default_rng(seed), round(150 * p), 150 - round(150 * p))
    posterior = model.posterior(rows)
    assert ((posterior >= 0) & (posterior <= 1)).all()
    assert posterior.mean() == pytest.approx(model.quantify(rows), abs=1e-9)


def test_rows_where_negatives_are_get_less():
    positives, sample = overlapping(0, 0.3)
    posterior = RCQ(random_state=0).fit(positives).posterior(sample)
    low, high = sample.sum(axis=1) < 6, sample.sum(axis=1) >= 6
    assert posterior[low].mean() > 2 * posterior[high].mean()


# Data at the edge


@pytest.mark.parametrize("n", [10, 15, 19, 20, 30])
def test_few_positives(n, sample, draw):
    drawn = draw(np.random.default_rng(0), n)
    # PAT has no order of its own.
    positives, sample = region_counting.in_own_order(drawn, sample, seed=0)
    model = RCQ(random_state=0).fit(positives)
    answer = model.quantify(sample)
    assert 0 <= answer.interval.low <= answer <= answer.interval.high <= 1
    told = [caution.code for caution in answer.warnings]
    assert ("few-positives-for-rcq" in told) == (n < 20)
    if n < 20:
        pat = PAT(Mahalanobis("ledoit-wolf"), random_state=0).fit(positives).quantify(sample)
        assert float(answer) == pytest.approx(float(pat), abs=1e-12)
        with pytest.raises(ValueError, match="too few"):
            compare_samples(model, model.count(sample), model.count(sample))


@pytest.mark.parametrize("n", [12, 300])
def test_a_model_that_has_answered_can_be_sent_elsewhere(n, sample, draw):
    model = RCQ(random_state=0).fit(draw(np.random.default_rng(7), n))
    answer = model.quantify(sample)
    assert any(warning.code == "few-positives-for-rcq" for warning in answer.warnings) == (n == 12)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert everything(again.quantify(sample)) == everything(answer)


def test_no_region_holds_a_fair_share(positives, sample):
    model = RCQ(random_state=0).fit(positives)
    model.part_.rule.indices = model.part_.rule.indices[:0]
    (caution, *_) = model.quantify(sample).warnings
    assert caution.code == "few-positives-for-rcq"
    assert "no region" in caution.sentence


def test_too_few_positives(positives):
    with pytest.raises(ValueError, match="At least 10 positives"):
        RCQ().fit(positives[:9])


def test_all_rows_equal():
    with pytest.raises(ValueError, match="constant"):
        RCQ().fit(np.ones((50, 3)))


def test_a_feature_that_hardly_varies(sample, positives):
    rare = np.zeros(len(positives))
    rare[:3] = 1
    model = RCQ(random_state=0).fit(np.column_stack([positives, rare]))
    plain = RCQ(random_state=0).fit(positives).quantify(sample)
    assert abs(model.quantify(np.column_stack([sample, np.zeros(len(sample))])) - plain) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_yes_and_no(seed):
    rng = np.random.default_rng(seed)
    positives, sample = ((rng.random((n, 6)) < 0.3).astype(int) for n in (200, 300))
    answer = RCQ(random_state=0).fit(positives).quantify(sample)
    assert answer > 0.7
    assert answer in answer.interval


def test_huge_values(model, sample):
    far = np.full((3, 3), 1e300)
    answer = model.quantify(np.vstack([sample, far]))
    near = model.count(sample).cells + model.count(far).cells
    assert np.array_equal(model.count(np.vstack([sample, far])).cells, near)
    assert 0 <= answer <= 1
    scaled = RCQ(random_state=0).fit(np.random.default_rng(0).normal(size=(50, 2)) * 1e200)
    assert scaled.quantify(np.random.default_rng(1).normal(size=(80, 2)) * 1e200) > 0.6


def test_one_row_and_none(model, positives):
    assert 0 <= model.quantify(positives[:1]) <= 1
    with pytest.raises(ValueError, match="no rows"):
        model.quantify(positives[:0])
    assert model.count(positives[:0]).cells.sum() == 0
    with pytest.raises(ValueError, match="no rows"):
        model.posterior(positives[:0])


@pytest.mark.parametrize("parameters", [{"confidence": 1.0}, {"n_jobs": 0.5}, {"random_state": -1}])
def test_parameters_that_make_no_sense(parameters, positives):
    (name,) = parameters
    with pytest.raises(ValueError, match=name):
        RCQ(**parameters).fit(positives)


def test_rows_are_placed_alike_in_one_go_and_in_parts():
    rng = np.random.default_rng(3)
    model = RCQ(random_state=0).fit(rng.normal(size=(200, 3)))
    rows = rng.normal(size=(9000, 3)) * 1.5  # more than are placed at a time
    parts = [model.part_.place(rows[start : start + 1000]) for start in range(0, 9000, 1000)]
    assert np.array_equal(model.part_.place(rows), np.vstack(parts))


def test_why_pat_s_rule_was_used_is_told():
    rng = np.random.default_rng(4)
    few = RCQ(random_state=0).fit(rng.normal(size=(15, 2))).quantify(rng.normal(size=(50, 2)))
    (caution,) = [c for c in few.warnings if c.code == "few-positives-for-rcq"]
    assert "it has 15 positives and needs 20" in caution.sentence
