"""What is learned of columns in which the positives never vary."""

import numpy as np
import pandas as pd
import pytest

from poscount import PAT, RCQ, MultiRCQ
from poscount.data.constants import Constants, exceptions


def learned(*columns):
    return Constants.learn([np.array(column, float) for column in columns], [np.inf] * len(columns))


def use_of(table, name="flag"):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=len(table)), "flag": table})
    return PAT(random_state=0).fit(table, features=list(table.columns)).columns_[name].use


def test_columns_say_what_is_done():
    counted = "rows with another value are not counted as positives"
    assert use_of([1.0] * 60) == f"every positive has 1: {counted}"
    assert use_of(["yes"] * 60) == f"every positive has yes: {counted}"
    assert use_of([True] * 60) == f"every positive has true: {counted}"
    partly = "missing in 50 % of the positives, every other positive has"
    assert use_of([1.0, None] * 30) == f"{partly} 1: {counted}"
    assert use_of(["yes", None] * 30) == f"{partly} yes: {counted}"
    # Fewer than five positives have the word: it is rare, but it is the only one.
    assert use_of(["yes"] + [None] * 59).endswith(f"every other positive has yes: {counted}")
    missing = "missing in every positive: rows with a value are not counted as positives"
    assert use_of([np.nan] * 60) == missing
    assert use_of([None] * 60) == missing
    # The name of a word is no gap.
    assert use_of(["missing"] * 60) == f"every positive has missing: {counted}"


def test_columns_that_vary():
    assert use_of([1.0, 2.0] * 30) == "used as a number"
    # Each word is rare, and all of them are one category, but they are not one word.
    assert "every positive" not in use_of([f"word {i}" for i in range(60)])
    assert use_of(1.7e9 + np.arange(60.0)) == "used as a number"


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_numbers_beyond_float32_vary(size):
    assert learned(size * np.arange(1, 61)).places.size == 0


def test_rows_that_differ():
    constants = learned([0.1] * 60, np.arange(60), [np.nan] * 60, [0.0] * 60)
    assert constants.places.tolist() == [0, 2, 3]
    same = [
        [0.1, 7, np.nan, 0.0],
        [np.float32(0.1), 7, np.nan, -0.0],
        [np.nan, 7, np.nan, np.nan],
    ]
    other = [[0.1001, 7, np.nan, 0], [0.1, 7, 0.0, 0], [0.1, 7, np.nan, 1e-300], [1e308, 7, 1, -1]]
    assert not constants.differ(np.array(same)).any()
    assert constants.differ(np.array(other)).all()
    in_float32 = np.array(same, np.float32)
    assert not constants.differ(in_float32).any()
    # The other way round: the positives were float32.
    copied = learned([float(np.float32(0.1))] * 60)
    assert copied.differ(np.array([[0.1], [0.1000001]])).tolist() == [False, True]
    assert learned(np.arange(60)).differ(np.zeros((3, 1))) is None


def test_positives_that_are_the_only_exception():
    column = np.ones(6)
    column[4] = 3.0
    first = np.ones(6)
    first[0] = 0.0
    alone = np.full(6, np.nan)
    alone[2] = 5.0
    two = np.array([1.0, 2.0, 2.0, 1.0, 1.0, 1.0])
    different = [np.nan, 1.0, np.nan, np.nan, np.nan, 2.0]
    assert np.flatnonzero(exceptions([column])).tolist() == [4]
    assert np.flatnonzero(exceptions([first, alone])).tolist() == [0, 2]
    assert not exceptions([two, np.ones(6)]).any()
    assert np.flatnonzero(exceptions([np.array(different)])).tolist() == [1, 5]


def test_many_columns_that_are_constant_by_chance_are_no_evidence():
    """Rare remarks, one row in a hundred: most are in no positive, and most rows have one."""
    rng = np.random.default_rng(0)
    positives, sample = (
        np.column_stack([rng.normal(size=(n, 2)), rng.random((n, 100)) < 0.01]) for n in (60, 2000)
    )
    constant = np.ptp(positives, axis=0) == 0
    by_all = positives[0, constant]
    assert (sample[:, constant] != by_all).any(axis=1).mean() > 0.3
    columns = RCQ(random_state=0).fit(positives).columns_
    assert not columns.constants_.places.size
    names = np.array(columns.names_)[constant].tolist()
    assert {columns[name].use for name in names} == {"used as a number"}


def test_wide_and_sparse_tables_have_no_constants():
    rng = np.random.default_rng(0)
    wide = np.column_stack([rng.normal(size=(60, 300)), np.ones(60)])
    model = RCQ(random_state=0).fit(wide)
    assert hasattr(model, "projection_")
    assert model.columns_["x300"].use == "used as a number"
    targets = {"a": wide, "b": wide + rng.normal(size=wide.shape)}
    groups = MultiRCQ(random_state=0).fit(targets).groups_
    assert not any(part.columns_.constants_.places.size for part in groups.parts_)
