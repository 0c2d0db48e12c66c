"""From files to models and answers: each thing once, and errors that name their place."""

import copy
import os

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from answers import assert_same_answer
from poscount import RCQ, ExTIcE
from poscount.app import data_files, estimates, fitting
from poscount.app.data_files import DataFiles
from poscount.app.results import draw
from poscount.calibration.files import shipped, write_calibration
from poscount.errors import InputError
from poscount.example import example_path, load_example
from poscount.files import features, reading
from poscount.files.read_options import DEFAULT_OPTIONS, ReadOptions

POSITIVES = str(example_path("positives.csv"))
TRAP = str(example_path("trap.csv.gz"))


def fit(path, method, *, read_options=DEFAULT_OPTIONS, **more):
    positives = DataFiles.matching([path], read_options=read_options)
    return fitting.fit([positives], method, **more).model


def quantify(model, paths, *, by=(), **how):
    return estimates.quantify(model, DataFiles.matching(paths, **how), by=by)


def count(model, paths):
    return DataFiles.matching(paths).count(model)


@pytest.fixture(scope="module")
def example():
    return load_example("pyarrow")


@pytest.fixture(scope="module")
def model():
    return fit(POSITIVES, "pat", options={"random_state": 0})


@pytest.fixture
def refused():
    """Call something that must fail, and give back its error."""

    def call(function, *args, **options):
        with pytest.raises(InputError) as caught:
            function(*args, **options)
        return caught.value

    return call


def changed(table, name, row, value):
    cells = [*map(str, table[name].to_pylist())]
    cells[row] = value
    return table.set_column(table.column_names.index(name), name, pa.array(cells))


# Each thing once


@pytest.fixture
def calls(monkeypatch):
    """Count the calls of functions, wherever they have been imported to."""
    counted = {}

    def watch(function, *modules):
        name = function.__name__
        counted[name] = 0

        def counting(*args, **options):
            counted[name] += 1
            return function(*args, **options)

        for module in modules:
            monkeypatch.setattr(module, name, counting)

    watch.counted = counted
    return watch


def test_paths_are_expanded_and_columns_chosen_once(calls, model, tmp_path, example):
    from poscount.engines import count_files

    calls(reading.expand, data_files)
    calls(features.model_columns, count_files)
    pa.parquet.write_table(example.trap, tmp_path / "trap.parquet")
    results = quantify(model, [str(tmp_path)], by=["night"])
    assert len(results) == 1 + 9
    assert calls.counted == {"expand": 1, "model_columns": 1}


@pytest.mark.parametrize("most_rows", [400, 10_000])
def test_scores_behind_an_answer(model, example, most_rows):
    trap = DataFiles([TRAP])
    picture = estimates.scores_behind(model, example.positives, trap, most_rows=most_rows)
    (expected,) = quantify(model, [TRAP])
    assert picture.rows == min(most_rows, 8070)
    assert picture.left + sum(picture.sample) == picture.rows
    # Those that the sample should have, but for the few that lie beyond the edges.
    expected_positives = picture.rows * expected.prevalence
    assert 0.95 * expected_positives < sum(picture.positives) <= expected_positives + 1e-6


def test_there_is_no_picture_of_a_method_without_scores(example):
    fitted = fit(POSITIVES, "tice", options={"random_state": 0})
    positives = DataFiles([POSITIVES])
    assert estimates.scores_behind(fitted, example.positives, positives, most_rows=10_000) is None


def test_a_counts_file_given_twice_counts_once(model, tmp_path):
    counts = count(model, [TRAP])
    path = str(tmp_path / "a.counts")
    counts.save(path)
    (once,) = quantify(model, [path, path])
    assert once.prevalence.n_unlabeled == counts.n
    (both,) = quantify(model, [path, TRAP])
    assert both.prevalence.n_unlabeled == 2 * counts.n
    (matched,) = quantify(model, [f"{tmp_path}/*.counts"])
    assert_same_answer(matched, once)


# Places of errors


