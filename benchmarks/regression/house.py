"""The size of the house in numbers, and how many functions a row passes on its way.

``python benchmarks/house.py table`` prints one column of a Markdown table, to compare two commits;
``rooms`` which rooms import which, and the longest chain of imports; ``walks`` what is called most
on the three ways that a tracer follows: an array to its answer, a Parquet row to a line that the
command line prints for its group, and an upload to an answer on the page.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import io
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from import_walk import SOURCE, imported_modules  # noqa: E402

MOST_SHOWN = 12
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def table() -> None:
    """Print the numbers of this commit, each in a line of its own."""
    lines = {"": _commit()} | _numbers() | _public_names()
    for title, walk in walked().items():
        lines[f"functions passed: {title}"] = f"{len(walk.functions)} in {len(walk.files)} files"
        lines["with lambdas and comprehensions: " + title] = str(len(walk.calls))
    for name, value in lines.items():
        print(f"| {name} | {value} |")
        if not name:
            print("| --- | --- |")


def _commit() -> str:
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _numbers() -> dict[str, str]:
    """Files, lines, classes and functions of the package; lines of research and of the tests."""
    source = [SourceFile(path) for path in sorted(SOURCE.rglob("*.py"))]
    classes = [found for file in source for found in file.classes]
    functions = [found for file in source for found in file.functions]
    found = {
        "files of src": str(len(source)),
        "lines of src": f"{sum(file.n_lines for file in source):,}",
        "lines of code": f"{sum(file.n_code for file in source):,}",
        "lines of docstrings": f"{sum(file.n_docstrings for file in source):,}",
        "classes": str(len(classes)),
        "of them bundles": str(sum(map(_is_bundle, classes))),
        "functions": f"{len(functions):,}",
        "median file, lines": f"{statistics.median(file.n_lines for file in source):g}",
        "largest file, lines": _largest((file.n_lines, file.name) for file in source),
        "median function, lines": f"{statistics.median(n for n, _ in functions):g}",
        "largest function, lines": _largest(functions),
    }
    for folder in ("research", "tests", "benchmarks"):
        files = [SourceFile(path) for path in (ROOT / folder).rglob("*.py")]
        total = sum(file.n_lines for file in files)
        found[f"files and lines of {folder}"] = f"{len(files)}, {total:,}"
    return found


def _public_names() -> dict[str, str]:
    import poscount

    fitted = poscount.RCQ(random_state=0).fit(_rows(100))
    return {
        "public names of poscount": str(len(poscount.__all__)),
        "public names of a fitted RCQ": str(len([n for n in dir(fitted) if n[0] != "_"])),
    }


def _largest(sizes: Iterable[tuple[int, str]]) -> str:
    n_lines, name = max(sizes)
    return f"{n_lines} ({name})"


def _is_bundle(node: ast.ClassDef) -> bool:
    """Whether a class is a dataclass, a NamedTuple or a TypedDict."""
    made_by = [ast.unparse(each).partition("(")[0] for each in (*node.decorator_list, *node.bases)]
    return any(
        name.rpartition(".")[2] in ("dataclass", "NamedTuple", "TypedDict") for name in made_by
    )


class SourceFile:
    """A file of Python, with numbers of lines.

    A line of code is one that is neither empty nor a comment alone, nor part of a docstring.
    """

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        lines, nodes = text.splitlines(), list(ast.walk(ast.parse(text)))
        self.name = str(path.relative_to(ROOT))
        self.n_lines = len(lines)
        docstrings = {
            number
            for node in nodes
            if isinstance(node, ast.Module | ast.ClassDef | _FUNCTION) and ast.get_docstring(node)
            for number in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
        }
        self.n_docstrings = len(docstrings)
        self.n_code = sum(
            number not in docstrings and line.strip() != "" and not line.strip().startswith("#")
            for number, line in enumerate(lines, start=1)
        )
        self.classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        self.functions = [
            ((node.end_lineno or 0) - node.lineno + 1, f"{self.name}: {node.name}")
            for node in nodes
            if isinstance(node, _FUNCTION)
        ]


def rooms() -> None:
    """Print which rooms import which, and the longest chain of imports."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
    # Imports inside functions are left out: they run only when the function is called.
    imports = {
        _module(path): set(imported_modules(tree, waiting=False)) - {"__version__"}
        for path, tree in trees.items()
    }
    chain = max((_longest(module, imports) for module in imports), key=len)
    print(f"longest import chain {len(chain)}: {' > '.join(chain)}")
    found: dict[str, set[str]] = {}
    for module, imported in imports.items():
        found.setdefault(_room(module), set()).update(map(_room, imported))
    print("room, files, rooms that import it, rooms that it imports")
    for room in sorted(found):
        fan_in = sum(room in others and name != room for name, others in found.items())
        n_files = sum(_room(module) == room for module in imports)
        print(f"{room:14} {n_files:3} {fan_in:3} {len(found[room] - {room, ''}):3}")


