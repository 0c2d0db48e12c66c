"""Kinds of positives: found or named, counted apart, and added up."""

import copy
import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import poscount
from poscount import RCQ, SubclassRCQ
from poscount.calibration.files import read_calibration, shipped, write_calibration
from poscount.cli import main
from poscount.errors import FileError, InputError
from poscount.methods.regions.features import FEATURE_NAMES
from poscount.methods.regions.part import RegionPart
from poscount.methods.regions.subclass_features import (
    OF_REFERENCE,
    SUBCLASS_FEATURES,
    subclass_features,
)
from poscount.methods.regions.subclass_rcq import N_TREES
from poscount.methods.regions.subclasses import clustered_subclasses, find_subclasses, how_many
from poscount.storage.model_files import content_hash
from poscount.storage.schema import same_learned
from poscount.training.bank import COLUMNS, LIMITS, Bank, draw_task, make_bank, read_bank
from poscount.training.learning import blended, fit_blend
from poscount.training.sources import Source
from poscount.training.tasks import drifted_shares
from research.calibrations import bundled
from research.calibrations.drift_tasks import allocate, draw_drift_task

pytestmark = pytest.mark.usefixtures("global_generator_untouched")

CENTRES = np.array([[0.0, 0, 0, 0], [12, 0, 0, 0], [0, 12, 0, 0]])
NEGATIVE = np.array([0.0, 0, 12, 12])


def rows_of(rng, *sizes):
    """Rows around each of the centres."""
    blocks = [c + rng.normal(size=(n, 4)) for c, n in zip(CENTRES, sizes, strict=False)]
    return np.vstack(blocks)


def drifting(seed, labeled=(300, 200, 100), positives=(20, 60, 220), n_negative=700):
    """Three kinds of positives, of which the rarest is the most frequent one in the sample."""
    rng = np.random.default_rng(seed)
    negatives = NEGATIVE + rng.normal(size=(n_negative, 4))
    return rows_of(rng, *labeled), np.vstack([rows_of(rng, *positives), negatives])


@pytest.fixture(scope="module")
def task():
    return drifting(0)


@pytest.fixture(scope="module")
def model(task):
    return SubclassRCQ(3, random_state=0).fit(task[0])


# Known answers


def test_each_kind_has_its_share_and_they_add_up(model, task):
    answer = model.quantify(task[1])
    kinds = answer.details["kinds"]
    # Clusters are named by their size, so in the order of the construction.
    assert [kind["name"] for kind in kinds] == ["kind 1", "kind 2", "kind 3"]
    assert [kind["positives"] for kind in kinds] == [300, 200, 100]
    for kind, truth in zip(kinds, (0.02, 0.06, 0.22), strict=True):
        assert kind["low"] <= kind["prevalence"] <= kind["high"]
        assert kind["prevalence"] == pytest.approx(truth, abs=0.03)
    assert sum(kind["prevalence"] for kind in kinds) == pytest.approx(float(answer))
    assert 0.3 in answer.interval


@pytest.mark.parametrize("calibration", ["null", "experience"])
def test_drift_misleads_one_kind_and_not_the_sum(calibration):
    errors = {"one kind": [], "sum": []}
    for seed in range(4):
        positives, sample = drifting(seed)
        model = SubclassRCQ(3, calibration=calibration, random_state=0).fit(positives)
        answer = model.quantify(sample)
        errors["sum"].append(abs(answer - 0.3))
        errors["one kind"].append(abs(answer.details["one_kind"] - 0.3))
        assert answer.details["heterogeneity"] > 4
    assert np.mean(errors["one kind"]) > 0.12
    # Experience has seen overlap that looks like drift, and goes most of the way only.
    most = 0.05 if calibration == "null" else np.mean(errors["one kind"]) / 2
    assert np.mean(errors["sum"]) < most


