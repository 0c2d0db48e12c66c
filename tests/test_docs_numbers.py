"""Numbers that pages quote are those of the committed results that they name."""

import csv
import re

import numpy as np
import pytest

from doc_blocks import ROOT
from doc_tables import DOCS, rows_of, table_below, tables

RESULTS = ROOT / "benchmarks" / "results"
SETS = ("A", "C", "L", "P", "R", "W", "q-g", "vowels")


def committed(name, folder="csv"):
    with open(DOCS / "reproduction" / folder / name, newline="", encoding="utf-8") as file:
        return {row["method"]: row for row in csv.DictReader(file)}


def page(name):
    """Text of a page on one line, so that its sentences are found whole."""
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())


def test_who_is_better_than_pat():
    found = committed("errors-1.csv")
    ran_by_the_paper = [name for name, row in found.items() if row["rank, paper's nine"]]
    assert len(ran_by_the_paper) == 9

    def better(names):
        return {
            (name, key)
            for name in names
            for key in (*SETS, "vowels-network")
            if float(found[name][key]) < float(found["PAT"][key])
        }

    ran = [*ran_by_the_paper, "min(ExTIcE, PAT)"]
    minimum = {("min(ExTIcE, PAT)", key) for key in ("C", "q-g", "vowels-network")}
    assert better(ran) == {("BFT (oracle)", "L")} | minimum
    assert {key for _, key in better(["AlphaMax"])} == {"W", "q-g", "vowels", "vowels-network"}
    text = page("reproduction/experiment-1.md")
    assert "a little better on C, q-g and vowels-network" in text
    assert "better than PAT on W, q-g, vowels and vowels-network" in text


def test_how_long_it_takes_to_start_anew():
    found = committed("seconds-quantify.csv", "earlier")
    transductive = set(found) - {"PAT", "ODIn", "RCQ", "BFT (oracle)"}
    ratios = {
        name: [float(found[name][key]) / float(found["RCQ"][key]) for key in SETS]
        for name in transductive
    }
    others = [ratio for name in transductive - {"TIcE"} for ratio in ratios[name]]
    quoted = f"take {min(others):.1f} to {max(others):.0f} times as long as RCQ"
    assert quoted in page("reproduction/README.md")
    km, tice = ratios["KM1 (as published)"], ratios["TIcE"]
    faster = sum(float(found["TIcE"][key]) < float(found["PAT"][key]) for key in SETS)
    text = page("reproduction/experiment-4.md")
    assert f"KM needs {min(km):.0f} to {max(km):.0f} times as long as RCQ" in text
    assert 1.95 < min(tice) < max(tice) < 3.15
    assert faster == 5
    assert "is faster than PAT on five of the eight data sets" in text


def test_how_often_intervals_hold():
    quoted = rows_of(DOCS / "intervals.md", "## How often it holds")
    found = committed("intervals-1.csv") | committed("trcq-intervals-1.csv", "earlier")
    assert len(quoted) == 4
    for name, row in quoted.items():
        held = [float(found[name][key]) for key in SETS]
        width = [float(found[name][f"{key} width"]) for key in SETS]
        assert [row[key] for key in SETS] == [f"{share:.0f}" for share in held]
        assert row["mean"] == f"{sum(held) / len(held):.1f}"
        assert row["width, points"] == f"{sum(width) / len(width):.1f}"


@pytest.mark.parametrize(
    ("column", "heading"),
    [
        ("eight real sets", "## Experiment #1"),
        ("one sub-class at a time", "## Experiment #3: one negative sub-class at a time"),
        ("constructed overlaps", "## Constructed overlaps"),
    ],
)
def test_the_table_that_helps_to_choose(column, heading):
    quoted = rows_of(DOCS / "choosing.md", "## Measured")
    found = rows_of(RESULTS / "rcq.md", heading)["mean"]
    for name, row in quoted.items():
        if name != "TRCQ":
            assert row[column] == found.get(name.lower(), "")


def test_trcq_in_experiment_1():
    found = committed("trcq-errors-1.csv", "earlier")["TRCQ"]
    errors = [float(found[key]) for key in SETS]
    quoted = rows_of(DOCS / "choosing.md", "## Measured")["TRCQ"]
    assert quoted["eight real sets"] == f"{np.mean(errors):.2f}"
    six = [error for error, key in zip(errors, SETS, strict=True) if key not in ("q-g", "vowels")]
    every = rows_of(RESULTS / "methods.md", "# Every method")["TRCQ"]
    assert every["MAE"] == f"{np.mean(six):.2f}"


def test_the_other_tasks():
    quoted = rows_of(DOCS / "choosing.md", "## Measured")
    found = rows_of(
        RESULTS / "rcq.md", "## Every other class of P, L, A and vowels as the positive one"
    )
    assert {name: quoted[name]["51 other tasks"] for name in quoted if name.lower() in found} == {
        name: found[name.lower()]["mean of the method"] for name in quoted if name.lower() in found
    }
    assert {row["mean of RCQ"] for row in found.values()} == {quoted["RCQ"]["51 other tasks"]}


def test_seconds_of_the_table_that_helps_to_choose():
    every = rows_of(RESULTS / "methods.md", "# Every method")
    for name, row in rows_of(DOCS / "choosing.md", "## Measured").items():
        assert row["CPU s a sample"] == every[name]["CPU s"]


def maes(name, heading):
    """Mean errors of the table below a heading of a results file, by method."""
    header, body = table_below(RESULTS / name, heading)
    return {row[0]: f"{float(row[header.index('MAE')].split()[0]):.1f}" for row in body}


