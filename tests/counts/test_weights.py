"""Weights: whole ones are repetitions, others are survey weights."""

import math
import pickle
from dataclasses import asdict
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import assert_same_answer
from poscount import (
    BBE,
    PAT,
    RCQ,
    Counts,
    ExTIcE,
    FileError,
    InputError,
    Minimum,
    ODIn,
    SubclassRCQ,
    compare_samples,
)
from poscount.counts.counts import GroupedCounts
from poscount.counts.weights import LARGEST, UNITS, WeightSums, add_weights, effective, row_weights
from poscount.storage import container

NAMES = ("a", "b", "c")
METHODS = {
    "pat": lambda: PAT(random_state=0),
    "odin": lambda: ODIn(random_state=0),
    "rcq": lambda: RCQ(random_state=0),
    "null": lambda: RCQ(calibration="null", random_state=0),
    "subclasses": lambda: SubclassRCQ(2, random_state=0),
}


@pytest.fixture(scope="module", params=METHODS)
def model(request, positives):
    return METHODS[request.param]().fit(pa.table(dict(zip(NAMES, positives.T, strict=True))))


@pytest.fixture(scope="module")
def rows(sample):
    """A frame with whole and other weights, some of them 0, and groups."""
    rng = np.random.default_rng(7)
    n = len(sample)
    return pd.DataFrame(
        {
            **dict(zip(NAMES, sample.T, strict=True)),
            "times": rng.integers(0, 5, n),
            "weight": np.where(rng.random(n) < 0.1, 0, rng.gamma(2.0, 1.0, n)),
            "night": rng.choice(["mon", "tue", "wed"], n),
        }
    )


@pytest.fixture(scope="module")
def repeated(rows):
    return rows.loc[np.repeat(rows.index, rows["times"])]


def pieces(frame, *cuts):
    ends = [*cuts, len(frame)]
    return [frame[start:stop] for start, stop in zip([0, *cuts], ends, strict=True)]


# Sums


ANY_WEIGHT = st.one_of(
    st.floats(0, LARGEST, exclude_max=True), st.integers(0, LARGEST - 1), st.floats(0, 3)
)


def rounded(weight):
    """A weight in units, the slow and sure way."""
    return max(round(Fraction(weight) * UNITS), int(weight > 0))


@given(st.lists(st.tuples(ANY_WEIGHT, st.integers(0, 2), st.booleans()), max_size=40))
def test_sums_are_those_of_fractions(rows):
    weights = np.array([weight for weight, _, _ in rows], dtype=float)
    codes = np.array([code for _, code, _ in rows], dtype=int)
    core = np.array([inside for _, _, inside in rows], dtype=bool)
    units = row_weights(None, weights, len(rows))
    assert units.tolist() == [rounded(weight) for weight in weights.tolist()]
    for group, sums in enumerate(add_weights(units, core, codes, 3)):
        mine, inside = (
            [Fraction(unit, UNITS) for unit in units[chosen].tolist()]
            for chosen in (codes == group, (codes == group) & core)
        )
        assert sums.total == UNITS * sum(mine)
        assert sums.fractional == sum(weight.denominator > 1 for weight in mine)
        assert sums.squares == pytest.approx(float(sum(weight**2 for weight in mine)))
        excess = float(sum(weight**2 - weight for weight in inside))
        assert sums.core_excess == pytest.approx(excess, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -0.5, 1], "row 1: the weight is -0.5; a weight is a finite number of at least 0"),
        ([1, 1, np.nan], "row 2: the weight is missing"),
        ([1, 1, None], "row 2: the weight is missing"),
        ([np.inf, 1, 1], "row 0: the weight is inf; a weight is a finite number"),
        ([1, LARGEST, 1], r"row 1: the weight is 4.29497e\+09, and .* cannot be added exactly"),
        ([1, 1], "there are 3 rows, and the weights have the shape 2"),
        ([[1], [1], [1]], "the shape 3 x 1"),
        (2.0, "the shape of a single number"),
        (["x", "y", "z"], "not numbers"),
        ("w", "have no column 'w' of weights"),
    ],
)
def test_wrong_weights_are_refused_with_their_place(pat, sample, weights, message):
    with pytest.raises(InputError, match=message):
        pat.count(sample[:3], weights=weights)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, None, 2.0], "column 'w', row 1: the weight is missing"),
        ([1.0, 2.0, -1.0], "column 'w', row 2: the weight is -1"),
        (["1", "2", "3"], "column 'w': it holds String, not numbers"),
    ],
)
def test_a_column_of_wrong_weights(make_frame, positives, sample, values, message):
    model = PAT(random_state=0).fit(make_frame(positives))
    frame = make_frame({**dict(zip(NAMES, sample[:3].T, strict=True)), "w": values})
    with pytest.raises(InputError, match=message):
        model.count(frame, weights="w")
    with pytest.raises(InputError, match="column 'v': there is no such column of weights"):
        model.count(frame, weights="v")


