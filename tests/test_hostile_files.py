"""Files with a correct checksum and hostile content: refused in a sentence, or answered as before.

`benchmarks/robustness/hostile.py` tries thousands of them in processes of their own.
"""

import ast
import copy
import inspect
import io
import itertools
import os
import sys
import textwrap
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import poscount
from benchmarks.robustness import hostile, hostile_files, hostile_models
from poscount import PAT, RCQ, Counts, FileError, InputError, Minimum, registry
from poscount.calibration.files import read_calibration
from poscount.cli import main
from poscount.counts.counts import MOST_ROWS
from poscount.storage import container, schema
from poscount.storage.container import open_archive

CLASSES = {
    place: registry._resolve(place)
    for place in [
        *registry.METHODS.values(),
        *registry._PARTS,
        *(place for place, _ in registry.SCORERS.values() if place.startswith("poscount.")),
    ]
}


# Every class declares what it learns


def learned_in_source(kind):
    """Attributes that the methods of a class and of its bases set."""
    for base in kind.__mro__:
        if not base.__module__.startswith("poscount."):
            continue
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(base)))):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                name = node.attr
                if getattr(node.value, "id", "") == "self" and name.endswith("_"):
                    yield name.lstrip("_") and name


@pytest.mark.parametrize("place", CLASSES)
def test_every_class_that_a_model_file_can_hold_declares_what_it_learns(place):
    kind = CLASSES[place]
    declared = schema.fields_of(kind)
    assert declared, f"{kind.__name__} needs LEARNED (docs/contributing.md)"
    annotated = {name for base in kind.__mro__ for name in vars(base).get("__annotations__", {})}
    learned = {name for name in {*learned_in_source(kind), *annotated} if name.endswith("_")}
    assert {name for name in learned if name[0] != "_"} <= declared.keys()


@pytest.mark.parametrize("name", registry.METHODS)
def test_every_method_comes_back_from_a_file(name, tmp_path):
    model = registry.method(name)(random_state=0)
    model.fit(np.random.default_rng(0).normal(size=(60, 3))).save(tmp_path / "x.poscount")
    loaded = poscount.load(tmp_path / "x.poscount")
    names = {name for name in vars(model) if name[0] != "_"} - {"quantifiers_", "part_"}
    if hasattr(model, "subclass_parts_"):
        names.remove("subclass_parts_")
    for attribute in names & schema.fields_of(type(model)).keys():
        one, other = getattr(model, attribute), getattr(loaded, attribute)
        if hasattr(type(one), "LEARNED"):
            assert schema.same_learned(one, other)
        else:
            np.testing.assert_array_equal(one, other)


# The fields


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        (schema.Array("float64", (2,)), np.zeros(2), np.zeros(3)),
        (schema.Array("float64", (2,)), np.zeros(2), np.zeros(2, np.float32)),
        (schema.Array("float64", (2,)), np.zeros(2), np.array([0, np.nan])),
        (schema.Array("float64", (2,)), np.zeros(2), np.array([0, np.inf])),
        (schema.Array("float64", (2,), infinite=True), np.array([0, np.inf]), np.full(2, np.nan)),
        (schema.Array("float64", (2,), missing=True), np.full(2, np.nan), np.full(2, np.inf)),
        (schema.Array("int64", (2,), least=0, most=4), np.array([0, 4]), np.array([0, 5])),
        (schema.Array("int64", (2,), ascending=True), np.array([4, 4]), np.array([4, 3])),
        (schema.Array("int64", (0,)), np.empty(0, np.int64), [0]),
        (schema.Whole(1, 3), 3, 0),
        (schema.Whole(), 0, True),
        (schema.Whole(), 0, 10**400),
        (schema.Whole(), 0, 1.0),
        (schema.Number(0, 1), 0.5, float("nan")),
        (schema.Number(), 0, "0"),
        (schema.Number(), 10**30, 10**400),
        (schema.Flag(), False, 0),
        (schema.Text(), "a\nb", "\ud800"),
        (schema.Text(("a", "b")), "b", "c"),
        (schema.Digest(), "0" * 64, "g" * 64),
        (schema.ListOf(schema.Flag(), 1), [True], [True, True]),
        (schema.ListOf(schema.Text(), distinct=True), ["a", "b"], ["a", "a"]),
        (schema.ListOf(schema.Flag(), array=True), np.array([True], object), [True]),
        (schema.OrNone(schema.Flag()), None, "None"),
        (schema.Scorer(), poscount.Mahalanobis(), poscount.Mahalanobis),
        (schema.Part("PAT"), PAT(random_state=0).fit(np.arange(20.0)[:, None]), PAT()),
    ],
)
def test_fields(field, good, bad):
    field.check(good, schema.Sizes())
    with pytest.raises(ValueError, match=r"^(is|has|holds) "):
        field.check(bad, schema.Sizes())


