"""A checked expression as a function of its variables (`cel-go/interpreter`).

Each node becomes a closure, so that running an expression walks no tree. Loops and functions that go through their
arguments draw on a budget, which bounds the time of any expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fakekube.apiserver.cel.library.functions import BY_ID, FUNCTIONS, TYPES
from fakekube.apiserver.cel.library.overload import Overload
from fakekube.apiserver.cel.library.standard import shown
from fakekube.apiserver.cel.syntax import Loop, Node, UInt, parts
from fakekube.apiserver.cel.types import Declared, Type
from fakekube.apiserver.cel.values import (
    NO_OVERLOAD,
    NONE,
    OVER_BUDGET,
    CelError,
    Message,
    Optional,
    OverBudget,
    equal,
    in_int64,
    kind_of,
)

#: What one expression may cost while it runs.
CALL_LIMIT = 1_000_000

#: What Python raises where a value has another type than its schema's: null, mostly.
_SURPRISES = (TypeError, AttributeError)
_FAILURES = (CelError, *_SURPRISES)


class Frame:
    """The variables of one run, and what is left of its budget."""

    __slots__ = ("left", "names")

    def __init__(self, names: dict[str, Any], left: int) -> None:
        self.names, self.left = names, left

    def spend(self, cost: int) -> None:
        self.left -= cost
        if self.left < 0:
            raise OverBudget(OVER_BUDGET)


Run = Callable[[Frame], Any]


class Program:
    """An expression that can be run."""

    __slots__ = ("_run", "cost")

    def __init__(self, node: Node) -> None:
        _rename(node, {})
        self._run = compiled(node)
        self.cost = _weight(node)

    def __call__(self, variables: Mapping[str, Any], budget: int = CALL_LIMIT) -> tuple[Any, int]:
        """The value, and what it cost. Raises CelError."""
        frame = Frame(dict(variables), budget - self.cost)
        try:
            value = self._run(frame)
        except _SURPRISES:
            raise CelError(NO_OVERLOAD) from None
        except RecursionError:
            raise OverBudget(OVER_BUDGET) from None
        return value, budget - frame.left


def _weight(node: Node) -> int:
    """What a node and the ones below cost each time, loops' bodies apart."""
    own = {"literal": 0, "list": 10, "map": 30}.get(node.kind, 1)
    if node.loop is not None:
        return own + _weight(node.loop.over) + (_weight(node.loop.result) if node.loop.macro == "bind" else 0)
    return own + sum(map(_weight, parts(node)))


def _rename(node: Node, scope: Mapping[str, str]) -> None:
    """Give the variables of each comprehension names of their own, so that none hides another one."""
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


def compiled(node: Node) -> Run:
    return _KINDS[node.kind](node)


# --- simple nodes ----------------------------------------------------------------------------------------------------


def _literal(node: Node) -> Run:
    value = node.value
    return lambda frame: value


def _ident(node: Node) -> Run:
    name = node.name.removeprefix(".")
    constant = _type_value(name) if name in TYPES and node.type.kind == "type" else None

    def run(frame: Frame) -> Any:
        try:
            return frame.names[name]
        except KeyError:
            if constant is not None:
                return constant
            raise CelError(f"no such attribute(s): {name}") from None

    return run


def _type_value(name: str) -> Type:
    return Type("type", (), name)


def _select(node: Node) -> Run:
    assert node.operand is not None
    operand, field = compiled(node.operand), _declared(node.operand.type, node.name)
    key, convert = (field.key, field.convert) if field is not None else (node.name, None)
    name = node.name
    if node.test:
        return _has(operand, key)

    def run(frame: Frame) -> Any:
        value = operand(frame)
        if isinstance(value, Optional):
            return _opt_field(value, key, convert)
        if not isinstance(value, dict):
            raise CelError(NO_OVERLOAD)
        if key not in value:
            raise CelError(f"no such key: {name}")
        found = value[key]
        return found if convert is None or found is None else convert(found)

    return run


def _declared(of: Type, name: str) -> Declared | None:
    target = of.params[0] if of.kind == "opaque" and of.params else of
    return (target.fields or {}).get(name) if target.kind == "struct" else None


def _has(operand: Run, key: str) -> Run:
    def run(frame: Frame) -> bool:
        value = operand(frame)
        if isinstance(value, Optional):
            value = value.value if value.present else {}
        if not isinstance(value, dict):
            raise CelError(NO_OVERLOAD)
        return key in value

    return run


def _opt_field(value: Any, key: str, convert: Callable[[Any], Any] | None) -> Optional:
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    if not isinstance(value, dict):
        raise CelError(NO_OVERLOAD)
    if key not in value:
        return NONE
    found = value[key]
    return Optional(True, found if convert is None or found is None else convert(found))