def test_a_weight_above_0_is_never_rounded_away():
    assert row_weights(None, [0, 1e-30, 2**-21, 2**-20], 4).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.float32, object])
def test_types_of_weights(pat, sample, dtype):
    weights = np.arange(len(sample)) % 2
    expected = pat.count(sample, weights=weights)
    assert pat.count(sample, weights=weights.astype(dtype)) == expected
    assert pat.count(sample, weights=weights.tolist()) == expected


# Repetitions


def test_whole_weights_are_repetitions(model, rows, repeated):
    answer = model.quantify(rows, weights="times")
    assert_same_answer(answer, model.quantify(repeated))
    assert_same_answer(model.quantify(rows, weights=rows["times"].astype(float)), answer)
    assert answer.n_unlabeled == answer.total_weight == len(repeated)
    assert "effective_rows" not in answer.details
    counts = model.count(rows, weights="times")
    assert counts.n == np.count_nonzero(rows["times"])
    assert counts.weights.weight == len(repeated)
    assert np.array_equal(counts.cells, UNITS * model.count(repeated).cells)


def test_whole_weights_of_groups_are_repetitions(model, rows, repeated):
    found = model.quantify_by(rows, "night", weights="times")
    pd.testing.assert_frame_equal(found, model.quantify_by(repeated, "night"))
    assert_same_answer(
        model.quantify_groups(rows, "night", weights="times"),
        model.quantify_groups(repeated, "night"),
    )


def test_groups_of_repetitions_beside_groups_of_survey_weights(model, rows):
    mixed = rows.assign(w=np.where(rows["night"] == "tue", rows["times"], rows["weight"]))
    answers = model.quantify_groups(mixed, "night", weights="w")
    for (night,), answer in answers.items():
        alone = mixed[mixed["night"] == night]
        assert_same_answer(answer, model.quantify(alone, weights="w"))
        assert ("effective_rows" in answer.details) == (night != "tue")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_blocks_and_threads_change_nothing(positives, rows, n_jobs):
    model = RCQ(n_jobs=n_jobs, random_state=0).fit(pd.DataFrame(positives, columns=list(NAMES)))
    parts = [model.count(part, weights="weight") for part in pieces(rows, 100, 100, 350)]
    assert model.count(rows, weights="weight") == sum(parts)


def test_samples_with_weights_are_compared(positives, rows, repeated):
    model = RCQ(random_state=0).fit(pd.DataFrame(positives, columns=list(NAMES)))
    first, other = rows["night"] == "mon", repeated["night"] == "mon"
    found = compare_samples(
        model, *(model.count(rows[chosen], weights="times") for chosen in (first, ~first))
    )
    plain = compare_samples(model, *(model.count(repeated[chosen]) for chosen in (other, ~other)))
    assert_same_answer(found, plain)


# Survey weights


