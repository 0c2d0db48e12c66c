"""Groups by year, month, week, day and hour of dates, times and text, everywhere the same."""

import datetime
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poscount import InputError
from poscount.data.grouping import group_column, periods, times_in_text
from poscount.engines import count

PERIODS = ["year", "month", "week", "day", "hour"]
FORMS = {
    "year": "%Y",
    "month": "%Y-%m",
    "week": "%G-W%V",
    "day": "%Y-%m-%d",
    "hour": "%Y-%m-%d %H:00",
}


@given(st.lists(st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(9999, 12, 31))))
def test_labels_are_those_of_the_calendar(times):
    array = np.array([*times, None], "datetime64[s]")
    for period, form in FORMS.items():
        assert periods(array, period) == [*(time.strftime(form) for time in times), None]


# What is written, and day, month, year, hour.
DATES = {
    "2026-02-09": (9, 2, 2026, None),
    "2026-2-9": (9, 2, 2026, None),
    "2026/02/09": (9, 2, 2026, None),
    "20260209": (9, 2, 2026, None),
    " 2026-02-09T13:45:00Z ": (9, 2, 2026, 13),
    "2026-02-09 13:45:10.25+05:30": (9, 2, 2026, 13),
    "31/01/2026": (31, 1, 2026, None),
    "1/31/2026": (31, 1, 2026, None),
    "1/31/26 1:45 pm": (31, 1, 2026, 13),
    "12/31/1999 12:00 AM": (31, 12, 1999, 0),
    "31-01-99": (31, 1, 1999, None),
    "03/03/2026": (3, 3, 2026, None),
    "03.04.2026": (3, 4, 2026, None),
    "03.04.2026 07:30": (3, 4, 2026, 7),
    "9 February 2026": (9, 2, 2026, None),
    "09-Feb-26": (9, 2, 2026, None),
    "9. Feb. 2026": (9, 2, 2026, None),
    "Feb 9, 2026": (9, 2, 2026, None),
    "February 9th, 2026 23:59": (9, 2, 2026, 23),
}


@pytest.mark.parametrize("cell", DATES)
def test_dates_in_text(cell):
    day, month, year, hour = DATES[cell]
    (time,) = times_in_text([cell], "day", "day").astype(object)
    assert (time.day, time.month, time.year, time.hour) == (day, month, year, hour or 0)
    if hour is None:
        with pytest.raises(InputError, match="has no time of day, so its hour is not known"):
            times_in_text([cell], "day", "hour")
    else:
        assert times_in_text([cell], "day", "hour") == times_in_text([cell], "day", "day")


@pytest.mark.parametrize("cell", ["03/04/2026", "3-4-26", "12/11/2026 10:00"])
def test_ambiguous_dates_need_the_option(cell):
    with pytest.raises(InputError, match=r"may be a day in \w+ or in \w+") as caught:
        times_in_text([None, cell], "day", "month")
    assert (caught.value.option, caught.value.row, caught.value.column) == ("day_first", 1, "day")
    first, second = map(int, cell.replace("-", "/").split("/")[:2])
    for day_first in (True, False):
        (time,) = times_in_text([cell], "day", "month", day_first).astype(object)
        assert (time.day, time.month) == ((first, second) if day_first else (second, first))


@pytest.mark.parametrize(
    ("cell", "day_first", "sentence"),
    [
        ("soon", None, "'soon' is not a date that poscount can read, so its week is not known."),
        ("9 Foo 2026", None, "'9 Foo 2026' is not a date that poscount can read, so"),
        ("2026-02-30", None, "'2026-02-30' is not a date of the calendar, so"),
        ("31/01/2026", False, "'31/01/2026' is not a date of the calendar, so"),
        ("32/13/2026", None, "'32/13/2026' is not a date of the calendar, so"),
    ],
)
def test_text_that_is_no_date(cell, day_first, sentence):
    with pytest.raises(InputError) as caught:
        times_in_text(["2026-02-09", cell], "day", "week", day_first)
    assert caught.value.message.startswith(sentence)
    assert caught.value.row == 1


