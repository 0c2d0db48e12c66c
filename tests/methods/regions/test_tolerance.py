"""A tolerance for how rows were recorded: what is learned for it, and what it does to bounds."""

import pickle

import numpy as np
import pandas as pd
import pytest

import poscount
from poscount import RCQ, TRCQ, compiling
from poscount.calibration.files import chosen_calibrations
from poscount.methods.regions import rule_kernel
from poscount.methods.regions.features import (
    FEATURE_NAMES,
    OF_LEARNED_SCORE,
    OF_TOLERANCE,
    feature_names,
)
from poscount.methods.regions.layout import BANDS
from poscount.methods.regions.recording import MOST_ROWS, N_COPIES, SIZE, recorded_differently
from poscount.methods.regions.rule import bounds
from poscount.seeds import stream
from poscount.storage.model_files import content_hash

pytestmark = pytest.mark.usefixtures("global_generator_untouched")


def correlated(rng, n_rows, n_columns=10):
    """Columns that nearly follow from each other, half of them with another sign."""
    signs = np.where(np.arange(n_columns) % 2, 1.0, -1.0)
    return rng.normal(size=(n_rows, 1)) * signs + 0.2 * rng.normal(size=(n_rows, n_columns))


def draw(seed, n_positive=400, n_negative=600):
    """Positives, and a sample whose negatives are far away."""
    rng = np.random.default_rng(seed)
    positives = correlated(rng, 500)
    negatives = correlated(rng, n_negative) + 4.0
    return positives, np.vstack([correlated(rng, n_positive), negatives])


@pytest.fixture(scope="module")
def task():
    return draw(0)


@pytest.fixture(scope="module")
def model(task):
    return RCQ(calibration="null", tolerance=0.0, random_state=0).fit(task[0])


@pytest.fixture(scope="module")
def with_reference(task):
    model = RCQ(calibration="null", tolerance=0.0, random_state=0)
    return model.fit(task[0], unlabeled=task[1])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(correlated(rng, 200, 3), columns=list("abc"))
    rows["a"] = rows["a"].mask(rng.random(200) < 0.2)
    rows["site"] = rng.choice(["north", "south", "west"], 200)
    return rows


def view_of(model, *samples):
    return model._view(*map(model.count, samples))


# What it is for


@pytest.mark.parametrize("seed", range(6))
def test_a_sample_recorded_a_little_differently(seed):
    """A shift of .1 standard deviations in all columns is large along narrow directions."""
    positives, sample = draw(seed)
    model = RCQ(calibration="null", random_state=0).fit(positives)
    view = view_of(model, sample + 0.1 * positives.std(axis=0), sample)
    shifted, unshifted = view.found.prevalence
    assert shifted < 0.33
    assert unshifted == pytest.approx(0.4, abs=0.04)
    assert view.tolerant(0.1).prevalence == pytest.approx([0.4, 0.4], abs=0.05)


def test_the_answer_has_both_as_details(task):
    positives, sample = task
    for method in (RCQ, TRCQ):
        exact, tolerant = (
            method(calibration="null", tolerance=tolerance, random_state=0)
            .fit(positives)
            .quantify(sample)
            for tolerance in (0.0, 0.1)
        )
        # Only a calibration has learned what to make of it.
        assert float(exact) == float(tolerant)
        assert tuple(exact.interval) == tuple(tolerant.interval)
        assert set(tolerant.details) - set(exact.details) == {"tolerant", "tolerant_high"}
        assert tolerant.details["tolerant_high"] > tolerant.details["tolerant"] > 0


@pytest.mark.parametrize("tolerance", [-0.1, 1.1, "much", np.nan])
@pytest.mark.parametrize("method", [RCQ, TRCQ])
def test_tolerances_that_are_none(method, tolerance, task):
    with pytest.raises(ValueError, match="tolerance"):
        method(tolerance=tolerance).fit(task[0])


# Bounds


@pytest.mark.parametrize("name", ["model", "with_reference"])
def test_without_tolerance_all_is_as_it_is(name, request, task):
    view = view_of(request.getfixturevalue(name), task[1])
    assert view.tolerance == 0
    assert view.tolerant(0.0) is view.found
    assert view.plain_tolerant(0.0) is view.plain
    for exact, nearly in (
        (view.found, view.tolerant(1e-200)),
        (view.plain, view.plain_tolerant(1e-200)),
    ):
        assert (nearly.prevalence == exact.prevalence).all()
        for one, other in zip(nearly.bounds, exact.bounds, strict=True):
            assert (one == other).all()