def test_auto_is_nearer_than_one_kind_and_its_interval_reaches_the_sum():
    # Twelve slices of three kinds: drift is taken for overlap in part, and the interval says so.
    for seed in range(4):
        positives, sample = drifting(seed)
        answer = SubclassRCQ("auto", random_state=0).fit(positives).quantify(sample)
        assert abs(answer - 0.3) < abs(answer.details["one_kind"] - 0.3)
        assert answer.interval.high > 0.28


def test_without_drift_the_kinds_are_homogeneous():
    positives, sample = drifting(1, positives=(150, 100, 50))
    answer = SubclassRCQ(3, random_state=0).fit(positives).quantify(sample)
    assert answer.details["heterogeneity"] < 4
    assert answer == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_none_and_nothing_but_positives(model, share):
    rng = np.random.default_rng(5)
    sample = rows_of(rng, 100, 70, 30) if share else NEGATIVE + rng.normal(size=(200, 4))
    answer = model.quantify(sample)
    assert answer == pytest.approx(share, abs=0.05)
    assert sum(kind["prevalence"] for kind in answer.details["kinds"]) == pytest.approx(answer)
    assert all(0 <= kind["low"] <= kind["high"] <= 1 for kind in answer.details["kinds"])


def test_plain_rcq_is_as_before(task):
    answer = RCQ(tolerance=0.0, random_state=0).fit(task[0]).quantify(task[1])
    assert "kinds" not in answer.details
    with_kinds = SubclassRCQ(2, random_state=0).fit(task[0]).quantify(task[1])
    assert with_kinds.details["one_kind"] == float(answer)


def test_few_positives_are_one_kind():
    positives, sample = drifting(2, labeled=(40, 20, 10))
    answer = SubclassRCQ("auto", random_state=0).fit(positives).quantify(sample)
    (kind,) = answer.details["kinds"]
    assert kind["name"] == "all"
    assert kind["prevalence"] == float(answer)
    assert (kind["low"], kind["high"]) == (answer.interval.low, answer.interval.high)


def test_copies_are_no_kind():
    rng = np.random.default_rng(0)
    positives = np.vstack([rng.normal(size=(200, 3)), np.full((100, 3), 20.0)])
    model = SubclassRCQ("auto", random_state=0).fit(positives)
    assert sum(part.n_positives_in_ for part in model.subclass_parts_) in (0, 300)
    assert 0 <= model.quantify(positives) <= 1


# Named kinds


def named(block, names=("dry", "wet", "cold"), sizes=(300, 200, 100)):
    frame = pd.DataFrame(block, columns=list("abcd"))
    return frame.assign(season=np.repeat(names, sizes))


def test_a_column_names_the_kinds(task):
    model = SubclassRCQ("season", random_state=0).fit(named(task[0]))
    assert model.subclass_names_ == ["cold", "dry", "wet"]
    assert list(model.feature_names_in_) == list("abcd")
    answer = model.quantify(pd.DataFrame(task[1], columns=list("abcd")))
    shares = {kind["name"]: kind["prevalence"] for kind in answer.details["kinds"]}
    assert shares["cold"] == pytest.approx(0.22, abs=0.03)
    assert shares["dry"] == pytest.approx(0.02, abs=0.02)


def test_the_column_is_no_feature_even_if_it_is_named_as_one(task):
    frame = named(task[0])
    for features in (["a", "b"], ["a", "season", "b"]):
        model = SubclassRCQ("season", random_state=0).fit(frame, features=features)
        assert list(model.feature_names_in_) == ["a", "b"]


def test_numbers_name_kinds_too(task):
    model = SubclassRCQ("season", random_state=0).fit(named(task[0], names=(3, 1, 2)))
    assert model.subclass_names_ == ["1", "2", "3"]


def test_a_single_named_kind_is_plain_rcq(task):
    frame = named(task[0]).assign(season="all year")
    model = SubclassRCQ("season", random_state=0).fit(frame)
    answer = model.quantify(pd.DataFrame(task[1], columns=list("abcd")))
    assert [kind["name"] for kind in answer.details["kinds"]] == ["all year"]


