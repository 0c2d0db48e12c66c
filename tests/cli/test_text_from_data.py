"""Text from files, shown to people: none of it acts on a terminal, a picture or a page."""

import ast
import csv
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import distribution_of
from poscount import PAT, Prevalence, diagnose
from poscount.app.results import Result, write_csv
from poscount.cli import main
from poscount.errors import InputError
from poscount.plotting.display import plain
from poscount.plotting.page import picture_element, whole_page
from poscount.plotting.prevalences import PrevalenceDisplay
from poscount.printable import printable, shortened
from poscount.results.verdict import AnswerWarning
from terminal import seen_on_a_terminal

mpl.use("agg")

HOSTILE = {
    "markup that ends nothing": "[/a]",
    "markup": "[bold red]x[/]",
    "link": "[link=file:///etc/passwd]x",
    "colour": "\x1b[31mred",
    "title": "\x1b]0;new title\x07",
    "one-byte escape": "\x9b2J",
    "carriage return": "real\rfake",
    "bell": "ding\x07",
    "backspaces": "x\x08\x08y",
    "new line": "one\npositive 0.000",
    "other line ends": "one\x0bb\x0cb\x85\u2028b\u2029c",
    "right to left": "abc\u202etxt.exe\u2066",
    "tab": "a\tb",
    "formula": r"$\frac{1}{0$",
    "formula that is right": "$x^2$",
    "html": "<script>alert(1)</script>&amp;'\"",
    "Python": "{0.__class__} %s %(x)d",
    "invisible": "a\u200bb\ufeff",
}
# Together, for tests that take long.
COMBINED = {
    "markup": "[/a][bold red]x[/][link=file:///etc/passwd]",
    "control": "\x1b]0;title\x07\x1b[31m\x9b2J\rx\x08\u202ey",
    "lines": "one\nhigh\x0b\x85\u2028\t\u200bz",
    "code": r"$\frac{1}{0$ $x^2$<script>alert(1)</script>&amp; {0.__class__} %s",
}
# What may act on a terminal, apart from line ends.
ACTING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@given(st.text(st.characters(codec=None)))
def test_whatever_acts_or_hides_is_escaped_and_nothing_else_is(text):
    shown = printable(text)
    for char in set(shown):
        assert unicodedata.category(char) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(char) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )
    if not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text):
        assert shown == text
    assert printable(shown) == shown
    assert printable(text, lines=True).replace("\n", r"\n") == shown
    shown.encode()


@given(st.text(), st.integers(20, 200))
def test_a_text_keeps_its_beginning_and_end(text, most):
    short = shortened(text, most)
    assert len(short) <= max(most, len("[...]") + 2)
    assert shortened(short, most) == short
    if len(text) <= most:
        assert short == text
    else:
        assert short.startswith(text[:5].rstrip())


@pytest.mark.parametrize("text", [*HOSTILE.values(), "\0" * 4_000_000], ids=[*HOSTILE, "endless"])
def test_errors_say_it_in_one_short_line(text):
    error = InputError(f"{text} is bad.", file=text, column=text, row=1, option="na", value=[text])
    for said in (str(error), error.at(file=f"{text}.csv").rendered(text)):
        assert not ACTING.search(said)
        assert "\n" not in said
        assert len(said) < 1700


@pytest.fixture(params=HOSTILE.values(), ids=HOSTILE)
def text(request):
    return request.param


@pytest.fixture(params=COMBINED.values(), ids=COMBINED)
def combined(request):
    return request.param


@pytest.fixture
def files(tmp_path, combined):
    """Positives and a sample whose columns, words, groups and names have the text in them."""
    text = combined
    rng = np.random.default_rng(0)
    name = f"data {text}".replace("/", "|")

    def write(kind, n, groups):
        path = tmp_path / f"{kind} {name}.csv"
        rows = rng.normal(size=(n, 2)).round(3).tolist()
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([f"a {text}", "b", f"word {text}", f"group {text}"])
            for i, row in enumerate(rows):
                writer.writerow([*row, f"{text} {i % 2}", groups[i % len(groups)]])
        return str(path)

    return tmp_path, write("p", 60, ["x"]), write("u", 90, [text, "plain", f"{text}{text}"])


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["poscount", *arguments])
    with pytest.raises(SystemExit) as caught:
        main()
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err
    return caught.value.code or 0, printed.out, printed.err


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_command_lets_it_act(files, combined, monkeypatch, capsys):
    folder, positives, sample = files
    text = combined
    model, by, odd = str(folder / "m.poscount"), f"group {text}", f"{folder}/none {text}.csv"
    rows = [model, sample, "--delimiter", ","]
    leave = [f"--exclude={by}"] if "," not in by else []
    commands = [
        ["fit", positives, "-o", model, *leave, "--delimiter", ","],
        ["show", model],
        ["show", model, "--format", "json"],
        ["quantify", *rows, "--by-file", "--plot", f"{folder}/p.svg"],
        ["quantify", *rows, "--by", by],
        ["quantify", *rows, "--by", by, "--format", "json"],
        ["diagnose", *rows, "--positives", positives, "-o", f"{folder}/d.html"],
    ]
    for command in commands:
        status, out, err = run(monkeypatch, capsys, *command)
        assert status == 0, err
        assert not ACTING.search(out + err), command
    assert json.loads(run(monkeypatch, capsys, *commands[5])[1])[0].get(by) is not None
    page = (folder / "d.html").read_text()
    assert not ACTING.search(page)
    assert "<script>" not in page
    bad = [
        ["fit", odd, "-o", model],
        ["fit", positives, "-o", f"{folder}/none {text}/m"],
        ["fit", positives, "-o", model, "--method", text],
        ["quantify", odd, sample],
        ["quantify", *rows, "--by", f"{by} not"],
        ["quantify", *rows, "--format", text],
        ["count", *rows, "--weights", text, "-o", f"{folder}/c.counts"],
    ]
    for command in bad:
        status, out, err = run(monkeypatch, capsys, *command)
        assert status == 2
        assert out == ""
        assert not ACTING.search(err), command


