"""Windows over a stream equal the answers for the rows that they hold."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answers import assert_same_answer
from poscount import InputError
from poscount.base.batch_counter import BatchCounter
from poscount.engines import sliding_windows, windows


def in_pieces(data, cuts):
    ends = [*cuts, len(data)]
    return [data[start:stop] for start, stop in zip([0, *cuts], ends, strict=True)]


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n_rows=st.integers(1, 120),
    step=st.integers(1, 40),
    panes=st.integers(1, 4),
    cuts=st.lists(st.integers(0, 120), max_size=4).map(sorted),
)
def test_windows_of_rows(pat, sample, n_rows, step, panes, cuts):
    rows, size = sample[:n_rows], step * panes
    found = list(windows(pat, in_pieces(rows, cuts), size=size, step=step))
    full = [(end - size, end) for end in range(size, n_rows + 1, step)]
    assert [(w.start, w.end) for w in found if w.complete] == full
    for window in found:
        assert window.counts == pat.count(rows[window.start : window.end])
        expected = pat.quantify(rows[window.start : window.end])
        assert window.prevalence.to_dict() == expected.to_dict()
        assert window.prevalence.interval is not None
    # No row is lost: what fills no window at the end is in one that says so.
    assert found[-1].end == n_rows
    rest = [w for w in found if not w.complete]
    assert len(rest) == (0 if full and full[-1][1] == n_rows else 1)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    step=st.integers(1, 40),
    panes=st.integers(1, 4),
    cuts=st.lists(st.integers(0, 120), max_size=4).map(sorted),
    column=st.sampled_from(["times", "weight", "mixed"]),
)
def test_windows_of_weighted_rows(named_pat, weighted_trap, step, panes, cuts, column):
    rows = weighted_trap.slice(0, 120).to_pandas()
    # Windows may leave the fractions behind, and rows that count nothing.
    rows["mixed"] = np.where(rows.index < 60, rows["weight"], rows["times"] * (rows.index < 110))
    found = list(
        windows(named_pat, in_pieces(rows, cuts), size=step * panes, step=step, weights=column)
    )
    for window in found:
        inside = rows[window.start : window.end]
        assert window.counts == named_pat.count(inside, weights=column)
        assert_same_answer(window.prevalence, named_pat.quantify(inside, weights=column))
    starts = range(0, 121 - step * panes, step)
    weighty = [i for i in starts if rows[column][i : i + step * panes].any()]
    assert [window.start for window in found if window.complete] == weighty


def test_a_tumbling_window_by_default(pat, sample):
    found = list(windows(pat, [sample], size=100))
    assert [(w.start, w.end) for w in found] == [(0, 100), (100, 200), (200, 300), (300, 400)]
    assert sum(w.counts for w in found) == pat.count(sample)


def test_a_window_comes_as_soon_as_it_is_complete(pat, sample):
    given_out = []

    def slowly():
        for i in range(10):
            given_out.append(i)
            yield sample[40 * i : 40 * (i + 1)]

    stream = windows(pat, slowly(), size=80)
    next(stream)
    assert given_out == [0, 1]
    next(stream)
    assert given_out == [0, 1, 2, 3]


def test_every_row_is_counted_once(pat, sample, monkeypatch):
    counted = []
    count_codes = BatchCounter.count_codes

    def spy(self, rows, *more):
        counted.append(len(rows))
        return count_codes(self, rows, *more)

    monkeypatch.setattr(BatchCounter, "count_codes", spy)
    monkeypatch.setattr(sliding_windows, "_ROWS_AT_ONCE", 33)
    assert len(list(windows(pat, [sample], size=100, step=10))) == 31
    assert sum(counted) == len(sample)


KINDS = {
    "pyarrow": lambda table: table,
    "record batch": lambda table: table.combine_chunks().to_batches()[0],
    "pandas": lambda table: table.to_pandas(),
    "polars": lambda table: pl.from_arrow(table),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("minutes", [(60, 60), (60, 20)])
def test_windows_of_time(named_pat, trap, kind, minutes):
    size, step = (timedelta(minutes=m) for m in minutes)
    batches = [KINDS[kind](trap.slice(i, 700)) for i in range(0, 3000, 700)]
    found = list(windows(named_pat, batches, size=size, step=step, time="at"))
    at = trap["at"].to_numpy()
    for window in found:
        assert window.end - window.start == size
        assert (window.end - datetime(1970, 1, 1)) % step == timedelta(0)
        inside = (at >= np.datetime64(window.start)) & (at < np.datetime64(window.end))
        rows = trap.filter(pa.array(inside))
        assert window.counts == named_pat.count(rows)
        assert window.prevalence.to_dict() == named_pat.quantify(rows).to_dict()
    ends = [window.end for window in found]
    assert ends == [ends[0] + i * step for i in range(len(ends))]
    begins_before = [w for w in found if w.start < datetime(2026, 11, 1, 22)]
    assert [w.complete for w in found] == [
        w not in begins_before and w is not found[-1] for w in found
    ]


def numbers(rows, times):
    return pa.table({"a": rows[:, 0], "b": rows[:, 1], "c": rows[:, 2], "t": times})


def test_gaps_in_time_move_the_window_and_empty_windows_are_left_out(named_pat, sample):
    times = np.array([0.5, 1.2, 4.1, 1e9])
    found = list(windows(named_pat, [numbers(sample[:4], times)], size=2.0, step=1.0, time="t"))
    assert [(w.start, w.end, w.counts.n) for w in found] == [
        (-1, 1, 1),
        (0, 2, 2),
        (1, 3, 1),
        (3, 5, 1),
        (4, 6, 1),
        (1e9 - 1, 1e9 + 1, 1),
    ]


def test_times_with_zones_and_days(named_pat, sample):
    at = pd.date_range("2026-11-01 00:30", periods=48, freq="h", tz="Europe/Berlin")
    frame = pd.DataFrame(sample[:48], columns=list("abc")).assign(at=at)
    first = next(windows(named_pat, [frame], size=timedelta(days=1), time="at"))
    # Half past midnight in Berlin is still yesterday in UTC.
    assert first.start == datetime(2026, 10, 31, tzinfo=UTC)
    assert first.counts.n == 1
    days = pl.DataFrame(frame[["a", "b", "c"]]).with_columns(
        day=pl.Series([date(2026, 1, 1 + i // 24) for i in range(48)])
    )
    found = list(windows(named_pat, [days], size=timedelta(days=1), time="day"))
    assert [(w.start, w.counts.n) for w in found] == [
        (datetime(2026, 1, 1), 24),
        (datetime(2026, 1, 2), 24),
    ]


@pytest.mark.parametrize("bad", [[3.0, 2.9], [3.0, np.nan], [3.0, None]])
def test_times_out_of_order_or_missing(named_pat, sample, bad):
    times = pa.array([1.0, 2.0, *bad, 5.0], pa.float64())
    table = numbers(sample[:5], times)
    for batches in ([table], [table[:3], table[3:]], [table[:2], table[2:]]):
        with pytest.raises(InputError, match="missing") as caught:
            list(windows(named_pat, batches, size=1.0, time="t"))
        assert (caught.value.column, caught.value.row) == ("t", 3)


def test_bad_rows_have_their_number_in_the_stream(pat, sample):
    spoilt = sample.copy()
    spoilt[250, 1] = np.inf
    with pytest.raises(InputError) as caught:
        list(windows(pat, np.array_split(spoilt, 7), size=100))
    assert (caught.value.row, caught.value.column) == (250, "1")


def test_gaps_are_counted_in_their_window(pat, sample):
    gapped = sample.copy()
    gapped[100:140, 1] = np.nan
    found = list(windows(pat, np.array_split(gapped, 7), size=100))
    for i, window in enumerate(found):
        assert_same_answer(window.prevalence, pat.quantify(gapped[100 * i : 100 * (i + 1)]))
        codes = {caution.code for caution in window.prevalence.warnings}
        assert ("missing-differs" in codes) == (i == 1)


def test_sizes_that_make_no_sense(pat, named_pat, sample, trap):
    with pytest.raises(ValueError, match="whole multiple"):
        next(windows(pat, [sample], size=100, step=30))
    with pytest.raises(ValueError, match="between 0 and size"):
        next(windows(pat, [sample], size=100, step=200))
    with pytest.raises(ValueError, match="between 0 and size"):
        next(windows(pat, [sample], size=0))
    with pytest.raises(TypeError, match="numbers of rows"):
        next(windows(pat, [sample], size=timedelta(hours=1)))
    with pytest.raises(InputError, match="timedelta"):
        next(windows(named_pat, [trap], size=3600, time="at"))
    with pytest.raises(InputError, match="no such column"):
        next(windows(named_pat, [trap], size=3600, time="when"))


def test_a_stream_without_rows_has_no_windows(pat, sample):
    assert list(windows(pat, [], size=10)) == []
    assert list(windows(pat, [sample[:0]], size=10)) == []