def _module(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def _room(module: str) -> str:
    return module.partition(".")[0]


def _longest(module: str, imports: dict[str, set[str]]) -> tuple[str, ...]:
    @functools.cache
    def below(name: str) -> tuple[str, ...]:
        further = [below(other) for other in imports.get(name, ()) if other != name]
        return (name, *max(further, key=len, default=()))

    return below(module)


class _Walk:
    """Counts calls of functions of poscount, in all threads, while it is entered."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()

    def __enter__(self) -> _Walk:
        threading.setprofile(self._seen)
        sys.setprofile(self._seen)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _seen(self, frame: Any, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(str(SOURCE)):
            self.calls[os.path.relpath(file, SOURCE), frame.f_code.co_qualname] += 1

    @property
    def functions(self) -> list[str]:
        """Those that have a name, unlike lambdas and comprehensions."""
        return [name for _, name in self.calls if not name.endswith(">")]

    @property
    def files(self) -> set[str]:
        return {file for file, _ in self.calls}


def walks() -> None:
    """Print what is called most on each way."""
    for title, walk in walked().items():
        n_files, n_calls = len(walk.files), walk.calls.total()
        print(f"{title}: {len(walk.functions)} functions in {n_files} files, {n_calls} calls")
        for (file, name), n in walk.calls.most_common(MOST_SHOWN):
            print(f"    {n:5} {file}: {name}")


def walked() -> dict[str, _Walk]:
    """Walk the three ways; each is run once before, so that imports and caches do not count."""
    import pyarrow.parquet

    from poscount.example import load_example

    positives, trap, _ = load_example("pyarrow")
    found = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pyarrow.parquet.write_table(trap, "trap.parquet")
        pyarrow.parquet.write_table(positives, "positives.parquet")
        for title, way in (
            ("RCQ's quantify of an array", _array()),
            ("the command line's quantify --by", _command_line()),
            ("two uploads and an estimate on the page", _page(folder)),
        ):
            way()
            with _Walk() as walk:
                way()
            found[title] = walk
    return found


def _rows(n: int) -> Any:
    import numpy as np

    return np.random.default_rng(0).normal(size=(n, 4))


def _array() -> Callable[[], object]:
    from poscount import RCQ

    model = RCQ(random_state=0).fit(_rows(300))
    return lambda: model.quantify(_rows(800))


def _command_line() -> Callable[[], object]:
    from poscount.cli.app import app

    def run(*words: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            app(list(words))

    run("fit", "positives.parquet", "-o", "model.poscount")
    return lambda: run("quantify", "model.poscount", "trap.parquet", "--by", "night")


def _page(folder: str) -> Callable[[], object]:
    """What the page's workers do with an uploaded file of each kind and one press of a button."""
    from poscount.files.read_options import ReadOptions
    from poscount.web.schemas import EstimateRequest, Limits
    from poscount.web.tasks import EstimateTask, InspectTask, Upload
    from poscount.web.worker import run

    positives, unlabeled = (
        Upload(
            *(name, name, role, f"{folder}/{name}", ReadOptions()),
            description=f"{folder}/{name}.json",
        )
        for name, role in (("positives.parquet", "positives"), ("trap.parquet", "unlabeled"))
    )
    inspections = [InspectTask(file, (), (), Limits()) for file in (positives, unlabeled)]
    estimate = EstimateTask(
        directory=folder,
        wanted=EstimateRequest(by=["night"]),
        positives=positives,
        unlabeled=(unlabeled,),
        positives_format=ReadOptions(),
        read_options=ReadOptions(),
        example=False,
        most_groups=Limits().groups,
    )

    def way() -> None:
        for task in (*inspections, estimate):
            outcome = run(task, lambda step, fraction: None)
            assert "done" in outcome, outcome

    return way


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["table", "rooms", "walks"])
    {"table": table, "rooms": rooms, "walks": walks}[parser.parse_args().what]()
