"""The names of random streams in the source, found in its syntax trees."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path

COMPUTED = "{}"
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class StreamNames:
    """What is passed as the second argument of ``stream(seed, "...")`` in some files.

    What is computed in a name is written as {}, unless it can be followed to words: through the
    parameters of functions, assignments and loops over what is written down.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        trees = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
        self._parents = {
            child: node
            for tree in trees
            for node in ast.walk(tree)
            for child in ast.iter_child_nodes(node)
        }
        nodes = [node for tree in trees for node in ast.walk(tree)]
        self._calls = [node for node in nodes if isinstance(node, ast.Call)]

    def found(self) -> list[str]:
        """All names, sorted."""
        calls = (call for call in self._calls if _called(call) == "stream" and len(call.args) == 2)
        return sorted({text for call in calls for text in self._texts(call.args[1])})

    def _texts(self, node: ast.expr) -> set[str]:
        """What an expression can be."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return {node.value}
        if isinstance(node, ast.FormattedValue):
            return self._texts(node.value)
        if isinstance(node, ast.JoinedStr):
            parts = itertools.product(*map(self._texts, node.values))
            return {"".join(part) for part in parts}
        if isinstance(node, ast.Name):
            values = [self._texts(value) for value in self._values(node)]
            words = set().union(*values)
            if words and not any(COMPUTED in word for word in words):
                return words
        return {COMPUTED}

    def _values(self, name: ast.Name) -> Iterator[ast.expr]:
        """Expressions from which a name gets its value, in its function or its file."""
        scope: ast.AST = name
        while scope in self._parents:
            scope = self._parents[scope]
            if isinstance(scope, _Function) or scope not in self._parents:
                found = list(_assigned(scope, name.id))
                if any(_names(value, name.id) for value in found):
                    return  # made of itself, so computed
                if isinstance(scope, _Function):
                    found += self._passed(scope, name.id)
                if found:
                    yield from found
                    return

    def _passed(self, function: _Function, parameter: str) -> Iterator[ast.expr]:
        """What calls pass for a parameter of a function."""
        names = [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]
        if parameter not in names:
            return
        place = names.index(parameter) - (names[0] in ("self", "cls"))
        for call in self._calls:
            if _called(call) == function.name:
                given = {keyword.arg: keyword.value for keyword in call.keywords}
                if parameter in given:
                    yield given[parameter]
                elif place < len(call.args):
                    yield call.args[place]


def _called(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _names(value: ast.expr, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value))


def _assigned(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """What is assigned to a name, also by a loop over values that are written down."""
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            yield from (node.value for target in node.targets if _is(target, name))
        elif isinstance(node, ast.For | ast.comprehension):
            items = getattr(node.iter, "elts", [])
            if _is(node.target, name):
                yield from items or [node.iter]
            elif isinstance(node.target, ast.Tuple):
                places = [i for i, target in enumerate(node.target.elts) if _is(target, name)]
                yield from (getattr(item, "elts", [item])[i] for item in items for i in places)


def _is(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name
