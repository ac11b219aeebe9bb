"""Custom resources with values that do not conform to the schema, or only after they are stored."""

from typing import Any

import orjson
import pytest

from fakekube.apiserver.wire import gojson, yamlencoder
from tests.apiserver.api import CRDS, Api

Object = dict[str, Any]

WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
JSON_PATCH = {"content_type": "application/json-patch+json"}
MERGE = {"content_type": "application/merge-patch+json"}
APPLY = {"content_type": "application/apply-patch+yaml"}
YAML = {"content_type": "application/yaml"}


def version(name: str = "v1", *, spec: Object, **more: Any) -> Object:
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": {"type": "object", **spec}, "status": status}}
    made = {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {**made, "subresources": {"status": {}}, **more}


def define(api: Api, *versions: Object) -> None:
    spec = {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}}
    api.ok(
        "POST",
        CRDS,
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {**spec, "versions": list(versions)},
        },
    )


def widget(name: str = "w", api_version: str = "example.com/v1", **more: Any) -> Object:
    return {"apiVersion": api_version, "kind": "Widget", "metadata": {"name": name}, **more}


def text(name: str, value: str) -> bytes:
    """A body whose `spec.n` is a literal."""
    meta = f'"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"{name}"}}'
    return f'{{{meta},"spec":{{"n":{value}}}}}'.encode()


# --- floats that are whole numbers -----------------------------------------------------------------------------------


def test_a_whole_float_is_a_number_in_type_errors(api: Api) -> None:
    define(api, version(spec={"properties": {"n": {"type": "string"}}}))
    assert '"number": spec.n in body must be of type string' in api.refused("POST", WIDGETS, text("w", "1000.0"))[2]
    assert '"number": spec.n in body must be of type string' in api.refused("POST", WIDGETS, text("w", "1e3"))[2]
    assert '"integer": spec.n in body must be of type string' in api.refused("POST", WIDGETS, text("w", "1000"))[2]


def test_a_whole_float_is_divided_as_a_float(api: Api) -> None:
    define(api, version(spec={"properties": {"n": {"type": "number", "multipleOf": 0.5}}}))
    assert api.ok("POST", WIDGETS, text("w", "1.0"))["spec"] == {"n": 1}
    assert "must be positive: 0" in api.refused("POST", WIDGETS, text("x", "1"))[2]


def test_a_stored_whole_float_is_an_integer(api: Api) -> None:
    rules = [{"rule": "self >= oldSelf", "message": "falls"}]
    define(api, version(spec={"properties": {"n": {"type": "integer", "x-kubernetes-validations": rules}}}))
    api.ok("POST", WIDGETS, text("w", "5.0"))
    assert api.ok("GET", f"{WIDGETS}/w")["spec"] == {"n": 5}
    assert api.ok("PATCH", f"{WIDGETS}/w", b'{"spec":{"n":6}}', **MERGE)["spec"] == {"n": 6}
    assert api.refused("PATCH", f"{WIDGETS}/w", b'{"spec":{"n":5}}', **MERGE)[2].endswith("falls")
    why = "invalid data, expected int, got float64 evaluating rule: falls"
    assert why in api.refused("PATCH", f"{WIDGETS}/w", b'{"spec":{"n":7.0}}', **MERGE)[2]


@pytest.mark.parametrize(("literal", "shown"), [("1e19", "1e+19"), ("9223372036854775808", "9.223372036854776e+18")])
def test_large_numbers_in_errors(api: Api, literal: str, shown: str) -> None:
    define(api, version(spec={"properties": {"n": {"type": "string", "enum": ["a"]}}}))
    assert f"Unsupported value: {shown}: " in api.refused("POST", WIDGETS, text("w", literal))[2]


def test_large_numbers_have_their_shortest_digits() -> None:
    assert yamlencoder.encode({"x": 2.0**63}) == b"x: 9223372036854776000\n"
    assert gojson.go_json({"n": 2.0**63}) == '{"n":9223372036854776000}'


# --- rules -----------------------------------------------------------------------------------------------------------

