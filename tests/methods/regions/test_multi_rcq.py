"""Several targets at once, and labelled negatives: known answers, invariances, files, bad input."""

import copy
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import poscount
from answers import assert_same_answer
from benchmarks.robustness import hostile_models
from poscount import RCQ, FileError, InputError, MultiRCQ, RCQWithNegatives
from poscount.calibration.files import shipped
from poscount.example.simulate import FEATURES, record
from poscount.methods.regions.discriminant import Discriminant
from poscount.methods.regions.rule import bounds
from poscount.methods.regions.target_estimates import (
    OTHER_FEATURES,
    TARGET_FEATURES,
    scaled_to_rest,
)
from poscount.results.target_shares import TargetShares, exact_shares
from poscount.training import bank
from poscount.training.sources import Source
from poscount.training.tasks import Limits
from research.calibrations.target_tasks import draw_shares, draw_target_samples, draw_target_task

SPECIES = {
    "aegypti": "Aedes aegypti female",
    "male": "Aedes aegypti male",
    "culex": "Culex quinquefasciatus female",
}
OTHERS = ("Musca domestica", "Apis mellifera")


def insects(name, n, seed):
    rows = record(name, n, np.random.RandomState(seed))
    return pd.DataFrame(rows, columns=list(FEATURES))


@pytest.fixture(scope="module")
def labeled():
    return {name: insects(species, 200, i) for i, (name, species) in enumerate(SPECIES.items())}


@pytest.fixture(scope="module")
def night():
    """A sample with .2 of one target, .5 of another, none of the third, and others."""
    parts = [insects(SPECIES["aegypti"], 200, 10), insects(SPECIES["culex"], 500, 11)]
    parts += [insects(name, 150, 12 + i) for i, name in enumerate(OTHERS)]
    return pd.concat(parts, ignore_index=True).sample(frac=1, random_state=0, ignore_index=True)


TRUTH = {"aegypti": 0.2, "male": 0.0, "culex": 0.5, "other": 0.3}


@pytest.fixture(scope="module")
def model(labeled):
    return MultiRCQ(random_state=0).fit(labeled)


@pytest.fixture(scope="module")
def answer(model, night):
    return model.quantify(night)


# What comes out


def test_shares_are_near_the_truth_and_intervals_hold_it(answer):
    assert list(answer) == ["aegypti", "male", "culex", "other"]
    for name, true in TRUTH.items():
        assert float(answer[name]) == pytest.approx(true, abs=0.03)
        assert true in answer[name].interval
        assert answer[name] in answer[name].interval


def test_shares_are_not_negative_and_add_up_to_exactly_one(model, night):
    groups = night.assign(hour=np.arange(len(night)) % 9)
    answers = model.quantify_groups(groups, "hour").values()
    for answer in answers:
        assert sum(answer.values()) == 1.0
        assert sum(reversed(list(answer.values()))) == 1.0
        assert min(answer.values()) >= 0
        assert all(0 <= p.interval.low <= p <= p.interval.high <= 1 for p in answer.values())


@pytest.mark.parametrize("seed", range(5))
def test_exact_shares_add_up_in_any_order(seed):
    rng = np.random.default_rng(seed)
    values = rng.random((200, 7)) * rng.choice([0.01, 0.3, 1], size=(200, 1))
    shares = exact_shares(values)
    assert (shares >= 0).all()
    for row in shares:
        assert sum(rng.permutation(row).tolist()) == 1.0
    limited = values / np.maximum(values.sum(axis=1, keepdims=True), 1)
    assert np.abs(shares[:, :-1] - limited).max() < 1e-11


def test_a_sample_of_one_target_alone_is_that_target(model):
    answer = model.quantify(insects(SPECIES["culex"], 800, 77))
    assert answer["culex"] > 0.93
    assert max(answer["aegypti"], answer["male"]) < 0.02


def test_a_sample_without_any_target_is_other(model):
    answer = model.quantify(pd.concat([insects(name, 300, 5) for name in OTHERS]))
    assert answer.other > 0.97