@pytest.mark.parametrize("frame", ["pandas", "polars", "pyarrow"])
def test_frames_of_any_kind(task, frame):
    pytest.importorskip(frame)
    plain = named(task[0])
    if frame == "polars":
        import polars as pl

        plain = pl.from_pandas(plain)
    elif frame == "pyarrow":
        import pyarrow as pa

        plain = pa.Table.from_pandas(plain)
    model = SubclassRCQ("season", random_state=0).fit(plain)
    assert model.hash_ == SubclassRCQ("season", random_state=0).fit(named(task[0])).hash_


# Errors


def test_errors_in_one_sentence(task):
    positives, frame = task[0], named(task[0])
    for subtypes, data, words in (
        ("site", frame, "no such column; the columns are a, b, c, d, season"),
        ("season", positives, "no column names"),
        ("season", frame.iloc[:510], "the kind 'cold' has 10 positives"),
        (1, positives, "number of kinds is 1, but must be 2 or more"),
        (0, positives, "must be 2 or more"),
        (31, positives, "600 positives are enough for 30 kinds of 20, but the number of kinds"),
    ):
        with pytest.raises(InputError, match=words):
            SubclassRCQ(subtypes, random_state=0).fit(data)
    wide = pd.DataFrame(positives[:, :1] + np.zeros((1, 30))).add_prefix("x")
    with pytest.raises(InputError, match=r"the columns are x0, x1, x2, x3, x4 and 25 more\."):
        SubclassRCQ("site", random_state=0).fit(wide)
    with pytest.raises(InputError, match="missing"):
        SubclassRCQ("season").fit(frame.assign(season=[None, *frame["season"][1:]]))
    frame.loc[frame["season"] == "wet", list("abcd")] = 1.0
    with pytest.raises(InputError, match="of wet are too much alike"):
        SubclassRCQ("season").fit(frame)
    with pytest.raises(ValueError, match="subclasses"):
        SubclassRCQ(2.5).fit(positives)


# What must not matter


def test_order_of_rows_and_columns(task):
    positives, sample = task
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(positives)), rng.permutation(4)
    for subtypes in (3, "auto"):
        model = SubclassRCQ(subtypes, random_state=0).fit(positives)
        shuffled = SubclassRCQ(subtypes, random_state=0).fit(positives[rows])
        assert shuffled.hash_ == model.hash_
        other = SubclassRCQ(subtypes, random_state=0).fit(positives[rows][:, columns])
        a, b = model.quantify(sample), other.quantify(sample[:, columns])
        assert a == pytest.approx(float(b), abs=1e-9)
        for mine, theirs in zip(a.details["kinds"], b.details["kinds"], strict=True):
            assert mine["positives"] == theirs["positives"]
            assert mine["prevalence"] == pytest.approx(theirs["prevalence"], abs=1e-9)


def test_clusters_do_not_depend_on_units(task):
    scaled = task[0] * [1.0, 1e6, 1e-6, 3.0] + [5.0, 0, 0, -1]
    assert np.array_equal(find_subclasses(task[0], 5, 0), find_subclasses(scaled, 5, 0))


def test_many_columns_are_looked_at_through_their_main_components():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 60))
    rows[:100] += 3
    kinds = find_subclasses(rows, 2, 0)
    assert (kinds[:100] == 1).all()
    assert (kinds[100:] == 0).all()


def test_small_clusters_are_merged(task):
    codes = find_subclasses(task[0], 25, 0)
    assert np.bincount(codes).min() >= 20
    assert (np.diff(np.bincount(codes)) <= 0).all()


