"""Compiles the calls of an expression to closures (`cel-go/interpreter`)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakekube.apiserver.cel.activation import FAILURES, Activation, Interpretable
from fakekube.apiserver.cel.fields import declared_field, optional_field
from fakekube.apiserver.cel.library.functions import BY_ID, FUNCTIONS
from fakekube.apiserver.cel.library.lists import opt_index
from fakekube.apiserver.cel.library.overload import Overload
from fakekube.apiserver.cel.library.standard import index
from fakekube.apiserver.cel.tree import Node, UInt
from fakekube.apiserver.cel.types import Type
from fakekube.apiserver.cel.values import (
    NO_OVERLOAD,
    UNORDERED,
    CelError,
    Optional,
    OverBudget,
    equal,
    in_int64,
    kind_of,
)

Compile = Callable[[Node], Interpretable]
"""Compiles a node. It is passed to the compilers of single kinds of nodes, which compile the child nodes with it."""


def compile_call(node: Node, compile: Compile) -> Interpretable:
    special = _SPECIAL.get(node.name)
    if special is not None:
        return special(node, compile)
    given = ([node.operand] if node.operand is not None else []) + node.args
    quick = _QUICK.get(node.overloads[0]) if len(node.overloads) == 1 else None
    if node.name in ("_[_]", "_[?_]"):
        container, key = map(compile, given)
        return _index(container, key, index if node.name == "_[_]" else opt_index)
    if quick is not None and all(arg.type.kind != "dyn" for arg in given):
        return quick(*map(compile, given))
    rows = [BY_ID[id] for id in node.overloads]
    runs = [compile(arg) for arg in given]
    if node.name in _UNCHECKED:
        runs = [_unchecked(runs[0]), *runs[1:]]
    function = _function(node, rows, loose=any(_is_loose(arg.type) for arg in given))
    if node.name in _LINEAR:
        return _charged(function, runs)
    if len(runs) == 1:
        (only,) = runs
        return lambda activation: function(only(activation))
    if len(runs) == 2:
        first, second = runs
        return lambda activation: function(first(activation), second(activation))
    return lambda activation: function(*[run(activation) for run in runs])


#: Functions whose errors are not those of a receiver that fails, as cel-go casts the error to a list.
_UNCHECKED = frozenset({"sort", "distinct"})


def _unchecked(run: Interpretable) -> Interpretable:
    def receiver(activation: Activation) -> Any:
        try:
            return run(activation)
        except OverBudget:
            raise
        except FAILURES:
            why = "interface conversion: *types.Err is not traits.Lister: missing method Add"
            raise CelError(f"internal error: {why}") from None

    return receiver


def _index(container: Interpretable, key: Interpretable, element: Callable[[Any, Any], Any]) -> Interpretable:
    return lambda activation: element(container(activation), key(activation))


def _is_loose(one: Type) -> bool:
    return one.kind in ("dyn", "error") or any(map(_is_loose, one.params))


def _function(node: Node, rows: list[Overload], *, loose: bool) -> Callable[..., Any]:
    """The function of a call. Arguments of dynamic type are dispatched at run time."""
    if not loose:
        return rows[0].run
    rows = [row for row in FUNCTIONS[rows[0].function] if row.member == rows[0].member]

    def dispatch(*args: Any) -> Any:
        for row in rows:
            if len(row.args) == len(args) and all(map(_fits, row.args, args)):
                return row.run(*args)
        raise CelError(_unmatched(node.name, args))

    return dispatch


#: Operator -> the types that implement it as the left operand, or that have methods (`traits` in cel-go).
_IMPLEMENTED: Mapping[str, frozenset[str]] = {
    function: frozenset(kinds.replace("time", "google.protobuf.Timestamp google.protobuf.Duration").split())
    for function, kinds in {
        "_+_": "int uint double string bytes list time",
        "_-_": "int uint double string time",
        "_*_": "int uint double string time",
        "_/_": "int uint double string time",
        "_%_": "int uint string time",
        "-_": "int double bool string time",
        "size": "string time",
        "sort": "string time",
        **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), "bool int uint double string bytes time"),
    }.items()
}

#: Functions whose errors do not name the types of the arguments.
_UNNAMED = frozenset({"matches", "contains", "find", "findAll", *_IMPLEMENTED})


def _unmatched(function: str, args: Sequence[Any]) -> str:
    """The error of a call whose arguments have types that no overload accepts."""
    kinds = [kind_of(arg) for arg in args]
    if function in _IMPLEMENTED and kinds[0] not in _IMPLEMENTED[function]:
        return f"{NO_OVERLOAD}: {function}"
    if function == "flatten" and len(kinds) == 1:
        return f"{NO_OVERLOAD}: {kinds[0]}.flatten()"
    return (
        NO_OVERLOAD if function[0] in "!@" or function in _UNNAMED else f"{NO_OVERLOAD}: {function}({', '.join(kinds)})"
    )


_PLAIN: dict[str, tuple[type, ...]] = {
    "bool": (bool,), "string": (str,), "bytes": (bytes,), "double": (float,), "list": (list,), "map": (dict,),
    "uint": (UInt,), "type": (Type,),
}  # fmt: skip


def _fits(wanted: Type, value: Any) -> bool:
    kind = wanted.kind
    if kind in ("dyn", "param"):
        return True
    if kind == "int":
        return type(value) is int
    found = _PLAIN.get(kind)
    if found is not None:
        return isinstance(value, found)
    if kind == "null":
        return value is None
    name = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration"}.get(kind, wanted.name)
    return name in (getattr(value, "cel_type", ""), kind_of(value))


#: Functions whose time depends on the size of their arguments.
_LINEAR = frozenset(
    {
        "matches", "find", "findAll", "replace", "split", "join", "contains", "lowerAscii", "upperAscii", "trim",
        "substring", "format", "sum", "min", "max", "isSorted", "indexOf", "lastIndexOf", "distinct", "sort", "flatten",
        "@sortByAssociatedKeys",
        "reverse", "slice", "sets.contains", "sets.equivalent", "sets.intersects", "_==_", "_!=_", "@in", "_+_",
        "quantity", "url", "semver", "ip", "cidr",
    }
)  # fmt: skip


def _charged(function: Callable[..., Any], runs: list[Interpretable]) -> Interpretable:
    def run(activation: Activation) -> Any:
        args = [one(activation) for one in runs]
        size = 0
        for arg in args:
            if isinstance(arg, str | bytes):
                size += len(arg) // 10
            elif isinstance(arg, list | dict):
                size += len(arg)
        if size:
            activation.spend(size)
        return function(*args)

    return run


def _and(node: Node, compile: Compile) -> Interpretable:
    return _logical(node, False, compile)


def _or(node: Node, compile: Compile) -> Interpretable:
    return _logical(node, True, compile)


def _logical(node: Node, decisive: bool, compile: Compile) -> Interpretable:
    """Compiles `&&` and `||`: if one side is decisive, errors of the other side are ignored."""
    first, second = map(compile, node.args)

    def run(activation: Activation) -> Any:
        failed: Exception | None = None
        try:
            left = first(activation)
            if left is decisive:
                return decisive
            if not isinstance(left, bool):
                failed = CelError(NO_OVERLOAD)
        except OverBudget:
            raise
        except FAILURES as problem:
            failed = problem
        right = second(activation) if failed is None else _tried(second, activation, failed)
        if right is decisive:
            return decisive
        if failed is not None:
            raise failed
        if not isinstance(right, bool):
            raise CelError(NO_OVERLOAD)
        return right

    return run


def _tried(run: Interpretable, activation: Activation, failed: Exception) -> Any:
    """Evaluates the second side of an operator whose first side failed."""
    try:
        return run(activation)
    except OverBudget:
        raise
    except FAILURES:
        raise failed from None


def _conditional(node: Node, compile: Compile) -> Interpretable:
    condition, yes, no = map(compile, node.args)

    def run(activation: Activation) -> Any:
        which = condition(activation)
        if which is True:
            return yes(activation)
        if which is False:
            return no(activation)
        raise CelError(NO_OVERLOAD)

    return run


def _optional_select(node: Node, compile: Compile) -> Interpretable:
    operand, field = node.args
    run, declared = compile(operand), declared_field(operand.type, field.value)
    key, convert = (declared.key, declared.convert) if declared is not None else (field.value, None)
    known = declared is not None
    return lambda activation: optional_field(run(activation), key, convert, declared=known)


def _or_value(node: Node, compile: Compile) -> Interpretable:
    """Compiles `or` and `orValue`, which evaluate their argument only if there is no value."""
    assert node.operand is not None
    receiver, other, unwrapped = compile(node.operand), compile(node.args[0]), node.name == "orValue"

    def run(activation: Activation) -> Any:
        value = receiver(activation)
        if not isinstance(value, Optional):
            return value
        if not value.present:
            return other(activation)
        return value.value if unwrapped else value

    return run


_SPECIAL: Mapping[str, Callable[[Node, Compile], Interpretable]] = {
    "or": _or_value,
    "orValue": _or_value,
    "_&&_": _and,
    "_||_": _or,
    "_?_:_": _conditional,
    "_?._": _optional_select,
    "@not_strictly_false": lambda node, compile: compile(node.args[0]),
}


def _less(a: Interpretable, b: Interpretable) -> Interpretable:
    return lambda activation: a(activation) < b(activation)


def _less_equals(a: Interpretable, b: Interpretable) -> Interpretable:
    return lambda activation: a(activation) <= b(activation)


def _greater(a: Interpretable, b: Interpretable) -> Interpretable:
    return lambda activation: a(activation) > b(activation)


def _greater_equals(a: Interpretable, b: Interpretable) -> Interpretable:
    return lambda activation: a(activation) >= b(activation)


def _ordered(compare: Callable[[float, float], bool]) -> Callable[..., Interpretable]:
    """Compiles a comparison of doubles."""

    def make(a: Interpretable, b: Interpretable) -> Interpretable:
        def run(activation: Activation) -> bool:
            left, right = a(activation), b(activation)
            if left != left or right != right:
                raise CelError(UNORDERED)
            return compare(left, right)

        return run

    return make


def _add_ints(a: Interpretable, b: Interpretable) -> Interpretable:
    return lambda activation: in_int64(a(activation) + b(activation))


def _not(a: Interpretable) -> Interpretable:
    def run(activation: Activation) -> Any:
        value = a(activation)
        if not isinstance(value, bool):
            raise CelError(NO_OVERLOAD)
        return not value

    return run


def _equals(a: Interpretable, b: Interpretable) -> Interpretable:
    def run(activation: Activation) -> bool:
        left, right = a(activation), b(activation)
        if type(left) is type(right) and isinstance(left, str | int):
            return bool(left == right)
        if isinstance(left, list | dict):
            activation.spend(len(left))
        return equal(left, right)

    return run


def _differs(a: Interpretable, b: Interpretable) -> Interpretable:
    same = _equals(a, b)
    return lambda activation: not same(activation)


#: Overloads that Python's operators implement.
_QUICK: Mapping[str, Callable[..., Interpretable]] = {
    **{f"less_{kind}": _less for kind in ("int64", "string", "timestamp", "duration")},
    "less_double": _ordered(operator.lt),
    **{f"less_equals_{kind}": _less_equals for kind in ("int64", "string", "timestamp", "duration")},
    "less_equals_double": _ordered(operator.le),
    **{f"greater_{kind}": _greater for kind in ("int64", "string", "timestamp", "duration")},
    "greater_double": _ordered(operator.gt),
    **{f"greater_equals_{kind}": _greater_equals for kind in ("int64", "string", "timestamp", "duration")},
    "greater_equals_double": _ordered(operator.ge),
    "add_int64": _add_ints,
    "logical_not": _not,
    "equals": _equals,
    "not_equals": _differs,
}
