"""Draws docs/images/architecture.svg: the rooms, which imports which, and the way of a row.

Run it with ``python docs/images/make_architecture.py``; it needs matplotlib. The rooms and arrows
come from the import statements themselves. The picture carries what it was drawn from, and
``tests/test_porch.py`` compares that with the source.
"""

from __future__ import annotations

import functools
import itertools
import json
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.path import Path as Curve

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests"))
from import_walk import SOURCE, edges

PICTURE = Path(__file__).with_name("architecture.svg")
# From a Parquet file to a printed line. A room that comes twice does two things.
WAY = (
    "cli",
    "app",
    "engines",
    "files",
    "base",
    "data",
    "methods",
    "counts",
    "methods",
    "checks",
    "results",
    "cli",
)
BLUE, PALE, GREY, DARK = "#0072b2", "#e3f0f8", "#8a8a8a", "#222222"
WIDTH, HEIGHT, GAP, BEND = 1.3, 0.5, 0.22, 0.1  # of a box; between boxes; of a bend of an arrow
FLOOR = 1.0  # from one row of boxes to the next

Edge = tuple[str, str]
Node = str | tuple[str, str, int]  # a room, or the bend of an arrow as it passes a row of boxes


def floors(arrows: list[Edge]) -> dict[str, int]:
    """Number of rooms in the longest chain of imports that starts at a room, without itself."""
    imports = _imports(arrows)

    @functools.cache
    def floor(room: str) -> int:
        return max((floor(other) + 1 for other in imports.get(room, ())), default=0)

    return {room: floor(room) for room in sorted({*itertools.chain(*arrows)})}


def without_implied(arrows: list[Edge]) -> list[Edge]:
    """Leave out arrows between rooms that a longer way joins."""
    imports = _imports(arrows)

    @functools.cache
    def all_of(room: str) -> frozenset[str]:
        direct = imports.get(room, set())
        return frozenset(direct).union(*map(all_of, direct))

    return [
        (room, other)
        for room, other in arrows
        if not any(other in all_of(between) for between in imports[room] - {other})
    ]


def _imports(arrows: list[Edge]) -> dict[str, set[str]]:
    imports: dict[str, set[str]] = {}
    for room, other in arrows:
        imports.setdefault(room, set()).add(other)
    return imports


def bends(edge: Edge, floor: dict[str, int]) -> list[Node]:
    """Nodes that an arrow passes, one on each floor from the room to the one that it imports."""
    room, other = edge
    between = range(floor[room] - 1, floor[other], -1)
    return [room, *((room, other, level) for level in between), other]


def arranged(ways: list[list[Node]], floor: dict[str, int]) -> dict[Node, float]:
    """Horizontal places: every node near the nodes that it is joined to, and none on another."""
    levels: list[list[Node]] = [[] for _ in range(max(floor.values()) + 1)]
    joined: dict[Node, list[Node]] = {room: [] for room in floor}
    for way in ways:
        for node, following in itertools.pairwise(way):
            joined.setdefault(node, []).append(following)
            joined.setdefault(following, []).append(node)
    for node in joined:
        levels[floor[node] if isinstance(node, str) else node[2]].append(node)
    x = {node: float(i) for level in levels for i, node in enumerate(level)}
    for turn in range(60):
        for level in levels if turn % 2 else reversed(levels):
            wanted = {
                node: sum(x[other] for other in joined[node]) / len(joined[node]) for node in level
            }
            level.sort(key=wanted.__getitem__)
            _spread(level, wanted, x)
    return x


def _spread(level: list[Node], wanted: dict[Node, float], x: dict[Node, float]) -> None:
    """Put the nodes of a row as near to where they want to be as their widths allow."""
    # Neighbours that would touch stand side by side around the mean of what they want.
    blocks: list[tuple[list[Node], float, float]] = []  # nodes, their width, their middle
    for node in level:
        nodes, width, middle = [node], _width(node), wanted[node]
        while blocks and blocks[-1][2] + blocks[-1][1] / 2 > middle - width / 2:
            before, its_width, its_middle = blocks.pop()
            n, m = len(before), len(nodes)
            # What the nodes want of the block's middle, given where in the block each stands.
            middle = (n * (its_middle + width / 2) + m * (middle - its_width / 2)) / (n + m)
            nodes, width = before + nodes, width + its_width
        blocks.append((nodes, width, middle))
    for nodes, width, middle in blocks:
        left = middle - width / 2
        for node in nodes:
            x[node] = left + _width(node) / 2
            left += _width(node)


