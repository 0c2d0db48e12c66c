import copy
import csv
import io
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import assert_same_answer, distribution_of
from poscount import Interval, Prevalence
from poscount.results.prevalence import (
    as_columns,
    prevalence_from_joint_prior,
    prevalence_from_label_frequency,
)
from poscount.results.verdict import AnswerWarning

shares = st.floats(0, 1)
sizes = st.integers(1, 10**9)


@pytest.fixture
def p():
    return Prevalence(
        0.3125,
        n_labeled=100,
        n_unlabeled=1600,
        method="PAT",
        distribution=distribution_of(0.25, 0.3125, 0.375),
        warnings=[AnswerWarning("wide-interval", "too few rows.", 0.5)],
        details={"curve": np.array([0.25, 0.5])},
    )


# Conversions


@given(shares, sizes, sizes)
def test_conversions_are_each_other_s_inverse(p, n_labeled, n_unlabeled):
    sizes = (n_labeled, n_unlabeled)
    # Dividing by the sample magnifies the rounding of what is divided.
    close = pytest.approx(p, rel=1e-9, abs=1e-14 * (n_labeled + n_unlabeled) / n_unlabeled)
    answer = Prevalence(p, n_labeled=n_labeled, n_unlabeled=n_unlabeled, method="any")
    assert prevalence_from_label_frequency(answer.label_frequency, *sizes) == close
    assert prevalence_from_joint_prior(answer.joint_prior, *sizes) == close


@given(shares, sizes, sizes)
def test_conversions_by_counting_people(p, n_labeled, n_unlabeled):
    positives = n_labeled + p * n_unlabeled
    answer = Prevalence(p, n_labeled=n_labeled, n_unlabeled=n_unlabeled, method="any")
    assert answer.label_frequency == pytest.approx(n_labeled / positives)
    assert answer.joint_prior == pytest.approx(positives / (n_labeled + n_unlabeled))


@given(st.floats(1e-6, 2), st.floats(-1, 2), sizes, sizes)
def test_conversions_stay_between_0_and_1(c, pi, n_labeled, n_unlabeled):
    assert 0 <= prevalence_from_label_frequency(c, n_labeled, n_unlabeled) <= 1
    assert 0 <= prevalence_from_joint_prior(pi, n_labeled, n_unlabeled) <= 1


def test_properties(p):
    assert p.count == 500
    assert p.label_frequency == 100 / 600
    assert p.joint_prior == 600 / 1700


# A number


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, np.float32(0.5), np.int64(1)])
def test_ends_and_numpy_numbers_are_legal(value):
    assert Prevalence(value, n_labeled=1, n_unlabeled=1, method="PAT") == value


@pytest.mark.parametrize("value", [-1e-9, 1 + 1e-9, float("nan"), float("inf")])
def test_anything_else_is_no_prevalence(value):
    with pytest.raises(ValueError, match="between 0 and 1"):
        Prevalence(value, n_labeled=1, n_unlabeled=1, method="PAT")


def test_is_a_number_everywhere(p):
    assert p == 0.3125
    assert hash(p) == hash(0.3125)
    assert type(p + 1) is float
    assert type(round(p, 2)) is float
    assert (str(p), f"{p}", f"{p:.2f}", "%.1f" % p, "%s" % p, format(p, ".0%")) == (  # noqa: UP031
        "0.3125",
        "0.3125",
        "0.31",
        "0.3",
        "0.3125",
        "31%",
    )


def test_json(p):
    assert json.dumps({"p": p}) == '{"p": 0.3125}'
    assert json.dumps([p], indent=1) == "[\n 0.3125\n]"


def test_csv(p):
    file = io.StringIO()
    csv.writer(file).writerow([p])
    assert file.getvalue().strip() == "0.3125"


