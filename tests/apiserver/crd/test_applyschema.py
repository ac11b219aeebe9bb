"""The apply schema of custom resources."""

from typing import Any

import pytest

from fakekube.apiserver.crd.applyschema import apply_schema
from fakekube.apiserver.schema.model import Schema

META = Schema("object", name="meta.v1.ObjectMeta")


def shape(schema: Schema | None, depth: int = 4) -> Any:
    """A schema as plain values, for comparison."""
    if schema is None or depth == 0:
        return None
    if schema is META:
        return "META"
    if schema.type == "list":
        return [schema.list_type, *schema.keys, shape(schema.items, depth - 1)]
    if schema.type == "map":
        return {"*": shape(schema.values, depth - 1)}
    if schema.type == "object":
        fields = {name: shape(field, depth - 1) for name, field in schema.fields.items()}
        return fields | ({"*": shape(schema.values, depth - 1)} if schema.values else {})
    return schema.type


def field(node: dict[str, Any]) -> Schema:
    return apply_schema({"type": "object", "properties": {"f": node}}, META).fields["f"]


ITEM = {"type": "object", "properties": {"k": {"type": "string", "default": "d"}}}


@pytest.mark.parametrize(
    ("node", "made"),
    [
        pytest.param({"type": "string"}, "string", id="string"),
        pytest.param({"type": "string", "format": "date-time"}, "any", id="formatted string"),
        pytest.param({"type": "integer", "format": "int32"}, "integer", id="integer"),
        pytest.param({"x-kubernetes-int-or-string": True}, "any", id="int or string"),
        pytest.param({"x-kubernetes-preserve-unknown-fields": True}, "any", id="untyped"),
        pytest.param({"type": "object"}, {"*": "any"}, id="free-form object"),
        pytest.param({"type": "object", "additionalProperties": {"type": "integer"}}, {"*": "integer"}, id="map"),
        pytest.param({"type": "object", "additionalProperties": True}, {"*": "any"}, id="any keys"),
        pytest.param({"type": "object", "properties": {"a": {"type": "boolean"}}}, {"a": "boolean"}, id="fields"),
        pytest.param(
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}},
            {"a": {"b": "string", "*": "any"}, "*": "any"},
            id="unknown fields kept, and below",
        ),
        pytest.param({"type": "array", "items": {"type": "string"}}, ["atomic", "string"], id="list"),
        pytest.param({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}, ["set", "string"], id="set"),
        pytest.param(
            {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": ITEM},
            ["map", "k", {"k": "string"}],
            id="map list",
        ),
        pytest.param(
            {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"spec": {"type": "object"}}},
            {"spec": {"*": "any"}, "metadata": "META", "apiVersion": "string", "kind": "string"},
            id="embedded resource",
        ),
    ],
)  # fmt: skip
def test_the_result_of_an_apply(node: dict[str, Any], made: Any) -> None:
    assert shape(field(node)) == made


def test_a_resource_has_metadata_regardless_of_its_schema() -> None:
    made = apply_schema({"type": "object", "properties": {"metadata": {"type": "object"}}}, META)
    assert shape(made) == {"metadata": "META", "apiVersion": "string", "kind": "string"}


def test_values_without_a_schema_are_deduced() -> None:
    assert shape(apply_schema(None, META)) == {"*": "any"}


def test_defaults_of_keys_and_types_of_maps() -> None:
    items = field(
        {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": ITEM}
    ).items
    assert items is not None
    assert items.fields["k"].default == "d"
    assert field({**ITEM, "x-kubernetes-map-type": "atomic"}).map_type == "atomic"
