"""TRCQ: where a learned score helps, the plain rule with its cuts, and samples at the edge."""

import numpy as np
import pandas as pd
import pytest

import poscount
from plain import region_counting
from poscount import BBE, DEDPUL, RCQ, TRCQ
from poscount.methods.pu.training_rows import TrainingRows
from poscount.methods.pu.transductive_quantifier import TransductiveQuantifier
from poscount.methods.pu.trcq import MOST_ROWS, _ranks, learned_bins
from poscount.methods.regions.layout import region_layout
from poscount.methods.regions.order import CanonicalOrder
from poscount.methods.regions.rule import RegionRule

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


def oblique(seed, p, n_labeled=300, n_unlabeled=600):
    """Negatives are the positives on one side of a plane that lies along no feature."""
    rng = np.random.default_rng(seed)
    n_positive = round(p * n_unlabeled)
    negatives = rng.normal(size=(4 * n_unlabeled, 6))
    negatives = negatives[negatives @ [1, -1, 1, -1, 1, -1] > 0][: n_unlabeled - n_positive]
    positives = rng.normal(size=(n_labeled + n_positive, 6))
    return positives[:n_labeled], np.vstack([positives[n_labeled:], negatives])


def clusters(seed, p, n_labeled=400, n_unlabeled=700):
    """Positives of three kinds, one of which looks like half of the negatives."""
    rng = np.random.default_rng(seed)
    n_positive = round(p * n_unlabeled)
    kinds = rng.normal(size=(3, 5)) * 3
    positives = kinds[rng.integers(3, size=n_labeled + n_positive)]
    positives = positives + rng.normal(size=positives.shape)
    n_negative = n_unlabeled - n_positive
    negatives = np.where(rng.random((n_negative, 1)) < 0.5, kinds[0], 6.0)
    sample = np.vstack([positives[n_labeled:], negatives + rng.normal(size=(n_negative, 5))])
    return positives[:n_labeled], sample


def coarse(seed, p, n_labeled=200, n_unlabeled=500):
    """Small whole numbers: many rows are equal, also of the positives and of the sample."""
    return tuple(x[:, :4].round() for x in oblique(seed, p, n_labeled, n_unlabeled))


TASKS = {"oblique": oblique(1, 0.4), "clusters": clusters(1, 0.2), "coarse": coarse(1, 0.6)}


@pytest.fixture(params=TASKS)
def any_task(request):
    return TASKS[request.param]


def quantify(positives, sample, seed=0):
    return TRCQ(random_state=seed).fit(positives).quantify(sample)


def learning_rows(model, sample):
    order = CanonicalOrder(model.positives_, model.seed_)
    return TrainingRows(model.positives_, sample, order)


def bins(model, sample):
    return learned_bins([_ranks(*by_one) for by_one in model._scores(learning_rows(model, sample))])


@pytest.fixture(scope="module")
def task():
    return oblique(0, 0.3)


@pytest.fixture(scope="module")
def model(task):
    return TRCQ(random_state=0).fit(task[0])


def test_a_border_along_no_feature():
    errors, of_rcq = [], []
    for seed in range(3):
        positives, sample = oblique(seed, 0.3)
        for kind, found in ((TRCQ, errors), (RCQ, of_rcq)):
            model = kind(calibration="null", random_state=0).fit(positives)
            found.append(abs(model.quantify(sample) - 0.3))
    assert np.mean(errors) < np.mean(of_rcq)
    assert np.mean(errors) < 0.12


def test_the_rule_is_the_plain_one_with_more_cuts(task):
    positives, sample = region_counting.in_own_order(*task, seed=0)
    model = TRCQ(random_state=0).fit(positives)
    in_positives, in_sample = bins(model, sample)
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


def test_the_learned_score_is_cut_at_its_quantiles(task, model):
    in_positives, in_sample = bins(model, task[1])
    shares = np.bincount(in_positives, minlength=9) / len(in_positives)
    np.testing.assert_allclose(shares, [*[0.1] * 8, 0.2], atol=0.02)
    # Negatives score lower.
    assert (in_sample[180:] <= 4).mean() > (in_sample[:180] <= 4).mean() + 0.2


