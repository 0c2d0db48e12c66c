"""No surface contradicts another: the same answer as object, line, table, JSON, report and page."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from poscount import RCQ, diagnose
from poscount.results.verdict import SEVERITIES, STATUSES

COLUMNS = ["length", "width", "speed", "angle"]
RNG = np.random.default_rng(0)
MIXING = RNG.normal(size=(4, 4))
POSITIVES = pd.DataFrame(RNG.normal(size=(300, 4)) @ MIXING + 20, columns=COLUMNS)


def clean(rows):
    return rows


def other_units(rows):
    return rows.assign(speed=1000 * rows["speed"])


def shifted(rows):
    return rows + 0.7 * POSITIVES.std()


def samples():
    """Thirty: clean, in other units and shifted, with shares from 0 to 1."""
    for seed, share in enumerate(np.linspace(0, 1, 10)):
        rng = np.random.default_rng(seed)
        n = round(400 * share)
        rows = np.vstack([rng.normal(size=(n, 4)), rng.normal(size=(400 - n, 4)) + 4])
        frame = pd.DataFrame(rows @ MIXING + 20, columns=COLUMNS)
        for change in (clean, other_units, shifted):
            yield pytest.param(change(frame), id=f"{change.__name__} {share:.1f}")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    fitted = RCQ(random_state=0).fit(POSITIVES)
    fitted.save(tmp_path_factory.mktemp("model") / "m.poscount")
    return fitted


@pytest.mark.parametrize("sample", [*samples()])
def test_all_surfaces_say_the_same(model, sample):
    p = model.quantify(sample)
    status, low, high = p.verdict.status, *p.interval
    assert status == STATUSES[max((SEVERITIES.index(w.severity) for w in p.warnings), default=0)]
    record = json.loads(json.dumps(p.to_dict()))
    assert record["verdict"]["status"] == status
    assert (record["interval"]["low"], record["interval"]["high"]) == (low, high)
    assert [each["code"] for each in record["warnings"]] == [w.code for w in p.warnings]
    assert str(p.verdict) in p.summary()
    assert f"{100 * low:.1f} to {100 * high:.1f} %" in p.summary()
    assert f"[{low:.3f}, {high:.3f}]" in repr(p)
    page = p._repr_html_()
    assert f"Verdict: {status.capitalize()}" in page
    table = model.quantify_by(sample.assign(site="here"), "site")
    row = table.iloc[0]
    assert (row["verdict"], row["low"], row["high"]) == (status, low, high)
    assert row["warnings"].split() == [w.code for w in p.warnings]
    # The median is the value, unless it is exactly 0 or 1.
    median = float(p.distribution.quantile(0.5))
    assert float(p) == pytest.approx(median, abs=1e-9)
    report = diagnose(model, sample, positives=POSITIVES)
    assert report.prevalence.verdict == p.verdict
    assert set(report.warnings) == set(p.warnings)
    assert report.verdict == p.verdict
    assert str(p.verdict) in str(report)


@pytest.mark.parametrize("sample", [*samples()][::7])
def test_the_command_line_says_the_same(model, sample, tmp_path, poscount_):
    path, rows = tmp_path / "m.poscount", tmp_path / "rows.csv"
    model.save(path)
    sample.to_csv(rows, index=False)
    p = model.quantify(pd.read_csv(rows))
    (told,) = poscount_("quantify", path, rows, "--format", "json").results()
    assert told["prevalence"] == pytest.approx(float(p), abs=1e-12)
    assert told["verdict"]["status"] == p.verdict.status
    ends = told["interval"]["low"], told["interval"]["high"]
    assert ends == pytest.approx((p.interval.low, p.interval.high), abs=1e-12)
    text = poscount_("quantify", path, rows).out
    assert str(p.verdict) in text
    assert re.search(rf"\[{p.interval.low:.3f}, {p.interval.high:.3f}\]", text)
