"""The API of `poscount serve`: what it answers, and that the library would answer the same."""

import contextlib
import csv
import gzip
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import poscount
from poscount import RCQ, registry
from poscount.app.fitting import MOST_REFERENCE_ROWS
from poscount.cli import main
from poscount.example import example_path, load_example
from poscount.files.sampling import RowSample

pytest.importorskip("fastapi")

from poscount.results.user_knowledge import knowledge_in_words
from poscount.web.tasks import AVAILABLE_METHODS
from web_server import TOKEN, client

POSITIVES = example_path("positives.csv").read_bytes()
TRAP = example_path("trap.csv.gz").read_bytes()


@pytest.fixture
def example(visit):
    visit.example()
    return visit


def csv_of(columns):
    lines = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    return ("\n".join(lines) + "\n").encode()


def parquet_of(columns):
    buffer = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def numbers(rng, n):
    return {"a": rng.normal(size=n), "b": rng.normal(size=n)}


# What the server says of itself


def test_the_page_and_its_parts_are_there(web):
    page = web.http.get("/")
    assert page.headers["content-type"].startswith("text/html")
    parts = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert "/static/app.js" in parts
    for part in parts:
        assert web.http.get(part).status_code == 200, part


def test_info_says_the_version_and_the_limits(web):
    info = web.http.get("/api/info").json()
    assert info["version"] == poscount.__version__
    assert info["limits"]["rows"] == 5_000_000


def test_the_methods_are_those_of_the_registry_the_default_first(web):
    assert AVAILABLE_METHODS[0] == registry.DEFAULT_METHOD
    assert set(AVAILABLE_METHODS) < set(registry.METHODS)
    page = web.http.get("/").text
    menu = page[page.index('id="method"') : page.index("</select>", page.index('id="method"'))]
    assert re.findall('value="([a-z0-9]+)"', menu) == AVAILABLE_METHODS


def test_the_description_of_the_api_names_every_endpoint(web):
    paths = web.http.get("/openapi.json").json()["paths"]
    assert "multipart/form-data" in json.dumps(paths["/api/sessions/{session}/files"])
    assert {"get", "delete"} == set(paths["/api/sessions/{session}/estimates/{estimate}"])


# Files and columns


def test_columns_are_matched_by_the_rules_of_the_command_line(visit):
    rng = np.random.default_rng(0)
    positives = {
        "row_id": range(30),
        **numbers(rng, 30),
        "only_here": rng.normal(size=30),
        "site": ["x"] * 30,
    }
    sample = {
        "night": ["mon", "tue"] * 20,
        "b": rng.normal(size=40),
        "a": rng.normal(size=40),
        "row_id": range(40),
        "site": ["y"] * 40,
    }
    visit.send("positives", "p.csv", csv_of(positives))
    told = visit.send("unlabeled", "u.csv", csv_of(sample)).json()
    assert {column["name"]: column["why_not"] for column in told["columns"]} == {
        "row_id": "looks like an identifier",
        "a": None,
        "b": None,
        "only_here": "is missing in u.csv",
        "site": None,
        "night": "is missing in p.csv",
    }
    assert [column["name"] for column in told["columns"] if column["use"]] == ["a", "b", "site"]
    groups = {column["name"]: column["groupings"] for column in told["columns"]}
    assert groups["night"] == [{"by": "night", "period": None, "groups": 2}]
    assert groups["only_here"] == []
    rows = {file["name"]: file["rows"] for file in told["files"]}
    assert rows == {"p.csv": 30, "u.csv": 40}


def test_numbers_written_as_text_are_read_and_that_is_said(visit):
    positives = b"a;b\n" + b"0,5;1\n1,5;2\n" * 20
    told = visit.send("positives", "p.csv", positives).json()
    assert told["files"][0]["reading"] == "Read with decimal commas."
    assert [column["kind"] for column in told["columns"]] == ["number", "number"]
    # What the user says is not guessed.
    (broken, fine) = visit.send("positives", "q.csv", positives, decimal=".").json()["columns"]
    assert (broken["usable"], fine["usable"]) == (False, True)
    assert broken["problem"] == (
        "q.csv: column 'a', row 1: '0,5' is not a number unless the comma is the decimal mark. "
        "Change the setting Decimal mark to “comma: 0,5”."
    )