def test_what_is_a_period():
    assert group_column("month(a b)", ["a b"]) == ("month(a b)", "a b", "month")
    # A column that is really called so.
    assert group_column("month(a)", ["a", "month(a)"]) == ("month(a)", "month(a)", None)
    for label in ("months(a)", "month a", "month(a", "Month(a)"):
        assert group_column(label, ["a"]) == (label, label, None)


# In memory


@pytest.fixture(params=["pandas", "polars", "pyarrow"])
def frame_of(request):
    return {"pandas": pa.Table.to_pandas, "polars": pl.from_arrow, "pyarrow": lambda t: t}[
        request.param
    ]


def expected_keys(column, period):
    known = {
        None if time is None else datetime.datetime.fromisoformat(str(time)).strftime(FORMS[period])
        for time in column.to_pylist()
    }
    return sorted(known, key=lambda label: (label is None, label))


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("column", ["when", "day"])
def test_periods_in_memory(named_pat, dated, frame_of, period, column):
    if (column, period) == ("day", "hour"):
        with pytest.raises(InputError, match="no time of day"):
            named_pat.count_by(frame_of(dated), "hour(day)")
        return
    by = f"{period}({column})"
    counts = named_pat.count_by(frame_of(dated), by)
    assert [key for (key,) in counts.keys] == expected_keys(dated[column], period)
    answers = named_pat.quantify_groups(frame_of(dated), [by])
    assert {key: p.n_unlabeled for key, p in answers.items()} == dict(
        zip(counts.keys, counts.n.tolist(), strict=True)
    )
    # The same rows as with a column that holds the labels.
    labels = [
        None if time is None else datetime.datetime.fromisoformat(str(time)).strftime(FORMS[period])
        for time in dated[column].to_pylist()
    ]
    ready = dated.append_column(by, pa.array(labels))
    assert named_pat.count_by(frame_of(ready), by) == counts


def test_a_frame_with_an_index_of_its_own(named_pat, dated):
    frame = dated.to_pandas()
    expected = named_pat.count_by(frame, ["night", "month(when)"])
    shuffled = frame.sample(frac=1, random_state=0)
    assert named_pat.count_by(shuffled, ["night", "month(when)"]) == expected
    answers = named_pat.quantify_by(shuffled, ["night", "month(when)"])
    assert list(answers.columns[:2]) == ["night", "month(when)"]
    assert answers["n"].tolist() == expected.n.tolist()


def test_dates_without_times_and_zones(named_pat, dated):
    frame = dated.to_pandas()
    frame["date"] = pa.array(frame["when"]).cast(pa.date32()).to_pandas()
    frame["zoned"] = frame["when"].dt.tz_localize("Europe/Berlin")
    expected = named_pat.count_by(frame, "month(when)")
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        for column in ("date", "zoned"):
            found = named_pat.count_by(table, f"month({column})")
            assert found.keys == expected.keys
            assert np.array_equal(found.cells, expected.cells)
    with pytest.raises(InputError, match="holds dates without a time of day"):
        named_pat.count_by(pa.Table.from_pandas(frame), "hour(date)")


@pytest.mark.parametrize("column", ["count", "flag"])
def test_numbers_are_no_dates(named_pat, dated, frame_of, column):
    numbers = dated.append_column("count", pa.array(range(len(dated))))
    frame = frame_of(numbers.append_column("flag", pa.array([True] * len(dated))))
    with pytest.raises(InputError, match="it holds numbers, not dates") as caught:
        named_pat.count_by(frame, f"month({column})")
    assert caught.value.column == column


def test_a_misspelled_column(named_pat, dated):
    with pytest.raises(InputError, match=r"column 'wen'.*did you mean 'when'\?"):
        named_pat.count_by(dated, "month(wen)")