def test_counts_add_up_and_groups_are_as_alone(model, task):
    sample = task[1]
    whole = model.count(sample)
    parts = model.count(sample[:300]) + model.count(sample[300:])
    assert np.array_equal(whole.cells, parts.cells)
    assert len(whole.cells) == sum(part.n_cells for part in model._counters)
    for first, part in zip(
        np.cumsum([part.n_cells for part in model._counters]),
        model.subclass_parts_,
        strict=False,
    ):
        counted = np.zeros((1, part.n_cells), np.int64)
        part.count_into(counted, 0, sample, None, None)
        assert np.array_equal(whole.cells[first : first + part.n_cells], counted[0])
    frame = pd.DataFrame(sample, columns=[f"x{j}" for j in range(4)])
    frame["night"] = np.arange(len(frame)) % 3
    by_name = SubclassRCQ(3, random_state=0).fit(
        pd.DataFrame(task[0], columns=[f"x{j}" for j in range(4)])
    )
    groups = by_name.quantify_groups(frame, "night")
    for (night,), answer in groups.items():
        alone = by_name.quantify(frame[frame["night"] == night])
        assert answer.to_dict() == alone.to_dict()
        assert answer.details == alone.details


def test_saved_and_loaded(model, task, tmp_path):
    model.save(tmp_path / "model.poscount")
    loaded = poscount.load(tmp_path / "model.poscount")
    assert loaded.hash_ == model.hash_
    assert loaded.subclasses == 3
    before, after = model.quantify(task[1]), loaded.quantify(task[1])
    assert before.to_dict() == after.to_dict()
    assert before.details == after.details
    counts = model.count(task[1])
    assert loaded.estimate(counts).details == before.details


def test_the_model_is_another_one_than_without_kinds(model, task):
    plain = RCQ(random_state=0).fit(task[0])
    assert plain.hash_ != model.hash_
    with pytest.raises(ValueError, match="another model"):
        plain.estimate(model.count(task[1]))


def test_clone_and_refit(model, task):
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert copy.fit(task[0]).hash_ == model.hash_
    copy.set_params(subclasses=2).fit(task[0])
    assert copy.hash_ == SubclassRCQ(2, random_state=0).fit(task[0]).hash_


def test_posterior_has_the_mean_of_the_sum(model, task):
    assert model.posterior(task[1]).mean() == pytest.approx(float(model.quantify(task[1])))


def test_the_sum_is_reasonable_at_every_level(task):
    widths = []
    for level in (0.5, 0.8, 0.95, 0.99):
        model = SubclassRCQ(3, confidence=level, random_state=0).fit(task[0])
        widths.append(model.quantify(task[1]).interval.width)
    assert widths == sorted(widths)


# With unlabeled rows to learn from


@pytest.fixture(scope="module")
def reference():
    """Other unlabeled rows, with the kinds as they are among the positives."""
    return drifting(7, positives=(30, 20, 10), n_negative=540)[1]


@pytest.fixture(scope="module")
def taught(task, reference):
    model = SubclassRCQ(3, calibration="null", random_state=0)
    return model.fit(task[0], unlabeled=reference)


def test_a_kind_that_has_grown_is_found_with_unlabeled_rows(taught, task, reference):
    answer = taught.quantify(task[1])
    assert answer == pytest.approx(0.3, abs=0.05)
    assert answer.details["one_kind"] < 0.15
    for kind, truth in zip(answer.details["kinds"], (0.02, 0.06, 0.22), strict=True):
        assert kind["prevalence"] == pytest.approx(truth, abs=0.03)
    own = SubclassRCQ(3, calibration="null", random_state=0).fit(task[0], unlabeled=task[1])
    assert own.quantify(task[1]) == pytest.approx(0.3, abs=0.05)


def test_every_kind_learns_its_score_against_all_unlabeled_rows(taught, task, reference):
    for part in taught._counters:
        assert part.learned_score_.n_reference_ == len(reference)
    # The first cluster is exactly the rows around the first centre.
    alone = RegionPart().fit_codes(
        task[0][:300], taught.model_columns, taught.seed_, reference=reference, n_trees=N_TREES
    )
    assert same_learned(taught.subclass_parts_[0], alone)


def test_one_kind_with_unlabeled_rows_is_rcq(taught, task, reference):
    plain = RCQ(calibration="null", tolerance=0.0, random_state=0)
    plain.fit(task[0], unlabeled=reference)
    assert same_learned(taught.part_, plain.part_)
    assert taught.quantify(task[1]).details["one_kind"] == float(plain.quantify(task[1]))