def test_same_seed_same_answer(task, model):
    again = TRCQ(random_state=0).fit(task[0]).quantify(task[1])
    answer = model.quantify(task[1])
    assert answer.to_dict() == again.to_dict()
    assert answer.details == again.details
    assert (answer.method, answer.n_labeled, answer.n_unlabeled) == ("TRCQ", 300, 600)
    assert answer in answer.interval
    assert answer.details["bound"] >= answer


def test_the_interval_and_the_warnings_are_its_own(task, model):
    assert isinstance(model, TransductiveQuantifier)
    assert set(model.get_params()) == {"calibration", "confidence", "random_state"}
    answer = model.quantify(task[1])
    assert answer.interval.level == 0.95
    # Half of the positives have no negatives near them, and PAT cannot know that.
    assert {"core-differs", "pat-disagrees"} <= {caution.code for caution in answer.warnings}
    narrow = TRCQ(confidence=0.5, random_state=0).fit(task[0]).quantify(task[1])
    assert narrow.interval.width < answer.interval.width


def test_saved_and_loaded(task, model, tmp_path):
    model.save(tmp_path / "m")
    assert (
        poscount.load(tmp_path / "m").quantify(task[1]).to_dict()
        == model.quantify(task[1]).to_dict()
    )


def test_frames(task, model):
    names = list("abcdef")
    frame = pd.DataFrame(task[0], columns=names)
    named = TRCQ(random_state=0).fit(frame)
    turned = pd.DataFrame(task[1], columns=names)[names[::-1]].assign(key="x")
    assert float(named.quantify(turned)) == float(model.quantify(task[1]))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_tiny_samples(task, model, n):
    answer = model.quantify(task[1][:n])
    assert 0 <= answer.interval.low <= answer <= answer.interval.high <= 1


def test_nothing_alike_is_zero(task, model):
    assert model.quantify(task[0] + 100) == 0


def test_the_layout_without_learned_cuts_is_rcq(task):
    rcq = RCQ(calibration="null", random_state=0).fit(task[0])
    regions = RegionRule(region_layout(6), rcq.part_.binned_, rcq.part_.cut_names, seed=0)
    counts = rcq._view(rcq.count(task[1])).counts
    assert regions.estimate(counts).prevalence[0] == float(rcq.quantify(task[1]))


# What must not change the answer


def assert_same(answer, other):
    assert float(answer) == pytest.approx(float(other), abs=1e-9)
    assert answer.interval.low == pytest.approx(other.interval.low, abs=1e-9)
    assert answer.interval.high == pytest.approx(other.interval.high, abs=1e-9)
    for name in ("rcq", "dedpul", "bbe", "ratio", "null_ratio"):
        assert answer.details[name] == pytest.approx(other.details[name], abs=1e-9)


def test_order_of_rows_and_columns(any_task):
    positives, sample = any_task
    answer = quantify(positives, sample)
    rng = np.random.default_rng(0)
    assert_same(quantify(rng.permutation(positives), sample), answer)
    assert_same(quantify(positives, rng.permutation(sample)), answer)
    columns = rng.permutation(positives.shape[1])
    assert_same(quantify(positives[:, columns], sample[:, columns]), answer)
    shuffled = (rng.permutation(x)[:, columns] for x in any_task)
    assert_same(quantify(*shuffled), answer)


@pytest.mark.parametrize("n_times", [2, 5])
def test_a_repeated_sample_says_nothing_new(any_task, n_times):
    positives, sample = any_task
    assert_same(quantify(positives, np.tile(sample, (n_times, 1))), quantify(positives, sample))


def test_a_sample_that_is_nearly_repeated():
    positives, sample = TASKS["clusters"]
    repeated = np.vstack([sample, sample[:-1]])
    assert float(quantify(positives, repeated)) == pytest.approx(
        float(quantify(positives, sample)), abs=0.02
    )


