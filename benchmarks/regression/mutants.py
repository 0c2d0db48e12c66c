"""Mutation testing: small faults, drawn at random, and whether the fast tests notice them.

``python -m benchmarks.regression.mutants --mutants 100 --seed 0 --results mutants.jsonl`` draws
mutants of the modules in `TESTS`, runs the tests of the module for each, and prints a table and the
survivors. A run that was interrupted continues: mutants in the file of results are not run again,
unless the source has changed. ``--modules counts checks`` draws from these alone, and ``--match
TEXT`` runs all mutants whose old text contains TEXT, such as ``pat[start + i]``.

A mutant has one change: a comparison, an operator, a number, a condition, a keyword argument or a
statement left out, an index or a slice, a returned value, min for max, or a code in quotation
marks. Docstrings, annotations, texts of errors and ``__repr__`` stay as they are.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import copy
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
from typing import Any, NamedTuple

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
_COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_NAMES = {"min": "max", "any": "all", "minimum": "maximum", "floor": "ceil", "argmin": "argmax"}
_NAMES |= {new: old for old, new in _NAMES.items()}
_CODE = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*\Z")
_TEXT_METHODS = ("__repr__", "__str__", "_repr_html_")
# Seconds of CPU, so that a busy machine does not end a run; a mutant that needs more is killed.
TIME_LIMIT = 120
WORKERS = 2


class Mutant(NamedTuple):
    """A change of one piece of a file, from `start` to `end` in bytes."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    @property
    def name(self) -> str:
        """File, line and change, in one line."""
        old, new = (" ".join(text.split()) or "(nothing)" for text in (self.old, self.new))
        return f"{self.file}:{self.line} {old} -> {new}"


def mutants_of(file: str, source: bytes) -> list[Mutant]:
    """All mutants of a file, in a fixed order."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    return sorted(finder.found)


class _Finder(ast.NodeVisitor):
    """Collects the mutants of one file."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file = file
        self.source = source
        self.starts = [0]
        for line in self.source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutant] = []
        self.in_error = False

    def span(self, node: Any) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset

    def change(self, node: Any, new: str, span: tuple[int, int] | None = None) -> None:
        """Note that the text of a node, or the span given, can become another."""
        start, end = span or self.span(node)
        old = self.source[start:end].decode()
        self.found.append(Mutant(self.file, node.lineno, start, end, old, new))

    def variant(self, node: Any, change: Callable[[Any], None]) -> None:
        """Note a changed copy of an expression; the brackets keep it one expression."""
        changed = copy.deepcopy(node)
        change(changed)
        self.change(node, f"({ast.unparse(changed)})")

    # Texts, imports and annotations stay as they are.

    def _leave_alone(self, node: ast.AST) -> None:
        pass

    visit_JoinedStr = visit_Import = visit_ImportFrom = _leave_alone  # noqa: N815

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name not in _TEXT_METHODS:
            for default in [*node.args.defaults, *node.args.kw_defaults]:
                if default is not None:
                    self.visit(default)
            self._body(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def _body(self, node: ast.Module | ast.ClassDef | ast.FunctionDef) -> None:
        for statement in node.body:
            is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not is_text:
                self.visit(statement)

    visit_Module = visit_ClassDef = _body  # noqa: N815

    # Statements: left out, or with another operator or result.

    def _left_out(self, node: ast.stmt) -> None:
        self.change(node, "pass")
        self.generic_visit(node)

    visit_Expr = visit_Break = visit_Continue = _left_out  # noqa: N815

    def visit_Assign(self, node: ast.Assign) -> None:
        # Without a plain name, the next line would fail anyway.
        if not isinstance(node.targets[0], ast.Name | ast.Tuple):
            self.change(node, "pass")
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.change(node, "pass")
        if type(node.op) in _OPERATORS:
            changed = ast.AugAssign(node.target, _OPERATORS[type(node.op)](), node.value)
            self.change(node, ast.unparse(changed))
        self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        before, self.in_error = self.in_error, True
        self._left_out(node)
        self.in_error = before

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            if not isinstance(node.value, ast.Constant) or node.value.value:
                self.change(node, "return None")
            self.visit(node.value)

    # Expressions

    def _condition(self, node: ast.If | ast.IfExp | ast.While) -> None:
        self.change(node.test, f"(not ({ast.unparse(node.test)}))")
        self.generic_visit(node)

    visit_If = visit_IfExp = visit_While = _condition  # noqa: N815

    def visit_Compare(self, node: ast.Compare) -> None:
        for i, operator in enumerate(node.ops):
            for other in _COMPARISONS[type(operator)]:
                self.variant(node, lambda new, i=i, other=other: new.ops.__setitem__(i, other()))
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in _OPERATORS:
            self.variant(node, lambda new: setattr(new, "op", _OPERATORS[type(new.op)]()))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or if isinstance(node.op, ast.And) else ast.And
        self.variant(node, lambda new: setattr(new, "op", other()))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            self.change(node, f"({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.change(node, str(not value))
        elif isinstance(value, int | float):
            for other in {value + 1, value - 1, value * 2} - {value}:
                self.change(node, f"({other!r})")
        elif isinstance(value, str) and not self.in_error and _CODE.match(value):
            self.change(node, repr(f"{value}-x"))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in ("cast", "TypeVar"):
            self.visit(node.args[-1])  # the others are types
            return
        if isinstance(node.func, ast.Name) and node.func.id == "stream":
            self.visit(node.args[0])  # another name gives another stream, which is as good
            return
        # What zip(strict=True) promises is true.
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != "strict"]
        for keyword in node.keywords:
            if keyword.arg is not None:
                start, end = self.span(keyword)
                comma = re.compile(rb"\s*,").match(self.source, end)
                self.change(keyword, "", (start, comma.end() if comma else end))
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
        if name in _NAMES:
            _, end = self.span(node.func)
            self.change(node.func, _NAMES[name], (end - len(name), end))
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        index = node.slice
        if isinstance(index, ast.BinOp):
            for part in (index.left, index.right):
                self.variant(node, lambda new, part=part: setattr(new, "slice", part))
        for i, part in enumerate(index.elts if isinstance(index, ast.Tuple) else [index]):
            for end in ("lower", "upper"):
                if isinstance(part, ast.Slice) and getattr(part, end) is not None:
                    self.variant(node, lambda new, i=i, end=end: _open(new.slice, i, end))
        self.generic_visit(node)


def _open(index: Any, i: int, end: str) -> None:
    """Leave an end of a slice out."""
    setattr(index.elts[i] if isinstance(index, ast.Tuple) else index, end, None)


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
