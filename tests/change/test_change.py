"""Series of groups compared in common regions: known answers, false alarms, bad input, outputs."""

import datetime
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from typer.testing import CliRunner

from far_negatives import frame
from poscount import BBE, PAT, RCQ, InputError, ODIn, trend
from poscount.app.data_files import DataFiles
from poscount.app.follow_ups import trend as trend_of_files
from poscount.change.line import fit_line
from poscount.change.shared_regions import (
    adjusted,
    difference_interval,
    p_values,
    score_interval,
    shared_regions,
    variance_between,
)
from poscount.change.time_axis import time_axis
from poscount.cli.app import app
from poscount.counts.counts import GroupedCounts
from poscount.plotting import TrendDisplay

N_ROWS = 400


def weekly(seed, prevalences, n=N_ROWS, first="2026-01-05", skip=()):
    rng = np.random.default_rng(seed)
    monday = pd.Timestamp(first)
    weeks = [
        frame(rng, n, p).assign(date=monday + pd.Timedelta(weeks=i))
        for i, p in enumerate(prevalences)
        if i not in skip
    ]
    return pd.concat(weeks, ignore_index=True)


@pytest.fixture(scope="module")
def model():
    return RCQ(random_state=0).fit(frame(np.random.default_rng(9), 300))


def marked(found, name):
    return [x.label for x in found.points if (change := getattr(x, name)) and change.changed]


# The mechanism


@pytest.mark.parametrize("method", [RCQ, PAT, ODIn])
def test_ratios_are_proportional_to_the_prevalence(method):
    rng = np.random.default_rng(0)
    fitted = method(random_state=0).fit(frame(rng, 400))
    samples = [frame(rng, 6000, p) for p in (0.2, 0.4, 0.8)]
    # Far apart, so that the sum of the columns tells who is positive.
    truth = np.array([(rows.sum(axis=1) < 14).mean() for rows in samples])
    counts = [fitted.count(rows) for rows in samples]
    ratio, n_rows = shared_regions(fitted, counts).ratios(counts)
    assert n_rows.tolist() == [6000] * 3
    factor = ratio / truth
    # One factor is common to all of them; what is left is sampling noise of 1,200 rows or more.
    assert factor / factor[1] == pytest.approx([1, 1, 1], abs=0.08)


def test_the_variance_is_that_of_the_formula(model):
    rng = np.random.default_rng(1)
    counts = [model.count(frame(rng, 300, 0.4)) for _ in range(200)]
    common = shared_regions(model, counts)
    ratio, _ = common.ratios(counts)
    expected = ratio.mean() * (common.second_moment - ratio.mean()) / 300
    # The variance of 200 values has a standard error of a tenth of it.
    assert ratio.var() == pytest.approx(expected, rel=0.3)


def test_weights_of_rows_are_repetitions(model):
    rows = weekly(3, [0.3, 0.3, 0.5])
    twice = trend(model, pd.concat([rows, rows]), "week(date)")
    weighted = trend(model, rows.assign(w=2), "week(date)", weights="w")
    pairs = zip(twice.points, weighted.points, strict=True)
    for one, other in pairs:
        assert one.prevalence == pytest.approx(other.prevalence)
        if one.from_previous:
            assert one.from_previous[1:5] == pytest.approx(other.from_previous[1:5])


def test_frames_and_counts_agree_in_any_order(model):
    rows = weekly(4, [0.3, 0.4, 0.3, 0.6])
    shuffled = rows.sample(frac=1, random_state=0)
    counts = model.count_by(shuffled, "week(date)").of_groups([2, 0, 3, 1])
    assert trend(model, counts).to_dict() == trend(model, rows, "week(date)").to_dict()


# Tests and intervals


@pytest.mark.parametrize("n", [40, 500])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.8])
def test_few_small_p_values_without_a_difference(n, share):
    rng = np.random.default_rng(0)
    k = rng.binomial(n, share, (2, 40_000))
    # A single region with half of the positives.
    p = p_values(2 * k[0] / n, n, 2 * k[1] / n, n, square=2.0)
    for level in (0.05, 0.001):
        most = level + 4 * np.sqrt(level / len(p))
        assert (p <= level).mean() <= most * (1.4 if n == 40 else 1.1)


