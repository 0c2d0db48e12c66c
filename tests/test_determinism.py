import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from answers import assert_same_answer
from poscount import PAT, RCQ, Mahalanobis, registry
from poscount.base.counting import CountingQuantifier
from poscount.methods.score_quantifier import ScoreQuantifier
from poscount.seeds import seed_of, seed_scorer, stream

pytestmark = pytest.mark.usefixtures("global_generator_untouched")

METHODS = {name: registry.method(name) for name in registry.METHODS}
COUNTING = {name: kind for name, kind in METHODS.items() if issubclass(kind, CountingQuantifier)}
# What a method that counts along a score may be given as one, and the others as they are.
SCORERS = {
    "Mahalanobis": Mahalanobis,
    "shrunk": lambda: Mahalanobis("ledoit-wolf"),
    "float32": lambda: Mahalanobis(keep_float32=True),
    "forest": lambda: IsolationForest(n_estimators=3),
    "svm": lambda: make_pipeline(StandardScaler(), OneClassSVM()),
}
SCORED = [
    (name, scorer)
    for name, kind in METHODS.items()
    for scorer in (SCORERS if issubclass(kind, ScoreQuantifier) else ["none"])
]
scored = pytest.mark.parametrize(("name", "scorer"), SCORED)


@pytest.fixture(params=METHODS)
def kind(request):
    return METHODS[request.param]


@pytest.fixture(params=COUNTING)
def counting_kind(request):
    return COUNTING[request.param]


_FITTED = {}


def make(name, scorer, **options):
    given = {} if scorer == "none" else {"scorer": SCORERS[scorer]()}
    return METHODS[name](random_state=0, **given, **options)


def fitted(name, scorer, positives):
    if (name, scorer) not in _FITTED:
        _FITTED[name, scorer] = make(name, scorer).fit(positives)
    return _FITTED[name, scorer].set_params(n_jobs=None)


# Blocks, threads, order


@pytest.mark.parametrize(("name", "scorer"), [pair for pair in SCORED if pair[0] in COUNTING])
@pytest.mark.parametrize("n_jobs", [1, 2, 13])
@pytest.mark.parametrize("block", [1, 64, 399, 400, 10**9])
def test_blocks_and_threads_change_nothing(
    name, scorer, n_jobs, block, positives, sample, monkeypatch
):
    rows = sample[:40] if block == 1 else sample
    expected = fitted(name, scorer, positives).quantify(rows)
    monkeypatch.setattr("poscount.base.counting.BLOCK_ROWS", block)
    model = fitted(name, scorer, positives).set_params(n_jobs=n_jobs)
    assert_same_answer(model.quantify(rows), expected)


def test_threads_change_nothing_beyond_the_first_real_block(counting_kind, positives):
    rows = np.random.default_rng(0).normal(2, 3, size=(150_000, 3)).astype(np.float32)
    counts = [
        counting_kind(n_jobs=n_jobs, random_state=0).fit(positives).count(rows)
        for n_jobs in (1, 2, -1)
    ]
    assert counts[0] == counts[1] == counts[2]
    halves = counting_kind(random_state=0).fit(positives)
    assert halves.count(rows[:99_999]) + halves.count(rows[99_999:]) == counts[0]


@pytest.mark.parametrize("name", COUNTING)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(60)), cuts=st.lists(st.integers(0, 60), max_size=4))
def test_order_and_batches_of_the_sample_change_nothing(name, order, cuts, positives, sample):
    if name not in _FITTED:
        _FITTED[name] = METHODS[name](random_state=0).fit(positives)
    model = _FITTED[name]
    batches = np.split(sample[:60][list(order)], sorted(cuts))
    merged = sum(model.count(batch) for batch in batches)
    assert_same_answer(model.estimate(merged), model.quantify(sample[:60]))


def test_groups_get_the_answer_of_their_rows_alone(counting_kind, positives, sample):
    """Of more groups than are answered in one go: each as if it were the only one."""
    model = counting_kind(random_state=0).fit(pd.DataFrame(positives, columns=list("abc")))
    rows = pd.DataFrame(np.tile(sample, (3, 1)), columns=list("abc"))
    rows["group"] = np.arange(len(rows)) % 150
    answers = model.quantify_groups(rows, "group")
    assert len(answers) == 150
    for (group,), answer in answers.items():
        assert_same_answer(answer, model.quantify(rows[rows["group"] == group]))


def test_no_threads_at_all_is_refused(positives, sample):
    with pytest.raises(ValueError, match="n_jobs"):
        PAT(n_jobs=0).fit(positives).quantify(sample)


