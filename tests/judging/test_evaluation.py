"""A classifier judged without negatives, against what the labels would have said."""

import json
import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import poscount
from poscount import Distribution, InputError, Prevalence, evaluate
from poscount.results.distribution import LEVELS

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


def scores(rng, n_labeled=400, n_positive=300, n_negative=700, shift=2.0):
    """Held-out positives, the sample, and who is positive there."""
    sample = np.concatenate([rng.normal(shift, 1, n_positive), rng.normal(0, 1, n_negative)])
    return rng.normal(shift, 1, n_labeled), sample, np.arange(len(sample)) < n_positive


def truth_at(threshold, sample, positive):
    above = sample >= threshold
    found = (above & positive).sum()
    return {
        "recall": found / positive.sum(),
        "precision": found / above.sum(),
        "false_positive_rate": (above & ~positive).sum() / (~positive).sum(),
        "f1": 2 * found / (positive.sum() + above.sum()),
        "elusion": (positive.sum() - found) / (~above).sum(),
    }


@pytest.fixture
def rng():
    return np.random.default_rng(0)


# By the formulas


def test_the_values_are_those_of_the_formulas(rng):
    ours, sample, _ = scores(rng)
    found = evaluate(ours, sample, 0.3, random_state=0)
    for t in (-1.0, 0.5, 1.0, 2.0):
        recall, above = (ours >= t).mean(), (sample >= t).mean()
        rates = found.at(t)
        assert rates.n_above == (sample >= t).sum()
        assert rates.recall.value == pytest.approx(recall)
        assert rates.precision.value == pytest.approx(min(1, 0.3 * recall / above))
        rest = (above - 0.3 * recall) / 0.7
        assert rates.false_positive_rate.value == pytest.approx(max(0, rest), abs=1e-12)
        eluded = (0.3 - min(0.3 * recall, above)) / (1 - above)
        assert rates.elusion.value == pytest.approx(eluded)


def test_the_labels_of_the_sample_as_positives_give_the_truth(rng):
    """If the held-out positives score as those of the sample do, nothing is left to chance."""
    _, sample, positive = scores(rng)
    found = evaluate(sample[positive], sample, positive.mean(), random_state=0)
    for t in (0.0, 1.0, 2.0):
        for name, value in truth_at(t, sample, positive).items():
            assert getattr(found.at(t), name).value == pytest.approx(value)
    assert found.roc_auc.value == pytest.approx(roc_auc_score(positive, sample), abs=0.01)
    expected = average_precision_score(positive, sample)
    assert found.average_precision.value == pytest.approx(expected, abs=0.04)


def test_intervals_cover_what_labels_would_have_said():
    held, n = dict.fromkeys(("recall", "precision", "false_positive_rate", "auc"), 0), 60
    for seed in range(n):
        ours, sample, positive = scores(np.random.default_rng(seed), n_labeled=150)
        found = evaluate(ours, sample, 0.3, random_state=seed)
        rates = found.at(1.5)
        for name, value in truth_at(1.5, sample, positive).items():
            if name in held:
                held[name] += value in getattr(rates, name).interval
        held["auc"] += roc_auc_score(positive, sample) in found.roc_auc.interval
    # Of 60 with a probability of .95, fewer than 52 hold in 1 of 1,000 cases.
    assert min(held.values()) >= 52
    assert max(held.values()) <= n


def test_what_is_not_known_of_the_prevalence_is_in_the_intervals(rng):
    ours, sample, _ = scores(rng)
    known = evaluate(ours, sample, 0.3, random_state=0).at(1.0)
    spread = Distribution(0.2 + 0.2 * LEVELS)
    p = Prevalence(0.3, n_labeled=400, n_unlabeled=1000, method="RCQ", distribution=spread)
    unsure = evaluate(ours, sample, p, random_state=0).at(1.0)
    assert unsure.precision.value == known.precision.value
    assert unsure.precision.interval.width > 3 * known.precision.interval.width
    # Recall does not depend on it but for the number of positives that there are.
    assert unsure.recall.interval.width < 1.3 * known.recall.interval.width


@pytest.mark.parametrize("wanted", [0.5, 0.9, 0.99])
def test_a_threshold_for_a_recall(rng, wanted):
    ours, sample, _ = scores(rng)
    rates = evaluate(ours, sample, 0.3, random_state=0).threshold_for(recall=wanted)
    assert rates.recall.value >= wanted
    higher = np.nextafter(rates.threshold, np.inf)
    assert (ours >= higher).mean() < wanted


