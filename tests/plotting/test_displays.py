"""Displays: what they draw are the model's numbers, on the axes that they are given."""

import datetime
import itertools
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

import poscount
from answers import distribution_of
from poscount import BBE, PAT, ODIn, Prevalence
from poscount.methods.intervals import curve_half_width

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.dates import num2date  # noqa: E402

from poscount.plotting import (  # noqa: E402
    PATCurveDisplay,
    PrevalenceDisplay,
    ScoreDistributionDisplay,
)

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


@pytest.fixture(autouse=True)
def figures():
    """Each test begins and ends without figures; the displays themselves close nothing."""
    plt.close("all")  # what the examples in docstrings have left open
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # importing QuaPy changes the sizes of figures and letters
        yield
    plt.close("all")


def prevalence(value, margin=0.05):
    ends = distribution_of(max(0.0, value - margin), value, min(1.0, value + margin))
    return Prevalence(value, n_labeled=400, n_unlabeled=900, method="PAT", distribution=ends)


def lines(ax):
    """The lines of a picture by their name in the legend, as (x, y)."""
    return {line.get_label(): line.get_xydata().T for line in ax.get_lines()}


def tick_texts(ax):
    ax.figure.canvas.draw()
    return [text.get_text() for text in ax.get_xticklabels()]


# All of them

DRAW = {
    "prevalences": lambda model, positives, sample, ax: PrevalenceDisplay.from_predictions(
        [prevalence(0.3)], ["all"], xlabel="group", title="Prevalences", ax=ax
    ),
    "scores": lambda model, positives, sample, ax: ScoreDistributionDisplay.from_estimator(
        model, positives, sample, ax=ax
    ),
    "curve": lambda model, positives, sample, ax: PATCurveDisplay.from_estimator(
        model, sample, ax=ax
    ),
}


@pytest.mark.parametrize("picture", DRAW.values(), ids=DRAW)
def test_a_new_figure_has_title_labels_and_legend(picture, pat, positives, sample, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda *_: pytest.fail("it shows"))
    other, _ = plt.subplots()
    display = picture(pat, positives, sample, None)
    assert display.ax_.figure is display.figure_
    assert display.figure_ is not other
    assert plt.get_fignums() == [1, 2]
    assert display.ax_.get_title()
    assert display.ax_.get_xlabel()
    # With its unit.
    assert display.ax_.get_ylabel().endswith(")")
    assert display.ax_.get_legend().get_texts()
    display.figure_.canvas.draw()


@pytest.mark.parametrize("picture", DRAW.values(), ids=DRAW)
def test_given_axes_are_drawn_on(picture, pat, positives, sample):
    figure, (left, right) = plt.subplots(1, 2)
    display = picture(pat, positives, sample, right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert right.has_data()
    assert not left.has_data()
    assert plt.get_fignums() == [1]


# Prevalences


def error_bars(ax):
    (container,) = ax.containers
    points, _, (bars,) = container
    return points.get_xydata().T, np.array([segment[:, 1] for segment in bars.get_segments()])


def test_prevalences_with_intervals_and_truth():
    shares = [prevalence(0.3), prevalence(0.02), prevalence(1.0)]
    ax = PrevalenceDisplay.from_predictions(shares, list("abc"), truth=[0.3, 0.0, 0.9]).ax_
    (places, values), ends = error_bars(ax)
    assert values == pytest.approx([30, 2, 100])
    assert ends == pytest.approx(np.array([[25, 35], [0, 7], [95, 100]]))
    assert places.tolist() == [0, 1, 2]
    assert tick_texts(ax) == ["a", "b", "c"]
    (crosses,) = [c for c in ax.collections if c.get_label() == "truth"]
    assert np.asarray(crosses.get_offsets())[:, 1] == pytest.approx([30, 0, 90])
    low, high = ax.get_ylim()
    assert low < 0
    assert high > 100


def test_truth_above_every_interval_is_in_the_picture():
    ax = PrevalenceDisplay.from_predictions([prevalence(0.1)], ["a"], truth=[0.9]).ax_
    assert ax.get_ylim()[1] > 90


@pytest.mark.parametrize("n", [1, 3, 30, 300])
@pytest.mark.parametrize("name", ["{}", "2026-01-{}", "a rather long name of station {}"])
def test_labels_do_not_run_into_each_other(n, name):
    labels = [name.format(f"{i:02}") for i in range(n)]
    display = PrevalenceDisplay.from_predictions([prevalence(0.3)] * n, labels)
    texts = tick_texts(display.ax_)
    assert texts == labels[:: 1 if n < 300 else 8]
    ticks = [text for text in display.ax_.get_xticklabels() if text.get_text()]
    if ticks[0].get_rotation() == 0:
        boxes = [text.get_window_extent() for text in ticks]
        assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))
    else:
        # Turned labels are parallel: what counts is the distance between their lines.
        ends = [text.get_window_extent().x1 for text in ticks]
        apart = np.diff(ends) * np.sin(np.radians(ticks[0].get_rotation()))
        line = ticks[0].get_fontsize() * display.figure_.dpi / 72
        assert apart.min() > line


