"""The Python in the documentation runs, page by page, without a warning."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
BLOCKS = {
    page.name: re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    for page in sorted(DOCS.glob("*.md"))
}
LIBRARIES = {
    "engines.md": "duckdb",
    "quapy.md": "quapy",
    "mlquantify.md": "mlquantify",
    "pyod.md": "pyod",
}


@pytest.mark.usefixtures("global_generator_untouched")
@pytest.mark.parametrize("page", [page for page, blocks in BLOCKS.items() if blocks])
def test_the_python_of_a_page_runs(page, tmp_path, monkeypatch):
    if page in LIBRARIES:
        pytest.importorskip(LIBRARIES[page])
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in BLOCKS[page]:
        exec(compile(block, page, "exec"), names)


def test_the_pages_are_found():
    assert set(LIBRARIES) <= {page for page, blocks in BLOCKS.items() if blocks}
