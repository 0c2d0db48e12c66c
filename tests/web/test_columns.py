"""What the page says about columns as soon as a file is there: kinds, gaps, choices, problems."""

import datetime
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

pytest.importorskip("fastapi")

N = 40


def csv_of(columns):
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def parquet_of(columns):
    buffer = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def sizes(seed=0):
    return list(np.random.default_rng(seed).normal(size=N).round(3))


def register():
    """One column of each kind."""
    return {
        "row_id": list(range(N)),
        "size": ["" if i % 10 == 0 else value for i, value in enumerate(sizes())],
        "smoker": ["yes", "no"] * (N // 2),
        "site": ["north", "south", "", "east"] * (N // 4),
        "visit": [f"2026-0{1 + i % 6}-1{i % 9}" for i in range(N)],
        "note": [f"seen in room {i}" for i in range(N)],
        "empty": [""] * N,
    }


def sent(visit, positives, *unlabeled, **fields):
    """Send files as CSV; the columns of the session, by their names."""
    told = visit.send("positives", "p.csv", csv_of(positives), **fields)
    for number, columns in enumerate(unlabeled):
        told = visit.send("unlabeled", f"u{number or ''}.csv", csv_of(columns), **fields)
    assert told.status_code == 201, told.text
    return {column["name"]: column for column in told.json()["columns"]}


def test_each_column_has_a_kind_its_gaps_and_a_preset(visit):
    columns = sent(visit, register())
    assert {name: (c["kind"], c["missing"], c["use"]) for name, c in columns.items()} == {
        "row_id": ("identifier", 0, False),
        "size": ("number", 0.1, True),
        "smoker": ("category", 0, True),
        "site": ("category", 0.25, True),
        "visit": ("date", 0, False),
        "note": ("free text", 0, False),
        "empty": ("number", 1, False),
    }
    assert {name: c["why_not"] for name, c in columns.items() if not c["use"]} == {
        "row_id": "looks like an identifier",
        "visit": "holds dates or times such as '2026-01-10'",
        "note": "holds text that differs in nearly every row, such as 'seen in room 0'",
        "empty": "has no values",
    }
    assert all(column["missing_unlabeled"] is None for column in columns.values())
    assert all(column["groupings"] == [] for column in columns.values())


def test_a_file_comes_with_its_first_rows(visit):
    (file,) = visit.send("unlabeled", "u.csv", csv_of(register())).json()["files"]
    assert len(file["preview"]) == 10
    assert file["preview"][0] == ["0", None, "yes", "north", "2026-01-10", "seen in room 0", None]


def test_files_of_unlabeled_rows_alone_are_described_too(visit):
    told = visit.send("unlabeled", "u.csv", csv_of(register())).json()
    columns = {column["name"]: column for column in told["columns"]}
    assert (columns["site"]["kind"], columns["site"]["missing_unlabeled"]) == ("category", 0.25)
    assert not any(column["usable"] for column in columns.values())


def test_gaps_of_unlabeled_files_are_those_of_all_rows_together(visit):
    gaps = {"size": [1.5, ""] * 20, "b": sizes()}
    full = {"size": [1.5, 2.5] * 60, "b": sizes() * 3}
    columns = sent(visit, {"size": sizes(), "b": sizes()}, gaps, full)
    assert columns["size"]["missing_unlabeled"] == 20 / 160
    assert columns["b"]["missing_unlabeled"] == 0


def test_groups_are_values_or_periods_of_dates(visit):
    sample = {
        **register(),
        "when": [f"2026-01-12 {i % 24:02}:30" for i in range(N)],
        "low": ["a", "b"] * 20,
    }
    columns = sent(visit, register(), sample)
    groupings = {name: [g["by"] for g in column["groupings"]] for name, column in columns.items()}
    periods = [f"{period}(visit)" for period in ("day", "week", "month", "year")]
    assert groupings["visit"] == ["visit", *periods]
    assert groupings["when"][-1] == "hour(when)"
    # The result has a column of this name.
    assert groupings["low"] == []
    # Rows without a value are a group, too.
    assert columns["site"]["groupings"] == [{"by": "site", "period": None, "groups": 4}]
    assert columns["smoker"]["groupings"] == [{"by": "smoker", "period": None, "groups": 2}]


def test_rows_are_grouped_by_periods_of_dates(visit):
    sent(visit, {"a": sizes()}, {"a": sizes(1), "visit": register()["visit"]})
    results = visit.answer(by=["month(visit)"])["results"]
    assert [result["label"] for result in results] == [f"2026-0{month}" for month in range(1, 7)]
    assert sum(result["n_unlabeled"] for result in results) == N


@pytest.mark.parametrize(("day_first", "months"), [("true", ["04", "05"]), ("false", ["03"])])
def test_dates_that_can_be_read_in_two_ways_are_asked_about(
    visit, day_first, months, tmp_path, monkeypatch, capsys
):
    ambiguous = {"a": sizes(1), "day": ["03/04/2026", "03/05/2026"] * 20}
    column = sent(visit, {"a": sizes()}, ambiguous)["day"]
    assert [grouping["by"] for grouping in column["groupings"]] == ["day"]
    assert column["no_periods"] == (
        "u.csv: column 'day', row 1: '03/04/2026' may be a day in Apr or in Mar. Use the setting "
        "Dates such as 03/04/2026."
    )
    refusal = visit.http.post(f"{visit.base}/estimates", json={"by": ["month(day)"]}).json()
    assert refusal["field"] == "by"
    again = visit.send("unlabeled", "v.csv", csv_of(ambiguous), day_first=day_first).json()
    first, _ = (file["id"] for file in again["files"] if file["role"] == "unlabeled")
    visit.http.delete(f"{visit.base}/files/{first}")
    answer = visit.answer(by=["month(day)"])
    assert [result["label"] for result in answer["results"]] == [f"2026-{m}" for m in months]
    # The same without the page.
    (tmp_path / "p.csv").write_bytes(csv_of({"a": sizes()}))
    (tmp_path / "v.csv").write_bytes(csv_of(ambiguous))
    monkeypatch.chdir(tmp_path)
    exec(compile(answer["python"], "recipe", "exec"), {})
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        f"2026-{month}" for month in months
    ]


def test_a_group_without_a_value_is_said_to_be_missing(visit):
    sent(visit, {"a": sizes()}, {"a": sizes(1), "site": ["north", ""] * 20})
    answer = visit.answer(by=["site"])
    assert [result["label"] for result in answer["results"]] == ["north", "missing"]
    assert answer["results"][1]["group"] == {"site": None}


def test_periods_of_too_many_groups_are_not_offered(visit):
    n = 1500
    hours = [
        f"{2026 + i // 8000}-{1 + i // 720 % 12:02}-{1 + i // 24 % 30:02}T{i % 24:02}:00"
        for i in range(n)
    ]
    hours = [hour.replace("02-29", "02-28").replace("02-30", "02-28") for hour in hours]
    column = sent(visit, {"a": sizes()}, {"a": [1.5] * n, "when": hours})["when"]
    assert [grouping["period"] for grouping in column["groupings"]] == [
        *("day", "week", "month", "year")
    ]


def test_only_columns_of_all_unlabeled_files_make_groups(visit):
    night = ["mon", "tue"] * 20
    columns = sent(visit, {"a": sizes()}, {"a": sizes(), "night": night}, {"a": sizes()})
    assert columns["night"]["groupings"] == []
    assert columns["night"]["why_not"] == "is missing in p.csv"


@pytest.mark.parametrize("other", ["Size g", "size_g ", " size_g", "SIZE_G"])
def test_a_column_that_is_missing_is_named_with_the_one_that_may_be_meant(visit, other):
    name = "size g" if " g" in other.strip() else "size_g"
    columns = sent(visit, {name: sizes(), "b": sizes(1)}, {other: sizes(), "b": sizes(1)})
    assert not columns[name]["usable"]
    assert columns[name]["why_not"] == "is missing in u.csv"
    assert columns[name]["problem"] == (f"u.csv has no column {name!r}; is it {other!r} there?")
    (fix,) = columns[name]["fixes"]
    assert (fix["setting"], fix["value"]) == ("rename", f"{other}={name}")
    assert columns["b"]["use"]
    refusal = visit.http.post(f"{visit.base}/estimates", json={"features": [name]})
    assert (refusal.status_code, refusal.json()["field"]) == (422, "features")
    assert refusal.json()["message"] == columns[name]["problem"]


def test_a_column_that_is_missing_everywhere_is_only_named(visit):
    columns = sent(visit, {"a": sizes(), "label": [1] * N}, {"a": sizes()}, {"a": sizes()})
    assert columns["label"]["why_not"] == "is missing in u.csv, u1.csv"
    assert columns["label"]["problem"] is None
    refusal = visit.http.post(f"{visit.base}/estimates", json={}).json()
    assert refusal == {
        "message": "The column 'label' is missing in u.csv, u1.csv.",
        "field": "features",
        "choices": [],
        "fixes": [],
        "top": [],
    }


def test_words_where_the_positives_have_numbers_are_said_at_once(visit):
    words = ["high", "low"] * 20
    columns = sent(visit, {"a": sizes(), "b": sizes()}, {"a": words, "b": sizes()})
    assert not columns["a"]["usable"]
    assert columns["a"]["problem"].startswith("u.csv: column 'a', row 1: 'high' is not a number")
    assert columns["b"]["use"]


def test_numbers_where_the_positives_have_words_are_said_at_once(visit):
    columns = sent(visit, {"a": ["yes", "no"] * 20}, {"a": [1, 0] * 20})
    assert columns["a"]["problem"] == (
        "p.csv has words such as 'yes' in the column 'a', but u.csv has numbers such as '1'. Write "
        "them in the same way in both files."
    )
    # The values may be the same ones: a code can be a number by chance.
    assert (columns["a"]["usable"], columns["a"]["use"]) == (True, False)


def test_booleans_of_typed_files_are_what_text_says(visit):
    visit.send("positives", "p.parquet", parquet_of({"a": [True, False] * 20}))
    told = visit.send("unlabeled", "u.csv", csv_of({"a": ["True", "False"] * 20})).json()
    (column,) = told["columns"]
    assert (column["kind"], column["use"], column["problem"]) == ("category", True, None)


@pytest.mark.parametrize("role", ["positives", "unlabeled"])
def test_infinity_is_said_at_once(visit, role):
    tables = {"positives": {"a": sizes()}, "unlabeled": {"a": sizes()}}
    tables[role]["a"][7] = "inf"
    column = sent(visit, *tables.values())["a"]
    file = "p.csv" if role == "positives" else "u.csv"
    assert column["problem"] == (
        f"{file}: column 'a', row 8: the number is infinite; correct it or remove the row."
    )
    assert not column["usable"]


def test_lists_and_dates_of_typed_files(visit):
    moments = [datetime.datetime(2026, 1, 1 + i % 28, i % 24) for i in range(N)]
    table = {"parts": [[1, 2]] * N, "when": moments, "a": sizes()}
    for role in ("positives", "unlabeled"):
        told = visit.send(role, f"{role}.parquet", parquet_of(table)).json()
    columns = {column["name"]: column for column in told["columns"]}
    assert (columns["parts"]["kind"], columns["parts"]["usable"]) == ("other", False)
    assert columns["parts"]["groupings"] == []
    assert columns["when"]["why_not"] == "holds dates or times"
    assert "hour(when)" in [grouping["by"] for grouping in columns["when"]["groupings"]]


def test_too_many_groups_are_refused_before_anything_is_counted(visit):
    many = {"a": sizes(), "g": range(N), "h": range(N)}
    sent(visit, {"a": sizes()}, many)
    answer = visit.http.post(f"{visit.base}/estimates", json={"by": ["g", "h"]})
    assert (answer.status_code, answer.json()["field"]) == (422, "by")
    assert answer.json()["message"].startswith("g, h: this makes more than 1,000 groups")


def test_the_answer_says_what_the_model_did_with_each_column(visit):
    visit.example()
    answer = visit.answer()
    assert [column["name"] for column in answer["columns"]] == answer["features"]
    assert {column["kind"] for column in answer["columns"]} == {"number"}
    assert all(column["done"] for column in answer["columns"])