def test_what_must_not_matter_with_unlabeled_rows(taught, task, reference, tmp_path):
    positives, sample = task
    rng = np.random.default_rng(3)
    shuffled = SubclassRCQ(3, calibration="null", random_state=0).fit(
        rng.permutation(positives), unlabeled=rng.permutation(reference)
    )
    assert shuffled.hash_ == taught.hash_
    rows = np.vstack([reference, positives])
    labels = np.repeat([0, 1], [len(reference), len(positives)])
    by_labels = SubclassRCQ(3, calibration="null", random_state=0).fit(rows, labels)
    assert by_labels.hash_ == taught.hash_
    whole = taught.count(sample)
    parts = taught.count(sample[:300]) + taught.count(sample[300:])
    assert np.array_equal(whole.cells, parts.cells)
    taught.save(tmp_path / "model.poscount")
    loaded = poscount.load(tmp_path / "model.poscount")
    assert loaded.hash_ == taught.hash_
    assert loaded.estimate(whole).details == taught.quantify(sample).details


def test_unlabeled_rows_make_another_model(model, taught, task):
    assert taught.hash_ != model.hash_
    with pytest.raises(InputError, match="another model"):
        taught.estimate(model.count(task[1]))


def test_what_unlabeled_rows_change_is_in_the_features(taught, task, reference):
    def column(fitted, name):
        return fitted._features(fitted.count(task[1]))[0, SUBCLASS_FEATURES.index(name)]

    without = SubclassRCQ(3, calibration="null", random_state=0).fit(task[0])
    assert column(taught, "log_reference") == pytest.approx(np.log(len(reference)), abs=1e-6)
    assert column(taught, "skill") > 0.4
    assert column(without, "log_reference") == column(without, "skill") == 0
    # The regions that learn nothing from unlabeled rows are the same.
    for name, of_all in (("plain_rcq", "plain"), ("kinds_rcq", "kinds")):
        assert column(taught, name) == column(without, name) == column(without, of_all)


def test_unlabeled_rows_that_do_not_fit(task):
    frame = pd.DataFrame(task[0], columns=list("abcd"))
    with pytest.raises(InputError, match="column 'd': this column is missing"):
        SubclassRCQ(3).fit(frame, unlabeled=frame[["a", "b", "c"]])
    with pytest.raises(InputError, match="Give the unlabeled rows once"):
        SubclassRCQ(3).fit(task[0], np.arange(len(task[0])) % 2, unlabeled=task[1])
    with pytest.raises(InputError, match="no rows"):
        SubclassRCQ(3).fit(task[0], unlabeled=task[1][:0])


def test_a_file_in_which_a_kind_has_no_score_is_refused(taught, model):
    mixed = copy.copy(taught)
    mixed.subclass_parts_ = [*taught.subclass_parts_[:2], model.subclass_parts_[2]]
    mixed.hash_ = content_hash(mixed)
    with pytest.raises(ValueError, match="a learned score of kinds is missing"):
        mixed.check_learned()


# The line and the bank


def test_heterogeneity_by_hand():
    plain = np.zeros((1, len(FEATURE_NAMES)))
    of_kinds = np.zeros((2, 1, len(FEATURE_NAMES)))
    of_kinds[:, 0, FEATURE_NAMES.index("prevalence")] = 0.1, 0.3
    of_kinds[:, 0, FEATURE_NAMES.index("gap")] = 0.1
    none = np.zeros((1, len(OF_REFERENCE)))
    line = subclass_features(plain, of_kinds, none, np.array([50, 50]), 1.0, False)[0]
    s = 0.1 * 1.75 / 3.92
    expected = ((0.2 - 0.4) / (s / 0.5)) ** 2 + ((0.6 - 0.4) / (s / 0.5)) ** 2
    found = np.expm1(line[SUBCLASS_FEATURES.index("log_heterogeneity")])
    assert found == pytest.approx(expected, rel=1e-4)
    assert line[SUBCLASS_FEATURES.index("kinds")] == pytest.approx(0.4)