def test_a_bad_cell_of_many_files_is_named_by_its_own_file_and_row(refused, tmp_path, example):
    """Positives that are spread over files are one table; the error is in one of them."""
    for i in range(3):
        pa.csv.write_csv(example.positives.slice(100 * i, 100), tmp_path / f"{i}.csv")
    bad = tmp_path / "1.csv"
    pa.csv.write_csv(changed(example.positives.slice(100, 100), "peak_mv", 7, "inf"), bad)
    options = {"random_state": 0}
    error = refused(fit, str(tmp_path), "pat", options=options)
    assert (error.file, error.column, error.row) == (str(bad), "peak_mv", 7)
    for method in ("pat", "extice"):
        fitted = fit(POSITIVES, method, options=options)
        error = refused(quantify, fitted, [str(tmp_path)])
        assert (error.file, error.column, error.row) == (str(bad), "peak_mv", 7)


def test_a_gap_in_one_of_many_files_is_a_value(tmp_path, example):
    for i in range(3):
        pa.csv.write_csv(example.positives.slice(100 * i, 100), tmp_path / f"{i}.csv")
    gapped = changed(example.positives.slice(100, 100), "peak_mv", 7, "")
    pa.csv.write_csv(gapped, tmp_path / "1.csv")
    for method in ("pat", "extice"):
        fitted = fit(str(tmp_path), method, options={"random_state": 0})
        assert fitted.n_labeled_ == 300
        assert fitted.columns_["peak_mv"].missing == 1 / 300
        assert fitted.columns_["peak_mv"].kind == "number"
        (answer,) = quantify(fitted, [str(tmp_path)])
        assert answer.prevalence.n_unlabeled == 300


def test_text_in_one_of_many_files_is_named(refused, tmp_path, example):
    pa.csv.write_csv(example.positives.slice(0, 100), tmp_path / "a.csv")
    bad = tmp_path / "b.csv"
    pa.csv.write_csv(changed(example.positives.slice(100, 100), "peak_mv", 7, "high"), bad)
    error = refused(fit, str(tmp_path), "pat", options={})
    assert (error.file, error.column, error.row) == (str(bad), "peak_mv", 7)
    assert "'high' is not a number" in error.message


def test_types_that_differ_between_files_are_an_error(refused, tmp_path, example):
    time = pa.array([0] * 100, pa.timestamp("s"))
    first, second = (example.positives.slice(start, 100) for start in (0, 100))
    pa.parquet.write_table(first, tmp_path / "a.parquet")
    pa.parquet.write_table(
        second.set_column(0, first.column_names[0], time), tmp_path / "b.parquet"
    )
    assert "the same type in all files" in str(refused(fit, str(tmp_path), "pat", options={}))


def test_a_file_without_rows_is_named(refused, tmp_path, example):
    path = str(tmp_path / "none.csv")
    pa.csv.write_csv(example.trap.slice(0, 0), path)
    for method in ("pat", "extice"):
        fitted = fit(POSITIVES, method, options={"random_state": 0})
        error = refused(quantify, fitted, [path])
        assert error.file == path
        assert "no rows" in error.message


def test_counts_of_another_model_are_named(refused, model, tmp_path):
    other = fit(POSITIVES, "pat", options={"random_state": 1, "scorer": "one-class-svm"})
    paths = []
    for name, fitted in (("a", model), ("b", other)):
        paths.append(str(tmp_path / f"{name}.counts"))
        count(fitted, [TRAP]).save(paths[-1])
    error = refused(estimates.merge, paths)
    assert error.file == paths[1]
    assert "different models" in error.message


def test_a_transductive_method_cannot_count(refused, example):
    fitted = ExTIcE(random_state=0).fit(example.positives)
    assert "cannot count" in str(refused(count, fitted, [TRAP]))


# Columns


def write_semicolons(table, path):
    """Write a file as spreadsheets do where the comma is the decimal mark."""
    lines = [table.column_names, *zip(*table.to_pydict().values(), strict=True)]
    text = "\n".join(";".join(str(cell).replace(".", ",") for cell in line) for line in lines)
    path.write_text(text)
    return str(path)


def test_the_remedy_for_decimal_commas_gives_the_right_answer(refused, tmp_path, example, model):
    """To leave the columns out gave another answer without a word."""
    positives = write_semicolons(example.positives, tmp_path / "p.csv")
    trap = write_semicolons(example.trap, tmp_path / "t.csv")
    error = refused(fit, positives, "pat", options={"random_state": 0})
    mended = ReadOptions()._replace(**{error.option: error.value})
    assert (error.column, error.row, mended) == ("wingbeat_hz", 0, ReadOptions(decimal=","))
    fitted = fit(positives, "pat", options={"random_state": 0}, read_options=mended)
    assert fitted.hash_ == model.hash_
    (found,) = quantify(fitted, [trap], read_options=mended)
    (expected,) = quantify(model, [TRAP])
    assert_same_answer(found, expected)
    error = refused(quantify, fitted, [trap])
    assert (error.option, error.value) == ("decimal", ",")