def test_all_files_of_a_session_are_read_alike(visit):
    rng = np.random.default_rng(0)
    german = csv_of({"a": rng.normal(size=40).round(2), "b": range(40)})
    german = german.replace(b",", b";").replace(b".", b",")
    visit.send("positives", "p.csv", german)
    # "1,234" alone may be a thousand; here it is not.
    sample = b"a;b\n" + b"1,234;5\n2,345;6\n" * 20
    told = visit.send("unlabeled", "u.csv", sample).json()
    (a, _) = told["columns"]
    assert (a["kind"], a["problem"]) == ("number", None)
    quantiles = told["files"][1]["sketches"]["a"]["quantiles"]
    assert (quantiles[0], quantiles[-1]) == (1.234, 2.345)


def test_a_table_is_taken_apart_by_its_label(visit, run_recipes):
    rng = np.random.default_rng(1)
    known, others = numbers(rng, 60), numbers(rng, 80)
    others = {name: np.append(values[:20], values[20:] + 9) for name, values in others.items()}
    table = {name: np.append(known[name], others[name]) for name in known}
    table["seen"] = ["yes"] * 60 + [""] * 20 + ["no"] * 30 + [""] * 30
    told = visit.send("table", "register.csv", csv_of(table)).json()
    values = told["files"][0]["sketches"]["seen"]["values"]
    assert values == [["yes", 60], ["no", 30], [None, 50]]
    wanted = {"label": "seen", "positive": ["yes"], "features": list(known)}
    parts = poscount.split(pa.table(table), label="seen", positive="yes")
    expected = RCQ(random_state=0).fit(parts.positives, unlabeled=parts.unlabeled)
    answer = visit.answer(**wanted)
    assert answer["results"][0]["prevalence"] == float(expected.quantify(parts.unlabeled))
    assert "60 labelled positives and 80 unlabeled rows" in answer["methods_paragraph"]
    run_recipes(answer, {"register.csv": csv_of(table)})
    with_negatives = visit.answer(**wanted, negative=["no"])
    assert with_negatives["results"][0]["n_unlabeled"] == 50
    run_recipes(with_negatives, {"register.csv": csv_of(table)})
    estimate = visit.start(**wanted)
    visit.wait(estimate)
    # Rows to label are some of those that are counted.
    rows = visit.follow(estimate, "audit", n=10)["result"]["rows"]
    left = {round(value, 6) for value in parts.unlabeled["a"].to_pylist()}
    assert {round(row[1], 6) for row in rows} <= left
    assert visit.follow(estimate, "diagnosis")["result"]["scores"]["rows"] == 80
    refused = visit.http.post(f"{visit.base}/estimates", json={})
    assert (refused.status_code, refused.json()["field"]) == (422, "label")
    refused = visit.http.post(f"{visit.base}/estimates", json={"label": "nope"})
    assert "no column 'nope'" in refused.json()["message"]


def test_known_negatives_and_known_positives_in_the_sample(visit, run_recipes):
    rng = np.random.default_rng(2)
    known, negatives = numbers(rng, 60), {k: v + 9 for k, v in numbers(rng, 40).items()}
    sample = {name: np.append(known[name][:10], negatives[name] + 0.1) for name in known}
    files = {"p.csv": csv_of(known), "u.csv": csv_of(sample), "n.csv": csv_of(negatives)}
    for name, role in zip(files, ("positives", "unlabeled", "negatives"), strict=True):
        visit.send(role, name, files[name])
    answer = visit.answer()
    assert "positives-in-sample" in {warning["code"] for warning in answer["warnings"]}
    assert "learns from labelled positives and known negatives" in answer["methods_paragraph"]
    run_recipes(answer, files)
    without = visit.answer(drop_known=True)
    assert without["results"][0]["n_unlabeled"] == 40
    run_recipes(without, files)


