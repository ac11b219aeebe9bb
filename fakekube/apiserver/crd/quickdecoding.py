"""Predicates that recognise values quickly that decoding leaves as they are: they are True only for those."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.crd.structural import META_FIELDS, Structural

Test = Callable[[Any], bool]

INT64 = 2**63


def unchanged_resource(schema: Structural) -> Test:
    """Whether pruning, the removal of nulls and the conversion of numbers leave a resource as it is, apart from its
    metadata."""
    return _none if schema.embedded else _fields_test(schema, dict.fromkeys(META_FIELDS, _any))


def _unchanged(schema: Structural | None) -> Test:
    """The same for a value inside of a resource."""
    if schema is None:
        return _value_test(_is_empty, _scalar)
    if schema.embedded:
        return _none
    items = _none if schema.preserve else _once(lambda: _unchanged(schema.items))
    return _value_test(_fields_test(schema, {}), items)


def _fields_test(schema: Structural, tests: dict[str, Test]) -> Test:
    """The test of a map. `tests`: those of its fields, which are made when a field is used."""
    others = _unpruned if schema.preserve else _none
    if schema.has_additional:
        others = _once(lambda: _unchanged(schema.additional))

    def test_of(key: str) -> Test:
        field = schema.properties.get(key)
        if field is None:
            return others
        tests[key] = _unchanged(field)
        return tests[key]

    def test(value: Any) -> bool:
        for key, item in value.items():
            inner = tests.get(key) or test_of(key)
            if not inner(item):
                return False
        return True

    return test


def _once(make: Callable[[], Test]) -> Test:
    """A test that is made when it is used, as schemas can be large."""
    made: list[Test] = []

    def test(value: Any) -> bool:
        if not made:
            made.append(make())
        return made[0](value)

    return test


def _value_test(fields: Test, items: Test) -> Test:
    def test(value: Any) -> bool:
        form = type(value)
        if form is str:
            return True
        if form is dict:
            return fields(value)
        if form is list:
            return all(map(items, value))
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


def _any(value: Any) -> bool:
    return True


def _none(value: Any) -> bool:
    return False


#: Below x-kubernetes-preserve-unknown-fields, all is kept but for the form of numbers.
_unpruned: Test = _value_test(lambda value: all(map(_unpruned, value.values())), lambda value: _unpruned(value))
