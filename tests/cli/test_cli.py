"""The command line, called as a user calls it: arguments in, text and exit status out."""

import contextlib
import csv
import gzip
import io
import json
import pickle
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import poscount
from poscount import PAT, RCQ, registry, theory
from poscount.cli.stopping import StoppedError, stopped_by_signals
from poscount.example import example_path, load_example
from poscount.results.user_knowledge import knowledge_in_words

POSITIVES = str(example_path("positives.csv"))
TRAP = str(example_path("trap.csv.gz"))


@pytest.fixture
def model(tmp_path, poscount_):
    path = tmp_path / "aedes.poscount"
    assert poscount_("fit", POSITIVES, "-o", path).status == 0
    return path


@pytest.fixture
def trap():
    return load_example("pyarrow").trap


def reference():
    return RCQ(random_state=0).fit(load_example("pyarrow").positives)


def write_csv(path, table, delimiter=",", decimal=".", newline="\n", bom=False):
    lines = [table.column_names, *zip(*table.to_pydict().values(), strict=True)]
    text = newline.join(
        delimiter.join(str(cell).replace(".", decimal) for cell in line) for line in lines
    )
    path.write_text(text, encoding="utf-8-sig" if bom else "utf-8", newline="")
    return path


def test_version_and_help_in_a_process_of_its_own():
    command = [sys.executable, "-m", "poscount"]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == f"poscount {poscount.__version__}\n"
    # The commands are listed without importing what they need.
    probe = (
        "import sys; sys.argv = ['poscount', '--help']\nfrom poscount.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numpy', 'sklearn', 'pyarrow', 'matplotlib'} & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True
    )
    assert shown.stdout.endswith("[]\n")
    for name in ("demo", "fit", "quantify", "estimate", "count", "merge", "plan"):
        assert name in shown.stdout


def test_demo_prints_estimates_and_truth_and_writes_a_picture(poscount_, tmp_path):
    picture = tmp_path / "demo.png"
    outcome = poscount_("demo", "-o", picture)
    assert outcome.status == 0
    truth = load_example("pyarrow").truth.to_pylist()
    for night in truth:
        line = next(line for line in outcome.out.splitlines() if night["night"] in line)
        assert f"{night['positives'] / night['rows']:.3f}" in line
        assert "[" in line
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000


def test_quantify_says_what_python_says(poscount_, model, trap):
    expected = reference().quantify(trap)
    (result,) = poscount_("quantify", model, TRAP, "--format", "json").results()
    assert result["prevalence"] == float(expected)
    assert result["interval"]["low"] == expected.interval.low
    assert result["n_unlabeled"] == len(trap)
    assert result["seed"] == 0


def test_groups_in_every_format(poscount_, model, trap):
    expected = reference().quantify_groups(trap, "night")
    results = poscount_("quantify", model, TRAP, "--by", "night", "--format", "json").results()
    assert {result["night"]: result["prevalence"] for result in results} == {
        "all rows": float(expected.total),
        **{night: float(p) for (night,), p in expected.items()},
    }
    rows = list(
        csv.DictReader(
            io.StringIO(poscount_("quantify", model, TRAP, "--by", "night", "--format", "csv").out)
        )
    )
    answers = [expected.total, *expected.values()]
    assert [float(row["high"]) for row in rows] == [p.interval.high for p in answers]
    table = poscount_("quantify", model, TRAP, "--by", "night").out
    for (night,), p in expected.items():
        line = next(line for line in table.splitlines() if line.startswith(night))
        assert f"{p:.3f}" in line
        assert f"[{p.interval.low:.3f}, {p.interval.high:.3f}]" in line


def test_every_kind_of_file_gives_the_same_answer(poscount_, model, trap, tmp_path, monkeypatch):
    folder = tmp_path / "formats"
    folder.mkdir()
    write_csv(folder / "plain.csv", trap)
    write_csv(folder / "windows.csv", trap, newline="\r\n", bom=True)
    write_csv(folder / "semicolon.csv", trap, delimiter=";")
    write_csv(folder / "tab.tsv", trap, delimiter="\t")
    pa.parquet.write_table(trap, folder / "trap.parquet")
    pa.feather.write_feather(trap, folder / "trap.arrow")
    other_order = trap.select(trap.column_names[::-1]).append_column(
        "extra", pa.array(["x"] * 8070)
    )
    pa.parquet.write_table(other_order, folder / "other.parquet")
    command = ("quantify", model, folder, "--by-file", "--format", "json")
    total, *results = poscount_(*command).results()
    assert len(results) == 7
    assert total["n_unlabeled"] == 7 * 8070
    (alone,) = poscount_("quantify", model, TRAP, "--format", "json").results()
    for result in results:
        assert result["prevalence"] == alone["prevalence"]
        assert result["interval"] == alone["interval"]
    (together,) = poscount_("quantify", model, f"{folder}/*.csv", "--format", "json").results()
    assert together["n_unlabeled"] == 3 * 8070
    assert together["prevalence"] == float(reference().quantify(pa.concat_tables([trap] * 3)))
    for content in (gzip.decompress(Path(TRAP).read_bytes()), Path(TRAP).read_bytes()):
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))
        monkeypatch.setattr(sys, "stdin", stdin)
        (piped,) = poscount_("quantify", model, "-", "--format", "json").results()
        assert piped["prevalence"] == alone["prevalence"]


