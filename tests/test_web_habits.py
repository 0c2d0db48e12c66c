"""How people write their tables, each way uploaded as the page does it: an answer or a sentence.

The answer must be exactly that of the same table written plainly, and a sentence must name the
setting that reads the file; with that setting, the answer must follow.
"""

import gzip
import json
import zipfile
from io import BytesIO

import numpy as np
import pyarrow as pa
import pytest

from poscount import RCQ
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


def comma(value):
    return str(value).replace(".", ",")


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


def with_first(name, values, columns):
    return {name: values(len(columns["weight"])), **columns}


def thousands(mark):
    return lambda columns: changed(columns, length=lambda i, x: f'"{x:,.0f}"'.replace(",", mark))


def dates(form):
    """Add a column of dates; they are no features."""
    return lambda columns: {
        **columns,
        "day": [
            form.format(y=2026, m=1 + i % 12, d=13 + i % 12) for i in range(len(columns["age"]))
        ],
    }


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
    "byte-order mark": (".csv", lambda t: text(t).encode("utf-8-sig")),
    "UTF-16": (".csv", lambda t: text(t).encode("utf-16")),
    "Windows line ends": (".csv", lambda t: text(t).replace("\n", "\r\n").encode()),
    "1e3": (".csv", lambda t: text(t, write=lambda x: f"{x:.17e}").encode()),
    "blanks behind cells": (".csv", lambda t: text(t, write=lambda x: f"{x}  ").encode()),
    "a leading index": (".csv", lambda t: text(with_first("", range, t)).encode()),
    "the index of pandas": (".csv", lambda t: text(with_first("Unnamed: 0", range, t)).encode()),
    "an id": (
        ".csv",
        lambda t: text(with_first("patient_id", lambda n: [f"P{i}" for i in range(n)], t)).encode(),
    ),
    "running numbers": (".csv", lambda t: text(with_first("nr", range, t)).encode()),
    "notes": (
        ".csv",
        lambda t: text(with_first("note", lambda n: [f"room {i}" for i in range(n)], t)).encode(),
    ),
    "ISO dates": (".csv", lambda t: text(dates("{y}-{m:02}-{d:02}")(t)).encode()),
    "dates with points": (".csv", lambda t: text(dates("{d:02}.{m:02}.{y}")(t)).encode()),
    "dates with slashes": (".csv", lambda t: text(dates("{m:02}/{d:02}/{y}")(t)).encode()),
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
    prevalence = RCQ(random_state=0).fit(positives).quantify(sample)
    return float(prevalence), prevalence.interval.low, prevalence.interval.high


def numbers_of(result):
    return result["prevalence"], result["interval"]["low"], result["interval"]["high"]


@pytest.mark.parametrize("habit", READ_AT_ONCE)
def test_a_habit_that_needs_no_setting(visit, habit):
    suffix, write = READ_AT_ONCE[habit]
    columns = as_the_page(visit, write, suffix)
    assert [name for name, column in columns.items() if column["use"]] == list(plain("positives"))
    assert [column["problem"] for column in columns.values() if column["problem"]] == []
    assert numbers_of(estimate(visit, columns)) == by_python()


