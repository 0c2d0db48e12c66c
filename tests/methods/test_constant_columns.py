"""Columns in which the positives never vary: a row with another value is none of them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.svm import OneClassSVM

from answers import assert_same_answer
from poscount import (
    PAT,
    RCQ,
    TRCQ,
    Bootstrap,
    MultiRCQ,
    ODIn,
    RCQWithNegatives,
    SubclassRCQ,
    compiling,
    load,
    registry,
)
from poscount.data.constants import Constants
from poscount.engines import count

N_SEEDS = 20
KINDS = ("number", "words", "missing")
TRUTH = 0.3


def rows(n, n_flagged, kind, rng, shift=0.0):
    """Rows that nothing but the flag tells apart; the first ones have it."""
    flagged = np.arange(n) < n_flagged
    table = pd.DataFrame(rng.normal(shift, 1.0, size=(n, 3)), columns=list("abc"))
    if kind == "number":
        table["flag"] = flagged.astype(float)
    elif kind == "words":
        table["flag"] = np.where(flagged, "yes", "no")
    else:
        table["flag"] = np.where(flagged, np.nan, rng.normal(size=n))
    return table


def task(kind, seed, n_labeled=400, n=2000):
    rng = np.random.default_rng(seed)
    return rows(n_labeled, n_labeled, kind, rng), rows(n, round(TRUTH * n), kind, rng)


def answers_of(make, kind, n_seeds=N_SEEDS, **sizes):
    found = []
    for seed in range(n_seeds):
        positives, sample = task(kind, seed, **sizes)
        found.append(make().fit(positives).quantify(sample))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", [RCQ, PAT, ODIn])
def test_the_flag_decides(method, kind):
    found = answers_of(lambda: method(random_state=0), kind)
    assert abs(np.mean(found) - TRUTH) <= 0.03
    assert np.abs(np.subtract(found, TRUTH)).max() <= 0.06
    assert sum(TRUTH in p.interval for p in found) >= 18


@pytest.mark.parametrize("kind", KINDS)
def test_the_flag_decides_with_a_learned_score(kind):
    found = answers_of(lambda: TRCQ(random_state=0), kind, n_seeds=6, n=1000)
    # Low by 1 to 4 points, as where classes are far apart; its intervals know.
    assert np.abs(np.subtract(found, TRUTH)).max() <= 0.06
    assert sum(TRUTH in p.interval for p in found) >= 5


@pytest.mark.parametrize("kind", KINDS)
def test_the_flag_decides_for_kinds(kind):
    """As if the rows with another value were far away, where kinds are below the truth, too."""
    found = answers_of(lambda: SubclassRCQ(random_state=0), kind, n_seeds=6)
    assert all(0.2 < p < 0.33 for p in found)
    # Of six intervals at 95 %, two miss in 3 of 100 cases.
    assert sum(TRUTH in p.interval for p in found) >= 5


@pytest.mark.parametrize("kind", KINDS)
def test_the_flag_decides_among_labelled_groups(kind):
    """Among the labelled rows the column varies; only one group never does."""
    found = []
    for seed in range(3):
        positives, sample = task(kind, seed)
        other = rows(300, 150, kind, np.random.default_rng(100 + seed), shift=3.0)
        found.append(
            (
                RCQWithNegatives(random_state=0).fit(positives, negatives=other).quantify(sample),
                MultiRCQ(random_state=0).fit({"a": positives, "b": other}).quantify(sample)["a"],
            )
        )
    assert np.abs(np.mean(found, axis=0) - TRUTH).max() <= 0.04
    assert np.abs(np.subtract(found, TRUTH)).max() <= 0.11


TRANSDUCTIVE = sorted(set(registry.METHODS) - {"rcq", "pat", "odin", "subclassrcq", "trcq"})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TRANSDUCTIVE)
def test_methods_that_learn_from_both_tables(name, kind):
    """They find as many as among the rows with the flag alone, of which KM2 finds a quarter."""
    positives, sample = task(kind, 0, n_labeled=150, n=500)
    kept = sample.iloc[: round(TRUTH * len(sample))]
    model = registry.method(name)(random_state=0).fit(positives)
    p = float(model.quantify(sample))
    if name == "minimum":  # of which one member counts
        assert 0.2 < p <= 0.36
    else:
        assert p == pytest.approx(TRUTH * float(model.quantify(kept)))


def test_a_bootstrap_draws_rows_that_differ_as_well():
    positives, sample = task("words", 0, n_labeled=150, n=500)
    p = Bootstrap(registry.method("bbe")(), 20, random_state=0).fit(positives).quantify(sample)
    assert TRUTH in p.interval
    # The share of rows with the flag alone varies by this much.
    assert p.interval.high - p.interval.low > 4 * np.sqrt(TRUTH * (1 - TRUTH) / 500)


def test_any_detector_as_scorer():
    positives, sample = task("number", 0)
    p = PAT(OneClassSVM(), random_state=0).fit(positives).quantify(sample)
    assert abs(p - TRUTH) <= 0.05


@pytest.mark.parametrize("method", [PAT, ODIn, RCQ])
def test_the_interval_allows_for_positives_that_differ(method, monkeypatch):
    """Of 20 positives that have the flag, 14 % of all positives may lack it."""
    rng = np.random.default_rng(0)
    positives, sample = (np.column_stack([rng.normal(size=(n, 2)), np.ones(n)]) for n in (20, 500))
    sample[150:] += [9, 9, 0]
    model = method(random_state=0).fit(positives)
    p = model.quantify(sample)
    monkeypatch.setattr(Constants, "raised", lambda self, high, n, level: high)
    plain = model.quantify(sample)
    assert p.interval.high == pytest.approx(plain.interval.high / 0.05 ** (1 / 20))
    assert (float(p), p.interval.low) == (float(plain), plain.interval.low)


@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("method", [PAT, RCQ])
def test_a_flag_of_nearly_all_positives_costs_less_than_a_point(method, n):
    """One positive in a hundred lacks it, which n labelled ones often do not show."""
    fallen = []
    for seed in range(N_SEEDS):
        rng = np.random.default_rng(seed)
        positives, sample = rng.normal(size=(n, 3)), rng.normal(size=(2000, 3))
        sample[1000:] += 6
        with_flag = [np.column_stack([x, rng.random(len(x)) < 0.99]) for x in (positives, sample)]
        plain = method(random_state=0).fit(positives).quantify(sample)
        fallen.append(plain - method(random_state=0).fit(with_flag[0]).quantify(with_flag[1]))
    assert np.mean(fallen) < 0.01


def test_positives_that_are_exceptions_raise_the_answer():
    """Twelve rare remarks: some in one labelled positive, some in none, all in 2 % of all rows."""
    errors = []
    for seed in range(N_SEEDS):
        rng = np.random.default_rng(seed)
        positives, sample = rng.normal(size=(400, 3)), rng.normal(size=(3000, 3))
        sample[1500:] += 6
        remarks = [rng.random((len(x), 12)) < 0.002 for x in (positives, sample)]
        model = PAT(random_state=0).fit(np.column_stack([positives, remarks[0]]))
        errors.append(model.quantify(np.column_stack([sample, remarks[1]])) - 0.5)
    assert abs(np.mean(errors)) < 0.015


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", [RCQ, PAT, SubclassRCQ])
def test_counts_add_up_in_any_order_and_engine(method, kind, tmp_path, monkeypatch):
    positives, sample = task(kind, 0)
    model = method(random_state=0).fit(positives)
    whole = model.count(sample)
    mixed = sample.sample(frac=1, random_state=0)
    parts = [model.count(mixed[start : start + 333]) for start in range(0, len(mixed), 333)]
    assert sum(parts[1:], parts[0]) == whole
    pq.write_table(pa.Table.from_pandas(mixed), tmp_path / "rows.parquet", row_group_size=100)
    assert count(model, tmp_path / "rows.parquet") == whole
    weighted = model.count(sample, weights=np.full(len(sample), 2))
    # Weights are kept as multiples of a small number.
    unit = weighted.weights.total // (2 * len(sample))
    assert np.array_equal(weighted.cells, 2 * unit * whole.cells)
    by_half = mixed.assign(half=np.arange(len(mixed)) % 2)
    grouped = model.count_by(by_half, "half")
    assert np.array_equal(np.sum(grouped.cells, axis=0), whole.cells)
    for compiled in (True, False):
        monkeypatch.setattr(compiling, "worth_compiling", lambda n, c=compiled: c)
        assert model.count(sample) == whole


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["rcq", "pat", "subclassrcq", "trcq", "bbe"])
def test_saved_models_keep_them(name, kind, tmp_path):
    positives, sample = task(kind, 0, n_labeled=150, n=500)
    model = registry.method(name)(random_state=0).fit(positives)
    model.save(tmp_path / "model.poscount")
    again = load(tmp_path / "model.poscount")
    assert str(again.columns_["flag"]) == str(model.columns_["flag"])
    assert_same_answer(again.quantify(sample), model.quantify(sample))


def test_saved_groups_keep_their_own(tmp_path):
    positives, sample = task("missing", 0)
    other = rows(300, 150, "missing", np.random.default_rng(1), shift=3.0)
    model = RCQWithNegatives(random_state=0).fit(positives, negatives=other)
    model.save(tmp_path / "model.poscount")
    assert_same_answer(load(tmp_path / "model.poscount").quantify(sample), model.quantify(sample))


def test_models_with_other_constants_do_not_share_counts():
    positives, sample = task("number", 0)
    one, other = (RCQ(random_state=0).fit(positives.assign(flag=flag)) for flag in (0.0, 1.0))
    assert one.hash_ != other.hash_
    with pytest.raises(ValueError, match="another model"):
        other.estimate(one.count(sample))


def test_a_constant_that_is_no_category_is_refused():
    positives, _ = task("words", 0)
    model = RCQ(random_state=0).fit(positives)
    for value, sentence in ((7.0, "none of the categories"), (0.5, "none of the categories")):
        model.columns_.constants_.values_[3] = value
        with pytest.raises(ValueError, match=sentence):
            model.columns_.check_learned()


@pytest.mark.parametrize(("kind", "value"), [("number", "1"), ("words", "yes")])
@pytest.mark.parametrize("name", ["rcq", "pat", "odin", "trcq", "bbe", "tice"])
def test_a_sample_without_the_value_has_no_positives(name, kind, value):
    positives, sample = task(kind, 0, n_labeled=150, n=500)
    model = registry.method(name)(random_state=0).fit(positives)
    p = model.quantify(sample[sample.flag != positives.flag[0]])
    assert p == 0
    warning = next(w for w in p.warnings if w.code == "nothing-like-positives")
    assert warning.severity == "check"
    assert f"in all of them, flag is {value}." in warning.sentence


def test_a_gap_is_no_other_value():
    """Where no positive lacks a value and rows of the sample do, nothing is concluded."""
    positives, sample = task("number", 0)
    model = RCQ(random_state=0).fit(positives)
    gaps = sample[:600].assign(flag=np.nan)
    assert float(model.quantify(gaps)) == float(model.quantify(sample[:600]))