@pytest.mark.parametrize("n", [2, 3, 30, 300])
def test_dates_stand_on_an_axis_of_time(n):
    days = [datetime.date(2026, 1, 12) + datetime.timedelta(days=3 * i) for i in range(n)]
    ax = PrevalenceDisplay.from_predictions([prevalence(0.3)] * n, days).ax_
    (places, _), _ = error_bars(ax)
    assert [num2date(place).date() for place in places] == days
    texts = [text for text in tick_texts(ax) if text]
    assert 2 <= len(texts) <= 13
    # Days, months or years, no hours.
    assert not any(":" in text for text in texts)
    boxes = [text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()]
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(boxes))


def test_times_of_pandas_too():
    hours = list(pd.date_range("2026-01-12 20:00", periods=4, freq="h"))
    ax = PrevalenceDisplay.from_predictions([prevalence(0.3)] * 4, hours).ax_
    assert "21:00" in tick_texts(ax)


def test_one_date_is_a_label():
    day = datetime.date(2026, 1, 12)
    assert tick_texts(PrevalenceDisplay.from_predictions([prevalence(0.3)], [day]).ax_) == [
        "2026-01-12"
    ]


def test_a_dollar_is_no_formula():
    ax = PrevalenceDisplay.from_predictions([prevalence(0.3)] * 2, ["$1$", "$2"]).ax_
    ax.figure.canvas.draw()


def test_groups_of_a_frame(positives, sample):
    columns = list("abc")
    model = PAT(random_state=0).fit(pd.DataFrame(positives, columns=columns))
    nights = pd.to_datetime(["2026-01-12", "2026-01-14"])[np.arange(400) % 2]
    frame = pd.DataFrame(sample, columns=columns).assign(night=nights, trap="north")
    ax = PrevalenceDisplay.from_estimator(model, frame, "night").ax_
    answers = list(model.quantify_groups(frame, "night").values())
    (places, values), ends = error_bars(ax)
    assert values == pytest.approx([100 * p for p in answers])
    expected = [[100 * p.interval.low, 100 * p.interval.high] for p in answers]
    assert ends == pytest.approx(np.array(expected))
    assert np.diff(places) == 2
    assert ax.get_xlabel() == "night"
    both = PrevalenceDisplay.from_estimator(model, frame, ["trap", "night"]).ax_
    assert tick_texts(both)[0].startswith("north, 2026-01-12")


@pytest.mark.parametrize(
    ("labels", "truth", "sentence"),
    [
        (["a"], None, "labels has 1 entries for 2 prevalences"),
        (["a", "b"], [0.1], "truth has 1 entries for 2 prevalences"),
    ],
)
def test_one_label_and_one_truth_for_each(labels, truth, sentence):
    with pytest.raises(ValueError, match=sentence):
        PrevalenceDisplay.from_predictions([prevalence(0.3)] * 2, labels, truth=truth)


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="no prevalence"):
        PrevalenceDisplay.from_predictions([], [])


# PAT's curve


def test_the_curve_is_the_definition_of_pat(pat, sample):
    ax = PATCurveDisplay.from_estimator(pat, sample).ax_
    scores = pat.scorer_.score_samples(sample)
    passed = [np.mean(scores > edge) for edge in pat.edges_]
    q, curve = lines(ax)["estimate with one threshold"]
    assert q == pytest.approx(np.arange(25, 76) / 100)
    assert curve == pytest.approx(100 * np.minimum(1, passed / (1 - q)))
    (name,) = [name for name in lines(ax) if name.startswith("median")]
    assert lines(ax)[name][1] == pytest.approx([np.median(curve)] * 2)
    assert name == f"median, the estimate: {np.median(curve):.1f} %"


def test_the_band_is_the_interval_of_each_point(pat, sample):
    p = pat.quantify(sample)
    ax = PATCurveDisplay.from_predictions(p).ax_
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    q, curve = p.details["q"], p.details["curve"]
    half = curve_half_width(curve, q, p.n_labeled, p.n_unlabeled)
    for i in (0, 20, 50):
        drawn = corners[np.isclose(corners[:, 0], q[i])][:, 1]
        ends = np.clip([curve[i] - half[i], curve[i] + half[i]], 0, 1)
        assert [drawn.min(), drawn.max()] == pytest.approx(100 * ends)


def point_coverage(q, share, n_unlabeled):
    rng = np.random.default_rng(0)
    n_labeled, n_draws = 300, 4000
    # Where no negative passes, all that counts are the positives of either sample.
    edges = np.quantile(rng.random((n_draws, n_labeled)), q, axis=1)
    passed = rng.binomial(round(share * n_unlabeled), 1 - edges)
    found = passed / n_unlabeled / (1 - q)
    return np.mean(np.abs(found - share) <= curve_half_width(found, q, n_labeled, n_unlabeled))