def test_files_are_swapped_and_renamed_columns_matched(visit):
    rng = np.random.default_rng(3)
    visit.send("unlabeled", "p.csv", csv_of(numbers(rng, 60)))
    other = csv_of(numbers(rng, 90)).replace(b"a,b", b"A ,b", 1)
    visit.send("positives", "u.csv", other)
    told = visit.http.post(f"{visit.base}/swap").json()
    assert {file["name"]: file["role"] for file in told["files"]} == {
        "p.csv": "positives",
        "u.csv": "unlabeled",
    }
    (fix,) = told["columns"][0]["fixes"]
    assert (fix["setting"], fix["role"]) == ("rename", "unlabeled")
    (file,) = (file["id"] for file in told["files"] if file["role"] == "unlabeled")
    path = f"{visit.base}/files/{file}"
    told = visit.http.patch(path, json={fix["setting"]: fix["value"]}).json()
    assert [column["use"] for column in told["columns"]] == [True, True]
    assert visit.answer()["results"][0]["n_unlabeled"] == 90


def test_quantiles_and_readings_are_those_of_python(example):
    data = load_example("pyarrow")
    p = RCQ(random_state=0).fit(data.positives, unlabeled=data.trap).quantify(data.trap)
    answer = example.answer()
    assert answer["quantiles"] == p.distribution.quantiles.tolist()
    assert answer["what_if"] == p.what_if().to_dict()["readings"]


def test_a_new_file_of_positives_replaces_the_old_and_a_removed_file_is_gone(web, visit):
    kept = web.files()
    visit.send("positives", "old.csv", POSITIVES)
    told = visit.send("positives", "new.csv", POSITIVES).json()
    assert [file["name"] for file in told["files"]] == ["new.csv"]
    (file,) = told["files"]
    assert len(web.files()) == len(kept) + 3  # with what is in it and in its columns
    assert visit.http.delete(f"{visit.base}/files/{file['id']}").json()["files"] == []
    assert web.files() == kept
    assert visit.http.delete(f"{visit.base}/files/{file['id']}").status_code == 404


def test_files_of_one_name_are_told_apart(visit):
    for _ in range(2):
        told = visit.send("unlabeled", "trap.csv.gz", TRAP).json()
    assert [file["name"] for file in told["files"]] == ["trap.csv.gz", "trap (2).csv.gz"]


# Answers


def test_the_example_says_what_python_says_with_the_truth_beside_it(example):
    data = load_example("pyarrow")
    model = RCQ(random_state=0).fit(data.positives, unlabeled=data.trap)
    expected = model.quantify_groups(data.trap, "night")
    answer = example.answer(by=["night"])
    assert {entry["label"]: entry["prevalence"] for entry in answer["results"]} == {
        night: float(p) for (night,), p in expected.items()
    }
    for entry, p, night in zip(
        answer["results"], expected.values(), data.truth.to_pylist(), strict=True
    ):
        assert entry["interval"] == {"low": p.interval.low, "high": p.interval.high, "level": 0.95}
        assert entry["truth"] == night["positives"] / night["rows"]
    assert answer["n_reference"] == 5000
    assert (
        "400 labelled positives and 8,070 unlabeled rows in 9 groups"
        in (answer["methods_paragraph"])
    )
    assert (
        "which learns from labelled positives and unlabeled rows: " in answer["methods_paragraph"]
    )


def test_csv_gz_and_parquet_and_several_files_give_one_answer(visit):
    data = load_example("pyarrow")
    halves = data.trap.slice(0, 4000), data.trap.slice(4000)
    visit.send("positives", "p.parquet", parquet_of(data.positives.to_pydict()))
    visit.send("unlabeled", "u.parquet", parquet_of(halves[0].to_pydict()))
    visit.send("unlabeled", "u.csv.gz", gzip.compress(csv_of(halves[1].to_pydict())))
    expected = RCQ(random_state=0).fit(data.positives, unlabeled=data.trap).quantify(data.trap)
    (together,) = visit.answer()["results"]
    assert together["prevalence"] == float(expected)
    assert together["n_unlabeled"] == 8070
    separate = visit.answer(by_file=True)["results"]
    assert [entry["group"] for entry in separate] == [{"file": "u.parquet"}, {"file": "u.csv.gz"}]
    assert [entry["n_unlabeled"] for entry in separate] == [4000, 4070]


