"""Evaluates the constant parts of an expression when its program is created (`cel-go/interpreter/decorators.go`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.cel.activation import CALL_LIMIT, TYPE_FAILURES, Activation, Interpretable
from fakekube.apiserver.cel.library.standard import check_qualifier
from fakekube.apiserver.cel.tree import Node, parts
from fakekube.apiserver.cel.values import NO_OVERLOAD, CelError
from fakekube.apiserver.wire.goregexp import BadPattern, compiled

_CONVERSIONS = frozenset({"bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint"})

#: Functions whose second argument is a regular expression; the receiver counts.
_PATTERNS = frozenset({"matches", "find", "findAll"})

Compile = Callable[[Node], Interpretable]


def check_constants(node: Node, compile: Compile) -> None:
    """Raises CelError if a conversion of a constant fails or a constant regular expression is invalid."""
    _is_constant(node, compile)


def _is_constant(node: Node, compile: Compile) -> bool:
    """Whether cel-go evaluates a node in advance: literals, lists and maps of constants, and their conversions."""
    if node.kind == "literal":
        return True
    if node.kind == "ident":
        return node.type.kind == "type" and "@" not in node.name
    given = ([node.operand] if node.operand is not None else []) + node.args
    if node.kind != "call":
        constants = [_is_constant(part, compile) for part in parts(node)]
        return node.kind in ("list", "map") and all(constants)
    constants = [_is_constant(part, compile) for part in given]
    if node.name in _CONVERSIONS and constants == [True]:
        _value(node, compile)
        return True
    if node.name in ("_[_]", "_[?_]") and constants[1]:
        check_qualifier(_value(given[1], compile))
    if node.name in _PATTERNS and constants[1]:
        _check_pattern(_value(given[1], compile))
    return False


def _value(node: Node, compile: Compile) -> Any:
    try:
        return compile(node)(Activation({}, CALL_LIMIT))
    except TYPE_FAILURES:
        raise CelError(NO_OVERLOAD) from None


def _check_pattern(pattern: Any) -> None:
    if isinstance(pattern, str):
        try:
            compiled(pattern)
        except BadPattern as problem:
            raise CelError(str(problem)) from None
