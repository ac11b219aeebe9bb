"""Compiles the comprehensions of an expression to closures: `all`, `exists`, `map`, `filter` and the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fakekube.apiserver.cel.activation import FAILURES, Activation, Interpretable, weight
from fakekube.apiserver.cel.library.standard import shown
from fakekube.apiserver.cel.tree import Loop, Node
from fakekube.apiserver.cel.values import NO_OVERLOAD, CelError, OverBudget, go_type

Compile = Callable[[Node], Interpretable]
"""Compiles a node. It is passed to the compilers of single kinds of nodes, which compile the child nodes with it."""


def _one(value: Any) -> Iterable[Any]:
    if isinstance(value, list | dict):
        return value
    raise CelError(f"got '{go_type(value)}', expected iterable type")


def _pairs(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, list):
        return enumerate(value)
    raise CelError(f"unsupported comprehension range type: {go_type(value)}")


def compile_comprehension(node: Node, compile: Compile) -> Interpretable:
    loop = node.loop
    assert loop is not None
    if loop.macro == "bind":
        return _bind(loop, compile)
    body = [compile(part) for part in loop.body]
    each = 1 + sum(map(weight, loop.body))
    return _MACROS[loop.macro](_looped(loop, each, compile), *body)


Each = Callable[[Activation], Iterable[Any]]


def _looped(loop: Loop, each: int, compile: Compile) -> Each:
    """An iterator over the items, which are assigned to the loop variables."""
    over, names = compile(loop.over), loop.names
    if len(names) == 2:
        return _two(over, names[0], names[1], each)
    name = names[0]

    def walk(activation: Activation) -> Iterable[Any]:
        scope = activation.names
        for item in _one(over(activation)):
            activation.spend(each)
            scope[name] = item
            yield item

    return walk


def _two(over: Interpretable, first: str, second: str, each: int) -> Each:
    def walk(activation: Activation) -> Iterable[Any]:
        scope = activation.names
        for item in _pairs(over(activation)):
            activation.spend(each)
            scope[first], scope[second] = item
            yield item

    return walk


def _quantifier(decisive: bool) -> Callable[..., Interpretable]:
    """Compiles `all` (false is decisive) and `exists` (true is decisive)."""

    def make(walk: Each, predicate: Interpretable) -> Interpretable:
        def run(activation: Activation) -> Any:
            failed: Exception | None = None
            for _ in walk(activation):
                try:
                    found = predicate(activation)
                except OverBudget:
                    raise
                except FAILURES as problem:
                    failed = failed or problem
                    continue
                if found is decisive:
                    return decisive
                if not isinstance(found, bool):
                    failed = failed or CelError(NO_OVERLOAD)
            if failed is not None:
                raise failed
            return not decisive

        return run

    return make


def _exists_one(walk: Each, predicate: Interpretable) -> Interpretable:
    return lambda activation: sum(predicate(activation) is True for _ in walk(activation)) == 1


def _map_macro(walk: Each, *body: Interpretable) -> Interpretable:
    if len(body) == 1:
        (value,) = body
        return lambda activation: [value(activation) for _ in walk(activation)]
    test, made = body
    return lambda activation: [made(activation) for _ in walk(activation) if test(activation)]


def _filter(walk: Each, test: Interpretable) -> Interpretable:
    return lambda activation: [item for item in walk(activation) if test(activation)]


def _transform_map(walk: Each, *body: Interpretable) -> Interpretable:
    value = body[-1]
    test = body[0] if len(body) == 2 else None

    def run(activation: Activation) -> dict[Any, Any]:
        return {key: value(activation) for key, _ in walk(activation) if test is None or test(activation)}

    return run


def _transform_entry(walk: Each, *body: Interpretable) -> Interpretable:
    entry = body[-1]
    test = body[0] if len(body) == 2 else None

    def run(activation: Activation) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for _ in walk(activation):
            if test is not None and not test(activation):
                continue
            for key, value in entry(activation).items():
                if key in found:
                    raise CelError(f"insert failed: key {shown(key)} already exists")
                found[key] = value
        return found

    return run


_MACROS: Mapping[str, Callable[..., Interpretable]] = {
    "all": _quantifier(False),
    "exists": _quantifier(True),
    "exists_one": _exists_one,
    "map": _map_macro,
    "filter": _filter,
    "transformList": _map_macro,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entry,
}


def _bind(loop: Loop, compile: Compile) -> Interpretable:
    name, start, result = loop.accumulator, compile(loop.start), compile(loop.result)

    def run(activation: Activation) -> Any:
        activation.names[name] = start(activation)
        return result(activation)

    return run