def test_decimal_comma_and_no_header(poscount_, refused, trap, tmp_path):
    positives = load_example("pyarrow").positives
    comma = write_csv(tmp_path / "comma.csv", positives, delimiter=";", decimal=",")
    read = ("--delimiter", ";", "--decimal", ",")
    point = ("--decimal", ".")
    assert "Pass --decimal ','." in refused("fit", comma, "-o", tmp_path / "m.poscount", *point)
    for said in ((), read):
        assert poscount_("fit", comma, "-o", tmp_path / "comma.poscount", *said).status == 0
        assert registry.load(tmp_path / "comma.poscount").hash_ == reference().hash_
    bare = tmp_path / "bare.csv"
    bare.write_text(write_csv(tmp_path / "full.csv", positives).read_text().split("\n", 1)[1])
    assert "--no-header" in refused("fit", bare, "-o", tmp_path / "m.poscount")
    outcome = poscount_("fit", bare, "-o", tmp_path / "bare.poscount", "--no-header")
    assert outcome.status == 0
    named = registry.load(tmp_path / "bare.poscount")
    assert list(named.feature_names_in_) == [str(i) for i in range(1, 9)]
    numbered = trap.select(positives.column_names).rename_columns(list(named.feature_names_in_))
    assert float(named.quantify(numbered)) == float(reference().quantify(trap))


def test_a_million_rows(poscount_, model, trap, tmp_path):
    repeated = pa.concat_tables([trap] * 124)
    pa.csv.write_csv(repeated, tmp_path / "big.csv")
    (big,) = poscount_("quantify", model, tmp_path / "big.csv", "--format", "json").results()
    assert big["n_unlabeled"] == 124 * 8070 > 10**6
    assert big["prevalence"] == float(reference().quantify(repeated))


@pytest.fixture
def nights(trap, tmp_path):
    """A folder of Parquet files, one a night, that have their night in the path only."""
    for night in sorted(set(trap["night"].to_pylist())):
        place = tmp_path / "nights" / f"night={night}"
        place.mkdir(parents=True)
        rows = trap.filter(pa.compute.equal(trap["night"], night))
        pa.parquet.write_table(rows.drop_columns("night"), place / "rows.parquet")
    return tmp_path / "nights"


@pytest.mark.parametrize("engine", ["auto", "dask"])
def test_engines_give_the_same_answers(poscount_, model, nights, engine):
    if engine != "auto":
        pytest.importorskip(engine)
    expected = poscount_("quantify", model, TRAP, "--by", "night", "--format", "json").results()
    options = ("--by", "night", "--format", "json", "--engine", engine)
    assert poscount_("quantify", model, nights, *options).results() == expected


def test_a_broken_file_is_named(refused, model, nights):
    broken = nights / "night=x" / "broken.parquet"
    broken.parent.mkdir()
    broken.write_bytes(b"PAR1")
    assert refused("quantify", model, nights).startswith(f"poscount: {broken}: this is not Parquet")


def test_engines_are_for_reusable_methods(poscount_, refused, tmp_path):
    path = tmp_path / "x.poscount"
    assert poscount_("fit", POSITIVES, "-o", path, "--method", "extice").status == 0
    assert "needs all rows in memory" in refused("quantify", path, TRAP, "--engine", "dask")


def test_counts_merge_into_the_answer_of_everything(poscount_, model, trap, tmp_path):
    for i, part in enumerate((trap.slice(0, 3000), trap.slice(3000))):
        pa.parquet.write_table(part, tmp_path / f"part{i}.parquet")
        counted = poscount_(
            "count", model, tmp_path / f"part{i}.parquet", "-o", tmp_path / f"{i}.counts"
        )
        assert counted.status == 0
    merged = tmp_path / "all.counts"
    assert (
        poscount_("merge", tmp_path / "0.counts", tmp_path / "1.counts", "-o", merged).status == 0
    )
    (result,) = poscount_("quantify", model, merged, "--format", "json").results()
    assert result["prevalence"] == float(reference().quantify(trap))
    assert result["n_unlabeled"] == 8070