def test_a_share_by_construction(positives):
    """Positives with a weight of 1/2 and as many far negatives with 3/2 are a quarter."""
    model = PAT(random_state=0).fit(positives)
    sample = np.vstack([positives, positives + 100])
    weights = np.repeat([0.5, 1.5], len(positives))
    answer = model.quantify(sample, weights=weights)
    assert answer == pytest.approx(model.quantify(sample) / 2)
    n = len(positives)
    assert answer.details["effective_rows"] == (2 * n) ** 2 / (n * 0.25 + n * 2.25)
    assert answer.n_unlabeled == 2 * n
    assert answer.total_weight == 2 * n
    assert answer.count == pytest.approx(2 * n * float(answer))
    tripled = model.quantify(sample, weights=3 * weights)
    assert tripled.count == pytest.approx(3 * answer.count)
    told = answer.to_dict()
    assert (told["total_weight"], told["effective_rows"]) == (2 * n, 1.6 * n)
    assert "total_weight" not in model.quantify(sample).to_dict()


def test_equal_survey_weights_are_none(model, rows):
    plain = model.quantify(rows)
    for weight in (0.3, 0.5, 17.25):
        answer = model.quantify(rows, weights=np.full(len(rows), weight))
        assert answer.details.pop("effective_rows") == len(rows)
        assert_same_answer(answer, plain, without=["total_weight"])


@settings(max_examples=10)
@given(factor=st.floats(0.01, 1000))
def test_a_common_factor_changes_nothing(pat, sample, factor):
    weights = np.random.default_rng(0).gamma(2.0, 1.0, len(sample))
    plain, scaled = (
        pat.quantify(sample, weights=weights),
        pat.quantify(sample, weights=factor * weights),
    )
    assert scaled == pytest.approx(float(plain), abs=1e-4)
    assert scaled.interval.low == pytest.approx(plain.interval.low, abs=0.005)
    assert scaled.interval.high == pytest.approx(plain.interval.high, abs=0.005)
    assert scaled.details["effective_rows"] == pytest.approx(
        plain.details["effective_rows"], rel=1e-4
    )


def test_survey_weights_widen_the_interval_like_fewer_rows(positives, draw):
    model = PAT(random_state=0).fit(positives)
    sample = draw(np.random.default_rng(5), 1600, 2400)
    weights = np.where(np.random.default_rng(0).random(len(sample)) < 0.1, 9.5, 0.5)
    answer = model.quantify(sample, weights=weights)
    n = round(answer.details["effective_rows"])
    assert 800 < n < 1300
    like = model.quantify(draw(np.random.default_rng(6), round(0.4 * n), n - round(0.4 * n)))
    assert answer.interval.width == pytest.approx(like.interval.width, rel=0.15)


def test_heavy_rows_in_the_core_are_worth_less(model, rows):
    """By the formula, from the rows themselves."""
    positive = rows["a"].to_numpy() < 50
    core = np.array(
        [
            model._score_cells(model.count(rows[i : i + 1]).cells[np.newaxis])[
                0, model._first_core_cell :
            ].any()
            for i in range(len(rows))
        ]
    )
    assert not core[~positive].any()
    assert 0.5 < core[positive].mean() < 0.95
    for heavy, light in ((2.5, 0.5), (0.5, 2.5)):
        weights = np.where(positive, heavy, light)
        inside = weights[core]
        second = (inside.sum() + weights.mean()) / ((inside**2).sum() + (weights**2).mean())
        kish = weights.sum() / (weights**2).sum()
        found = model.quantify(rows, weights=weights).details["effective_rows"]
        assert found == pytest.approx(weights.sum() * min(kish, second), rel=1e-5)
        assert (found < weights.sum() * kish - 1) == (heavy > light)


def test_weights_too_small_for_the_units_are_refused(pat, sample):
    share = np.random.default_rng(0).random(len(sample)) * 1e-5
    with pytest.raises(InputError, match=r"mean weight is about 5e-06.*multiply all weights"):
        pat.quantify(sample, weights=share)


