"""Hostile definitions and objects are rejected or processed in bounded time."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.apiserver.api import CRDS, Api
from tests.apiserver.crd.test_custom import WIDGETS, version, widget, widgets

pytestmark = pytest.mark.slow

Object = dict[str, Any]

TEXT = {"type": "string"}


def nested(levels: int, around: Callable[[Any], Any], inner: Any = TEXT) -> Any:
    for _ in range(levels):
        inner = around(inner)
    return inner


def fields(count: int, node: Object) -> Object:
    return {"type": "object", "properties": {f"p{i}": node for i in range(count)}}


RULE = {"type": "string", "maxLength": 5, "x-kubernetes-validations": [{"rule": "self.size() < 10"}]}

SPECS: list[Any] = [
    pytest.param(nested(100, lambda one: {"type": "object", "properties": {"a": one}}), True, id="deep objects"),
    pytest.param(nested(240, lambda one: {"type": "object", "properties": {"a": one}}), False, id="too deep objects"),
    pytest.param(nested(200, lambda one: {"type": "array", "items": one}), True, id="deep lists"),
    pytest.param(
        {"type": "string"} | nested(11, lambda one: {"allOf": [one, one]}, {"minLength": 1}), True, id="doubling"
    ),
    pytest.param(fields(3000, TEXT), True, id="wide"),
    pytest.param(fields(300, RULE), True, id="many rules"),
    pytest.param({"type": "string", "enum": [str(i) for i in range(20_000)]}, True, id="a long enum"),
    pytest.param({"type": "string", "pattern": "(a{1,1000}){1,1000}"}, False, id="an exploding pattern"),
    pytest.param({"type": "string", "pattern": "^(a+)+$"}, True, id="a pattern that goes back"),
]


@pytest.mark.parametrize(("spec", "taken"), SPECS)
def test_a_hostile_schema_ends_in_bounded_time(api: Api, spec: Object, taken: bool) -> None:
    begun = time.process_time()
    schema = {"type": "object", "properties": {"spec": spec}}
    body = json.dumps(widgets({**version(schema=schema), "subresources": {}})).encode()
    code, _ = api.call("POST", CRDS, body)
    assert (code == 201) == taken
    if taken:
        api.call("POST", WIDGETS, widget(spec="a" * 5000 + "b"))
        api.call("POST", WIDGETS, widget(spec=nested(90, lambda one: {"a": one}, "x")))
        api.call("POST", WIDGETS, widget(spec={f"p{i}": "x" for i in range(5000)}))
    assert time.process_time() - begun < 10


MANY = 20_000


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        pytest.param({"type": "array", "items": TEXT}, list(range(MANY)), id="wrong items"),
        pytest.param(
            {"type": "object", "additionalProperties": TEXT}, {f"k{i}": i for i in range(MANY)}, id="wrong values"
        ),
        pytest.param({"type": "object"}, {f"k{i}": i for i in range(MANY)}, id="unknown fields"),
        pytest.param({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, ["a"] * MANY, id="duplicates"),
        pytest.param(
            {
                "type": "array",
                "items": {"type": "object", "required": ["k"], "properties": {"k": TEXT}},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
            },
            [{"k": str(i // 2)} for i in range(MANY)],
            id="duplicate keys",
        ),
        pytest.param(
            {
                "type": "array",
                "maxItems": MANY,
                "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 0"}]},
            },
            list(range(MANY)),
            id="failing rules",
        ),
    ],
)
def test_many_errors_end_in_bounded_time(api: Api, spec: Object, value: Any) -> None:
    schema = {"type": "object", "properties": {"spec": spec}}
    api.ok("POST", CRDS, widgets({**version(schema=schema), "subresources": {}}))
    begun = time.process_time()
    api.call("POST", WIDGETS, json.dumps(widget(spec=value)).encode())
    assert time.process_time() - begun < 10
