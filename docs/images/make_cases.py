"""Runs the code of docs/cases, which draws their pictures, and writes the output into the pages.

Run it with ``python docs/images/make_cases.py [sensor ...]``, then ``python docs/images/made.py``;
both need pandas, matplotlib and the data sets (POSCOUNT_DATA). It also runs the blocks that the
tests cannot compare.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
from doc_blocks import ROOT, blocks, outputs, plain

CASES = ("sensor", "pulsars", "register", "text")


def printed(case: str, folder: Path) -> list[tuple[tuple[int, int], str]]:
    """Run a page's blocks in a folder: where the output of each is in the page, and the output."""
    text = (ROOT / "docs" / "cases" / f"{case}.md").read_text(encoding="utf-8")
    found = [block._replace(why_not=None) for block in blocks(text) if block.language == "python"]
    return [
        (block.span, output)
        for block, output in outputs(f"docs/cases/{case}.md", found, folder)
        if block.output is not None
    ]


def write(case: str, found: list[tuple[tuple[int, int], str]]) -> None:
    """Put outputs into the page."""
    page = ROOT / "docs" / "cases" / f"{case}.md"
    text = page.read_text(encoding="utf-8")
    for (start, end), output in reversed(found):
        text = f"{text[:start]}{plain(output)}\n{text[end:]}"
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Write what the pages print."""
    for case in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            write(case, printed(case, Path(folder)))


if __name__ == "__main__":
    main()