@pytest.mark.parametrize("name", ["model", "with_reference"])
def test_a_larger_tolerance_never_makes_bounds_smaller(name, request, task):
    view = view_of(request.getfixturevalue(name), task[1], task[1] + 0.2, task[0][:30])
    found = [view.tolerant(tolerance) for tolerance in (0.0, 0.01, 0.05, 0.1, 0.3, 1.0)]
    highs, ratios = ([of.bounds[i] for of in found] for i in (2, 0))
    assert (np.diff(highs, axis=0) >= 0).all()
    assert (np.diff([of.region_high for of in found], axis=0) > 0).all()
    assert (ratios == ratios[0]).all()


def test_without_the_regions_of_a_learned_score(model, with_reference, task):
    plain, learned = (view_of(each, task[1]) for each in (model, with_reference))
    variances = [each.part_.recording_variance_ for each in (model, with_reference)]
    n_cuts = variances[0].shape[1]
    np.testing.assert_array_equal(variances[0], variances[1][:, :n_cuts])
    for tolerance in (0.0, 0.1):
        one, other = plain.tolerant(tolerance), learned.plain_tolerant(tolerance)
        assert one.prevalence == other.prevalence
        assert one.region_high == other.region_high


@pytest.mark.parametrize("seed", range(3))
def test_a_score_that_knows_how_rows_were_recorded(seed):
    """It has learned just this shift, so that a tolerance helps less than without a score."""
    positives, sample = draw(seed)
    shifted = sample + 0.1 * positives.std(axis=0)
    model = RCQ(calibration="null", random_state=0).fit(positives, unlabeled=shifted)
    view = view_of(model, shifted)
    estimates = (view.found, view.tolerant(0.1), view.plain_tolerant(0.1))
    exact, tolerant, plain = (abs(of.prevalence[0] - 0.4) for of in estimates)
    assert exact > 0.15
    assert plain < tolerant < exact


def test_variances_of_a_learned_score_are_those_of_its_bins(with_reference, task):
    part = with_reference.part_
    block, _, order = part._in_canonical_order(task[0])
    copies = recorded_differently(block, part.columns_.numbers[order], part.seed_)
    bins = [part.learned_score_.bins(copy, part.columns_) for copy in copies]
    for k, variance in enumerate(part.recording_variance_[0, -8:], start=1):
        above = np.array([(of_copy >= k).mean() for of_copy in bins])
        assert variance == pytest.approx(((above[1:] - above[0]) ** 2).mean() / SIZE**2)


def test_a_score_learned_from_each_sample(task):
    """TRCQ is RCQ with the sample to learn from, in this respect, too."""
    one = TRCQ(calibration="null", tolerance=0.1, random_state=0).fit(task[0]).quantify(task[1])
    model = RCQ(calibration="null", tolerance=0.1, random_state=0).fit(task[0], unlabeled=task[1])
    other = model.quantify(task[1])
    for name in ("tolerant", "tolerant_high", "rcq_tolerant", "rcq_tolerant_high"):
        assert one.details[name] == other.details[name]


@pytest.mark.parametrize("noisy", [False, True])
def test_machine_code_bounds_as_numpy_does(noisy, monkeypatch):
    pytest.importorskip("numba")
    rng = np.random.default_rng(0)
    n_rows = rng.integers(50, 500, size=(40, 1))
    # More may have been subtracted than there was.
    rows = rng.random((40, 300)) * n_rows - 5
    in_positives = rng.integers(1, 100, size=300).astype(float)
    noise = rng.random((40, 300)) ** 4 if noisy else 0.0
    found = []
    for machine_code in (False, True):
        monkeypatch.setattr(compiling, "can_compile", lambda is_there=machine_code: is_there)
        assert (rule_kernel.compiled_bound(40, 10**9) is not None) == machine_code
        found.append(bounds(rows, n_rows, in_positives, 100, noise))
    np.testing.assert_array_equal(*found)


# Variances


def test_variances_are_those_of_a_plain_loop(model, task):
    """The cuts of one column at any score, from all 500 positives."""
    part, positives = model.part_, task[0]
    assert len(positives) == MOST_ROWS
    _, _, order = part._in_canonical_order(positives)
    generator = stream(part.seed_, "recording")
    stretch = generator.uniform(-1, 1, (N_COPIES, 10))
    shift = generator.standard_normal((N_COPIES, 10))
    cuts = part.layout.feature_cuts
    found = part.recording_variance_[0, cuts].reshape(10, 4)
    for place, j in enumerate(order.tolist()):
        column = positives[:, j]
        for threshold, variance in zip(part.cuts_[j], found[j], strict=True):
            squares = []
            for u, z in zip(stretch[:, place], shift[:, place], strict=True):
                scale = 1 + SIZE * u
                centred = column - column.mean()
                copy = column.mean() + centred * scale + SIZE * column.std() * z
                change = (copy <= threshold).mean() - (column <= threshold).mean()
                squares.append(change**2)
            assert variance == pytest.approx(np.mean(squares) / SIZE**2)
    # All rows at any score stay where they are; narrow directions make the bands uncertain.
    assert part.recording_variance_[0, 0] == 0
    assert (part.recording_variance_[1:7, 0] > 0.1).all()


