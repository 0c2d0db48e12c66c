"""TRCQ: where a learned score helps, the plain rule with its cuts, and samples at the edge."""

import numpy as np
import pandas as pd
import pytest

import poscount
from plain import region_counting
from poscount import RCQ, TRCQ
from poscount.base import TransductiveQuantifier
from poscount.reusable.region_layout import region_layout
from poscount.reusable.regions import Regions

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


def oblique(seed, p, n_labeled=300, n_unlabeled=600):
    """Negatives are the positives on one side of a plane that lies along no feature."""
    rng = np.random.default_rng(seed)
    n_positive = round(p * n_unlabeled)
    negatives = rng.normal(size=(4 * n_unlabeled, 6))
    negatives = negatives[negatives @ [1, -1, 1, -1, 1, -1] > 0][: n_unlabeled - n_positive]
    positives = rng.normal(size=(n_labeled + n_positive, 6))
    return positives[:n_labeled], np.vstack([positives[n_labeled:], negatives])


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
        errors.append(abs(TRCQ(random_state=0).fit(positives).quantify(sample) - 0.3))
        of_rcq.append(abs(RCQ(random_state=0).fit(positives).quantify(sample) - 0.3))
    assert np.mean(errors) < np.mean(of_rcq)
    assert np.mean(errors) < 0.12


def test_the_rule_is_the_plain_one_with_more_cuts(task):
    positives, sample = region_counting.in_own_order(*task, seed=0)
    model = TRCQ(random_state=0).fit(positives)
    in_positives, in_sample = model._learned_bins(sample)
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
    assert answer == pytest.approx(min(1, stretched), abs=1e-12)


def test_the_learned_score_is_cut_at_its_quantiles(task, model):
    in_positives, in_sample = model._learned_bins(task[1])
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
    assert set(model.get_params()) == {"confidence", "random_state"}
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
    rcq = RCQ(random_state=0).fit(task[0])
    regions = Regions(region_layout(6), rcq.binned_, rcq.cuts_, rcq.feature_names, seed=0)
    table = rcq.count(task[1]).cells[:-52].reshape(1, 8, -1)
    counts = regions.read_tables(table, np.array([600]))
    assert regions.find(counts).prevalence[0] == float(rcq.quantify(task[1]))
