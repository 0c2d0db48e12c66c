"""The checks: their statistics by the formula, their alarms, true and false, and their words."""

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plain import region_counting
from poscount import PAT, RCQ, Mahalanobis
from poscount.calibration.doubt import BREAKS, shipped_doubt
from poscount.checks import (
    BROKEN_ASSUMPTION,
    FEW_POSITIVES,
    MODEL_CHECKS,
    OVERLAP,
    SAMPLE_CHECKS,
    TIED_SCORES,
    Evidence,
    batch_warnings,
    model_results,
)
from poscount.checks.check import BatchWarnings
from poscount.checks.evidence import MissingEvidenceError
from poscount.methods import pat as pat_module
from poscount.methods.regions.core import core_difference, core_dof
from poscount.methods.regions.part import EDGE_QUANTILES
from two_clusters import N_LABELED, N_UNLABELED, halves, sample_of

# By the formula


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 70)), min_size=1, max_size=6),
    st.integers(50, 90),
    st.integers(70, 100),
)
def test_core_difference_by_the_formula(below, n, other_n):
    expected = 0.0
    for x, y in below:
        a, b, m = x / n, y / other_n, (x + y) / (n + other_n)
        expected += (a - b) ** 2 / (max(m * (1 - m), 0.02) * (1 / n + 1 / other_n)) / len(below)
    x, y = np.array(below, float).T
    found = core_difference(x, np.array(float(n)), y, np.array(float(other_n)))
    assert found == pytest.approx(expected, rel=1e-9)


def test_an_empty_core_says_nothing():
    assert core_difference(np.zeros((1, 3)), np.zeros(1), np.ones(3), np.array(5.0)) == 0
    assert core_difference(np.zeros((1, 0)), np.ones(1), np.ones(0), np.array(5.0)) == 0


def test_statistics_of_an_answer():
    rng = np.random.default_rng(0)
    positives = halves(rng, N_LABELED)
    sample = sample_of(rng, 0.4, lambda rng, n: halves(rng, n, first=0.0))
    positives, sample = region_counting.in_own_order(positives, sample, seed=0)
    model = RCQ(random_state=0).fit(positives)
    answer = model.quantify(sample)
    # H by masks over the rows.
    edge = model.part_.edges_[np.abs(EDGE_QUANTILES - 0.4).argmin()]
    in_sample = sample[model.part_.scorer_.score_samples(sample) > edge]
    in_positives = model.part_.binned_[:, 0] >= 4
    squares = []
    for j, thresholds in enumerate(model.part_.cuts_):
        for i, threshold in enumerate(thresholds):
            a = (in_sample[:, j] <= threshold).mean()
            b = (model.part_.binned_[in_positives, 1 + j] <= i).mean()
            n, other = len(in_sample), in_positives.sum()
            m = (a * n + b * other) / (n + other)
            squares.append((a - b) ** 2 / (max(m * (1 - m), 0.02) * (1 / n + 1 / other)))
    assert answer.details["core_difference"] == pytest.approx(np.mean(squares))
    # PAT with the same scorer and the same folds.
    same = PAT(Mahalanobis("ledoit-wolf"), random_state=0).fit(positives)
    uncapped = np.median(
        [
            (same.scorer_.score_samples(sample) > t).mean() / (1 - q)
            for t, q in zip(same.edges_, same.quantiles_, strict=True)
        ]
    )
    assert answer.details["pat"] == pytest.approx(uncapped)
    excess = (uncapped - 1) / np.sqrt(0.8 * (1 / N_LABELED + 1 / N_UNLABELED))
    assert answer.details["core_excess"] == pytest.approx(excess)
    assert answer.details["disagreement"] == pytest.approx(
        (uncapped - answer.details["uncalibrated"]) / answer.details["gap"]
    )


# Alarms


def test_freedom_of_independent_cuts():
    below = np.random.default_rng(0).random((20_000, 12)) < 0.3
    assert core_dof(below) == pytest.approx(12, abs=0.1)
    assert core_dof(np.repeat(below, 3, axis=1)) == pytest.approx(12, abs=0.1)
    assert core_dof(np.ones((5, 3), bool)) == 1


# Warnings and findings, from one check


def evidence(**known):
    return Evidence(1, n_labeled=100, feature_names=["a", "b"], **known)


LIMIT = float(shipped_doubt().check_[2])


def doubt(share, kind="prepared"):
    broken = np.zeros((1, len(BREAKS)))
    broken[0, 0], broken[0, BREAKS.index(kind)] = 1 - share, share
    return {"broken": broken, "estimate": np.array([0.1])}


def warning_of(check, evidence):
    result = check.look(evidence)
    return result.warning(0) if result.severity[0] else None


# A check, and evidence just beyond and just at its limit.
LIMITS = [
    (BROKEN_ASSUMPTION, doubt(LIMIT + 1e-6), LIMIT + 1e-6, doubt(LIMIT)),
    (OVERLAP, {"core_excess": np.array([1.66])}, 1.66, {"core_excess": np.array([1.65])}),
    (TIED_SCORES, {"max_tie_share": 0.051}, 0.051, {"max_tie_share": 0.05}),
]


@pytest.mark.parametrize(
    ("check", "beyond", "value", "at_limit"), LIMITS, ids=lambda x: getattr(x, "code", "")
)
def test_limits_of_warnings(check, beyond, value, at_limit):
    warning = warning_of(check, evidence(**beyond))
    assert (warning.code, warning.value) == (check.code, pytest.approx(value))
    assert warning_of(check, evidence(**at_limit)) is None


