"""TIcE, ExTIcE and RanFocE: compiled and in numpy, known answers, odd samples, categories."""

import math
import os
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import poscount
from answers import assert_same_answer
from plain import tice as plain_tice
from poscount import PAT, ExTIcE, InputError, RanFocE, TIcE
from poscount.methods.pu import tice_search
from poscount.methods.pu.ranfoce import random_trees
from poscount.methods.pu.tice_kernel import MAX_POPS
from poscount.methods.pu.tice_search import Search, arrange, searcher

METHODS = [TIcE, ExTIcE, RanFocE]
SOURCE = Path(poscount.__file__).parents[1]


@pytest.fixture(params=[True, False], ids=["compiled", "numpy"])
def engine(request, monkeypatch):
    monkeypatch.setattr(tice_search, "can_compile", lambda: request.param)


def random_rows(seed):
    """Positives and a sample: continuous, rounded (ties at every median) or with categories."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 5))
    positives = rng.normal(size=(rng.integers(1, 150), n_features))
    sample = rng.normal(size=(rng.integers(1, 400), n_features)) + rng.integers(0, 3)
    if seed % 2:
        positives, sample = np.round(positives), np.round(sample)
    n_codes = np.zeros(n_features, np.int64)
    for f in range(n_features):
        if rng.random() < 0.3:
            n_codes[f] = 4
            positives[:, f] = rng.integers(0, 3, len(positives))
            sample[:, f] = rng.integers(0, 4, len(sample))
    return positives, sample, n_codes


def plain_bounds(table, fold, c, method):
    place = np.arange(len(table.labeled))
    in_tree = (table.starts[fold] <= place) & (place < table.starts[fold + 1])
    return plain_tice.best_bounds(table.values.T, table.labeled, in_tree, c, method is ExTIcE)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("method", [TIcE, ExTIcE])
def test_the_best_bound_of_a_search_is_the_plain_one(method, seed, engine):
    rng = np.random.default_rng(seed)
    positives = rng.normal(size=(rng.integers(60, 300), 3))
    far = rng.normal(size=(250, 3)) + rng.uniform(0, 3, 3)
    sample = np.concatenate([rng.normal(size=(100, 3)), far])
    model = method().fit(positives)
    table = arrange(positives, sample, np.zeros(3, np.int64), rng)
    noise = 1e-12 * rng.random(2 * MAX_POPS * table.offsets[-1])
    for fold, c in product(range(5), (0.5, 0.3)):
        found, _ = model._best_region(table, fold, c, noise, 0, searcher(table))
        expected = plain_bounds(table, fold, c, method)
        assert min(abs(found - bound) for bound in expected) < 1e-9


def test_the_answer_is_that_of_two_passes_over_five_folds():
    rng = np.random.default_rng(0)
    positives, sample = rng.normal(size=(200, 2)), rng.normal(size=(400, 2)) + 1
    table = arrange(positives, sample, np.zeros(2, np.int64), np.random.default_rng(5))
    c = 0.5
    for _ in range(2):
        ((*bounds,),) = product(*(plain_bounds(table, fold, c, ExTIcE) for fold in range(5)))
        c = sum(bounds) / 5
    model = ExTIcE().fit(positives)
    answer = model._estimate_from(positives, sample, np.random.default_rng(5))
    assert answer.details["label_frequency"] == [pytest.approx(c, abs=1e-9)]
    assert answer.details["bounds"][0] == pytest.approx(bounds, abs=1e-9)
    assert answer.value[0] == pytest.approx(min(1, (200 / c - 200) / 400), abs=1e-9)


@pytest.mark.parametrize("exhaustive", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_compiled_and_numpy_agree_to_the_last_bit(seed, exhaustive, monkeypatch):
    positives, sample, n_codes = random_rows(seed)
    generator = np.random.default_rng(seed)
    table = arrange(positives, sample, n_codes, generator)
    noise = 1e-12 * generator.random(2 * MAX_POPS * table.offsets[-1])
    compiled = searcher(table)
    monkeypatch.setattr(tice_search, "can_compile", lambda: False)
    in_numpy = searcher(table)
    for fold, c in [(0, 0.5), (3, 0.2)]:
        n_tree = table.starts[fold + 1] - table.starts[fold]
        limit = max(30 if exhaustive else 1, n_tree // 10)
        if n_tree >= limit:
            task = Search(table, fold, 4 * c * (1 - c), limit, exhaustive, noise, 7)
            for one, other in zip(compiled(task), in_numpy(task), strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_keep_their_constraint(seed):
    positives, sample, n_codes = random_rows(seed)
    rows = np.concatenate([positives, sample])
    labeled = np.arange(len(rows)) < len(positives)
    least = max(1, len(positives) // 8)
    generator = np.random.default_rng(seed)
    for tree in random_trees(positives, sample, n_codes, least, 3, generator):
        inside = [np.ones(len(rows), bool)]
        for i in range(1, len(tree.size)):
            column = rows[:, tree.feature[i]]
            kept = (tree.low[i] < column) & (column <= tree.high[i])
            inside.append(inside[tree.parent[i]] & (kept if tree.inside[i] else ~kept))
        assert tree.size.tolist() == [part.sum() for part in inside]
        assert tree.labeled.tolist() == [labeled[part].sum() for part in inside]
        assert tree.labeled[1:].min(initial=least) >= least
        # A node that has no children cannot be split by any feature.
        for leaf in set(range(len(inside))) - set(tree.parent.tolist()):
            for f in range(rows.shape[1]):
                values = np.sort(rows[inside[leaf] & labeled, f])
                if n_codes[f]:
                    counts = np.unique(values, return_counts=True)[1]
                    assert not ((counts >= least) & (len(values) - counts >= least)).any()
                else:
                    assert len(values) < 2 * least or values[least - 1] == values[-least]


def test_random_splits_are_uniform():
    rng = np.random.default_rng(0)
    positives = rng.uniform(size=(100, 4))
    positives[:, 3] = 1.0
    sample = rng.uniform(size=(10, 4))
    trees = random_trees(positives, sample, np.zeros(4, np.int64), 30, 3000, rng)
    feature = np.array([tree.feature[1] for tree in trees])
    cut = np.array([tree.high[1] for tree in trees])
    assert stats.chisquare(np.bincount(feature, minlength=4)[:3]).pvalue > 0.001
    assert not (feature == 3).any()
    for f in range(3):
        low, high = np.sort(positives[:, f])[[29, 70]]
        chosen = (cut[feature == f] - low) / (high - low)
        assert stats.kstest(chosen, "uniform").pvalue > 0.001


def clusters(rng, n_labeled, n_positives, n_negatives, n_features=4, distance=4.0):
    positives = rng.normal(size=(n_labeled, n_features))
    hidden = rng.normal(size=(n_positives, n_features))
    negatives = rng.normal(size=(n_negatives, n_features)) + distance
    return positives, np.concatenate([hidden, negatives])


@pytest.mark.parametrize("truth", [0.0, 0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize(
    ("method", "below", "above"), [(TIcE, 0.02, 0.25), (ExTIcE, 0.1, 0.1), (RanFocE, 0.25, 0.02)]
)
def test_separate_classes(method, below, above, truth):
    # A lower bound on c leaves TIcE above the truth, the largest of many shares RanFocE below.
    rng = np.random.default_rng(2)
    positives, sample = clusters(rng, 500, round(2000 * truth), round(2000 * (1 - truth)))
    p = method(random_state=0).fit(positives).quantify(sample)
    assert -below <= p - truth <= above


@pytest.mark.parametrize("method", METHODS)
def test_one_category_without_negatives(method):
    # Positives are a or b, negatives b: the labelled share of a is c, 200 / (200 + 100).
    positives = np.array([["a"]] * 200 + [["b"]] * 200, object)
    sample = np.array([["a"]] * 100 + [["b"]] * 700, object)
    p = method(random_state=0).fit(positives).quantify(sample)
    assert str(p.details["region"]).startswith("x0 = a (")
    if method is RanFocE:
        assert p == pytest.approx((400 / (2 / 3) - 400) / 800)
        assert (p.details["region"].size, p.details["region"].labeled) == (300, 200)
    else:
        # c is what the bound of the first pass is; sizes are 4/5 of all rows on average.
        delta = 1 / (1 + 0.004 * 960)
        first = 2 / 3 - math.sqrt(0.25 * (1 - delta) / delta / 240)
        second = 2 / 3 - math.sqrt(first * (1 - first) * (1 - delta) / delta / 240)
        assert p.details["label_frequency"] == pytest.approx(second, abs=0.003)


def test_extice_ignores_negatives_like_half_of_the_positives():
    rng = np.random.default_rng(3)
    positives = rng.uniform(-1, 1, size=(2000, 3))
    negatives = rng.uniform(-1, 1, size=(1200, 3))
    negatives[:, 0] = np.abs(negatives[:, 0])
    sample = np.concatenate([rng.uniform(-1, 1, size=(800, 3)), negatives])
    p = ExTIcE(random_state=0).fit(positives).quantify(sample)
    # Above the truth by the width of the bound; twice that by what the negatives look like.
    assert 0.4 < p < 0.6
    assert p.details["region"].intervals["x0"][1] < 0
    assert PAT(random_state=0).fit(positives).quantify(sample) > 0.8


@pytest.mark.parametrize("method", METHODS)
def test_answers_do_not_depend_on_units_or_earlier_calls(method):
    positives, sample = clusters(np.random.default_rng(4), 100, 100, 200)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    model = method(random_state=5).fit(positives)
    p = model.quantify(sample)
    assert_same_answer(p, model.quantify(sample))
    assert_same_answer(p, method(random_state=5).fit(positives).quantify(sample))
    # The regions in the details have other bounds.
    scaled = method(random_state=5).fit(4 * positives).quantify(4 * sample)
    assert_same_answer(p, scaled, without=["details"])
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


@pytest.mark.parametrize("method", [TIcE, ExTIcE])
def test_details_of_a_search(method):
    positives, sample = clusters(np.random.default_rng(6), 200, 200, 300)
    details = method(random_state=0).fit(positives).quantify(sample).details
    assert details["label_frequency"] == details["bounds"].mean()
    assert len(details["regions"]) == 5
    region = details["region"]
    assert region is details["regions"][details["bounds"].argmax()]
    # The region's rows in the estimation part are four fifths of all its rows, give or take.
    rows = np.concatenate([positives, sample])
    inside = np.ones(len(rows), bool)
    for name, (low, high) in region.intervals.items():
        column = rows[:, int(name[1:])]
        inside &= (low < column) & (column <= high)
    assert region.size <= inside.sum()
    assert region.size == pytest.approx(0.8 * inside.sum(), rel=0.2)
    assert region.labeled <= inside[: len(positives)].sum()


def test_details_of_a_forest():
    positives, sample = clusters(np.random.default_rng(7), 200, 200, 300)
    p = RanFocE(n_trees=21, random_state=0).fit(positives).quantify(sample)
    region = p.details["region"]
    rows = np.concatenate([positives, sample])
    inside = np.ones(len(rows), bool)
    for name, (low, high) in region.intervals.items():
        column = rows[:, int(name[1:])]
        inside &= (low < column) & (column <= high)
    assert region.size == inside.sum()
    assert region.labeled == inside[: len(positives)].sum()
    assert region.labeled / region.size == np.median(p.details["trees"])
    assert p.label_frequency == pytest.approx(p.details["label_frequency"])


def rows_like(positives, kind):
    rng = np.random.default_rng(8)
    n_rows = 1000 if positives.shape[1] < 500 else 200
    return {
        "identical": positives,
        "no overlap": rng.normal(size=(n_rows, positives.shape[1])) + 100,
        "one row": positives[:1],
        "one far row": positives[:1] + 100,
    }[kind]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["identical", "no overlap", "one row", "one far row"])
@pytest.mark.parametrize(
    "shape",
    [(200, 3), (20, 3), (1, 2), (200, 1), (30, 500)],
    ids=["200", "20 positives", "1 positive", "1 feature", "500 features"],
)
def test_odd_samples(method, kind, shape, engine):
    positives = np.random.default_rng(9).normal(size=shape)
    sample = rows_like(positives, kind)
    p = method(random_state=0).fit(positives).quantify(sample)
    assert 0 <= p <= 1
    if kind == "identical" and (method is not TIcE or shape[1] < 500):
        assert p > 0.8
    if kind == "no overlap" and len(positives) == 200:
        assert p < 0.15
    if kind == "no overlap" and method is RanFocE and len(positives) > 1:
        assert p == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", ["constant", "two values", "duplicates"])
def test_ties_everywhere(method, rows, engine):
    rng = np.random.default_rng(10)
    if rows == "constant":
        positives, sample = np.ones((100, 3)), np.ones((200, 3))
    elif rows == "two values":
        positives, sample = np.ones((100, 3)), np.zeros((200, 3))
        positives[:30], sample[:50] = 0, 1
    else:
        positives = np.repeat(rng.normal(size=(2, 3)), 50, axis=0)
        sample = np.repeat(positives[[0, -1]], 100, axis=0)
    p = method(random_state=0).fit(positives).quantify(sample)
    assert 0 <= p <= 1
    if rows == "constant":
        assert p == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("method", METHODS)
def test_huge_and_tiny_numbers(method, engine):
    rng = np.random.default_rng(11)
    for scale in (1e308, 5e-324):
        positives = np.clip(rng.normal(size=(100, 2)), -1.5, 1.5) * scale
        sample = np.clip(rng.normal(size=(300, 2)), -1.5, 1.5) * scale
        assert method(random_state=0).fit(positives).quantify(sample) > 0.4


def species(rng, n_labeled=1000, n_positives=900, n_negatives=2100):
    """Positives are red or blue, negatives blue or green: red is free of them."""
    positives = {
        "size": rng.normal(size=n_labeled),
        "colour": rng.choice(["blue", "red"], n_labeled),
        "alive": rng.choice([True, False], n_labeled),
    }
    sample = {
        "night": np.arange(n_positives + n_negatives),
        "alive": rng.choice([True, False], n_positives + n_negatives),
        "colour": np.concatenate(
            [rng.choice(["blue", "red"], n_positives), rng.choice(["blue", "green"], n_negatives)]
        ),
        "size": rng.normal(size=n_positives + n_negatives),
    }
    return positives, sample


FRAMES = {
    "pandas": pd.DataFrame,
    "pandas categorical": lambda columns: pd.DataFrame(columns).astype({"colour": "category"}),
    "pandas object": lambda columns: pd.DataFrame(columns).astype(
        {"colour": object, "size": object}
    ),
    "polars": pl.DataFrame,
    "polars categorical": lambda columns: pl.DataFrame(columns).with_columns(
        pl.col("colour").cast(pl.Categorical)
    ),
    "pyarrow": lambda columns: pa.table({k: pa.array(v) for k, v in columns.items()}),
}


@pytest.mark.parametrize("method", METHODS)
def test_categories_of_every_kind_of_frame(method):
    positives, sample = species(np.random.default_rng(13))
    answers = set()
    for frame in FRAMES.values():
        p = method(random_state=0).fit(frame(positives)).quantify(frame(sample))
        answers.add(float(p))
        assert p == pytest.approx(0.3, abs=0.15)
        assert p.details["region"].categories["colour"] in ("red", "not blue")
        assert " colour = " in f" {p.details['region']}"
    assert len(answers) == 1
    columns = ["size", "colour", "alive"]
    arrays = [np.array([rows[c] for c in columns], object).T for rows in (positives, sample)]
    assert float(method(random_state=0).fit(arrays[0]).quantify(arrays[1])) in answers


@pytest.mark.parametrize("method", METHODS)
def test_categories_survive_a_model_file(method, tmp_path):
    positives, sample = (pd.DataFrame(rows) for rows in species(np.random.default_rng(14)))
    model = method(random_state=0).fit(positives)
    model.save(tmp_path / "model")
    loaded = poscount.load(tmp_path / "model")
    assert_same_answer(loaded.quantify(sample), model.quantify(sample))


def test_what_categories_cannot_be():
    positives, sample = (pd.DataFrame(rows) for rows in species(np.random.default_rng(15)))
    model = ExTIcE(random_state=0).fit(positives)
    sample["colour"] = 1.0
    with pytest.raises(InputError, match=r"'colour'.*holds numbers here, but held words"):
        model.quantify(sample)
    sample["colour"], sample["size"] = "red", "large"
    with pytest.raises(InputError, match=r"'size'.*holds words here, but held numbers"):
        model.quantify(sample)
    with pytest.raises(InputError, match=r"'day'.*neither numbers nor categories"):
        ExTIcE().fit(positives.assign(day=pd.Timedelta(days=1)))
    with pytest.raises(TypeError, match="got a dict"):
        ExTIcE().fit(np.array([[{}], [{}]], object))


def python(code, *, path=SOURCE, **environment):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": str(path), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


QUANTIFY = """
import numpy as np
rng = np.random.default_rng(0)
positives, sample = rng.normal(size=(200, 3)), rng.normal(size=(600, 3)) + 0.5
from poscount import ExTIcE, RanFocE
models = [kind(random_state=0).fit(positives) for kind in (ExTIcE, RanFocE)]
"""


def test_numba_is_imported_when_it_is_needed():
    code = f"""
import sys, poscount
{QUANTIFY}
assert "numba" not in sys.modules
models[0].quantify(sample)
assert "numba" in sys.modules
"""
    python(code)


def test_works_where_nothing_can_be_written(tmp_path):
    shutil.copytree(SOURCE / "poscount", tmp_path / "poscount", ignore=lambda *_: ["__pycache__"])
    # A file where numba wants a folder stops it even when the tests run as root.
    (tmp_path / "poscount" / "methods" / "pu" / "__pycache__").touch()
    code = f"{QUANTIFY}\nprint(float(models[0].quantify(sample)))"
    homeless = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", "NUMBA_CACHE_DIR": ""}
    frozen = python(code, path=tmp_path, PYTHONDONTWRITEBYTECODE="1", **homeless)
    assert frozen == python(code)


def test_same_answer_and_one_note_without_numba():
    code = f"""
import sys, warnings
if {{block}}:
    sys.modules["numba"] = None
{QUANTIFY}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print([float(model.quantify(sample)) for model in models])
assert len(caught) == {{block}}
assert all("poscount[fast]" in str(warning.message) for warning in caught)
"""
    with_numba, without = (python(code.format(block=block)) for block in (0, 1))
    assert with_numba == without
