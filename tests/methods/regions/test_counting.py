"""RCQ's counting: compiled, in numpy, and row by row give the same counts to the last one."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plain import tally as plain
from poscount import RCQ, compiling
from poscount.data.validation import sample_rows
from poscount.scorers.products import Multiplier, along_rows, stacks

pytestmark = pytest.mark.usefixtures("global_generator_untouched")

WORDS = ["north", "south", "east", "west", "rare", "new"]


@pytest.fixture(params=[True, False], ids=["compiled", "numpy"])
def engine(request, monkeypatch):
    if request.param:
        pytest.importorskip("numba")
    monkeypatch.setattr(compiling, "worth_compiling", lambda n: request.param)


def table(rng, n, words):
    """Numbers with gaps, zeros and values far away, and words, some of which are missing."""
    numbers = rng.normal(size=(n, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 0]
    numbers[:, 3] = numbers[:, 3].round()
    numbers[rng.random((n, 4)) < 0.02] = np.nan
    numbers[:, 1] = np.nan_to_num(numbers[:, 1], nan=0.0)
    frame = pd.DataFrame(numbers, columns=list("abcd"))
    frame["site"] = rng.choice(words, n)
    frame["flag"] = np.where(rng.random(n) < 0.1, None, rng.choice(["yes", "no"], n))
    return frame


def far_away(rng, frame):
    """The same with some values that no positive has."""
    changed = frame.copy()
    for name in "abcd":
        rows = rng.random(len(frame)) < 0.1
        changed.loc[rows, name] = rng.choice([-1e6, -30, 0.0, 30, 1e6, 1e300], rows.sum())
    return changed


@pytest.fixture(scope="module")
def mixed():
    """A model of numbers and words, and rows as the model gets them."""
    rng = np.random.default_rng(0)
    model = RCQ(random_state=0).fit(table(rng, 300, WORDS[:5]))
    rows = sample_rows(model, far_away(rng, table(rng, 200, WORDS)), model._input_support())
    return model, rows


@pytest.fixture(scope="module")
def plain_numbers():
    """A model of numbers alone, and rows as the model gets them."""
    rng = np.random.default_rng(1)
    model = RCQ(random_state=0).fit(rng.normal(size=(200, 3)))
    sample = rng.normal(size=(150, 3)) * 2
    sample[:20] = 0
    sample[20:30, 1] = 1e200
    return model, sample_rows(model, sample, model._input_support())


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("kind", ["mixed", "plain_numbers"])
@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_counts_are_those_of_rows_one_by_one(request, kind, grouped, weighted):
    model, rows = request.getfixturevalue(kind)
    rng = np.random.default_rng(2)
    n = len(rows)
    codes = rng.integers(0, 5, n) if grouped else None
    weights = rng.integers(0, 2**30, n) if weighted else None
    found = model._count_rows(rows, codes, 5 if grouped else 1, weights)
    expected = plain.count(
        model,
        np.asarray(rows.to_array(), float),
        np.zeros(n, int) if codes is None else codes,
        np.ones(n, int) if weights is None else weights,
        5 if grouped else 1,
    )
    assert (found == expected).all()


@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 2500))
def test_both_ways_agree(seed, n_features, n_rows):
    pytest.importorskip("numba")
    rng = np.random.default_rng(seed)
    positives = rng.normal(size=(60, n_features))
    if seed % 3 == 0:
        positives = positives.round()
    sample = rng.standard_cauchy(size=(n_rows, n_features)).round(seed % 4)
    if seed % 2:
        positives[rng.random(positives.shape) < 0.1] = np.nan
        sample[rng.random(sample.shape) < 0.1] = np.nan
    if not (np.nanstd(positives, axis=0) > 0).any():
        return
    model = RCQ(random_state=0).fit(positives)
    counts = []
    for compiled in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(compiling, "worth_compiling", lambda n, compiled=compiled: compiled)
            counts.append(model.count(sample))
    assert (counts[0].cells == counts[1].cells).all()


@pytest.mark.usefixtures("engine")
def test_memory_orders_and_types_do_not_matter(plain_numbers):
    model, _ = plain_numbers
    sample = np.random.default_rng(3).normal(size=(5000, 3)).astype(np.float32)
    expected = model.count(sample.astype(float))
    for same in (sample, np.asfortranarray(sample), sample[::-1], np.repeat(sample, 2, 1)[:, ::2]):
        assert model.count(same) == expected


def test_products_do_not_depend_on_the_stack():
    rng = np.random.default_rng(4)
    rows, matrix = rng.normal(size=(20_000, 5)), rng.normal(size=(5, 4))
    multiply = Multiplier(matrix)

    def products(part):
        return np.concatenate(
            [
                along_rows(multiply(stack)[:, 1], taken.stop - taken.start)
                for taken, stack in stacks(part)
            ]
        )

    whole = products(rows)
    np.testing.assert_allclose(whole, rows @ matrix[:, 1])
    for start, stop in ((0, 1), (4095, 4097), (7, 20_000)):
        assert (products(rows[start:stop]) == whole[start:stop]).all()


def test_small_jobs_do_not_import_numba():
    code = """
import sys, numpy as np
from poscount import RCQ, compiling
rng = np.random.default_rng(0)
model = RCQ(random_state=0).fit(rng.normal(size=(100, 4)))
sample = rng.normal(size=(20_000, 4))
before = model.count(sample)
assert "numba" not in sys.modules
compiling.WORTH = 3 * sample.size
assert model.count(sample) == before and "numba" not in sys.modules
assert model.count(sample) == before and "numba" in sys.modules
"""
    pytest.importorskip("numba")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_of_a_stack_keep_their_order():
    rows = np.arange(30_000.0).reshape(-1, 3)
    found = [
        along_rows(stack[:, 0], taken.stop - taken.start).copy() for taken, stack in stacks(rows)
    ]
    assert (np.concatenate(found) == rows[:, 0]).all()