def test_the_score_test_is_that_of_a_table():
    table = np.array([[90, 410], [130, 370]])
    by_scipy = stats.chi2_contingency(table, correction=False).pvalue
    p = p_values(np.array([0.18]), 500, np.array([0.26]), 500, square=1.0)
    assert p[0] == pytest.approx(by_scipy, rel=0.05)


def test_the_interval_of_a_share_is_wilsons():
    low, high = score_interval(np.array([0.3]), np.array([200]), 1.0, 1.96, drawn=True)
    by_scipy = stats.binomtest(60, 200).proportion_ci(method="wilson")
    assert (low[0], high[0]) == pytest.approx((by_scipy.low, by_scipy.high), abs=1e-4)


def test_a_shared_factor_widens_differences_only():
    margins = np.array([0.02]), np.array([0.02])
    none = difference_interval(np.array([0.0]), margins, margins, factor=0.5)
    large = difference_interval(np.array([0.4]), margins, margins, factor=0.5)
    assert none[1][0] == pytest.approx(0.02 * np.sqrt(2))
    assert large[1][0] - 0.4 == pytest.approx(np.sqrt(2 * 0.02**2 + 0.2**2))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holms_p_values(p):
    p = np.array(p)
    found = adjusted(p)
    assert (found >= p).all()
    assert (found <= 1).all()
    assert found.min() == pytest.approx(min(1.0, p.min() * len(p)))
    assert (np.diff(found[np.argsort(p, kind="stable")]) >= 0).all()


def test_differences_are_covered(model):
    held, n_compared = 0, 0
    for seed in range(12):
        truth = np.random.default_rng([7, seed]).uniform(0.1, 0.7, 8)
        found = trend(model, weekly([8, seed], truth), "week(date)")
        for i, point in enumerate(found.points[1:], start=1):
            change = point.from_previous
            held += change.low <= truth[i] - truth[i - 1] <= change.high
            n_compared += 1
    # .95 less three standard deviations of 84 comparisons.
    assert held / n_compared > 0.88


# Series


def test_no_marks_without_change(model):
    found = [trend(model, weekly([1, i], [0.3] * 12), "week(date)", baseline=4) for i in range(20)]
    # 1 of 20 is expected, and 5 or more have a probability of .003.
    assert sum(bool(each.changes) or each.step.changed for each in found) <= 4


def test_a_step_is_marked(model):
    found = trend(model, weekly(0, [0.2] * 6 + [0.45] * 4), "week(date)", baseline=5)
    assert marked(found, "from_previous") == ["2026-W08"]
    assert marked(found, "from_baseline") == ["2026-W08", "2026-W09", "2026-W10", "2026-W11"]
    assert found.points[6].from_previous.difference == pytest.approx(0.25, abs=0.1)
    assert [x.in_baseline for x in found.points] == [True] * 5 + [False] * 5
    assert "2026-W02 to 2026-W06" in str(found)
    assert found.step.at == "2026-W08"
    assert found.step.after - found.step.before == pytest.approx(0.25, abs=0.1)


def test_there_is_one_series(model):
    """Shares, changes, and the answer for all rows say the same."""
    found = trend(model, weekly(0, [0.2] * 4 + [0.5] * 4), "week(date)", baseline=3)
    shares = np.array([x.prevalence.value for x in found.points])
    for i, point in enumerate(found.points):
        if point.from_previous:
            assert point.from_previous.difference == pytest.approx(shares[i] - shares[i - 1])
        if point.from_baseline:
            assert point.from_baseline.difference == pytest.approx(shares[i] - shares[:3].mean())
        assert point.prevalence.low <= shares[i] <= point.prevalence.high
    rows = [x.n_rows for x in found.points]
    assert np.average(shares, weights=rows) == pytest.approx(float(found.answer))
    assert found.step.before == pytest.approx(shares[:4].mean())
    record = found.records()[3]
    assert record["prevalence"] == shares[3]
    assert "common_level" not in record