def test_csv_of_the_command_line_is_exact(files, combined, monkeypatch, capsys):
    folder, positives, sample = files
    text = combined
    model, by = str(folder / "m.poscount"), f"group {text}"
    exact = ["--delimiter", ",", "--format", "csv"]
    fit = ["fit", positives, "-o", model, "--method", "pat", "--features", "b", "--delimiter", ","]
    run(monkeypatch, capsys, *fit)
    _, out, _ = run(monkeypatch, capsys, "quantify", model, sample, "--by", by, *exact)
    head, *rows = list(csv.reader(io.StringIO(out, newline="")))
    assert head[0] == by
    assert {row[0] for row in rows} == {"all rows", text, "plain", f"{text}{text}"}


def test_a_real_terminal_gets_only_the_sequences_of_the_table(tmp_path):
    """The head of a table is bold there, and the progress bar moves: nothing else may act."""
    text = HOSTILE["title"] + HOSTILE["colour"] + "[/a]"
    rows = "".join(f"{i / 7},{i % 5},{text}\n" for i in range(60))
    frame = pytest.importorskip("pandas").DataFrame(
        {"a": np.sin(np.arange(30.0)), "b": np.arange(30.0) % 5}
    )
    PAT(random_state=0).fit(frame).save(tmp_path / "m")
    (tmp_path / f"{text}.csv".replace("/", "|")).write_text(f"a,b,g\n{rows}")
    (file,) = set(os.listdir(tmp_path)) - {"m"}
    status, seen = seen_on_a_terminal(
        ["quantify", "m", file, "--by", "g"], 250, cwd=tmp_path, stderr=subprocess.STDOUT
    )
    assert status == 0, seen
    assert b"\x1b]0;" not in seen
    assert b"\x1b[31m" not in seen
    assert b"\\x1b[31mred[/a]" in seen
    assert b"\x1b[1m" in seen


def test_no_command_prints_by_itself():
    """Lines for people go through `echo` or a table, which escape them."""
    source = Path(sys.modules["poscount.cli"].__file__).parent
    allowed = {"words.py": ["print"]}
    for file in source.glob("*.py"):
        calls = [
            ast.unparse(node.func)
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.Call)
        ]
        printing = [call for call in calls if call in ("print", "typer.echo", "typer.secho")]
        assert printing == allowed.get(file.name, []), file.name


# Pictures and pages


@pytest.mark.usefixtures("plain_pictures")
@pytest.mark.filterwarnings("ignore:Glyph")
def test_pictures_show_it_as_it_is(text):
    p = Prevalence(
        0.3, n_labeled=9, n_unlabeled=9, method="PAT", distribution=distribution_of(0.2, 0.3, 0.4)
    )
    display = PrevalenceDisplay.from_predictions([p, p], [text, "x"], title=text, xlabel=text)
    display.figure_.canvas.draw()
    (tick, _) = display.ax_.get_xticklabels()
    shown = tick.get_text()
    assert not ACTING.search(shown)
    assert "\n" not in shown
    # What matplotlib makes of it: dollar signs that are escaped start no formula.
    assert tick._preprocess_math(shown) == (printable(text), False)
    mpl.pyplot.close(display.figure_)


def test_a_label_leaves_room_for_the_picture():
    assert len(plain("x" * 100_000)) < 100


def test_pages_escape_it(text):
    page = whole_page(text, f"<p>one\ntwo {text.replace('<', '')}</p>\n")
    assert not ACTING.search(page)
    assert "<script>" not in page
    assert "<script>" not in picture_element(b"", text)


def test_warnings_and_findings_are_on_one_line(text):
    assert "\n" not in str(AnswerWarning("code", text))
    rng = np.random.default_rng(0)
    table = {f"a{text}": rng.normal(size=200), f"b{text}": np.ones(200)}
    frame = pytest.importorskip("pandas").DataFrame(table)
    report = diagnose(PAT(random_state=0).fit(frame), frame.iloc[:150])
    assert not ACTING.search(str(report))
    assert all("\n" not in warning.sentence for warning in report.warnings)


# Spreadsheets


def results(*groups):
    p = Prevalence(0.25, n_labeled=10, n_unlabeled=8, method="PAT")
    return [Result({"=name": group}, p) for group in groups]


FORMULAS = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "=cmd|' /C calc'!A0",
    "\uff1d1+1",
    '=HYPERLINK("x")',
    "-",
    "+",
    "-inf",
    "-1e",
    "+49 30 1",
    "--1",
]
HARMLESS = ["north", "-0.5", "+3", "1e5", "-1.5e-7", " x", "", "2026-01-02", -0.5, 3, None, True]


def test_formulas_are_text_in_what_is_opened_in_a_spreadsheet():
    def written(*groups, **options):
        file = io.StringIO(newline="")
        write_csv([result.line(**options) for result in results(*groups)], file)
        return list(csv.reader(io.StringIO(file.getvalue(), newline="")))

    head, *rows = written(*FORMULAS, for_spreadsheet=True)
    assert head[0] == "'=name"
    assert [row[0] for row in rows] == [f"'{text}" for text in FORMULAS]
    assert written(*HARMLESS, for_spreadsheet=True)[1:] == written(*HARMLESS)[1:]
    head, *rows = written(*FORMULAS)
    assert head[0] == "=name"
    assert [row[0] for row in rows] == FORMULAS
