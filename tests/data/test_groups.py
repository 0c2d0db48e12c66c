from datetime import date, datetime, timedelta

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from answers import assert_same_answer
from poscount import PAT, InputError, ODIn
from poscount.counts.counts import GroupedCounts

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


def columns(rows):
    return dict(zip("abc", rows.T, strict=True))


def told(frame):
    """A frame of any kind as a list of dicts."""
    return nw.from_native(frame, eager_only=True).rows(named=True)


@pytest.fixture(params=[PAT, ODIn])
def model(request, make_frame, positives):
    return request.param(random_state=0).fit(make_frame(positives))


@pytest.fixture
def nights(sample):
    return np.random.default_rng(5).choice(["tue", "mon", "wed"], len(sample), p=[0.5, 0.4, 0.1])


def test_groups_equal_single_answers(model, make_frame, sample, nights):
    result = model.quantify_by(make_frame({**columns(sample), "night": nights}), by="night")
    assert type(result) is type(make_frame(sample))
    assert [row["night"] for row in told(result)] == ["mon", "tue", "wed"]
    for row in told(result):
        alone = model.quantify(make_frame(sample[nights == row["night"]]))
        names = ["night", "prevalence", "low", "high", "count", "n", "verdict", "warnings"]
        assert list(row) == names
        assert row["verdict"] == alone.verdict.status
        assert row["prevalence"] == alone
        assert (row["low"], row["high"]) == (alone.interval.low, alone.interval.high)
        assert (row["count"], row["n"]) == (alone.count, alone.n_unlabeled)
        assert row["warnings"].split() == [caution.code for caution in alone.warnings]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_groups_across_blocks(model, make_frame, sample, nights, n_jobs):
    frame = make_frame({**columns(sample), "night": nights})
    model.set_params(n_jobs=n_jobs)
    for (night,), answer in model.quantify_groups(frame, ["night"]).items():
        alone = model.quantify(make_frame(sample[nights == night]))
        assert answer.to_dict() == alone.to_dict()


KEYS = {
    "int": lambda i: int(i),
    "negative": lambda i: -int(i),
    "text": lambda i: f"n {i:03}",
    "date": lambda i: date(2026, 1, 1) + timedelta(days=int(i)),
    "bool": lambda i: bool(i % 2),
    "float": lambda i: i / 4,
}


@pytest.mark.parametrize("kind", KEYS)
def test_kinds_of_keys(kind, make_frame, positives, sample):
    keys = [KEYS[kind](i) for i in np.random.default_rng(0).integers(0, 12, len(sample))]
    model = PAT(random_state=0).fit(make_frame(positives))
    answers = model.quantify_groups(make_frame({**columns(sample), "key": keys}), "key")
    assert [key for (key,) in answers] == sorted(set(keys))
    for (key,), answer in answers.items():
        chosen = np.array([k == key for k in keys])
        assert answer.to_dict() == model.quantify(make_frame(sample[chosen])).to_dict()


MISSING = {
    "text": ["mon", None, "tue"],
    "number": [2.5, None, 7.0],
    "whole": [2, None, 7],
    "date": [date(2026, 1, 1), None, date(2026, 1, 2)],
    "answer": [False, None, True],
}


@pytest.mark.parametrize("kind", MISSING)
def test_a_missing_value_is_a_group_of_its_own(kind, model, make_frame, sample):
    at = np.random.default_rng(1).integers(0, 3, len(sample))
    keys = [MISSING[kind][i] for i in at]
    frame = make_frame({**columns(sample), "key": keys})
    answers = model.quantify_groups(frame, "key")
    first, _, second = MISSING[kind]
    assert list(answers) == [(first,), (second,), (None,)]
    for (key,), answer in answers.items():
        chosen = at == MISSING[kind].index(key)
        assert answer.to_dict() == model.quantify(make_frame(sample[chosen])).to_dict()
    counts = model.count_by(frame, "key")
    assert counts.keys == list(answers)
    halves = [model.count_by(frame_part, "key") for frame_part in (frame[:100], frame[100:])]
    assert (halves[1] + halves[0]).in_order() == counts
    table = told(model.quantify_by(frame, "key"))
    assert [row["n"] for row in table] == counts.n.tolist()
    assert len(table) == 3


