"""The tables that people have, through the command line: the exact answer, or the exact sentence.

Every habit is tried on the positives and on the rows to be counted. It is read by a guess that is
said in one line, or mended as the sentence says, and must then give the answer of the clean table.
"""

import csv
import datetime
import io
import json
import sys
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from poscount.cli import main
from poscount.example import load_example
from workbooks import ods, xls, xlsx

pytestmark = pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:xlwt")

FEATURES = ["wingbeat_hz", "entropy_bits", "crossing_ms"]


def clean(rows):
    """Cells as Python has them; a few words and a date are added, which few habits use."""
    table = rows.select(FEATURES).to_pylist()
    for i, row in enumerate(table):
        row["night"] = datetime.date(2026, 1 + i % 3, 13 + i % 14)
        row["loud"] = row["entropy_bits"] > 3
    return table


@pytest.fixture(scope="module")
def tables():
    example = load_example("pyarrow")
    return {"p": clean(example.positives.slice(0, 150)), "t": clean(example.trap.slice(0, 600))}


def as_csv(rows, delimiter=",", header=None):
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\n")
    writer.writerow(list(rows[0]) if header is None else header)
    writer.writerows(["" if cell is None else cell for cell in row.values()] for row in rows)
    return buffer.getvalue()


def as_cells(rows):
    return [list(rows[0]), *(list(row.values()) for row in rows)]


def cells(change, *names):
    """Change the cells of some columns, by default of the features."""

    def changed(rows):
        return [
            {k: change(v) if k in (names or FEATURES) else v for k, v in row.items()}
            for row in rows
        ]

    return changed


def sometimes(sign, *names):
    """Put a sign into every tenth cell of some columns, for a missing value."""

    def changed(rows):
        return [
            {k: sign if i % 10 == 7 and k in names else v for k, v in row.items()}
            for i, row in enumerate(rows)
        ]

    return changed


def numbered(name):
    return lambda rows: [{name: i, **row} for i, row in enumerate(rows)]


def renamed(**names):
    return lambda rows: [{names.get(k, k): v for k, v in row.items()} for row in rows]


def text(rows):
    return as_csv(rows)


class Habit(NamedTuple):
    """A way to write a table.

    Parameters
    ----------
    change : callable
        From the rows of the clean table to those of this one.
    write : callable
        From rows to text or bytes.
    suffix : str
    sentence : str or None
        What the command says without further options; None if it gives the answer.
    options : tuple of str
        What mends it, and is part of the sentence; or what makes the guess needless.
    told : str or None
        What is said if it is read by a guess.
    said : str
        What standard error says although there is an answer.
    same : callable or None
        What the answer is compared with: the clean table after this change, as Parquet. None if
        nothing mends it.
    columns : tuple of str
        Columns that the table has besides the features.
    """

    change: object = lambda rows: rows
    write: object = text
    suffix: str = "csv"
    sentence: str | None = None
    options: tuple[str, ...] = ()
    told: str | None = None
    said: str = ""
    same: object = lambda rows: rows
    columns: tuple[str, ...] = ()


MILLION = cells(lambda x: round(1e7 * x), "entropy_bits")
THOUSAND = cells(lambda x: round(1e3 * x), "entropy_bits")
WORDS = {"columns": ("loud",)}


def answers(yes, no):
    return cells(lambda loud: yes if loud else no, "loud")


def with_sites(rows):
    """Put a column of words first, as tables with totals have one."""
    return [{"site": ("north", "south")[i % 2], **row} for i, row in enumerate(rows)]


def missing(sign, mends=()):
    return {
        "change": sometimes(sign, "crossing_ms"),
        "same": sometimes(None, "crossing_ms"),
        **(
            {
                "sentence": f"column 'crossing_ms', row 8: {sign!r} is not a number, but it may "
                f"mean that the value is missing. Pass --na '{mends[1]}'.",
                "options": mends,
            }
            if mends
            else {}
        ),
    }


