"""Compiles the comprehensions of an expression to closures: `all`, `exists`, `map`, `filter` and the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fakekube.apiserver.cel.activation import FAILURES, Frame, Run, weight
from fakekube.apiserver.cel.library.standard import shown
from fakekube.apiserver.cel.tree import Loop, Node
from fakekube.apiserver.cel.values import NO_OVERLOAD, CelError, OverBudget

Compile = Callable[[Node], Run]
"""Compiles a node; nodes contain others, so that it is passed to what compiles one kind of node."""


def _one(value: Any) -> Iterable[Any]:
    if isinstance(value, list | dict):
        return value
    raise CelError(NO_OVERLOAD)


def _pairs(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.items()
    if isinstance(value, list):
        return enumerate(value)
    raise CelError(NO_OVERLOAD)


def compile_comprehension(node: Node, compile: Compile) -> Run:
    loop = node.loop
    assert loop is not None
    if loop.macro == "bind":
        return _bind(loop, compile)
    body = [compile(part) for part in loop.body]
    each = 1 + sum(map(weight, loop.body))
    return _MACROS[loop.macro](_looped(loop, each, compile), *body)


Each = Callable[[Frame], Iterable[Any]]


def _looped(loop: Loop, each: int, compile: Compile) -> Each:
    """Goes through the items, one in the variables at a time."""
    over, names = compile(loop.over), loop.names
    if len(names) == 2:
        return _two(over, names[0], names[1], each)
    name = names[0]

    def walk(frame: Frame) -> Iterable[Any]:
        scope = frame.names
        for item in _one(over(frame)):
            frame.spend(each)
            scope[name] = item
            yield item

    return walk


def _two(over: Run, first: str, second: str, each: int) -> Each:
    def walk(frame: Frame) -> Iterable[Any]:
        scope = frame.names
        for item in _pairs(over(frame)):
            frame.spend(each)
            scope[first], scope[second] = item
            yield item

    return walk


def _quantifier(decisive: bool) -> Callable[..., Run]:
    """`all` (decided by false) and `exists` (decided by true)."""

    def make(walk: Each, predicate: Run) -> Run:
        def run(frame: Frame) -> Any:
            failed: Exception | None = None
            for _ in walk(frame):
                try:
                    found = predicate(frame)
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


def _exists_one(walk: Each, predicate: Run) -> Run:
    return lambda frame: sum(predicate(frame) is True for _ in walk(frame)) == 1


def _map_macro(walk: Each, *body: Run) -> Run:
    if len(body) == 1:
        (value,) = body
        return lambda frame: [value(frame) for _ in walk(frame)]
    test, made = body
    return lambda frame: [made(frame) for _ in walk(frame) if test(frame)]


def _filter(walk: Each, test: Run) -> Run:
    return lambda frame: [item for item in walk(frame) if test(frame)]


def _transform_map(walk: Each, *body: Run) -> Run:
    value = body[-1]
    test = body[0] if len(body) == 2 else None

    def run(frame: Frame) -> dict[Any, Any]:
        return {key: value(frame) for key, _ in walk(frame) if test is None or test(frame)}

    return run


def _transform_entry(walk: Each, *body: Run) -> Run:
    entry = body[-1]
    test = body[0] if len(body) == 2 else None

    def run(frame: Frame) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for _ in walk(frame):
            if test is not None and not test(frame):
                continue
            for key, value in entry(frame).items():
                if key in found:
                    raise CelError(f"insert failed: key {shown(key)} already exists")
                found[key] = value
        return found

    return run


_MACROS: Mapping[str, Callable[..., Run]] = {
    "all": _quantifier(False),
    "exists": _quantifier(True),
    "exists_one": _exists_one,
    "map": _map_macro,
    "filter": _filter,
    "transformList": _map_macro,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_entry,
}


def _bind(loop: Loop, compile: Compile) -> Run:
    name, start, result = loop.accumulator, compile(loop.start), compile(loop.result)

    def run(frame: Frame) -> Any:
        frame.names[name] = start(frame)
        return result(frame)

    return run
