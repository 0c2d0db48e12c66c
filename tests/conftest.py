import json
import os
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

from poscount import PAT, Prevalence, registry
from poscount.cli import main

# A busy machine is slow, not wrong.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

COLUMNS = ("a", "b", "c")

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.fixture(params=FRAMES)
def make_frame(request):
    """Makes a frame of one kind from a dict of columns or a matrix."""

    def make(columns):
        if isinstance(columns, np.ndarray):
            columns = dict(zip(COLUMNS, columns.T, strict=True))
        return FRAMES[request.param](columns)

    make.kind = request.param
    return make


@pytest.fixture(scope="session")
def draw():
    """Draws rows that are positive or far away, shuffled: `draw(rng, 30, 70)`."""
    mixing = np.array([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, -0.5, 0.3]])

    def draw(rng, n_positive, n_negative=0):
        rows = rng.normal(size=(n_positive + n_negative, 3)) @ mixing + [1.0, -2.0, 5.0]
        rows[n_positive:] += 100.0
        return rng.permutation(rows)

    return draw


@pytest.fixture(scope="session")
def positives(draw):
    return draw(np.random.default_rng(1), 200)


@pytest.fixture(scope="session")
def sample(draw):
    return draw(np.random.default_rng(2), 160, 240)


@pytest.fixture(scope="session")
def pat(positives):
    return PAT(random_state=0).fit(positives)


COUNTING = {name: registry.method(name) for name in ("odin", "pat", "rcq")}


@pytest.fixture(scope="session", params=[*COUNTING, "rcq with unlabeled rows"])
def counting(request, positives, sample):
    """Every reusable quantifier, fitted on columns with names; RCQ also with a learned score."""
    labeled, other = (
        pa.table(dict(zip(COLUMNS, rows.T, strict=True))) for rows in (positives, sample)
    )
    if request.param in COUNTING:
        return COUNTING[request.param](random_state=0).fit(labeled)
    return COUNTING["rcq"](random_state=0).fit(labeled, unlabeled=other)


@pytest.fixture(scope="session")
def named_pat(positives):
    """PAT, fitted on columns with names."""
    return PAT(random_state=0).fit(pa.table(dict(zip(COLUMNS, positives.T, strict=True))))


@pytest.fixture(scope="session")
def trap(draw):
    """Some thousand rows as an Arrow table, with groups of three kinds and a time."""
    rng = np.random.default_rng(3)
    rows = draw(rng, 1200, 1800)
    n = len(rows)
    return pa.table(
        {
            "a": rows[:, 0],
            "b": rows[:, 1],
            "c": rows[:, 2],
            "night": rng.choice(["mon", "tue", "wed"], n),
            "site": rng.integers(0, 40, n),
            "at": np.datetime64("2026-11-01T22:00:00", "us")
            + np.sort(rng.integers(0, 4 * 3600 * 10**6, n)).astype("timedelta64[us]"),
        }
    )


@pytest.fixture(scope="session")
def weighted_trap(trap):
    """The same rows with whole weights, `times`, and survey weights, `weight`; some are 0."""
    rng = np.random.default_rng(4)
    weight = np.where(rng.random(len(trap)) < 0.05, 0.0, rng.gamma(2.0, 1.0, len(trap)))
    times = rng.integers(0, 4, len(trap))
    return trap.append_column("times", [times]).append_column("weight", [weight])


@pytest.fixture(scope="session")
def dated(trap):
    """Rows whose groups may be missing: words, days as text, and times."""
    rng = np.random.default_rng(4)
    n = len(trap)
    start = np.datetime64("2025-12-20T00:00:00", "us")
    times = start + rng.integers(0, 40 * 86400, n).astype("timedelta64[s]")
    missing = rng.random((3, n)) < 0.1
    when = pa.array(times, mask=missing[0])
    day = pa.array(np.datetime_as_string(times, "D").astype(object), mask=missing[1])
    night = pa.array(np.array(trap["night"].to_pylist(), object), mask=missing[2])
    rows = trap.select(["a", "b", "c"])
    return rows.append_column("night", night).append_column("day", day).append_column("when", when)


@pytest.fixture(scope="session")
def unavailable():
    """Skips on a user's machine; in CI nothing may be skipped."""
    return pytest.fail if os.environ.get("CI") else pytest.skip


@pytest.fixture
def small_blocks(monkeypatch):
    """Makes every count go through many blocks, whose size is returned."""
    monkeypatch.setattr("poscount.base.counting.BLOCK_ROWS", 7)
    monkeypatch.setattr("poscount.data.rows.BLOCK_ROWS", 7)
    return 7


@pytest.fixture(scope="session")
def web():
    """A server of the page with its usual limits."""
    for module in ("fastapi", "uvicorn", "python_multipart", "httpx"):
        pytest.importorskip(module)
    from web_server import served

    with served() as web:
        yield web


@pytest.fixture
def visit(web):
    """A session of that server."""
    visit = web.visit()
    yield visit
    # The server has room for so many sessions only.
    visit.http.delete(visit.base)


@pytest.fixture(autouse=True)
def answers_are_compared_whole(monkeypatch):
    """Two prevalences compared by ``==`` would hide half of an answer: use `answers.py`."""

    def equal(self, other):
        if isinstance(other, Prevalence):
            raise AssertionError("compare whole answers: answers.assert_same_answer(one, other)")
        return float.__eq__(self, other)

    monkeypatch.setattr(Prevalence, "__eq__", equal, raising=False)
    monkeypatch.setattr(Prevalence, "__hash__", float.__hash__, raising=False)


class Outcome:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def results(self):
        assert self.status == 0, self.err
        return json.loads(self.out)


@pytest.fixture
def poscount_(monkeypatch, capsys):
    """Run the command and give back its exit status and what it printed."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["poscount", *map(str, arguments)])
        try:
            main()
            status = 0
        except SystemExit as stop:
            status = stop.code or 0
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return Outcome(status, printed.out, printed.err)

    return run


@pytest.fixture
def refused(poscount_):
    """Run a command that must fail, and give back its one sentence."""

    def run(*arguments):
        outcome = poscount_(*arguments)
        assert outcome.status == 2
        assert outcome.out == ""
        lines = outcome.err.splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("poscount: ")
        return lines[0]

    return run


@pytest.fixture
def plain_pictures():
    """The settings of a new process: QuaPy changes them when it is imported."""
    matplotlib = pytest.importorskip("matplotlib")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        yield
