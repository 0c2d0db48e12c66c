"""The pages are in plain English: spelling, a prose linter, and the words of the house."""

import re

import pytest

pytest.importorskip("codespell_lib")
pytest.importorskip("proselint")

from prose import PAGES, ROOT, findings, of_the_house, prose

# The terms of docs/glossary.md.
GLOSSARY = (
    "Labelled positives",
    "Sample",
    "Share",
    "Interval",
    "Verdict",
    "Warning",
    "Overlap",
    "Drift",
    "Calibration",
    "Group, kind, target",
)


def test_nothing_is_found_in_the_pages():
    assert findings(PAGES) == []


@pytest.mark.parametrize(
    "mistake",
    [
        "It recieves rows.",
        "It counts the the rows.",
        "The positives were labeled.",
        'Run `pip install "poscount[web]"`.',
    ],
)
def test_mistakes_are_found(mistake, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\nA line.\n\n{mistake}\n")
    assert findings([page])


def test_code_is_not_read_as_english(tmp_path):
    text = "The value of `n_labeled` is a number.\n\n```python\ncolor = center\n```\n"
    assert "color" not in prose(text)
    assert prose(text).count("\n") == text.count("\n")
    assert not list(of_the_house(tmp_path / "page.md", text))


def test_the_glossary_has_ten_words():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert tuple(re.findall(r"^\*\*([^*]+)\*\*", text, re.MULTILINE)) == GLOSSARY
    assert len(GLOSSARY) == 10
