"""Writes the schemas of built-in types for OpenAPI 2 and 3 (kube-openapi `generators/openapi.go`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakekube import data
from fakekube.apiserver.openapi import descriptions
from fakekube.apiserver.openapi.typenames import NAMED_SCALARS, full_name
from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.model import Schema

#: OpenAPI version -> the prefix of references to types.
PREFIXES = {2: "#/definitions/", 3: "#/components/schemas/"}

_SCALARS: Mapping[str, Object] = {
    "string": {"type": "string"},
    "boolean": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "integer": {"type": "integer"},
    "number": {"type": "number"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "format": "byte"},
}

WATCH_EVENT = "meta.v1.WatchEvent"
"""The type that is registered as a kind without having its fields."""

_TYPE_META = {"apiVersion": Schema("string"), "kind": Schema("string")}

#: OpenAPI type -> its zero value in Go.
_ZERO: Mapping[str, Any] = {"string": "", "boolean": False, "integer": 0, "number": 0}

#: The types without fields: the same in both versions of OpenAPI, or in version 2 and in version 3.
_PLAIN: Mapping[str, Object | tuple[Object, Object]] = {
    NAMED_SCALARS["quantity"]: ({"type": "string"}, {"oneOf": [{"type": "string"}, {"type": "number"}]}),
    NAMED_SCALARS["time"]: {"type": "string", "format": "date-time"},
    NAMED_SCALARS["microtime"]: {"type": "string", "format": "date-time"},
    NAMED_SCALARS["int-or-string"]: (
        {"type": "string", "format": "int-or-string"},
        {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    **{
        full_name(f"apiextensions.v1.{name}"): {}
        for name in ("JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")
    },
    **{full_name(name): {"type": "object"} for name in ("meta.v1.FieldsV1", "meta.v1.Patch", "runtime.RawExtension")},
}


def reference(name: str, version: int) -> Object:
    return {"$ref": PREFIXES[version] + name}


def plain(name: str, version: int) -> Object | None:
    """The schema of a type without fields by its full name; None for another type."""
    found = _PLAIN.get(name)
    return found[version - 2] if isinstance(found, tuple) else found


class SchemaWriter:
    """Writes schemas for one version of OpenAPI. `need` is called with the full name of each type referred to."""

    __slots__ = ("_need", "_version")

    def __init__(self, version: int, need: Callable[[str], None]) -> None:
        self._version, self._need = version, need

    def type(self, schema: Schema, kinds: Sequence[Object]) -> Object:
        """The schema of a named type with its fields. `kinds` are the groups, versions and kinds of the type."""
        facts = data.load("openapi.json")["types"].get(schema.name, {})
        texts = descriptions.of_type(schema.name)
        typed = kinds and schema.name != WATCH_EVENT
        fields = {**_TYPE_META, **schema.fields} if typed else schema.fields
        properties = {
            name: self._field(name, fields[name], facts, texts.fields.get(name, "")) for name in sorted(fields)
        }
        node: Object = {"description": texts.text} if texts.text else {}
        node["type"] = "object"
        required = _required(schema, facts.get("required", ()))
        if required:
            node["required"] = required
        if properties:
            node["properties"] = properties
        if kinds:
            node["x-kubernetes-group-version-kind"] = list(kinds)
        if schema.map_type:
            node["x-kubernetes-map-type"] = schema.map_type
        if "unions" in facts:
            node["x-kubernetes-unions"] = facts["unions"]
        return node

    def _field(self, name: str, schema: Schema, facts: Object, text: str) -> Object:
        """The schema of a field, with the extensions for apply and patches."""
        enum = facts.get("enums", {}).get(name, ())
        node = self._value(schema, facts.get("json", {}).get(name, ""), enum)
        if enum:
            text += _possible(enum)
        marks = {"description": text} if text else {}
        if self._version == 3:
            default = facts.get("defaults", {}).get(name, schema.default)
            if default is None and name in facts.get("zero", "").split():
                default = _ZERO.get(node.get("type", ""), {})
            if default is not None:
                marks["default"] = default
        return {**self._referred(node, marks), **_marks(schema)}

    def _referred(self, node: Object, marks: Object) -> Object:
        """A schema with keywords, which are ignored beside a reference in OpenAPI 3."""
        if "$ref" in node and marks and self._version == 3:
            return {**marks, "allOf": [node]}
        return {**marks, **node}

    def _value(self, schema: Schema, json: str, enum: Sequence[str]) -> Object:
        """The schema of a value. `json` is the type of the JSON values in it, `enum` the possible values of strings."""
        kind = schema.type
        if kind == "list":
            return {"type": "array", "items": self._element(schema.items, json, enum)}
        if kind == "map":
            return {"type": "object", "additionalProperties": self._element(schema.values, json, enum)}
        name = full_name(schema.name) if kind == "object" else NAMED_SCALARS.get(kind) or (json and full_name(json))
        if name:
            self._need(name)
            return reference(name, self._version)
        if kind == "any":
            return {"type": "object"}
        return {**_SCALARS[kind], **({"enum": list(enum)} if enum else {})}

    def _element(self, schema: Schema | None, json: str, enum: Sequence[str]) -> Object:
        """The schema of the items of a list or the values of a map, without a default."""
        return {} if schema is None else self._value(schema, json, enum)


def _required(schema: Schema, published: Sequence[str]) -> list[str]:
    """The required fields, as published if this version has them, else by name."""
    if schema.required.issubset(published) and schema.fields.keys() >= set(published):
        return list(published)
    return sorted(schema.required)


def _possible(enum: Sequence[str]) -> str:
    return "\n\nPossible enum values:" + "".join(f'\n - `"{value}"`' for value in enum)


def _marks(schema: Schema) -> Object:
    marks: Object = {}
    if schema.list_type:
        marks["x-kubernetes-list-type"] = schema.list_type
    if schema.keys:
        marks["x-kubernetes-list-map-keys"] = list(schema.keys)
    # a type says itself that it is atomic, and a RawExtension does not say it
    if schema.map_type and (schema.type not in ("object", "any") or schema.map_type == "granular"):
        marks[f"x-kubernetes-{'list' if schema.type == 'bytes' else 'map'}-type"] = schema.map_type
    if schema.patch_strategy:
        marks["x-kubernetes-patch-strategy"] = ",".join(sorted(schema.patch_strategy))
    if schema.merge_key:
        marks["x-kubernetes-patch-merge-key"] = schema.merge_key
    return marks
