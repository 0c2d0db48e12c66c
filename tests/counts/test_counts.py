import functools
import itertools
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import assert_same_answer
from poscount import PAT, Counts, ODIn

cells = st.lists(st.integers(0, 10**6), min_size=3, max_size=3).map(np.array)


def counts(cells, model="m"):
    return Counts(np.array(cells, dtype=np.int64), int(np.sum(cells)), model)


@given(st.lists(cells, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_sum_does_not_depend_on_the_order(parts, random):
    shuffled = random.sample(parts, len(parts))
    whole = sum(counts(part) for part in parts)
    assert whole == sum(counts(part) for part in shuffled)
    assert whole.cells.tolist() == np.sum(parts, axis=0).tolist()
    assert whole.n == np.sum(parts)


@given(cells, cells)
def test_minus_undoes_plus(a, b):
    assert counts(a) + counts(b) - counts(b) == counts(a)


def test_minus_refuses_what_was_not_part():
    with pytest.raises(ValueError, match="not part of the first"):
        counts([5, 5, 5]) - counts([0, 6, 0])


@pytest.mark.parametrize("combine", [operator.add, operator.sub])
def test_other_model_is_refused(combine):
    with pytest.raises(ValueError, match="different models"):
        combine(counts([1, 2], "one"), counts([1, 2], "two"))


@pytest.mark.parametrize("other", [1, 1.5, "m", None, np.array([1, 2])])
@pytest.mark.parametrize("combine", [operator.add, operator.sub])
def test_only_counts_can_be_combined(combine, other):
    with pytest.raises(TypeError):
        combine(counts([1, 2]), other)


def test_equality_looks_at_everything():
    a = counts([1, 2])
    assert a == counts([1, 2])
    assert a != counts([2, 1])
    assert a != counts([1, 2], "other")
    assert a != Counts(a.cells, 4, "m")
    assert a != "counts"


def test_operands_stay_as_they_were():
    a, b = counts([1, 2]), counts([3, 4])
    a + b, b - a
    assert (a.cells.tolist(), b.cells.tolist()) == ([1, 2], [3, 4])


# Together with a model


@pytest.mark.parametrize("kind", [PAT, ODIn])
def test_batches_in_any_order_give_the_answer_of_the_whole(kind, positives, sample):
    model = kind(random_state=0).fit(positives)
    whole = model.quantify(sample)
    batches = [model.count(batch) for batch in np.split(sample, [1, 150, 150, 390])]
    for order in itertools.permutations(batches):
        merged = functools.reduce(operator.add, order)
        assert merged == model.count(sample)
        answer = model.estimate(merged)
        assert_same_answer(answer, whole)
        assert answer.to_dict() == whole.to_dict()


def test_a_window_slides(pat, sample):
    seen = pat.count(sample[:300])
    window = seen + pat.count(sample[300:]) - pat.count(sample[:100])
    assert pat.estimate(window).to_dict() == pat.quantify(sample[100:]).to_dict()


def test_an_empty_batch_counts_nothing(pat, sample):
    nothing = pat.count(sample[:0])
    assert (nothing.n, nothing.cells.sum()) == (0, 0)
    assert nothing + pat.count(sample) == pat.count(sample)
    with pytest.raises(ValueError, match="no rows"):
        pat.estimate(nothing)


@pytest.mark.parametrize(
    "other",
    [
        lambda positives: PAT(random_state=1).fit(positives),
        lambda positives: PAT(random_state=0).fit(positives[1:]),
        lambda positives: PAT(q=0.5, random_state=0).fit(positives),
        lambda positives: ODIn(random_state=0).fit(positives),
        lambda positives: PAT(random_state=0).fit(positives * 2),
    ],
)
def test_counts_of_another_model_are_refused(pat, positives, sample, other):
    foreign = other(positives).count(sample)
    with pytest.raises(ValueError, match="another model"):
        pat.estimate(foreign)
    with pytest.raises(ValueError, match="different models"):
        pat.count(sample) + foreign


def test_names_of_features_belong_to_the_model(make_frame, positives, sample):
    swapped = dict(zip("bac", positives.T, strict=True))
    one = PAT(random_state=0).fit(make_frame(positives))
    two = PAT(random_state=0).fit(make_frame(swapped))
    with pytest.raises(ValueError, match="another model"):
        one.estimate(two.count(make_frame(sample)))


def test_same_fit_means_same_model(pat, positives, sample):
    again = PAT(random_state=0, n_jobs=2).fit(positives)
    assert again.hash_ == pat.hash_
    assert_same_answer(again.estimate(pat.count(sample)), pat.quantify(sample))
    assert PAT(random_state=0, confidence=0.8).fit(positives).hash_ != pat.hash_


# Files


def test_file_round_trip(pat, sample, tmp_path):
    counts = pat.count(sample)
    counts.save(tmp_path / "part.counts")
    assert Counts.load(tmp_path / "part.counts") == counts
    assert_same_answer(
        pat.estimate(Counts.load(str(tmp_path / "part.counts"))), pat.quantify(sample)
    )


def test_counts_of_no_rows_can_be_saved(pat, sample, tmp_path):
    nothing = pat.count(sample[:0])
    nothing.save(tmp_path / "part.counts")
    assert Counts.load(tmp_path / "part.counts") == nothing