def test_missing_values_of_two_keys(make_frame, positives, sample):
    model = PAT(random_state=0).fit(make_frame(positives))
    rng = np.random.default_rng(1)
    nights = [["mon", None][i] for i in rng.integers(0, 2, len(sample))]
    sizes = [[1.5, None, 2.5][i] for i in rng.integers(0, 3, len(sample))]
    frame = make_frame({**columns(sample), "night": nights, "size": sizes})
    expected = [(night, size) for night in ("mon", None) for size in (1.5, 2.5, None)]
    assert model.count_by(frame, ["night", "size"]).keys == expected


def test_two_keys(make_frame, positives, sample, nights):
    model = PAT(random_state=0).fit(make_frame(positives))
    traps = np.arange(len(sample)) % 2
    frame = make_frame({"trap": traps, **columns(sample), "night": nights})
    answers = model.quantify_groups(frame, by=["night", "trap"])
    assert list(answers) == [(n, t) for n in ("mon", "tue", "wed") for t in (0, 1)]
    for (night, trap), answer in answers.items():
        chosen = (nights == night) & (traps == trap)
        assert_same_answer(answer, model.quantify(make_frame(sample[chosen])))


def test_a_feature_as_key(make_frame, positives, sample):
    model = PAT(random_state=0).fit(make_frame(positives))
    frame = make_frame(sample[:5])
    for call in (model.quantify_by, model.quantify_groups, model.count_by):
        with pytest.raises(
            ValueError, match="column 'a': rows cannot be grouped by a fea"
        ) as error:
            call(frame, "a")
        assert str(error.value).endswith("Fit the model again without it. Set features=['b', 'c'].")
    # A period of a feature is no better: rows of one year have neighbouring days.
    dated = {"a": [datetime(2026, 1 + i % 9, 1 + i % 27) for i in range(len(positives))]}
    dated = pd.DataFrame({**dated, "b": positives[:, 1]})
    model = PAT(random_state=0).fit(dated, features=["a", "b"])
    with pytest.raises(ValueError, match="column 'a': rows cannot be grouped"):
        model.quantify_by(dated, "month(a)")


@pytest.mark.parametrize("index", [[7] * 400, range(400, 0, -1), [f"r{i}" for i in range(400)]])
def test_the_index_of_a_pandas_frame_does_not_matter(index, positives, sample, nights):
    model = PAT(random_state=0).fit(pd.DataFrame(columns(positives)))
    frame = pd.DataFrame({**columns(sample), "night": nights})
    expected = model.quantify_by(frame, "night")
    pd.testing.assert_frame_equal(
        model.quantify_by(frame.set_index([list(index)]), "night"), expected
    )


def test_categories(positives, sample, nights):
    model = PAT(random_state=0).fit(pd.DataFrame(columns(positives)))
    frame = pd.DataFrame({**columns(sample), "night": nights})
    expected = model.quantify_by(frame, "night")
    frame["night"] = pd.Categorical(nights, ["mon", "tue", "wed", "thu"])
    result = model.quantify_by(frame, "night")
    assert result.drop(columns="night").equals(expected.drop(columns="night"))


def test_dictionaries_of_arrow(positives, sample, nights):
    model = PAT(random_state=0).fit(pa.table(columns(positives)))
    plain = pa.table({**columns(sample), "night": nights})
    words = ["wed", "thu", "tue", "mon"]  # not in order, and one that no row has
    codes = [words.index(night) for night in nights]
    encoded = pa.DictionaryArray.from_arrays(pa.array(codes), words)
    frame = plain.set_column(3, "night", encoded)
    assert model.count_by(frame, "night") == model.count_by(plain, "night")


# Many groups


# Counts of groups


def test_grouped_counts_add_up_in_any_order(model, make_frame, sample, nights):
    frames = [
        make_frame({**columns(sample[part]), "night": nights[part]})
        for part in (slice(0, 3), slice(3, 100), slice(100, 100), slice(100, 400))
    ]
    whole = model.count_by(make_frame({**columns(sample), "night": nights}), "night")
    expected = {key: (counts, counts.n) for key, counts in whole.items()}
    parts = [model.count_by(frame, "night") for frame in frames]
    for order in ((0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)):
        first, *rest = (parts[i] for i in order)
        merged = sum(rest, start=first)
        assert {key: (counts, counts.n) for key, counts in merged.items()} == expected
        answers = dict(zip(merged.keys, model.estimate_by(merged), strict=True))
        assert_same_answer(answers, dict(zip(whole.keys, model.estimate_by(whole), strict=True)))
    assert len(parts[2]) == 0
    assert model.estimate_by(parts[2]) == []