def test_a_threshold_for_a_precision(rng):
    ours, sample, positive = scores(rng)
    found = evaluate(ours, sample, 0.3, random_state=0)
    rates = found.threshold_for(precision=0.9)
    assert rates.precision.value >= 0.9
    below = ours[ours < rates.threshold]
    assert all(found.at(t).precision.value < 0.9 for t in below[:20])
    assert truth_at(rates.threshold, sample, positive)["precision"] in rates.precision.interval
    with pytest.raises(InputError, match=r"No threshold has a precision of 0\.9"):
        evaluate(rng.normal(size=100), rng.normal(size=1000), 0.2).threshold_for(precision=0.9)


# Invariances


def test_only_the_order_of_scores_counts(rng):
    ours, sample, _ = scores(rng)
    one = evaluate(ours, sample, 0.3, random_state=0)
    other = evaluate(rng.permutation(np.exp(ours)), np.exp(sample), 0.3, random_state=0)
    assert one.roc_auc == other.roc_auc
    assert one.average_precision == other.average_precision
    a, b = one.at(1.0), other.at(math.e)
    assert (a.recall, a.precision, a.n_above) == (b.recall, b.precision, b.n_above)


def test_the_seed_reproduces_it(rng):
    ours, sample, _ = scores(rng)
    one, two, three = (evaluate(ours, sample, 0.3, random_state=seed) for seed in (0, 0, 1))
    assert one.to_dict() == two.to_dict()
    assert one.roc_auc.interval != three.roc_auc.interval
    assert json.loads(json.dumps(one.to_dict(), allow_nan=False)) == one.to_dict()
    assert len(one.to_dict()["curve"]) == 200


def test_coarse_scores(rng):
    ours, sample, positive = scores(rng)
    found = evaluate(ours.round(), sample.round(), 0.3, random_state=0)
    assert len(found.curve()) < 12
    truth = roc_auc_score(positive, sample.round())
    assert found.roc_auc.value == pytest.approx(truth, abs=0.03)


# What cannot be


def test_positives_that_were_learned_from_are_noticed(rng):
    ours, sample, _ = scores(rng)
    assert evaluate(ours, sample, 0.3, random_state=0).caution == ""
    memorised = evaluate(ours + 3, sample, 0.3, random_state=0)
    assert "held out" in memorised.caution
    assert memorised.caution in str(memorised)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"prevalence": 0.0}, "the sample has no positives"),
        ({"prevalence": 1.0}, "nothing but positives"),
        ({"prevalence": 1.5}, "between 0 and 1"),
        ({"scores_positives": [1.0, 2.0]}, "2 scores of the positives"),
        ({"scores_sample": [[1.0]] * 20}, "one number a row"),
        ({"scores_sample": [math.nan] * 20}, "A score of the sample is missing"),
        ({"confidence": 1.0}, "between 0 and 1"),
    ],
)
def test_wrong_input_gets_one_sentence(rng, change, sentence):
    ours, sample, _ = scores(rng)
    given = {"scores_positives": ours, "scores_sample": sample, "prevalence": 0.3}
    with pytest.raises(InputError, match=sentence):
        evaluate(**{**given, **change})


def test_wrong_thresholds(rng):
    ours, sample, _ = scores(rng)
    found = evaluate(ours, sample, 0.3, random_state=0)
    with pytest.raises(InputError, match="Say which recall"):
        found.threshold_for()
    with pytest.raises(InputError, match="above 0"):
        found.threshold_for(recall=0.0)
    with pytest.raises(InputError, match="got nan"):
        found.at(math.nan)
    beyond, before = found.at(math.inf), found.at(-math.inf)
    assert (beyond.n_above, beyond.recall.value, beyond.precision.value) == (0, 0, 1)
    assert (before.recall.value, before.elusion.value) == (1, 0)
    assert before.precision.value == pytest.approx(0.3)


def test_it_is_drawn(rng):
    pytest.importorskip("matplotlib").use("agg")
    ours, sample, _ = scores(rng)
    found = poscount.evaluate(ours, sample, 0.3, random_state=0)
    ax = found.plot().ax_
    assert [line.get_label() for line in ax.get_lines()] == [
        *("recall", "precision", "false positive rate")
    ]
    assert "average precision" in found._repr_html_()
