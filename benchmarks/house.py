"""The shape of the code in numbers, and how many functions a row passes on its way.

``python benchmarks/house.py shape`` counts files, lines, functions and imports;
``python benchmarks/house.py walks`` follows three ways with a tracer and counts the functions and
files of poscount that they enter, and those that are called more than once for one answer:
a Parquet row to a printed line, an upload to an answer, one evaluation of ``reproduce``.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import io
import os
import statistics
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from import_walk import SOURCE, imported_modules

MOST_SHOWN = 12


def shape() -> None:
    """Print the numbers of the source."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(SOURCE.rglob("*.py"))}
    lines = {path: len(path.read_text().splitlines()) for path in trees}
    functions = [
        (node.end_lineno - node.lineno + 1, f"{path.relative_to(SOURCE)}:{node.name}")
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    largest = max(lines, key=lines.__getitem__)
    print(f"files {len(lines)}, lines {sum(lines.values())}")
    print(
        f"file: median {statistics.median(lines.values()):g}, largest {lines[largest]} "
        f"({largest.relative_to(SOURCE)})"
    )
    n_lines, name = max(functions)
    print(f"function: median {statistics.median(n for n, _ in functions):g}, ", end="")
    print(f"largest {n_lines} ({name}), number {len(functions)}")
    # Imports inside functions are left out: they run only when the function is called.
    imports = {
        _module(path): set(imported_modules(tree, waiting=False)) - {"__version__"}
        for path, tree in trees.items()
    }
    chain = max((_longest(module, imports) for module in imports), key=len)
    print(f"longest import chain {len(chain)}: {' > '.join(chain)}")
    rooms: dict[str, set[str]] = {}
    for module, imported in imports.items():
        rooms.setdefault(_room(module), set()).update(map(_room, imported))
    print("room, files, rooms that import it, rooms that it imports")
    for room in sorted(rooms):
        fan_in = sum(room in others and name != room for name, others in rooms.items())
        n_files = sum(_room(module) == room for module in imports)
        print(f"{room:14} {n_files:3} {fan_in:3} {len(rooms[room] - {room, ''}):3}")


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
        name = frame.f_code.co_qualname
        if event == "call" and file.startswith(str(SOURCE)) and not name.endswith(">"):
            self.calls[os.path.relpath(file, SOURCE), name] += 1

    def show(self, title: str) -> None:
        files = {file for file, _ in self.calls}
        print(f"{title}: {len(self.calls)} functions in {len(files)} files, ", end="")
        print(f"{self.calls.total()} calls")
        for (file, name), n in self.calls.most_common(MOST_SHOWN):
            print(f"    {n:5} {file}: {name}")


def walks() -> None:
    """Walk the three ways; each is run once before, so that imports and caches do not count."""
    import pyarrow.parquet

    from poscount.datasets import load_example

    positives, trap, _ = load_example("pyarrow")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pyarrow.parquet.write_table(trap, "trap.parquet")
        pyarrow.parquet.write_table(positives, "positives.parquet")
        for title, way in (
            ("a Parquet row to a printed line", _command_line(folder)),
            ("an upload to an answer", _page(folder)),
            ("one evaluation of reproduce", _evaluation()),
        ):
            way()
            with _Walk() as walk:
                way()
            walk.show(title)


def _command_line(folder: str) -> Callable[[], None]:
    from poscount.cli.app import app

    def run(*words: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            app(list(words))

    run("fit", "positives.parquet", "-o", "model.poscount")
    return lambda: run("quantify", "model.poscount", "trap.parquet", "--by", "night")


def _page(folder: str) -> Callable[[], None]:
    """What the page's workers do with an uploaded file of each kind and one press of a button."""
    from poscount.web.limits import Limits
    from poscount.web.schemas import EstimateRequest
    from poscount.web.tasks import EstimateTask, InspectTask
    from poscount.web.uploads import Upload
    from poscount.web.worker import run
    from poscount.workflows import CsvFormat

    positives, unlabeled = (
        Upload(name, name, role, f"{folder}/{name}", CsvFormat())
        for name, role in (("positives.parquet", "positives"), ("trap.parquet", "unlabeled"))
    )
    inspections = [InspectTask(file, Limits()) for file in (positives, unlabeled)]
    estimate = EstimateTask(
        directory=folder,
        wanted=EstimateRequest(by=["night"]),
        positives=positives,
        unlabeled=(unlabeled,),
        positives_format=CsvFormat(),
        csv_format=CsvFormat(),
        example=False,
        most_groups=Limits().groups,
    )

    def way() -> None:
        for task in (*inspections, estimate):
            outcome = run(task, lambda step, fraction: None)
            assert "done" in outcome, outcome

    return way


def _evaluation() -> Callable[[], None]:
    from poscount.datasets import load
    from poscount.experiments import methods, protocols
    from poscount.experiments.runner import Unit, evaluate

    dataset = load("overlap-half")
    place = next(protocols.places("1", dataset, 1))
    unit = Unit(place, (methods.resolve("pat"),))
    return lambda: list(evaluate(dataset, unit, 0)) and None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["shape", "walks"])
    {"shape": shape, "walks": walks}[parser.parse_args().what]()