QUICK = ("rcq", "pat", "dedpul", "minimum")


@pytest.mark.parametrize(
    "method",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in AVAILABLE_METHODS
    ],
)
def test_every_method_on_offer_answers_as_in_python(visit, method):
    rng = np.random.default_rng(3)
    positives = numbers(rng, 60)
    sample = {name: np.append(values, values + 50) for name, values in numbers(rng, 60).items()}
    visit.send("positives", "p.csv", csv_of(positives))
    visit.send("unlabeled", "u.csv", csv_of(sample))
    learned = {"unlabeled": pa.table(sample)} if method == "rcq" else {}
    model = registry.method(method)(random_state=7).fit(pa.table(positives), **learned)
    answer = visit.answer(method=method, random_state=7)
    (entry,) = answer["results"]
    assert entry["prevalence"] == float(model.quantify(pa.table(sample)))
    assert ("positives alone" in answer["methods_paragraph"]) == (method != "rcq")
    assert entry["method"] == type(registry.method(method)()).__name__


def test_settings_reach_the_method(example):
    answer = example.answer(
        method="tice",
        bootstrap=5,
        confidence=0.8,
        random_state=3,
        features=["wingbeat_hz", "peak_mv"],
    )
    (entry,) = answer["results"]
    assert entry["interval"]["level"] == 0.8
    assert answer["seed"] == 3
    assert answer["features"] == ["wingbeat_hz", "peak_mv"]


def test_what_the_user_knows_is_said_wherever_the_answer_goes(example):
    estimate = example.start(recognisable=True)
    answer = example.wait(estimate)["result"]
    (sentence,) = knowledge_in_words({"recognisable": True})
    assert answer["recognisable"] is True
    assert sentence in answer["methods_paragraph"]
    assert "--recognisable yes" in answer["command"]
    assert "RCQ(recognisable=True, random_state=0)" in answer["python"]
    rows = csv.DictReader(io.StringIO(example.download(estimate, "result.csv").decode()))
    assert [row["recognisable"] for row in rows] == ["True"]
    unknown = example.answer()
    assert "recognisable" not in json.dumps(unknown)
    assert "It was said" not in unknown["methods_paragraph"]


def test_warnings_are_said_once_with_all_their_places(visit):
    rng = np.random.default_rng(0)
    visit.send("positives", "p.csv", csv_of(numbers(rng, 80)))
    sample = numbers(rng, 300)
    first = next(iter(sample))
    # Half of one site and a fifth of the other have no value in a column.
    gone = {"x": 6, "y": 5}
    sites = ["x", "y", "y"] * 100
    sample[first] = [
        "" if i % gone[site] == 0 else value
        for i, (site, value) in enumerate(zip(sites, sample[first], strict=True))
    ]
    sample["site"] = sites
    visit.send("unlabeled", "u.csv", csv_of(sample))
    answer = visit.answer(by=["site"])
    gaps = next(kind for kind in answer["warnings"] if kind["code"] == "missing-differs")
    assert gaps["where"] == ["all rows", "x", "y"]
    # Of all cases, the worst one is told.
    entries = [*answer["totals"], *answer["results"]]
    all_of_them = [c for e in entries for c in e["warnings"] if c["code"] == "missing-differs"]
    better, *_, worse = sorted(all_of_them, key=lambda caution: caution["value"])
    assert better["sentence"] != worse["sentence"]
    assert gaps["sentence"].lower() == worse["sentence"].lower()


