"""`poscount.split`: one table with a column that says what is known of its rows."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import assert_same_answer
from poscount import RCQ, InputError, LabelSplit, MultiRCQ, RCQWithNegatives, split


def columns(frame):
    return (
        pa.table(frame)
        if isinstance(frame, pa.Table)
        else pa.Table.from_pydict({name: list(frame[name]) for name in frame.columns})
    )


def rows_of(frame):
    return columns(frame)["row"].to_pylist()


def table(labels, make=pd.DataFrame):
    return make({"row": list(range(len(labels))), "known": labels})


HABITS = {
    "1 and empty": ([1, None, 1, None], [0, 2]),
    "1.0 and NaN": ([1.0, np.nan, 1.0, np.nan], [0, 2]),
    "text 1 and blanks": (["1", "", " 1", "  "], [0, 2]),
    "yes and unknown": (["yes", "unknown", "Yes ", "Unknown"], [0, 2]),
    "TRUE and NA": (["TRUE", "NA", "true", "n/a"], [0, 2]),
    "true and null": ([True, None, True, None], [0, 2]),
    "a name and question marks": (["Aedes", "?", "Aedes", "-"], [0, 2]),
    "a class that looks like a bound": ([">50K", None, ">50K", ""], [0, 2]),
    "two and missing": ([2, None, 2, None], [0, 2]),
}


@pytest.mark.parametrize("name", HABITS)
def test_one_label_and_no_label(name):
    labels, expected = HABITS[name]
    positives, unlabeled = split(table(labels), "known")
    assert rows_of(positives) == expected
    assert rows_of(unlabeled) == [row for row in range(len(labels)) if row not in expected]
    assert list(positives.columns) == list(unlabeled.columns) == ["row"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_of_all_kinds(make):
    parts = split(table(["yes", None, "no", "yes"], make), "known", positive="yes", negative="no")
    assert isinstance(parts, LabelSplit)
    assert [rows_of(each) for each in (parts.positives, parts.unlabeled, parts.negatives)] == [
        [0, 3],
        [1],
        [2],
    ]
    assert type(parts.positives) is type(make({"a": [1]}))
    assert parts.targets == ()


@pytest.mark.parametrize(
    ("labels", "positive", "negative"),
    [
        ([1, 0, 0, 1], "1", "0"),
        (["yes", "no", "no", "yes"], "yes", "no"),
        ([1, -1, -1, 1], "1", "-1"),
        ([True, False, False, True], "True", "False"),
        (["yes", "no", None, "yes"], "yes", "no"),
    ],
)
def test_what_may_be_no_or_not_known_is_asked(labels, positive, negative):
    with pytest.raises(InputError) as caught:
        split(table(labels), "known")
    assert f"{negative!r}" in str(caught.value)
    assert str(caught.value).endswith(
        f"Set positive={positive!r} or positive={positive!r}, negative={negative!r}."
    )
    assert rows_of(split(table(labels), "known", positive=labels[0]).positives) == [0, 3]
    by_text = split(table(labels), "known", positive=positive)
    assert rows_of(by_text.unlabeled) == [1, 2]
    assert by_text.negatives is None


def test_negatives_are_not_dropped_when_two_values_are_unpacked():
    parts = split(table(["yes", "no", None]), "known", positive="yes", negative="no")
    with pytest.raises(InputError, match="negatives"):
        _, _ = parts


def test_several_classes_are_targets():
    parts = split(table(["b", "a", None, "b", "unknown"]), "known")
    assert parts.targets == ("a", "b")
    assert {name: rows_of(frame) for name, frame in parts.positives.items()} == {
        "a": [1],
        "b": [0, 3],
    }
    one = split(table(["b", "a", None, "b"]), "known", positive="b")
    assert (rows_of(one.positives), rows_of(one.unlabeled)) == ([0, 3], [1, 2])
    kinds = split(table(["b", "a", None, "c"]), "known", positive="b", negative=["c", "a"])
    assert {name: rows_of(frame) for name, frame in kinds.negatives.items()} == {"c": [3], "a": [1]}


@pytest.mark.parametrize(
    ("labels", "options", "sentence"),
    [
        (["a", "a"], {}, "every row has a label ('a' (2 rows)), so there is none to be counted"),
        (["a", "b"], {}, "every row has a label ('a' (1 rows), 'b' (1 rows)); name the positive"),
        (["no", None], {}, "no row has the label of a positive; there are 'no' (1 rows)."),
        ([None, None], {}, "no row has the label of a positive; there are none."),
        (["a", None], {"positive": "b"}, "no row has the label 'b'; there are 'a' (1 rows)."),
        (["a", None], {"positive": "a", "negative": "a"}, "cannot mean both"),
        ([*range(60), None], {"negative": 0}, "59 different labels; say which one"),
    ],
)
def test_what_cannot_be_used(labels, options, sentence):
    with pytest.raises(InputError) as caught:
        split(table(labels), "known", **options)
    assert sentence in str(caught.value)
    assert caught.value.column == "known"


def test_a_label_column_that_is_not_there():
    with pytest.raises(InputError, match="did you mean 'known'"):
        split(table(["a", None]), "Known")


LABELS = st.lists(
    st.sampled_from(["yes", "no", "maybe", None, "", "unknown"]), min_size=1, max_size=30
)


@given(LABELS)
def test_every_row_is_in_one_part(labels):
    """Nothing is dropped and nothing counted twice, whatever is named."""
    labels = ["yes", "no", "unknown", *labels]
    parts = split(table(labels), "known", positive="yes", negative="no")
    of_parts = [rows_of(part) for part in (parts.positives, parts.unlabeled, parts.negatives)]
    assert sorted(row for part in of_parts for row in part) == list(range(len(labels)))
    assert [labels[row] for row in of_parts[0]] == ["yes"] * len(of_parts[0])
    assert [labels[row] for row in of_parts[2]] == ["no"] * len(of_parts[2])


def around(rng, centre, n):
    return pd.DataFrame(rng.normal(size=(n, 3)) + centre, columns=list("abc"))


def test_the_parts_go_into_models():
    rng = np.random.default_rng(0)
    known, more, other = around(rng, 0, 60), around(rng, 4, 60), around(rng, 0, 200)
    rows = pd.concat(
        [known.assign(k="yes"), more.assign(k="no"), other.assign(k=None)], ignore_index=True
    )
    shuffled = rows.sample(frac=1, random_state=0)
    parts = split(shuffled, "k", positive="yes", negative="no")
    model = RCQWithNegatives(random_state=0).fit(parts.positives, negatives=parts.negatives)
    same = RCQWithNegatives(random_state=0).fit(known, negatives=more)
    assert_same_answer(model.quantify(parts.unlabeled), same.quantify(other))
    positives, unlabeled = split(shuffled.replace({"k": {"no": None}}), "k")
    found = RCQ(random_state=0).fit(positives, unlabeled=unlabeled).quantify(unlabeled)
    assert found.n_labeled == 60
    assert found.n_unlabeled == 260
    targets = split(shuffled, "k", positive=["yes", "no"])
    found = MultiRCQ(random_state=0).fit(targets.positives).quantify(targets.unlabeled)
    assert set(found) == {"yes", "no", "other"}
