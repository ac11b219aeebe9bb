"""CustomResourceDefinitions: what they make the server serve (`apiextensions-apiserver`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.core.resource import Resource, Subresource
from fakekube.core.strategy import Strategy

Object = dict[str, Any]

COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"

_ALL_VERBS = frozenset({"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"})
_PART_VERBS = frozenset({"get", "patch", "update"})


def resources_of(crd: Object) -> list[Resource]:
    """One resource for each version that is served."""
    spec = crd["spec"]
    names = spec["names"]
    return [_resource(spec, names, version) for version in spec.get("versions") or () if version.get("served")]


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
        verbs=_ALL_VERBS,
        collection=f"{plural}.{group}",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=subresources,
        custom=True,
    )


def strategy_of(crd: Object, version: str) -> Strategy:
    """The rules for its objects in one version: the fields that selectors may use."""
    found: Object = next((v for v in crd["spec"].get("versions") or () if v.get("name") == version), {})
    paths = [field["jsonPath"] for field in found.get("selectableFields") or ()]
    return Strategy(
        fields={path.lstrip("."): _reader(path.lstrip(".").split(".")) for path in paths}, fields_message="label"
    )


def _reader(path: list[str]) -> Callable[[Object], str]:
    def read(obj: Object) -> str:
        value: Any = obj
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    return read


def prepare(crd: Object) -> Object:
    """With the defaults of its names, and a status that the server has still to fill."""
    spec = crd.get("spec") or {}
    names = dict(spec.get("names") or {})
    kind = names.get("kind", "")
    names.setdefault("singular", kind.lower())
    names.setdefault("listKind", kind + "List")
    spec = {"conversion": {"strategy": "None"}, **spec, "names": names}
    stored = [v["name"] for v in spec.get("versions") or () if v.get("storage")]
    status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}
    return {**crd, "spec": spec, "status": status}


def prepare_update(new: Object, old: Object) -> Object:
    return {**prepare(new), "status": old.get("status") or {}}


def established(crd: Object, now: str) -> Object:
    """As its controllers leave it: names accepted, established."""
    conditions = [
        {
            "type": "NamesAccepted",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "NoConflicts",
            "message": "no conflicts found",
        },
        {
            "type": "Established",
            "status": "True",
            "lastTransitionTime": now,
            "reason": "InitialNamesAccepted",
            "message": "the initial names have been accepted",
        },
    ]
    status = {**crd["status"], "conditions": conditions, "acceptedNames": crd["spec"]["names"]}
    return {**crd, "status": status}