def test_the_readme_s_table_is_of_the_committed_results():
    readme = rows_of(ROOT / "README.md", "## How good is it?")
    names = {"DEDPUL with trees", "BBE with trees", "DEDPUL", "BBE", "PAT"}
    assert len(readme) == len(names) + 2
    found = {
        "54 tables": maes("calibration.md", "## With unlabeled rows"),
        "of these, where an expert could tell": maes(
            "reference.md", "Recognisable tasks, 29 of them:"
        ),
        "twelve tables nobody had looked at": maes("untouched.md", "All tables, 12 of them:"),
    }
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for column, errors in found.items():
        assert {name: readme[name][column] for name in names} == {n: errors[n] for n in names}
        with_rows = errors["RCQ, other unlabeled rows"]
        assert readme["RCQ"][column] == with_rows
    first, *_, last = found.values()
    assert f"| from positives alone, `RCQ` | **{first['RCQ']}** |" in text
    assert f"| {last['RCQ']} |" in text


def numbers(text):
    return [float(number.replace(",", "")) for number in re.findall(r"[+-]?[\d,]*\.?\d+", text)]


def how_wrong():
    """Tables of the page, each with the page that it says it is taken from."""
    text = (DOCS / "how-wrong.md").read_text(encoding="utf-8")
    source = None
    for part in re.split(r"((?:^\|.*\n)+)", text, flags=re.MULTILINE):
        if part.startswith("|"):
            yield source, next(tables(part))[1]
        elif found := re.findall(r"[Ff]rom\s+\[[^]]*\]\s*\(([\w/.-]+\.md)", part):
            source = found[-1]


def test_the_page_of_errors_quotes_the_pages_it_names():
    """Every row is in one row of a table of that page, as shares or as percent."""
    found = list(how_wrong())
    assert len(found) == 3
    for source, body in found:
        text = (DOCS / source).read_text(encoding="utf-8")
        known = [set(numbers("|".join(row[1:]))) for _, rows in tables(text) for row in rows]
        for row in body:
            quoted = numbers("|".join(row[1:]))
            assert quoted, row
            assert any(
                all(n in there or round(n / 100, 6) in there for n in quoted) for there in known
            ), (source, row)


def test_every_figure_of_the_evidence_is_in_the_file_that_it_names():
    header, body = next(tables((DOCS / "evidence.md").read_text(encoding="utf-8")))
    assert header[:3] == ["claim", "figures", "from"]
    assert header[4:] == ["commit, date", "n", "independent"]
    assert len(body) > 12
    for claim, figures, source, *others in body:
        assert all(others), claim
        text = (RESULTS / source.strip("`")).read_text(encoding="utf-8")
        there = set(re.findall(r"(?<![\d.,])[+-]?\d*\.?\d+(?!\d)", text.replace(",", "")))
        for figure in re.findall(r"[+-]?\d*\.?\d+", figures):
            assert {figure, figure.removeprefix("0"), f"0{figure}"} & there, (claim, figure)


def test_the_comparison_is_that_of_the_committed_result():
    found = rows_of(
        RESULTS / "peers.md",
        "- *failures*: samples for which a method raised an error or gave no number.",
    )
    quoted = rows_of(DOCS / "comparison.md", "bold: where another method is better than RCQ.**")
    assert [name for name in found if not name.startswith("PULSCAR")] == list(quoted)
    ours = found["RCQ, null calibration"]
    for name, row in quoted.items():
        plain = {key: cell.strip("*") for key, cell in row.items()}
        assert plain == {key: found[name][key].strip("*") for key in plain}
        bold = {key for key, cell in row.items() if cell.startswith("**")}
        assert name.startswith("TRCQ") or bold == {
            key for key in "ACLPRW" if float(plain[key]) < float(ours[key])
        }


def decimals(text):
    found = re.findall(r"(?<![\w.])\d*\.\d+(?![\w.]*\d)", text.replace(",", ""))
    return {number.removeprefix("0") for number in found}


def percent(numbers):
    return {f"{100 * float(number):.10g}" for number in numbers}


def test_every_decimal_is_in_a_committed_result_or_printed_by_its_page():
    """Loose on purpose: from which file a figure is, tests above know where the page names one."""
    folder = DOCS / "reproduction"
    files = [*RESULTS.glob("*.md"), *folder.glob("*.md"), *folder.rglob("*.csv")]
    measured = decimals("\n".join(file.read_text(encoding="utf-8") for file in files))
    code = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
    missing = {}
    for path in [ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("cases/*.md")]:
        text = path.read_text(encoding="utf-8")
        known = measured | decimals("\n".join(code.findall(text)))
        prose = re.sub(r"\]\([^)]*\)|`[^`]*`|\$[^$]+\$", " ", code.sub(" ", text))
        plain = {number: f"{float(number):.10g}" for number in decimals(prose) - known}
        if rest := set(plain.values()) - percent(known):
            missing[path.name] = sorted(rest)
    assert missing == {}


def test_how_often_intervals_hold_over_tables():
    held = [
        float(row["held at .5 .8 .9 .95 .99"].split()[3])
        for row in rows_of(RESULTS / "calibration.md", "By table, means over tasks:").values()
    ]
    overall = rows_of(
        RESULTS / "calibration.md", "RCQ without unlabeled rows, on the samples of the bank itself:"
    )["all"]["held at .5 .8 .9 .95 .99"].split()[3]
    assert (
        f"each of {len(held)} (54 tables, kin together) was counted by a calibration that had not "
        f"seen it, and {100 * float(overall):.1f} % of the intervals held over all tasks, by data "
        f"set from {100 * min(held):.0f} % to {100 * max(held):.0f} %"
    ) in page("intervals.md")
