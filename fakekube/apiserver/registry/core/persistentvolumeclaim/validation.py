"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.persistentvolume.validation import CLASS_ANNOTATION, class_warnings
from fakekube.apiserver.registry.core.persistentvolumeclaim.claimspec import check_claim_spec
from fakekube.apiserver.registry.core.resourcenames import check_quantity, is_native, number_of
from fakekube.apiserver.registry.generic.validation.content import (
    IMMUTABLE,
    Errors,
    add,
    check_immutable,
    qualified_name_problems,
)
from fakekube.apiserver.registry.generic.validation.diff import spec_diff
from fakekube.apiserver.registry.generic.validation.labelselectors import has_invalid_values
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import (
    FieldError,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
    go_quote,
)

Object = dict[str, Any]

CHANGEABLE = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


RESIZE_STATUSES = (
    "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible",
    "NodeResizePending",
)  # fmt: skip


def validate_claim(claim: Object) -> list[FieldError]:
    errors: Errors = []
    check_claim_spec(claim.get("spec") or {}, "spec", errors)
    return errors


def _size(claim: Object, half: str) -> str:
    part = claim.get(half) or {}
    found = part.get("capacity") if half == "status" else (part.get("resources") or {}).get("requests")
    size: str = (found or {}).get("storage") or "0"
    return size


def validate_claim_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    after, before = new.get("spec") or {}, old.get("spec") or {}
    check_again(new, errors)
    sources = (before.get("dataSource") or {}, before.get("dataSourceRef") or {})
    check_claim_spec(
        after,
        "spec",
        errors,
        any_selector_values=has_invalid_values(before.get("selector")),
        any_source_group=any(source.get("apiGroup") is not None for source in sources),
    )
    comparable, stored = dict(after), dict(before)
    _allow_changes(comparable, stored, new, old, errors)
    if _tidy(comparable) != _tidy(stored):
        errors.append(field_forbidden("spec", f"{CHANGEABLE}\n{spec_diff(_tidy(stored), _tidy(comparable))}"))
    size = number_of(_size(new, "spec"))
    if size < number_of(_size(old, "spec")) and size <= number_of(_size(old, "status")):
        path = "spec.resources.requests.storage"
        errors.append(field_forbidden(path, "field can not be less than status.capacity"))
    check_immutable(after.get("volumeMode"), before.get("volumeMode"), "volumeMode", errors)
    _check_attributes_kept(after, before, errors)
    return errors


def _tidy(spec: Object) -> Object:
    return {key: value for key, value in spec.items() if value not in (None, {}, [])}


def _allow_changes(after: Object, before: Object, new: Object, old: Object, errors: Errors) -> None:
    """What may change is made alike in both: a volume's name once, a class that was in an annotation or nowhere, and
    of a bound claim its size and its attributes."""
    if not before.get("volumeName"):
        before["volumeName"] = after.get("volumeName")
    annotations = [one["metadata"].get("annotations") or {} for one in (new, old)]
    named, stored = (found.get(CLASS_ANNOTATION) for found in annotations)
    name = after.get("storageClassName")
    fresh = before.get("storageClassName") is None and name is not None
    if not (fresh and stored is not None and name == stored and named in (None, stored)):
        if (named or "") != (stored or ""):
            errors.append(field_invalid(f"metadata.{CLASS_ANNOTATION}", named or "", IMMUTABLE))
        fresh = fresh and stored in (None, name)
    if fresh:
        after.pop("storageClassName", None)
    if (new.get("status") or {}).get("phase") == "Bound":
        resources = after.get("resources") or {}
        if resources.get("requests") is not None:
            requests = {**resources["requests"], "storage": _size(old, "spec")}
            after["resources"] = {**resources, "requests": requests}
        if after.get("volumeAttributesClassName") is not None:
            after["volumeAttributesClassName"] = before.get("volumeAttributesClassName")


def _check_attributes_kept(after: Object, before: Object, errors: Errors) -> None:
    path, name = "spec.volumeAttributesClassName", after.get("volumeAttributesClassName")
    if before.get("volumeAttributesClassName") in (None, name):
        return
    if name is None:
        errors.append(field_forbidden(path, "update from non-nil value to nil is forbidden"))
    elif not name:
        errors.append(field_forbidden(path, "update from non-nil value to an empty string is forbidden"))


def validate_claim_status(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    status = new.get("status") or {}
    if not (new.get("spec") or {}).get("accessModes"):
        errors.append(field_required("Spec.accessModes"))
    for name, value in (status.get("capacity") or {}).items():
        _check_basic(value, f"status.capacity[{name}]", errors)
    path = "status.allocatedResourceStatus"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        _check_key(name, path, errors)
        if state not in RESIZE_STATUSES:
            errors.append(field_not_supported(path, name, RESIZE_STATUSES))
    path = "status.allocatedResources"
    for name, value in (status.get("allocatedResources") or {}).items():
        before = len(errors)
        _check_key(name, path, errors)
        if len(errors) == before:
            _check_basic(value, f"{path}[{name}]", errors)
        if len(errors) == before:
            check_quantity("storage", value, f"{path}[{name}]", errors)
    return errors


def _check_basic(value: str, path: str, errors: Errors) -> None:
    number = number_of(value)
    if number < 0:
        errors.append(field_invalid(path, int(number), "must be a valid resource quantity"))


def _check_key(name: str, path: str, errors: Errors) -> None:
    problems = qualified_name_problems(name)
    add(errors, path, name, problems)
    if not problems and is_native(name) and name != "storage":
        errors.append(field_not_supported(path, name, ("storage",)))


def claim_warnings(claim: Object) -> list[str]:
    warnings = class_warnings(claim)
    resources = (claim.get("spec") or {}).get("resources") or {}
    for field in ("requests", "limits"):
        size = (resources.get(field) or {}).get("storage")
        if size is not None and number_of(size) % 1:
            why = f"fractional byte value {go_quote(size)} is invalid, must be an integer"
            warnings.append(f"spec.resources.{field}[storage]: {why}")
    return warnings