def test_overlapping_targets_are_not_counted_twice():
    """Two targets half of which coincide; one alone explains the whole sample."""
    rng = np.random.default_rng(0)

    def rows(*centres, n=400):
        parts = [rng.normal(size=(n // len(centres), 3)) + centre for centre in centres]
        return np.vstack(parts)

    a, b = rows([0, 0, 0], [3, 0, 0]), rows([3, 0, 0], [3, 4, 0])
    sample = rows([0, 0, 0], [3, 0, 0], n=1000)
    alone = RCQ(calibration="null", random_state=0).fit(b).quantify(sample)
    together = MultiRCQ(calibration="null", random_state=0).fit({"a": a, "b": b}).quantify(sample)
    assert together["a"] > 0.9
    assert together["b"] < min(alone, 0.05)


def test_details_tell_what_a_target_says_alone(answer):
    assert answer["culex"].details["target"] == "culex"
    assert 0.4 < answer["culex"].details["alone"] < 0.65
    assert answer["culex"].n_labeled == 200
    assert answer.other.n_labeled == 600


def test_the_result_is_a_mapping_and_a_frame(answer):
    assert isinstance(answer, TargetShares)
    assert answer.targets == ["aegypti", "male", "culex"]
    assert answer.n_unlabeled == 1000
    for backend, values in (("pandas", "tolist"), ("polars", "to_list"), ("pyarrow", "to_pylist")):
        assert getattr(answer.to_frame(backend)["target"], values)() == list(answer)
    assert json.loads(json.dumps(answer.to_dict()))["male"]["n_unlabeled"] == 1000
    assert "culex" in repr(answer)
    assert "95% interval" in repr(answer)


# What must not matter


def test_the_order_of_targets_rows_and_columns_does_not_matter(labeled, model, night, answer):
    mixed = {
        name: labeled[name].sample(frac=1, random_state=3)[list(FEATURES)[::-1]]
        for name in ("male", "culex", "aegypti")
    }
    other = MultiRCQ(random_state=0).fit(mixed)
    turned = other.quantify(night[::-1])
    assert list(turned) == ["male", "culex", "aegypti", "other"]
    for name in answer:
        assert float(turned[name]) == pytest.approx(float(answer[name]), abs=1e-4)
    again = MultiRCQ(random_state=0).fit({name: labeled[name] for name in reversed(labeled)})
    assert again.hash_ == model.hash_
    assert_same_answer(again.quantify(night), answer)


def test_labels_a_column_and_tables_by_name_are_the_same(labeled, night, answer):
    together = pd.concat(labeled.values(), ignore_index=True)
    names = np.repeat(list(labeled), 200)
    by_label = MultiRCQ(random_state=0).fit(together, names)
    by_column = MultiRCQ(random_state=0).fit(
        together.assign(species=names), target_column="species"
    )
    for model in (by_label, by_column):
        assert model.targets_ == ["aegypti", "culex", "male"]
        assert_same_answer(model.quantify(night), answer)
    assert "species" not in by_column.feature_names_in_


def test_frames_of_every_kind_give_the_same(labeled, night, answer):
    for kind in (pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)):
        model = MultiRCQ(random_state=0).fit({name: kind(f) for name, f in labeled.items()})
        assert_same_answer(model.quantify(kind(night)), answer)


def test_arrays_and_sparse_rows(labeled, night, answer):
    arrays = {name: frame.to_numpy() for name, frame in labeled.items()}
    assert_same_answer(MultiRCQ(random_state=0).fit(arrays).quantify(night.to_numpy()), answer)
    model = MultiRCQ(random_state=0).fit({n: sparse.csr_matrix(a) for n, a in arrays.items()})
    shares = model.quantify(sparse.csr_matrix(night.to_numpy()))
    assert sum(shares.values()) == 1.0
    assert float(shares["culex"]) == pytest.approx(0.5, abs=0.08)


def test_whole_numbers_in_one_table_and_fractions_in_another(labeled):
    rounded = {name: frame.round(0) for name, frame in labeled.items()}
    rounded["male"] = rounded["male"].astype({"wingbeat_hz": int})
    for kind in (pd.DataFrame, pl.from_pandas):
        model = MultiRCQ(random_state=0).fit({name: kind(f) for name, f in rounded.items()})
        assert "wingbeat_hz" in model.numeric_features_


def test_n_jobs_and_chunks_do_not_matter(model, night, answer, monkeypatch):
    counts = [model.count(night[start : start + 130]) for start in range(0, 1000, 130)]
    assert_same_answer(model.estimate(sum(counts)), answer)
    whole = model.count(night)
    monkeypatch.setattr("poscount.base.counting.BLOCK_ROWS", 100)
    monkeypatch.setattr(model, "n_jobs", 2)
    assert model.count(night) == whole


def test_repeated_weights_are_repeated_rows(model, night):
    weights = np.arange(1000) % 3
    repeated = night.loc[np.repeat(np.arange(1000), weights)]
    assert_same_answer(model.quantify(night, weights=weights), model.quantify(repeated))


def test_survey_weights_move_the_shares(model, night, answer):
    heavy = np.where(night["wingbeat_hz"] > 450, 2.0, 0.5)
    weighted = model.quantify(night, weights=heavy)
    assert weighted["aegypti"] > 1.5 * answer["aegypti"]
    assert weighted["aegypti"].details["effective_rows"] < 1000
    assert sum(weighted.values()) == 1.0


def test_groups_are_those_that_each_gets_alone(model, night):
    frame = night.assign(hour=np.arange(1000) % 70)
    groups = model.quantify_groups(frame, "hour")
    for hour in (0, 33, 69):
        assert_same_answer(groups[(hour,)], model.quantify(frame[frame["hour"] == hour]))
    table = model.quantify_by(frame, "hour")
    assert list(table.columns[:3]) == ["hour", "target", "prevalence"]
    assert len(table) == 70 * 4
    assert table.groupby("hour")["prevalence"].sum().eq(1.0).all()


def test_a_grouping_column_named_target_is_refused(model, night):
    with pytest.raises(InputError, match="rename the grouping column"):
        model.quantify_by(night.assign(target=1), "target")


# Counts in other places


def test_counts_add_up_in_files_duckdb_and_dask(model, night, answer, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    dd = pytest.importorskip("dask.dataframe")
    from poscount.engines import count

    night[:400].to_csv(tmp_path / "a.csv", index=False)
    night[400:].to_parquet(tmp_path / "b.parquet")
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "b.parquet")]
    assert count(model, paths) == model.count(night)
    assert_same_answer(model.estimate(count(model, paths)), answer)
    table = duckdb.sql("select * from night")
    assert count(model, table) == model.count(night)
    assert count(model, dd.from_pandas(night, npartitions=3)) == model.count(night)


def test_windows_of_a_stream_hold_shares(model, night):
    from poscount.engines import windows

    frame = night.assign(second=np.arange(1000))
    found = list(windows(model, [frame], size=500, step=250))
    assert sum(found[0].prevalence.values()) == 1.0


# Files


def test_a_model_survives_its_file(model, night, answer, tmp_path):
    model.save(tmp_path / "trap.poscount")
    again = poscount.load(tmp_path / "trap.poscount")
    assert_same_answer(again.quantify(night), answer)
    assert again.targets_ == model.targets_
    counts = model.count(night)
    counts.save(tmp_path / "night.counts")
    assert_same_answer(again.estimate(poscount.Counts.load(tmp_path / "night.counts")), answer)


def hostile(model, tmp_path, change):
    """A file of the model after a change of its description."""
    path = tmp_path / "trap.poscount"
    model.save(path)
    tree = copy.deepcopy(hostile_models.open_model(path))
    change(tree["state"])
    path.write_bytes(hostile_models.close_model(tree))
    return path


def joint(state):
    return state["groups_"]["state"]


HOSTILE = {
    "more rows of a target than there are": lambda state: joint(state)["tables_"][0][
        "array"
    ].__iadd__(1),
    "infinite directions": lambda state: joint(state)["discriminant_"]["state"]["directions_"][
        "array"
    ].fill(np.inf),
    "another name": lambda state: joint(state)["names_"].__setitem__(0, "bee"),
    "one name twice": lambda state: joint(state).__setitem__("names_", ["male", "male", "male"]),
    "other targets": lambda state: state["targets_"].pop(),
    "fewer parts": lambda state: joint(state)["parts_"].pop(),
    "no calibration": lambda state: state.__setitem__("other_calibration_", 7),
    "another hash": lambda state: state.__setitem__("hash_", "0" * 64),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_was_tampered_with_is_refused(model, tmp_path, name):
    path = hostile(model, tmp_path, HOSTILE[name])
    with pytest.raises(FileError, match="usable model"):
        poscount.load(path)


# Words and gaps


def test_words_and_missing_values_are_facts_about_rows(labeled, night):
    rng = np.random.default_rng(0)

    def with_site(frame, sites):
        gaps = np.where(rng.random(len(frame)) < 0.1, np.nan, frame["entropy_bits"])
        return frame.assign(site=rng.choice(sites, len(frame)), entropy_bits=gaps)

    sites = {"aegypti": ["house", "yard"], "male": ["yard", "pond"], "culex": ["pond", "pond"]}
    tables = {name: with_site(frame, sites[name]) for name, frame in labeled.items()}
    model = MultiRCQ(random_state=0).fit(tables)
    shares = model.quantify(with_site(night, ["house", "yard", "pond", "road"]))
    assert sum(shares.values()) == 1.0
    assert model.columns_["site"].categories == ("house", "pond", "yard")
    assert "unseen-words" in {c.code for c in shares["aegypti"].warnings}


# Bad input


def refused(match, *arguments, **options):
    with pytest.raises(InputError, match=match):
        MultiRCQ(random_state=0).fit(*arguments, **options)


def test_two_targets_with_the_same_rows(labeled):
    twice = {**labeled, "copy": labeled["male"].sample(frac=1, random_state=0)}
    refused("'copy' and 'male' have the same rows", twice)
    most = {**labeled, "copy": labeled["male"][:120]}
    refused("have the same rows", most)


def test_equal_rows_of_coarse_values_are_no_mistake():
    rng = np.random.default_rng(0)
    a, b = rng.integers(2, size=(200, 3)), rng.integers(2, size=(200, 3)) * [1, 1, 0]
    b[:, 2] = rng.random(200) < 0.1
    assert MultiRCQ(random_state=0).fit({"a": a, "b": b}).targets_ == ["a", "b"]


def test_a_target_with_too_few_positives_is_named(labeled):
    refused("'male' has 12 labelled rows", {**labeled, "male": labeled["male"][:12]})
    together = pd.concat([labeled["culex"].assign(s="a"), labeled["male"][:7].assign(s="b")])
    refused("'b' has 7 positives", together, target_column="s")


def test_a_target_whose_positives_are_all_alike_is_named(labeled):
    alike = labeled["male"].iloc[np.zeros(200, int)]
    refused("'male'", {**labeled, "male": alike})


def test_one_target_only(labeled):
    refused("only 'male': use RCQ", {"male": labeled["male"]})
    refused("only 'a'", labeled["male"], np.repeat("a", 200))


def test_different_columns(labeled):
    fewer = {**labeled, "male": labeled["male"].drop(columns="peak_mv")}
    with pytest.raises(InputError, match="'male' do not have this column") as caught:
        MultiRCQ().fit(fewer)
    assert caught.value.column == "peak_mv"
    refused("'male' have this column", {**labeled, "male": labeled["male"].assign(x=1)})
    refused("'male' has 2", {"a": np.zeros((30, 3)), "male": np.ones((30, 2))})
    refused("has none", {"a": labeled["male"], "male": np.ones((30, 8))})
    words = labeled["male"].assign(peak_mv="high")
    refused("numbers for the target 'aegypti'", {**labeled, "male": words})
    chosen = MultiRCQ(random_state=0).fit(fewer, features=["wingbeat_hz", "crossing_ms"])
    assert list(chosen.feature_names_in_) == ["wingbeat_hz", "crossing_ms"]


def test_a_target_named_other(labeled):
    refused("No target can be named 'other'", {"other": labeled["male"], "a": labeled["culex"]})


def test_repeated_names(labeled):
    refused("'1' is there twice", {1: labeled["male"], "1": labeled["culex"]})


def test_a_missing_target_says_where(labeled):
    together = pd.concat(labeled.values(), ignore_index=True)
    names = np.repeat(list(labeled), 200).astype(object)
    names[17] = None
    with pytest.raises(InputError, match="the target is missing") as caught:
        MultiRCQ().fit(together.assign(species=names), target_column="species")
    assert (caught.value.column, caught.value.row) == ("species", 17)
    with pytest.raises(InputError, match="the target is missing") as caught:
        MultiRCQ().fit(together, names)
    assert caught.value.row == 17


def test_targets_are_named_in_one_way_only(labeled):
    refused("Leave y out|nothing else can name", labeled, np.zeros(600))
    refused("one table", labeled["male"])
    refused("one label for each row", labeled["male"], ["a", "b"])
    refused("no such column", labeled["male"], target_column="kind")


def test_counts_of_another_model_are_refused(model, labeled, night):
    other = MultiRCQ(random_state=1).fit(labeled)
    with pytest.raises(ValueError, match="another model"):
        other.estimate(model.count(night))


def test_a_report_is_about_one_target(model, night):
    with pytest.raises(InputError, match="fit RCQ"):
        poscount.diagnose(model, night)


# Labelled negatives


def test_known_negatives_are_not_counted_as_positives():
    """Negatives reach into every region of the positives; once known, they are subtracted."""
    rng = np.random.default_rng(1)

    def around(x, n):
        return rng.normal(size=(n, 2)) + np.array([x, 0])

    positives, negatives = around(0, 800), around(1.5, 800)
    sample = np.vstack([around(0, 1200), around(1.5, 2800)])
    plain = RCQ(calibration="null", random_state=0).fit(positives)
    known = RCQWithNegatives(calibration="null", random_state=0).fit(positives, negatives=negatives)
    answer = known.quantify(sample)
    assert plain.quantify(sample) > 0.34
    assert float(answer) == pytest.approx(0.3, abs=0.05)
    assert answer.details["without_negatives"] == float(plain.quantify(sample))
    assert [kind["name"] for kind in answer.details["negatives"]] == ["negatives", "other"]
    total = answer + sum(kind["prevalence"] for kind in answer.details["negatives"])
    assert total == pytest.approx(1.0)


def test_negatives_that_are_not_in_the_sample_change_nothing(labeled):
    sample = pd.concat([insects(SPECIES["culex"], 300, 40), insects(OTHERS[0], 500, 41)])
    plain = RCQ(tolerance=0.0, random_state=0).fit(labeled["culex"]).quantify(sample)
    known = (
        RCQWithNegatives(random_state=0)
        .fit(labeled["culex"], negatives=labeled["male"])
        .quantify(sample)
    )
    assert float(known) == pytest.approx(float(plain), abs=1e-3)
    assert known.interval.low == pytest.approx(plain.interval.low, abs=1e-3)


def test_a_model_with_negatives_counts_and_survives_its_file(labeled, night, tmp_path):
    kinds = {name: labeled[name] for name in ("male", "aegypti")}
    model = RCQWithNegatives(random_state=0).fit(labeled["culex"], negatives=kinds)
    answer = model.quantify(night)
    assert 0.5 in answer.interval
    assert model.n_labeled_ == 200
    parts = model.count(night[:300]) + model.count(night[300:])
    assert_same_answer(model.estimate(parts), answer)
    model.save(tmp_path / "culex.poscount")
    again = poscount.load(tmp_path / "culex.poscount")
    assert_same_answer(again.quantify(night), answer)

    def swap(state):
        names = joint(state)["names_"]
        names[1], names[2] = names[2], names[1]

    with pytest.raises(FileError, match="usable model"):
        poscount.load(hostile(model, tmp_path, swap))
    turned = RCQWithNegatives(random_state=0).fit(
        labeled["culex"], negatives={name: kinds[name] for name in reversed(kinds)}
    )
    assert turned.hash_ == model.hash_


def test_bad_negatives(labeled):
    def refused_negatives(match, negatives, **options):
        with pytest.raises(InputError, match=match):
            RCQWithNegatives(random_state=0, **options).fit(labeled["culex"], negatives=negatives)

    refused_negatives("'negatives' has 5 labelled rows", labeled["male"][:5])
    refused_negatives("have the same rows", labeled["culex"][::-1])
    refused_negatives("do not have this column", labeled["male"].drop(columns="peak_mv"))
    refused_negatives("No kind of negatives", {"positives": labeled["male"]})
    refused_negatives("There are no negatives", {})
    refused_negatives("There are no negatives: use RCQ", None)


# The parts


def test_log_odds_are_those_of_normal_distributions():
    """For two groups with one covariance they are linear, and known."""
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(4000, 2)), rng.normal(size=(4000, 2)) + np.array([2, 0])])
    groups = np.repeat([0, 1], 4000)
    model = Discriminant()
    out_of_fold = model.learn(rows, groups, 2, seed=0)
    points = np.array([[0.0, 0.0], [1.0, 5.0], [3.0, -1.0]])
    expected = 2 - 2 * points[:, 0]
    assert np.sinh(model.log_odds(points)[:, 0]) == pytest.approx(expected, abs=0.2)
    assert model.log_odds(points)[:, 1] == pytest.approx(-model.log_odds(points)[:, 0])
    assert out_of_fold == pytest.approx(model.log_odds(rows), abs=0.1)
    far = model.log_odds(np.array([[1e200, 0.0], [-1e200, 1e200]]))
    assert np.isfinite(far).all()


