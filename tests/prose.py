"""The English of the pages: spelling, a prose linter, and the words of the house.

``python tests/prose.py [PAGE ...]`` prints what it finds, with line numbers. Code, links' targets,
formulas and comments are left out, and so are tables and headings where the linter reads sentences.
"""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# The report is written by `python -m research report`.
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(
        page
        for page in (ROOT / "docs").rglob("*.md")
        if page.name != "report.md" and not {"_build", "auto_gallery"} & set(page.parts)
    ),
]
# False positive and negative rates, and a file format.
KNOWN_WORDS = "fpr,fnr,ods,nd"
# What typewriters have; and words and names that mean something else here.
NOT_OURS = (
    "typography.symbols",
    "typography.diacritical_marks",
    "needless_variants",
    "dates_times",
)
# British spelling, except "unlabeled", which is that of the code and of the literature; and words
# that readers stumbled over.
INSTEAD = {
    r"\blabel(?:ed|ing)\b": "labelled, labelling",
    r"\bunlabelled\b": "unlabeled",
    r"\bcolors?\b|\bcolored\b": "colour",
    r"\bcenters?\b|\bcentered\b": "centre",
    r"\bbehaviors?\b": "behaviour",
    r"\bneighbors?\b": "neighbour",
    r"\bfavor": "favour",
    r"\bgray\b": "grey",
    r"\b(?:standard|normal|recogn|minim|maxim|optim|summar|general|initial|real|organ)iz": "-is-",
    r"\banalyz": "analys-",
    r"\bcatalog\b": "catalogue",
    r"\bmodeling\b|\bmodeled\b": "modelling, modelled",
    r"\bof (?:which|whom) nobody knows\b": "whose class is unknown",
    r"\bworth while\b": "worthwhile",
    r"\bin the mean\b": "on average",
    r'\bpip install "poscount\[': 'pip install ".[..." outside of error messages',
}
# Only an environment that already has poscount, or its wheels, can install an extra by this name.
NAMED_INSTALLS = {"install.md", "CHANGELOG.md"}

_LEFT_OUT = re.compile(
    r"^```.*?^```$|^ {4,}\S[^\n]*$|<!--.*?-->|\$\$.*?\$\$|\$[^$\n]+\$|(?<=\])\([^)\s]+\)"
    r"|``.+?``|`[^`]+`|https?://\S+",
    re.DOTALL | re.MULTILINE,
)
_NO_SENTENCE = re.compile(r"^(?:\||#|\*Not run by)[^\n]*$", re.MULTILINE)


def prose(text: str) -> str:
    """Blank out what is not English, and keep the lines and columns of the rest."""
    return _LEFT_OUT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


@functools.cache
def _linter() -> Any:
    # Imported here, because pytest looks for doctests also where it is not installed.
    from proselint.checks import __register__
    from proselint.registry import CheckRegistry
    from proselint.tools import LintFile

    CheckRegistry().register_many(__register__)
    return LintFile


def of_the_linter(page: Path, text: str) -> Iterator[str]:
    """What proselint says about the sentences."""
    # A mark takes the place of what is left out, so that its neighbours do not meet.
    sentences = _LEFT_OUT.sub(lambda match: re.sub(r"[^\n]", ";", match[0]), text)
    sentences = _NO_SENTENCE.sub(";", sentences)
    for found in _linter()(page.name, sentences).lint():
        result = found.check_result
        if not result.check_path.startswith(NOT_OURS):
            yield f"{page.name}:{found.pos[0]}: {result.message}"


def of_the_house(page: Path, text: str) -> Iterator[str]:
    """Words that we write otherwise."""
    english = prose(text)
    for pattern, instead in INSTEAD.items():
        where = text if pattern.endswith(r"\[") else english
        if where is text and page.name in NAMED_INSTALLS:
            continue
        for match in re.finditer(pattern, where, re.IGNORECASE):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{page.name}:{line}: {match[0]!r}; write {instead}"


def of_the_speller(pages: list[Path]) -> list[str]:
    """What codespell finds, in code and comments, too."""
    done = subprocess.run(
        [sys.executable, "-m", "codespell_lib", "-L", KNOWN_WORDS, *map(str, pages)],
        capture_output=True,
        text=True,
        check=False,
    )
    return (done.stdout + done.stderr).splitlines()


def findings(pages: list[Path]) -> list[str]:
    """Everything that is found in some pages."""
    found = of_the_speller(pages)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        found += [*of_the_linter(page, text), *of_the_house(page, text)]
    return found


if __name__ == "__main__":
    found = findings([Path(name) for name in sys.argv[1:]] or PAGES)
    print(*found, sep="\n")
    sys.exit(bool(found))