# How a table is written, the settings that read it, and what is said of it without them: of a
# column by its name, or of the file.
WITH_A_SETTING = {
    "decimal commas": (
        lambda t: text(t, ";", comma).encode(),
        {"decimal": ","},
        {
            "weight": "positives.csv: column 'weight', row 1: '{cell}' is not a number unless the "
            "comma is the decimal mark. Change the setting Decimal mark to “comma: 0,5”."
        },
        lambda t: comma(t["weight"][0]),
    ),
    "12,000": (
        lambda t: text(thousands(",")(t)).encode(),
        {"thousands": ","},
        {
            "length": "positives.csv: column 'length', row 1: '{cell}' is not a number: the comma "
            "is either a thousands mark (then it is {plain}) or the decimal mark. Change the "
            "setting Thousands mark to “comma: 12,000”, or change the setting Decimal mark to "
            "“comma: 0,5”."
        },
        lambda t: f"{t['length'][0]:,.0f}",
    ),
    "12 000": (
        lambda t: text(thousands(" ")(t)).encode(),
        {"thousands": " "},
        {
            "length": "positives.csv: column 'length', row 1: '{cell}' is not a number: it has "
            "thousands marks. Change the setting Thousands mark to “space: 12 000”."
        },
        lambda t: f"{t['length'][0]:,.0f}".replace(",", " "),
    ),
    "40.25 g": (
        lambda t: text(changed(t, weight=lambda i, x: f"{x} g")).encode(),
        {"units": "weight=g"},
        {
            "weight": "positives.csv: column 'weight', row 1: '{cell}' is not a number: it has the "
            "unit g. Write “weight=g” into the setting Units, one in each line."
        },
        lambda t: f"{t['weight'][0]} g",
    ),
    "cp1252": (
        lambda t: text({"größe" if n == "age" else n: c for n, c in t.items()}).encode("cp1252"),
        {"encoding": "cp1252"},
        "positives.csv: line 1 is not UTF-8 text; spreadsheets on Windows often write cp1252, and "
        "some programs utf-16. Change the setting Encoding to “Windows, Western Europe (cp1252)”.",
        None,
    ),
    "UTF-16 without a mark": (
        lambda t: text(t).encode("utf-16-le"),
        {"encoding": "utf-16-le"},
        "positives.csv: it has zero bytes, which text in UTF-8 has not; it may be UTF-16 without a "
        "byte-order mark. Change the setting Encoding to “UTF-16, little-endian”.",
        None,
    ),
    "no header": (
        lambda t: text(t).encode().partition(b"\n")[2],
        {"header": "false"},
        "positives.csv: the first line holds only numbers, not column names; if the numbers are "
        "names, choose the columns by them. Change the setting First line to “data”.",
        None,
    ),
}


@pytest.mark.parametrize("habit", WITH_A_SETTING)
def test_a_habit_that_needs_a_setting_is_told_which(visit, again, habit):
    write, settings, said, example = WITH_A_SETTING[habit]
    told = as_the_page(visit, write)
    if isinstance(said, str):
        assert {fix["setting"]: fix["value"] for fix in told.pop("fixes")} == settings
        assert told == {"message": said, "field": next(iter(settings)), "choices": []}
    else:
        cell = example(plain("positives"))
        digits = cell.replace(",", "")
        for name, sentence in said.items():
            assert told[name]["problem"] == sentence.format(cell=cell, plain=digits)
            assert not told[name]["usable"]
    columns = as_the_page(again, write, **settings)
    assert [column["problem"] for column in columns.values() if column["problem"]] == []
    assert numbers_of(estimate(again, columns)) == by_python()


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
    }
    for role in SIZES:
        answer = visit.send(role, "book.xlsx", book, sheet=role)
        assert answer.status_code == 201, answer.text
    told = visit.wait(visit.start())
    answer = told["result"]
    assert numbers_of(answer["results"][0]) == by_python()
    assert answer["command"].splitlines() == [
        "poscount fit book.xlsx -o model.poscount --random-state 0 --sheet positives",
        "poscount quantify model.poscount book.xlsx --sheet unlabeled",
    ]
    # The check of the assumptions reads both sheets, too, and the code gives the same.
    assert visit.follow(told["id"], "diagnosis")["state"] == "done"
    (tmp_path / "book.xlsx").write_bytes(book)
    monkeypatch.chdir(tmp_path)
    exec(compile(answer["python"], "recipe", "exec"), {})
    assert f"Prevalence({answer['results'][0]['prevalence']:.3f}, " in capsys.readouterr().out
    refusal = visit.send("positives", "book.xlsx", book, sheet="nope").json()
    assert refusal["choices"] == ["positives", "unlabeled"]


def test_headers_that_are_the_same_are_refused(visit):
    told = as_the_page(visit, lambda t: text(t).replace("length", "weight", 1).encode())
    assert told == {
        "message": "positives.csv: column 'weight': the file has 2 columns of this name; rename "
        "them.",
        "field": "positives",
        "choices": [],
        "fixes": [],
    }


def test_a_header_with_blanks_in_one_file_is_asked_about(visit):
    visit.send("positives", "p.csv", text(plain("positives")).encode())
    blank = text(plain("unlabeled")).replace("weight", "weight ", 1).encode()
    (column, *_) = visit.send("unlabeled", "u.csv", blank).json()["columns"]
    assert column["problem"].startswith("u.csv has no column 'weight'; did you mean 'weight '?")