def test_the_order_of_rows_and_columns_does_not_matter(task):
    positives, sample = task
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(positives)), rng.permutation(10)
    one = RCQ(calibration="null", random_state=0).fit(positives)
    shuffled = RCQ(calibration="null", random_state=0).fit(positives[rows])
    np.testing.assert_array_equal(one.part_.recording_variance_, shuffled.part_.recording_variance_)
    other = RCQ(calibration="null", random_state=0).fit(positives[rows][:, columns])
    of_one, of_other = (
        each.part_.recording_variance_[:, each.part_.layout.feature_cuts].reshape(-1, 10, 4)
        for each in (one, other)
    )
    np.testing.assert_allclose(of_one[:, columns], of_other, atol=1e-9)
    found = view_of(one, sample).tolerant(0.1).prevalence
    assert view_of(other, sample[:, columns]).tolerant(0.1).prevalence == pytest.approx(found)


def test_words_and_gaps_stay_as_they_are(table):
    part = RCQ(calibration="null", random_state=0).fit(table).part_
    variance, value_cuts = part.recording_variance_, part.layout.value_cuts
    assert len(value_cuts) == 1 + 3
    assert (variance[0, value_cuts] == 0).all()
    assert (variance[0, part.layout.feature_cuts] > 0).all()
    codes = np.column_stack([table["a"], table["site"] == "north"]).astype(float)
    copies = recorded_differently(codes, np.array([0]), seed=0)
    assert copies.shape == (1 + N_COPIES, 200, 2)
    np.testing.assert_array_equal(copies[0], codes)
    assert (copies[..., 1] == codes[:, 1]).all()
    assert (np.isnan(copies[..., 0]) == np.isnan(codes[:, 0])).all()


def test_a_column_that_never_varies_stays_as_it_is():
    codes = np.column_stack([np.full(50, 0.1), np.full(50, np.nan), np.arange(50.0)])
    copies = recorded_differently(codes, np.arange(3), seed=0)
    # Up to the last bits, which are no other value.
    np.testing.assert_allclose(copies[..., 0], 0.1, rtol=1e-12)
    assert np.isnan(copies[..., 1]).all()


def test_of_many_rows_some_are_copied():
    codes = np.arange(1203.0)[:, np.newaxis]
    rows = recorded_differently(codes, np.array([0]), seed=0)[0, :, 0]
    assert len(rows) == MOST_ROWS
    assert set(np.diff(rows)) == {2, 3}


# Features


def test_columns_of_features(model, with_reference, task):
    assert feature_names(learned=False) == [*FEATURE_NAMES, *OF_TOLERANCE]
    assert feature_names(learned=True) == [*FEATURE_NAMES, *OF_TOLERANCE, *OF_LEARNED_SCORE]
    for each in (model, with_reference):
        cells, n_rows = each._rows_of(each.count(task[1]))
        view = each.part_.view(cells, n_rows, 0.1)
        line = dict(zip(view.feature_names, view.features[0], strict=True))
        found = view.tolerant(0.1)
        assert line["tolerance"] == 0.1
        assert line["tolerant"] == pytest.approx(found.prevalence[0], abs=1e-6)
        assert line["tolerant_high"] == pytest.approx(found.region_high[0], abs=1e-6)
        assert view.of_regions.shape == (1, len(FEATURE_NAMES))
    line = dict(zip(OF_TOLERANCE, view_of(model, task[1]).of_tolerance[0], strict=True))
    plain = view_of(model, task[1]).found
    assert line["tolerance"] == 0
    assert line["tolerant"] == pytest.approx(plain.prevalence[0], abs=1e-6)
    assert line["tolerant_high"] == pytest.approx(plain.region_high[0], abs=1e-6)


def test_a_calibration_may_look_at_them():
    (calibration,) = chosen_calibrations("experience", "RCQ")
    calibration.check_for("RCQ", feature_names(learned=False))
    assert set(calibration.columns_) <= {*feature_names(learned=False), "recognisable"}


# Models


def test_models_keep_what_was_learned(model, with_reference, task, tmp_path):
    for each in (model, with_reference):
        tolerant = RCQ(**{**each.get_params(), "tolerance": 0.1})
        tolerant.__dict__.update({name: x for name, x in vars(each).items() if name.endswith("_")})
        tolerant.hash_ = content_hash(tolerant)
        tolerant.save(tmp_path / "model.poscount")
        for again in (
            poscount.load(tmp_path / "model.poscount"),
            pickle.loads(pickle.dumps(tolerant)),
        ):
            assert again.tolerance == 0.1
            assert again.part_.recording_variance_.shape[0] == len(BANDS)
            assert again.quantify(task[1]).details == tolerant.quantify(task[1]).details