def _list(node: Node) -> Run:
    items, optional = [compiled(arg) for arg in node.args], node.optional
    if not optional:
        return lambda frame: [item(frame) for item in items]

    def run(frame: Frame) -> list[Any]:
        found = []
        for i, item in enumerate(items):
            value = item(frame)
            if i not in optional:
                found.append(value)
            elif value.present:
                found.append(value.value)
        return found

    return run


def _map(node: Node) -> Run:
    pairs = [(compiled(node.args[i]), compiled(node.args[i + 1])) for i in range(0, len(node.args), 2)]
    optional = node.optional

    def run(frame: Frame) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for i, (key_of, value_of) in enumerate(pairs):
            key, value = key_of(frame), value_of(frame)
            if key in found:
                raise CelError(f"Failed with repeated key: {shown(key)}")
            if i in optional:
                if not value.present:
                    continue
                value = value.value
            found[key] = value
        return found

    return run


def _message(node: Node) -> Run:
    name, optional = node.name, node.optional
    fields = [(node.args[i].value, compiled(node.args[i + 1])) for i in range(0, len(node.args), 2)]

    def run(frame: Frame) -> Message:
        found = Message(name)
        for i, (key, value_of) in enumerate(fields):
            value = value_of(frame)
            if i in optional:
                if not value.present:
                    continue
                value = value.value
            found[key] = value
        return found

    return run


# --- calls -----------------------------------------------------------------------------------------------------------


def _call(node: Node) -> Run:
    special = _SPECIAL.get(node.name)
    if special is not None:
        return special(node)
    given = ([node.operand] if node.operand is not None else []) + node.args
    quick = _QUICK.get(node.overloads[0]) if len(node.overloads) == 1 else None
    if quick is not None and all(arg.type.kind != "dyn" for arg in given):
        return quick(*map(compiled, given))
    rows = [BY_ID[id] for id in node.overloads]
    runs = [compiled(arg) for arg in given]
    function = _function(node, rows, loose=any(_is_loose(arg.type) for arg in given))
    if node.name in _LINEAR:
        return _charged(function, runs)
    if len(runs) == 1:
        (only,) = runs
        return lambda frame: function(only(frame))
    if len(runs) == 2:
        first, second = runs
        return lambda frame: function(first(frame), second(frame))
    return lambda frame: function(*[run(frame) for run in runs])


def _is_loose(one: Type) -> bool:
    return one.kind in ("dyn", "error") or any(map(_is_loose, one.params))


def _function(node: Node, rows: list[Overload], *, loose: bool) -> Callable[..., Any]:
    """What to run. Arguments whose type is only known now are looked at."""
    if not loose:
        return rows[0].run
    rows = [row for row in FUNCTIONS[rows[0].function] if row.member == rows[0].member]

    def dispatch(*args: Any) -> Any:
        for row in rows:
            if len(row.args) == len(args) and all(map(_fits, row.args, args)):
                return row.run(*args)
        raise CelError(NO_OVERLOAD)

    return dispatch


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
    return kind_of(value) == name


#: Functions whose time grows with their arguments.
_LINEAR = frozenset(
    {
        "matches", "find", "findAll", "replace", "split", "join", "contains", "lowerAscii", "upperAscii", "trim",
        "substring", "format", "sum", "min", "max", "isSorted", "indexOf", "lastIndexOf", "distinct", "sort", "flatten",
        "@sortByAssociatedKeys",
        "reverse", "slice", "sets.contains", "sets.equivalent", "sets.intersects", "_==_", "_!=_", "@in", "_+_",
        "quantity", "url", "semver", "ip", "cidr",
    }
)  # fmt: skip


def _charged(function: Callable[..., Any], runs: list[Run]) -> Run:
    def run(frame: Frame) -> Any:
        args = [one(frame) for one in runs]
        size = 0
        for arg in args:
            if isinstance(arg, str | bytes):
                size += len(arg) // 10
            elif isinstance(arg, list | dict):
                size += len(arg)
        if size:
            frame.spend(size)
        return function(*args)

    return run


def _and(node: Node) -> Run:
    return _logical(node, False)


def _or(node: Node) -> Run:
    return _logical(node, True)