# Models


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(80, 3))


@pytest.fixture(scope="module")
def trees(rows, tmp_path_factory):
    """Descriptions of a few models, to be spoilt."""
    path = tmp_path_factory.mktemp("models") / "model"
    found = {}
    for model in (
        PAT(random_state=0),
        RCQ(random_state=0),
        Minimum([PAT()], random_state=0),
        poscount.ExTIcE(random_state=0),
    ):
        model.fit(rows).save(path)
        found[type(model).__name__] = hostile_models.open_model(path)
    RCQ(random_state=0).fit(rows, unlabeled=rows + 1).save(path)
    found["RCQ, learned score"] = hostile_models.open_model(path)
    return found


@pytest.fixture
def load_spoilt(trees, tmp_path):
    """Loads a model after its description was changed; all hashes are right."""

    def load(name, change):
        tree = copy.deepcopy(trees[name])
        change(tree["state"])
        hostile_models.rehashed(tree)
        (tmp_path / "spoilt.poscount").write_bytes(hostile_models.close_model(tree))
        return poscount.load(tmp_path / "spoilt.poscount")

    return load


def array(name, change):
    """Changes one array of a model."""

    def changed(state):
        state[name] = {"array": change(state[name]["array"].copy())}

    return changed


def value(name, new):
    return lambda state: state.update({name: new})


def of_part(change):
    return lambda state: change(state["part_"]["state"])


def of_score(change):
    return of_part(lambda state: change(state["learned_score_"]["state"]))


