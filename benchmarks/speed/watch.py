"""Every figure that the scale page quotes, measured as a ratio to a baseline in the same run.

python -m benchmarks.speed.watch run  # measure, print a table, add to the history
python -m benchmarks.speed.watch run --only groups extice  # figures whose names contain these
python -m benchmarks.speed.watch compare HEAD~1 HEAD  # two commits, each in a worktree of its own
python -m benchmarks.speed.watch write benchmarks/results/speed.md  # put the last figures there
python -m benchmarks.speed.watch draw history.png  # the figures of every run in the history

**A figure** is a baseline and a candidate that run in turns, so that a busy machine slows both. Its
ratio is the median of candidate / baseline over the turns; the interval is the one between order
statistics that holds the true median with at least 95 %, whatever the distribution. Every figure is
measured in a process of its own, with one BLAS thread.

**To add figures**, put them into a file ``benchmarks/speed/watched_*.py`` that defines a list
`FIGURES`::

    from benchmarks.speed.watch import Figure, Pair

    def parquet_scan() -> Pair:
        path = write_the_file()
        return Pair(baseline=lambda: scan(path), candidate=lambda: count_files(model, path))

    FIGURES = [Figure("RCQ from Parquet / scan, 2 cores", parquet_scan, ratio_at_most=2.0)]

The function prepares what both need, and is called once, in the process that measures. Both are
called once before the clock starts, unless ``warm=False``. Either may return a float, such as
megabytes or the seconds that a child process took, which is then used instead of the time. The
clock is that of the wall; ``clock=time.process_time`` is steadier for work in one thread of this
process.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HISTORY = HERE / "watch_history.jsonl"
BEGIN, END = "<!-- watch: begin {} -->", "<!-- watch: end -->"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "dask", "pyspark")


class Pair(NamedTuple):
    """Two callables that take turns; each may return a float instead of being timed."""

    baseline: Callable[[], object]
    candidate: Callable[[], object]


class Figure(NamedTuple):
    """What is measured, and what it should be.

    Attributes
    ----------
    name : str
        As "candidate / baseline, circumstances".
    prepare : callable
        Makes the `Pair`.
    ratio_at_most, value_at_most : float, optional
        Targets for the ratio and for the candidate's own median.
    unit : str
        Of baseline and candidate.
    turns : int
        How many, if the run does not say. Fewer than six have no interval of 95 %.
    warm : bool
        Whether both run once before the clock starts; not for what takes a minute.
    clock : callable
        `time.perf_counter`, or `time.process_time` for work in one thread.
    hidden : tuple of str
        Modules that cannot be imported, such as numba.
    """

    name: str
    prepare: Callable[[], Pair]
    ratio_at_most: float | None = None
    value_at_most: float | None = None
    unit: str = "s"
    turns: int = 7
    warm: bool = True
    clock: Callable[[], float] = time.perf_counter
    hidden: tuple[str, ...] = ()


def figures(only: list[str]) -> list[Figure]:
    """All figures of ``watched_*.py`` whose name contains one of these, or all of them."""
    modules = sorted(path.stem for path in HERE.glob("watched_*.py"))
    imported = (importlib.import_module(f"benchmarks.speed.{name}") for name in modules)
    found = [figure for module in imported for figure in module.FIGURES]
    return [f for f in found if not only or any(text in f.name for text in only)]


# One figure, in a process of its own


def measure(name: str, turns: int) -> None:
    """Measure a figure, and print the values of baseline and candidate as JSON."""
    (figure,) = (f for f in figures([name]) if f.name == name)
    for module in figure.hidden:
        sys.modules[module] = None  # type: ignore[assignment]
    pair = figure.prepare()
    for task in pair if figure.warm else ():
        task()
    values: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns):
        # Whoever comes first in a turn finds other things in the cache, so they alternate.
        for which in (0, 1) if turn % 2 else (1, 0):
            values[which].append(one_value(pair[which], figure.clock))
    print(json.dumps(values))


def one_value(task: Callable[[], object], clock: Callable[[], float]) -> float:
    """What a task returns, or the seconds that it takes."""
    start = clock()
    value = task()
    seconds = clock() - start
    # A prevalence is a float, too.
    return value if type(value) is float else seconds


def in_own_process(figure: Figure, turns: int, source: Path) -> tuple[list[float], list[float]]:
    """Measure a figure with the package in this source directory."""
    one_thread = dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
    )
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, "measure", figure.name, "--turns", str(turns)],
        cwd=ROOT,
        env=os.environ | one_thread | {"PYTHONPATH": str(source)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{figure.name} could not be measured with {source}.")
    baseline, candidate = json.loads(done.stdout.splitlines()[-1])
    return baseline, candidate


# From values to a result


def median_interval(values: list[float], level: float = 0.95) -> tuple[float, float, float]:
    """Median, and the order statistics between which the true one lies with at least this level.

    The number of values below the true median is binomial with probability 1/2.

    Examples
    --------
    >>> median_interval([3.0, 1.0, 2.0, 5.0, 4.0, 6.0])
    (3.5, 1.0, 6.0)
    """
    n, ascending = len(values), sorted(values)
    outside, below = (1 - level) / 2, 0.0
    rank = 0
    while rank < n // 2 and (below := below + math.comb(n, rank) / 2**n) <= outside:
        rank += 1
    # With fewer than six values, not even the smallest and the largest are enough.
    first = max(rank - 1, 0)
    return statistics.median(ascending), ascending[first], ascending[n - 1 - first]


def result(figure: Figure, baseline: list[float], candidate: list[float]) -> dict[str, Any]:
    """What is kept of a figure."""
    ratios = [mine / yours for mine, yours in zip(candidate, baseline, strict=True)]
    ratio, low, high = median_interval(ratios)
    value = statistics.median(candidate)
    limits = ((ratio, figure.ratio_at_most), (value, figure.value_at_most))
    targets = [found <= most for found, most in limits if most is not None]
    return {
        "ratio": round(ratio, 5),
        "low": round(low, 5),
        "high": round(high, 5),
        "baseline": round(statistics.median(baseline), 6),
        "candidate": round(value, 6),
        "unit": figure.unit,
        "turns": len(ratios),
        "ratio_at_most": figure.ratio_at_most,
        "value_at_most": figure.value_at_most,
        "met": all(targets) if targets else None,
    }


def table(found: dict[str, dict[str, Any]]) -> str:
    """Markdown table of results."""
    lines = [
        "| figure | ratio | 95 % | baseline | candidate | target | |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, of in found.items():
        targets = []
        if of["ratio_at_most"] is not None:
            targets.append(f"ratio <= {of['ratio_at_most']:.3g}")
        if of["value_at_most"] is not None:
            targets.append(f"<= {of['value_at_most']:g} {of['unit']}")
        met = {None: "", True: "met", False: "missed"}[of["met"]]
        lines.append(
            f"| {name} | {of['ratio']:.3g} | {of['low']:.3g} to {of['high']:.3g} "
            f"| {of['baseline']:.3g} {of['unit']} | {of['candidate']:.3g} {of['unit']} "
            f"| {' and '.join(targets)} | {met} |"
        )
    return "\n".join(lines)


def circumstances(commit: str) -> dict[str, Any]:
    """When, of what, and where."""
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text("utf-8"))
    machine: dict[str, Any] = {
        "processor": model[1] if model else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
    }
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            machine[name] = version(name)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return {"time": now, "commit": commit, "machine": machine}


def git(*arguments: str) -> str:
    """What git prints."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()


