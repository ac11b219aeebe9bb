"""Writes the schemas of built-in types for OpenAPI 2 and 3."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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


def reference(name: str, version: int) -> Object:
    return {"$ref": PREFIXES[version] + name}


class SchemaWriter:
    """Writes schemas for one version of OpenAPI. `need` is called with each named type that is referred to."""

    __slots__ = ("_need", "version")

    version: int

    def __init__(self, version: int, need: Callable[[str, Schema | None], None]) -> None:
        self.version, self._need = version, need

    def type(self, schema: Schema, gvks: list[Object]) -> Object:
        """The schema of a named type with its fields."""
        properties = {name: self.field(field, schema.name) for name, field in schema.fields.items()}
        if gvks:
            properties |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
        node: Object = {"type": "object"}
        if properties:
            node["properties"] = dict(sorted(properties.items()))
        if schema.required:
            node["required"] = sorted(schema.required)
        if schema.map_type:
            node["x-kubernetes-map-type"] = schema.map_type
        if gvks:
            node["x-kubernetes-group-version-kind"] = gvks
        return node

    def field(self, schema: Schema, owner: str) -> Object:
        """The schema of a field of the type `owner`, with the extensions for apply and patches."""
        marks = _marks(schema)
        if self.version == 3 and schema.default is not None:
            marks["default"] = schema.default
        node = self.value(schema, owner)
        if "$ref" in node and marks and self.version == 3:
            node = {"allOf": [node]}  # keywords beside a reference are ignored in OpenAPI 3
        return {**node, **marks}

    def value(self, schema: Schema, owner: str) -> Object:
        kind = schema.type
        if kind == "object":
            self._need(schema.name, schema)
            return reference(full_name(schema.name), self.version)
        if kind == "list":
            return {"type": "array", "items": self.value(schema.items, owner) if schema.items else {}}
        if kind == "map":
            values = self.value(schema.values, owner) if schema.values else {}
            return {"type": "object", "additionalProperties": values}
        if kind in NAMED_SCALARS:
            self._need(kind, None)
            return reference(NAMED_SCALARS[kind][0], self.version)
        if kind == "any":
            return {} if owner.startswith("apiextensions.") else {"type": "object"}
        return dict(_SCALARS[kind])


def _marks(schema: Schema) -> Object:
    marks: Object = {}
    if schema.enum:
        marks["enum"] = list(schema.enum)
    if schema.list_type:
        marks["x-kubernetes-list-type"] = schema.list_type
    if schema.keys:
        marks["x-kubernetes-list-map-keys"] = list(schema.keys)
    if schema.map_type and schema.type != "object":
        marks["x-kubernetes-map-type"] = schema.map_type
    if schema.patch_strategy:
        marks["x-kubernetes-patch-strategy"] = ",".join(sorted(schema.patch_strategy))
    if schema.merge_key:
        marks["x-kubernetes-patch-merge-key"] = schema.merge_key
    return marks
