"""Answers of many groups: as columns, in blocks, and with the warnings of each group by itself."""

import numpy as np
import pandas as pd
import pytest

from poscount import PAT, RCQ, InputError, compiling
from poscount.base import counting
from poscount.calibration import trees
from poscount.methods.regions import rule_kernel
from poscount.results.prevalence import as_columns

pytestmark = pytest.mark.usefixtures("global_generator_untouched")

OF_ROWS = "repeated-number"
NAMES = list("abcde")


def table(rng, n):
    frame = pd.DataFrame(rng.normal(size=(n, 5)), columns=NAMES)
    frame["site"] = rng.choice(["north", "south", "east"], n)
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    return frame


@pytest.fixture(scope="module")
def spoilt():
    """Groups of all sizes, which are spoilt in ways that the checks know."""
    rng = np.random.default_rng(1)
    frame = table(rng, 3000)
    group = np.sort(rng.choice(60, len(frame), p=np.arange(1, 61) / 1830))
    kind = group % 10
    frame.loc[kind == 1, NAMES] += 50
    frame.loc[kind == 2, "b"] *= 1000
    frame.loc[(kind == 3) & (rng.random(len(frame)) < 0.5), NAMES[1:]] = 0.0
    frame.loc[(kind == 4) & (rng.random(len(frame)) < 0.3), "c"] = -9999
    frame.loc[kind == 5, "a"] = np.nan
    frame.loc[kind == 6, "site"] = "new"
    frame.loc[kind == 7, NAMES] *= 0.2
    frame.loc[kind == 8, NAMES] += 1.5
    frame["group"] = group
    return frame.sample(frac=1, random_state=0).reset_index(drop=True)


@pytest.fixture(scope="module", params=[PAT, RCQ])
def model(request):
    return request.param(random_state=0).fit(table(np.random.default_rng(0), 200))


def test_columns_are_those_of_single_answers(model, spoilt):
    frame = model.quantify_by(spoilt, "group")
    expected = as_columns(list(model.quantify_groups(spoilt, "group").values()))
    assert list(frame.columns) == ["group", *expected]
    for name, values in expected.items():
        assert frame[name].tolist() == values
    assert len(set(frame["verdict"])) > 1 or isinstance(model, PAT)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_of_groups_change_nothing(model, spoilt, monkeypatch, n_jobs):
    expected = model.quantify_by(spoilt, "group")
    monkeypatch.setattr(counting, "_CELLS_IN_ONE_PASS", 0)
    monkeypatch.setattr(counting, "_CELLS_AT_ONCE", 7 * model._n_cells)
    monkeypatch.setattr(type(model), "_groups_at_once", 5)
    found = model.set_params(n_jobs=n_jobs).quantify_by(spoilt, "group")
    pd.testing.assert_frame_equal(found, expected)


@pytest.fixture
def odd_groups(spoilt):
    """Spoilt groups, and some of a single row, of zeros, of nothing but gaps, and of new words."""
    few = spoilt.iloc[:40].copy()
    few["group"] = 100 + np.repeat(np.arange(30), [1] * 20 + [2] * 10)
    few.loc[few["group"] % 5 == 1, NAMES] = 0.0
    few.loc[few["group"] % 5 == 2, "a"] = np.nan
    few.loc[few["group"] % 5 == 3, "site"] = "new"
    return pd.concat([spoilt, few], ignore_index=True)


@pytest.mark.parametrize("tolerance", [0.0, 0.1])
@pytest.mark.parametrize("machine_code", [False, True])
def test_groups_get_the_bits_that_they_get_alone(odd_groups, monkeypatch, machine_code, tolerance):
    if machine_code:
        pytest.importorskip("numba")
    model = RCQ(random_state=0, tolerance=tolerance).fit(table(np.random.default_rng(0), 200))
    monkeypatch.setattr(compiling, "can_compile", lambda: machine_code)
    monkeypatch.setattr(RCQ, "_groups_at_once", 37)
    # So that the last part, and none of a single group, is compiled, too.
    monkeypatch.setattr(rule_kernel, "FEWEST_SAMPLES", 2)
    monkeypatch.setattr(trees, "FEWEST_LINES", 2)
    found = model.quantify_by(odd_groups, "group")
    alone = [
        # What only rows tell is said of all of them together.
        answer.replace(warnings=[each for each in answer.warnings if each.code != OF_ROWS])
        for answer in (model.quantify(rows) for _, rows in odd_groups.groupby("group"))
    ]
    assert found.drop(columns="group").to_dict("list") == as_columns(alone)
    assert found["n"].min() == 1
    assert found["verdict"].nunique() > 1


def test_a_bad_row_is_named_by_its_place(model, spoilt, monkeypatch):
    monkeypatch.setattr(counting, "_CELLS_IN_ONE_PASS", 0)
    monkeypatch.setattr(counting, "_CELLS_AT_ONCE", 7 * model._n_cells)
    monkeypatch.setattr(type(model), "_groups_at_once", 5)
    bad = spoilt.copy()
    bad.loc[[1200, 2400], "d"] = np.inf
    with pytest.raises(InputError) as caught:
        model.quantify_by(bad, "group")
    assert (caught.value.column, caught.value.row) == ("d", 1200)