def _width(node: Node) -> float:
    return (WIDTH if isinstance(node, str) else BEND) + GAP


def main() -> None:
    """Draw it."""
    arrows = edges()
    floor = floors(arrows)
    on_the_way = {edge for edge in arrows if edge in set(itertools.pairwise(WAY))}
    drawn = sorted({*without_implied(arrows), *on_the_way})
    ways = [bends(edge, floor) for edge in drawn]
    x = arranged(ways, floor)
    left, right = min(x.values()) - WIDTH / 2 - GAP, max(x.values()) + WIDTH / 2 + GAP
    top, bottom = 0.5, -FLOOR * max(floor.values()) - 1.15
    plt.rcParams.update({"font.family": "DejaVu Sans", "svg.hashsalt": "architecture"})
    figure = plt.figure(figsize=(9, 9 * (top - bottom) / (right - left)), facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    ax.axis("off")
    for edge, way in zip(drawn, ways, strict=True):
        _arrow(ax, way, x, floor, BLUE if edge in on_the_way else GREY)
    for room, level in floor.items():
        _box(ax, room, x[room], -FLOOR * level)
    lines = (
        "An arrow goes from a room to one that it imports from; those that others imply are left "
        "out.",
        "Blue: the steps of a row of a Parquet file on its way to a printed line.",
    )
    for i, line in enumerate(lines):
        place = ((left + right) / 2, bottom + 0.55 - 0.3 * i)
        ax.text(*place, line, ha="center", va="center", fontsize=9.5, color=DARK)
    source = json.dumps({"arrows": arrows, "way": WAY})
    figure.savefig(PICTURE, metadata={"Creator": None, "Date": None, "Description": source})
    plt.close(figure)


def _arrow(
    ax: plt.Axes, way: list[Node], x: dict[Node, float], floor: dict[str, int], color: str
) -> None:
    room, *between, other = way
    points = [(x[room], -FLOOR * floor[str(room)] + HEIGHT / 2)]
    # A bend passes a row of boxes straight, from below it to above it.
    for node in between:
        y = -FLOOR * node[2]
        points += [(x[node], y - HEIGHT / 2), (x[node], y + HEIGHT / 2)]
    points.append((x[other], -FLOOR * floor[str(other)] - HEIGHT / 2))
    vertices, codes = [points[0]], [Curve.MOVETO]
    for i, (start, end) in enumerate(itertools.pairwise(points)):
        if i % 2:
            vertices.append(end)
            codes.append(Curve.LINETO)
        else:
            middle = (start[1] + end[1]) / 2
            vertices += [(start[0], middle), (end[0], middle), end]
            codes += [Curve.CURVE4] * 3
    ax.add_patch(
        FancyArrowPatch(
            path=Curve(vertices, codes), arrowstyle="-|>", mutation_scale=8, color=color, lw=0.9
        )
    )


def _box(ax: plt.Axes, room: str, x: float, y: float) -> None:
    steps = [str(i) for i, name in enumerate(WAY, 1) if name == room]
    edge, face = (BLUE, PALE) if steps else (GREY, "white")
    style = f"round,pad=0,rounding_size={HEIGHT / 5}"
    corner = (x - WIDTH / 2, y - HEIGHT / 2)
    ax.add_patch(
        FancyBboxPatch(corner, WIDTH, HEIGHT, boxstyle=style, fc=face, ec=edge, lw=1.1, zorder=3)
    )
    name = f"{room}/" if (SOURCE / room).is_dir() else room
    lift = 0.09 if steps else 0
    centred = {"ha": "center", "va": "center", "zorder": 4}
    ax.text(x, y + lift, name, fontsize=10, color=DARK, **centred)
    if steps:
        ax.text(x, y - 0.13, " and ".join(steps), fontsize=8, color=BLUE, weight="bold", **centred)


if __name__ == "__main__":
    main()