@pytest.fixture
def weighted(trap, tmp_path):
    """The trap with whole weights and with survey weights, and positives that have some, too."""
    rng = np.random.default_rng(0)
    table = trap.append_column("times", [rng.integers(0, 3, len(trap))])
    table = table.append_column("weight", [rng.gamma(2.0, 1.0, len(trap)).round(4)])
    positives = load_example("pyarrow").positives
    write_csv(tmp_path / "p.csv", positives.append_column("weight", [np.ones(len(positives))]))
    pa.parquet.write_table(table, tmp_path / "w.parquet")
    return table


def test_weights_say_what_python_says(poscount_, refused, model, weighted, tmp_path):
    rows = tmp_path / "w.parquet"
    for name in ("times", "weight"):
        expected = reference().quantify(weighted, weights=name)
        options = ("--weights", name, "--format", "json")
        (result,) = poscount_("quantify", model, rows, *options).results()
        assert {**expected.to_dict(), "seed": 0} == result
        counted = poscount_("count", model, rows, "--weights", name, "-o", tmp_path / "x.counts")
        weight = reference().count(weighted, weights=name).weights.weight
        assert f"rows with a total weight of {weight:.10g}." in counted.out
        assert poscount_("quantify", model, tmp_path / "x.counts", *options[2:]).results() == [
            result
        ]
    by_night = reference().quantify_groups(weighted, "night", weights="weight")
    total, *found = poscount_("quantify", model, rows, "--by", "night", *options).results()
    assert [row["count"] for row in found] == [p.count for p in by_night.values()]
    assert total["count"] == by_night.total.count
    # What has a weight among the positives is no feature.
    alone = ("estimate", tmp_path / "p.csv", rows, "--positives-only")
    assert poscount_(*alone, *options).results() == [result]
    shown = poscount_("quantify", model, rows, "--weights", "weight").out
    effective = expected.details["effective_rows"]
    assert f"the interval is that of {effective:.0f} rows of equal weight." in shown


def test_weights_that_cannot_be_used(poscount_, refused, model, weighted, tmp_path):
    rows = tmp_path / "w.parquet"
    poscount_("count", model, rows, "-o", tmp_path / "x.counts")
    sentence = refused("quantify", model, tmp_path / "x.counts", "--weights", "weight")
    assert sentence.endswith(
        "has no rows that could be weighted; count the rows with their "
        "weights. Leave --weights out."
    )
    assert refused("quantify", model, rows, "--weights", "w").startswith(
        f"poscount: {rows}: column 'w': the file has no such column"
    )
    assert "column 'night': it holds String, not numbers" in refused(
        "quantify", model, rows, "--weights", "night"
    )
    sentence = refused("estimate", POSITIVES, rows, "--method", "en", "--weights", "weight")
    assert "EN cannot use weights" in sentence
    assert sentence.endswith("use a reusable method such as RCQ. Leave --weights out.")
    # Rows with and without weights add up.
    poscount_("count", model, rows, "--weights", "weight", "-o", tmp_path / "y.counts")
    both = (tmp_path / "x.counts", tmp_path / "y.counts")
    assert (
        f"counts of {2 * len(weighted)} rows with a total weight of"
        in poscount_("merge", *both, "-o", tmp_path / "z.counts").out
    )
    (together,) = poscount_(
        "quantify", model, both[0], rows, "--weights", "weight", "--format", "json"
    ).results()
    (merged,) = poscount_("quantify", model, tmp_path / "z.counts", "--format", "json").results()
    assert together == merged


def test_counts_of_two_models_do_not_merge(poscount_, refused, model, tmp_path):
    other = tmp_path / "other.poscount"
    poscount_("fit", POSITIVES, "-o", other, "--random-state", 1)
    for name, fitted in (("a", model), ("b", other)):
        poscount_("count", fitted, TRAP, "-o", tmp_path / f"{name}.counts")
    sentence = refused("merge", tmp_path / "a.counts", tmp_path / "b.counts", "-o", tmp_path / "c")
    assert "different models" in sentence
    assert not (tmp_path / "c").exists()
    assert "another model" in refused("quantify", model, tmp_path / "b.counts")


