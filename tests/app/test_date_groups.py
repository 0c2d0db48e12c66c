"""Which periods of the dates in a column can make groups."""

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poscount.app.date_groups import DateGroups
from poscount.data.grouping import periods, times_in_text

DAYS = ["day", "week", "month", "year"]


def groups(*batches, most=1000, day_first=None):
    dates = DateGroups("when", most, day_first)
    row = 0
    for batch in batches:
        batch = batch if isinstance(batch, pa.Array) else pa.array(batch)
        dates.add(batch, row)
        row += len(batch)
    return dates


def test_groups_of_all_batches_are_counted_once():
    found = groups(["2026-01-30", "2026-01-31"], ["2026-01-31", "2026-02-01", None])
    # What is missing is a group, too.
    assert found.n_groups == {"day": 4, "week": 2, "month": 3, "year": 2}


@pytest.mark.parametrize("cell", ["2026-01-12 03:30", "2026-01-12T03:30:15.5", "12.1.2026 3:30"])
def test_hours_need_times_in_every_row(cell):
    assert "hour" in groups([cell, None]).n_groups
    assert list(groups([cell], ["2026-01-12"]).n_groups) == DAYS


def test_a_period_with_too_many_groups_is_left_out():
    cells = [f"2026-01-{day:02}" for day in range(1, 29)]
    assert list(groups(cells, most=10).n_groups) == ["week", "month", "year"]


@pytest.mark.parametrize(
    ("cell", "words"),
    [("2026-02-30", "not a date of the calendar"), ("soon", "not a date"), ("03/04/2026", "Apr")],
)
def test_a_date_that_cannot_be_read_is_a_problem_with_its_row(cell, words):
    found = groups(["2026-01-12"] * 5, ["2026-01-12", cell])
    assert found.n_groups == {}
    assert (found.problem.column, found.problem.row) == ("when", 6)
    assert words in found.problem.message


def test_the_order_of_day_and_month_can_be_given():
    cells = ["03/04/2026", "03/05/2026"]
    assert groups(cells, day_first=True).n_groups["month"] == 2
    assert groups(cells, day_first=False).n_groups["month"] == 1


def test_types_of_typed_files():
    day = datetime.date(2026, 1, 12)
    moment = datetime.datetime(2026, 1, 12, 3)
    assert list(groups(pa.array([day])).n_groups) == DAYS
    assert list(groups(pa.array([moment, None])).n_groups) == [*DAYS, "hour"]
    aware = pa.array([moment], pa.timestamp("ms", tz="Europe/Vienna"))
    assert groups(aware).n_groups["hour"] == 1
    assert groups(pa.array([datetime.time(3)])).n_groups == {}


@given(st.lists(st.datetimes(datetime.datetime(1900, 1, 1)) | st.none(), min_size=1, max_size=20))
def test_the_fast_way_counts_as_the_slow_one(times):
    cells = [None if time is None else time.isoformat(timespec="seconds") for time in times]
    expected = times_in_text(cells, "when", "hour")
    assert groups(pa.array(cells, pa.string())).n_groups == {
        period: len(set(periods(expected, period))) for period in (*DAYS, "hour")
    }
