"""CustomResourceDefinitions: what they make the server serve (`apiextensions-apiserver`)."""

from __future__ import annotations

from dataclasses import replace

from fakekube.apiserver.crd import definitionstatus
from fakekube.apiserver.resource import VERBS, Object, Resource, Subresource

COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"

_PART_VERBS = frozenset({"get", "patch", "update"})


def resources_of(crd: Object) -> list[Resource]:
    """One resource for each version that is served, under the names that were accepted."""
    spec = crd["spec"]
    names = (crd.get("status") or {}).get("acceptedNames") or spec["names"]
    made = [_resource(spec, names, version) for version in spec.get("versions") or () if version.get("served")]
    return [replace(one, terminating=True) for one in made] if definitionstatus.is_true(crd, "Terminating") else made


def _resource(spec: Object, names: Object, version: Object) -> Resource:
    group, plural = spec["group"], names["plural"]
    subresources: dict[str, Subresource] = {}
    declared = version.get("subresources") or {}
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
        custom=True,
    )


def version_of(crd: Object, name: str) -> Object:
    """One of its versions; empty where it has no such version."""
    return next((v for v in crd["spec"].get("versions") or () if v.get("name") == name), {})


def openapi_of(crd: Object, version: str) -> Object | None:
    """The schema of a version, as it was written."""
    return (version_of(crd, version).get("schema") or {}).get("openAPIV3Schema")


def printer_columns(crd: Object, version: str) -> list[Object]:
    """The columns that a version's table has besides the name."""
    return version_of(crd, version).get("additionalPrinterColumns") or []