@pytest.mark.parametrize(
    "container",
    [
        lambda p: np.array([p]),
        lambda p: np.asarray(p).reshape(1),
        lambda p: pd.Series([p]).to_numpy(),
        lambda p: pd.DataFrame([{"p": p, "q": 1}])["p"].to_numpy(),
        lambda p: pl.Series([p]).to_numpy(),
        lambda p: pl.DataFrame([{"p": p}])["p"].to_numpy(),
        lambda p: pa.array([p]).to_numpy(),
        lambda p: pa.table({"p": [p]})["p"].to_numpy(),
    ],
)
def test_becomes_a_column_of_floats(p, container):
    column = container(p)
    assert column.dtype == np.float64
    assert column.tolist() == [0.3125]


def test_csv_through_pandas(p):
    assert pd.DataFrame({"p": [p]}).to_csv(index=False) == "p\n0.3125\n"


COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy} | {
    f"pickle {i}": lambda p, i=i: pickle.loads(pickle.dumps(p, i))
    for i in range(pickle.HIGHEST_PROTOCOL + 1)
}


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_keeps_everything(p, how):
    other = COPIES[how](p)
    assert type(other) is Prevalence
    assert_same_answer(other, p)
    assert repr(other) == repr(p)
    for name in ("n_labeled", "n_unlabeled", "method", "interval", "warnings"):
        assert getattr(other, name) == getattr(p, name)
    assert other.details["curve"].tolist() == [0.25, 0.5]
    assert other.to_dict() == p.to_dict()


def test_deepcopy_shares_nothing_that_can_change(p):
    other = copy.deepcopy(p)
    other.details["curve"][0] = 9
    assert p.details["curve"][0] == 0.25


# What it says


def test_repr_tells_more(p):
    assert repr(p) == (
        "Prevalence(0.312, 95% interval [0.250, 0.375], n=1600, PAT, warnings: wide-interval)"
    )


@pytest.mark.parametrize(("level", "text"), [(0.95, "95%"), (0.999, "99.9%"), (0.8, "80%")])
def test_repr_of_levels(level, text):
    p = Prevalence(
        0.5,
        n_labeled=1,
        n_unlabeled=1,
        method="PAT",
        distribution=distribution_of(0.1, 0.5, 0.9, level),
        level=level,
    )
    assert f" {text} interval" in repr(p)


def test_to_dict_survives_json(p):
    told = json.loads(json.dumps(p.to_dict()))
    assert told["prevalence"] == 0.3125
    assert told["interval"] == {"low": 0.25, "high": 0.375, "level": 0.95}
    (caution,) = told["warnings"]
    assert (caution["code"], caution["sentence"]) == ("wide-interval", "too few rows.")
    assert (caution["value"], caution["severity"]) == (0.5, "note")
    assert told["count"] == 500


def test_to_dict_without_interval():
    p = Prevalence(0.5, n_labeled=1, n_unlabeled=1, method="PAT")
    assert p.to_dict()["interval"] is None
    assert p.warnings == ()


def test_numpy_counts_do_not_break_json():
    p = Prevalence(np.float64(0.5), n_labeled=np.int64(3), n_unlabeled=np.int32(4), method="PAT")
    assert json.loads(json.dumps(p.to_dict()))["n_unlabeled"] == 4


def test_interval_holds_its_ends():
    interval = Interval(0.25, 0.375, 0.95)
    assert 0.25 in interval
    assert 0.375 in interval
    assert 0.376 not in interval
    assert interval.width == 0.125


def test_columns_of_a_table(p):
    bare = Prevalence(0.5, n_labeled=1, n_unlabeled=4, method="EN")
    columns = as_columns([p, bare])
    assert columns["prevalence"] == [0.3125, 0.5]
    assert (columns["low"][0], columns["high"][0]) == (0.25, 0.375)
    assert np.isnan([columns["low"][1], columns["high"][1]]).all()
    assert (columns["count"], columns["n"]) == ([500, 2], [1600, 4])
    assert columns["warnings"] == ["wide-interval", ""]
