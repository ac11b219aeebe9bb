"""PersistentVolumeClaims (`ValidatePersistentVolumeClaim`, `ValidatePersistentVolumeClaimUpdate`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.registry.core.persistentvolume.validation import CLASS_ANNOTATION
from fakekube.apiserver.registry.core.persistentvolumeclaim.claimspec import validate_claim_spec
from fakekube.apiserver.registry.core.resourcenames import (
    is_native,
    number_of,
    validate_basic_quantity,
    validate_quantity,
)
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE, qualified_name_problems
from fakekube.apiserver.registry.generic.validation.diff import struct_diff
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import has_invalid_values
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata

Object = dict[str, Any]

CHANGEABLE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


RESIZE_STATUSES = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",
    "NodeResizePending",
)  # fmt: skip


def validate(claim: Field) -> None:
    validate_claim_spec(claim["spec"].with_value(claim["spec"].struct))


def validate_update(new: Field, old: Field) -> None:
    after, before = new["spec"], old["spec"]
    validate_metadata(new)
    sources = (before["dataSource"], before["dataSourceRef"])
    validate_claim_spec(
        after.with_value(after.struct),
        any_selector_values=has_invalid_values(before["selector"].value),
        any_source_group=any(source["apiGroup"].value is not None for source in sources),
    )
    comparable, stored = dict(after.struct), dict(before.struct)
    _allow_changes(comparable, stored, new, old)
    if _tidy(comparable) != _tidy(stored):
        after.forbidden(f"{CHANGEABLE}\n{struct_diff('PersistentVolumeClaimSpec', stored, comparable)}")
    size = number_of(_requested(new))
    if size < number_of(_requested(old)):
        if not enabled("RecoverVolumeExpansionFailure"):
            after.find("resources.requests.storage").forbidden("field can not be less than previous value")
        elif size <= number_of(old.find("status.capacity.storage").value or "0"):
            after.find("resources.requests.storage").forbidden("field can not be less than status.capacity")
    new.at("volumeMode", after["volumeMode"].value).immutable(before["volumeMode"])
    attributes = after["volumeAttributesClassName"]
    if before["volumeAttributesClassName"].value not in (None, attributes.value):
        if attributes.value is None:
            attributes.forbidden("update from non-nil value to nil is forbidden")
        elif not attributes.value:
            attributes.forbidden("update from non-nil value to an empty string is forbidden")


def _requested(claim: Field) -> str:
    return claim.find("spec.resources.requests.storage").value or "0"


def _tidy(spec: Object) -> Object:
    """Without fields that Go does not tell from absent ones; an empty selector or data source is a pointer."""
    return {
        key: value
        for key, value in spec.items()
        if value not in (None, []) and not (key == "resources" and value == {})
    }


def _allow_changes(after: Object, before: Object, new: Field, old: Field) -> None:
    """Makes the changes that are allowed equal in both specs: the name of the volume, once; a class that was in an
    annotation or absent; and, of a bound claim, its size and its attributes."""
    if not before.get("volumeName"):
        before["volumeName"] = after.get("volumeName")
    named, stored = (claim["metadata"]["annotations"].struct.get(CLASS_ANNOTATION) for claim in (new, old))
    name = after.get("storageClassName")
    fresh = before.get("storageClassName") is None and name is not None
    if not (fresh and stored is not None and name == stored and named in (None, stored)):
        if (named or "") != (stored or ""):
            new["metadata"].at(CLASS_ANNOTATION, named or "").invalid(IMMUTABLE)
        fresh = fresh and stored in (None, name)
    if fresh:
        after.pop("storageClassName", None)
    if new["status"]["phase"].value == "Bound":
        resources = after.get("resources") or {}
        if resources.get("requests") is not None:
            requests = {**resources["requests"], "storage": _requested(old)}
            after["resources"] = {**resources, "requests": requests}
        if after.get("volumeAttributesClassName") is not None:
            after["volumeAttributesClassName"] = before.get("volumeAttributesClassName")


def validate_status_update(new: Field, old: Field) -> None:
    status = new["status"]
    if not new["spec"]["accessModes"]:
        new.at("Spec.accessModes", None).missing()
    for quantity in status["capacity"].entries():
        validate_basic_quantity(quantity)
    for state in status["allocatedResourceStatuses"].entries():
        path = status.at("allocatedResourceStatuses" if since(34) else "allocatedResourceStatus", state.key)
        _validate_key(path)
        if state.value not in RESIZE_STATUSES:
            path.not_supported(RESIZE_STATUSES)
    for quantity in status["allocatedResources"].entries():
        before = len(new.errors)
        _validate_key(status.at("allocatedResources", quantity.key))
        if len(new.errors) == before:
            validate_basic_quantity(quantity)
        if len(new.errors) == before:
            validate_quantity(quantity, "storage")


def _validate_key(name: Field) -> None:
    name.qualified_name()
    if not qualified_name_problems(name.text) and is_native(name.text) and name.value != "storage":
        name.not_supported(("storage",))
