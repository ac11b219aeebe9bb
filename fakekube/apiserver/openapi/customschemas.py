"""The schema of a custom resource for OpenAPI 3 and 2 (apiextensions-apiserver `apiserver/schema`, `openapi/v2`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.resource import Object

#: Keywords that OpenAPI 2 does not support.
_UNSUPPORTED_IN_2 = frozenset({"allOf", "anyOf", "oneOf", "not", "nullable", "default"})

#: Keywords that are the same as none if they have a zero value.
_OMITTED_IF_ZERO = frozenset(
    {
        "title", "description", "format", "pattern", "type", "nullable", "uniqueItems", "exclusiveMaximum",
        "exclusiveMinimum", "required", "allOf", "anyOf", "oneOf", "externalDocs", "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-validations",
    }
)  # fmt: skip

#: The keywords that contain schemas: one schema, a schema for each name, a list of schemas.
_ONE, _NAMED, _SEVERAL = ("items", "additionalProperties", "not"), ("properties",), ("allOf", "anyOf", "oneOf")

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


def published(written: Object, version: int) -> Any:
    """The schema that documents of a version of OpenAPI have for the schema of a definition."""
    return _published(written, version)


def _published(node: Any, version: int) -> Any:
    if not isinstance(node, dict):
        return node
    found = {key: value for key, value in node.items() if value or key not in _OMITTED_IF_ZERO}
    found = _for_2(found) if version == 2 else _unfolded(found)
    for key in _ONE:
        if key in found:
            found[key] = _published(found[key], version)
    for key in _NAMED:
        if key in found:
            found[key] = {name: _published(one, version) for name, one in found[key].items()}
    for key in _SEVERAL:
        if key in found:
            found[key] = [_published(one, version) for one in found[key]]
    return found


def _unfolded(node: Object) -> Object:
    """The schema with the alternatives that `x-kubernetes-int-or-string` implies (Structural.Unfold)."""
    if not node.get("x-kubernetes-int-or-string") or _INT_OR_STRING in (node.get("anyOf"), _first_any_of(node)):
        return node
    if "anyOf" not in node:
        return {**node, "anyOf": _INT_OR_STRING}
    return {**node, "allOf": [{"anyOf": _INT_OR_STRING}, *node.get("allOf", ())]}


def _first_any_of(node: Object) -> Any:
    return node["allOf"][0].get("anyOf") if node.get("allOf") else None


def _for_2(node: Object) -> Object:
    """The schema without unsupported keywords, and without a type where kubectl would refuse values."""
    nullable, keeps_unknown = node.get("nullable"), node.get("x-kubernetes-preserve-unknown-fields")
    found = {key: value for key, value in node.items() if key not in _UNSUPPORTED_IN_2}
    if nullable:
        found.pop("type", None)
    if nullable or keeps_unknown:
        found.pop("items", None)
        found.pop("properties", None)
    if (found.get("type") == "array" and "items" not in found) or (keeps_unknown and found.get("type") == "object"):
        del found["type"]
    values = found.get("additionalProperties")
    properties = found.get("properties", {})
    if isinstance(values, dict) and values.get("nullable"):
        found.pop("required", None)
    required = [name for name in found.get("required", ()) if not properties.get(name, {}).get("nullable")]
    if "required" in found:
        found["required"] = required
        if not required:
            del found["required"]
    return found
