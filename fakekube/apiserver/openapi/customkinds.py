"""The published schemas of custom kinds (apiextensions-apiserver `controller/openapi/builder`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.openapi import descriptions
from fakekube.apiserver.openapi.customschemas import published
from fakekube.apiserver.openapi.schemawriter import reference
from fakekube.apiserver.openapi.typenames import LIST_META, OBJECT_META, custom_name
from fakekube.apiserver.resource import Object, Resource

_CONVENTIONS = "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"

#: The fields of an embedded resource, but for its metadata.
_EMBEDDED = {
    "apiVersion": "apiVersion defines the versioned schema of this representation of an object. "
    f"{_CONVENTIONS}#resources",
    "kind": f"kind is a string value representing the type of this object. In CamelCase. {_CONVENTIONS}#types-kinds",
}


def schemas_of(resource: Resource, written: Object | None, selectable: Sequence[str], version: int) -> Object:
    """The schemas of a custom kind and of its list by name. `version` is the version of OpenAPI.

    `written` is the schema in the definition, `selectable` the paths of its selectable fields.
    """
    names = [custom_name(resource.group, resource.version, kind) for kind in (resource.kind, resource.list_kind)]
    fields = [{"fieldPath": path.removeprefix(".")} for path in selectable]
    marks = {"x-kubernetes-selectable-fields": fields} if fields else {}
    kinds = {
        names[0]: (_kind(written, version), resource.kind),
        names[1]: (_listing(resource, names[0], version), resource.list_kind),
    }
    return {
        name: {**node, "x-kubernetes-group-version-kind": [_gvk(resource, kind)], **marks}
        for name, (node, kind) in kinds.items()
    }


def _gvk(resource: Resource, kind: str) -> Object:
    return {"group": resource.group, "kind": kind, "version": resource.version}


def _kind(written: Object | None, version: int) -> Object:
    if written is None or (version == 2 and written.get("x-kubernetes-preserve-unknown-fields")):
        return {"type": "object"}  # with any field, kubectl would refuse others
    node: Object = published(written, version)
    properties = {
        **node.get("properties", {}),
        "metadata": _metadata("ConfigMap", OBJECT_META, version),
        **_type_meta(),
    }
    found: Object = _with_embedded({**node, "properties": properties}, version)
    return found


def _listing(resource: Resource, kind: str, version: int) -> Object:
    words = f"List of {resource.plural}. {_CONVENTIONS}"
    items = {"description": words, "type": "array", "items": reference(kind, version)}
    return {
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {**_type_meta(), "items": items, "metadata": _metadata("PodList", LIST_META, version)},
    }


def _type_meta() -> Object:
    texts = descriptions.of_type("core.v1.ConfigMap").fields
    return {name: _described({"type": "string"}, texts.get(name, "")) for name in ("apiVersion", "kind")}


def _metadata(kind: str, type: str, version: int) -> Object:
    """The field of the metadata, described as that of a built-in kind."""
    refers = reference(type, version)
    text = descriptions.of_type(f"core.v1.{kind}").fields.get("metadata", "")
    return _described({"allOf": [refers]} if version == 3 and text else refers, text)


def _described(node: Object, text: str) -> Object:
    return {"description": text, **node} if text else node


def _with_embedded(node: Any, version: int) -> Any:
    """The schema with the fields of embedded resources; in OpenAPI 2 not where unknown fields are kept."""
    if not isinstance(node, dict):
        return node
    found = dict(node)
    if "properties" in found:
        found["properties"] = {name: _with_embedded(one, version) for name, one in found["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in found:
            found[key] = _with_embedded(found[key], version)
    keeps_unknown = version == 2 and found.get("x-kubernetes-preserve-unknown-fields")
    if not found.get("x-kubernetes-embedded-resource") or keeps_unknown:
        return found
    own = {name: _described({"type": "string"}, text) for name, text in _EMBEDDED.items()}
    metadata = _metadata("ConfigMap", OBJECT_META, version)
    required = list(found.get("required", ()))
    return {
        **found,
        "required": required + [name for name in ("kind", "apiVersion") if name not in required],
        "properties": {**found.get("properties", {}), **own, "metadata": metadata},
    }