HOSTILE = {
    "edges that are NaN": ("PAT", array("edges_", lambda x: x * np.nan), "edges_ of PAT"),
    "edges in reverse": ("PAT", array("edges_", lambda x: x[::-1].copy()), "ascending order"),
    "confidence of 2": ("PAT", value("confidence", 2), "confidence"),
    "no positives": ("PAT", value("n_labeled_", 0), "n_labeled_"),
    "another seed": ("PAT", value("random_state", 1), "seed_ differ"),
    "huge seed": ("PAT", value("seed_", 2**40), "seed_"),
    "too many threads": ("PAT", value("n_jobs", 10**6), "n_jobs"),
    "a method as attribute": ("PAT", value("quantify", 1), "'quantify'"),
    "an attribute too many": ("PAT", value("limit_", 1.0), "'limit_'"),
    "an attribute too few": ("PAT", lambda state: state.pop("edges_"), "edges_ of PAT is missing"),
    "a parameter too few": ("PAT", lambda state: state.pop("q"), "q of PAT is missing"),
    "features beyond": ("RCQ", of_part(array("features_", lambda x: x + 1)), ""),
    "features twice": ("RCQ", of_part(array("features_", lambda x: x * 0)), ""),
    "bins beyond": ("RCQ", of_part(array("binned_", lambda x: x + np.uint8(9))), ""),
    "variances of other cuts": (
        "RCQ",
        of_part(array("recording_variance_", lambda x: x[:, 1:])),
        "of other cuts",
    ),
    "variances that are negative": (
        "RCQ, learned score",
        of_part(array("recording_variance_", lambda x: x - 1)),
        "recording_variance_",
    ),
    "a tree's column beyond": (
        "RCQ, learned score",
        of_score(array("feature_", lambda x: x + 3)),
        "a column that there is not",
    ),
    "a learned column twice": (
        "RCQ, learned score",
        of_score(array("order_", lambda x: x * 0)),
        "in no order",
    ),
    "edges of a score in reverse": (
        "RCQ, learned score",
        of_score(array("edges_", lambda x: x[::-1] - np.arange(8))),
        "ascending order",
    ),
    "no members": ("Minimum", value("quantifiers_", []), "other members"),
    "infinite positives": ("ExTIcE", array("positives_", lambda x: x + np.inf), "positives_"),
    "missing positives": ("ExTIcE", array("positives_", lambda x: x * np.nan), "other columns"),
    "other categories": ("ExTIcE", value("categories_", [None, None, ["a"]]), "categories"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_values_are_refused(name, load_spoilt):
    model, change, words = HOSTILE[name]
    with pytest.raises(
        FileError, match=r"spoilt\.poscount: it does not hold a usable model: .*"
    ) as e:
        load_spoilt(model, change)
    assert words in str(e.value)


COLUMNS = {
    "a scale of 0": array("scales_", lambda x: x * 0),
    "correlations of nothing": array("precision_", lambda x: -x),
    "one-sided correlations": array("precision_", lambda x: np.triu(x) + 1e-3),
    "more gaps than rows": array("missing_", lambda x: x + 999),
    "two columns of one name": value("names_", ["x0", "x0", "x2"]),
    "an unknown kind": value("kinds_", ["number", "number", "date"]),
    "categories of a number": value("categories_", [[], [], ["a"]]),
    "a mean too few": array("centres_", lambda x: x[:-1]),
}


def test_as_many_features_as_a_file_says_are_not_named_before_they_are_counted(rows, tmp_path):
    from sklearn.svm import OneClassSVM

    # No array of a model with a scorer of another library has this number.
    PAT(OneClassSVM(), random_state=0).fit(rows).save(tmp_path / "model")
    tree = hostile_models.open_model(tmp_path / "model")
    tree["state"]["n_features_in_"] = 2**31
    (tmp_path / "model").write_bytes(hostile_models.close_model(tree))
    with pytest.raises(FileError, match="its columns are not its features"):
        poscount.load(tmp_path / "model")


@pytest.mark.parametrize("name", COLUMNS)
def test_hostile_columns_are_refused(name, load_spoilt):
    with pytest.raises(FileError, match="usable model"):
        load_spoilt("PAT", lambda state: COLUMNS[name](state["columns_"]["state"]))


def test_the_hash_is_recomputed(trees, tmp_path):
    tree = copy.deepcopy(trees["PAT"])
    tree["state"]["edges_"]["array"][0] -= 0.1
    path = tmp_path / "x.poscount"
    path.write_bytes(hostile_models.close_model(tree))
    with pytest.raises(FileError, match="not what its hash says"):
        poscount.load(path)
    # Somebody who recomputes it has made another model.
    hostile_models.rehashed(tree)
    path.write_bytes(hostile_models.close_model(tree))
    assert poscount.load(path).hash_ != trees["PAT"]["state"]["hash_"]


@pytest.mark.parametrize("name", ["location_", "directions_", "offsets_"])
def test_the_hash_of_several_targets_covers_what_tells_them_apart(name, rows, tmp_path):
    targets = {"one": rows, "other one": rows + 3}
    poscount.MultiRCQ(random_state=0).fit(targets).save(tmp_path / "model")
    tree = hostile_models.open_model(tmp_path / "model")
    learned = tree["state"]["groups_"]["state"]["discriminant_"]["state"]
    learned[name] = {"array": learned[name]["array"] + 1.0}
    (tmp_path / "model").write_bytes(hostile_models.close_model(tree))
    with pytest.raises(FileError, match="not what its hash says"):
        poscount.load(tmp_path / "model")


def test_models_are_not_nested_without_end(trees, tmp_path):
    tree = trees["Minimum"]
    for _ in range(20):
        tree = {"class": "Minimum", "state": {**tree["state"], "quantifiers_": [tree]}}
    (tmp_path / "x").write_bytes(hostile_models.close_model(tree))
    with pytest.raises(FileError, match="nested too deeply"):
        poscount.load(tmp_path / "x")


def test_arrays_that_belong_to_nothing_are_refused(trees, tmp_path):
    tree = copy.deepcopy(trees["PAT"])
    content = hostile_models.close_model(tree)
    (tmp_path / "x").write_bytes(content)
    meta, arrays = container.read(tmp_path / "x", "model")
    arrays["float64"] = np.append(arrays["float64"], 0.0)
    container.write(tmp_path / "x", "model", meta, arrays)
    with pytest.raises(FileError, match="more than the model needs"):
        poscount.load(tmp_path / "x")


# Archives and special files


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(entry.filename, archive.read(entry)) for entry in archive.infolist()]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda members: [*members, members[0]], "the same name"),
        (lambda members: [*members, ("x.txt", b"")], "does not belong there"),
        (lambda members: [*members, *((f"{i}.npy", b"") for i in range(64))], "66 members"),
    ],
)
def test_archives_with_too_much_in_them(change, words, tmp_path):
    Counts(np.array([3, 1]), 4, "m").save(tmp_path / "x")
    members = members_of((tmp_path / "x").read_bytes())
    (tmp_path / "x").write_bytes(hostile_files.zipped(change(members)))
    with pytest.raises(FileError, match=words):
        Counts.load(tmp_path / "x")