def test_rows_of_few_values_are_no_repetition():
    rng = np.random.default_rng(0)
    positives = rng.integers(2, size=(300, 1)).astype(float)
    answer = quantify(positives, np.repeat([[0.0], [1.0]], 200, axis=0))
    assert answer.interval.width < 0.5


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scales(any_task, scale):
    positives, sample = any_task
    answer = quantify(positives, sample)
    assert float(quantify(positives * scale, sample * scale)) == pytest.approx(
        float(answer), abs=1e-3
    )


def test_absurd_values_are_far_away():
    positives, sample = TASKS["oblique"]
    far = np.vstack([sample, np.full((5, 6), 1e300), np.full((5, 6), -1e300)])
    one, two = (quantify(positives, rows).details["uncalibrated"] for rows in (far, sample))
    assert one == pytest.approx(two, abs=0.05)


def test_a_feature_that_only_the_sample_varies_in():
    rng = np.random.default_rng(0)
    positives, sample = rng.normal(size=(300, 3)), rng.normal(size=(600, 3))
    positives[:, 1] = 1e-9
    sample[:, 1] = np.where(np.arange(600) < 180, 1e-9, 2e-9)
    assert float(quantify(positives, sample)) == pytest.approx(0.3, abs=0.1)


def test_another_seed_is_another_answer():
    assert quantify(*TASKS["clusters"], seed=0) != quantify(*TASKS["clusters"], seed=1)


# Folds and weights


def test_equal_rows_share_a_fold():
    positives, sample = TASKS["coarse"]
    model = TRCQ(random_state=0).fit(positives)
    rows = learning_rows(model, sample)
    fold = rows.fold[rows.index]
    found = {}
    for row, i in zip(np.vstack([model.positives_, sample]).tolist(), fold.tolist(), strict=True):
        assert found.setdefault(tuple(row), i) == i
    assert len(found) == len(rows.values)
    assert rows.times.sum(axis=1).tolist() == [len(positives), len(sample)]
    sizes = np.bincount(rows.fold[rows.times[0] > 0], minlength=5)
    assert sizes.max() - sizes.min() <= 1


def test_one_side_alone_in_the_other_folds():
    positives, sample = TASKS["oblique"]
    model = TRCQ(random_state=0).fit(positives)
    answer = model.quantify(np.tile(sample[:1], (50, 1)))
    assert 0 <= answer.details["bbe"] <= 1


# Large samples


def test_a_large_sample_is_subsampled():
    positives, sample = oblique(0, 0.3, n_unlabeled=2 * MOST_ROWS)
    model = TRCQ(random_state=0).fit(positives)
    answer = model.quantify(sample)
    caution = answer.warnings[-1]
    assert caution.code == "subsampled"
    assert "5,000 of the 10,000 rows" in caution.sentence
    assert answer.n_unlabeled == 10_000
    assert_same(model.quantify(np.random.default_rng(0).permutation(sample)), answer)
    assert_same(model.quantify(np.vstack([sample, sample])), answer)
    at_most = model.quantify(sample[-MOST_ROWS:])
    assert "subsampled" not in {caution.code for caution in at_most.warnings}


# Details


def test_details(task, model):
    details = model.quantify(task[1]).details
    learned = details["region"]["where"].startswith("learned score")
    assert learned == (details["learned_high"] == details["region"]["high"])
    rcq = RCQ(calibration="null", random_state=0).fit(task[0]).quantify(task[1])
    assert details["rcq"] == pytest.approx(float(rcq), abs=1e-9)
    # Other folds and balanced weights, but the same scores in principle.
    for method in (DEDPUL, BBE):
        own = method(random_state=0).fit(task[0]).quantify(task[1])
        assert details[method.__name__.lower()] == pytest.approx(float(own), abs=0.15)


def test_few_positives_have_details_too():
    positives, sample = TASKS["clusters"]
    details = quantify(positives[:15], sample).details
    assert {"pat", "rcq", "dedpul", "bbe", "skill"} <= set(details)