@pytest.mark.parametrize(
    ("method", "scorer"), [("odin", "mahalanobis"), *(("pat", name) for name in registry.SCORERS)]
)
def test_estimate_with_every_scorer(poscount_, method, scorer):
    arguments = ("estimate", POSITIVES, TRAP, "--method", method, "--scorer", scorer)
    (result,) = poscount_(*arguments, "--format", "json").results()
    truth = load_example("pyarrow").truth
    share = sum(truth["positives"].to_pylist()) / sum(truth["rows"].to_pylist())
    assert result["prevalence"] == pytest.approx(share, abs=0.15)


@pytest.fixture
def few_rows(trap, tmp_path):
    """One small night: enough to try a slow method on."""
    night = trap.filter(pa.compute.equal(trap["night"], "2026-01-19"))
    pa.parquet.write_table(night, tmp_path / "night.parquet")
    return tmp_path / "night.parquet"


@pytest.mark.parametrize("method", registry.METHODS)
def test_every_method_estimates_what_python_estimates(poscount_, few_rows, method):
    arguments = ("estimate", POSITIVES, few_rows, "--method", method, "--random-state", 7)
    (result,) = poscount_(*arguments, "--format", "json").results()
    sample = pa.parquet.read_table(few_rows)
    learned = {"unlabeled": sample} if method in ("rcq", "subclassrcq") else {}
    positives = load_example("pyarrow").positives
    model = registry.method(method)(random_state=7).fit(positives, **learned)
    assert result["prevalence"] == float(model.quantify(sample))
    by_night = poscount_(*arguments, "--by", "night", "--format", "json").results()
    assert [(row["night"], row["prevalence"]) for row in by_night] == [
        (night, result["prevalence"]) for night in ("all rows", "2026-01-19")
    ]


# Unlabeled rows that a score is learned from


LEARNED = "score also learned from 5,000 distinct unlabeled rows"


@pytest.fixture
def learned(poscount_, tmp_path):
    path = tmp_path / "learned.poscount"
    options = ("--unlabeled", TRAP, "--calibration", "null")
    assert poscount_("fit", POSITIVES, "-o", path, *options).status == 0
    return path


def test_a_score_is_learned_from_unlabeled_rows(poscount_, learned, trap, tmp_path):
    told = poscount_(
        "fit", POSITIVES, "-o", learned, "--unlabeled", TRAP, "--calibration", "null"
    ).out
    sentence = "The score was also learned from 5,000 distinct unlabeled rows"
    assert told.endswith(f". {sentence} of {TRAP}.\n")
    in_python = RCQ(calibration="null", random_state=0)
    in_python.fit(load_example("pyarrow").positives, unlabeled=trap)
    assert registry.load(learned).hash_ == in_python.hash_
    score = in_python.part_.learned_score_
    shown = poscount_("show", learned).out.splitlines()
    pairs = f"{50 + 100 * score.skill_:.0f} % of pairs"
    assert shown[1] == f"{sentence}; it ranks a positive above an unlabeled row in {pairs}."
    (record,) = [json.loads(poscount_("show", learned, "--format", "json").out)]
    assert (record["n_reference"], record["skill"]) == (5000, score.skill_)
    for i in range(2):
        write_csv(tmp_path / f"{i}.csv", trap.slice(4000 * i, 4000 if i == 0 else None))
    options = ("--unlabeled", tmp_path / "0.csv", "--unlabeled", tmp_path / "1.csv")
    path = tmp_path / "parts.poscount"
    told = poscount_("fit", POSITIVES, "-o", path, *options, "--calibration", "null").out
    assert f"of {tmp_path}/0.csv and 1 more." in told
    assert registry.load(path).hash_ == in_python.hash_


@pytest.mark.parametrize("groups", [(), ("--by", "night")])
def test_an_estimate_learns_from_the_rows_that_it_counts(poscount_, learned, groups, tmp_path):
    def results(*arguments):
        return poscount_(*arguments, *groups, "--format", "json").results()

    estimate = ("estimate", POSITIVES, TRAP, "--calibration", "null")
    found = results(*estimate)
    assert found == results("quantify", learned, TRAP)
    assert {result["n_reference"] for result in found} == {5000}
    lines = poscount_(*estimate, *groups, "--format", "csv").out.splitlines()
    assert {row["n_reference"] for row in csv.DictReader(lines)} == {"5000"}
    assert poscount_(*estimate, *groups).out.endswith(f"RCQ, 400 positives, {LEARNED}, seed 0\n")
    alone = tmp_path / "alone.poscount"
    poscount_("fit", POSITIVES, "-o", alone, "--calibration", "null")
    expected = results("quantify", alone, TRAP)
    assert results(*estimate, "--positives-only") == expected
    assert not any("n_reference" in result for result in expected)


