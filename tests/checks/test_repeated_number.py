"""One number in many rows of the sample, which hardly a positive has."""

import numpy as np
import pandas as pd
import pytest

from answers import assert_same_answer
from poscount import PAT, RCQ
from poscount.app.data_files import DataFiles
from poscount.app.estimates import quantify
from poscount.data.repeated_values import RepeatedValues, learn_repetition

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


def test_numbers_that_were_rounded(positives, sample):
    model = PAT(random_state=0).fit(positives)
    assert warning(model.quantify(sample.assign(width=sample["width"].round(-1)))) is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda width, fifth: width.mask(fifth, 0.0),
        lambda width, fifth: width.mask(fifth, -0.0),
        lambda width, fifth: width.mask(fifth, np.nan),
        lambda width, fifth: width.mask(fifth, -999.0),
        lambda width, fifth: width.clip(15, 22),
        lambda width, fifth: width.mask(fifth, 20.5),
    ],
    ids=["zeros", "zeros below", "gaps", "a smallest number", "both ends", "one of theirs"],
)
def test_what_clean_tables_have_too(positives, sample, change):
    positives = positives.copy()
    positives.loc[:3, "width"] = 20.5
    model = PAT(random_state=0).fit(positives)
    fifth = np.arange(len(sample)) % 5 == 0
    assert warning(model.quantify(sample.assign(width=change(sample["width"], fifth)))) is None
    other = sample.assign(width=sample["width"].mask(fifth, 20.75))
    assert warning(model.quantify(other)) is not None


def test_what_says_too_little(positives, sample):
    """A few rows, and a column in which the positives repeat numbers, too."""
    model = PAT(random_state=0).fit(positives)
    assert warning(model.quantify(sample.assign(count=2.0))) is None
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
    ours = rng.normal(size=(200, 2))
    rows = np.column_stack([rng.normal(size=5000), rng.normal(size=5000).round(1)])
    rows[rng.random(5000) < 0.3, 0] = 2.5
    whole, parts = (RepeatedValues(*learn_repetition(ours, np.arange(2))) for _ in range(2))
    whole.add(rows)
    for part in np.array_split(rows[::-1], 7):
        parts.add(part)
    assert np.array_equal(whole.most, parts.most)
    inner = [column[(column > column.min()) & (column < column.max())] for column in rows.T]
    exact = [np.unique(column[column != 0], return_counts=True)[1].max() for column in inner]
    assert (whole.most >= exact).all()
    assert (whole.most <= np.array(exact) + 0.005 * len(rows)).all()


def test_columns_that_are_fine():
    rng = np.random.default_rng(5)
    rows = np.column_stack(
        [
            rng.normal(size=200),
            np.arange(200) % 30,  # each number in 3.5 %
            np.arange(200) % 40,  # in 2.5 %
            np.where(np.arange(200) < 8, 1.0, rng.normal(size=200)),  # one number in 4 %
            np.where(np.arange(200) < 110, np.nan, rng.normal(size=200)),
            np.full(200, np.nan),
            rng.normal(size=200),  # words, say
        ]
    )
    assert learn_repetition(rows, np.arange(6))[0].tolist() == [0, 2, 4]
