"""Small faults that can be planted into a Python file: what `mutants.py` draws from.

A mutant has one change: a comparison, an operator, a number, a condition, a keyword argument or a
statement left out, an index or a slice, a returned value, min for max, or a code in quotation
marks. Docstrings, annotations, texts of errors and ``__repr__`` stay as they are.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable
from typing import Any, NamedTuple

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
