"""The code in README and documentation runs, page by page, and prints what the page says."""

import re
from itertools import pairwise

import pytest

from doc_blocks import OTHERS, PAGES, ROOT, SHELLS, blocks, outputs, plain, without_installation

TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
BLOCKS = {name: list(blocks(text)) for name, text in TEXTS.items()}
LIBRARIES = {
    "docs/engines.md": "duckdb",
    "docs/libraries.md": "quapy",
}
# The data are not part of poscount.
CASES = "docs/cases/"
# All blocks that are not run, and why: one more is a decision, not an accident.
NOT_RUN = {
    ("docs/rcq.md", "it takes minutes."),
    ("README.md", "CI itself runs it"),
    ("docs/install.md", "it needs the network."),
    ("docs/cases/text.md", "the texts change with the versions of the packages."),
    ("docs/reproduction/README.md", "it takes many hours."),
    ("docs/tutorial.md", "the server runs until it is stopped."),
    ("docs/web.md", "the server runs until it is stopped."),
    ("docs/web-api.md", "tests/web/test_api.py does, with a server of its own."),
}


@pytest.fixture
def answers_are_compared_whole():
    """Pages for users compare values by ``==``, as one does with floats."""


@pytest.mark.usefixtures("global_generator_untouched")
@pytest.mark.parametrize("page", [page for page, found in BLOCKS.items() if found])
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch, request):
    if page in LIBRARIES:
        pytest.importorskip(LIBRARIES[page])
    if page.startswith(CASES):
        monkeypatch.setenv("POSCOUNT_DATA", str(request.getfixturevalue("paper_directory")))
    monkeypatch.setenv("MPLBACKEND", "agg")
    for block, printed in outputs(page, BLOCKS[page], tmp_path):
        if block.output is not None:
            assert plain(printed) == plain(block.output)


def test_the_pages_are_found():
    assert set(LIBRARIES) <= {page for page, found in BLOCKS.items() if found}
    assert any(block.output for found in BLOCKS.values() for block in found)


@pytest.mark.parametrize("page", BLOCKS)
def test_every_fence_is_a_block_of_a_known_language(page):
    assert TEXTS[page].count("```") == sum(
        4 if block.output is not None else 2 for block in BLOCKS[page]
    )
    known = {"python", *SHELLS, *OTHERS}
    assert {block.language for block in BLOCKS[page]} <= known


def test_what_is_not_run_is_listed_here():
    found = {
        (page, block.why_not) for page, all_ in BLOCKS.items() for block in all_ if block.why_not
    }
    assert found == NOT_RUN


def test_only_installing_is_left_out():
    block = "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/poscount demo"
    assert without_installation(block) == "poscount demo"
    assert without_installation("poscount fit a \\\n-o b\n") == "poscount fit a  -o b"


@pytest.mark.parametrize("page", BLOCKS)
def test_scripts_that_measured_a_number_exist(page):
    paths = r"(?:python |`)((?:benchmarks|docs|examples|research)/[\w/]+\.py)"
    modules = r"python -m ((?:benchmarks|research)\.[\w.]*\w)"
    scripts = re.findall(paths, TEXTS[page])
    scripts += [f"{name.replace('.', '/')}.py" for name in re.findall(modules, TEXTS[page])]
    for script in scripts:
        assert (ROOT / script).exists(), script


@pytest.mark.parametrize("page", [*TEXTS, "CONTRIBUTING.md", "SECURITY.md"])
def test_links_to_files_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        # Sphinx makes the gallery.
        if not link.removeprefix("../").startswith(("https://", "auto_gallery/")):
            assert (ROOT / page).parent.joinpath(link).exists(), link


def test_the_pages_are_read_from_front_to_back():
    toctrees = re.findall(r"```{toctree}\n(.*?)```", TEXTS["docs/index.md"], re.DOTALL)
    order = re.findall(r"^[a-z]+(?:[-/][a-zA-Z_]+)*$", "\n".join(toctrees), re.MULTILINE)
    guide = order[: order.index("theory") + 1]
    assert guide[:5] == ["install", "tutorial", "faq", "problem", "how-it-works"]
    for page, after in pairwise(guide):
        followed = re.search(r"^Next: .*?\]\(([\w-]+)\.md", TEXTS[f"docs/{page}.md"], re.MULTILINE)
        assert followed, page
        assert followed[1] == after
