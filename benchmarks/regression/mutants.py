"""Mutation testing: small faults, drawn at random, and whether the fast tests notice them.

``python -m benchmarks.regression.mutants --mutants 100 --seed 0 --results mutants.jsonl`` draws
mutants of the modules in `TESTS`, runs the tests of the module for each, and prints a table and the
survivors. A run that was interrupted continues: mutants in the file of results are not run again,
unless the source has changed. ``--modules counts intervals`` draws from these alone, and ``--match
TEXT`` runs all mutants whose old text contains TEXT, such as ``pat[start + i]``.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import functools
import hashlib
import importlib.util
import itertools
import json
import os
import py_compile
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks.regression.mutations import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("src") / "poscount"

# The fast tests of a file or a folder of the package, quickest first: the first failure ends a run.
TESTS = {
    "base": ["counts/test_counts", "data/test_groups", "base", "methods/test_pat"],
    "checks": ["checks", "methods/test_pat", "diagnostics/test_diagnose", "data/test_tables"],
    "counts": ["counts", "data/test_groups", "base/test_posterior", "data/test_tables"],
    "methods/regions/rule": [
        "methods/regions/test_rcq",
        "methods/pu/test_trcq",
        "methods/regions/test_multi_rcq",
        "change",
        "data/test_tables",
    ],
    "storage": ["storage"],
}
# Seconds of CPU, so that a busy machine does not end a run; a mutant that needs more is killed.
TIME_LIMIT = 120
WORKERS = 2


def mutants(modules: list[str]) -> list[Mutant]:
    """All mutants of some modules, in a fixed order."""
    files = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / PACKAGE).rglob("*.py"))]
    return [
        mutant
        for file in files
        if module_of(file) in modules
        for mutant in mutants_of(file, source_of(file))
    ]


def module_of(file: str) -> str:
    """Name in `TESTS` of the file or of a folder above it, or nothing."""
    below = Path(file).relative_to(PACKAGE).with_suffix("")
    names = (path.as_posix() for path in (below, *below.parents))
    return next((name for name in names if name in TESTS), "")


def draw(found: list[Mutant], n_mutants: int, seed: int) -> list[Mutant]:
    """Draw places in the source, and one change at each.

    A change of one file leaves the mutants drawn from the others as they are.
    """
    places: dict[str, list[Mutant]] = {}
    for mutant in found:
        places.setdefault(f"{mutant.file} {mutant.start} {mutant.end}", []).append(mutant)
    generators = {place: random.Random(f"{seed} {place}") for place in places}
    order = sorted(places, key=lambda place: generators[place].random())
    drawn = (generators[place].choice(places[place]) for place in order)
    return list(itertools.islice(filter(_is_python, drawn), n_mutants))


def _is_python(mutant: Mutant) -> bool:
    try:
        ast.parse(mutated(mutant))
    except SyntaxError:
        return False
    return True


@functools.cache
def source_of(file: str) -> bytes:
    """Content of a file when it is first asked for: it may change while mutants are run."""
    return (ROOT / file).read_bytes()


def mutated(mutant: Mutant) -> bytes:
    """The file with the change."""
    source = source_of(mutant.file)
    return source[: mutant.start] + mutant.new.encode() + source[mutant.end :]


# Running them


class Copy:
    """A copy of the package and its tests, in which one file at a time is changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        no_caches = shutil.ignore_patterns("__pycache__")
        for part in (PACKAGE, "tests", "research", "benchmarks", "docs"):
            shutil.copytree(ROOT / part, folder / part, ignore=no_caches)
        for part in ("conftest.py", "pyproject.toml"):
            shutil.copy(ROOT / part, folder)
        # Compiled once for all runs, which write nothing: a changed file must not leave a trace.
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        compileall.compile_dir(folder / "src", quiet=1, invalidation_mode=unchecked)

    def outcome(self, mutant: Mutant) -> tuple[str, str]:
        """Do as `run_tests` with one change."""
        file = self.folder / mutant.file
        compiled = Path(importlib.util.cache_from_source(str(file)))
        before = compiled.read_bytes()
        file.write_bytes(mutated(mutant))
        compiled.unlink()
        try:
            return self.run_tests(module_of(mutant.file), [mutant.file])
        finally:
            file.write_bytes(source_of(mutant.file))
            compiled.write_bytes(before)

    def _test(self, name: str) -> str:
        path = Path("tests") / name
        return str(path if (self.folder / path).is_dir() else path.with_suffix(".py"))

    def run_tests(self, module: str, files: list[str]) -> tuple[str, str]:
        """Run the examples in some files and the tests of their module, up to the first failure.

        Returns
        -------
        outcome : str
            "survived", "killed" or "timeout".
        test : str
            The test that failed.
        """
        paths = [*files, *(self._test(name) for name in TESTS[module])]
        options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", "--tb=no"]
        environment = {"PYTHONPATH": str(self.folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        with subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *paths],
            cwd=self.folder,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (TIME_LIMIT, TIME_LIMIT)),
        ) as process:
            try:
                output, _ = process.communicate(timeout=6 * TIME_LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return "timeout", ""
        if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            return "timeout", ""
        failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", output, re.MULTILINE)
        return ("killed" if process.returncode else "survived"), (failed[1] if failed else "")


def run(chosen: list[Mutant], results: Path) -> Iterator[dict[str, Any]]:
    """Outcomes of mutants, those of earlier runs included."""
    known = {}
    if results.exists():
        known = {one["key"]: one for one in map(json.loads, results.read_text().splitlines())}
    yield from (known[_key(one)] for one in chosen if _key(one) in known)
    waiting = [one for one in chosen if _key(one) not in known]
    if not waiting:
        return
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(WORKERS) as pool:
        copies: SimpleQueue[Copy] = SimpleQueue()
        for i in range(WORKERS):
            copies.put(Copy(Path(folder) / str(i)))

        def in_a_copy(work: Callable[[Copy], tuple[str, str]]) -> tuple[str, str]:
            own = copies.get()
            try:
                return work(own)
            finally:
                copies.put(own)

        files: dict[str, list[str]] = {}
        for file in sorted({one.file for one in waiting}):
            files.setdefault(module_of(file), []).append(file)
        unchanged = [lambda own, pair=pair: own.run_tests(*pair) for pair in files.items()]
        for module, (outcome, test) in zip(files, pool.map(in_a_copy, unchanged), strict=True):
            if outcome != "survived":
                raise SystemExit(f"The tests of {module} fail without a change: {outcome} {test}")
        changed = [lambda own, one=one: own.outcome(one) for one in waiting]
        with results.open("a") as file:
            for mutant, told in zip(waiting, pool.map(in_a_copy, changed), strict=True):
                one = {"key": _key(mutant), "module": module_of(mutant.file), "name": mutant.name}
                one |= {"outcome": told[0], "test": told[1]}
                file.write(json.dumps(one) + "\n")
                file.flush()
                print(f"{told[0]:8} {mutant.name}", file=sys.stderr)
                yield one


def _key(mutant: Mutant) -> str:
    return hashlib.sha256(mutated(mutant)).hexdigest()


def show(outcomes: list[dict[str, Any]], verbose: bool) -> None:
    """Print the table and the survivors; with `verbose`, also which test killed which mutant."""
    print("| module | mutants | killed | of these by the time limit | survived |")
    print("|---|---|---|---|---|")
    modules = sorted({one["module"] for one in outcomes})
    for module in [*modules, "all"]:
        ends = Counter(one["outcome"] for one in outcomes if module in (one["module"], "all"))
        killed = ends.total() - ends["survived"]
        share = f"{killed} ({killed / ends.total():.0%})"
        print(f"| {module} | {ends.total()} | {share} | {ends['timeout']} | {ends['survived']} |")
    for one in outcomes:
        if one["outcome"] == "survived" or verbose:
            print(f"{one['outcome']}: {one['name']} {one['test']}".rstrip())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--modules", nargs="+", choices=TESTS, default=list(TESTS))
    parser.add_argument("--match")
    parser.add_argument("--results", type=Path, default=Path("mutants.jsonl"))
    asked = parser.parse_args()
    found = mutants(asked.modules)
    if asked.match is not None:
        chosen = [one for one in found if asked.match in one.old and _is_python(one)]
    else:
        chosen = draw(found, asked.mutants, asked.seed)
    print(f"{len(chosen)} of {len(found)} mutants, seed {asked.seed}")
    show(list(run(chosen, asked.results)), verbose=asked.match is not None)


if __name__ == "__main__":
    main()