def test_grouped_counts_are_those_of_the_groups(model, make_frame, sample, nights):
    grouped = model.count_by(make_frame({**columns(sample), "night": nights}), "night")
    for (night,), counts in grouped.items():
        assert counts == model.count(make_frame(sample[nights == night]))


def test_grouped_counts_of_others_are_refused(make_frame, positives, sample, nights):
    one, two = (PAT(random_state=seed).fit(make_frame(positives)) for seed in (0, 1))
    frame = make_frame({**columns(sample), "night": nights, "trap": nights})
    with pytest.raises(ValueError, match="different models or groupings"):
        one.count_by(frame, "night") + two.count_by(frame, "night")
    with pytest.raises(ValueError, match="different models or groupings"):
        one.count_by(frame, "night") + one.count_by(frame, "trap")
    with pytest.raises(ValueError, match="another model"):
        one.estimate_by(two.count_by(frame, "night"))
    with pytest.raises(TypeError):
        one.count_by(frame, "night") + one.count(frame)


# Mistakes


def test_no_such_column(model, make_frame, sample):
    with pytest.raises(InputError, match=r"column 'night'.*a, b, c"):
        model.quantify_by(make_frame(sample), "night")


@pytest.mark.parametrize("name", ["prevalence", "low", "n"])
def test_names_of_the_result_are_taken(model, make_frame, sample, name):
    frame = make_frame({**columns(sample), name: np.zeros(len(sample))})
    with pytest.raises(InputError, match="rename") as caught:
        model.quantify_by(frame, name)
    assert caught.value.column == name


def test_frame_without_rows(model, make_frame):
    frame = make_frame({**columns(np.empty((0, 3))), "night": np.empty(0)})
    with pytest.raises(InputError, match="no rows"):
        model.quantify_by(frame, "night")


def test_arrays_have_no_groups(model, sample):
    with pytest.raises(TypeError, match="frame"):
        model.quantify_by(sample, "night")


def test_no_columns_to_group_by(model, make_frame, sample):
    with pytest.raises(ValueError, match="at least one column"):
        model.quantify_by(make_frame(sample), [])


def test_equality_of_grouped_counts_looks_at_everything():
    def counts(**other):
        parts = {
            "by": ("night",),
            "keys": [("mon",)],
            "cells": np.array([[3, 1]]),
            "n": np.array([4]),
            "model": "m",
        }
        return GroupedCounts(**{**parts, **other})

    assert counts() == counts()
    assert counts() != counts(by=("day",))
    assert counts() != counts(keys=[("tue",)])
    assert counts() != counts(cells=np.array([[1, 3]]))
    assert counts() != counts(n=np.array([5]))
    assert counts() != counts(model="other")


def test_the_total_of_one_part_is_that_part():
    part = GroupedCounts(("night",), [("mon",)], np.array([[3, 1]]), np.array([4]), "m")
    assert GroupedCounts.total([part]) == part


def test_a_series_makes_groups(model, make_frame, sample, nights):
    frame = make_frame(columns(sample))
    named = make_frame({**columns(sample), "night": nights})
    column = named["night"]
    # A column of pyarrow has no name.
    name = "group" if isinstance(frame, pa.Table) else "night"
    for one, other in zip(
        told(model.quantify_by(frame, column)), told(model.quantify_by(named, "night")), strict=True
    ):
        assert one == {name: other.pop("night")} | other
    series = pd.Series(nights, index=np.arange(len(nights))[::-1])
    answers = model.quantify_groups(frame, series)
    assert answers.by == ("group",)
    assert [float(p) for p in answers.values()] == [
        float(p) for p in model.quantify_groups(named, "night").values()
    ]
    with pytest.raises(InputError, match=r"The groups are 3 values for \d+ rows"):
        model.quantify_by(frame, series[:3])
