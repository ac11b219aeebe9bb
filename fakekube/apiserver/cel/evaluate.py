"""Compiles a checked expression to a function of its variables (`cel-go/interpreter`).

Each node becomes a closure, so that evaluation does not walk the tree. Loops and functions whose time grows with their
arguments spend from a budget, which limits the time of any expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fakekube.apiserver.cel.activation import CALL_LIMIT, TYPE_FAILURES, Activation, Interpretable, weight
from fakekube.apiserver.cel.calls import compile_call
from fakekube.apiserver.cel.comprehensions import compile_comprehension
from fakekube.apiserver.cel.fields import declared_field, is_present, no_field, optional_field
from fakekube.apiserver.cel.folding import check_constants
from fakekube.apiserver.cel.library.functions import TYPES
from fakekube.apiserver.cel.tree import Node, parts
from fakekube.apiserver.cel.types import Type
from fakekube.apiserver.cel.values import NO_OVERLOAD, OVER_BUDGET, CelError, Checked, Message, Optional, OverBudget


class Program:
    """A compiled expression."""

    __slots__ = ("_run", "cost")

    def __init__(self, node: Node) -> None:
        """Raises CelError if a constant part of the expression fails."""
        check_constants(node, compiled)
        _rename(node, {})
        self._run = compiled(node)
        self.cost: int = weight(node)

    def __call__(self, variables: Mapping[str, Any], budget: int = CALL_LIMIT) -> tuple[Any, int]:
        """Evaluates the expression. Returns its value and its cost. Raises CelError."""
        names = variables.copy() if isinstance(variables, dict) else dict(variables)
        activation = Activation(names, budget - self.cost)
        try:
            value = self._run(activation)
        except TYPE_FAILURES:
            raise CelError(NO_OVERLOAD) from None
        except RecursionError:
            raise OverBudget(OVER_BUDGET) from None
        return value, budget - activation.left


def _rename(node: Node, scope: Mapping[str, str]) -> None:
    """Renames the variables of comprehensions so that they are unique."""
    loop = node.loop
    if node.kind == "ident":
        node.name = scope.get(node.name, node.name)
    elif loop is None:
        for part in parts(node):
            _rename(part, scope)
    elif loop.macro == "bind":
        _rename(loop.start, scope)
        inner = f"{loop.accumulator}@{id(loop)}"
        _rename(loop.result, {**scope, loop.accumulator: inner})
        loop.accumulator = inner
    else:
        _rename(loop.over, scope)
        names = tuple(f"{name}@{id(loop)}" for name in loop.names)
        for part in loop.body:
            _rename(part, {**scope, **dict(zip(loop.names, names, strict=True))})
        loop.names = names


def compiled(node: Node) -> Interpretable:
    return _KINDS[node.kind](node)


def _literal(node: Node) -> Interpretable:
    value = node.value
    return lambda activation: value


def _ident(node: Node) -> Interpretable:
    name = node.name.removeprefix(".")
    constant = _type_value(name) if name in TYPES and node.type.kind == "type" else None

    def run(activation: Activation) -> Any:
        try:
            return activation.names[name]
        except KeyError:
            if constant is not None:
                return constant
            raise CelError(f"no such attribute(s): {name}") from None

    return run


def _type_value(name: str) -> Type:
    return Type("type", (), name)


def _select(node: Node) -> Interpretable:
    assert node.operand is not None
    operand, field = compiled(node.operand), declared_field(node.operand.type, node.name)
    key, convert = (field.key, field.convert) if field is not None else (node.name, None)
    name, declared = node.name, field is not None
    if node.test:
        return _has(operand, key, declared, convert if isinstance(convert, Checked) else None)

    def run(activation: Activation) -> Any:
        value = operand(activation)
        if isinstance(value, Optional):
            return optional_field(value, key, convert, declared=declared)
        if not isinstance(value, dict):
            raise no_field(value, name)
        if key not in value:
            raise CelError(f"no such key: {name}")
        found = value[key]
        if found is None:
            if declared:
                raise CelError(f"no such key: {name}")
            return None
        return found if convert is None else convert(found)

    return run


def _has(operand: Interpretable, key: str, declared: bool, check: Checked | None) -> Interpretable:
    def run(activation: Activation) -> bool:
        value = operand(activation)
        if isinstance(value, Optional):
            value = value.value if value.present else {}
        if not isinstance(value, dict):
            if isinstance(value, list):
                raise no_field(value, key)
            return False
        found = is_present(value, key, declared=declared)
        if found and check is not None:
            check(value[key])
        return found

    return run


def _list(node: Node) -> Interpretable:
    items, optional = [compiled(arg) for arg in node.args], node.optional
    if not optional:
        return lambda activation: [item(activation) for item in items]

    def run(activation: Activation) -> list[Any]:
        found = []
        for i, item in enumerate(items):
            value = item(activation)
            if i not in optional:
                found.append(value)
            elif value.present:
                found.append(value.value)
        return found

    return run


def _map(node: Node) -> Interpretable:
    pairs = [(compiled(node.args[i]), compiled(node.args[i + 1])) for i in range(0, len(node.args), 2)]
    optional = node.optional

    def run(activation: Activation) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for i, (key_of, value_of) in enumerate(pairs):
            key, value = key_of(activation), value_of(activation)
            if isinstance(key, bytes):
                raise CelError("internal error: runtime error: hash of unhashable type types.Bytes")
            if i in optional:
                if not value.present:
                    found.pop(key, None)
                    continue
                value = value.value
            found[key] = value
        return found

    return run


def _message(node: Node) -> Interpretable:
    name, optional = node.name, node.optional
    fields = [(node.args[i].value, compiled(node.args[i + 1])) for i in range(0, len(node.args), 2)]

    def run(activation: Activation) -> Message:
        found = Message(name)
        for i, (key, value_of) in enumerate(fields):
            value = value_of(activation)
            if i in optional:
                if not value.present:
                    continue
                value = value.value
            found[key] = value
        return found

    return run


_KINDS: Mapping[str, Callable[[Node], Interpretable]] = {
    "literal": _literal,
    "ident": _ident,
    "select": _select,
    "call": lambda node: compile_call(node, compiled),
    "list": _list,
    "map": _map,
    "message": _message,
    "comprehension": lambda node: compile_comprehension(node, compiled),
}