def test_number_of_kinds():
    assert [how_many(n) for n in (20, 79, 80, 480, 10_000)] == [1, 1, 2, 12, 12]
    kinds = clustered_subclasses(np.random.default_rng(0).normal(size=(30, 2)), "auto", 0)
    assert kinds.names == ["all"]


def test_tasks_with_kinds():
    source = bundled("digits")
    seen = {"told": 0, "not": 0}
    for number in range(12):
        task, samples = draw_task(source, LIMITS["RCQ-kinds"], 0, number, draw_drift_task)
        for sample in samples:
            assert len(sample.rows) >= 1
            assert 0 <= sample.prevalence <= 1
        if task.kinds is None:
            seen["not"] += 1
        else:
            seen["told"] += 1
            assert len(task.kinds) == len(task.labeled)
            assert np.bincount(task.kinds).min() >= 20
    assert seen["not"]


def test_rows_of_a_task_are_not_in_its_samples():
    source = bundled("digits")
    source = source._replace(features=np.arange(len(source.classes), dtype=float)[:, np.newaxis])
    rng = np.random.default_rng(0)
    for _ in range(10):
        task = draw_drift_task(source, rng, LIMITS["RCQ-kinds"])
        drawn = task.positives(min(50, task.most_positives), rng)
        assert not np.isin(drawn, task.labeled).any()
        assert len(np.unique(drawn)) == len(drawn)


def test_shares_and_sizes():
    rng = np.random.default_rng(0)
    for _ in range(50):
        shares = drifted_shares(np.array([0.2, 0.3, 0.5]), rng)
        assert shares.sum() == pytest.approx(1)
        assert (shares >= 0).all()
    available = np.array([5, 10, 100])
    sizes = allocate(60, np.array([0.5, 0.5, 0.0]), available, rng)
    assert sizes.sum() == 60
    assert (sizes <= available).all()


def test_a_blend_finds_the_column_that_tells():
    """The sum is right where kinds differ, and one kind where they do not."""
    rng = np.random.default_rng(0)
    n = 2_000
    lines = rng.normal(size=(n, len(SUBCLASS_FEATURES)))
    one_kind, total = rng.uniform(0, 0.3, n), rng.uniform(0.3, 1, n)
    lines[:, SUBCLASS_FEATURES.index("plain")] = one_kind
    lines[:, SUBCLASS_FEATURES.index("kinds")] = total
    drifted = lines[:, SUBCLASS_FEATURES.index("log_heterogeneity")] > 0.5
    truth = np.where(drifted, total, one_kind)
    names = np.full(n, "a")
    bank = Bank("RCQ-kinds", SUBCLASS_FEATURES, lines, truth, names, names, np.arange(n))
    found = blended(bank, fit_blend(bank)).lines[:, SUBCLASS_FEATURES.index("prevalence")]
    assert np.abs(found - truth).mean() < 0.05
    assert np.abs(one_kind - truth).mean() > 0.1


def test_calibrations_of_either_kind(task, tmp_path):
    kinds, plain = shipped("RCQ-kinds"), shipped("RCQ")
    whole = SubclassRCQ(3, random_state=0).fit(task[0]).quantify(task[1])
    for given in (kinds, plain):
        write_calibration(given, tmp_path / "given.npz")
        for calibration in (given, str(tmp_path / "given.npz")):
            model = SubclassRCQ(3, calibration=calibration, random_state=0).fit(task[0])
            assert model.quantify(task[1]).to_dict() == whole.to_dict()
    with pytest.raises(ValueError, match="made for RCQ-kinds, not for RCQ"):
        RCQ(calibration=kinds).fit(task[0])
    with pytest.raises(ValueError, match="made for RCQ-reference, not for RCQ"):
        SubclassRCQ(3, calibration=shipped("RCQ-reference")).fit(task[0])