RULED: Object = {
    "properties": {
        "o": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "l": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "s": {"type": "string", "maxLength": 5},
        "d": {"type": "string", "format": "duration"},
        "ios": {"x-kubernetes-int-or-string": True, "maxLength": 5},
    },
    "x-kubernetes-validations": [
        {"rule": "!has(self.o) || !has(self.o.x) || self.o.x > 1", "message": "o"},
        {"rule": "!has(self.l) || self.l.size() < 2", "message": "l"},
        {"rule": "!has(self.s) || self.s != 'bad'", "message": "s"},
        {"rule": "!has(self.d) || self.d < duration('1h')", "message": "d"},
        {"rule": "!has(self.ios) || self.ios == 1", "message": "ios"},
    ],
}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"o": 1}, "invalid data, expected a map for the provided schema with type=object evaluating rule: o"),
        ({"o": {"x": "a"}}, "invalid data, expected int, got string evaluating rule: o"),
        ({"l": {}}, "invalid data, expected an array for the provided schema with type=array evaluating rule: l"),
        ({"s": []}, "invalid data, expected string, got []interface {} evaluating rule: s"),
        ({"d": "x"}, "Invalid duration x: unable to parse x as duration evaluating rule: d"),
        (
            {"ios": 1.5},
            "invalid data, expected XIntOrString value to be either a string or integer evaluating rule: ios",
        ),
        (1.5, "invalid data, expected a map for the provided schema with type=object evaluating rule: o"),
    ],
)
def test_rules_read_values_of_other_types(api: Api, spec: Any, why: str) -> None:
    """An object of another kind is not validated against the schema before its rules are evaluated."""
    define(api, version(spec=RULED))
    api.ok("POST", WIDGETS, widget(spec={}))
    patch = [{"op": "replace", "path": "/spec", "value": spec}, {"op": "replace", "path": "/kind", "value": "X"}]
    code, _, message = api.refused("PATCH", f"{WIDGETS}/w", orjson.dumps(patch), **JSON_PATCH)
    assert (code, "must be Widget" in message) == (422, True)
    assert f'spec: Invalid value: "object": {why}' in message


def test_status_writes_warn_of_unchanged_values(api: Api) -> None:
    define(api, version(spec={"properties": {"s": {"type": "string"}}}))
    api.ok("POST", WIDGETS, widget(spec={"s": "bad"}))
    path = f"{CRDS}/widgets.example.com"
    current = api.ok("GET", path)
    rules = [{"rule": "self != 'bad'", "message": "no"}]
    ruled = version(spec={"properties": {"s": {"type": "string", "maxLength": 9, "x-kubernetes-validations": rules}}})
    api.ok("PUT", path, {**current, "spec": {**current["spec"], "versions": [ruled]}})
    found = api.answer("PATCH", f"{WIDGETS}/w/status", b'{"status":{"x":1}}', **MERGE)
    assert (found.status, found.warnings) == (200, ['spec.s: Invalid value: "bad": no'])


@pytest.mark.parametrize("value", [["10s", 1, "abc"], [2, 1], ["b", "a"]])
def test_values_of_different_types_are_sorted(api: Api, value: list[Any]) -> None:
    rules = [{"rule": "self.isSorted()"}]
    items = {"x-kubernetes-int-or-string": True, "maxLength": 5}
    listed = {"type": "array", "maxItems": 5, "items": items, "x-kubernetes-validations": rules}
    define(api, version(spec={"properties": {"l": listed}}))
    mixed = len({type(one) for one in value}) > 1
    assert api.call("POST", WIDGETS, widget(spec={"l": value}))[0] == (201 if mixed else 422)


# --- server-side apply -----------------------------------------------------------------------------------------------

SETS: Object = {
    "properties": {
        "maps": {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}}},
        },
        "lists": {
            "type": "array",
            "x-kubernetes-list-type": "set",
            "items": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "string"}},
        },
        "s": {"type": "string"},
    }
}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"maps": [{"a": "x"}]}, "maps: element 0: associative list without keys has an element that's a map type"),
        ({"lists": [["x"]]}, "lists: element 0: not supported: associative list with lists as elements"),
    ],
)
def test_sets_that_cannot_be_merged(api: Api, spec: Object, why: str) -> None:
    """A valid object with such a set has no managedFields, and cannot be applied."""
    define(api, version(spec=SETS))
    assert "managedFields" not in api.ok("POST", WIDGETS, widget(spec=spec))["metadata"]
    config = {**widget(spec={"s": "a"}), "metadata": {"name": "w", "managedFields": []}}
    code, _, message = api.refused("PATCH", f"{WIDGETS}/w?fieldManager=m", orjson.dumps(config), **APPLY)
    assert (code, message) == (
        500,
        "failed to create manager for existing fields: failed to convert new object (default/w; example.com/v1, "
        f"Kind=Widget) to smd typed: .spec.{why}",
    )


@pytest.mark.parametrize("patch", [{"kind": "X"}, {"apiVersion": "a"}, {"apiVersion": "example.com/v9"}])
def test_a_status_of_another_type_clears_managed_fields(api: Api, patch: Object) -> None:
    define(api, version(spec=SETS))
    api.ok("POST", WIDGETS, widget(spec={"s": "a"}))
    found = api.ok("PATCH", f"{WIDGETS}/w/status", orjson.dumps(patch), **MERGE)
    assert (found["kind"], found["apiVersion"]) == ("Widget", "example.com/v1")
    assert "managedFields" not in found["metadata"]