def test_ambiguous_dates_in_memory(named_pat, dated, frame_of):
    table = dated.set_column(4, "day", pa.array(["03/04/2026"] * len(dated)))
    with pytest.raises(InputError, match=r"in Apr or in Mar\. Convert the") as caught:
        named_pat.count_by(frame_of(table), "month(day)")
    assert (caught.value.column, caught.value.row, caught.value.option) == ("day", 0, None)


# Files and tables


def write_json(table, path):
    path.write_text("\n".join(json.dumps(row, default=str) for row in table.to_pylist()))


WRITERS = {
    "parquet": pq.write_table,
    "csv": pa.csv.write_csv,
    "jsonl": write_json,
}
BY = [["month(when)"], ["night", "week(day)"], ["night"], ["hour(when)", "day(when)"]]


@pytest.mark.parametrize("by", BY, ids=str)
@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("engine", ["auto", "dask"])
def test_periods_in_files(named_pat, dated, tmp_path, kind, by, engine):
    if engine == "dask":
        pytest.importorskip("dask")
    for i, start in enumerate((0, 7, 1000)):
        part = dated.slice(start, (7, 993, 3000)[i])
        WRITERS[kind](part, tmp_path / f"{i}.{kind}")
    assert count(named_pat, tmp_path, by=by, engine=engine) == named_pat.count_by(dated, by)


@pytest.mark.parametrize("by", BY, ids=str)
def test_periods_in_duckdb(named_pat, dated, by):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("dated", dated)
        assert count(named_pat, (connection, "FROM dated"), by=by) == named_pat.count_by(dated, by)


def test_a_column_with_the_name_of_a_period_wins(named_pat, dated, tmp_path):
    labels = pa.array(["x"] * len(dated))
    table = dated.append_column("month(when)", labels)
    assert named_pat.count_by(table, "month(when)").keys == [("x",)]
    for kind, write in WRITERS.items():
        write(table, tmp_path / f"t.{kind}")
        assert count(named_pat, tmp_path / f"t.{kind}", by="month(when)").keys == [("x",)]


def test_periods_of_dates_in_paths(named_pat, dated, tmp_path):
    for day in ("2026-01-30", "2026-01-31", "2026-02-01"):
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(dated.drop_columns("day"), tmp_path / f"day={day}" / "x.parquet")
    counts = count(named_pat, tmp_path, by="month(day)")
    assert counts.keys == [("2026-01",), ("2026-02",)]
    assert counts.n.tolist() == [2 * len(dated), len(dated)]


def test_ambiguous_dates_in_files(named_pat, dated, tmp_path):
    cells = [None if i % 7 == 0 else f"0{i % 3 + 1}/04/2026" for i in range(len(dated))]
    table = dated.set_column(4, "day", pa.array(cells))
    for kind, write in WRITERS.items():
        path = tmp_path / f"t.{kind}"
        write(table, path)
        with pytest.raises(InputError) as caught:
            count(named_pat, path, by="month(day)")
        assert (caught.value.option, caught.value.row) == ("day_first", 1)
        assert caught.value.file == str(path)
        april = count(named_pat, path, by="month(day)", day_first=True)
        assert april.keys == [("2026-04",), (None,)]
        quarter = count(named_pat, path, by="month(day)", day_first=False)
        assert quarter.keys == [("2026-01",), ("2026-02",), ("2026-03",), (None,)]


def test_a_feature_can_be_a_group_too(named_pat, dated, tmp_path):
    frame = pd.DataFrame({name: dated[name].to_pylist() for name in ("a", "b", "c", "day")})
    pa.csv.write_csv(pa.Table.from_pandas(frame), tmp_path / "t.csv")
    found = count(named_pat, tmp_path / "t.csv", by=["day", "month(day)"])
    assert found == named_pat.count_by(frame, ["day", "month(day)"])