def _logical(node: Node, decisive: bool) -> Run:
    """`&&` and `||`: one decisive side is enough, whatever the other one fails with."""
    first, second = map(compiled, node.args)

    def run(frame: Frame) -> Any:
        failed: Exception | None = None
        try:
            left = first(frame)
            if left is decisive:
                return decisive
            if not isinstance(left, bool):
                failed = CelError(NO_OVERLOAD)
        except OverBudget:
            raise
        except _FAILURES as problem:
            failed = problem
        right = second(frame) if failed is None else _tried(second, frame, failed)
        if right is decisive:
            return decisive
        if failed is not None:
            raise failed
        if not isinstance(right, bool):
            raise CelError(NO_OVERLOAD)
        return right

    return run


def _tried(run: Run, frame: Frame, failed: Exception) -> Any:
    """The other side of an operator whose first side failed."""
    try:
        return run(frame)
    except OverBudget:
        raise
    except _FAILURES:
        raise failed from None


def _conditional(node: Node) -> Run:
    condition, yes, no = map(compiled, node.args)

    def run(frame: Frame) -> Any:
        which = condition(frame)
        if which is True:
            return yes(frame)
        if which is False:
            return no(frame)
        raise CelError(NO_OVERLOAD)

    return run


def _optional_select(node: Node) -> Run:
    operand, field = node.args
    run, declared = compiled(operand), _declared(operand.type, field.value)
    key, convert = (declared.key, declared.convert) if declared is not None else (field.value, None)
    return lambda frame: _opt_field(run(frame), key, convert)


_SPECIAL: Mapping[str, Callable[[Node], Run]] = {
    "_&&_": _and,
    "_||_": _or,
    "_?_:_": _conditional,
    "_?._": _optional_select,
    "@not_strictly_false": lambda node: compiled(node.args[0]),
}


def _less(a: Run, b: Run) -> Run:
    return lambda frame: a(frame) < b(frame)


def _less_equals(a: Run, b: Run) -> Run:
    return lambda frame: a(frame) <= b(frame)


def _greater(a: Run, b: Run) -> Run:
    return lambda frame: a(frame) > b(frame)


def _greater_equals(a: Run, b: Run) -> Run:
    return lambda frame: a(frame) >= b(frame)


def _add_ints(a: Run, b: Run) -> Run:
    return lambda frame: in_int64(a(frame) + b(frame))


def _not(a: Run) -> Run:
    def run(frame: Frame) -> Any:
        value = a(frame)
        if not isinstance(value, bool):
            raise CelError(NO_OVERLOAD)
        return not value

    return run


def _equals(a: Run, b: Run) -> Run:
    def run(frame: Frame) -> bool:
        left, right = a(frame), b(frame)
        if type(left) is type(right) and isinstance(left, str | int):
            return bool(left == right)
        if isinstance(left, list | dict):
            frame.spend(len(left))
        return equal(left, right)

    return run


def _differs(a: Run, b: Run) -> Run:
    same = _equals(a, b)
    return lambda frame: not same(frame)


#: Overloads of values that Python compares as CEL does.
_QUICK: Mapping[str, Callable[..., Run]] = {
    **{f"less_{kind}": _less for kind in ("int64", "double", "string", "timestamp", "duration")},
    **{f"less_equals_{kind}": _less_equals for kind in ("int64", "double", "string", "timestamp", "duration")},
    **{f"greater_{kind}": _greater for kind in ("int64", "double", "string", "timestamp", "duration")},
    **{f"greater_equals_{kind}": _greater_equals for kind in ("int64", "double", "string", "timestamp", "duration")},
    "add_int64": _add_ints,
    "logical_not": _not,
    "equals": _equals,
    "not_equals": _differs,
}


# --- comprehensions --------------------------------------------------------------------------------------------------

Items = Callable[[Any], Iterable[Any]]


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


def _comprehension(node: Node) -> Run:
    loop = node.loop
    assert loop is not None
    if loop.macro == "bind":
        return _bind(loop)
    body = [compiled(part) for part in loop.body]
    each = 1 + sum(map(_weight, loop.body))
    return _MACROS[loop.macro](_looped(loop, each), *body)


Each = Callable[[Frame], Iterable[Any]]


def _looped(loop: Loop, each: int) -> Each:
    """Goes through the items, one in the variables at a time."""
    over, names = compiled(loop.over), loop.names
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
                except _FAILURES as problem:
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


def _bind(loop: Loop) -> Run:
    name, start, result = loop.accumulator, compiled(loop.start), compiled(loop.result)

    def run(frame: Frame) -> Any:
        frame.names[name] = start(frame)
        return result(frame)

    return run


_KINDS: Mapping[str, Callable[[Node], Run]] = {
    "literal": _literal,
    "ident": _ident,
    "select": _select,
    "call": _call,
    "list": _list,
    "map": _map,
    "message": _message,
    "comprehension": _comprehension,
}