# Forms of the data


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@scored
def test_frames_and_arrays_give_the_same_bits(name, scorer, dtype, positives, sample):
    positives, sample = positives.astype(dtype), sample.astype(dtype)

    def form(make_frame, rows):
        # The names that the columns of an array get, so that regions have the same words.
        return make_frame(dict(zip(("x0", "x1", "x2"), rows.T, strict=True)))

    expected = make(name, scorer).fit(positives).quantify(sample)
    hashes = set()
    for learned in (pd.DataFrame, pl.DataFrame, pa.table):
        named = make(name, scorer).fit(form(learned, positives))
        hashes.add(getattr(named, "hash_", None))
        others = (pd.DataFrame, pl.DataFrame, pa.table) if name in COUNTING else [learned]
        for other in others:
            assert_same_answer(named.quantify(form(other, sample)), expected)
    assert len(hashes) == 1


def test_order_of_columns_changes_nothing(kind, make_frame, positives, sample):
    a, b, c = positives.T
    model = kind(random_state=0).fit(make_frame(positives))
    expected = model.quantify(make_frame(sample))
    turned = dict(zip("cab", (sample[:, 2], sample[:, 0], sample[:, 1]), strict=True))
    assert_same_answer(model.quantify(make_frame(turned)), expected)
    if issubclass(kind, ScoreQuantifier):
        learned = kind(random_state=0).fit(make_frame({"c": c, "a": a, "b": b}))
        assert_same_answer(learned.quantify(make_frame(sample)), expected)


# Seeds


def test_the_same_seed_gives_the_same_answer(kind, positives, sample):
    one, two = (kind(random_state=5).fit(positives).quantify(sample) for _ in range(2))
    assert_same_answer(one, two)


def test_another_seed_gives_other_folds(counting_kind, positives):
    models = [counting_kind(random_state=seed).fit(positives) for seed in (5, 6)]
    assert not np.array_equal(*(getattr(model, "part_", model).edges_ for model in models))


def test_no_seed_means_a_fresh_one_that_is_told(kind, positives, sample):
    one, two = (kind().fit(positives) for _ in range(2))
    assert one.seed_ != two.seed_
    again = kind(random_state=one.seed_).fit(positives)
    assert_same_answer(again.quantify(sample), one.quantify(sample))
    assert one.quantify(sample).details["seed"] == one.seed_


@pytest.mark.parametrize("make_generator", [np.random.default_rng, np.random.RandomState])
def test_generators(kind, make_generator, positives):
    generator = make_generator(3)
    one, two = (kind(random_state=generator).fit(positives) for _ in range(2))
    assert one.seed_ != two.seed_
    assert kind(random_state=make_generator(3)).fit(positives).seed_ == one.seed_


def test_answers_do_not_depend_on_earlier_questions(kind, positives, sample):
    model = kind(random_state=0).fit(positives)
    first = model.quantify(sample)
    model.quantify(sample[:50])
    if hasattr(model, "posterior"):
        model.posterior(sample[:100])
    assert_same_answer(model.quantify(sample), first)


def test_another_process_gives_the_same_bits(positives, sample, tmp_path):
    np.savez(tmp_path / "rows.npz", positives=positives, sample=sample)
    script = """
        import numpy as np, poscount
        from sklearn.svm import OneClassSVM
        rows = np.load("rows.npz")
        for model in (poscount.PAT(), poscount.PAT(OneClassSVM()), poscount.RCQ()):
            model.set_params(random_state=0).fit(rows["positives"])
            answer = model.quantify(rows["sample"])
            print(model.hash_, float(answer), answer.interval.low, answer.interval.high)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    expected = []
    for model in (PAT(), PAT(OneClassSVM()), RCQ()):
        model.set_params(random_state=0).fit(positives)
        answer = model.quantify(sample)
        expected.append(
            f"{model.hash_} {float(answer)} {answer.interval.low} {answer.interval.high}"
        )
    assert told.splitlines() == expected


def test_streams_are_independent():
    draws = {place: stream(0, place).integers(2**63) for place in ("folds", "limit", "scorer", "")}
    assert len(set(draws.values())) == 4
    assert stream(1, "folds").integers(2**63) != draws["folds"]


@pytest.mark.parametrize("seed", [0, 7, np.int64(7), 2**32 - 1])
def test_an_integer_is_its_own_seed(seed):
    assert seed_of(seed) == seed
    assert type(seed_of(seed)) is int


def test_every_unseeded_part_of_a_scorer_gets_its_own_seed():
    scorer = make_pipeline(IsolationForest(), IsolationForest(random_state=4), IsolationForest())
    seed_scorer(scorer, 0)
    first, second, third = (step.random_state for _, step in scorer.steps)
    assert second == 4
    assert first != third
    assert None not in (first, third)
