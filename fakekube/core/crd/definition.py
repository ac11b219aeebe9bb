"""CustomResourceDefinitions: what they make the server serve (`apiextensions-apiserver`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.core import names as checks
from fakekube.core.crd.custom import CustomVersion
from fakekube.core.resource import Resource, Subresource
from fakekube.core.status import FieldError, field_invalid, field_not_supported, field_required
from fakekube.core.strategy import Strategy

Object = dict[str, Any]

COLLECTION = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
SCOPES = ("Cluster", "Namespaced")

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


def version_of(crd: Object, name: str) -> Object:
    """One of its versions; empty where it has no such version."""
    return next((v for v in crd["spec"].get("versions") or () if v.get("name") == name), {})


def openapi_of(crd: Object, version: str) -> Object | None:
    """The schema of a version, as it was written."""
    return (version_of(crd, version).get("schema") or {}).get("openAPIV3Schema")


def printer_columns(crd: Object, version: str) -> list[Object]:
    """The columns that a version's table has besides the name."""
    return version_of(crd, version).get("additionalPrinterColumns") or []


def strategy_of(crd: Object, version: str, custom: CustomVersion) -> Strategy:
    """The rules for its objects in one version: the fields that selectors may use, and what values it takes."""
    paths = [field.get("jsonPath") or "" for field in version_of(crd, version).get("selectableFields") or ()]
    return Strategy(
        fields={path.lstrip("."): _reader(path.lstrip(".").split(".")) for path in paths},
        fields_message="label",
        validate=custom.validate,
        validate_update=custom.validate_update,
        validate_status_update=custom.validate_status_update,
        warnings=custom.warnings,
        update_warnings=custom.update_warnings,
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
    kind = names.get("kind") or ""
    if kind:
        names["singular"] = names.get("singular") or kind.lower()
        names["listKind"] = names.get("listKind") or kind + "List"
    spec = {"conversion": {"strategy": "None"}, **spec, "names": names}
    stored = [v.get("name") or "" for v in spec.get("versions") or () if v.get("storage")]
    status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}
    return {**crd, "spec": spec, "status": status}


def validate(crd: Object) -> list[FieldError]:
    """What it must hold to be served (`apiextensions/validation.ValidateCustomResourceDefinition`)."""
    spec = crd["spec"]
    group, plural = spec.get("group") or "", spec["names"].get("plural") or ""
    errors: list[FieldError] = []
    if crd["metadata"].get("name") != f"{plural}.{group}":
        why = 'must be spec.names.plural+"."+spec.group'
        errors.append(field_invalid("metadata.name", crd["metadata"].get("name") or "", why))
    if not group:
        errors.append(field_required("spec.group"))
    else:
        errors += [field_invalid("spec.group", group, one) for one in checks.dns_subdomain_problems(group)]
        if "." not in group:
            errors.append(field_invalid("spec.group", group, "should be a domain with at least one dot"))
    scope = spec.get("scope") or ""
    if not scope:
        errors.append(field_required("spec.scope"))
    elif scope not in SCOPES:
        errors.append(field_not_supported("spec.scope", scope, SCOPES))
    return errors + _version_errors(spec.get("versions")) + _name_errors(spec["names"])


def _version_errors(versions: list[Object] | None) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, version in enumerate(versions or ()):
        here, name = f"spec.versions[{i}]", version.get("name") or ""
        errors += [field_invalid(f"{here}.name", name, one) for one in checks.dns1035_label_problems(name)]
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            errors.append(field_required(f"{here}.schema.openAPIV3Schema", "schemas are required"))
    names = [version.get("name") or "" for version in versions or ()]
    if len(set(names)) < len(names):
        errors.append(field_invalid("spec.versions", versions, "must contain unique version names"))
    if sum(1 for version in versions or () if version.get("storage")) != 1:
        why = "must have exactly one version marked as storage version"
        errors.append(field_invalid("spec.versions", versions, why))
    return errors


def _name_errors(names: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("plural", "singular", "kind", "listKind"):
        name = names.get(field) or ""
        if not name:
            errors.append(field_required(f"spec.names.{field}"))
        else:
            problems = checks.dns1035_label_problems(name.lower())
            errors += [field_invalid(f"spec.names.{field}", name, problem) for problem in problems]
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        errors.append(field_invalid("spec.names.listKind", names["kind"], "kind and listKind may not be the same"))
    return errors


def validate_update(new: Object, old: Object) -> list[FieldError]:
    """Also, what objects may already rely on cannot change."""
    errors = validate(new)
    for path, after, before in (
        ("spec.scope", new["spec"].get("scope"), old["spec"].get("scope")),
        ("spec.names.kind", new["spec"]["names"].get("kind"), old["spec"]["names"].get("kind")),
    ):
        if after and after != before:
            errors.append(field_invalid(path, after, "field is immutable"))
    return errors


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
