"""The code blocks of the pages: found, run, and compared with the output printed below them.

``python tests/doc_blocks.py PAGE ...`` writes the real output into the pages, for whoever edits
them.

A ``text`` block directly below a block of Python or of commands is its output. A block of Python
whose first line is ``# NAME.py`` is that file, for a command further down. A block that the tests
cannot run has a line ``*Not run by the tests: why.*`` above it. A page that adds to poscount itself
runs in a copy of the repository.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from poscount.example import load_example

ROOT = Path(__file__).parents[1]
# The report is written by `python -m research report`, and has no code.
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.name != "report.md"),
]
SHELLS = ("sh", "bash", "console")
OTHERS = ("text", "{toctree}", "{include}", "{image}", "{results}", "{raw}")

_BLOCK = re.compile(
    r"^```(?P<language>[^\n]*)\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<output>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
_REASON = re.compile(r"^\*Not run by the tests: ([^\n]+)\*\n\n\Z", re.MULTILINE)
_FILE = re.compile(r"# ([\w/]+\.py)\n")
IN_A_COPY = ("contributing.md",)
_COPIED = ("src", "research", "tests", "conftest.py", "pyproject.toml", "README.md")
_CI = re.compile(r"<!-- .ci/run executes exactly this command -->\n\Z")
# What a user without poscount does first; it needs the network.
_INSTALLS = re.compile(r"(?:python3? -m venv|(?:\S+/)?pip install)\b")


class Block(NamedTuple):
    """One block of a page.

    Attributes
    ----------
    language : str
    code : str
    output : str or None
        What the page says that it prints.
    why_not : str or None
        Why the tests do not run it.
    span : tuple of int
        Where the output is in the text of the page, or where it would be.
    """

    language: str
    code: str
    output: str | None
    why_not: str | None
    span: tuple[int, int]


def blocks(text: str) -> Iterator[Block]:
    """All blocks of a page, in order."""
    for match in _BLOCK.finditer(text):
        before = text[: match.start()]
        reason = _REASON.search(before)
        why_not = reason.group(1) if reason else None
        if _CI.search(before):
            why_not = "CI itself runs it"
        language = match["language"].partition(" ")[0]
        yield Block(language, match["code"], match["output"], why_not, match.span("output"))


def outputs(page: str, found: list[Block], folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page one after another, in a folder with the files of the example."""
    if page.endswith(IN_A_COPY):
        for name in _COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, folder / name)
    positives, trap, _ = load_example("pandas")
    positives.to_csv(folder / "positives.csv", index=False)
    trap.to_csv(folder / "trap.csv", index=False)
    names: dict[str, object] = {"__name__": page}
    with contextlib.chdir(folder), pd.option_context("display.width", 90):
        for block in found:
            if block.why_not is not None:
                continue
            if file := _FILE.match(block.code):
                Path(file[1]).write_text(block.code, encoding="utf-8")
            elif block.language == "python":
                yield block, _run_python(block.code, page, names)
            elif block.language in SHELLS:
                yield block, _run_shell(block.code)


def without_installation(commands: str) -> str:
    """Commands of a block, without those that install something first."""
    lines = []
    for line in commands.replace("\\\n", " ").splitlines():
        parts = [part.strip() for part in line.removeprefix("$ ").split("&&")]
        lines.append(" && ".join(part for part in parts if not _INSTALLS.match(part)))
    return "\n".join(line for line in lines if line).replace(".venv/bin/", "")


def _run_python(code: str, page: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, page, "exec"), names)
    return printed.getvalue()


def _run_shell(commands: str) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    # A copy of the repository, if that is where the commands run, comes first.
    found = os.pathsep.join([str(Path("src").resolve()), *filter(None, sys.path)])
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", without_installation(commands)],
        env=os.environ | {"PATH": path, "PYTHONPATH": found, "COLUMNS": "100", "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{commands}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def plain(output: str) -> str:
    """Output without the spaces and empty lines at the ends, which editors take away."""
    return "\n".join(line.rstrip() for line in output.strip("\n").splitlines())


def _write(page: Path, folder: Path) -> None:
    text = page.read_text(encoding="utf-8")
    pieces, end = [], 0
    for block, printed in outputs(page.name, list(blocks(text)), folder):
        if block.output is not None:
            pieces += [text[end : block.span[0]], plain(printed), "\n"]
            end = block.span[1]
        elif printed:
            print(f"{page.name}: printed, but not shown:\n{printed}")
    page.write_text("".join([*pieces, text[end:]]), encoding="utf-8")


if __name__ == "__main__":
    import tempfile

    import matplotlib as mpl

    mpl.use("agg")
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as temporary:
            _write(Path(name).resolve(), Path(temporary))