def test_downloads_are_the_answer(example, tmp_path):
    estimate = example.start(by=["night"])
    told = example.wait(estimate)
    rows = list(csv.DictReader(io.StringIO(example.download(estimate, "result.csv").decode())))
    assert [float(row["prevalence"]) for row in rows] == [
        e["prevalence"] for e in told["result"]["totals"] + told["result"]["results"]
    ]
    assert json.loads(example.download(estimate, "result.json")) == told["result"]
    path = tmp_path / "aedes.poscount"
    path.write_bytes(example.download(estimate, "model.poscount"))
    trap = load_example("pyarrow").trap
    assert float(poscount.load(path).quantify(trap)) == example.answer()["results"][0]["prevalence"]


RECIPES = {
    "groups": {"by": ["night"]},
    "transductive": {"method": "tice", "bootstrap": 3, "random_state": 5},
    "chosen": {
        "method": "pat",
        "features": ["peak_mv", "wingbeat_hz"],
        "confidence": 0.9,
    },
    "what the user knows": {"recognisable": False},
    "what the user knows, transductive": {"method": "trcq", "recognisable": True},
    "files": {"by_file": True},
    "files and groups": {"by_file": True, "by": ["night"]},
}


@pytest.fixture(scope="module")
def two_files(web):
    visit = web.visit()
    data = load_example("pyarrow")
    files = {
        "my positives.csv": POSITIVES,
        "-trap.csv": csv_of(data.trap.slice(0, 3000).to_pydict())
        .replace(b",", b";")
        .replace(b".", b","),
        "trap 2.csv": csv_of(data.trap.slice(3000).to_pydict())
        .replace(b",", b";")
        .replace(b".", b","),
    }
    files["my positives.csv"] = POSITIVES.replace(b",", b";").replace(b".", b",")
    for name, content in files.items():
        role = "positives" if "positives" in name else "unlabeled"
        answer = visit.send(role, name, content, decimal=",")
        assert answer.status_code == 201, answer.text
    return visit, files


@pytest.mark.parametrize("wanted", RECIPES.values(), ids=list(RECIPES))
def test_the_recipes_run_and_say_the_same(two_files, wanted, run_recipes, monkeypatch):
    # Replicates of so little work are not worth processes of their own.
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    visit, files = two_files
    run_recipes(visit.answer(**wanted), files)


def test_the_recipes_draw_the_same_of_many_rows(visit, run_recipes):
    rng = np.random.default_rng(0)
    sample = numbers(rng, MOST_REFERENCE_ROWS + 3000)
    sample["a"][:12_000] += 2
    files = {"p.csv": csv_of(numbers(rng, 100)), "u.csv": csv_of(sample)}
    visit.send("positives", "p.csv", files["p.csv"])
    visit.send("unlabeled", "u.csv", files["u.csv"])
    answer = visit.answer()
    assert "RowSample(20000, seed=0)" in answer["python"]
    run_recipes(answer, files)


@pytest.fixture
def run_recipes(tmp_path, monkeypatch, capsys):
    """Runs the commands and the Python of an answer, which must give the same."""
    monkeypatch.chdir(tmp_path)

    def run(answer, files):
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
        *before, last = [shlex.split(line) for line in answer["command"].splitlines()]
        for command in [*before, [*last, "--format", "json"]]:
            monkeypatch.setattr(sys, "argv", command)
            with contextlib.suppress(SystemExit):
                main()
        printed = capsys.readouterr().out
        shown = json.loads(printed[printed.index("[\n") :])
        assert [entry["prevalence"] for entry in shown] == [
            e["prevalence"] for e in answer["totals"] + answer["results"]
        ]
        exec(compile(answer["python"], "recipe", "exec"), {})
        by_python = re.findall(r"Prevalence\((\S+),", capsys.readouterr().out)
        assert by_python == [f"{entry['prevalence']:.3f}" for entry in answer["results"]]

    return run