def test_several_columns_that_are_not_features_are_listed(refused, tmp_path):
    path = tmp_path / "p.csv"
    rows = [f"{i},note {i},2024-05-31,{i}.5" for i in range(30)]
    path.write_text("\n".join(["id,note,day,size", *rows]))
    found = fitting.fit([DataFiles([str(path)])], "pat", options={})
    assert found.left_out == {
        "id": "looks like an identifier",
        "note": "holds text that differs in nearly every row, such as 'note 0'",
        "day": "holds dates or times such as '2024-05-31'",
    }
    assert found.model.feature_names_in_.tolist() == ["size"]
    found = fitting.fit([DataFiles([str(path)])], "pat", options={}, exclude=["id", "note"])
    assert found.left_out == {"day": "holds dates or times such as '2024-05-31'"}
    path.write_text("\n".join(["id,note,day", *(f"{i},note {i},2024-05-31" for i in range(30))]))
    error = refused(fit, str(path), "pat", options={})
    assert (error.option, error.value, error.column) == ("features", None, None)
    assert error.message == (
        "no column looks like a feature: column 'id' looks like an identifier, column 'note' holds "
        "text that differs in nearly every row, such as 'note 0', column 'day' holds dates or "
        "times such as '2024-05-31'."
    )


def test_numbers_with_marks_may_be_identifiers(refused, tmp_path):
    path = tmp_path / "p.csv"
    rows = [f"2.000.{100 + i},{i}.5" for i in range(12)]
    path.write_text("\n".join(["sample_id,size", *rows]))
    found = fitting.fit([DataFiles([str(path)])], "pat", options={})
    assert found.left_out == {"sample_id": "looks like an identifier"}
    error = refused(fit, str(path), "pat", options={}, features=["sample_id", "size"])
    assert "it has thousands marks" in error.message


