"""The published schemas of custom kinds (apiextensions-apiserver `controller/openapi/builder`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.openapi.schemawriter import reference
from fakekube.apiserver.openapi.typenames import LIST_META, OBJECT_META, custom_name
from fakekube.apiserver.resource import Object, Resource

#: Keywords that OpenAPI 2 does not support.
_UNSUPPORTED_IN_2 = frozenset({"allOf", "anyOf", "oneOf", "not", "nullable", "default", "x-kubernetes-validations"})

#: The keywords that contain schemas: one schema, a schema for each name, a list of schemas.
_ONE, _NAMED, _SEVERAL = ("items", "additionalProperties", "not"), ("properties",), ("allOf", "anyOf", "oneOf")

_STRING: Object = {"type": "string"}


def schemas_of(resource: Resource, written: Object, version: int) -> Object:
    """The schemas of a custom kind and of its list by name. `version` is the version of OpenAPI.

    `written` is the schema in the definition.
    """
    names = [custom_name(resource.group, resource.version, kind) for kind in (resource.kind, resource.list_kind)]
    kind = _kind(written, version)
    kind["x-kubernetes-group-version-kind"] = [_gvk(resource, resource.kind)]
    listing = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": _STRING,
            "items": {"type": "array", "items": reference(names[0], version)},
            "kind": _STRING,
            "metadata": reference(LIST_META, version),
        },
        "x-kubernetes-group-version-kind": [_gvk(resource, resource.list_kind)],
    }
    return {names[0]: kind, names[1]: listing}


def _gvk(resource: Resource, kind: str) -> Object:
    return {"group": resource.group, "version": resource.version, "kind": kind}


def _kind(written: Object, version: int) -> Object:
    node = _published(written, version, root=True)
    own = {"apiVersion": _STRING, "kind": _STRING, "metadata": reference(OBJECT_META, version)}
    return {**node, "type": "object", "properties": {**(node.get("properties") or {}), **own}}


def _published(node: Any, version: int, *, root: bool = False) -> Any:
    """The published schema; in OpenAPI 2 without unsupported keywords, and untyped where unknown fields are kept."""
    if not isinstance(node, dict):
        return node
    if version == 2:
        node = _cut_for_2(node, root)
    found = dict(node)
    for key in _ONE:
        if isinstance(found.get(key), dict):
            found[key] = _published(found[key], version)
    for key in _NAMED:
        if isinstance(found.get(key), dict):
            found[key] = {name: _published(one, version) for name, one in found[key].items()}
    for key in _SEVERAL:
        if isinstance(found.get(key), list):
            found[key] = [_published(one, version) for one in found[key]]
    if found.get("x-kubernetes-embedded-resource"):
        own = {"apiVersion": _STRING, "kind": _STRING, "metadata": reference(OBJECT_META, version)}
        found["properties"] = {**(found.get("properties") or {}), **own}
    return found


def _cut_for_2(node: Object, root: bool) -> Object:
    found = {key: value for key, value in node.items() if key not in _UNSUPPORTED_IN_2}
    if node.get("x-kubernetes-int-or-string"):
        found.pop("type", None)
    if node.get("x-kubernetes-preserve-unknown-fields") or node.get("nullable"):
        for key in ("properties", "items", "additionalProperties", "required"):
            found.pop(key, None)
        if not root:
            found.pop("type", None)
    return found