def test_what_is_read_once_is_not_learned_from(poscount_, trap, monkeypatch, tmp_path):
    estimate = ("estimate", POSITIVES, TRAP, "--calibration", "null", "--positives-only")
    expected = poscount_(*estimate, "--format", "json").results()
    content = write_csv(tmp_path / "trap.csv", trap).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(content))))
    outcome = poscount_("estimate", POSITIVES, "-", "--calibration", "null", "--format", "json")
    assert outcome.results() == expected
    assert outcome.err == (
        "Only the positives were learned from: standard input can be read only once.\n"
    )


def test_unlabeled_rows_that_cannot_be_learned_from(refused, tmp_path):
    def fit(*options):
        return refused("fit", POSITIVES, "-o", tmp_path / "m.poscount", *options)

    assert fit("--unlabeled", TRAP, "--method", "pat") == (
        "poscount: The method pat does not learn from unlabeled rows when it is fitted; rcq does. "
        "Leave --unlabeled out."
    )
    assert fit("--unlabeled", TRAP, "--negatives", TRAP) == (
        "poscount: Models with labelled negatives do not learn from unlabeled rows yet. "
        "Leave --unlabeled out."
    )
    assert fit(TRAP, "--unlabeled", TRAP).endswith(f"Pass --unlabeled '{TRAP}'.")
    truth = str(example_path("truth.csv"))
    assert fit("--unlabeled", truth).startswith(
        f"poscount: {truth}: column 'wingbeat_hz': the file has no such column"
    )
    nothing = tmp_path / "none.csv"
    nothing.write_text(gzip.decompress(Path(TRAP).read_bytes()).decode().split("\n")[0])
    assert "none.csv: there are no rows" in fit("--unlabeled", nothing)
    assert refused("estimate", POSITIVES, TRAP, "--method", "pat", "--positives-only").endswith(
        "rcq does. Leave --positives-only out."
    )


def test_what_the_user_knows_is_part_of_the_model_and_of_its_results(poscount_, few_rows, tmp_path):
    path = tmp_path / "m.poscount"
    written = poscount_("fit", POSITIVES, "-o", path, "--recognisable", "yes").out
    assert "RCQ(random_state=0, recognisable=True) learned" in written
    (sentence,) = knowledge_in_words({"recognisable": True})
    assert poscount_("show", path).out.splitlines()[1] == sentence
    assert poscount_("show", path, "--format", "json").results()["recognisable"] is True
    table = poscount_("quantify", path, few_rows).out
    assert table.splitlines()[-1] == sentence
    (record,) = poscount_("quantify", path, few_rows, "--format", "json").results()
    assert record["recognisable"] is True
    line = poscount_("quantify", path, few_rows, "--format", "csv").out
    assert next(csv.DictReader(io.StringIO(line)))["recognisable"] == "True"


@pytest.mark.parametrize("options", [(), ("--method", "trcq"), ("--subclasses", 2)])
def test_an_estimate_is_told_what_the_user_knows(poscount_, few_rows, options):
    estimate = ("estimate", POSITIVES, few_rows, "--format", "json", *options)
    (record,) = poscount_(*estimate, "--recognisable", "no").results()
    assert record["recognisable"] is False
    (unknown,) = poscount_(*estimate).results()
    assert "recognisable" not in unknown
    assert "It was said" not in poscount_(*estimate[:3], *options).out


@pytest.mark.parametrize(("option", "value"), [("recognisable", "yes"), ("tolerance", 0.1)])
def test_what_the_user_knows_is_refused_where_it_is_of_no_use(refused, tmp_path, option, value):
    given = (f"--{option}", value)
    remedy = f"has no use for {option}. Leave --{option} out."
    fit = ("fit", POSITIVES, "-o", tmp_path / "m.poscount")
    assert refused(*fit, "--method", "pat", *given) == f"poscount: The method pat {remedy}"
    estimate = ("estimate", POSITIVES, TRAP, "--method", "dedpul")
    assert refused(*estimate, *given) == f"poscount: The method dedpul {remedy}"


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--subclasses", "auto"), "The method rcq with kinds of positives"),
        (("--negatives", TRAP), "The method rcq with labelled negatives"),
        (("--target-column", "night"), "A model of several targets"),
    ],
)
def test_only_plain_models_tolerate_other_records(refused, tmp_path, options, what):
    fit = ("fit", POSITIVES, "-o", tmp_path / "m.poscount", "--tolerance", 0.1)
    assert refused(*fit, *options) == (
        f"poscount: {what} has no use for tolerance. Leave --tolerance out."
    )


