"""The strategy of CustomResourceDefinitions (`apiextensions-apiserver/pkg/registry/customresourcedefinition`)."""

from __future__ import annotations

from fakekube.apiserver.crd import definitionstatus
from fakekube.apiserver.features import enabled
from fakekube.apiserver.registry.apiextensions.customresourcedefinition import validation, warnings
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.resource import Object
from fakekube.apiserver.schema.model import Schema


def set_defaults(crd: Object) -> None:
    """Sets the defaults of names and conversion (`v1.SetDefaults_CustomResourceDefinitionSpec`)."""
    spec = crd.get("spec") or {}
    names = dict(spec.get("names") or {})
    kind = names.get("kind") or ""
    if kind:
        names["singular"] = names.get("singular") or kind.lower()
        names["listKind"] = names.get("listKind") or kind + "List"
    crd["spec"] = {**spec, "conversion": _conversion(spec.get("conversion")), "names": names}


def _without_disabled(crd: Object, old: Object | None = None) -> Object:
    """Without selectable fields if their feature is off and the stored definition has none (`dropDisabledFields`)."""
    used = any(one.get("selectableFields") for one in (old or {}).get("spec", {}).get("versions") or ())
    if used or enabled("CustomResourceFieldSelectors"):
        return crd
    kept = [
        {key: value for key, value in one.items() if key != "selectableFields"}
        for one in crd["spec"].get("versions") or ()
    ]
    return {**crd, "spec": {**crd["spec"], "versions": kept}}


def prepare(crd: Object, old: Object | None = None) -> Object:
    """Sets the initial status."""
    crd = _without_disabled(crd, old)
    stored = [v.get("name") or "" for v in crd["spec"].get("versions") or () if v.get("storage")][:1]
    status = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": stored}
    return {**crd, "status": status}


def _conversion(given: Object | None) -> Object:
    """The conversion with defaults: the strategy None, and the port of a Service."""
    if given is None:
        return {"strategy": "None"}
    webhook = given.get("webhook") or {}
    if not any(webhook.values()):
        return {key: value for key, value in given.items() if key != "webhook"}
    client = webhook.get("clientConfig") or {}
    if client.get("service") is None or "port" in client["service"]:
        return given
    service = {**client["service"], "port": 443}
    return {**given, "webhook": {**webhook, "clientConfig": {**client, "service": service}}}


def prepare_update(new: Object, old: Object) -> Object:
    """Keeps the status, and adds a new storage version to the stored versions."""
    prepared = prepare(new, old)
    status = dict(old.get("status") or {})
    stored = list(status.get("storedVersions") or ())
    for version in prepared["status"]["storedVersions"]:
        if version not in stored:
            stored.append(version)
    return {**prepared, "status": {**status, "storedVersions": stored}}


def definition_strategy(meta: Schema) -> Strategy:
    """The strategy of definitions; `meta` is the schema of ObjectMeta."""
    return Strategy(
        name_problems=validation.name_problems,
        generation=("spec",),
        qualified_finalizers=False,
        unconditional_update=False,
        default=set_defaults,
        prepare_create=prepare,
        prepare_update=prepare_update,
        prepare_status_update=lambda new, old: {**new, "spec": old["spec"]},
        mark_deleted=definitionstatus.marked_deleted,
        validate=lambda crd: validation.validate(crd, meta),
        validate_update=lambda new, old: validation.validate_update(new, old, meta),
        validate_status_update=validation.validate_status_update,
        warnings=warnings.warnings,
        update_warnings=warnings.update_warnings,
    )
