"""Predicates that tell quickly whether decoding leaves a value as it is: they are True only if it certainly does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.crd.quickvalidation import INT64
from fakekube.apiserver.crd.structural import META_FIELDS, Structural

Test = Callable[[Any], bool]


def unchanged_resource(schema: Structural) -> Test:
    """Whether pruning, the removal of nulls and the conversion of numbers leave a resource as it is, apart from its
    metadata."""
    return _never if schema.embedded else _fields_test(schema, dict.fromkeys(META_FIELDS, _always))


def _unchanged(schema: Structural | None) -> Test:
    """The same for a value inside of a resource."""
    if schema is None:  # all fields are pruned
        return _value_test(_is_empty, lambda items: all(map(_scalar, items)))
    if schema.embedded:
        return _never
    return _value_test(_fields_test(schema, {}), _never if schema.preserve else _items_test(schema))


def _fields_test(schema: Structural, tests: dict[str, Test]) -> Test:
    """The test of a map. `tests`: those of its fields, which are made when a field is used."""
    others: list[Test] = []  # one, once it is used

    def test_of(key: str) -> Test:
        field = schema.properties.get(key)
        if field is not None:
            tests[key] = _unchanged(field)
            return tests[key]
        if not others:
            unknown = _unpruned if schema.preserve else _never
            others.append(_unchanged(schema.additional) if schema.has_additional else unknown)
        return others[0]

    def test(value: Any) -> bool:
        for key, item in value.items():
            inner = tests.get(key) or test_of(key)
            if not inner(item):
                return False
        return True

    return test


def _items_test(schema: Structural) -> Test:
    """The test of a list. That of its items is made when it is used, as schemas can be large."""
    made: list[Test] = []

    def test(value: Any) -> bool:
        if not made:
            made.append(_unchanged(schema.items))
        return all(map(made[0], value))

    return test


def _value_test(of_map: Test, of_list: Test) -> Test:
    def test(value: Any) -> bool:
        form = type(value)
        if form is str:
            return True
        if form is dict:
            return of_map(value)
        if form is list:
            return of_list(value)
        return _scalar(value)

    return test


def _scalar(value: Any) -> bool:
    form = type(value)
    return (
        form is str
        or form is bool
        or (form is int and -INT64 <= value < INT64)
        or (form is float and not value.is_integer())
    )


def _is_empty(value: Any) -> bool:
    return not value


def _always(value: Any) -> bool:
    return True


def _never(value: Any) -> bool:
    return False


#: Below x-kubernetes-preserve-unknown-fields, all is kept but for the form of numbers.
_unpruned: Test = _value_test(
    lambda fields: all(map(_unpruned, fields.values())), lambda items: all(map(_unpruned, items))
)