@pytest.mark.parametrize("q", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_the_interval_of_a_point_holds_the_truth(q, share):
    assert point_coverage(q, share, n_unlabeled=8000) == pytest.approx(0.95, abs=0.012)


def test_the_interval_of_a_point_with_twenty_rows():
    # As its docstring says: the normal curve is a little too narrow for so few.
    assert point_coverage(0.75, 0.1, n_unlabeled=800) == pytest.approx(0.93, abs=0.012)


def test_a_single_quantile_has_a_bar(positives, sample):
    model = PAT(q=0.5, random_state=0).fit(positives)
    (bar,) = PATCurveDisplay.from_estimator(model, sample).ax_.collections
    low, high = bar.get_segments()[0][:, 1]
    assert low < 100 * model.quantify(sample) < high


def test_only_pat_has_a_curve(positives, sample):
    with pytest.raises(TypeError, match="ODIn has none"):
        PATCurveDisplay.from_estimator(ODIn().fit(positives), sample)
    with pytest.raises(ValueError, match="answer of BBE has no curve"):
        PATCurveDisplay.from_predictions(BBE().fit(positives).quantify(sample))


# Scores


@pytest.mark.parametrize("kind", [PAT, ODIn])
def test_scores_of_positives_and_sample(kind, positives, draw):
    sample = draw(np.random.default_rng(3), 150, 50)
    model = kind(random_state=0).fit(positives)
    display = ScoreDistributionDisplay.from_estimator(model, positives, sample)
    found, learned = (patch.get_data() for patch in display.ax_.patches)
    assert np.array_equal(found.edges, learned.edges)
    # The 50 negatives are far away, to the left of the axis, and the axis says so.
    assert found.values.sum() == pytest.approx(75)
    assert "25.0 % of the sample, 0." in display.ax_.get_xlabel()
    p = model.quantify(sample)
    assert 100 * p * 0.98 < learned.values.sum() <= 100 * p * (1 + 1e-9)
    assert f"as {100 * p:.1f} %" in display.ax_.get_legend().get_texts()[1].get_text()
    assert np.array_equal(lines(display.ax_)["thresholds"][0], model.edges_)


def test_positives_are_scored_as_in_fit(positives, sample, monkeypatch):
    seen = {}

    def remember(cls, positive_scores, sample_scores, thresholds, prevalence, **options):
        seen.update(positives=positive_scores, sample=sample_scores)

    model = PAT(random_state=0).fit(positives)
    monkeypatch.setattr(ScoreDistributionDisplay, "from_predictions", classmethod(remember))
    ScoreDistributionDisplay.from_estimator(model, positives, sample)
    # The thresholds are quantiles of these very scores.
    assert np.array_equal(np.quantile(seen["positives"], model.quantiles_), model.edges_)
    assert np.array_equal(seen["sample"], model.scorer_.score_samples(sample))


def test_a_loaded_model_draws_the_same(pat, positives, sample, tmp_path):
    pat.save(tmp_path / "model.poscount")
    loaded = poscount.load(tmp_path / "model.poscount")
    pictures = [
        ScoreDistributionDisplay.from_estimator(model, positives, sample).ax_.patches
        for model in (pat, loaded)
    ]
    for one, two in zip(*pictures, strict=True):
        assert np.array_equal(one.get_data().values, two.get_data().values)


def test_other_positives_are_refused(pat, positives, sample):
    with pytest.raises(ValueError, match=r"These are 199 positives, .* fitted on 200"):
        ScoreDistributionDisplay.from_estimator(pat, positives[1:], sample)


def test_a_method_without_a_score_is_refused(positives, sample):
    with pytest.raises(TypeError, match="BBE does not count along one score"):
        ScoreDistributionDisplay.from_estimator(BBE().fit(positives), positives, sample)


def test_a_row_at_minus_infinity_is_left_of_the_axis():
    rng = np.random.default_rng(0)
    sample = np.append(rng.normal(size=9), -np.inf)
    ax = ScoreDistributionDisplay.from_predictions(rng.normal(size=50), sample, [0.0], 0.9).ax_
    assert "10.0 % of the sample, 0.0 %" in ax.get_xlabel()
    assert np.isfinite(ax.get_xlim()).all()


# Without matplotlib


def test_without_matplotlib_a_sentence_names_the_extra():
    script = """
        import sys
        sys.modules["matplotlib"] = None
        from poscount import Prevalence
        p = Prevalence(0.5, n_labeled=10, n_unlabeled=10, method="PAT")
        try:
            p.plot()
        except ImportError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert 'pip install "poscount[plot]"' in told
