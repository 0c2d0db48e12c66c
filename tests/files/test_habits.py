"""The tables that people have, through the command line: the exact answer or sentence."""

import json
import sys
from typing import NamedTuple

import pytest

from habits import (
    HABITS,
    Habit,
    as_cells,
    cells,
    clean_tables,
    renamed,
    sometimes,
    with_columns,
    write_all,
    write_same,
)
from poscount.cli import main
from workbooks import xlsx

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:xlwt")


@pytest.fixture(scope="module")
def tables():
    return clean_tables()


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["poscount", *map(str, arguments)])
        try:
            main()
            status = 0
        except SystemExit as stop:
            status = stop.code or 0
        printed = capsys.readouterr()
        return Outcome(status, printed.out, printed.err)

    return run


def command(positives, sample, tried):
    by = ("--by", "month(night)") if "night" in tried.columns else ()
    return ("estimate", positives, sample, "--method", "pat", "--format", "json", *by)


@pytest.mark.parametrize("name", [name for name, tried in HABITS.items() if tried.sentence])
def test_the_sentence(run, tables, tmp_path, name):
    tried = HABITS[name]
    positives, sample = write_all(tables, tried, tmp_path)
    outcome = run(*command(positives, sample, tried))
    assert outcome.status == 2
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"poscount: {positives}: ")
    assert tried.sentence in line


@pytest.mark.parametrize("name", [name for name, tried in HABITS.items() if tried.same])
def test_the_answer(run, tables, tmp_path, name):
    tried = HABITS[name]
    files = write_all(tables, tried, tmp_path)
    expected = run(*command(*write_same(tables, tried, tmp_path), tried))
    assert expected.status == 0, expected.err
    outcome = run(*command(*files, tried), *tried.options)
    assert outcome.status == 0, outcome.err
    assert json.loads(outcome.out) == json.loads(expected.out)
    # Nothing is guessed, or said, of what the options say.
    assert "To change that" not in outcome.err
    assert f"Not used as features: {tried.said}" in outcome.err or not tried.said
    if "night" in tried.columns:
        assert [each["month(night)"] for each in json.loads(outcome.out)] == [
            *("all rows", "2026-01", "2026-02", "2026-03"),
        ]
        assert "Not used as features: column 'night' holds dates or times" in outcome.err


@pytest.mark.parametrize("name", [name for name, tried in HABITS.items() if tried.told])
def test_the_guess(run, tables, tmp_path, name):
    tried = HABITS[name]
    positives, sample = write_all(tables, tried, tmp_path)
    expected = run(*command(*write_same(tables, tried, tmp_path), tried))
    outcome = run(*command(positives, sample, tried))
    assert outcome.status == 0, outcome.err
    assert json.loads(outcome.out) == json.loads(expected.out)
    # In one line, although both files are written so.
    told, *left_out = outcome.err.splitlines()
    assert told == f"{positives}: {tried.told}"
    assert len(left_out) == bool(tried.said)
    assert f"Not used as features: {tried.said}" in outcome.err or not tried.said


def test_columns_with_other_blanks_or_case_than_the_model(run, tables, tmp_path):
    tried = Habit(change=renamed(entropy_bits="Entropy_bits "))
    positives, sample = (
        write_all(tables, Habit(), tmp_path)[0],
        write_all(tables, tried, tmp_path)[1],
    )
    positives, _ = write_same(tables, Habit(), tmp_path)
    outcome = run("estimate", positives, sample)
    assert outcome.status == 2
    assert outcome.err == (
        f"poscount: {sample}: column 'entropy_bits': the file has no such column; did you mean "
        "'Entropy_bits '? Its columns are 'wingbeat_hz', 'Entropy_bits ', 'crossing_ms'. Pass "
        "--rename 'Entropy_bits =entropy_bits'.\n"
    )
    mended = run("estimate", positives, sample, "--rename", "Entropy_bits =entropy_bits")
    assert mended.out == run("estimate", *write_same(tables, Habit(), tmp_path)).out


def test_dates_that_may_be_read_in_two_ways(run, tables, tmp_path):
    tried = Habit(
        change=cells(lambda day: f"{day.month:02}/0{day.day % 9 + 1}/2026", "night"),
        columns=("night",),
    )
    positives, sample = write_all(tables, tried, tmp_path)
    command = ("estimate", positives, sample, "--format", "json", "--by", "month(night)")
    outcome = run(*command, "--exclude", "night")
    assert outcome.status == 2
    assert outcome.err == (
        f"poscount: {sample}: column 'night', row 1: '01/05/2026' may be a day in May or in Jan. "
        "Pass --day-first or --month-first.\n"
    )
    months = {}
    for option in ("--day-first", "--month-first"):
        results = json.loads(run(*command, option).out)
        months[option] = [each["month(night)"] for each in results]
    assert months["--month-first"] == ["all rows", "2026-01", "2026-02", "2026-03"]
    assert len(months["--day-first"]) == 1 + 9


def test_several_groups_and_missing_ones(run, tables, tmp_path):
    tried = Habit(change=sometimes(None, "night"), columns=("night",))
    positives, sample = write_all(tables, tried, tmp_path)
    command = ("estimate", positives, sample, "--method", "pat")
    found = [
        run(*command, "--format", "csv", *by).out
        for by in (
            ("--by", "month(night),week(night)"),
            ("--by", "month(night)", "--by", "week(night)"),
        )
    ]
    assert found[0] == found[1]
    lines = found[0].splitlines()
    assert lines[0].startswith("month(night),week(night),prevalence,")
    assert lines[1].startswith("all rows,,0.")
    assert lines[2].startswith("2026-01,2026-W03,")
    assert lines[-1].startswith(",,0.")
    table = run(*command, "--by", "month(night)").out.splitlines()
    assert table[5].startswith("missing ")
    last = json.loads(run(*command, "--by", "month(night)", "--format", "json").out)[-1]
    assert last["month(night)"] is None


def test_two_sheets_of_one_workbook(run, tables, tmp_path):
    book = tmp_path / "book.xlsx"
    sheets = {name: as_cells(with_columns(rows, ())) for name, rows in tables.items()}
    book.write_bytes(xlsx(sheets))
    outcome = run("estimate", f"{book}:p", f"{book}:t", "--format", "json")
    assert outcome.status == 0, outcome.err
    plain = run("estimate", *write_all(tables, Habit(), tmp_path), "--format", "json")
    assert json.loads(outcome.out) == json.loads(plain.out)
    outcome = run("estimate", f"{book}:p", f"{book}:p", f"{book}:t")
    assert outcome.status == 2
    assert "the sheets 'p' and 't' are to be read together" in outcome.err
