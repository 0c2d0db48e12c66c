"""The verdict: whether an assumption looks broken, and what to do about it."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from poscount import RCQ
from poscount.results.verdict import (
    NO_DOUBT,
    STATUSES,
    AnswerWarning,
    Verdict,
    verdict,
    verdict_of_many,
)

RNG = np.random.default_rng(0)
POSITIVES = RNG.normal(size=(400, 4))


def caution(severity, reason, action=""):
    return AnswerWarning("code", "A sentence.", 1.0, severity, reason, action)


def test_the_worst_severity_decides():
    note, check = caution("note", "few rows"), caution("check", "zeros in x", "Look at x.")
    no_use, other = caution("do not use", "units of y"), caution("do not use", "codes in z")
    assert verdict([]) == verdict([note]) == Verdict(NO_DOUBT)
    assert str(verdict([note])) == "No reason to doubt."
    assert str(verdict([note, check])) == "Check: zeros in x. Look at x."
    found = verdict([check, no_use, other, no_use])
    assert found.status == "do not use"
    assert str(found) == "Do not use: units of y; codes in z."


def test_names_of_columns_cannot_break_a_line():
    found = verdict([caution("check", "column a\nb is strange", "Look at a\x1b[2J.")])
    assert str(found).isprintable()


def test_many_verdicts_in_one_sentence():
    check, fine, useless = Verdict("check", "a"), Verdict(NO_DOUBT), Verdict("do not use", "b")
    assert verdict_of_many([useless, check, check, fine], "shares") == (
        "Do not use 1 of 4 shares; check 2; no reason to doubt the others."
    )
    assert verdict_of_many([check, check]) == "Check 2 of 2 groups."


def test_precision_is_no_matter_of_the_verdict():
    """Few positives and few rows make a wide interval, and no doubt."""
    rng = np.random.default_rng(1)
    rows = np.vstack([rng.normal(size=(20, 4)), rng.normal(size=(20, 4)) + 5])
    p = RCQ(random_state=0).fit(POSITIVES[:40]).quantify(rows)
    assert p.interval.high - p.interval.low > 0.2
    assert p.verdict.status == NO_DOUBT


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9, 1.0])
def test_most_clean_samples_are_not_doubted(share):
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = round(600 * share)
        rows = np.vstack([rng.normal(size=(n, 4)), rng.normal(size=(600 - n, 4)) + 3])
        found.append(RCQ(random_state=0).fit(POSITIVES).quantify(rows).verdict.status)
    assert found.count(NO_DOUBT) >= 10
    assert "do not use" not in found


def test_a_shift_of_half_a_standard_deviation_is_doubted():
    """All columns at once, with positives that are half of the sample."""
    found = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        mixing = rng.normal(size=(6, 6))
        ours, theirs = rng.normal(size=(800, 6)) @ mixing, rng.normal(size=(400, 6)) @ mixing
        shift = 0.5 * ours.std(axis=0)
        sample = np.vstack([ours[400:], theirs + 6]) + shift
        p = RCQ(random_state=0).fit(ours[:400]).quantify(sample)
        found.append(p.verdict.status != NO_DOUBT or abs(p - 0.5) < 0.15)
    assert sum(found) >= 5


def test_where_it_is_told():
    frame = pd.DataFrame(RNG.normal(size=(600, 2)), columns=["a", "b"])
    model = RCQ(random_state=0).fit(frame[:300])
    table = model.quantify_by(frame.assign(site=["x", "y"] * 300), "site")
    assert set(table["verdict"]) <= set(STATUSES)
    p = model.quantify(frame)
    assert json.loads(json.dumps(p.to_dict()))["verdict"]["status"] == p.verdict.status
    assert pickle.loads(pickle.dumps(p)).verdict == p.verdict
    assert str(p.verdict) in p.summary()