@pytest.mark.parametrize("shape", ["step", "slope"])
def test_a_step_or_a_slope_is_claimed(model, shape):
    truth = [0.15] * 8 + [0.6] * 8 if shape == "step" else np.linspace(0.1, 0.8, 16)
    found = trend(model, weekly(3, truth), "week(date)")
    assert (found.step.changed, found.slope.changed) == (shape == "step", shape == "slope")
    assert ("A step at" in str(found), "A slope:" in str(found)) == (
        found.step.changed,
        found.slope.changed,
    )
    drawn = {line.get_label() for line in TrendDisplay.from_trend(found).ax_.get_lines()}
    assert shape in drawn
    assert not {"step", "slope"} - {shape} & drawn


def overlapping(rng, n, p, like_positives):
    """Rows of which p are positives; of the negatives, a share is among them in one column."""
    rows = frame(rng, n, p)
    negative = rows.sum(axis=1) > 14
    near = negative & (rng.random(n) < like_positives)
    rows.loc[near] -= 7
    rows.loc[near, rows.columns[0]] += 1.5
    return rows


@pytest.mark.parametrize("when", ["weekly", "step"])
def test_negatives_that_change_are_no_change(when):
    """A tenth to a fifth of the negatives is like the positives; the share stays."""
    rng = np.random.default_rng(5)
    fitted = RCQ(random_state=0).fit(frame(rng, 300))
    marks = 0
    for seed in range(6):
        rng = np.random.default_rng([6, seed])
        shares = rng.uniform(0.1, 0.2, 24) if when == "weekly" else [0.1] * 12 + [0.16] * 12
        weeks = [overlapping(rng, 400, 0.3, x).assign(week=i) for i, x in enumerate(shares)]
        found = trend(fitted, pd.concat(weeks, ignore_index=True), "week", baseline=6)
        marks += bool(found.changes) or found.step.changed or found.slope.changed
    assert marks <= 1


def test_what_does_not_cancel_is_in_the_interval():
    """An answer that leaves open how many are negatives leaves differences open."""
    rng = np.random.default_rng(7)
    fitted = RCQ(random_state=0).fit(frame(rng, 300))
    clear = [fitted.count(frame(rng, 4000, p)) for p in (0.3, 0.3)]
    mixed = [fitted.count(overlapping(rng, 4000, 0.3, 0.3)) for _ in range(2)]
    few, many = shared_regions(fitted, clear), shared_regions(fitted, mixed)
    assert few.leak < many.leak
    assert many.lasting == 0.2 * many.leak
    difference = np.array([0.0])
    margins = np.array([0.0]), np.array([0.0])
    low, high = difference_interval(difference, margins, margins, 0.0, 1.96 * 0.05)
    assert (-low[0], high[0]) == pytest.approx((1.96 * math.sqrt(2) * 0.05,) * 2)
    # A difference within that is no evidence.
    ratios = np.array([0.3]), 10**6, np.array([0.33]), 10**6
    assert p_values(*ratios, 2.0)[0] < 1e-9
    assert p_values(*ratios, 2.0, 0.03)[0] == pytest.approx(1, abs=1e-6)


def test_a_small_step_shows_in_many_groups(model):
    found = trend(model, weekly(1, [0.3] * 12 + [0.36] * 12), "week(date)")
    assert found.step.changed
    assert marked(found, "from_previous") == []
    # Groups that vary by themselves are no step.
    rng = np.random.default_rng(0)
    varying = [
        trend(model, weekly([2, i], rng.uniform(0.2, 0.4, 16)), "week(date)").step.changed
        for i in range(10)
    ]
    assert sum(varying) <= 3


def test_the_slope_allows_for_dispersion():
    rng = np.random.default_rng(0)
    x, noise, covered, widths = np.arange(30.0), np.full(30, 0.02**2), [], []
    for between in (0.0, 0.06):
        for _ in range(60):
            y = 0.3 + 0.002 * x + rng.normal(0, np.hypot(0.02, between), 30)
            value, low, high = fit_line(x, y, noise, 0.95).slope
            assert low < value < high
            covered.append(low <= 0.002 <= high)
            widths.append(high - low)
    assert np.mean(covered[:60]) > 0.86
    assert np.mean(covered[60:]) > 0.86
    assert np.mean(widths[60:]) > 2 * np.mean(widths[:60])


