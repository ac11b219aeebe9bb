"""Predicates that accept values quickly: they are True only for values that are certainly valid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from fakekube.apiserver.schema import stringformats
from fakekube.apiserver.wire.goregexp import BadPattern, compiled

Node = Mapping[str, Any]
Accepts = Callable[[Any], bool]

INT64 = 2**63
NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


class Validator(Protocol):
    """The parts of a `SchemaValidator` that predicates are made of."""

    node: Node
    types: tuple[str, ...]
    format: str
    nullable: bool
    enum: Sequence[Any]
    required: Sequence[str]
    pattern: str

    @property
    def accepts(self) -> Accepts: ...

    @property
    def all_of(self) -> Sequence[Validator]: ...

    @property
    def any_of(self) -> Sequence[Validator]: ...

    @property
    def one_of(self) -> Sequence[Validator]: ...

    @property
    def negated(self) -> Validator | None: ...

    @property
    def items(self) -> Validator | None: ...

    @property
    def additional(self) -> Validator | bool | None: ...

    @property
    def properties(self) -> Mapping[str, Validator]: ...

    def is_valid(self, value: Any) -> bool: ...


def acceptance(values: Validator) -> Accepts:
    """The predicate of a validator."""
    exact = _exact(values)
    extra = [*(one.accepts for one in values.all_of)]
    if values.any_of:
        extra.append(_any(tuple(one.accepts for one in values.any_of)))
    if values.one_of or values.negated is not None:
        extra.append(lambda value: values.is_valid(value))
    if not extra:
        return exact
    return lambda value: exact(value) and all(one(value) for one in extra)


def _any(alternatives: tuple[Accepts, ...]) -> Accepts:
    return lambda value: any(one(value) for one in alternatives)


def _exact(values: Validator) -> Accepts:
    node, kind = values.node, values.types
    if kind == ("integer", "string") and not values.enum and not values.format and not _LIMITS & node.keys():
        return _nullable(_int_or_string) if values.nullable else _int_or_string
    make = _MAKERS.get(kind[0]) if len(kind) == 1 else None
    if make is None or (values.format and kind[0] not in NUMBER_FORMATS and kind != ("string",)):
        return lambda value: values.is_valid(value)
    inner = make(values, node)
    return _nullable(inner) if values.nullable and not values.enum else inner


#: The keywords that restrict a number or a string.
_LIMITS = frozenset({"minimum", "maximum", "multipleOf", "minLength", "maxLength", "pattern"})


def _int_or_string(value: Any) -> bool:
    return type(value) is str or (type(value) is int and -INT64 <= value < INT64)


def _nullable(inner: Accepts) -> Accepts:
    return lambda value: value is None or inner(value)


def _string_accepts(values: Validator, node: Node) -> Accepts:
    longest, shortest = node.get("maxLength"), node.get("minLength") or 0
    tests: list[Accepts] = []
    if values.enum:
        choices = frozenset(one for one in values.enum if isinstance(one, str))
        tests.append(lambda value: value in choices)
    if longest is not None or shortest:
        most = longest if longest is not None else float("inf")
        tests.append(lambda value: shortest <= len(value) <= most)
    if values.pattern:
        tests.append(_matches(values.pattern))
    known = stringformats.known(values.format) if values.format else None
    if known is not None:
        tests.append(known)
    if not tests:
        return lambda value: type(value) is str
    if len(tests) == 1:
        only = tests[0]
        return lambda value: type(value) is str and only(value)
    return lambda value: type(value) is str and all(test(value) for test in tests)


def _matches(pattern: str) -> Accepts:
    try:
        search = compiled(pattern).search
    except BadPattern:
        return lambda value: False
    return lambda value: search(value) is not None


def _number_accepts(values: Validator, node: Node) -> Accepts:
    kind = values.types[0]
    if values.enum or "multipleOf" in node or not _fitting_bounds(values, node):
        return lambda value: type(value) in (int, float) and values.is_valid(value)
    least, most = _range(values, node)
    if kind == "integer":
        return lambda value: type(value) is int and least <= value <= most
    if least == -float("inf") and most == float("inf"):
        return lambda value: type(value) is int or type(value) is float
    low, high = max(least, _cut(least)), min(most, _cut(most))  # the bounds of integers are cut to integers
    least, most = float(least), float(most)  # and those of floats rounded
    return lambda value: (type(value) is float and least < value < most) or (type(value) is int and low < value < high)


def _cut(bound: float) -> float:
    return bound if math.isinf(bound) else int(bound)


def _fitting_bounds(values: Validator, node: Node) -> bool:
    """Whether the bounds are numbers of the type and format themselves: those that are not are errors of each value."""
    bounds = [node[key] for key in ("minimum", "maximum") if key in node]
    if values.types[0] == "integer":
        limit = 2**31 if values.format == "int32" else INT64
        return all(float(one).is_integer() and -limit <= one < limit for one in bounds)
    return values.format != "float"


def _range(values: Validator, node: Node) -> tuple[float, float]:
    """The range of certainly valid numbers; inclusive for integers, exclusive for others."""
    whole = values.types[0] == "integer"
    limit = (2**31 if values.format == "int32" else INT64) if whole else float("inf")
    least, most = -limit, limit - 1 if whole else limit
    if "minimum" in node:
        least = max(least, int(node["minimum"]) + bool(node.get("exclusiveMinimum")) if whole else node["minimum"])
    if "maximum" in node:
        most = min(most, int(node["maximum"]) - bool(node.get("exclusiveMaximum")) if whole else node["maximum"])
    return least, most


def _boolean_accepts(values: Validator, node: Node) -> Accepts:
    if values.enum:
        choices = [one for one in values.enum if type(one) is bool]  # the choice 1 equals True, and is not it
        return lambda value: type(value) is bool and value in choices
    return lambda value: type(value) is bool


def _list_accepts(values: Validator, node: Node) -> Accepts:
    fewest, most = node.get("minItems") or 0, node.get("maxItems")
    largest = most if most is not None else float("inf")
    if values.enum:
        return lambda value: False
    items = values.items

    def accepts(value: Any) -> bool:
        if type(value) is not list or not fewest <= len(value) <= largest:
            return False
        return items is None or all(map(items.accepts, value))

    return accepts


def _object_accepts(values: Validator, node: Node) -> Accepts:
    fewest, most = node.get("minProperties") or 0, node.get("maxProperties")
    largest = most if most is not None else float("inf")
    required, properties, additional = tuple(values.required), values.properties, values.additional
    if values.enum or additional is False:
        return lambda value: False
    others = None if additional is None or additional is True else additional
    fields: dict[str, Accepts] = {}  # filled when a field is used

    def test_of(key: str) -> Accepts | None:
        found = properties.get(key)
        if found is None:
            return others.accepts if others is not None else None
        fields[key] = found.accepts
        return fields[key]

    def accepts(value: Any) -> bool:
        if type(value) is not dict or not fewest <= len(value) <= largest:
            return False
        for key in required:
            if key not in value:
                return False
        for key, item in value.items():
            test = fields.get(key) or test_of(key)
            if test is not None and not test(item):
                return False
        return True

    return accepts


_MAKERS: Mapping[str, Callable[[Validator, Node], Accepts]] = {
    "string": _string_accepts,
    "integer": _number_accepts,
    "number": _number_accepts,
    "boolean": _boolean_accepts,
    "array": _list_accepts,
    "object": _object_accepts,
}
