"""The score that RCQ learns from positives and unlabeled rows, and what it is counted by."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import chisquare

import poscount
from oblique import oblique
from plain import region_counting
from poscount import RCQ, compiling
from poscount.data.columns import Columns
from poscount.errors import InputError
from poscount.methods.regions.learned_score import LearnedScore

pytestmark = pytest.mark.usefixtures("global_generator_untouched")

COLUMNS = Columns.plain(list("abcdef"))


@pytest.fixture(scope="module")
def task():
    return oblique(0, 0.3)


@pytest.fixture(scope="module")
def reference():
    return oblique(7, 0.1, n_unlabeled=3000)[1]


@pytest.fixture(scope="module")
def learned(task, reference):
    return LearnedScore().fit(task[0], reference, COLUMNS, seed=0)


@pytest.fixture(scope="module")
def model(task, reference):
    return RCQ(random_state=0).fit(task[0], unlabeled=reference)


def test_new_positives_score_as_labelled_ones_do(learned):
    """A tenth of them lies between two quantiles; scores of rows learned from would be higher."""
    new = np.random.default_rng(1).normal(size=(20_000, 6))
    found = np.bincount(learned.bins(new, COLUMNS), minlength=9)
    shares = np.array([0.1] * 8 + [0.2])
    # The quantiles are those of 300 positives, so that shares vary as of 300 rows.
    assert chisquare(found / len(new) * 300, shares * 300).pvalue > 0.01
    negatives = oblique(3, 0.0, n_unlabeled=5000)[1]
    assert (learned.bins(negatives, COLUMNS) <= 4).mean() > 0.75


def test_the_trees_of_a_fold_do_not_know_its_rows(task, reference, learned):
    """A row that is there 301 times changes the trees of all other folds, and not its own."""
    fold = learned._folds(learned._standardised(reference[:1]))[0]
    repeated = np.vstack([reference, np.repeat(reference[:1], 300, axis=0)])
    other = LearnedScore().fit(task[0], repeated, COLUMNS, seed=0)
    same = [(a == b).all() for a, b in zip(learned.leaf_, other.leaf_, strict=True)]
    assert same == [i == fold for i in range(5)]


def test_order_and_repetition_of_rows_do_not_matter(task, reference, learned):
    rng = np.random.default_rng(0)
    shuffled = LearnedScore().fit(
        rng.permutation(task[0]), rng.permutation(np.tile(reference, (2, 1))), COLUMNS, seed=0
    )
    for name in ("feature_", "threshold_", "leaf_", "edges_"):
        assert np.array_equal(getattr(learned, name), getattr(shuffled, name))
    assert learned.skill_ == pytest.approx(shuffled.skill_, abs=1e-12)


def test_order_of_columns_does_not_matter(task, reference, model):
    columns = [3, 0, 5, 1, 4, 2]
    turned = RCQ(random_state=0).fit(task[0][:, columns], unlabeled=reference[:, columns])
    answer = turned.quantify(task[1][:, columns])
    assert float(answer) == pytest.approx(float(model.quantify(task[1])), abs=1e-9)


def test_compiled_and_plain_scores_are_equal_to_the_last_bit(learned, reference, monkeypatch):
    monkeypatch.setattr(compiling, "worth_compiling", lambda n: False)
    plain = learned.scores(reference, COLUMNS)
    monkeypatch.setattr(compiling, "worth_compiling", lambda n: True)
    assert np.array_equal(learned.scores(reference, COLUMNS), plain)


def test_skill_is_the_area_above_one_half(task, reference, learned):
    ours, theirs = (learned.scores(rows, COLUMNS) for rows in (task[0], reference))
    higher = (ours[:, np.newaxis] > theirs).mean() + (ours[:, np.newaxis] == theirs).mean() / 2
    assert learned.skill_ == pytest.approx(higher - 0.5, abs=1e-9)


def test_many_rows_of_a_reference_are_thinned_out(task, monkeypatch):
    large = oblique(5, 0.2, n_unlabeled=12_000)[1]
    found = LearnedScore().fit(task[0], large, COLUMNS, seed=0)
    assert found.n_reference_ == 5000
    again = LearnedScore().fit(task[0], large[::-1], COLUMNS, seed=0)
    assert np.array_equal(found.leaf_, again.leaf_)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**31), st.sampled_from([1e-200, 1.0, 1e200]))
def test_any_reference_gives_a_score(n, seed, scale):
    rng = np.random.default_rng(seed)
    positives = rng.integers(0, 3, size=(25, 6)) * scale
    reference = np.tile(rng.integers(0, 2, size=(1, 6)), (n, 1)) * scale
    learned = LearnedScore().fit(positives, reference, COLUMNS, seed=0)
    assert np.isfinite(learned.scores(np.vstack([positives, reference]), COLUMNS)).all()
    assert (np.diff(learned.edges_) >= 0).all()


# In RCQ


def test_the_rule_is_the_plain_one_with_more_cuts(task, reference):
    positives, sample = region_counting.in_own_order(*task, seed=0)
    model = RCQ(calibration="null", random_state=0).fit(positives, unlabeled=reference)
    learned = model.part_.learned_score_
    in_positives, in_sample = (learned.bins(x, COLUMNS) for x in (positives, sample))
    regions = region_counting.region_masks(positives, sample, seed=0)
    n_cuts = len(regions) // 8
    # Each band with the eight cuts "learned score above its quantile" behind its other cuts.
    together = []
    for band in range(8):
        part = regions[band * n_cuts : (band + 1) * n_cuts]
        whole = part[0]
        together += part
        together += [
            (whole[0] & (in_positives >= i), whole[1] & (in_sample >= i)) for i in range(1, 9)
        ]
    chosen = [together[i] for i in region_counting.kept(together, len(positives))]
    e, u, _ = region_counting.rule(
        [a.sum() for a, _ in chosen], len(positives), [b.sum() for _, b in chosen], len(sample)
    )
    answer = model.quantify(sample)
    assert answer.details["ratio"] == pytest.approx(e, abs=1e-12)
    assert answer.details["region"]["high"] == pytest.approx(u, abs=1e-12)
    g = answer.details["null_ratio"]
    stretched = e * (1 + (1 / g - 1) * min(1, e / g) ** 3)
    assert answer.details["uncalibrated"] == pytest.approx(min(1, stretched), abs=1e-12)
    without = RCQ(calibration="null", random_state=0).fit(positives).quantify(sample)
    assert answer.details["rcq"] == pytest.approx(float(without), abs=1e-6)


def test_a_border_along_no_feature():
    errors, without = [], []
    for seed in range(3):
        positives, sample = oblique(seed, 0.3)
        unlabeled = oblique(seed + 50, 0.1, n_unlabeled=5000)[1]
        for rows, found in ((unlabeled, errors), (None, without)):
            model = RCQ(calibration="null", random_state=0).fit(positives, unlabeled=rows)
            found.append(abs(model.quantify(sample) - 0.3))
    assert np.mean(errors) < 0.1 < np.mean(without) - 0.2


def test_absurd_values_are_far_away(task, model):
    far = np.vstack([task[1], np.full((5, 6), 1e300), np.full((5, 6), -1e300)])
    one, two = (model.quantify(rows).details["uncalibrated"] for rows in (far, task[1]))
    assert one == pytest.approx(two * 600 / 610, abs=0.01)


def test_counts_add_up(task, model):
    sample = task[1]
    parts = [model.count(sample[:100]), model.count(sample[100:])]
    answer = model.quantify(sample)
    assert model.estimate(parts[0] + parts[1]).to_dict() == answer.to_dict()
    assert float(model.quantify(sample, weights=np.ones(600))) == float(answer)
    frame = pd.DataFrame(sample, columns=list("abcdef")).assign(site=np.arange(600) % 3)
    named = RCQ(random_state=0).fit(
        pd.DataFrame(task[0], columns=list("abcdef")),
        unlabeled=frame.drop(columns="site"),
    )
    groups = named.quantify_groups(frame, by="site")
    for (site,), share in groups.items():
        assert float(share) == float(named.quantify(frame[frame.site == site]))


def test_the_mean_posterior_is_the_prevalence(task, reference):
    # By experience, a sample with so much overlap may well have no positives at all.
    model = RCQ(calibration="null", random_state=0).fit(task[0], unlabeled=reference)
    posterior = model.posterior(task[1])
    assert posterior.mean() == pytest.approx(float(model.quantify(task[1])), abs=1e-6)
    # The first 180 rows are the positives; without the score they are hardly told apart.
    without = RCQ(calibration="null", random_state=0).fit(task[0]).posterior(task[1])
    apart, hardly = (found[:180].mean() - found[180:].mean() for found in (posterior, without))
    assert apart > 0.1 > hardly


def test_labels_instead_of_two_tables(task, reference, model):
    rows, labels = np.vstack([reference, task[0]]), np.repeat([0, 1], [len(reference), 300])
    assert RCQ(random_state=0).fit(rows, labels).hash_ == model.hash_
    frame = pd.DataFrame(rows, columns=list("abcdef"))
    named = RCQ(random_state=0).fit(frame, np.where(labels, 1, -1))
    assert float(named.quantify(frame)) == float(model.quantify(rows))
    only = RCQ(random_state=0).fit(task[0], np.ones(300))
    assert only.part_.learned_score_ is None


@pytest.mark.parametrize(
    ("labels", "unlabeled", "words"),
    [
        ([0, 0, 0], None, "No row is labelled"),
        ([1, 0], None, "3 rows, but y has the shape"),
        ([1, 1, 0], np.ones((3, 2)), "Give the unlabeled rows once"),
        (None, np.ones((3, 5)), "X has 5 features"),
        (None, np.empty((0, 2)), "no rows"),
    ],
)
def test_what_is_refused(labels, unlabeled, words):
    with pytest.raises((InputError, ValueError), match=words):
        RCQ().fit(np.arange(6.0).reshape(3, 2), labels, unlabeled=unlabeled)


def test_saved_and_loaded(task, model, tmp_path):
    model.save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 2_000_000
    loaded = poscount.load(tmp_path / "m")
    assert loaded.hash_ == model.hash_
    assert loaded.quantify(task[1]).to_dict() == model.quantify(task[1]).to_dict()


def test_words_and_gaps(task, reference):
    def table(rows):
        frame = pd.DataFrame(rows, columns=list("abcdef"))
        frame["word"] = np.where(rows[:, 0] > 0, "up", "down")
        frame.loc[rows[:, 1] > 1.5, "b"] = np.nan
        return frame

    model = RCQ(random_state=0).fit(table(task[0]), unlabeled=table(reference))
    sample = table(task[1])
    answer = model.quantify(sample)
    assert 0.3 in answer.interval
    shuffled = sample.sample(frac=1, random_state=0)
    assert model.quantify(shuffled).to_dict() == answer.to_dict()


def test_sparse_rows():
    rng = np.random.default_rng(0)
    positives, others = (
        sparse.csr_array(rng.random((n, 300)) * (rng.random((n, 300)) < 0.1)) for n in (200, 900)
    )
    model = RCQ(random_state=0).fit(positives, unlabeled=others)
    assert 0 <= float(model.quantify(others)) <= 1