def test_recognisable_is_yes_or_no(poscount_, model):
    wrong = poscount_("estimate", POSITIVES, TRAP, "--recognisable", "maybe")
    assert wrong.status == 2
    assert "'maybe' is not one of" in wrong.err
    # A model that is finished was told when it was fitted.
    late = poscount_("quantify", model, TRAP, "--recognisable", "no")
    assert (late.status, "No such option: --recognisable" in late.err) == (2, True)


def test_bootstrap_gives_an_interval(poscount_, refused, few_rows):
    arguments = ("estimate", POSITIVES, few_rows, "--method", "bbe", "--bootstrap", 5)
    (result,) = poscount_(*arguments, "--confidence", 0.8, "--format", "json").results()
    assert result["interval"]["low"] < result["prevalence"] < result["interval"]["high"]
    assert result["interval"]["level"] == 0.8
    assert "has an interval of its own. Leave --bootstrap out." in refused(
        "estimate", POSITIVES, few_rows, "--method", "pat", "--bootstrap", 5
    )


def test_types_of_a_foreign_scorer_are_trusted_by_name(poscount_, refused, tmp_path):
    forest = tmp_path / "forest.poscount"
    scorer = ("--method", "pat", "--scorer", "isolation-forest")
    fitted = poscount_("fit", POSITIVES, "-o", forest, *scorer)
    assert fitted.status == 0
    sentence = refused("quantify", forest, TRAP)
    assert "--trust" in sentence
    types = sentence.split("safe (")[1].split(")")[0].replace(" ", "")
    (result,) = poscount_("quantify", forest, TRAP, "--trust", types, "--format", "json").results()
    assert result["method"] == "PAT"


def test_plan(poscount_, refused):
    outcome = poscount_("plan", "--error", 0.02)
    assert outcome.status == 0
    assert "positives" in outcome.out
    assert "rows" in outcome.out
    found = json.loads(poscount_("plan", "--error", 0.05, "--format", "json").out)
    assert found["expected_error"] <= 0.05
    assert "at least" in refused("plan", "--error", 0.02, "--positives", 50)
    assert "error must be in" in refused("plan", "--error", 3)


def test_picture_of_the_result(poscount_, model, tmp_path):
    picture = tmp_path / "nights.png"
    assert poscount_("quantify", model, TRAP, "--by", "night", "--plot", picture).status == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


# What a user may get wrong


@pytest.mark.parametrize("name", ["id", "insect_id", "uuid", "recordId", "ID", "serial"])
def test_identifiers_are_not_learned_from_unasked(poscount_, tmp_path, name):
    positives = load_example("pyarrow").positives
    with_id = positives.append_column(name, pa.array(range(1, len(positives) + 1)))
    path = write_csv(tmp_path / "positives.csv", with_id)
    unasked = poscount_("fit", path, "-o", tmp_path / "m.poscount")
    assert f"Not used as features: column {name!r} looks like an identifier." in unasked.err
    assert f"--exclude {name} leaves them out without this line" in unasked.err
    assert registry.load(tmp_path / "m.poscount").hash_ == reference().hash_
    silent = poscount_("fit", path, "-o", tmp_path / "m.poscount", "--exclude", name)
    assert "Not used" not in silent.err
    assert registry.load(tmp_path / "m.poscount").hash_ == reference().hash_
    asked = ",".join(with_id.column_names)
    assert poscount_("fit", path, "-o", tmp_path / "m.poscount", "--features", asked).status == 0
    assert registry.load(tmp_path / "m.poscount").n_features_in_ == 9


def test_dates_are_not_learned_from(poscount_, tmp_path):
    outcome = poscount_("fit", TRAP, "-o", tmp_path / "m.poscount", "--method", "pat")
    assert outcome.status == 0
    assert "column 'night' holds dates or times such as '2026-01-12'" in outcome.err
    assert "night" not in registry.load(tmp_path / "m.poscount").feature_names_in_


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda cells: cells.__setitem__(7, "inf"), ["column 'peak_mv', row 3", "infinity"]),
        (lambda cells: cells.__setitem__(7, "high"), ["column 'peak_mv', row 3", "'high'"]),
        (lambda cells: cells.append("1"), ["line 4", "9 cell"]),
    ],
)
@pytest.mark.parametrize("command", ["fit", "quantify"])
def test_a_bad_cell_is_named(refused, model, tmp_path, command, change, parts):
    lines = Path(POSITIVES).read_text().splitlines()
    cells = lines[3].split(",")
    change(cells)
    lines[3] = ",".join(cells)
    path = tmp_path / "bad.csv"
    path.write_text("\n".join(lines))
    output = ("-o", tmp_path / "m.poscount")
    sentence = refused("fit", path, *output) if command == "fit" else refused(command, model, path)
    for part in [*parts, "bad.csv"]:
        assert part in sentence