def test_members_that_claim_more_than_the_archive_has_are_refused():
    content = hostile_files.zipped([("a", b"x" * 100), ("b", b"y" * 100)])
    assert open_archive(content, 2).read("b") == b"y" * 100
    # Where the list of members says how many bytes the last one has.
    place = content.rindex(b"PK\x01\x02") + 20
    for size in (1_000, 2**31):
        spoilt = content[:place] + size.to_bytes(4, "little") + content[place + 4 :]
        with pytest.raises(ValueError, match="overlap"):
            open_archive(spoilt, 2)


READERS = {"model": poscount.load, "counts": Counts.load, "calibration": read_calibration}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_is_refused_at_once(kind, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe", tmp_path):
        with pytest.raises(FileError, match=f"a device or a pipe, not a {kind} file"):
            READERS[kind](path)


@pytest.mark.parametrize("kind", READERS)
def test_a_file_that_is_too_large_is_not_read(kind, tmp_path):
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(3 * 2**30)
    with pytest.raises(FileError, match=r"3\.0 GB, more than any"):
        READERS[kind](tmp_path / "huge")


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs a command; returns its exit status and what it says."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["poscount", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
        return status, capsys.readouterr().err

    return run


def test_special_files_on_the_command_line(command, tmp_path):
    for path in ("/dev/zero", tmp_path, tmp_path / "missing"):
        status, said = command("show", path)
        assert status == 2
        assert str(path) in said
        assert said.count("\n") == 1


def test_nested_archives_are_looked_into(rows, tmp_path):
    from sklearn.svm import OneClassSVM

    PAT(OneClassSVM(), random_state=0).fit(rows).save(tmp_path / "x")
    tree = hostile_models.open_model(tmp_path / "x")
    random = np.random.default_rng(0)
    for case in [
        *hostile_models.skops_bombs("PAT", tree, megabytes=64),
        *itertools.islice(hostile_models.skops_cases("PAT", tree, random), 25),
    ]:
        (tmp_path / "x").write_bytes(case.content)
        outcome = hostile.try_file(hostile._answering(rows), tmp_path / "x")
        assert outcome.kind != "failed", (case.what, outcome.words)
        assert outcome.kind == "refused" or "bomb" not in case.what


# Counts


@pytest.fixture(scope="module")
def counted(rows):
    model = RCQ(random_state=0).fit(rows)
    return model, model.count(rows[:30]), model.count(rows[30:])


def with_cells(counts, cells, n=None):
    return Counts(np.asarray(cells), counts.n if n is None else n, counts.model)


@pytest.mark.parametrize("size", [1, 2, -1, 1000])
def test_other_numbers_of_cells_are_refused(counted, size):
    model, counts, _ = counted
    cells = np.resize(counts.cells, size if size > 0 else len(counts.cells) - 1)
    with pytest.raises(InputError, match="cells, and this model has"):
        model.estimate(with_cells(counts, cells))


def test_counts_that_do_not_add_up_are_refused(counted):
    model, counts, _ = counted
    with pytest.raises(InputError, match="contradict themselves"):
        model.estimate(with_cells(counts, counts.cells, counts.n + 1))


@pytest.mark.parametrize("part", ["squares", "core_excess"])
def test_sums_of_weights_are_finite_or_refused(rows, part, tmp_path):
    model = PAT(random_state=0).fit(rows)
    counts = model.count(rows, weights=np.arange(80) / 7)
    for value in (1e30, -1e30, 1e5, -1e3, 1e-300, 0.0):
        sums = replace(counts.weights, **{part: value})
        replace(counts, weights=sums).save(tmp_path / "x.counts")
        try:
            found = Counts.load(tmp_path / "x.counts")
        except FileError:
            assert abs(value) > 1
        else:
            assert np.isfinite(model.estimate(found).interval.width)


def test_counts_beyond_what_is_exact(tmp_path):
    many = Counts(np.array([MOST_ROWS, 0]), MOST_ROWS, "m")
    many.save(tmp_path / "many")
    assert Counts.load(tmp_path / "many") == many
    with pytest.raises(InputError, match="exact only up to"):
        many + Counts(np.array([1, 0]), 1, "m")


def test_the_same_part_is_not_added_twice(counted, tmp_path):
    model, one, two = counted
    for name, counts in {"one": one, "two": two, "nothing": one - one}.items():
        counts.save(tmp_path / name)
    one, two, nothing = (Counts.load(tmp_path / name) for name in ("one", "two", "nothing"))
    (one + two).save(tmp_path / "both")
    both = Counts.load(tmp_path / "both")
    assert both == one + two
    for first, second in [(one, one), (both, one), (two, both), (both, both)]:
        with pytest.raises(InputError, match="count twice"):
            first + second
    # What was taken away can be added again, and nothing can be added as often as one likes.
    assert both - one + nothing + nothing == two
    # In memory, equal counts are those of different samples.
    in_memory = model.count(np.zeros((1, 3)))
    assert (in_memory + in_memory).n == 2


def test_a_file_merged_twice_is_named(counted, command, tmp_path):
    _, one, two = counted
    paths = [tmp_path / f"{name}.counts" for name in ("one", "two", "both")]
    one.save(paths[0])
    two.save(paths[1])
    assert command("merge", *paths[:2], "-o", paths[2])[0] == 0
    for twice in (paths[0], paths[2]):
        status, said = command("merge", paths[0], twice, "-o", tmp_path / "x.counts")
        assert status == 2
        assert f"{twice}: its counts, or some of them, are also in {paths[0]}, and would" in said
    assert not (tmp_path / "x.counts").exists()


# A little of everything


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    targets = hostile.make_targets(folder, only=hostile.QUICK)
    path = folder / "case.csv"
    expected = {}
    for name, target in targets.items():
        path.write_bytes(target.content)
        expected[name] = hostile.try_file(target.use, path).answer
    return folder, targets, expected


def test_a_short_audit(audited):
    folder, targets, expected = audited
    path = folder / "case.csv"
    for case in itertools.islice(hostile.all_cases(targets, folder, seed=5), 400):
        path.write_bytes(case.content)
        found = hostile.try_file(targets[case.target].use, path)
        outcome = hostile.judged(case, found, expected[case.target])
        assert outcome.kind != "failed", (case[:3], outcome.words)


fuzz = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@fuzz
@given(data=st.data())
def test_bytes_of_any_file(audited, data):
    folder, targets, expected = audited
    name = data.draw(st.sampled_from(["PAT", "PAT: counts", "calibration"]))
    content = bytearray(targets[name].content)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    path = folder / "case.csv"
    path.write_bytes(hostile_files.sealed(bytes(content)))
    found = hostile.try_file(targets[name].use, path)
    case = hostile_files.Case("container", "bytes", name, b"", chosen=True)
    assert hostile.judged(case, found, expected[name]).kind != "failed", found.words


@fuzz
@given(text=st.text(max_size=300), header=st.booleans())
def test_any_text_as_a_table(audited, text, header):
    folder, targets, _ = audited
    path = folder / "case.csv"
    start = "size,weight,age,site\n" if header else ""
    path.write_bytes((start + text).encode("utf-8", "surrogatepass"))
    found = hostile.try_file(targets["table"].use, path)
    assert found.kind != "failed", found.words