def test_the_line_without_dispersion_is_least_squares():
    rng = np.random.default_rng(1)
    x = np.arange(200.0)
    y = 0.3 + 0.001 * x + rng.normal(0, 0.05, 200)
    found = fit_line(x, y, np.full(200, 0.06**2), 0.95)
    assert found.slope[0] == pytest.approx(stats.linregress(x, y).slope, rel=0.01)
    assert found.dispersion == pytest.approx((0.05 / 0.06) ** 2, rel=0.3)


def test_small_groups_borrow_strength(model):
    rng = np.random.default_rng(2)
    truth = rng.uniform(0.25, 0.35, 16)
    parts = [weekly([5, i], [p], 40 if i % 2 else 800) for i, p in enumerate(truth)]
    rows = pd.concat([part.assign(week=i) for i, part in enumerate(parts)])
    found = trend(model, rows, "week", smooth=True)
    small = [(x, t) for x, t in zip(found.points, truth, strict=True) if x.n_rows == 40]
    raw = np.mean([abs(x.prevalence.value - t) for x, t in small])
    smoothed = np.mean([abs(x.smoothed.value - t) for x, t in small])
    assert smoothed < 0.7 * raw
    covered = [x.smoothed.low <= t <= x.smoothed.high for x, t in small]
    assert np.mean(covered) >= 0.75
    # Raw answers stay as they are without smoothing.
    plain = trend(model, rows, "week")
    for one, other in zip(plain.points, found.points, strict=True):
        assert one.prevalence == other.prevalence
    assert "smoothed" not in plain.records()[0]
    assert "smoothed" in found.records()[0]


def test_variance_between_groups():
    rng = np.random.default_rng(0)
    noise = rng.uniform(0.5, 2, 4000)
    values = rng.normal(0, np.sqrt(noise + 3.0))
    assert variance_between(values, noise) == pytest.approx(3.0, rel=0.1)
    assert variance_between(np.ones(5), noise[:5]) == 0


# Time, gaps, bad input


@pytest.mark.parametrize(
    ("keys", "by", "places", "unit"),
    [
        (["2025-W52", "2026-W02"], "week(date)", [0, 2], "week"),
        (["2025-11", "2026-02"], "month(date)", [0, 3], "month"),
        (["2026-01-30 23:00", "2026-01-31 01:00"], "hour(at)", [0, 2], "hour"),
        ([3.0, 1.0, 2.5], "run", [0, 1.5, 2], "run"),
        ([datetime.date(2026, 2, 28), datetime.date(2026, 3, 2)], "day", [0, 2], "day"),
        (["2026-02-28", "2026-03-01"], "night", [0, 1], "day"),
        (["10", "9"], "run", [0, 1], "run"),
    ],
)
def test_places_in_time(keys, by, places, unit):
    axis = time_axis(keys, by)
    assert (axis.places - axis.places[0]).tolist() == places
    assert axis.unit == unit
    assert axis.n_gaps == (int(places[-1]) + 1 - len(keys) if "(" in by else 0)


def test_weeks_without_rows_are_gaps(model):
    found = trend(model, weekly(0, [0.3] * 6, skip=(2, 3)), "week(date)")
    assert [x.label for x in found.points] == [f"2026-W0{i}" for i in range(2, 8)]
    assert [x.n_rows for x in found.points] == [400, 400, 0, 0, 400, 400]
    assert found.points[4].from_previous.against == "2026-W03"
    assert found.points[3].prevalence is None
    assert any("2 week(s)" in note and "2026-W04, 2026-W05" in note for note in found.notes)
    assert (
        found.to_frame()["prevalence"].isna().tolist() == [False, False, True, True] + [False] * 2
    )


def test_rows_without_a_date_are_said(model):
    rows = weekly(0, [0.3] * 4)
    rows.loc[:9, "date"] = pd.NaT
    assert "10 row(s) without week(date)" in trend(model, rows, "week(date)").notes[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"baseline": 5}, "leave at least one"),
        ({"baseline": 0}, "at least 1"),
        (
            {"baseline": ("2026-W02", "2026-W40")},
            "2026-W40 of the baseline is not among the groups",
        ),
        ({"baseline": ("2026-W04", "2026-W02")}, "before its first"),
        ({"baseline": ("2026-W02", "2026-W06")}, "all groups"),
        ({"by": "year(date)"}, "at least two groups, and these rows have 1"),
        ({"by": None}, "column to group by"),
        ({"by": "site"}, "no order in time"),
        ({"by": "nowhere"}, "no such grouping column"),
    ],
)
def test_bad_settings(model, change, message):
    rows = weekly(0, [0.3] * 5).assign(site=lambda x: x["date"].dt.strftime("site %U"))
    with pytest.raises(InputError, match=message):
        trend(model, rows, **{"by": "week(date)", **change})