def test_a_name_with_a_comma_has_no_command_but_python(visit):
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=50), "b": rng.normal(size=50)}
    odd = csv_of(table).replace(b"a,b", b'"a, b",b', 1)
    visit.send("positives", "p.csv", odd)
    visit.send("unlabeled", "u.csv", odd)
    answer = visit.answer(features=["a, b"])
    assert answer["command"].startswith("#")
    assert "'a, b'" in answer["python"]


# Errors say where they belong


@pytest.mark.parametrize(
    ("wanted", "field", "words"),
    [
        ({"method": "nope"}, "method", "no method 'nope'"),
        ({"method": "km1"}, "method", "choose from rcq"),
        ({"label": "night"}, None, "No file here is used by a column"),
        ({"features": ["nope"]}, "features", "positives.csv has no column 'nope'"),
        ({"features": []}, "features", "at least 1 item"),
        ({"by": ["nope"]}, "by", "no column 'nope'|a column 'nope'"),
        ({"by": ["wingbeat_hz"]}, "by", "more than 1,000 groups"),
        ({"confidence": 2}, "confidence", "less than 1"),
        ({"recognisable": "perhaps"}, "recognisable", "valid boolean"),
        ({"bootstrap": 10**9}, "bootstrap", "1000"),
        ({"random_state": -1}, "random_state", "greater"),
        ({"typo": 1}, "typo", "not permitted"),
    ],
)
def test_a_bad_setting_is_refused_beside_its_field(example, wanted, field, words):
    answer = example.http.post(f"{example.base}/estimates", json=wanted)
    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert re.search(words, answer.json()["message"])


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"bootstrap": 5}, "bootstrap"),
        ({"method": "pat", "recognisable": True}, "recognisable"),
    ],
)
def test_a_setting_that_the_method_has_no_use_for_is_said_in_the_words_of_the_page(
    example, wanted, field
):
    told = example.wait(example.start(**wanted))
    assert told["state"] == "failed"
    assert told["error"]["field"] == field
    assert "--" not in told["error"]["message"]


@pytest.mark.parametrize(("name", "by_file"), [("low", False), ("file", True)])
def test_a_group_cannot_have_the_name_of_a_column_of_the_result(visit, name, by_file):
    rng = np.random.default_rng(0)
    visit.send("positives", "p.csv", csv_of(numbers(rng, 30)))
    visit.send("unlabeled", "u.csv", csv_of({**numbers(rng, 30), name: ["x", "y"] * 15}))
    answer = visit.http.post(f"{visit.base}/estimates", json={"by": [name], "by_file": by_file})
    assert (answer.status_code, answer.json()["field"]) == (422, "by")
    assert answer.json()["message"].startswith(f"{name}: the result has a column of this name")


def test_an_error_in_the_data_names_the_file_as_the_client_does(visit):
    rng = np.random.default_rng(0)
    visit.send("positives", "p.csv", csv_of(numbers(rng, 30)))
    sample = numbers(rng, 30)
    sample["b"] = ["oops" if i == 12 else value for i, value in enumerate(sample["b"])]
    visit.send("unlabeled", "my trap.csv", csv_of(sample))
    sentence = (
        "my trap.csv: column 'b', row 13: 'oops' is not a number; correct it or remove the row."
    )
    # It is said as soon as the file is there, and an estimate is refused at once.
    assert [column["problem"] for column in visit.see().json()["columns"]] == [None, sentence]
    answer = visit.http.post(f"{visit.base}/estimates", json={})
    assert answer.status_code == 422
    assert answer.json() == {
        "message": sentence,
        "field": "features",
        "choices": [],
        "fixes": [],
        "top": [],
    }
    assert visit.answer(features=["a"])["results"]


def test_a_running_number_is_not_used_unless_it_is_asked_for(visit):
    rng = np.random.default_rng(0)
    table = {"row_id": range(30), **numbers(rng, 30)}
    visit.send("positives", "p.csv", csv_of(table))
    visit.send("unlabeled", "u.csv", csv_of(table))
    answer = visit.answer()
    assert answer["features"] == ["a", "b"]
    assert answer["left_out"] == {"row_id": "looks like an identifier"}
    assert visit.answer(features=["row_id", "a"])["features"] == ["row_id", "a"]