# --- types of bodies -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [f"{WIDGETS}/w", f"{WIDGETS}/w/status"])
def test_a_patch_to_a_null_api_version_is_invalid(api: Api, path: str) -> None:
    define(api, version(spec=SETS))
    api.ok("POST", WIDGETS, widget())
    patch = [{"op": "replace", "path": "/apiVersion", "value": None}]
    code, _, message = api.refused("PATCH", path, orjson.dumps(patch), **JSON_PATCH)
    assert code == 422
    assert message.endswith(".apiVersion accessor error: <nil> is of the type <nil>, expected string")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b'{"kind":1,"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"}}', "number into Go struct field .kind"),
        (b'{"kind":1.5,"apiVersion":true}', "number into Go struct field .kind"),
        (b'{"apiVersion":true,"kind":1.5}', "bool into Go struct field .apiVersion"),
    ],
)  # fmt: skip
def test_the_first_field_of_the_type_with_another_type(api: Api, body: bytes, why: str) -> None:
    define(api, version(spec=SETS))
    assert f"json: cannot unmarshal {why} of type string" in api.refused("POST", WIDGETS, body)[2]


def test_strict_validation_of_repeated_fields_without_an_api_version(api: Api) -> None:
    define(api, version(spec=SETS))
    body = b'{"kind":"X","kind":"Widget","metadata":{"name":"w"}}'
    code, _, message = api.refused("POST", f"{WIDGETS}?fieldValidation=Strict", body)
    assert (code, message) == (400, "Object 'apiVersion' is missing in 'object has no apiVersion field'")


# --- deletes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["w", "w?propagationPolicy=Foreground", ""])
def test_a_mark_is_written_in_the_version_of_the_request(api: Api, target: str) -> None:
    """The object loses the fields that the version of the request does not have, as in any other write."""
    older = version("v1beta1", spec={"properties": {"a": {"type": "string"}, "b": {"type": "string"}}})
    newer = version("v1", spec={"properties": {"a": {"type": "string"}}}, storage=False)
    define(api, older, newer)
    beta = WIDGETS.replace("/v1/", "/v1beta1/")
    body = widget(api_version="example.com/v1beta1", spec={"a": "1", "b": "2"})
    body["metadata"]["finalizers"] = ["example.com/x"]
    api.ok("POST", beta, body)
    api.ok("DELETE", f"{WIDGETS}/{target}".rstrip("/"))
    found = api.ok("GET", f"{beta}/w")
    assert "deletionTimestamp" in found["metadata"]
    assert found["spec"] == {"a": "1"}


# --- ratcheting, nulls -----------------------------------------------------------------------------------------------


def test_unchanged_values_are_validated_within_all_of(api: Api) -> None:
    """Ratcheting applies to properties and items, but not below allOf, anyOf, oneOf and not."""
    define(api, version(spec={"properties": {"s": {"type": "string"}, "t": {"type": "string"}}}))
    api.ok("POST", WIDGETS, widget(spec={"s": "a"}))
    path = f"{CRDS}/widgets.example.com"
    current = api.ok("GET", path)
    texts = {"s": {"type": "string"}, "t": {"type": "string"}}
    stricter = version(spec={"properties": texts, "allOf": [{"properties": {"s": {"minLength": 2}}}]})
    api.ok("PUT", path, {**current, "spec": {**current["spec"], "versions": [stricter]}})
    assert api.ok("PATCH", f"{WIDGETS}/w", b'{"metadata":{"labels":{"a":"b"}}}', **MERGE)["spec"] == {"s": "a"}
    code, _, message = api.refused("PATCH", f"{WIDGETS}/w", b'{"spec":{"t":"x"}}', **MERGE)
    assert (code, "spec.s in body should be at least 2 chars long" in message) == (422, True)


def test_replicas_below_null_are_absent(api: Api) -> None:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    spec = {"nullable": True, "properties": {"replicas": {"type": "integer"}}}
    define(api, version(spec=spec, subresources={"scale": scale}))
    assert api.ok(
        "POST", WIDGETS, b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":null}'
    )


# --- parts that a path does not write --------------------------------------------------------------------------------

PAIRS: Object = {
    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "ignored", "owned"),
    [
        ("", {"status": {"pairs": [{"k": "a"}, {"k": "a"}]}}, True),
        ("", {"status": {"pairs": [{"k": "a"}, {"k": "b"}]}}, True),
        ("", {"status": {"pairs": "x"}}, False),
        ("/status", {"spec": {"pairs": [{"k": "a"}, {"k": "a"}]}}, True),
        ("/status", {"spec": {"pairs": "x"}}, False),
    ],
)
def test_what_a_path_ignores_may_repeat_keys_but_has_the_types_of_the_schema(
    api: Api, path: str, ignored: Object, owned: bool
) -> None:
    """A write whose object cannot be converted to a typed value has no managedFields of its own (`TypedValue`)."""
    part = {"type": "object", "properties": {"pairs": PAIRS, "n": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": part, "status": part}}
    made = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    define(api, {**made, "subresources": {"status": {}}})
    stored = api.ok("POST", WIDGETS, widget(spec={"n": 1}))
    written = {"status" if path else "spec": {"n": 2}}
    sent = {**stored, **ignored, **written}
    answer = api.ok("PUT", f"{WIDGETS}/w{path}?fieldManager=other", sent)
    assert answer.get("status" if path else "spec") == {"n": 2}
    managers = [entry["manager"] for entry in answer["metadata"].get("managedFields", ())]
    assert ("other" in managers) is owned
