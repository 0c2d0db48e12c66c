"""The tables that people have: how each is written, and what is said of it.

``python tests/habits.py`` tries them all through the command line and on the page, and writes
``benchmarks/results/habits.md``. Every habit is tried on the positives and on the rows to be
counted. It is read by a guess that is said in one line, or mended as the sentence says, and must
then give the answer of the clean table.
"""

import csv
import datetime
import io
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from poscount.example import load_example
from workbooks import ods, xls, xlsx

RESULTS = Path(__file__).parents[1] / "benchmarks/results/habits.md"
FEATURES = ["wingbeat_hz", "entropy_bits", "crossing_ms"]


def clean(rows):
    """Cells as Python has them; a few words and a date are added, which few habits use."""
    table = rows.select(FEATURES).to_pylist()
    for i, row in enumerate(table):
        row["night"] = datetime.date(2026, 1 + i % 3, 13 + i % 14)
        row["loud"] = row["entropy_bits"] > 3
    return table


def clean_tables():
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


NO_NAME = "column '' has no name and may number the rows"
ROW_NAMES = {
    "told": "row names in the first column, which has no name. To change that, use --row-names.",
    "options": ("--row-names", "yes"),
    "said": NO_NAME,
}


def as_r(rows, names):
    """What R's write.table writes: blanks, words in quotation marks, and names of rows."""
    lines = [" ".join(f'"{name}"' for name in rows[0])]
    for name, row in zip(names, rows, strict=True):
        lines.append(" ".join([f'"{name}"', *map(str, row.values())]))
    return "\n".join(lines) + "\n"


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
    "totals with empty cells": Habit(
        write=lambda rows: f"{as_csv(rows)}Total,,\n",
        told="without the last row, of notes or totals. To change that, use --footer.",
        options=("--footer", "1"),
    ),
    "a source below the table, in cells": Habit(
        write=lambda rows: f"{as_csv(rows)},,\nSource: our survey,,\n",
        told="without the last 2 rows, of notes or totals. To change that, use --footer.",
        options=("--footer", "2"),
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
    "row names, as R writes them": Habit(
        write=lambda rows: as_csv(numbered("")(rows), header=list(rows[0])),
        **ROW_NAMES,
    ),
    "row names in words, between blanks": Habit(
        write=lambda rows: as_r(rows, [f"insect {i}" for i in range(len(rows))]),
        suffix="txt",
        **{
            **ROW_NAMES,
            "told": "read with spaces between columns; row names in the first column, which has no "
            "name. To change that, use --delimiter or --row-names.",
            "options": ("--delimiter", " ", "--row-names", "yes"),
        },
    ),
    "row names below an empty name": Habit(
        write=lambda rows: '"" ' + as_r(rows, [str(i + 1) for i in range(len(rows))]),
        suffix="txt",
        told="read with spaces between columns. To change that, use --delimiter.",
        options=("--delimiter", " "),
        said=NO_NAME,
    ),
    "row names that may be measurements": Habit(
        write=lambda rows: as_csv(
            [{"": f"{i}.5", **row} for i, row in enumerate(rows)], header=list(rows[0])
        ),
        sentence="line 2 has 4 cell(s) but the first has 3; if the first cells are names of rows, "
        "as R writes them, say so, or give them a column name in the first line. Pass --row-names "
        "'yes'.",
        options=("--row-names", "yes"),
        said=NO_NAME,
    ),
    "a delimiter too many": Habit(
        write=lambda rows: as_csv(rows).replace("\n", ",\n").replace(",\n", "\n", 1),
        sentence="line 2 has 4 cell(s) but the first has 3; if the first cells are names of rows, "
        "as R writes them, say so, or give them a column name in the first line. Pass --row-names "
        "'yes'.",
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
    "JSON lines with decimal commas": Habit(
        change=cells(lambda x: str(x).replace(".", ",")),
        write=lambda rows: "\n".join(json.dumps(row) for row in rows),
        suffix="jsonl",
        told="read with decimal commas. To change that, use --decimal.",
        options=("--decimal", ","),
    ),
    "JSON lines with units": Habit(
        change=cells(lambda x: f"{x} g", "entropy_bits"),
        write=lambda rows: "\n".join(json.dumps(row) for row in rows),
        suffix="ndjson",
        told="read with 'entropy_bits' in g. To change that, use --units.",
        options=("--units", "entropy_bits=g"),
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


# What an option of the command line is called on the page.
SETTINGS = {
    **{f"--{name}": name for name in ("sheet", "footer", "delimiter", "units", "decimal")},
    **{f"--{name}": name for name in ("thousands", "encoding", "na")},
    "--header-row": "header_row",
    "--row-names": "row_names",
}


def what_is_wrong(tried):
    """The sentence of the command line, without what to do there."""
    return re.split(r"\.? (?:Choose it with|Pass) --", tried.sentence)[0].removesuffix(".")


def on_the_page(visit, tables, tried, **settings):
    """Upload both tables: what is refused or wrong with a column, or else the columns."""
    for name, role in (("p", "positives"), ("t", "unlabeled")):
        content = tried.write(tried.change(with_columns(tables[name], tried.columns)))
        content = content.encode() if isinstance(content, str) else content
        answer = visit.send(role, f"{name}.{tried.suffix}", content, **settings)
        if answer.status_code != 201:
            return answer.json()["message"], []
    columns = answer.json()["columns"]
    wrong = [column["problem"] for column in columns if column["problem"]]
    return (wrong[0] if wrong else None), columns


def page_answer(visit, columns, tried):
    """The shares that the page gives, by the columns that it uses by default."""
    by = ["month(night)"] if "night" in tried.columns else []
    features = [column["name"] for column in columns if column["use"]]
    found = visit.answer(method="pat", features=features, by=by)
    return [each["prevalence"] for each in [*found["totals"], *found["results"]]]


def settings_of(tried):
    """The settings of the page that the options of the command line are."""
    pairs = zip(tried.options[::2], tried.options[1::2], strict=True)
    return {SETTINGS[option]: {"yes": "true"}.get(value, value) for option, value in pairs}


def main():
    """Try them all, and write the table."""
    import contextlib
    import tempfile

    from poscount.cli import main as poscount
    from web_server import served

    def run(*arguments):
        out, err = io.StringIO(), io.StringIO()
        sys.argv = ["poscount", *map(str, arguments)]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                poscount()
            except SystemExit as stop:
                return stop.code or 0, out.getvalue(), err.getvalue()
        return 0, out.getvalue(), err.getvalue()

    tables, lines = clean_tables(), []
    with served() as web, tempfile.TemporaryDirectory() as folder:
        for name, tried in HABITS.items():
            files = write_all(tables, tried, Path(folder))
            status, out, err = run("estimate", *files, "--method", "pat", "--format", "json")
            said = err.replace(f"{folder}/", "").removeprefix("poscount: ").strip()
            told = f"{json.loads(out)[0]['prevalence']:.3f}" if status == 0 else "refused"
            visit = web.visit()
            problem, columns = on_the_page(visit, tables, tried)
            page = problem or visit.see().json()["files"][0]["reading"] or "read as it is"
            answer = "" if problem else f"{page_answer(visit, columns, tried)[0]:.3f}"
            visit.http.delete(visit.base)
            said = " ".join(said.split("; ", 3)) if len(said) > 400 else said
            lines.append(
                f"| {name} | {told} | {_cell(said)} | {answer or 'asks'} | {_cell(page)} |"
            )
            print(lines[-1], flush=True)
    head = [
        "# The tables that people have",
        "",
        "`python tests/habits.py` writes each table in the way of its first column, gives it to "
        "`poscount estimate --method pat` and to the page, and writes what both say. An answer is "
        "that of the same table written plainly, to the last bit; where both ask, the option or "
        "button that they name gives it, as `tests/files/test_habits.py` and "
        "`tests/web/test_habits.py` check.",
        "",
        "| habit | command line | what it says | page | what it says |",
        "|---|---|---|---|---|",
    ]
    RESULTS.write_text("\n".join([*head, *lines]) + "\n")


def _cell(text):
    return text.replace("|", "\\|").replace("\n", "; ")


if __name__ == "__main__":
    main()
