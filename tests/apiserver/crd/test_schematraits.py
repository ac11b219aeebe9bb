"""The traits of schemas: what one walk finds, and that the checks which skip nodes by them find the same errors."""

import pytest

from fakekube.apiserver.crd import schematraits
from fakekube.apiserver.crd.schematraits import (
    DEFAULT,
    EMBEDDED,
    FORMAT,
    KEYED,
    PATTERN,
    RULES,
    SUSPECT,
    UNUSUAL,
    SchemaTraits,
    traits_of,
)
from tests.apiserver.api import CRDS, Api, definition

TEXT = {"type": "string"}
EITHER = [{"type": "integer"}, {"type": "string"}]


def of(**properties):
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("node", "traits"),
    [
        (TEXT, 0),
        ({**TEXT, "maxLength": 3, "enum": ["a"], "nullable": True}, 0),
        ({**TEXT, "format": "date"}, FORMAT),
        ({**TEXT, "pattern": "a"}, PATTERN),
        ({**TEXT, "default": "a"}, DEFAULT),
        ({**TEXT, "default": None}, 0),
        ({"type": "null"}, UNUSUAL),
        ({"type": ""}, UNUSUAL),
        ({}, UNUSUAL),
        ({"type": "array"}, UNUSUAL),
        ({"type": "array", "items": TEXT}, 0),
        ({"type": "array", "items": [TEXT]}, SUSPECT | UNUSUAL),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "atomic"}, 0),
        ({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"}, KEYED | UNUSUAL),
        ({**TEXT, "x-kubernetes-list-type": "atomic"}, UNUSUAL),
        ({"type": "array", "items": TEXT, "uniqueItems": True}, UNUSUAL),
        ({"type": "object", "additionalProperties": TEXT}, 0),
        ({"type": "object", "additionalProperties": {**TEXT, "default": "a"}}, DEFAULT),
        ({"type": "object", "additionalProperties": TEXT, "properties": {"a": TEXT}}, UNUSUAL),
        ({"type": "object", "x-kubernetes-map-type": "atomic"}, 0),
        ({"type": "object", "x-kubernetes-map-type": "other"}, UNUSUAL),
        ({"x-kubernetes-int-or-string": True}, 0),
        ({"x-kubernetes-int-or-string": True, "anyOf": EITHER, "pattern": "a"}, PATTERN),
        ({"x-kubernetes-int-or-string": True, "anyOf": EITHER[:1]}, UNUSUAL),
        ({"type": "string", "x-kubernetes-int-or-string": True}, UNUSUAL),
        ({"type": "string", "anyOf": EITHER}, UNUSUAL),
        ({"type": "string", "oneOf": [{"format": "a"}]}, UNUSUAL | FORMAT),
        ({"type": "object", "x-kubernetes-embedded-resource": True}, EMBEDDED | UNUSUAL),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, SUSPECT | UNUSUAL),
        ({"type": "object", "$ref": "#/a"}, SUSPECT | UNUSUAL),
        ({**TEXT, "x-kubernetes-validations": [{"rule": "true"}]}, RULES | UNUSUAL),
    ],
)
def test_the_traits_of_a_node_and_of_those_above_it(node, traits):
    beside = of(a=TEXT)
    schema = of(a=beside, b=of(c={"type": "array", "items": of(d=node)}))
    found = SchemaTraits(schema)
    assert found.of(schema) == found.of(schema["properties"]["b"]) == traits
    assert found.of(node) == traits
    assert found.of(beside) == 0


def test_the_traits_of_a_schema_are_found_once_for_the_same_object():
    schema, equal = of(a=TEXT), of(a=TEXT)
    assert traits_of(schema) is traits_of(schema)
    assert traits_of(schema) is not traits_of(equal)


def test_the_traits_of_other_schemas_are_dropped():
    for _ in range(100):
        traits_of(of(a=TEXT))
    assert len(schematraits._recent) <= 32


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({**TEXT, "pattern": "("}, "pattern: Invalid value"),
        ({"type": "null"}, "type: Unsupported value"),
        ({"type": "array"}, "items: Required value: must be specified"),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
            "x-kubernetes-list-map-keys: Required",
        ),
        ({**TEXT, "default": 1}, "default: Invalid value"),
        ({**TEXT, "$ref": "#/a"}, "$ref: Forbidden"),
        (
            {**TEXT, "x-kubernetes-validations": [{"rule": "self > 1"}]},
            "x-kubernetes-validations[0].rule: Invalid value",
        ),
        ({**TEXT, "oneOf": [{"type": "string"}]}, "oneOf[0].type: Forbidden"),
    ],
)
def test_an_error_far_below_ordinary_nodes_is_found(node, message):
    deep = node
    for _ in range(5):
        deep = of(a=TEXT, b={"type": "array", "maxItems": 1, "items": of(c=deep)})
    crd = definition()
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": of(spec=deep)}
    code, reason, text = Api().refused("POST", CRDS, crd)
    assert (code, reason) == (422, "Invalid")
    assert f"properties[b].items.properties[c].{message}" in text


def test_a_default_in_metadata_of_ordinary_nodes_is_refused():
    schema = of(metadata=of(name={**TEXT, "default": "a"}))
    crd = definition()
    crd["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    text = Api().refused("POST", CRDS, crd)[2]
    assert "properties[metadata].properties[name].default: Forbidden: must not be set in top-level metadata" in text
