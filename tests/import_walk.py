"""Which module of poscount imports which: for the test of the rooms, the picture, the benchmark."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import poscount

SOURCE = Path(poscount.__file__).parent
FRONT_DOORS = {"__init__", "__main__"}  # they hand out what lives in the rooms


def room_of(file: Path) -> str:
    """Name of the room of a file, whose path starts below the package."""
    return file.parts[0].removesuffix(".py")


def source_files() -> list[Path]:
    """Python files of the package, below its folder."""
    return sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


def parsed(file: Path) -> ast.Module:
    """Syntax tree of a file."""
    return ast.parse((SOURCE / file).read_text(encoding="utf-8"))


def imported_modules(tree: ast.Module, *, waiting: bool = True) -> Iterator[str]:
    """Yield modules of poscount that a file imports, without the ``poscount.`` in front.

    Parameters
    ----------
    tree : ast.Module
    waiting : bool
        Also those that wait for a call or are under an ``if``, such as those for type checkers.

    Pictures that a result imports in its method ``plot`` are left out: it draws itself, but needs
    nothing of them to be computed.
    """
    drawn = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "plot"
        for child in ast.walk(node)
        if isinstance(child, ast.ImportFrom) and child.module == "poscount.plotting"
    }
    late = {
        child
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.If)
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in drawn or (node in late and not waiting):
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the room"
            package, _, place = (node.module or "").partition(".")
            if package != "poscount":
                continue
            for alias in node.names:
                below = SOURCE.joinpath(*place.split("."), f"{alias.name}.py")
                inside = not place or below.exists()
                yield f"{place}.{alias.name}".lstrip(".") if inside else place
        elif isinstance(node, ast.Import):
            for alias in node.names:
                package, _, place = alias.name.partition(".")
                if package == "poscount" and place:
                    yield place


def imported_rooms(tree: ast.Module) -> set[str]:
    """Rooms that a file imports from, wherever in the file it does so."""
    # `from poscount import __version__` is no room; a public name of the package would be.
    return {module.partition(".")[0] for module in imported_modules(tree)} - {"__version__"}


def edges() -> list[tuple[str, str]]:
    """Pairs of rooms of which the first imports from the second."""
    return sorted(
        {
            (room_of(file), room)
            for file in source_files()
            for room in imported_rooms(parsed(file))
            if room_of(file) not in FRONT_DOORS | {room}
        }
    )
