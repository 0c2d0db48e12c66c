"""Classify and count, plain and adjusted, with labelled negatives."""

import sqlite3

import numpy as np
import pytest

from research.datasets import load
from research.experiments import Store, acc, protocols, run

DATASET = "overlap-cluster"


@pytest.fixture(autouse=True)
def small_forests(monkeypatch):
    monkeypatch.setattr(acc, "N_TREES", 10)


def beside(n, distance):
    return np.random.default_rng(n).normal(size=(n, 2)) + distance


def drawn(n_positive, n_negative, distance):
    return np.vstack([beside(n_positive, 0), beside(n_negative, distance)])


def test_classes_that_are_far_apart_need_no_adjustment():
    model = acc.ACC(random_state=0).fit(beside(100, 0), beside(120, 50))
    assert (model.tpr_, model.fpr_) == (1, 0)
    answer = model.quantify(drawn(30, 70, 50))
    assert answer == answer.details["CC"] == 0.3


def test_the_adjustment_removes_what_the_error_rates_add():
    model = acc.ACC(random_state=0).fit(beside(501, 0), beside(502, 1.5))
    assert 0 < model.fpr_ < 0.5 < model.tpr_ < 1
    for n_positive in (400, 3600):
        p = n_positive / 4000
        answer = model.quantify(drawn(n_positive, 4000 - n_positive, 1.5))
        expected = p * model.tpr_ + (1 - p) * model.fpr_
        # Rates from 500 rows of each class, and shares of 4,000: three standard errors.
        assert answer.details["CC"] == pytest.approx(expected, abs=0.06)
        assert abs(answer.details["CC"] - p) > 0.08
        assert answer == pytest.approx(p, abs=0.06)


def test_rates_come_from_rows_that_the_trees_have_not_seen():
    """Classes that do not differ: trees know their own rows by heart, and cannot tell others."""
    rows = beside(400, 0)
    model = acc.ACC(random_state=0).fit(rows[:200], rows[200:])
    assert model.classifier_.predict(rows[:200]).mean() > 0.9
    assert abs(model.tpr_ - model.fpr_) < 0.25


def test_known_negatives_are_in_no_sample():
    dataset = load(DATASET)
    place = next(protocols.places("1", dataset))
    for positives, sample in protocols.evaluations(dataset, place, 0):
        rows = protocols.negatives(dataset, place, 0, sample.point)
        assert len(rows) <= protocols.MAX_POSITIVES
        known = {row.tobytes() for row in rows}
        assert known.isdisjoint(row.tobytes() for row in sample.rows)
        assert known.isdisjoint(row.tobytes() for row in positives)
        assert known <= {row.tobytes() for row in dataset.features[~dataset.is_positive]}


def test_both_counts_come_from_one_forest(tmp_path):
    path = tmp_path / "results.sqlite"
    with Store(path, seed=0) as store:
        first, *_ = run(store, ["4"], [DATASET], ["cc", "acc", "bft"], seed=0, n_jobs=1)
    assert first.total == 2
    query = (
        "SELECT method, point, estimate FROM evaluations WHERE method != 'bft' AND error IS NULL"
    )
    found = {row[:2]: row[2] for row in sqlite3.connect(path).execute(query)}
    assert len(found) == 22
    dataset = load(DATASET)
    (place,) = protocols.places("4", dataset)
    # Counted rows: a share of the sample.
    sizes = [len(sample.rows) for _, sample in protocols.evaluations(dataset, place, 0)]
    for point, size in enumerate(sizes):
        assert found["cc", point] * size == pytest.approx(round(found["cc", point] * size))
