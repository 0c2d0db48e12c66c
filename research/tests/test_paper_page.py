"""The page that reads the paper closely: its numbers are recomputed on the page itself."""

import math
import re
from pathlib import Path

import pytest

from research import published
from research.report import claims

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Quoted from the paper; names of experiments, as in #3-c; formulas, code and addresses.
NO_NUMBER_OF_OURS = re.compile(r'"[^"]*"|#\d|\$\$.*?\$\$|\$[^$]*\$|`[^`]*`|\]\([^)]*\)', re.DOTALL)
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def sections():
    page = DOCS / "reproduction" / "close-reading.md"
    return re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]


def numbers_of_prose(section):
    prose = NO_NUMBER_OF_OURS.sub(" ", BLOCK.sub(" ", section))
    prose = re.sub(r"^\d\. ", "", prose, flags=re.MULTILINE)  # of a list
    return set(NUMBER.findall(prose))


@pytest.mark.parametrize("section", sections(), ids=lambda text: text.split("\n", 1)[0])
def test_every_number_of_the_prose_is_printed_by_a_block(section):
    # tests/test_docs.py runs the blocks and compares what they print.
    printed = [text for language, text in BLOCK.findall(section) if language == "text"]
    assert numbers_of_prose(section) <= set(NUMBER.findall("\n".join(printed)))


def test_a_number_that_nothing_computes_is_seen():
    section = 'Title\n\nIt is 7.5, not "8.1" as in #1.\n\n```text\n8.1\n```\n'
    assert numbers_of_prose(section) == {"7.5"}


def items():
    """Rows of the table of items: number, what it is, whether it is here, where, remark."""
    text = (DOCS / "reproduction" / "items.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if re.match(r"\| \d", line)]
    return text, [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_item_has_a_place_or_a_reason():
    text, rows = items()
    assert [row[0] for row in rows] == [str(i) for i in range(1, 127)]
    for _, _, here, where, remark in rows:
        assert here in {"yes", "differs", "no"}
        assert where if here != "no" else remark
        assert remark if here == "differs" else True
        assert not where or re.search(r"`[\w/.]+`|\]\([^)]+\)", where)
    quoted = [
        len(rows),
        *(sum(row[2] == name for row in rows) for name in ("yes", "differs", "no")),
    ]
    assert re.findall(r"\d+", text.split("| #", 1)[0]) == [str(number) for number in quoted]


def test_the_paths_of_items_exist():
    """Links to pages are followed by tests/test_docs.py."""
    text, _ = items()
    paths = re.findall(r"`(\w+/[\w/.]+)`", text)
    assert len(paths) > 100
    assert [path for path in paths if not (DOCS.parent / path).is_file()] == []
    examples = re.findall(r"auto_gallery/(\w+)\.rst", text)
    assert [e for e in examples if not (DOCS / "gallery" / f"{e}.py").is_file()] == []


def test_the_printed_time_ranks_are_those_with_km_between_tice_and_extice_on_h():
    """The row of ranks of the paper's table of seconds, by hand from the paper."""
    printed = {"EN_auto": 4.3, "EN_scale": 3.4, "PE": 8.0, "KM": 6.6, "TIcE": 4.2, "ExTIcE": 6.4}
    printed |= {"PAT_M": 2.1, "PAT_M_quantify_only": 1.0}
    assert claims.time_ranks(100) == pytest.approx(printed)
    last = claims.time_ranks()
    differs = {name for name in printed if not math.isclose(last[name], printed[name])}
    assert differs == {"PE", "KM", "ExTIcE"}


def test_time_ratios_leave_out_what_was_not_measured():
    # KM on H; 23.12 / 4.78 on A is not the smallest: 15.10 / 3.72 on L is.
    low, high = claims.time_ratio("KM", "TIcE")
    assert low == pytest.approx(15.10 / 3.72)
    assert high == pytest.approx(150.89 / 2.35)


def test_in_the_paper_pat_is_faster_than_tice_everywhere():
    """docs/reproduction/experiment-4.md says so: 1.68 and 2.35 s on R are the nearest."""
    assert claims.time_ratio("TIcE", "PAT_M")[0] == pytest.approx(2.35 / 1.68)


def test_the_recurrence_without_the_slip():
    for m in range(1, 12):
        assert claims.tree_cost(m, 2.0**12) == 2.0**12 * m * (m + 1) / 2


def test_better_methods_by_hand():
    # #1, A: EN 10.78 and 11.14, ExTIcE 13.12. #3-a, B: min 2.86, PAT 3.21.
    assert claims.beaten_by("1", "ExTIcE", claims.PU) == [("A", "EN_auto"), ("A", "EN_scale")]
    assert claims.lower_error("3a", "min(ExTIcE,PAT_M)", "PAT_M") == "B"
    # KM has no cell on H, which decides nothing there.
    assert "H" not in claims.lower_error("1", "ExTIcE", "KM1")
    assert claims.lower_error("1", "ExTIcE", "KM1") == "NIABCLPRW"


def test_cells_above_counts_no_rank():
    assert claims.cells_above(0) == sum(letter != "rank" for _, letter, _ in published.tables())
