"""The benchmark that watches: its intervals hold, and the scale page quotes its last figures."""

import json
import math
import sys

import numpy as np
import pytest

from benchmarks.speed import watch
from doc_blocks import ROOT


@pytest.mark.parametrize("n", [6, 7, 15, 16, 40])
def test_intervals_of_the_median_hold(n):
    _, low, high = watch.median_interval([float(i) for i in range(n)])
    # The true median lies outside if at most `low` values are below it, or above it.
    outside = 2 * sum(math.comb(n, k) for k in range(int(low) + 1)) / 2**n
    assert low + high == n - 1
    assert outside <= 0.05
    one_more = outside + 2 * math.comb(n, int(low) + 1) / 2**n
    assert one_more > 0.05


def test_few_turns_give_all_of_their_range():
    assert watch.median_interval([3.0, 1.0, 2.0]) == (2.0, 1.0, 3.0)


def test_ratios_are_those_of_turns_and_targets_are_judged():
    figure = watch.Figure("a / b", lambda: None, ratio_at_most=2.0, value_at_most=9.0)
    baseline = np.array([1.0, 2.0, 4.0, 8.0, 2.0, 1.0])
    found = watch.result(figure, baseline.tolist(), (2 * baseline).tolist())
    assert (found["ratio"], found["low"], found["high"], found["met"]) == (2.0, 2.0, 2.0, True)
    slower = watch.result(figure, baseline.tolist(), (3 * baseline).tolist())
    assert slower["met"] is False


def test_names_of_figures_are_unique():
    names = [figure.name for figure in watch.figures([])]
    assert len(names) == len(set(names)) > 20


def test_a_page_gets_the_last_result_of_each_figure(tmp_path, capsys, monkeypatch):
    name = "count rcq / count pat, d = 8"
    (figure,) = (f for f in watch.figures([name]) if f.name == name)
    lines = [
        {"figures": {name: watch.result(figure, [1.0] * 6, [ratio] * 6)}} for ratio in (9.0, 1.25)
    ]
    history, page = tmp_path / "history.jsonl", tmp_path / "page.md"
    history.write_text("".join(json.dumps(line) + "\n" for line in lines))
    page.write_text("Before\n<!-- watch: begin count|memory -->\nold\n<!-- watch: end -->\nafter\n")
    arguments = ["watch.py", "write", str(page), "--history", str(history)]
    monkeypatch.setattr(sys, "argv", arguments)
    for _ in range(2):
        watch.main()
    text = page.read_text()
    assert text.startswith("Before\n<!-- watch: begin count|memory -->\n| figure |")
    assert text.endswith("<!-- watch: end -->\nafter\n")
    assert f"| {name} | 1.25 | 1.25 to 1.25 |" in text
    assert "old" not in text
    assert not capsys.readouterr().out


def test_the_scale_page_quotes_the_last_figures(tmp_path, monkeypatch):
    copy = tmp_path / "speed.md"
    page = (ROOT / "benchmarks" / "results" / "speed.md").read_text(encoding="utf-8")
    copy.write_text(page, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["watch.py", "write", str(copy)])
    watch.main()
    assert copy.read_text(encoding="utf-8") == page
