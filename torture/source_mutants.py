"""Mutants of a module: each is its source with one small fault, such as `<` in the place of `<=`."""

from __future__ import annotations

import ast
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMPARE = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*", ast.Pow: "*",
    ast.BitAnd: "|", ast.BitOr: "&", ast.BitXor: "&", ast.LShift: ">>", ast.RShift: "<<",
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A fault: the *old* source from byte *start* to *stop* of a module becomes *new*."""

    kind: str
    line: int
    #: The first line of its statement: what reaches any of the lines from there on reaches the fault.
    statement: int
    start: int
    stop: int
    old: str
    new: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.stop :]

    def __str__(self) -> str:
        return f"{self.line}: {' '.join(self.old.split())} -> {' '.join(self.new.split())}"


def mutants(source: bytes) -> list[Mutant]:
    """Return all mutants of a module, in the order of their places.

    Annotations, protocols, messages of errors, what stands under TYPE_CHECKING, and the ``strict`` of a
    ``zip``, which only asserts something, are left alone: none runs, or no test should say what it is.
    """
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    tree = ast.parse(source)
    statements = sorted({node.lineno for node in ast.walk(tree) if isinstance(node, ast.stmt)})
    for kind, node, new in _faults(tree, source):
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = starts[node.lineno - 1] + node.col_offset
        stop = starts[node.end_lineno - 1] + node.end_col_offset
        statement = statements[bisect_right(statements, node.lineno) - 1]
        old = source[start:stop].decode()
        found.append(Mutant(kind, node.lineno, statement, start, stop, old, f"({new})"))
    return sorted(found, key=lambda mutant: (mutant.start, mutant.stop, mutant.new))


def _faults(tree: ast.AST, source: bytes) -> Iterator[tuple[str, ast.expr, str]]:
    """Yield the kind of a fault, the expression that it changes, and what this becomes."""
    text = source.decode()
    for node in _running(tree):
        match node:
            case ast.Compare():
                for place, operator in enumerate(node.ops):
                    yield "comparison", node, _compared(node, place, _COMPARE[type(operator)], text)
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                left, right = _source(node.left, text), _source(node.right, text)
                yield "arithmetic", node, f"({left}) {_ARITHMETIC[type(node.op)]} ({right})"
            case ast.BoolOp():
                other = " or " if isinstance(node.op, ast.And) else " and "
                yield "boolean", node, other.join(f"({_source(value, text)})" for value in node.values)
            case ast.UnaryOp(op=ast.Not() | ast.USub()):
                yield "boolean", node, _source(node.operand, text)
            case ast.Constant(value=bool()):
                yield "constant", node, str(not node.value)
            case ast.Constant(value=int() | float() as value):
                yield "constant", node, str(value + 1)
            case ast.Return(value=ast.expr() as value) if not _is_none(value):
                yield "return", value, "None"
            case (
                ast.If(test=ast.Name() | ast.Call() | ast.Attribute())
                | ast.IfExp(test=ast.Name() | ast.Call() | ast.Attribute())
            ):
                yield "condition", node.test, f"not ({_source(node.test, text)})"


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield *node* and what is in it, but for what is no part of how the module works."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_left_alone(child):
                yield from _running(child)


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return True
    if isinstance(node, ast.ClassDef):
        return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    return isinstance(node, (ast.JoinedStr, ast.Raise))


def _compared(node: ast.Compare, changed: int, new: str, text: str) -> str:
    parts = [f"({_source(node.left, text)})"]
    for place, (operator, right) in enumerate(zip(node.ops, node.comparators, strict=True)):
        parts += [new if place == changed else _spelled(operator), f"({_source(right, text)})"]
    return " ".join(parts)


def _spelled(operator: ast.cmpop) -> str:
    return ast.unparse(ast.Compare(ast.Name("a"), [operator], [ast.Name("b")]))[1:-1].strip()


def _source(node: ast.expr, text: str) -> str:
    found = ast.get_source_segment(text, node)
    assert found is not None
    return found


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
