"""What the commands print for people, and what --output writes."""

import csv
import io
import re
import subprocess
import sys

import pytest

from poscount import PAT, RCQ, Prevalence
from poscount.app.results import Result
from poscount.cli.output import emit_results
from poscount.cli.tables import bars, print_table
from poscount.example import example_path, load_example
from poscount.results.verdict import AnswerWarning
from terminal import seen_on_a_terminal

POSITIVES = str(example_path("positives.csv"))
TRAP = str(example_path("trap.csv.gz"))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "m.poscount"
    RCQ(random_state=0).fit(load_example("pyarrow").positives).save(path)
    return path


# Bars


def test_bars_have_one_axis_and_shrink_to_ascii():
    shares = [(0.0, 0.02), (0.05, 0.09), (0.1, 0.1)]
    assert bars(shares, "utf-8") == ("0-10 %", ["░░", "████░░░░", "████████"])
    for encoding in ("ascii", "cp1252", None, "no such encoding"):
        assert bars(shares, encoding) == ("0-10 %", ["--", "####----", "########"])


@pytest.mark.parametrize("share", [0.0, 0.001, 0.37, 0.5, 0.999, 1.0])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_bars_never_leave_their_column(share, encoding):
    for high in (share, (share + 1) / 2, 1.0):
        _, drawn = bars([(share, high), (1.0, 1.0)], encoding)
        assert len(drawn[0]) <= 8
        assert drawn[1] in ("█" * 8, "#" * 8)


def test_groups_have_bars_but_not_in_exact_formats(poscount_, model):
    command = ("quantify", model, TRAP, "--by", "night")
    lines = poscount_(*command).out.splitlines()
    assert lines[0].split()[1:3] == ["0-100", "%"]
    assert any("█" in line or "#" in line for line in lines[1:10])
    for form in ("csv", "json"):
        out = poscount_(*command, "--format", form).out
        assert not set("█░#") & set(out)
    assert "0-" not in poscount_("quantify", model, TRAP).out.splitlines()[0]


# Narrow terminals


class Terminal(io.StringIO):
    """Standard output that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self):
        return True


def printed(monkeypatch, columns, *table, **options):
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    print_table(*table, **options)
    return [line.rstrip() for line in unstyled(screen.getvalue()).splitlines()]


def unstyled(text):
    """Without what makes letters bold."""
    return re.sub("\x1b\\[[0-9;]*m", "", text)


TABLE = (
    ["night", "prevalence", "interval", "warnings"],
    [["2026-01-12", "0.250", "[0.200, 0.300]", "missing-differs"]],
    ["prevalence", "interval"],
)


def test_a_wide_terminal_gets_all_columns(monkeypatch):
    head, line = printed(monkeypatch, 80, *TABLE, spare=["warnings"])
    assert head.split() == TABLE[0]
    assert line.endswith("[0.200, 0.300]  missing-differs")


def test_a_narrower_one_does_without_what_can_be_spared(monkeypatch):
    assert printed(monkeypatch, 45, *TABLE, spare=["warnings"]) == [
        "night       prevalence        interval",
        "2026-01-12       0.250  [0.200, 0.300]",
    ]


def test_on_a_narrow_one_nothing_is_cut(monkeypatch):
    assert printed(monkeypatch, 30, *TABLE, spare=["warnings"]) == [
        "2026-01-12",
        "  prevalence 0.250,",
        "  interval [0.200, 0.300],",
        "  warnings missing-differs",
    ]


def test_a_real_terminal_is_never_too_narrow(model):
    columns = 40
    status, seen = seen_on_a_terminal(
        ["quantify", model, TRAP, "--by", "night"], columns, stderr=subprocess.DEVNULL
    )
    assert status == 0
    table = re.split(r"(?m)^(?:Check|Do not|No reason)", unstyled(seen.decode()))[0].splitlines()
    assert all(len(line.rstrip()) <= columns for line in table)
    assert "…" not in seen.decode()
    assert sum("[0." in line for line in table) == 1 + 9


# Warnings


def test_warnings_name_their_groups(capsys):
    def result(night, value):
        caution = AnswerWarning("few-rows", f"Only {value} rows.", value)
        p = Prevalence(0.5, n_labeled=9, n_unlabeled=9, method="PAT", warnings=[caution])
        return Result({"night": night, "trap": "north"}, p)

    emit_results([result("mon", 1.0), result(None, 3.0)], "table", None, None)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "warning for" in line)
    assert line == (
        "warning for night/trap mon/north, missing/north (worst: missing/north), few-rows: Only "
        "3.0 rows."
    )


# Results in files


def commands(model, tmp_path):
    labelled = tmp_path / "labels.csv"
    return {
        "quantify": ("quantify", model, TRAP, "--by", "night"),
        "estimate": ("estimate", POSITIVES, TRAP, "--method", "pat"),
        "trend": ("trend", model, TRAP, "--by", "night"),
        "plan": ("plan", "--error", "0.02"),
        "show": ("show", model),
        "settle": ("settle", model, TRAP, labelled),
    }


@pytest.mark.parametrize("name", ["quantify", "estimate", "trend", "plan", "show", "settle"])
def test_output_is_what_format_prints(poscount_, refused, model, tmp_path, name):
    command = commands(model, tmp_path)[name]
    if name == "settle":
        assert poscount_("audit", model, TRAP, "-o", command[-1]).status == 0
        with open(command[-1], newline="") as file:
            table = list(csv.DictReader(file))
        with open(command[-1], "w", newline="") as file:
            writer = csv.DictWriter(file, list(table[0]))
            writer.writeheader()
            for i, row in enumerate(table):
                writer.writerow({**row, "label": "yes" if i % 2 else "no"})
    for form in ("csv", "json"):
        file = tmp_path / f"result.{form.upper()}"
        plain = poscount_(*command)
        outcome = poscount_(*command, "-o", file)
        assert outcome.status == 0
        assert outcome.out == f"{plain.out}{file}: the result as {form.upper()}.\n"
        if name != "show" or form == "json":
            exact = poscount_(*command, "--format", form, "-o", file)
            assert exact.out == file.read_text(encoding="utf-8")
            assert f"{file}: the result as {form.upper()}.\n" in exact.err
    assert poscount_(*command, "-o", "-").out == plain.out
    sentence = "its extension names no format of this result; use .csv or .json."
    assert sentence in refused(*command, "-o", tmp_path / "result.txt")
    assert "no such directory" in refused(*command, "-o", tmp_path / "no" / "x.csv")


def test_output_is_never_an_input(refused, model, tmp_path):
    data = tmp_path / "u.csv"
    data.write_text(example_path("positives.csv").read_text())
    for command in (("quantify", model), ("estimate", POSITIVES), ("trend", model, "--by", "x")):
        assert "this is also an input" in refused(*command, data, "-o", data)


def test_findings_are_written_in_three_formats(poscount_, refused, tmp_path):
    example = load_example("pyarrow")
    model = tmp_path / "pat.poscount"
    PAT(random_state=0).fit(example.positives).save(model)
    for kind in ("txt", "json", "html"):
        file = tmp_path / f"found.{kind}"
        form = "json" if kind == "json" else "text"
        outcome = poscount_("diagnose", model, TRAP, "--format", form, "-o", file)
        text = file.read_text(encoding="utf-8")
        if kind == "html":
            assert text.startswith("<!DOCTYPE html>")
        else:
            assert text == outcome.out
    assert "use .html, .json or .txt." in refused("diagnose", model, TRAP, "-o", tmp_path / "x.pdf")