# The commands


def run(options: argparse.Namespace) -> None:
    """Measure all figures of this tree, and add a line to the history."""
    changed = bool(git("status", "--porcelain", "--", "src"))
    commit = git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    line = circumstances(commit)
    found = {}
    for figure in figures(options.only):
        values = in_own_process(figure, options.turns or figure.turns, ROOT / "src")
        found[figure.name] = result(figure, *values)
        print(table(found).splitlines()[-1], file=sys.stderr, flush=True)
    with options.history.open("a", encoding="utf-8") as file:
        file.write(json.dumps({**line, "figures": found}) + "\n")
    print(table(found))


def compare(options: argparse.Namespace) -> None:
    """Measure two commits in turns: how much longer the second takes, relative to the baseline."""
    print(f"| figure | {options.old} | {options.new} | new / old | 95 % |\n|---|---|---|---|---|")
    with worktree(options.old) as old, worktree(options.new) as new:
        for figure in figures(options.only):
            turns = options.turns or figure.turns
            ratios: tuple[list[float], list[float]] = ([], [])
            for _ in range(options.rounds):
                for which, source in enumerate((old, new)):
                    values = in_own_process(figure, math.ceil(turns / options.rounds), source)
                    of_turns = zip(*values, strict=True)
                    ratios[which].extend(mine / yours for yours, mine in of_turns)
            before, after = (statistics.median(values) for values in ratios)
            changes = [new / old for old, new in zip(*ratios, strict=True)]
            change, low, high = median_interval(changes)
            print(
                f"| {figure.name} | {before:.3g} | {after:.3g} | {change:.3g} "
                f"| {low:.3g} to {high:.3g} |",
                flush=True,
            )