def test_an_estimate_needs_both_files(visit):
    refusals = []
    for role in ("positives", "unlabeled"):
        refusals.append(visit.http.post(f"{visit.base}/estimates", json={}).json())
        visit.send(role, "rows.csv", POSITIVES)
    assert [refusal["field"] for refusal in refusals] == ["positives", "unlabeled"]
    assert visit.answer()["results"]


def test_settings_of_unlabeled_files_must_agree(visit):
    plain, german = (POSITIVES, POSITIVES.replace(b",", b";").replace(b".", b","))
    visit.send("positives", "p.csv", POSITIVES)
    visit.send("unlabeled", "u.csv", plain)
    # Parquet has no delimiter.
    parquet = parquet_of(load_example("pyarrow").positives.to_pydict())
    visit.send("unlabeled", "u.parquet", parquet, delimiter=";")
    assert visit.answer()["results"][0]["n_unlabeled"] == 800
    # What text in cells means is the same in all files; that a later one differs is said at once.
    refusal = visit.send("unlabeled", "v.csv", german)
    assert refusal.status_code == 422
    assert "has decimals marked by commas, but in" in refusal.json()["message"]
    visit.send("unlabeled", "w.csv", b"Notes\n\n" + plain)
    answer = visit.http.post(f"{visit.base}/estimates", json={})
    assert (answer.status_code, answer.json()["field"]) == (422, "header_row")


