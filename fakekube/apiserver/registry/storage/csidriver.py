"""TODO"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import (
    AGE,
    NAME,
    Printer,
    age_of,
    boolean,
    columns,
    joined,
    name_of,
)
from fakekube.apiserver.registry.generic.validation.content import Errors, check_immutable
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]

DRIVER_DEFAULTS: Object = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}


def default_driver(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    for field, value in DRIVER_DEFAULTS.items():
        spec.setdefault(field, value)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


FS_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")


LIFECYCLE_MODES = ("Persistent", "Ephemeral")


def validate_csi_driver(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_driver(obj.get("spec") or {}, errors)
    return errors


def validate_csi_driver_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    after, before = new.get("spec") or {}, old.get("spec") or {}
    _check_driver(after, errors)
    check_immutable(after.get("attachRequired"), before.get("attachRequired"), "spec.attachedRequired", errors)
    check_immutable(
        after.get("volumeLifecycleModes"), before.get("volumeLifecycleModes"), "spec.volumeLifecycleModes", errors
    )
    return errors


#: Field that a driver must set -> its name in errors.
DRIVER_REQUIRED = {
    "attachRequired": "attachedRequired",
    "podInfoOnMount": "podInfoOnMount",
    "storageCapacity": "storageCapacity",
}


def _check_driver(spec: Object, errors: Errors) -> None:
    errors += [field_required(f"spec.{shown}") for field, shown in DRIVER_REQUIRED.items() if spec.get(field) is None]
    policy = spec.get("fsGroupPolicy")
    if policy is not None and policy not in FS_GROUP_POLICIES:
        errors.append(field_not_supported("spec.fsGroupPolicy", policy, FS_GROUP_POLICIES))
    _check_token_requests(spec.get("tokenRequests") or (), errors)
    for mode in spec.get("volumeLifecycleModes") or ():
        if mode not in LIFECYCLE_MODES:
            errors.append(field_not_supported("spec.volumeLifecycleModes", mode, LIFECYCLE_MODES))
    if spec.get("seLinuxMount") is None:
        errors.append(field_required("spec.seLinuxMount"))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        why = "must be greater than or equal to 10 seconds"
        errors.append(field_invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, why))


def _check_token_requests(requests: Sequence[Object], errors: Errors) -> None:
    seen: set[str] = set()
    for i, request in enumerate(requests):
        path, audience = f"spec.tokenRequests[{i}]", request.get("audience") or ""
        if audience in seen:
            errors.append(field_duplicate(f"{path}.audience", audience))
            continue
        seen.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is None:
            continue
        if seconds < 600:
            why = "may not specify a duration less than 10 minutes"
            errors.append(field_invalid(f"{path}.expirationSeconds", seconds, why))
        if seconds > 1 << 32:
            why = "may not specify a duration larger than 2^32 seconds"
            errors.append(field_invalid(f"{path}.expirationSeconds", seconds, why))


def _csi_driver(obj: Object, ages: Ages) -> list[Any]:
    spec = obj.get("spec") or {}
    requests = spec.get("tokenRequests")
    return [
        name_of(obj),
        spec.get("attachRequired", True),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        "<unset>" if requests is None else joined([one.get("audience") or "" for one in requests]),
        bool(spec.get("requiresRepublish")),
        joined(spec.get("volumeLifecycleModes") or ()) or "<none>",
        age_of(obj, ages),
    ]


KIND = Kind(
    "csidrivers.storage.k8s.io",
    Strategy(
        default=default_driver,
        returns_deleted=True,
        unconditional_update=False,
        generation=("spec",),
        first_generation=None,
        validate=validate_csi_driver,
        validate_update=validate_csi_driver_update,
    ),
    printer=Printer(
        columns(
            NAME,
            boolean("AttachRequired"),
            boolean("PodInfoOnMount"),
            boolean("StorageCapacity"),
            "TokenRequests",
            boolean("RequiresRepublish"),
            "Modes",
            AGE,
        ),
        _csi_driver,
    ),
)