@pytest.mark.parametrize("shares", [(0.1, 0.3), (0.7, 0.4)])
def test_intervals_with_survey_weights_cover(draw, shares):
    """Two halves of a population, one of them sampled five times as often as the other."""
    rng = np.random.default_rng(int(100 * shares[0]))
    truth, sizes, n_runs = sum(shares) / 2, (100, 500), 120
    covered = ignoring = 0
    for _ in range(n_runs):
        model = PAT(random_state=0).fit(draw(rng, 300))
        positive = [rng.binomial(size, share) for size, share in zip(sizes, shares, strict=True)]
        strata = [draw(rng, k, size - k) for k, size in zip(positive, sizes, strict=True)]
        sample, weights = np.vstack(strata), np.repeat([2.5, 0.5], sizes)
        covered += truth in model.quantify(sample, weights=weights).interval
        ignoring += truth in model.quantify(sample).interval
    # Three standard errors below 0.95.
    assert covered / n_runs >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / n_runs)
    assert ignoring / n_runs < 0.7


# Counts


def weighted(units, model="m"):
    """Counts of rows in two cells, with a weight each."""
    units = np.array(units, np.int64).reshape(-1, 2)
    cells = np.array([units[units[:, 1] == cell, 0].sum() for cell in (0, 1)], np.int64)
    (sums,) = add_weights(units[:, 0], units[:, 1] == 1, np.zeros(len(units), int), 1)
    return Counts(cells, len(units), model, weights=sums)


PART = st.lists(
    st.tuples(
        st.one_of(st.integers(1, 5).map(UNITS.__mul__), st.integers(1, 2**50)), st.integers(0, 1)
    ),
    max_size=6,
)