def test_the_commands_of_the_documentation_run(web, tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "web-api.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    begin, end = (block for block in blocks if "curl" in block)
    ask = 'curl -s -H "$auth" $address/sessions/$session/estimates/$id'
    wait = f"""until {ask} | grep -q '"state":"done"'; do sleep 0.1; done"""
    (tmp_path / "positives.csv").write_bytes(POSITIVES)
    (tmp_path / "trap.csv.gz").write_bytes(TRAP)
    script = f"{begin}\n{wait}\n{end}".replace("http://127.0.0.1:8000", web.address)
    script = script.replace("TOKEN", TOKEN)
    environment = {**os.environ, "no_proxy": "*"}
    subprocess.run(["bash", "-euc", script], cwd=tmp_path, env=environment, check=True, timeout=300)
    lines = (tmp_path / "poscount-result.csv").read_text().splitlines()
    assert len(lines) == 1 + 1 + 9
    assert lines[0].startswith("night,prevalence,low,high")


# One server, many people


def test_sessions_do_not_mix(web, example):
    other = web.visit()
    estimate = example.start()
    assert example.wait(estimate)["state"] == "done"
    assert other.see().json()["files"] == []
    (first, *_) = example.see().json()["files"]
    strangers = [
        ("GET", f"{other.base}/estimates/{estimate}"),
        ("GET", f"{other.base}/estimates/{estimate}/result.csv"),
        ("DELETE", f"{other.base}/estimates/{estimate}"),
        ("DELETE", f"{other.base}/files/{first['id']}"),
    ]
    for method, path in strangers:
        assert other.http.request(method, path).status_code == 404
    assert example.wait(estimate)["result"]
    names = {visit.session for visit in (example, other)}
    assert all(len(name) >= 32 for name in names)


def upload_and_answer(web, k, repeats, failures):
    """One client with data of its own, whose answer the library knows too."""
    try:
        rng = np.random.default_rng(k)
        positives, sample = numbers(rng, 100), numbers(rng, 1000)
        sample["a"][: 50 * k] += 100
        head, _, body = csv_of(sample).partition(b"\n")
        visit = web.visit()
        visit.send("positives", "p.csv", csv_of(positives))
        sent = visit.send("unlabeled", "u.csv", head + b"\n" + body * repeats)
        assert sent.status_code == 201, sent.text
        (entry,) = visit.answer()["results"]
        many = pa.table({name: np.tile(values, repeats) for name, values in sample.items()})
        drawn = RowSample(MOST_REFERENCE_ROWS, seed=0)
        drawn.add(many.to_batches()[0])
        model = RCQ(random_state=0).fit(pa.table(positives), unlabeled=drawn.rows().table)
        expected = model.quantify(many)
        assert entry["prevalence"] == float(expected)
        assert entry["interval"]["high"] == expected.interval.high
        assert entry["n_unlabeled"] == 1000 * repeats
    except BaseException as error:
        failures.append(error)


@pytest.mark.parametrize(
    ("people", "repeats"),
    [
        pytest.param(6, 12, id="six people"),
        pytest.param(20, 250, id="twenty people", marks=pytest.mark.slow),
    ],
)
def test_many_people_at_once_all_get_their_own_answer(web, people, repeats):
    # About 0.5 MB each, and about 10 MB each.
    failures = []
    threads = [
        threading.Thread(target=upload_and_answer, args=(web, k, repeats, failures))
        for k in range(people)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# The command


def test_the_command_answers_soon_and_leaves_nothing_behind(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "poscount", "serve", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        line = process.stdout.readline()
        address, token = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", line).groups()
        http = client(address, token)
        assert http.get("/").status_code == 200
        # Time of its own, whatever else runs here.
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        assert seconds < 2
        (folder,) = tmp_path.glob("poscount-*")
        assert folder.stat().st_mode & 0o777 == 0o700
        session = http.post("/api/sessions").json()["session"]
        http.post(f"/api/sessions/{session}/example")
        assert [path for path in folder.rglob("*") if path.is_file()]
        http.close()
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
    assert not list(tmp_path.glob("poscount-*"))


def test_a_port_that_is_taken_is_said_in_a_sentence(web, monkeypatch, capsys):
    port = web.address.rpartition(":")[2]
    monkeypatch.setattr(sys, "argv", ["poscount", "serve", "--port", port])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert f"port {port}" in capsys.readouterr().err


def test_another_sample_is_compared_with(example):
    estimate = example.start()
    assert example.wait(estimate)["state"] == "done"
    path = f"{example.base}/estimates/{estimate}"
    refused = example.http.post(f"{path}/follow-ups", json={"kind": "comparison"})
    assert (refused.status_code, refused.json()["field"]) == (422, "reference")
    lines = gzip.decompress(TRAP).splitlines(keepends=True)
    early = b"".join([lines[0], *(line for line in lines[1:] if line < b"2026-01-17")])
    told = example.send("reference", "early.csv", early).json()
    # It is no file of the answer, which stays.
    assert (told["estimate"], told["example"]) == (estimate, True)
    assert example.http.get(f"{example.base}/reading").json() == []
    info = example.follow(estimate, "comparison")
    data = load_example("pyarrow")
    model = RCQ(random_state=0).fit(data.positives, unlabeled=data.trap)
    nights = np.array(data.trap["night"].to_pylist()).astype(str)
    before = data.trap.filter(pa.array(nights < "2026-01-17"))
    expected = poscount.compare_samples(model, model.count(data.trap), model.count(before))
    assert info["result"]["difference"] == pytest.approx(expected.difference)
    assert info["result"]["interval"]["low"] == pytest.approx(expected.interval.low)
    assert [sample["name"] for sample in info["result"]["samples"]] == ["trap.csv.gz", "early.csv"]


def test_cancelling_stops_the_work(web, example):
    estimate = example.start(method="extice", bootstrap=1000, by=["night"])
    example.wait(estimate, until=("running",))
    busy = example.http.post(f"{example.base}/estimates", json={})
    assert busy.status_code == 409
    began = time.monotonic()
    assert example.http.delete(f"{example.base}/estimates/{estimate}").status_code == 204
    assert time.monotonic() - began < 10
    assert example.http.get(f"{example.base}/estimates/{estimate}").status_code == 404
    assert web.workers() == []
    kept = web.service.sessions.find(example.session).directory
    # The two files of the example, what is in each, and what can be done with their columns.
    assert len(list(kept.iterdir())) == 5
    assert example.answer()["results"]
