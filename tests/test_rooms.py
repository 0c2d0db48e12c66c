"""The house: a room imports only from rooms above it, and every folder says what lives there."""

import ast
from pathlib import Path

import pytest

from import_walk import (
    FRONT_DOORS,
    SOURCE,
    imported_modules,
    imported_rooms,
    parsed,
    room_of,
    source_files,
)

ROOMS = [
    "printable",
    "errors",
    "seeds",
    "threads",
    "compiling",
    "results",
    "storage",
    "data",
    "counts",
    "base",
    "scorers",
    "calibration",
    "checks",
    "methods",
    "registry",
    "auditing",
    "theory",
    "judging",
    "change",
    "plotting",
    "files",
    "example",
    "engines",
    "diagnostics",
    "app",
    "training",
    "interop",
    "web",
    "cli",
]

# Front ends come in by these rooms; what else they need is behind the door of `app`.
FRONT_ENDS = {"cli", "web"}
OPEN_TO_FRONT_ENDS = {
    "app",
    "training",
    "example",
    "theory",
    "registry",
    "errors",
    "printable",
    "results",
    "cli",
    "web",
}
# What the door would only pass on: how files are written, how they are read and written.
ALSO_OPEN = {
    "files.read_options",
    "files.guessed_options",
    "files.arrow",
    "storage.writer",
    "plotting.page",
}

FILES = source_files()


def test_the_walk_sees_what_it_should():
    source = (
        "from poscount.base.quantifier import X\nimport poscount.counts.counts\nimport poscount\n"
        "def f():\n  from poscount import __version__, y\n"
        "def plot():\n  from poscount.plotting import z"
    )
    assert imported_rooms(ast.parse(source)) == {"base", "counts", "y"}
    elsewhere = ast.parse("def draw():\n  from poscount.plotting import z")
    assert imported_rooms(elsewhere) == {"plotting"}
    assert Path("methods/pat.py") in FILES


@pytest.mark.parametrize("file", FILES, ids=str)
def test_every_file_is_in_a_room_that_the_list_knows(file):
    assert room_of(file) in {*ROOMS, *FRONT_DOORS}


@pytest.mark.parametrize("file", [f for f in FILES if room_of(f) not in FRONT_DOORS], ids=str)
def test_a_room_imports_only_from_rooms_above_it(file):
    room = room_of(file)
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    assert imported_rooms(parsed(file)) <= allowed


@pytest.mark.parametrize("file", FILES, ids=str)
def test_the_package_needs_nothing_of_the_repository_around_it(file):
    nodes = list(ast.walk(parsed(file)))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    assert not {name.partition(".")[0] for name in names} & {"benchmarks", "research", "tests"}


@pytest.mark.parametrize("file", [f for f in FILES if room_of(f) in FRONT_ENDS], ids=str)
def test_front_ends_come_in_by_the_door(file):
    modules = set(imported_modules(parsed(file))) - ALSO_OPEN - {"__version__"}
    assert {module.partition(".")[0] for module in modules} <= OPEN_TO_FRONT_ENDS


@pytest.mark.parametrize("folder", [f for f in FILES if f.name == "__init__.py"], ids=str)
def test_every_folder_says_what_lives_there(folder):
    sentence = ast.get_docstring(parsed(folder))
    assert sentence
    assert sentence.splitlines()[0].endswith(".")


@pytest.mark.parametrize("file", FILES, ids=str)
def test_every_file_says_what_it_is_for(file):
    assert ast.get_docstring(parsed(file))


def test_every_folder_is_a_package():
    folders = {path.parent for path in SOURCE.rglob("*.py")}
    assert all((folder / "__init__.py").exists() for folder in folders)
