"""The schema of custom resources for server-side apply (`kube-openapi/pkg/schemaconv`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from fakekube.apiserver.schema.model import Schema

Node = Mapping[str, Any]

#: The schema of values without one: maps are merged by key, lists and scalars are replaced.
DEDUCED = Schema("any")

_STRING = Schema("string")


def apply_schema(openapi: Node | None, object_meta: Schema = DEDUCED) -> Schema:
    """The apply schema of a custom resource, from its `openAPIV3Schema` and the schema of ObjectMeta.

    The `values` of an `object` are the schema of unknown keys; without `values` an unknown key is an error.
    """
    if openapi is None:
        return Schema("map", values=DEDUCED)
    return _embedded(openapi, False, object_meta)


def _embedded(node: Node, preserve: bool, object_meta: Schema) -> Schema:
    """The schema of an embedded resource, which has apiVersion, kind and metadata."""
    meta = {"metadata": object_meta, "apiVersion": _STRING, "kind": _STRING}
    return _object(node, preserve, object_meta, meta)


def _schema(node: Node, preserve: bool, object_meta: Schema) -> Schema:
    preserve = preserve or bool(node.get("x-kubernetes-preserve-unknown-fields"))
    if node.get("x-kubernetes-embedded-resource"):
        return _embedded(node, preserve, object_meta)
    kind = node.get("type") or ""
    default = node.get("default")
    if kind == "array":
        return _list(node, preserve, object_meta)
    if kind == "object" or node.get("properties"):
        return _object(node, preserve, object_meta, {})
    if kind == "":
        return Schema("any", default=default)  # also an int-or-string, whose type the schema for apply does not express
    if kind == "string" and node.get("format"):
        return Schema("any", default=default)  # any scalar: the format may allow other types than strings
    return Schema(kind, default=default)


def _list(node: Node, preserve: bool, object_meta: Schema) -> Schema:
    list_type = node.get("x-kubernetes-list-type") or "atomic"
    return Schema(
        "list",
        items=_schema(node.get("items") or {}, preserve, object_meta),
        list_type=list_type,
        keys=tuple(node.get("x-kubernetes-list-map-keys") or ()) if list_type == "map" else (),
        default=node.get("default"),
    )


def _object(node: Node, preserve: bool, object_meta: Schema, own: Mapping[str, Schema]) -> Schema:
    preserve = preserve or bool(node.get("x-kubernetes-preserve-unknown-fields"))
    properties: Node = node.get("properties") or {}
    additional = node.get("additionalProperties")
    map_type, default = node.get("x-kubernetes-map-type") or "", node.get("default")
    if isinstance(additional, dict):
        values: Schema | None = _schema(additional, preserve, object_meta)
    elif additional is True or (additional is None and (preserve or not (properties or own))):
        values = DEDUCED
    else:
        values = None
    if not properties and not own and values is not None:
        return Schema("map", values=values, map_type=map_type, default=default)
    return Schema(
        "object",
        make_fields=partial(_fields, properties, preserve, object_meta, own),
        values=values,
        map_type=map_type,
        default=default,
    )


def _fields(properties: Node, preserve: bool, object_meta: Schema, own: Mapping[str, Schema]) -> Mapping[str, Schema]:
    return {**{name: _schema(node, preserve, object_meta) for name, node in properties.items()}, **own}


def has_unmergeable_sets(openapi: Any) -> bool:
    """Whether the schema has sets of lists or of maps, which validation accepts and server-side apply does not."""
    if isinstance(openapi, list):
        return any(has_unmergeable_sets(one) for one in openapi)
    if not isinstance(openapi, dict):
        return False
    items = openapi.get("items")
    if openapi.get("x-kubernetes-list-type") == "set" and isinstance(items, dict):
        return items.get("type") in ("array", "object")
    below = [openapi.get("additionalProperties"), items, *(openapi.get("properties") or {}).values()]
    return has_unmergeable_sets(below)