@given(st.lists(PART, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_sums_of_counts_do_not_depend_on_the_order(parts, random):
    shuffled = random.sample(parts, len(parts))
    whole = weighted([row for part in parts for row in part])
    assert sum(weighted(part) for part in parts) == whole
    assert sum(weighted(part) for part in shuffled) == whole


@given(PART, PART)
def test_minus_undoes_plus(a, b):
    assert weighted(a) + weighted(b) - weighted(b) == weighted(a)


@given(PART, PART)
def test_minus_refuses_what_was_not_part(a, b):
    more = weighted([*a, *b, (UNITS, 0)])
    with pytest.raises(InputError, match="not part of the first"):
        weighted(a) - more


def test_minus_looks_at_the_weights_too():
    two_halves, one = [(UNITS // 2, 0)] * 2, [(UNITS, 0)]
    with pytest.raises(InputError, match="not part of the first"):
        weighted([*one, *one]) - weighted(two_halves)


def test_rows_without_weights_weigh_1(model, rows):
    ones = np.ones(len(rows))
    plain, heavy = model.count(rows), model.count(rows, weights="weight")
    assert plain + heavy == heavy + plain == model.count(rows, weights=ones) + heavy
    assert plain + heavy - heavy == model.count(rows, weights=ones)
    grouped, others = model.count_by(rows, "night"), model.count_by(rows, "night", weights="times")
    assert grouped + others == others + grouped
    assert (grouped + others).weights == [
        one + WeightSums.of_rows(n) for one, n in zip(others.weights, grouped.n, strict=True)
    ]
    both = pd.concat([rows.assign(times=1), rows])
    assert_same_answer(
        model.estimate_by(grouped + others),
        list(model.quantify_groups(both, "night", weights="times").values()),
    )


def test_groups_add_up_in_any_order(model, rows):
    whole = model.count_by(rows, "night", weights="weight")
    parts = [model.count_by(part, "night", weights="weight") for part in pieces(rows, 3, 200)]
    assert GroupedCounts.total(parts[::-1]).in_order() == whole
    for (night,), counts in whole.items():
        assert counts == model.count(rows[rows["night"] == night], weights="weight")


def test_rows_of_weight_0_count_nothing(model, rows, make_frame):
    nothing = rows.assign(weight=np.where(rows["night"] == "tue", 0, rows["weight"]))
    rest = nothing[nothing["weight"] > 0]
    assert model.count(nothing, weights="weight") == model.count(rest, weights="weight")
    by_night = model.count_by(nothing, "night", weights="weight")
    assert by_night == model.count_by(rest, "night", weights="weight")
    frame = make_frame({name: nothing[name].to_numpy() for name in nothing})
    found = model.quantify_by(frame, "night", weights="weight")
    assert list(found["night"]) == list(make_frame({"night": ["mon", "wed"]})["night"])
    with pytest.raises(InputError, match="No row has a weight above 0"):
        model.quantify(rows, weights=np.zeros(len(rows)))
    assert len(model.count_by(rows, "night", weights=np.zeros(len(rows)))) == 0


def test_sums_too_large_for_int64_are_refused():
    heavy = Counts(np.array([2**61]), 2**12, "m", weights=WeightSums(2**61, 1, 2.0**80))
    with pytest.raises(InputError, match="divide all weights by the same number"):
        heavy + heavy
    grouped = GroupedCounts(
        ("g",), [(1,)], heavy.cells[np.newaxis], np.array([heavy.n]), "m", weights=[heavy.weights]
    )
    with pytest.raises(InputError, match="divide all weights by the same number"):
        grouped + grouped


def test_effective_cells_add_up_exactly():
    rng = np.random.default_rng(0)
    units = rng.integers(1, 4 * UNITS, 1000)
    cells = np.bincount(rng.integers(0, 30, 1000), units, 30).astype(np.int64)[np.newaxis]
    sums = add_weights(units, np.zeros(1000, bool), np.zeros(1000, int), 1)
    rows, n = effective(cells, np.array([1000]), sums, np.array([0]))
    assert sum(map(Fraction, rows[0].tolist())) == Fraction(rows.sum())
    assert rows.sum() == pytest.approx(n[0], abs=1e-4)
    assert n[0] == pytest.approx(units.sum() ** 2 / (units.astype(float) ** 2).sum(), rel=1e-5)


# Files of counts


def test_counts_files(model, rows, tmp_path):
    for weights in ("times", "weight"):
        counts = model.count(rows, weights=weights)
        counts.save(tmp_path / "x.counts")
        loaded = Counts.load(tmp_path / "x.counts")
        assert loaded == counts == pickle.loads(pickle.dumps(counts))
        assert_same_answer(model.estimate(loaded), model.quantify(rows, weights=weights))


@pytest.mark.parametrize(
    "change",
    [
        {"total": 1},
        {"total": 2**63},
        {"total": 3.5 * UNITS},
        {"total": True},
        {"squares": -1.0},
        {"squares": 10.0**40},
        {"squares": None},
        {"fractional": 3},
        {"fractional": -1},
        {"core_excess": 10.0**40},
        {"core_excess": -(10.0**40)},
        {"units": 1000},
    ],
)
def test_weighted_counts_that_cannot_be_are_refused(tmp_path, change):
    counts = weighted([(UNITS, 0), (UNITS * 5 // 2, 1)])
    sums = asdict(counts.weights)
    meta = {"n": 2, "model": "m", "parts": [], "weights": sums | change}
    container.write(tmp_path / "x.counts", "counts", meta, {"cells": counts.cells})
    with pytest.raises(FileError, match="does not hold counts"):
        Counts.load(tmp_path / "x.counts")


# Methods that cannot


@pytest.mark.parametrize("method", [ExTIcE, BBE, Minimum])
def test_methods_that_do_not_count_refuse_weights(method, positives, sample):
    model = method(random_state=0).fit(pd.DataFrame(positives, columns=list(NAMES)))
    frame = pd.DataFrame(sample, columns=list(NAMES)).assign(w=1.5, g="x")
    for call in (
        lambda: model.quantify(frame, weights="w"),
        lambda: model.quantify_by(frame, "g", weights="w"),
        lambda: model.quantify_groups(frame, "g", weights="w"),
    ):
        with pytest.raises(InputError, match=f"{method.__name__} cannot use weights.*reusable"):
            call()
