"""One number in many rows of the sample, where the positives hardly have any number twice."""

import numpy as np
import pandas as pd
import pytest

from answers import assert_same_answer
from poscount import PAT, RCQ
from poscount.app.data_files import DataFiles
from poscount.app.estimates import quantify
from poscount.data.repeated_values import RepeatedValues, fine_columns

NAMES = ["length", "width", "count"]


def table(rng, n, location=0.0):
    return pd.DataFrame(
        {
            "length": rng.normal(location, 1, n),
            "width": rng.normal(20 + location, 3, n),
            "count": rng.integers(0, 5, n).astype(float),
        }
    )


@pytest.fixture(scope="module")
def positives():
    return table(np.random.default_rng(0), 300)


@pytest.fixture
def sample():
    rng = np.random.default_rng(1)
    return pd.concat([table(rng, 500), table(rng, 500, 3.0)], ignore_index=True)


def warning(answer):
    return next((each for each in answer.warnings if each.code == "repeated-number"), None)


@pytest.mark.parametrize("method", [RCQ(random_state=0), PAT(random_state=0)], ids=["RCQ", "PAT"])
def test_gaps_that_were_filled_with_the_mean(method, positives, sample):
    model = method.fit(positives)
    assert warning(model.quantify(sample)) is None
    lost = np.random.default_rng(2).random(len(sample)) < 0.2
    sample.loc[lost, "width"] = sample["width"].mean()
    answer = model.quantify(sample)
    found = warning(answer)
    assert found.severity == "check"
    assert f"In column width, {100 * lost.mean():.0f} % of the rows have one and" in str(found)
    assert "column width repeats one number" in str(answer.verdict)
    assert_same_answer(answer, model.quantify(sample.sample(frac=1, random_state=3)))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda width: width.clip(15, 22),
        lambda width: width.round(-1),
        lambda width: width.where(np.arange(len(width)) % 10 > 0, -999.0),
    ],
    ids=["cut off", "rounded", "a code"],
)
def test_what_else_repeats_numbers(positives, sample, spoil):
    model = PAT(random_state=0).fit(positives)
    assert warning(model.quantify(sample.assign(width=spoil(sample["width"])))) is not None


def test_what_is_no_reason(positives, sample):
    """Zeros, gaps, a few rows, and columns in which the positives repeat numbers, too."""
    model = PAT(random_state=0).fit(positives)
    tenth = np.arange(len(sample)) % 10 == 0
    for values in (0.0, -0.0, np.nan):
        assert (
            warning(model.quantify(sample.assign(width=sample["width"].mask(tenth, values))))
            is None
        )
    assert warning(model.quantify(sample.assign(count=3.0))) is None
    few = sample.iloc[480:520].copy()
    few.iloc[:7, 0] = 1.5
    assert warning(model.quantify(few)) is None
    few.iloc[:8, 0] = 1.5
    assert warning(model.quantify(few)) is not None


def test_files_say_it_of_all_rows(positives, sample, tmp_path):
    model = RCQ(random_state=0).fit(positives)
    sample.loc[::5, "length"] = 0.75
    sample["site"] = np.arange(len(sample)) % 2
    for name, part in (("a", sample.iloc[:700]), ("b", sample.iloc[700:])):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    files = DataFiles([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    total, *groups = quantify(model, files, by=["site"])
    assert "20 % of the rows" in str(warning(total.prevalence))
    assert [warning(each.prevalence) for each in groups] == [None, None]
    in_memory = model.quantify_groups(sample, "site")
    assert_same_answer(in_memory.total, total.prevalence)
    assert [warning(each) for each in in_memory.values()] == [None, None]


def test_buckets_count_as_a_plain_count_does():
    rng = np.random.default_rng(4)
    rows = np.column_stack([rng.normal(size=5000), rng.normal(size=5000).round(1)])
    rows[rng.random(5000) < 0.3, 0] = 2.5
    whole, parts = (RepeatedValues(np.array([0, 1])) for _ in range(2))
    whole.add(rows)
    for part in np.array_split(rows[::-1], 7):
        parts.add(part)
    assert np.array_equal(whole.most, parts.most)
    exact = [np.unique(column[column != 0], return_counts=True)[1].max() for column in rows.T]
    assert (whole.most >= exact).all()
    assert (whole.most <= np.array(exact) + 0.02 * len(rows)).all()


def test_columns_that_are_fine():
    rng = np.random.default_rng(5)
    rows = np.column_stack(
        [
            rng.normal(size=200),
            rng.integers(0, 30, 200),  # few distinct numbers
            np.where(np.arange(200) < 8, 1.0, rng.normal(size=200)),  # one number in 4 %
            np.where(np.arange(200) < 90, np.nan, rng.normal(size=200)),
            np.where(np.arange(200) < 110, np.nan, rng.normal(size=200)),
            rng.normal(size=200),  # words, say
        ]
    )
    assert fine_columns(rows, np.arange(5)).tolist() == [0, 3]