@pytest.mark.parametrize("cell", ["", "nan", "NA"])
def test_a_missing_value_is_a_value(poscount_, tmp_path, cell):
    lines = Path(POSITIVES).read_text().splitlines()
    lines[3] = ",".join([cell, *lines[3].split(",")[1:]])
    path = tmp_path / "gap.csv"
    path.write_text("\n".join(lines))
    assert poscount_("fit", path, "-o", tmp_path / "m.poscount").status == 0
    model = registry.load(tmp_path / "m.poscount")
    assert model.columns_["wingbeat_hz"].missing == 1 / model.n_labeled_
    assert poscount_("quantify", tmp_path / "m.poscount", path).status == 0


def test_words_are_categories(poscount_, tmp_path):
    positives = load_example("pyarrow").positives
    words = pa.array(["wet" if i % 3 else "dry" for i in range(len(positives))])
    path = write_csv(tmp_path / "words.csv", positives.append_column("weather", words))
    assert poscount_("fit", path, "-o", tmp_path / "m.poscount").status == 0
    weather = registry.load(tmp_path / "m.poscount").columns_["weather"]
    assert (weather.kind, weather.categories) == ("category", ("dry", "wet"))


def test_missing_things_are_named(refused, poscount_, model, tmp_path, trap):
    write_csv(tmp_path / "less.csv", trap.drop_columns(["peak_mv"]))
    assert "column 'peak_mv'" in refused("quantify", model, tmp_path / "less.csv")
    write_csv(tmp_path / "none.csv", trap.slice(0, 0))
    assert "no rows" in refused("quantify", model, tmp_path / "none.csv")
    assert "column 'week'" in refused("quantify", model, TRAP, "--by", "week")
    assert "column 'colour'" in refused("fit", POSITIVES, "-o", "m", "--features", "colour")
    assert "nowhere.csv" in refused("quantify", model, tmp_path / "nowhere.csv")
    assert "nowhere.poscount" in refused("quantify", tmp_path / "nowhere.poscount", TRAP)
    assert "no method 'patt'; the methods are minimum, odin, pat" in refused(
        "estimate", POSITIVES, TRAP, "--method", "patt"
    )
    assert "the scorers are mahalanobis" in refused(
        "estimate", POSITIVES, TRAP, "--method", "pat", "--scorer", "svm"
    )
    assert "no use for scorer; pat and odin have." in refused(
        "fit", POSITIVES, "-o", "m", "--scorer", "mahalanobis"
    )
    assert "nowhere" in refused("fit", POSITIVES, "-o", tmp_path / "nowhere" / "m.poscount")


@pytest.mark.parametrize(
    ("name", "options"), [("prevalence", ()), ("recognisable", ()), ("file", ("--by-file",))]
)
def test_a_group_cannot_have_the_name_of_a_column_of_the_result(
    refused, poscount_, model, tmp_path, trap, name, options
):
    names = [name if column == "night" else column for column in trap.column_names]
    data = tmp_path / "trap.csv"
    write_csv(data, trap.rename_columns(names))
    sentence = refused("quantify", model, data, "--by", name, *options)
    assert f"column {name!r}: the result has a column of this name" in sentence
    # A file column is in the way of nothing unless each file gets an answer.
    assert name != "file" or poscount_("quantify", model, data, "--by", name).status == 0


def test_too_few_positives(refused, tmp_path):
    lines = Path(POSITIVES).read_text().splitlines()
    few = tmp_path / "few.csv"
    few.write_text("\n".join(lines[:6]))
    assert "10 positives" in refused("fit", few, "-o", tmp_path / "m")
    few.write_text("\n".join(lines[:11]))
    sentence = refused("fit", few, "-o", tmp_path / "m", "--method", "pat")
    assert "positives for the covariance" in sentence
    few.write_text(lines[0] + "\n")
    assert "no rows" in refused("fit", few, "-o", tmp_path / "m")