@pytest.mark.parametrize("kind", BREAKS[1:])
def test_the_likeliest_break_is_named(kind):
    share = shipped_doubt().do_not_use_ + 1e-6
    found = warning_of(BROKEN_ASSUMPTION, evidence(**doubt(share, kind)))
    assert found.severity == "do not use"
    others = [
        warning_of(BROKEN_ASSUMPTION, evidence(**doubt(share, other)))
        for other in BREAKS[1:]
        if other != kind
    ]
    assert found.reason not in [other.reason for other in others]
    assert found.action
    assert found.action in found.sentence


def test_few_positives_for_a_plain_covariance():
    rows = np.random.default_rng(0).normal(size=(60, 20))
    plain, shrunk = (Mahalanobis(kind).fit(rows) for kind in ("empirical", "ledoit-wolf"))
    # By the formula: 54 rows in 20 dimensions look 54 / 32 times too far, 60 rows 60 / 38 times.
    bias = 0.8 * np.sqrt(10) * np.log((54 / 32) / (60 / 38))
    few = Evidence(1, n_labeled=60, feature_names=["a"] * 20, scorer=plain)
    assert warning_of(FEW_POSITIVES, few).value == pytest.approx(bias)
    assert f"{1 + bias:.2f}" in warning_of(FEW_POSITIVES, few).sentence
    enough = Evidence(1, n_labeled=60, feature_names=["a"] * 20, scorer=shrunk)
    assert warning_of(FEW_POSITIVES, enough) is None


def test_a_singular_covariance_is_about_directions():
    rows = np.random.default_rng(0).normal(size=(60, 2))
    scorer = Mahalanobis().fit(np.column_stack([rows, rows[:, 0], np.ones(60)]))
    known = Evidence(1, n_labeled=60, feature_names=list("abcd"), scorer=scorer, n_redundant=0)
    (warning,) = BatchWarnings(1, model_results(known))[0]
    assert (warning.code, warning.value) == ("singular-covariance", 2)
    assert "2 of 4 directions (constant: d)" in warning.sentence


def test_the_order_of_the_warnings():
    scorer = Mahalanobis().fit(np.random.default_rng(0).normal(size=(22, 20)))
    of_model = model_results(
        Evidence(
            1,
            n_labeled=30,
            feature_names=["a"] * 20,
            scorer=scorer,
            n_redundant=0,
            max_tie_share=0.3,
            answered_by_pat=True,
        )
    )
    assert [result.check.code for result in of_model] == [
        "few-positives-for-rcq",
        "few-positives",
        "tied-scores",
    ]
    of_sample = evidence(
        **doubt(0.9999),
        core_excess=np.array([2.0]),
        unlike_training=np.array([True]),
    )
    assert [warning.code for warning in batch_warnings(of_sample, of_model)[0]] == [
        "few-positives-for-rcq",
        "broken-assumption",
        "unlike-experience",
        "few-positives",
        "tied-scores",
    ]
    assert batch_warnings(evidence())[0] == ()


@pytest.mark.parametrize("check", SAMPLE_CHECKS, ids=lambda check: check.code)
def test_a_check_without_its_evidence_is_not_made(check):
    nothing = Evidence(1, n_labeled=100, feature_names=["a"])
    with pytest.raises(MissingEvidenceError):
        check.look(nothing)
    assert batch_warnings(nothing)[0] == ()


def test_every_check_says_what_to_do_and_why_there_is_doubt():
    warned = (*MODEL_CHECKS, *SAMPLE_CHECKS)
    # These lower no verdict, or there is nothing that a user could do.
    no_reason = {"few-positives", "singular-covariance", "tied-scores"}
    assert {check.code for check in warned if not check.reason} == no_reason
    no_advice = {"singular-covariance", "unlike-experience"}
    assert {check.code for check in warned if not check.advice} == no_advice


def test_codes_are_told_apart():
    codes = [check.code for check in (*MODEL_CHECKS, *SAMPLE_CHECKS, OVERLAP)]
    assert len(set(codes)) == len(codes) == 20


def test_many_samples_get_the_warnings_that_each_gets_alone():
    broken = np.vstack([doubt(0.9999)["broken"], doubt(0.0)["broken"]])
    many = Evidence(
        2,
        n_labeled=100,
        broken=broken,
        estimate=np.array([0.1, 0.1]),
        unlike_training=np.array([False, True]),
    )
    found = batch_warnings(many)
    assert [[warning.code for warning in found[i]] for i in range(2)] == [
        ["broken-assumption"],
        ["unlike-experience"],
    ]
    assert found.codes().tolist() == ["broken-assumption", "unlike-experience"]
    assert found.fires("broken-assumption").tolist() == [True, False]
    assert found.without(["broken-assumption"]).codes().tolist() == ["", "unlike-experience"]
    masked = [result.masked(np.array([False, True])) for result in found.results]
    assert BatchWarnings(2, masked).codes().tolist() == ["", "unlike-experience"]
    assert found.statuses().tolist() == ["do not use", "no reason to doubt"]


def test_checks_of_the_model_are_made_once(monkeypatch):
    """Not for every group."""
    rng = np.random.default_rng(0)
    made = []
    monkeypatch.setattr(
        "poscount.checks.few_positives.covariance_bias", lambda *_: made.append(1) or 0.0
    )
    positives = pd.DataFrame(halves(rng, 100, d=3), columns=list("abc"))
    sample = positives.assign(group=np.arange(100) % 10)
    model = PAT(random_state=0).fit(positives)
    assert len(model.quantify_groups(sample, "group")) == 10
    assert len(made) <= 2
    ratios = mock.Mock(wraps=pat_module.tail_ratios)
    monkeypatch.setattr(pat_module, "tail_ratios", ratios)
    model.quantify(positives)
    # The estimate; its interval is in closed form.
    assert ratios.call_count == 1