# Words, and values that are missing

TWO_WORDS = {
    "yes and no": ("yes", "no"),
    "True and False": ("True", "False"),
    "TRUE and FALSE": ("TRUE", "FALSE"),
}


def answers(columns, values):
    """Add a column of two words that are told apart by the class."""
    n = len(columns["age"])
    often = 2 if n == N_POSITIVES else 3
    return {**columns, "smoker": [values[0 if i % often == 0 else 1] for i in range(n)]}


@pytest.mark.parametrize("habit", TWO_WORDS)
def test_two_words_are_a_category(visit, habit):
    columns = as_the_page(visit, lambda t: text(answers(t, TWO_WORDS[habit])).encode())
    assert (columns["smoker"]["kind"], columns["smoker"]["distinct"]) == ("category", 2)
    assert columns["smoker"]["use"]


@pytest.mark.parametrize("habit", TWO_WORDS)
def test_two_words_are_learned_from(visit, habit):
    columns = as_the_page(visit, lambda t: text(answers(t, TWO_WORDS[habit])).encode())
    expected = by_python(lambda t: answers(t, TWO_WORDS[habit]))
    assert numbers_of(estimate(visit, columns)) == expected


def test_zero_and_one_are_numbers(visit):
    columns = as_the_page(visit, lambda t: text(answers(t, (0, 1))).encode())
    assert (columns["smoker"]["kind"], columns["smoker"]["use"]) == ("number", True)
    assert numbers_of(estimate(visit, columns)) == by_python(lambda t: answers(t, (0, 1)))


def gaps(sign):
    return lambda columns: changed(columns, weight=lambda i, x: sign if i % 10 == 7 else x)


MISSING = ["", "NA", "n/a", "N/A", "null", "NULL", "None", "#N/A"]
PERHAPS_MISSING = ["-", ".", "?"]


@pytest.mark.parametrize("sign", MISSING)
def test_signs_of_missing_values_are_missing(visit, sign):
    columns = as_the_page(visit, lambda t: text(gaps(sign)(t)).encode())
    weight = columns["weight"]
    assert (weight["kind"], weight["missing"], weight["missing_unlabeled"]) == ("number", 0.1, 0.1)
    assert (weight["use"], weight["problem"]) == (True, None)


@pytest.mark.parametrize("sign", PERHAPS_MISSING)
def test_what_may_be_a_sign_of_a_missing_value_is_asked_about(visit, again, sign):
    def write(columns):
        return text(gaps(sign)(columns)).encode()

    columns = as_the_page(visit, write)
    assert columns["weight"]["problem"] == (
        f"positives.csv: column 'weight', row 8: '{sign}' is not a number, but it may mean that "
        f"the value is missing. Write “{sign}” into the setting Signs of missing values."
    )
    columns = as_the_page(again, write, na=sign)
    assert (columns["weight"]["missing"], columns["weight"]["problem"]) == (0.1, None)


def test_a_number_can_be_a_sign_of_a_missing_value(visit, again):
    def write(columns):
        return text(gaps("-999")(columns)).encode()

    assert as_the_page(visit, write)["weight"]["missing"] == 0
    columns = as_the_page(again, write, na="-, -999")
    assert columns["weight"]["missing"] == columns["weight"]["missing_unlabeled"] == 0.1


@pytest.mark.parametrize("sign", ["NA", "-", "-999"])
def test_missing_values_are_learned_from(visit, sign):
    columns = as_the_page(visit, lambda t: text(gaps(sign)(t)).encode(), na="-,-999")
    assert numbers_of(estimate(visit, columns)) == by_python(gaps(None))


def test_a_sign_of_a_missing_value_is_missing_among_words_too(visit):
    def write(columns):
        n = len(columns["age"])
        sites = ["north", "south", "n/a", " east "]
        return text({**columns, "site": [sites[i % 4] for i in range(n)]}).encode()

    site = as_the_page(visit, write)["site"]
    assert (site["kind"], site["distinct"], site["missing"]) == ("category", 3, 0.25)