def test_bounds_with_noise_solve_their_equation():
    rng = np.random.default_rng(0)
    in_sample, noise = rng.random((3, 40)) * 50 - 5, rng.random((3, 40)) * 1e-3
    in_positives = rng.integers(10, 80, size=40).astype(float)
    n = np.array([[300.0], [500.0], [900.0]])
    ratio, _, high = bounds(in_sample, n, in_positives, 100, noise)
    share = in_positives / 100
    k = 2 * np.log(40)
    h = (1 - share) / share
    right = k * (h * (high**2 / 100 + high / n) + noise / share**2)
    solved = (high > 0) & np.isfinite(high)
    assert solved.mean() > 0.5
    assert ((high - ratio) ** 2)[solved] == pytest.approx(right[solved])
    assert (high >= bounds(in_sample, n, in_positives, 100)[2]).all()


def test_groups_are_scaled_to_what_other_leaves():
    values = scaled_to_rest(
        np.array([[0.2, 0.2], [0.0, 0.0], [0.9, 0.9]]), np.array([0.4, 0.5, 0.2])
    )
    assert values.sum(axis=1) == pytest.approx([0.6, 0.0, 0.8])
    assert values[0] == pytest.approx([0.3, 0.3])


# Tasks that the calibrations learn from


@pytest.fixture
def source():
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(4), 120)
    return Source("four", "four", rng.normal(size=(480, 3)) + 3 * classes[:, np.newaxis], classes)