@contextlib.contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """The sources of a commit, checked out beside this tree and removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="poscount-watch-") as directory:
        path = Path(directory) / "tree"
        git("worktree", "add", "--quiet", "--detach", str(path), commit)
        try:
            yield path / "src"
        finally:
            git("worktree", "remove", "--force", str(path))


def read_history(path: Path) -> list[dict[str, Any]]:
    """All runs, oldest first."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def latest(history: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The last result of each figure, in the order of the figures."""
    found = {name: of for run in history for name, of in run["figures"].items()}
    return {figure.name: found[figure.name] for figure in figures([]) if figure.name in found}


def write(options: argparse.Namespace) -> None:
    """Put tables of the last results into a page, between its marks.

    A mark ``<!-- watch: begin count|memory -->`` gets the figures whose names begin so.
    """
    found = latest(read_history(options.history))

    def filled(match: re.Match[str]) -> str:
        beginnings = tuple(match[1].split("|"))
        chosen = {name: of for name, of in found.items() if name.startswith(beginnings)}
        return f"{BEGIN.format(match[1])}\n{table(chosen)}\n{END}"

    pattern = BEGIN.format("(.*?)") + ".*?" + END
    page = options.page.read_text(encoding="utf-8")
    options.page.write_text(re.sub(pattern, filled, page, flags=re.DOTALL), encoding="utf-8")


def draw(options: argparse.Namespace) -> None:
    """Draw a panel for each figure: its ratio and interval in every run."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    history = read_history(options.history)
    names = list(latest(history))
    n_columns = 3
    n_lines = math.ceil(len(names) / n_columns)
    figure, panels = plt.subplots(
        n_lines, n_columns, figsize=(15, 2.6 * n_lines), squeeze=False, layout="constrained"
    )
    for panel in panels.flat[len(names) :]:
        panel.axis("off")
    for panel, name in zip(panels.flat, names, strict=False):
        of = [(i, run["figures"][name]) for i, run in enumerate(history) if name in run["figures"]]
        at = [i for i, _ in of]
        ratios = [found["ratio"] for _, found in of]
        ends = [
            [found["ratio"] - found["low"] for _, found in of],
            [found["high"] - found["ratio"] for _, found in of],
        ]
        panel.errorbar(at, ratios, ends, fmt="o-", capsize=3)
        if (most := of[-1][1]["ratio_at_most"]) is not None:
            panel.axhline(most, color="grey", linestyle="--")
        panel.set_title(name, fontsize=8)
        panel.set_xticks(at, [history[i]["commit"][:7] for i in at], fontsize=7, rotation=30)
        panel.set_ylim(bottom=0)
    figure.savefig(options.picture)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)

    def command(action: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        added = commands.add_parser(action.__name__, help=action.__doc__)
        added.set_defaults(action=action)
        return added

    for action in (run, compare):
        added = command(action)
        added.add_argument("--only", nargs="+", default=[], help="texts in the figures' names")
        added.add_argument("--turns", type=int, help="of each figure")
        if action is compare:
            added.add_argument("old")
            added.add_argument("new")
            added.add_argument("--rounds", type=int, default=3, help="of old and new")
        else:
            added.add_argument("--history", type=Path, default=HISTORY)
    for action, argument in ((write, "page"), (draw, "picture")):
        added = command(action)
        added.add_argument(argument, type=Path)
        added.add_argument("--history", type=Path, default=HISTORY)
    child = commands.add_parser("measure", help="one figure, in this process")
    child.add_argument("name")
    child.add_argument("--turns", type=int, default=7)
    child.set_defaults(action=lambda options: measure(options.name, options.turns))
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    main()