HABITS = {
    "comma": Habit(),
    "semicolon": Habit(write=lambda rows: as_csv(rows, ";")),
    "tab": Habit(write=lambda rows: as_csv(rows, "\t"), suffix="tsv"),
    "xlsx": Habit(write=lambda rows: xlsx({"data": as_cells(rows)}), suffix="xlsx"),
    "xls": Habit(write=lambda rows: xls({"data": as_cells(rows)}), suffix="xls"),
    "ods": Habit(write=lambda rows: ods({"data": as_cells(rows)}), suffix="ods"),
    "two sheets": Habit(
        write=lambda rows: xlsx({"data": as_cells(rows), "notes": [["to do"]]}),
        suffix="xlsx",
        told="sheet 'data'. To change that, use --sheet.",
        options=("--sheet", "data"),
    ),
    "two tables": Habit(
        write=lambda rows: xlsx({"data": as_cells(rows), "more": as_cells(rows)}),
        suffix="xlsx",
        sentence="the workbook has several sheets with data: 'data', 'more'. Choose it with "
        "--sheet.",
        options=("--sheet", "data"),
    ),
    "title above the table": Habit(
        write=lambda rows: xlsx({"data": [["Our results"], [], *as_cells(rows)]}),
        suffix="xlsx",
        told="header in row 3. To change that, use --header-row.",
        options=("--header-row", "3"),
    ),
    "merged cells above the header": Habit(
        write=lambda rows: xlsx({"data": [["Sound", None, "Time"], *as_cells(rows)]}),
        suffix="xlsx",
        told="header in row 2. To change that, use --header-row.",
        options=("--header-row", "2"),
    ),
    "totals in Excel": Habit(
        change=with_sites,
        write=lambda rows: xlsx({"data": [*as_cells(rows), ["Total", 1, 2, 3]]}),
        same=with_sites,
        suffix="xlsx",
        told="without the last row, of notes or totals. To change that, use --footer.",
        options=("--footer", "1"),
    ),
    "notes above the header": Habit(
        write=lambda rows: f"Bees of 2026, by A. B.\n\n{as_csv(rows)}",
        told="header in row 3. To change that, use --header-row.",
        options=("--header-row", "3"),
    ),
    "notes in cells above the header": Habit(
        write=lambda rows: f"Bees of 2026,,\n,,\n{as_csv(rows)}",
        told="header in row 3. To change that, use --header-row.",
        options=("--header-row", "3"),
    ),
    "notes with another delimiter": Habit(
        write=lambda rows: f"Bees, flies, and all\n{as_csv(rows, ';')}",
        told="header in row 2. To change that, use --header-row.",
        options=("--header-row", "2"),
    ),
    "totals": Habit(
        change=with_sites,
        write=lambda rows: f"{as_csv(rows)}Total,1,2,3\n",
        same=with_sites,
        told="without the last row, of notes or totals. To change that, use --footer.",
        options=("--footer", "1"),
    ),
    "a source below the table": Habit(
        write=lambda rows: f"{as_csv(rows)}\nSource: our survey\n",
        told="without the last row, of notes or totals. To change that, use --footer.",
        options=("--footer", "1"),
    ),
    "a row too short": Habit(
        write=lambda rows: as_csv(rows).replace("\n", "\nx\n", 3).replace("\nx\n", "\n", 2),
        sentence="line 4 has 1 cell(s) but the first has 3; look for a missing or surplus "
        "delimiter, or read the file with another one. Choose it with --delimiter.",
        same=None,
    ),
    "names of rows, as R writes them": Habit(
        write=lambda rows: as_csv(numbered("")(rows), header=list(rows[0])),
        sentence="line 2 has 4 cell(s) but the first has 3; if the first cells are names of rows, "
        "as R writes them, give them a column name in the first line.",
        same=None,
    ),
    "bars": Habit(
        write=lambda rows: as_csv(rows, "|"),
        told="read with bars between columns. To change that, use --delimiter.",
        options=("--delimiter", "|"),
    ),
    "spaces": Habit(
        write=lambda rows: as_csv(rows, " "),
        suffix="txt",
        told="read with spaces between columns. To change that, use --delimiter.",
        options=("--delimiter", " "),
    ),
    "per cent": Habit(
        change=cells(lambda x: f"{x} %", "entropy_bits"),
        told="read with 'entropy_bits' in %. To change that, use --units.",
        options=("--units", "entropy_bits=%"),
    ),
    "days first": Habit(
        change=cells(lambda day: f"{day.day}/{day.month}/{day.year}", "night"),
        columns=("night",),
    ),
    "semicolon and decimal comma": Habit(
        change=cells(lambda x: str(x).replace(".", ",")),
        write=lambda rows: as_csv(rows, ";"),
        told="read with decimal commas. To change that, use --decimal.",
        options=("--decimal", ","),
    ),
    "decimal comma and points between thousands": Habit(
        change=cells(
            lambda x: f"{1e4 + x:,}".replace(",", "_").replace(".", ",").replace("_", ".")
        ),
        write=lambda rows: as_csv(rows, ";"),
        same=cells(lambda x: float(f"{1e4 + x}")),
        told="read with decimal commas and points between thousands. To change that, use "
        "--decimal or --thousands.",
        options=("--decimal", ",", "--thousands", "."),
    ),
    "cp1252": Habit(
        change=renamed(entropy_bits="größe"),
        write=lambda rows: as_csv(rows).encode("cp1252"),
        told="read as Windows-1252. To change that, use --encoding.",
        options=("--encoding", "cp1252"),
        same=renamed(entropy_bits="größe"),
    ),
    "an old Mac": Habit(
        change=renamed(entropy_bits="größe"),
        write=lambda rows: as_csv(rows).encode("mac-roman"),
        sentence="line 1 is not UTF-8 text; spreadsheets on Windows often write cp1252, and some "
        "programs utf-16. Pass --encoding 'cp1252'.",
        options=("--encoding", "mac-roman"),
        same=renamed(entropy_bits="größe"),
    ),
    "all of German Excel": Habit(
        change=lambda rows: renamed(entropy_bits="größe")(
            cells(lambda x: str(x).replace(".", ","))(rows)
        ),
        write=lambda rows: f"Käfer\n\n{as_csv(rows, ';')}".encode("cp1252"),
        same=renamed(entropy_bits="größe"),
        told="read as Windows-1252 with decimal commas; header in row 3. To change that, use "
        "--encoding, --header-row or --decimal.",
        options=("--encoding", "cp1252", "--header-row", "3", "--decimal", ","),
    ),
    "UTF-16": Habit(write=lambda rows: as_csv(rows).encode("utf-16")),
    "UTF-16 without a mark": Habit(
        write=lambda rows: as_csv(rows).encode("utf-16-le"),
        told="read as UTF-16. To change that, use --encoding.",
        options=("--encoding", "utf-16-le"),
    ),
    "byte-order mark": Habit(write=lambda rows: as_csv(rows).encode("utf-8-sig")),
    "JSON lines": Habit(
        write=lambda rows: "\n".join(json.dumps(row) for row in rows), suffix="jsonl"
    ),
    "12,000": Habit(
        change=lambda rows: cells(lambda x: f"{x:,}", "entropy_bits")(THOUSAND(rows)),
        told="read with commas between thousands. To change that, use --thousands.",
        options=("--thousands", ","),
        same=THOUSAND,
    ),
    "12,000 without other decimals": Habit(
        change=lambda rows: cells(lambda x: f"{round(x + 1e4):,}")(rows),
        sentence="the comma is either a thousands mark (then it is 10475) or the decimal mark. "
        "Pass --thousands ',' or --decimal ','.",
        options=("--thousands", ","),
        same=cells(lambda x: round(x + 1e4)),
    ),
    "12,000,000": Habit(
        change=lambda rows: cells(lambda x: f"{x:,}", "entropy_bits")(MILLION(rows)),
        told="read with commas between thousands. To change that, use --thousands.",
        options=("--thousands", ","),
        same=MILLION,
    ),
    "12 000": Habit(
        change=lambda rows: cells(lambda x: f"{x:,}".replace(",", " "), "entropy_bits")(
            MILLION(rows)
        ),
        told="read with spaces between thousands. To change that, use --thousands.",
        options=("--thousands", " "),
        same=MILLION,
    ),
    "40.25 g": Habit(
        change=cells(lambda x: f"{x} g", "entropy_bits"),
        told="read with 'entropy_bits' in g. To change that, use --units.",
        options=("--units", "entropy_bits=g"),
    ),
    "g and kg": Habit(
        change=lambda rows: [
            {**row, "entropy_bits": f"{row['entropy_bits']} {'k' * (i % 2)}g"}
            for i, row in enumerate(rows)
        ],
        sentence="the column has the units g and kg; write all numbers in one unit.",
        same=None,
    ),
    "1e3": Habit(change=cells(lambda x: f"{x:.16e}")),
    "0/1": Habit(change=cells(int, "loud"), same=cells(int, "loud"), columns=("loud",)),
    "yes/no": Habit(change=answers("yes", "no"), same=answers("yes", "no"), **WORDS),
    "True/False": Habit(**WORDS),
    "TRUE": Habit(change=answers("TRUE", "FALSE"), **WORDS),
    "Excel's TRUE": Habit(
        write=lambda rows: xlsx({"data": as_cells(rows)}), suffix="xlsx", **WORDS
    ),
    "words with trailing blanks": Habit(
        change=answers("yes ", " no"), same=answers("yes", "no"), **WORDS
    ),
    "a leading index column": Habit(
        change=numbered(""),
        said="column '' has no name and may number the rows",
    ),
    "pandas' index": Habit(
        change=numbered("Unnamed: 0"),
        said="column 'Unnamed: 0' looks like an identifier",
    ),
    "an id column": Habit(
        change=numbered("insect_id"),
        said="column 'insect_id' looks like an identifier",
    ),
    "names of people": Habit(
        change=lambda rows: [{**row, "who": f"person {i}"} for i, row in enumerate(rows)],
        said="column 'who' holds text that differs in nearly every row, such as 'person 0'",
    ),
    "a blank header": Habit(
        change=renamed(crossing_ms=""),
        said="column '' has no name and may number the rows",
        same=lambda rows: [{k: v for k, v in row.items() if k != "crossing_ms"} for row in rows],
    ),
    "duplicate headers": Habit(
        write=lambda rows: as_csv(rows, header=["a", "b", "a"]),
        sentence="column 'a': the file has 2 columns of this name; rename them.",
        same=None,
    ),
    "trailing blanks": Habit(change=cells(lambda x: f" {x}  ")),
    "trailing blanks in headers": Habit(
        change=renamed(entropy_bits="entropy_bits "), same=renamed(entropy_bits="entropy_bits ")
    ),
    "NA": Habit(**missing("NA")),
    "n/a": Habit(**missing("n/a")),
    "null": Habit(**missing("null")),
    "empty": Habit(**missing("")),
    "-": Habit(**missing("-", ("--na", "-"))),
    ".": Habit(**missing(".", ("--na", "."))),
    "-999": Habit(
        change=sometimes(-999, "crossing_ms"),
        same=sometimes(None, "crossing_ms"),
        options=("--na", "-999"),
    ),
    "NA among words": Habit(
        change=lambda rows: sometimes("NA", "loud")(answers("yes", "no")(rows)),
        same=lambda rows: sometimes(None, "loud")(answers("yes", "no")(rows)),
        **WORDS,
    ),
    "ISO dates": Habit(columns=("night",)),
    "dates with points": Habit(
        change=cells(lambda day: day.strftime("%d.%m.%Y"), "night"), columns=("night",)
    ),
    "dates with words": Habit(
        change=cells(lambda day: day.strftime("%-d %B %Y"), "night"), columns=("night",)
    ),
    "dates of Excel": Habit(
        write=lambda rows: xlsx({"data": as_cells(rows)}), suffix="xlsx", columns=("night",)
    ),
}


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


def with_columns(rows, columns):
    return [{k: v for k, v in row.items() if k in (*FEATURES, *columns)} for row in rows]


def write_all(tables, tried, folder):
    paths = []
    for name, rows in tables.items():
        content = tried.write(tried.change(with_columns(rows, tried.columns)))
        path = folder / f"{name}.{tried.suffix}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        paths.append(path)
    return paths


def write_same(tables, tried, folder):
    paths = []
    for name, rows in tables.items():
        path = folder / f"{name}.parquet"
        same = tried.same(with_columns(rows, tried.columns))
        pq.write_table(pa.Table.from_pylist(same), path)
        paths.append(path)
    return paths


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
    assert outcome.err == f"{positives}: {tried.told}\n"


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
