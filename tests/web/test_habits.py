"""Files as people have them, uploaded as the page does it: every extension, every setting.

The answer must be exactly that of the same table written plainly, and a sentence must name the
setting that reads the file; with that setting, the answer must follow. `habits` has many more, of
the command line, too.
"""

import gzip
import json
import shlex
import sys
import zipfile
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import habits
from poscount import PAT, RCQ
from poscount.cli import main
from workbooks import ods, xls, xlsx

pytest.importorskip("fastapi")

N_POSITIVES, N_UNLABELED = 120, 240
SIZES = {"positives": N_POSITIVES, "unlabeled": N_UNLABELED}


def plain(role):
    """A table of numbers; a third of the unlabeled rows are like the positives."""
    rng = np.random.default_rng(len(role))
    n = SIZES[role]
    positive = np.ones(n, bool) if role == "positives" else np.arange(n) % 3 == 0
    away = np.where(positive, 0, 6)[:, None]
    values = rng.normal([30, 1500, 5], [3, 90, 1], (n, 3)) + away * [3, 90, 1]
    weight, length, age = values.round(2).T
    return {"weight": list(weight), "length": list(length.round()), "age": list(age)}


def text(columns, delimiter=",", write=str):
    rows = zip(*columns.values(), strict=True)
    lines = [delimiter.join(columns), *(delimiter.join(map(write, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def rows(columns):
    return [list(columns), *map(list, zip(*columns.values(), strict=True))]


def changed(columns, **functions):
    """Apply a function to every cell of a column, with the number of its row."""
    return columns | {
        name: [function(i, value) for i, value in enumerate(columns[name])]
        for name, function in functions.items()
    }


def zipped(content):
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("table.csv", content)
    return buffer.getvalue()


def json_lines(columns):
    names, *body = rows(columns)
    return "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in body).encode()


# The extension of the files, and how a table is written into one.
READ_AT_ONCE = {
    "csv": (".csv", lambda t: text(t).encode()),
    "tsv": (".tsv", lambda t: text(t, "\t").encode()),
    "semicolons": (".csv", lambda t: text(t, ";").encode()),
    "gz": (".csv.gz", lambda t: gzip.compress(text(t).encode())),
    "zst": (".csv.zst", lambda t: pa.compress(text(t).encode(), "zstd", asbytes=True)),
    "zip": (".csv.zip", lambda t: zipped(text(t))),
    "zip of any name": (".zip", lambda t: zipped(text(t))),
    "JSON lines": (".jsonl", json_lines),
    "xlsx": (".xlsx", lambda t: xlsx({"Sheet1": rows(t)})),
    "xlsx with an empty sheet": (".xlsx", lambda t: xlsx({"Sheet1": rows(t), "Sheet2": []})),
    "xls": (".xls", lambda t: xls({"Sheet1": rows(t)})),
    "ods": (".ods", lambda t: ods({"Sheet1": rows(t)})),
    "UTF-16": (".csv", lambda t: text(t).encode("utf-16")),
}


@pytest.fixture
def again(web):
    """Somebody else, who has read what the page said."""
    again = web.visit()
    yield again
    again.http.delete(again.base)


def as_the_page(visit, write, suffix=".csv", **settings):
    """Send both files; the refusal of one of them, or how the columns match."""
    for role in SIZES:
        answer = visit.send(role, role + suffix, write(plain(role)), **settings)
        if answer.status_code != 201:
            return answer.json()
    return {column["name"]: column for column in answer.json()["columns"]}


def estimate(visit, columns):
    """Estimate from what the page would use by default."""
    features = [name for name, column in columns.items() if column["use"]]
    return visit.answer(features=features)["results"][0]


def by_python(change=lambda columns: columns):
    """The answer of Python for the same tables, and its interval."""
    positives, sample = (pa.table(change(plain(role))) for role in SIZES)
    prevalence = RCQ(random_state=0).fit(positives, unlabeled=sample).quantify(sample)
    return float(prevalence), prevalence.interval.low, prevalence.interval.high


def run_commands(answer, monkeypatch):
    """Do what the report says, in the folder of the files."""
    for line in answer["command"].splitlines():
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 0


def numbers_of(result):
    return result["prevalence"], result["interval"]["low"], result["interval"]["high"]


@pytest.mark.parametrize("habit", READ_AT_ONCE)
def test_a_habit_that_needs_no_setting(visit, habit):
    suffix, write = READ_AT_ONCE[habit]
    columns = as_the_page(visit, write, suffix)
    assert [name for name, column in columns.items() if column["use"]] == list(plain("positives"))
    assert [column["problem"] for column in columns.values() if column["problem"]] == []
    assert numbers_of(estimate(visit, columns)) == by_python()


@pytest.fixture(scope="module")
def tables():
    return habits.clean_tables()


@pytest.mark.parametrize("name", [name for name, tried in habits.HABITS.items() if tried.same])
def test_a_habit_of_the_command_line(visit, again, tables, tmp_path, name):
    """The page guesses or asks the same, and gives the same answer as for the plain table."""
    tried = habits.HABITS[name]
    # Neither guessed nor asked: the user has to know that -999 is no number.
    settings = {} if tried.told or tried.sentence else habits.settings_of(tried)
    problem, columns = habits.on_the_page(visit, tables, tried, **settings)
    if tried.sentence:
        assert habits.what_is_wrong(tried) in problem
        visit.http.delete(visit.base)
        visit = again
        problem, columns = habits.on_the_page(again, tables, tried, **habits.settings_of(tried))
    assert problem is None
    reading = visit.see().json()["files"][0]["reading"]
    told = (tried.told or "").partition(" To change that")[0]
    assert reading == told[:1].upper() + told[1:]
    positives, sample = (pq.read_table(path) for path in habits.write_same(tables, tried, tmp_path))
    features = [column["name"] for column in columns if column["use"]]
    model = PAT(random_state=0).fit(positives.select(features))
    answer = habits.page_answer(visit, columns, tried)
    assert answer[0] == float(model.quantify(sample))


@pytest.mark.parametrize("name", [name for name, tried in habits.HABITS.items() if not tried.same])
def test_a_table_that_only_its_owner_can_mend(visit, tables, name):
    tried = habits.HABITS[name]
    problem, _ = habits.on_the_page(visit, tables, tried)
    assert habits.what_is_wrong(tried) in problem


def test_a_file_without_a_header_is_told_which_setting_reads_it(visit, again):
    def write(columns):
        return text(columns).encode().partition(b"\n")[2]

    refusal = visit.refused("positives", "positives.csv", write(plain("positives")))
    assert refusal["message"] == (
        "positives.csv: the first line holds only numbers, not column names; if the numbers are "
        "names, choose the columns by them. Change the setting First line to “data”."
    )
    (fix,) = refusal["fixes"]
    assert (fix["setting"], fix["value"]) == ("header", "false")
    assert numbers_of(estimate(again, as_the_page(again, write, header="false"))) == by_python()


def test_the_sheets_of_a_workbook_are_offered(visit, tmp_path, monkeypatch, capsys):
    books = {role: rows(plain(role)) for role in SIZES}
    book = xlsx(books)
    refusal = visit.send("positives", "book.xlsx", book)
    assert refusal.status_code == 422
    assert refusal.json() == {
        "message": "book.xlsx: the workbook has several sheets with data: 'positives', "
        "'unlabeled'. Choose the sheet.",
        "field": "positives",
        "choices": ["positives", "unlabeled"],
        "fixes": [],
        "top": [],
    }
    for role in SIZES:
        answer = visit.send(role, "book.xlsx", book, sheet=role)
        assert answer.status_code == 201, answer.text
    told = visit.wait(visit.start())
    answer = told["result"]
    assert numbers_of(answer["results"][0]) == by_python()
    fit = "poscount fit book.xlsx:positives -o model.poscount --random-state 0"
    assert answer["command"].splitlines() == [
        f"{fit} --unlabeled book.xlsx:unlabeled",
        "poscount quantify model.poscount book.xlsx:unlabeled",
    ]
    # The check of the assumptions reads both sheets, too, and the code gives the same.
    assert visit.follow(told["id"], "diagnosis")["state"] == "done"
    (tmp_path / "book.xlsx").write_bytes(book)
    monkeypatch.chdir(tmp_path)
    exec(compile(answer["python"], "recipe", "exec"), {})
    share = f"{answer['results'][0]['prevalence']:.3f}"
    assert f"Prevalence({share}, " in capsys.readouterr().out
    run_commands(answer, monkeypatch)
    assert share in capsys.readouterr().out
    refusal = visit.send("positives", "book.xlsx", book, sheet="nope").json()
    assert refusal["choices"] == ["positives", "unlabeled"]


def test_files_that_end_in_different_ways(visit, again, tmp_path, monkeypatch, capsys):
    table = plain("unlabeled")
    parts = [{name: cells[i::2] for name, cells in table.items()} for i in range(2)]
    files = {
        "p.csv": text(plain("positives")),
        "a.csv": f"{text(parts[0])}Source: us\n",
        "b.csv": text(parts[1]),
    }
    for name, content in files.items():
        role = "positives" if name == "p.csv" else "unlabeled"
        assert visit.send(role, name, content).status_code == 201
        (tmp_path / name).write_text(content)
        footer = {"footer": "1"} if name == "a.csv" else {}
        assert again.send(role, name, content, **footer).status_code == 201
    answer = visit.answer()
    share = answer["results"][0]["prevalence"]
    positives, sample = pa.table(plain("positives")), pa.concat_tables(map(pa.table, parts))
    model = RCQ(random_state=0).fit(positives, unlabeled=sample)
    assert share == float(model.quantify(sample))
    monkeypatch.chdir(tmp_path)
    exec(compile(answer["python"], "recipe", "exec"), {})
    run_commands(answer, monkeypatch)
    printed = capsys.readouterr()
    assert printed.out.count(f"{share:.3f}") == 2
    assert "without the notes or totals at the end of a.csv." in printed.err
    # What somebody has said of one file cannot be said in a command.
    assert again.answer()["command"].endswith("Use Python.")


@pytest.mark.parametrize("sign", ["-", "-999"])
def test_signs_of_missing_values_are_missing(visit, again, sign):
    def gaps(columns, sign=sign):
        return changed(columns, weight=lambda i, x: sign if i % 10 == 7 else x)

    def write(columns):
        return text(gaps(columns)).encode()

    weight = as_the_page(visit, write)["weight"]
    asked = (
        f"positives.csv: column 'weight', row 8: '{sign}' is not a number, but it may mean that "
        f"the value is missing. Write “{sign}” into the setting Signs of missing values."
    )
    assert (weight["missing"], weight["problem"]) == (0, asked if sign == "-" else None)
    columns = as_the_page(again, write, na="-, -999")
    assert columns["weight"]["missing"] == columns["weight"]["missing_unlabeled"] == 0.1
    assert columns["weight"]["problem"] is None
    assert numbers_of(estimate(again, columns)) == by_python(lambda t: gaps(t, None))