def test_a_column_named_as_a_feature_is_looked_at_too(refused, tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("id,size\n1,1.5 g\n2,2.5 g\n")
    error = refused(fit, str(path), "pat", options={}, features=["size"])
    assert "'1.5 g' is not a number: it has the unit g." in error.message


def test_types_of_typed_files(refused, tmp_path):
    table = pa.table(
        {
            "when": pa.array([0, 1] * 6, pa.timestamp("s")),
            "parts": [[1], [2]] * 6,
            "kind": pa.array(["a", "b"] * 6).dictionary_encode(),
            "size": [1.5, 2.5] * 6,
        }
    )
    pa.parquet.write_table(table, tmp_path / "p.parquet")
    found = fitting.fit([DataFiles([str(tmp_path / "p.parquet")])], "pat", options={})
    assert found.model.feature_names_in_.tolist() == ["kind", "size"]
    assert found.left_out["parts"].startswith("holds list<")
    stored = pa.table({"size": ["1.5", "2.5"]})
    pa.parquet.write_table(stored, tmp_path / "p.parquet")
    error = refused(fit, str(tmp_path / "p.parquet"), "pat", options={})
    assert error.message == "'1.5' is not a number but text; store the column as numbers."


# Pictures


def test_pictures_in_several_formats_are_the_same_each_time(model, tmp_path):
    pytest.importorskip("matplotlib").use("agg")
    results = quantify(model, [TRAP], by=["night"])
    contents = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        paths = [tmp_path / folder / f"nights.{kind}" for kind in ("png", "svg")]
        draw(results, *paths, truth=[0.3] * 9)
        contents.append([path.read_bytes() for path in paths])
    assert contents[0][0].startswith(b"\x89PNG")
    assert b"<svg" in contents[0][1]
    assert b"truth" in contents[0][1]
    assert contents[0][0] == contents[1][0]


# Unlabeled rows that a score is learned from

NULL = {"calibration": "null", "random_state": 0}


def learn(unlabeled, options=NULL):
    return fit(POSITIVES, "rcq", options=options, unlabeled=DataFiles.matching(unlabeled))


def test_unlabeled_rows_are_read_as_the_positives_are(tmp_path, example):
    in_memory = RCQ(**NULL).fit(example.positives, unlabeled=example.trap)
    assert learn([TRAP]).hash_ == in_memory.hash_
    # Words stay words where those of a file happen to be numbers, and numbers may be whole.
    positives = example.positives.select(["peak_mv"]).append_column("site", [["a", "b"] * 200])
    unlabeled = pa.table({"site": ["7", "b"], "peak_mv": [8.0, 9.0]})
    (tmp_path / "u0.csv").write_text("site,peak_mv\n7,8\n")
    (tmp_path / "u1.csv").write_text("peak_mv,site\n9,b\n")
    pa.csv.write_csv(positives, tmp_path / "p.csv")
    files = DataFiles.matching([f"{tmp_path}/u*.csv"])
    found = fit(str(tmp_path / "p.csv"), "rcq", options=NULL, unlabeled=files)
    assert found.hash_ == RCQ(**NULL).fit(positives, unlabeled=unlabeled).hash_


def test_the_seed_draws_the_unlabeled_rows(monkeypatch, tmp_path, example):
    monkeypatch.setattr(fitting, "MOST_REFERENCE_ROWS", 500)
    model = learn([TRAP])
    assert model.part_.learned_score_.n_reference_ == 500
    for i, start in enumerate((0, 100, 4000)):
        end = (100, 4000, None)[i]
        part = example.trap.slice(start, None if end is None else end - start)
        pa.parquet.write_table(part, tmp_path / f"{i}.parquet")
    assert learn([str(tmp_path)]).hash_ == model.hash_
    assert learn([TRAP], NULL | {"random_state": 1}).hash_ != model.hash_
    other = learn([TRAP], {"calibration": "null"})
    assert learn([TRAP], NULL | {"random_state": other.seed_}).hash_ == other.hash_


def test_what_is_counted_is_learned_from(example):
    fitted = fitting.fit([DataFiles([POSITIVES])], options=NULL, sample=DataFiles([TRAP]))
    assert fitted.model.hash_ == learn([TRAP]).hash_
    assert fitted.why_positives_only is None
    results = quantify(fitted.model, [TRAP], by=["night"])
    assert [result.n_reference for result in results] == [5000] * (1 + 9)
    for part in (results[0].record(), results[0].line()):
        assert part["n_reference"] == 5000
    alone = fitting.fit(
        [DataFiles([POSITIVES])], options=NULL, sample=DataFiles([TRAP]), positives_only=True
    )
    assert fitting.learned_score(alone.model) is None
    (result,) = quantify(alone.model, [TRAP])
    assert "n_reference" not in {**result.record(), **result.line()}
    assert fit(POSITIVES, "pat", options={}, sample=DataFiles([TRAP])).n_labeled_ == 400


def test_kinds_learn_from_unlabeled_rows_too(tmp_path):
    def learn_kinds(**rows):
        options = NULL | {"subclasses": 2}
        return fitting.fit([DataFiles([POSITIVES])], options=options, **rows).model

    counted = learn_kinds(sample=DataFiles([TRAP]))
    assert counted.hash_ == learn_kinds(unlabeled=DataFiles([TRAP])).hash_
    assert [part.learned_score_.n_reference_ for part in counted._counters] == [5000] * 3
    (result,) = quantify(counted, [TRAP])
    assert result.n_reference == 5000
    alone = learn_kinds(sample=DataFiles([TRAP]), positives_only=True)
    assert fitting.learned_score(alone) is None


def test_why_only_the_positives_were_learned_from(tmp_path, model):
    def why(*files, **options):
        sample = DataFiles(files)
        fitted = fitting.fit([DataFiles([POSITIVES])], options=NULL | options, sample=sample)
        assert (fitted.why_positives_only is None) == bool(fitting.learned_score(fitted.model))
        return fitted.why_positives_only

    counts, pipe, own = (str(tmp_path / name) for name in ("a.counts", "pipe", "own.npz"))
    count(model, [TRAP]).save(counts)
    os.mkfifo(pipe)
    calibration = copy.deepcopy(shipped("RCQ"))
    write_calibration(calibration, own)
    assert why(TRAP) is None
    assert why(TRAP, "-") == "standard input can be read only once"
    assert why(pipe) == f"{pipe} can be read only once"
    assert why(counts, TRAP) == f"{counts} has no rows"
    assert why(TRAP, calibration=own) == f"{own} was made without unlabeled rows"
    calibration.method_ = "RCQ-reference"
    write_calibration(calibration, own)
    assert why(TRAP, calibration=own) is None


def test_errors_of_unlabeled_rows_are_not_those_of_positives(
    refused, monkeypatch, tmp_path, example, model
):
    monkeypatch.setattr(fitting, "MOST_REFERENCE_ROWS", 200)
    for i in range(3):
        pa.csv.write_csv(example.trap.slice(100 * i, 100), tmp_path / f"{i}.csv")
    bad = str(tmp_path / "1.csv")
    rows = example.trap.slice(100, 100)
    for value in ("high", "inf"):
        # In all rows, because not every one is drawn.
        cells = pa.array([value] * 100)
        column = rows.column_names.index("peak_mv")
        pa.csv.write_csv(rows.set_column(column, "peak_mv", cells), bad)
        error = refused(learn, [str(tmp_path)])
        assert (error.file, error.column, error.row) == (bad, "peak_mv", 0)
    pa.csv.write_csv(rows.drop_columns("peak_mv"), bad)
    error = refused(learn, [bad])
    assert (error.file, error.column) == (bad, "peak_mv")
    typed = str(tmp_path / "words.parquet")
    words = rows.drop_columns("peak_mv").append_column("peak_mv", [["high"] * 100])
    pa.parquet.write_table(words, typed)
    error = refused(learn, [typed])
    assert (error.file, error.column) == (typed, "peak_mv")
    pa.csv.write_csv(example.trap.slice(0, 0), bad)
    error = refused(learn, [bad])
    assert (error.file, error.message) == (bad, "there are no rows: at least one is needed.")
    path = str(tmp_path / "a.counts")
    count(model, [TRAP]).save(path)
    assert refused(learn, [path]).message == "a counts file has no rows; give the data instead."
    positives = str(tmp_path / "p.csv")
    pa.csv.write_csv(changed(example.positives, "peak_mv", 7, "inf"), positives)
    error = refused(
        fitting.fit, [DataFiles([positives])], options=NULL, unlabeled=DataFiles([TRAP])
    )
    assert (error.file, error.column, error.row) == (positives, "peak_mv", 7)


# Files that do not go together


def test_counts_files_have_neither_groups_nor_weights(refused, model, tmp_path):
    path = str(tmp_path / "a.counts")
    count(model, [TRAP]).save(path)
    assert "no groups" in refused(quantify, model, [TRAP, path], by=["night"]).message
    assert "no rows that could be weighted" in refused(DataFiles, [path], weights="w").message
    each = DataFiles([TRAP, path], weights="peak_mv")
    assert [one.weights for one in each.single()] == ["peak_mv", None]


@pytest.mark.parametrize(
    ("options", "more", "sentence"),
    [
        ({"bootstrap": 5}, {"target_column": "peak_mv"}, "targets has no use for bootstrap."),
        ({"subclasses": 2}, {"negatives": 1}, "cannot be used together"),
        ({}, {"target_column": "peak_mv", "negatives": 1}, "negatives are one more target"),
        ({}, {"method": "pat", "negatives": 1}, "pat learns from positives alone"),
        ({}, {"method": "pat", "target_column": "peak_mv"}, "as rcq does, not by pat."),
        ({}, {"targets": ["a", "a"], "positives": 2}, "'a' is there 2 times"),
        ({}, {"targets": ["a"], "positives": 2}, "each target needs a file"),
        ({}, {"positives": 2}, "There are 2 files of positives"),
        ({}, {"positives": 2, "unlabeled": 1}, "the option goes before each"),
        ({}, {"method": "pat", "unlabeled": 1}, "pat does not learn from unlabeled rows when"),
        ({}, {"method": "trcq", "unlabeled": 1}, "trcq does not learn from unlabeled rows when"),
        ({}, {"negatives": 1, "unlabeled": 1}, "Models with labelled negatives do not learn"),
        ({}, {"target_column": "peak_mv", "unlabeled": 1}, "Models of several targets do not"),
        ({}, {"method": "pat", "positives_only": True}, "pat does not learn from unlabeled rows"),
    ],
)
def test_what_cannot_be_fitted_together(refused, options, more, sentence):
    files = DataFiles([POSITIVES])
    positives = [files] * more.pop("positives", 1)
    more["negatives"] = [files] * more.get("negatives", 0)
    if "unlabeled" in more:
        more["unlabeled"] = files
    assert sentence in refused(fitting.fit, positives, options=options, **more).message
