"""Random schemas, rules and objects do not cause internal errors."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.apiserver.api import CRDS, Api
from tests.apiserver.crd.strategies import VALUES, schemas
from tests.apiserver.crd.test_cel_rules import SCHEMA, SELF, TRUE, problems, refusal
from tests.apiserver.crd.test_custom import WIDGETS, version, widget, widgets

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Object = dict[str, Any]

KEYS = [
    "type", "format", "properties", "additionalProperties", "items", "required", "enum", "default", "nullable", "pattern",
    "minimum", "maxLength", "multipleOf", "allOf", "anyOf", "oneOf", "not", "title", "description", "uniqueItems", "$ref",
    "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string", "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations",
    "a", "metadata", "apiVersion", "kind", "spec", "rule", "message", "messageExpression", "reason", "fieldPath",
]  # fmt: skip
WORDS = [
    "object",
    "array",
    "string",
    "integer",
    "number",
    "boolean",
    "set",
    "map",
    "atomic",
    "self.a == 1",
    "a",
    ".a",
    "(",
    "",
]
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(WORDS) | st.booleans() | st.none() | st.integers(-3, 3) | st.sampled_from([0.5, 1e300]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
NODES: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({"type": st.sampled_from(WORDS[:6])}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(WORDS[:6]),
            "properties": st.dictionaries(st.sampled_from(["a", "b", "metadata", "spec", "status"]), inner, max_size=3),
            "items": inner,
            "additionalProperties": inner | st.booleans(),
            "required": st.lists(st.sampled_from(["a", "b"]), max_size=2),
            "default": VALUES,
            "enum": st.lists(VALUES, max_size=2),
            "nullable": st.booleans(),
            "allOf": st.lists(inner, max_size=2),
            "not": inner,
            "format": st.sampled_from(["date", "int32", "byte", "x"]),
            "pattern": st.sampled_from(["a+", "(", ""]),
            "maxLength": st.integers(-1, 3),
            "x-kubernetes-preserve-unknown-fields": st.booleans(),
            "x-kubernetes-int-or-string": st.booleans(),
            "x-kubernetes-embedded-resource": st.booleans(),
            "x-kubernetes-list-type": st.sampled_from(["set", "map", "atomic", "x"]),
            "x-kubernetes-list-map-keys": st.lists(st.sampled_from(["a", "b"]), max_size=2),
            "x-kubernetes-map-type": st.sampled_from(["atomic", "granular"]),
            "x-kubernetes-validations": st.lists(
                st.fixed_dictionaries(
                    {
                        "rule": st.sampled_from(
                            ["self.a == self.b", "has(self.a)", "self == oldSelf", "true", "(", "size(self) > 1"]
                        )
                    },
                    optional={
                        "message": st.sampled_from(["no", "", "a\nb"]),
                        "messageExpression": st.sampled_from(["'x'", "self", "1"]),
                        "reason": st.sampled_from(["FieldValueInvalid", "x"]),
                        "fieldPath": st.sampled_from([".a", "a", ".b.c", ".metadata"]),
                        "optionalOldSelf": st.booleans(),
                    },
                ),
                max_size=2,
            ),
        },
    ),
    max_leaves=8,
)


def tried(schema: Any, *objects: Any) -> None:
    api = Api()
    code, status = api.call(
        "POST", CRDS, json.dumps(widgets({**version(schema=schema), "subresources": {"status": {}}})).encode()
    )
    assert code < 500, status
    if code != 201:
        return
    for body in objects:
        code, status = api.call("POST", WIDGETS, json.dumps(body).encode())
        assert code < 500, status
        if code == 201:
            api.ok("GET", f"{WIDGETS}/w")
            for path in (f"{WIDGETS}/w", f"{WIDGETS}/w/status"):
                code, status = api.call("PUT", path, json.dumps(status).encode())
                assert code < 500, status
            api.ok("DELETE", f"{WIDGETS}/w")


@settings(max_examples=150, deadline=None)
@given(ANYTHING)
def test_anything_as_a_schema(schema: Any) -> None:
    tried(schema)


@settings(max_examples=200, deadline=None)
@given(NODES, st.lists(st.dictionaries(st.sampled_from(["a", "b", "metadata", "spec", "status"]), VALUES), max_size=2))
def test_almost_valid_schemas_and_objects(schema: Any, objects: list[Any]) -> None:
    tried({**schema, "type": "object"}, *({**widget(), **one} for one in objects))


@settings(max_examples=100, deadline=None)
@given(schemas(), VALUES)
def test_valid_schemas_and_any_values(schema: Any, value: Any) -> None:
    tried({"type": "object", "properties": {"spec": schema}}, {**widget(), "spec": value})


TOKENS = [
    "self", ".", "i", "s", "list", "tags", "items", "(", ")", "[", "]", "{", "}", ",", ":", "?", "==", "!=", "<", "+", "-", "*",
    "/", "%", "&&", "||", "!", "in", "1", "2.5", "0u", "'a'", "b'x'", "true", "null", "x", "all", "map", "has", "size", "int",
    "string", "duration", "optional", "'1h'", "@", "\\", "\n", ".?", "[?", "`a`", "filter", "exists", "format", "quantity",
]  # fmt: skip


def ruled(rule: str) -> None:
    if not refusal(rule):
        problems(rule)
        problems(rule, SELF, {**SELF, "i": 4})


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=12))
def test_any_tokens_as_a_rule(tokens: list[str]) -> None:
    ruled(" ".join(tokens))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(TRUE), st.data())
def test_almost_valid_rules(rule: str, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(rule)))
    end = data.draw(st.integers(begin, min(len(rule), begin + 6)))
    ruled(rule[:begin] + data.draw(st.sampled_from(["", *TOKENS])) + rule[end:])


LITERALS = ["1", "-3", "2.5", "0u", "'a'", "'2026-01-01T00:00:00Z'", "b'x'", "true", "null", "[1]", "['a']", "{'a': 1}", "duration('1h')",
            "self.i", "self.s", "self.list", "self.tags", "self.items", "self.port", "self.date", "self.wait", "self", "dyn(1)", "dyn('a')",
            "dyn([1])", "optional.of(1)", "optional.none()", "type(1)", "quantity('1Gi')", "ip('::1')", "cidr('10.0.0.0/8')", "url('https://a/')"]  # fmt: skip
MEMBERS = [
    "size", "contains", "startsWith", "matches", "find", "findAll", "split", "join", "replace", "substring", "charAt", "indexOf", "sum",
    "min", "max", "isSorted", "getFullYear", "getHours", "getHost", "isGreaterThan", "add", "sub", "asInteger", "containsIP", "orValue",
    "value", "hasValue", "lowerAscii", "format", "flatten", "distinct", "slice", "reverse", "sort", "first", "prefixLength", "family",
]  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(LITERALS), st.sampled_from(MEMBERS), st.lists(st.sampled_from(LITERALS), max_size=2))
def test_any_function_of_anything(target: str, function: str, args: list[str]) -> None:
    ruled(f"dyn({target}.{function}({', '.join(args)})) == dyn({target})")
    ruled(f"dyn({target}).{function}({', '.join(args)}) == dyn({target})")


@settings(max_examples=400, deadline=None)
@given(
    st.sampled_from(LITERALS),
    st.sampled_from(["==", "<", ">=", "+", "-", "*", "/", "%", "in", "&&", "||", "!="]),
    st.sampled_from(LITERALS),
)
def test_any_operator_on_anything(a: str, operator: str, b: str) -> None:
    ruled(f"dyn(dyn({a}) {operator} dyn({b})) == true")
    ruled(f"dyn({a} {operator} {b}) == true")


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(["int", "uint", "double", "string", "bytes", "bool", "duration", "timestamp", "type", "size", "quantity", "ip", "cidr", "url", "semver"]),
       st.sampled_from(LITERALS))  # fmt: skip
def test_any_conversion_of_anything(function: str, value: str) -> None:
    ruled(f"dyn({function}(dyn({value}))) == 1")
    ruled(f"dyn({function}({value})) == 1")


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(TRUE), st.dictionaries(st.sampled_from(sorted(SELF)), VALUES))
def test_rules_over_values_of_wrong_types(rule: str, values: Object) -> None:
    problems(rule, {**SELF, **values}, SELF, SCHEMA)