def test_a_model_file_is_checked(refused, model, tmp_path):
    content = model.read_bytes()
    damaged = tmp_path / "damaged.poscount"
    for wrong in (content[:-10], content[:100] + b"x" + content[101:], b"", b"PK", pickle.dumps(1)):
        damaged.write_bytes(wrong)
        assert "damaged.poscount" in refused("quantify", damaged, TRAP)
    assert "counts file" in refused("merge", model, "-o", tmp_path / "c.counts")


def test_a_model_of_an_array_cannot_find_columns_in_a_file(refused, tmp_path):
    PAT(random_state=0).fit(np.random.default_rng(0).normal(size=(100, 2))).save(tmp_path / "m")
    assert "without column names" in refused("quantify", tmp_path / "m", TRAP)


@pytest.mark.filterwarnings("default")
def test_a_warning_is_one_sentence_on_standard_error(poscount_, monkeypatch):
    found = theory.plan(0.1)

    def plan(*args, **options):
        warnings.warn("this is only a trial.", stacklevel=2)
        return found

    monkeypatch.setattr(theory, "plan", plan)
    outcome = poscount_("plan", "--error", 0.1)
    assert outcome.err == "poscount: this is only a trial.\n"
    assert outcome.status == 0


def test_usage_errors_end_with_status_2(poscount_):
    for arguments in (["fit"], ["bogus"], ["plan", "--error", "much"]):
        outcome = poscount_(*arguments)
        assert outcome.status == 2
        assert outcome.out == ""


def test_without_typer_the_extra_is_named(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "typer", None)
    assert 'pip install "poscount[cli]"' in refused("demo")


def test_without_matplotlib_the_extra_is_named(monkeypatch, refused, model, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    sentence = refused("quantify", model, TRAP, "--plot", tmp_path / "p.png")
    assert 'pip install "poscount[plot]"' in sentence


# Diagnose


@pytest.fixture(scope="module")
def diagnosis():
    example = load_example("pyarrow")
    return poscount.diagnose(reference(), example.trap, positives=example.positives)


def test_diagnose_prints_the_findings(poscount_, model, diagnosis):
    outcome = poscount_("diagnose", model, TRAP, "--positives", POSITIVES)
    assert outcome.status == 0
    assert outcome.out == f"{diagnosis}\n"


def test_diagnose_gives_json_and_a_page(poscount_, model, tmp_path, diagnosis):
    pytest.importorskip("matplotlib")
    page = tmp_path / "report.html"
    outcome = poscount_(
        "diagnose",
        model,
        TRAP,
        "--positives",
        POSITIVES,
        "--format",
        "json",
        "-o",
        page,
    )
    assert outcome.results() == diagnosis.to_dict()
    assert page.read_text(encoding="utf-8") == diagnosis.to_html()


def test_diagnose_with_a_reference(poscount_, model):
    content = poscount_(
        "diagnose",
        model,
        TRAP,
        "--reference",
        TRAP,
        "--format",
        "json",
    ).results()
    assert content["comparison"]["reading"] == "clean"
    assert content["comparison"]["difference"] == 0


def test_diagnose_refuses_in_one_sentence(refused, model, tmp_path):
    (tmp_path / "a.counts").write_bytes(b"x")
    assert "not only at counts" in refused("diagnose", model, tmp_path / "a.counts")
    assert "no such file" in refused("diagnose", model, tmp_path / "a.csv")
    sentence = refused("diagnose", model, TRAP, "--positives", TRAP)
    assert "8070 positives, but the model was fitted on 400" in sentence
    sentence = refused("diagnose", model, TRAP, "-o", tmp_path / "no" / "report.html")
    assert "no such directory" in sentence


@pytest.mark.skipif(sys.platform == "win32", reason="signals as Linux and macOS have them")
def test_a_signal_that_something_swallows_still_stops_the_command():
    @stopped_by_signals()
    def command():
        with contextlib.suppress(BaseException):
            signal.raise_signal(signal.SIGTERM)
        raise SystemExit(0)  # as the command line ends

    with pytest.raises(StoppedError, match="SIGTERM"):
        command()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_standard_streams_are_no_error(closed, tmp_path):
    (tmp_path / "p.csv").write_text("a,b\n" + "".join(f"{i},{i * i % 7}\n" for i in range(40)))
    command = f'"$0" -m poscount fit p.csv --method pat -o m.poscount {closed}'
    ended = subprocess.run(
        ["sh", "-c", command, sys.executable], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr
    poscount.load(tmp_path / "m.poscount")