@pytest.mark.parametrize(
    "blend", [np.zeros(3), np.full(1 + len(SUBCLASS_FEATURES), np.nan), np.zeros(3, np.float32)]
)
def test_hostile_blends_are_refused(blend, tmp_path):
    calibration = copy.copy(shipped("RCQ-kinds"))
    calibration.blend_ = blend
    write_calibration(calibration, tmp_path / "hostile.npz")
    with pytest.raises(FileError, match="blend"):
        read_calibration(tmp_path / "hostile.npz")


def test_a_bank_of_kinds_has_lines_with_and_without_unlabeled_rows(tmp_path):
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(4), 150)
    features = rng.normal(size=(600, 3)) + 4 * np.eye(4)[classes][:, :3]
    source = Source("blobs", "blobs", features, classes)
    bank = read_bank(make_bank(tmp_path, "RCQ-kinds", [(source, 3)], n_jobs=1))
    references = bank.lines[:, SUBCLASS_FEATURES.index("log_reference")]
    assert len(np.unique(bank.task)) >= 2
    for number in np.unique(bank.task):
        _, samples = draw_task(source, LIMITS["RCQ-kinds"], 0, int(number), draw_drift_task)
        own = np.log(len(samples[0].rows))
        here = bank.task == number
        # Without, with the first sample, and with other rows.
        expected = [0, 0, 0, own, *[references[here][-1]] * 3]
        assert references[here].tolist() == pytest.approx(expected, abs=1e-6)
        truths = [sample.prevalence for sample in samples]
        assert bank.truth[here].tolist() == [*truths, truths[0], *truths]


def test_columns_are_known_to_the_bank():
    assert COLUMNS["RCQ-kinds"] == [*SUBCLASS_FEATURES, "recognisable"]
    assert len(set(SUBCLASS_FEATURES)) == len(SUBCLASS_FEATURES)


# The command line


@pytest.fixture
def run_cli(monkeypatch, capsys):
    """Run a command and give back what it printed; of one that must fail, what it complained."""

    def run(*arguments, fails=False):
        monkeypatch.setattr(sys, "argv", ["poscount", *arguments])
        status = 0
        try:
            main()
        except SystemExit as stop:
            status = stop.code or 0
        printed = capsys.readouterr()
        assert bool(status) == fails, printed.err
        return printed.err if fails else printed.out

    return run


@pytest.fixture
def files(tmp_path, task):
    named(task[0]).to_csv(tmp_path / "positives.csv", index=False)
    pd.DataFrame(task[1], columns=list("abcd")).to_csv(tmp_path / "sample.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("subtypes", ["season", "3", "auto"])
def test_estimate_tells_the_kinds(files, subtypes, run_cli, task):
    leave_out = [] if subtypes == "season" else ["--exclude", "season"]
    command = ["estimate", f"{files}/positives.csv", f"{files}/sample.csv", *leave_out]
    told = run_cli(*command, "--subclasses", subtypes, "--format", "json")
    (record,) = json.loads(told)
    given = named(task[0]) if subtypes == "season" else task[0]
    value = SubclassRCQ(int(subtypes) if subtypes == "3" else subtypes, random_state=0).fit(given)
    assert len(record["kinds"]) == len(value.subclass_parts_)
    assert sum(kind["prevalence"] for kind in record["kinds"]) == pytest.approx(
        record["prevalence"]
    )


def test_the_table_tells_the_kinds(files, run_cli):
    told = run_cli(
        *("fit", f"{files}/positives.csv", "-o", f"{files}/m.poscount", "--subclasses", "season")
    )
    assert "season" not in told.split(" by ")[1]
    table = run_cli("quantify", f"{files}/m.poscount", f"{files}/sample.csv")
    assert "dry" in table
    assert "wet" in table
    assert "cold" in table


def test_a_column_that_is_not_there(files, run_cli):
    told = run_cli(
        *("fit", f"{files}/positives.csv", "-o", f"{files}/m.poscount"),
        *("--exclude", "season", "--subclasses", "site"),
        fails=True,
    )
    assert "no such column" in told
    assert "site" in told


def test_nothing_of_details_is_lost_in_json(model, task):
    kinds = model.quantify(task[1]).details["kinds"]
    assert json.loads(json.dumps(kinds)) == kinds
