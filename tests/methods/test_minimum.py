"""The smallest answer of several quantifiers."""

import numpy as np
import pandas as pd
import pytest

import poscount
from answers import assert_same_answer
from poscount import BBE, PAT, InputError, Interval, Minimum, ODIn


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    sample = rng.normal(size=(400, 3))
    sample[150:] += 2.5
    return rng.normal(size=(200, 3)), sample


def test_the_smallest_counts(data):
    positives, sample = data
    members = [PAT(random_state=1), ODIn(random_state=2), BBE(random_state=3)]
    alone = [member.fit(positives).quantify(sample) for member in members]
    p = Minimum(members, random_state=0).fit(positives).quantify(sample)
    # With a name and details of its own, and no interval, because one member has none.
    own = ("interval", "distribution", "details", "method", "warnings")
    assert_same_answer(p, min(alone), without=own)
    assert_same_answer(p.details["members"], alone)
    assert p.details["smallest"] == np.argmin(alone)
    assert (p.method, p.n_labeled, p.n_unlabeled) == ("Minimum", 200, 400)


def test_members_are_cloned_and_get_seeds_of_their_own(data):
    positives, sample = data
    unseeded = [BBE(), BBE()]
    model = Minimum(unseeded, random_state=0).fit(positives)
    seeds = [member.seed_ for member in model.quantifiers_]
    assert len(set(seeds)) == 2
    assert not any(hasattr(member, "positives_") for member in unseeded)
    again = Minimum([BBE(), BBE()], random_state=0).fit(positives)
    assert_same_answer(again.quantify(sample), model.quantify(sample))
    assert [member.seed_ for member in again.quantifiers_] == seeds


def test_interval_needs_one_from_every_member(data):
    positives, sample = data
    assert Minimum([PAT(), BBE()], random_state=0).fit(positives).quantify(sample).interval is None
    members = [PAT(confidence=0.9), ODIn(confidence=0.8)]
    p = Minimum(members, random_state=0).fit(positives).quantify(sample)
    intervals = [member.distribution.interval(0.8) for member in p.details["members"]]
    low, high = (min(getattr(i, end) for i in intervals) for end in ("low", "high"))
    assert p.interval == Interval(low, high, 0.8)
    assert p in p.interval


def test_warnings_are_those_of_all_members():
    rng = np.random.default_rng(0)
    positives = rng.normal(size=(300, 2))
    # Everything in the middle of the positives: PAT suspects overlap, whoever is smallest.
    crowded = rng.normal(size=(300, 2)) * 0.3
    p = Minimum([PAT(), PAT(), BBE()], random_state=0).fit(positives).quantify(crowded)
    assert p.details["smallest"] == 2
    assert "overlap" in {caution.code for caution in p.warnings}
    assert len(set(p.warnings)) == len(p.warnings)


def test_frames(data):
    positives, sample = (pd.DataFrame(rows, columns=list("abc")) for rows in data)
    model = Minimum([PAT(), BBE()], random_state=0)
    p = model.fit(positives.assign(key="x"), features=["a", "b", "c"]).quantify(
        sample[["c", "b", "a"]]
    )
    assert_same_answer(p, model.fit(data[0]).quantify(data[1]))
    model.fit(positives)
    by = model.quantify_by(sample.assign(night=np.arange(400) % 2), by="night")
    assert len(by) == 2
    assert by.prevalence.between(0.2, 0.6).all()
    with pytest.raises(InputError, match="'b'"):
        model.quantify(sample[["a", "c"]])


def test_words_gaps_and_dates(data):
    positives, sample = (
        pd.DataFrame(rows, columns=list("abc")).assign(
            word=np.where(np.arange(len(rows)) % 2, "one", "two"),
            day=pd.date_range("2026-01-01", periods=len(rows), freq="h"),
        )
        for rows in data
    )
    sample.loc[3, "a"] = np.nan
    features = ["a", "word", "day"]
    model = Minimum([PAT(random_state=0), BBE(random_state=0)], random_state=0)
    p = model.fit(positives, features=features).quantify(sample)
    for method, member in zip((PAT, BBE), p.details["members"], strict=True):
        alone = method(random_state=0).fit(positives, features=features)
        assert_same_answer(member, alone.quantify(sample))


def test_save_and_load(data, tmp_path):
    positives, sample = data
    model = Minimum([PAT(), BBE(), Minimum([ODIn()])], random_state=0).fit(positives)
    model.save(tmp_path / "model.poscount")
    loaded = poscount.load(tmp_path / "model.poscount")
    assert_same_answer(loaded.quantify(sample), model.quantify(sample))
    assert [type(member) for member in loaded.quantifiers] == [PAT, BBE, Minimum]


@pytest.mark.parametrize(
    ("members", "message"), [([], "empty"), (["pat"], "got 'pat' in it"), ("pat", "quantifiers")]
)
def test_wrong_members(members, message, data):
    with pytest.raises(ValueError, match=message):
        Minimum(members).fit(data[0])
