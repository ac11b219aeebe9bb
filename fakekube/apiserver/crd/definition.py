"""The resources that a CustomResourceDefinition defines (`apiextensions-apiserver`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.crd import definitionstatus
from fakekube.apiserver.resource import UNTYPED_PATCH_TYPES, VERBS, Resource, Subresource, version_priority

Object = dict[str, Any]

COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"

_PART_VERBS = frozenset({"get", "patch", "update"})

#: The verbs in the order of apiextensions-apiserver's discovery, which omits writes of terminating resources.
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")


def resources_of(crd: Object) -> list[Resource]:
    """The resources of the served versions, with the accepted names."""
    spec = crd["spec"]
    names = (crd.get("status") or {}).get("acceptedNames") or spec["names"]
    verbs = _TERMINATING_VERBS if definitionstatus.is_true(crd, "Terminating") else _VERBS
    return [_resource(spec, names, version, verbs) for version in _served(spec)]


def _served(spec: Object) -> list[Object]:
    return [version for version in spec.get("versions") or () if version.get("served")]


def _resource(spec: Object, names: Object, version: Object, listed_verbs: tuple[str, ...]) -> Resource:
    group, plural = spec["group"], names["plural"]
    subresources: dict[str, Subresource] = {}
    declared = version.get("subresources") or {}
    stored = next((one["name"] for one in _served(spec) if one.get("storage")), "")
    if "status" in declared:
        subresources["status"] = Subresource("status", names["kind"], group, version["name"], _PART_VERBS)
    if "scale" in declared:
        subresources["scale"] = Subresource("scale", "Scale", "autoscaling", "v1", _PART_VERBS)
    return Resource(
        group=group,
        version=version["name"],
        plural=plural,
        singular=names.get("singular") or names["kind"].lower(),
        kind=names["kind"],
        list_kind=names.get("listKind") or names["kind"] + "List",
        namespaced=spec.get("scope") == "Namespaced",
        verbs=frozenset(VERBS),
        collection=f"{plural}.{group}",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=subresources,
        patch_types=UNTYPED_PATCH_TYPES,
        listed_verbs=listed_verbs,
        names_group=True,
        custom=True,
        stored_version=stored,
    )


def version_of(crd: Object, name: str) -> Object:
    """A version of a definition; empty if it does not exist."""
    return next((v for v in crd["spec"].get("versions") or () if v.get("name") == name), {})


def openapi_of(crd: Object, version: str) -> Object | None:
    """The schema of a version as written in the definition."""
    return (version_of(crd, version).get("schema") or {}).get("openAPIV3Schema")


def selectable_paths(crd: Object, version: str) -> list[str]:
    """The JSON paths of the selectable fields of a version."""
    return [field.get("jsonPath") or "" for field in version_of(crd, version).get("selectableFields") or ()]


def printer_columns(crd: Object, version: str) -> list[Object]:
    """The additional printer columns of a version."""
    return version_of(crd, version).get("additionalPrinterColumns") or []


def deprecation(crd: Object, version: Object) -> str:
    """The warning of a deprecated version; "" if it is not deprecated."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        warning: str = version["deprecationWarning"]
        return warning
    group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
    successor = _successor(crd, version["name"])
    use = f"; use {group}/{successor} {kind}" if successor else ""
    return f"{group}/{version['name']} {kind} is deprecated{use}"


def _successor(crd: Object, deprecated: str) -> str:
    """The highest served version that is not deprecated, if it is higher than the deprecated one (else "")."""
    served = [one["name"] for one in crd["spec"]["versions"] if one.get("served") and not one.get("deprecated")]
    highest = min(served, key=_priority, default="")
    return highest if highest and _priority(highest) < _priority(deprecated) else ""


def _priority(version: str) -> tuple[tuple[int, ...], str]:
    return version_priority(version), version
