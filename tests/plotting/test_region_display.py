"""RCQ's regions: the list of them by a plain count, and the picture of the list."""

import re

import numpy as np
import pandas as pd
import pytest

from poscount import PAT, RCQ
from poscount.methods.regions.rule import bounds

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from matplotlib import pyplot as plt  # noqa: E402

from poscount.plotting import RegionDisplay, SharesDisplay  # noqa: E402

NAMES = ["a", "b", "c"]


@pytest.fixture(autouse=True)
def figures():
    yield
    plt.close("all")


def halves(rng, n, first=0.5):
    """Rows of two clusters, with a share of the first."""
    rows = rng.normal(size=(n, 3))
    rows[rng.random(n) >= first, 0] += 4.0
    return rows


def regions_of(model, sample, n_regions=15):
    return model._view(model.count(sample)).most_informative_regions(n_regions)


@pytest.fixture(scope="module")
def learned():
    return pd.DataFrame(halves(np.random.default_rng(0), 300), columns=NAMES)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(1)
    rows = np.vstack([halves(rng, 200), halves(rng, 600, first=0.0)])
    return pd.DataFrame(rows, columns=NAMES)


@pytest.fixture(scope="module")
def model(learned):
    return RCQ(random_state=0).fit(learned)


def test_the_first_region_decided(model, sample):
    regions = regions_of(model, sample)
    assert len(regions) == 15
    assert regions[0]._asdict() == model.quantify(sample).details["region"]
    assert [r.high for r in regions] == sorted(r.high for r in regions)
    every = regions_of(model, sample, 10**6)
    assert every[:15] == regions
    assert len(every) == len(model.part_.rule.indices)


def test_regions_by_a_plain_count(model, learned, sample):
    every = regions_of(model, sample, 10**6)
    n_checked = 0
    for region in every:
        words = re.fullmatch(r"(\w) (<=|>) (\S+) at any score", region.where)
        if words is None:
            continue
        name, sign, edge = words[1], words[2], float(words[3])
        # The words are rounded, and no row lies between them and the edge.
        inside = [(x[name] <= edge) == (sign == "<=") for x in (learned, sample)]
        assert region.share == pytest.approx(inside[0].mean(), abs=1e-12)
        assert region.ratio == pytest.approx(inside[1].mean() / inside[0].mean(), rel=1e-12)
        n_checked += 1
    assert n_checked == 24


def test_the_bounds_are_those_of_the_rule(model, sample):
    every = regions_of(model, sample, 10**6)
    shares = np.array([r.share for r in every])
    ratios = np.array([r.ratio for r in every])
    _, low, high = bounds(
        (ratios * shares * len(sample))[np.newaxis], np.array([[len(sample)]]), shares * 300, 300
    )
    assert np.allclose(low[0], [r.low for r in every])
    assert np.allclose(high[0], [r.high for r in every])


def test_few_positives_have_no_regions(learned, sample):
    model = RCQ(random_state=0).fit(learned[:15])
    assert regions_of(model, sample) == []
    with pytest.raises(ValueError, match="no region to draw"):
        RegionDisplay.from_estimator(model, sample)


def test_the_picture_shows_the_list(model, sample):
    display = RegionDisplay.from_estimator(model, sample, n_regions=6)
    ax, p = display.ax_, model.quantify(sample)
    assert ax.figure is display.figure_
    regions = regions_of(model, sample, 6)
    words = [text.get_text() for text in ax.get_yticklabels()]
    assert [word.rpartition(" (")[0] for word in words] == [r.where for r in regions]
    lines = {line.get_label(): line.get_xydata() for line in ax.get_lines()}
    dots = np.vstack([lines["region that decided, with its bounds"], lines["other regions"]])
    assert np.allclose(dots, [(100 * r.ratio, i) for i, r in enumerate(regions)])
    assert np.allclose(lines[f"answer: {100 * p:.1f} %"][:, 0], 100 * p)
    bars = np.vstack([part[:, 0] for c in ax.collections for part in c.get_segments()])
    expected = 100 * np.clip([(r.low, r.high) for r in regions], 0, 1)
    assert np.allclose(bars, expected)
    low, high = ax.get_xlim()
    assert low <= bars.min()
    assert bars.max() <= high
    assert ax.get_xlabel() == "share of positives in the sample (%)"


def test_names_are_shown_as_they_are(learned, sample):
    odd = {"a": "$x^2$", "b": "b", "c": "c"}
    model = RCQ(random_state=0).fit(learned.rename(columns=odd))
    display = RegionDisplay.from_estimator(model, sample.rename(columns=odd), n_regions=400)
    display.figure_.canvas.draw()
    assert any(r"\$x^2\$ <=" in text.get_text() for text in display.ax_.get_yticklabels())


def test_only_rcq_has_regions(learned, sample):
    with pytest.raises(TypeError, match="PAT has none"):
        RegionDisplay.from_estimator(PAT(random_state=0).fit(learned), sample)


def test_shares_on_axes_of_the_caller():
    _, ax = plt.subplots()
    display = SharesDisplay.from_shares(
        ["a <= 1", "$b"], [0.1, 0.4], [0.3, 0.2], names=("one", "two"), xlabel="share (%)", ax=ax
    )
    assert display.ax_ is ax
    first, second = (c.get_offsets() for c in ax.collections[1:])
    assert np.allclose(first, [(10, 0), (40, 1)])
    assert np.allclose(second, [(30, 0), (20, 1)])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]