def test_other_models_and_groupings(model):
    rows = weekly(0, [0.3] * 3)
    bbe = BBE(random_state=0).fit(frame(np.random.default_rng(0), 50))
    with pytest.raises(InputError, match="BBE has no regions"):
        trend(bbe, rows, "week(date)")
    counts = model.count_by(rows.assign(site=1), ["site", "week(date)"])
    with pytest.raises(InputError, match="one series"):
        trend(model, counts)
    single = model.count_by(rows, "week(date)")
    with pytest.raises(InputError, match="Counts have their groups"):
        trend(model, single, "week(date)")
    empty = GroupedCounts(("week",), [], single.cells[:0], single.n[:0], single.model)
    with pytest.raises(InputError, match="these rows have 0"):
        trend(model, empty)


def test_groups_without_positives_and_few_positives(model):
    found = trend(model, weekly(0, [0.0] * 5), "week(date)", baseline=2, smooth=True)
    assert not found.changes
    assert found.slope.low <= 0 <= found.slope.high
    few = RCQ(random_state=0).fit(frame(np.random.default_rng(0), 15))
    assert len(trend(few, weekly(0, [0.3] * 3), "week(date)").points) == 3


# Outputs


@pytest.fixture
def files(model, tmp_path):
    model.save(tmp_path / "m.poscount")
    rows = weekly(0, [0.2] * 5 + [0.5] * 3, skip=(2,))
    rows.to_csv(tmp_path / "rows.csv", index=False, date_format="%Y-%m-%d")
    return str(tmp_path / "m.poscount"), str(tmp_path / "rows.csv")


def run(*arguments):
    return CliRunner().invoke(app, ["trend", *arguments], catch_exceptions=False)


def test_the_command_line(files, model, tmp_path):
    picture = tmp_path / "t.png"
    options = ["--by", "week(date)", "--baseline", "2026-W02..2026-W05", "--smooth"]
    told = run(*files, *options, "--plot", str(picture)).stdout
    assert "no rows" in told
    assert "Changed from the one before: 2026-W07." in told
    assert "Changed from the baseline (2026-W02 to 2026-W05): 2026-W07" in told
    assert "1 week(s) between the first and the last have no rows: 2026-W04" in told
    assert picture.stat().st_size > 5000
    record = json.loads(run(*files, *options, "--format", "json").stdout)
    python = trend_of_files(
        model, DataFiles([files[1]]), "week(date)", baseline=("2026-W02", "2026-W05"), smooth=True
    )
    assert record == json.loads(json.dumps(python.to_dict()))
    lines = run(*files, *options, "--format", "csv").stdout.splitlines()
    assert lines[0].startswith("group,n,prevalence,low,high")
    assert lines[0].endswith("smoothed_high")
    assert len(lines) == 9


@pytest.mark.parametrize("baseline", ["2026-W02..2026-W30", "12", "2026-W01"])
def test_a_wrong_baseline_on_the_command_line(files, baseline):
    with pytest.raises(InputError):
        run(*files, "--by", "week(date)", "--baseline", baseline)


def test_counts_files_have_no_groups(files, model, tmp_path):
    model.count(weekly(0, [0.3])).save(tmp_path / "a.counts")
    with pytest.raises(InputError, match="no groups"):
        run(files[0], str(tmp_path / "a.counts"), "--by", "week(date)")


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_of_each_kind(model, backend):
    found = trend(model, weekly(0, [0.3] * 4, skip=(1,)), "week(date)").to_frame(backend)
    assert len(found) == 4


def test_the_picture_draws_what_there_is(model):
    found = trend(model, weekly(0, [0.2] * 5 + [0.5] * 3, skip=(2,)), "week(date)", baseline=3)
    display = TrendDisplay.from_trend(found)
    texts = {text.get_text() for text in display.figure_.legends[0].get_texts()}
    assert {"baseline", "no rows", "changed from the baseline"} <= texts
    assert "smoothed" not in texts
