"""CustomResourceDefinitions: what they make the server serve (`apiextensions-apiserver`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.crd import lifecycle, validation
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.resource import UNTYPED_PATCH_TYPES, VERBS, Resource, Subresource
from fakekube.apiserver.schema.model import Schema

Object = dict[str, Any]

COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"

_PART_VERBS = frozenset({"get", "patch", "update"})

#: The verbs in the order in which apiextensions-apiserver lists them; writes are not listed of what is terminating.
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")


def resources_of(crd: Object) -> list[Resource]:
    """One resource for each version that is served, under the names that were accepted."""
    spec = crd["spec"]
    names = (crd.get("status") or {}).get("acceptedNames") or spec["names"]
    verbs = _TERMINATING_VERBS if lifecycle.is_true(crd, "Terminating") else _VERBS
    return [_resource(spec, names, version, verbs) for version in spec.get("versions") or () if version.get("served")]


def _resource(spec: Object, names: Object, version: Object, listed_verbs: tuple[str, ...]) -> Resource:
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
        patch_types=UNTYPED_PATCH_TYPES,
        listed_verbs=listed_verbs,
        names_group=True,
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


def deprecation(crd: Object, version: Object) -> str:
    """What every answer of a deprecated version warns of."""
    if not version.get("deprecated"):
        return ""
    default = f"{crd['spec']['group']}/{version['name']} {crd['spec']['names']['kind']} is deprecated"
    return version.get("deprecationWarning") or default


def prepare(crd: Object) -> Object:
    """With the defaults of its names and its conversion, and a status that the server has still to fill."""
    spec = crd.get("spec") or {}
    names = dict(spec.get("names") or {})
    kind = names.get("kind") or ""
    if kind:
        names["singular"] = names.get("singular") or kind.lower()
        names["listKind"] = names.get("listKind") or kind + "List"
    spec = {**spec, "conversion": _conversion(spec.get("conversion")), "names": names}
    stored = [v.get("name") or "" for v in spec.get("versions") or () if v.get("storage")][:1]
    status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}
    return {**crd, "spec": spec, "status": status}


def _conversion(given: Object | None) -> Object:
    """What is given, or none; a Service has a port."""
    if given is None:
        return {"strategy": "None"}
    webhook = given.get("webhook") or {}
    client = webhook.get("clientConfig") or {}
    if client.get("service") is None or "port" in client["service"]:
        return given
    service = {**client["service"], "port": 443}
    return {**given, "webhook": {**webhook, "clientConfig": {**client, "service": service}}}


def prepare_update(new: Object, old: Object) -> Object:
    """Status is the server's; a new storage version is one that objects may be stored in."""
    prepared = prepare(new)
    status = dict(old.get("status") or {})
    stored = list(status.get("storedVersions") or ())
    for version in prepared["status"]["storedVersions"]:
        if version not in stored:
            stored.append(version)
    return {**prepared, "status": {**status, "storedVersions": stored}}


def definition_strategy(meta: Schema) -> Strategy:
    """The rules for definitions themselves; `meta` is ObjectMeta's schema."""
    return Strategy(
        generation=("spec",),
        unconditional_update=False,
        prepare_create=prepare,
        prepare_update=prepare_update,
        prepare_status_update=lambda new, old: {**new, "spec": old["spec"]},
        mark_deleted=lifecycle.marked_deleted,
        validate=lambda crd: validation.validate(crd, meta),
        validate_update=lambda new, old: validation.validate_update(new, old, meta),
        validate_status_update=validation.validate_status_update,
        warnings=validation.warnings,
        update_warnings=validation.new_warnings,
    )
