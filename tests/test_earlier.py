"""Answers have not changed since they were written down, but for those that may."""

import math
from pathlib import Path

import pytest

from benchmarks.regression import answers
from benchmarks.regression.answer_cases import PARTS, QUICK

EARLIER = Path(__file__).parent / "earlier" / "answers.json.gz"
VERSION = {answers.VERSION: "1"}


@pytest.mark.parametrize(
    ("parts", "fewest"),
    [(QUICK, 200), pytest.param(PARTS, 1400, marks=pytest.mark.slow)],
    ids=["quick", "all"],
)
def test_answers_are_as_before(parts, fewest):
    found = answers.answers(parts)
    earlier = {name: answer for name, answer in answers.read(EARLIER).items() if name in found}
    assert len(found) == len(earlier) > fewest
    # Another machine's linear algebra may differ in the last bits.
    assert list(answers.differences(earlier, found, tolerance=1e-9)) == []


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({"a: hash": "x", "b: hash": "x", "c: hash": "y"}, []),
        ({"a: hash": "x", "b: hash": "z", "c: hash": "y"}, ["b: hash and a: hash were equal"]),
        ({"a: hash": "x", "b: hash": "x", "c: hash": "x"}, ["c: hash and a: hash are now equal"]),
    ],
)
def test_hashes_are_compared_by_a_table(new, expected):
    old = {"a: hash": "1", "b: hash": "1", "c: hash": "2"}
    assert list(answers.differences(old | VERSION, new | VERSION, 0.0)) == expected


def test_differences_are_found(monkeypatch):
    monkeypatch.setattr(answers, "MAY_DIFFER", {})
    old = {"p": {"value": (0.5).hex(), "H": 1, "codes": "far drift"}, "draw: p": 1} | VERSION
    new = {"p": {"value": (0.25).hex(), "G": 1, "codes": "far moved"}, "draw: p": 2} | VERSION
    assert len([*answers.differences(old, new, 0.0)]) == 5
    monkeypatch.setattr(answers, "RENAMED", {"H": "G", "drift": "moved"})
    monkeypatch.setattr(answers, "MAY_DIFFER", {"draw: ": math.inf})
    different = "p value: 0x1.0000000000000p-1 became 0x1.0000000000000p-2"
    assert [*answers.differences(old, new, 0.0)] == [different]
    assert [*answers.differences(old, new, 0.3)] == []
    monkeypatch.setattr(answers, "MAY_DIFFER", {"draw: ": math.inf, "p": 0.3})
    assert [*answers.differences(old, new, 0.0)] == []