LIMITS = Limits(n_labeled=60, n_rows=200, n_samples=2)


@pytest.mark.parametrize("seed", range(8))
def test_samples_hold_rows_that_were_not_learned_from(source, seed):
    rng = np.random.default_rng(seed)
    task = draw_target_task(source, rng, LIMITS)
    learned = {tuple(row) for rows in task.labeled for row in rows}
    for sample in draw_target_samples(task, rng, LIMITS):
        assert not learned & {tuple(row) for row in sample.rows}
        assert sample.shares.min() >= 0
        assert sample.shares.sum() <= 1 + 1e-12
        assert sample.shares * len(sample.rows) == pytest.approx(
            np.round(sample.shares * len(sample.rows))
        )


def test_shares_of_tasks_include_zeros_and_nothing_unknown():
    rng = np.random.default_rng(0)
    shares = np.array([draw_shares(4, rng) for _ in range(300)])
    # If everything is gone, the sample is drawn from one group.
    assert set(shares.sum(axis=1).round(9)) == {0.0, 1.0}
    assert 0.05 < (shares[:, -1] == 0).mean() < 0.3
    assert 0.1 < (shares[:, :-1] == 0).mean() < 0.5


def test_a_bank_of_groups_tells_about_other_too(source, tmp_path, monkeypatch):
    monkeypatch.setitem(bank.LIMITS, "RCQ-groups", LIMITS)
    plan = [(source, 2), ("mixture", 1)]
    files = bank.make_bank(tmp_path, "RCQ-groups", plan)
    groups, other = bank.read_bank(files), bank.read_bank(files, "RCQ-other")
    assert groups.columns == [*TARGET_FEATURES, "recognisable"]
    assert other.columns == [*OTHER_FEATURES, "recognisable"]
    assert len(other.truth) == 3 * LIMITS.n_samples
    # What the groups and "other" have adds up, in every sample.
    for name in ("four", "mixture"):
        total = groups.truth[groups.source == name].sum() + other.truth[other.source == name].sum()
        assert total == pytest.approx((other.source == name).sum())
    assert bank.make_bank(tmp_path, "RCQ-other", plan) == files


@pytest.mark.parametrize(
    ("method", "columns"), [("RCQ-groups", TARGET_FEATURES), ("RCQ-other", OTHER_FEATURES)]
)
def test_the_shipped_calibrations_know_the_columns(method, columns):
    assert shipped(method).columns_ == [*columns, "recognisable"]
    assert json.loads(shipped(method).provenance_)["n_tasks"] > 400
