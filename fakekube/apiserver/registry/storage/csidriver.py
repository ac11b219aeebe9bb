"""CSIDriver: what a CSI driver supports (`ValidateCSIDriver`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.features import enabled
from fakekube.apiserver.registry.core.pod.validation.volumes import validate_token_seconds
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
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
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

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


_GATED = GatedFields(
    ("SELinuxMountReadWriteOncePod", ("spec.seLinuxMount",)),
    ("CSIServiceAccountTokenSecrets", ("spec.serviceAccountTokenInSecrets",)),
    ("MutableCSINodeAllocatableCount", ("spec.nodeAllocatableUpdatePeriodSeconds",)),
    ("VolumeLimitScaling", ("spec.preventPodSchedulingIfMissing",)),
)


def validate(driver: Field) -> None:
    spec = driver["spec"]
    spec.at("attachedRequired", spec["attachRequired"].value).specified()
    spec["podInfoOnMount"].specified()
    spec["storageCapacity"].specified()
    spec.get("fsGroupPolicy").one_of(FS_GROUP_POLICIES)
    _validate_token_requests(spec["tokenRequests"])
    for mode in spec["volumeLifecycleModes"].value or ():
        spec.at("volumeLifecycleModes", mode).one_of(LIFECYCLE_MODES)
    spec["seLinuxMount"].specified()
    in_secrets = spec["serviceAccountTokenInSecrets"]
    if in_secrets.value is not None and not spec["tokenRequests"]:
        in_secrets.invalid("serviceAccountTokenInSecrets is set but no tokenRequests are specified")
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    period.at_least(10, "must be greater than or equal to 10 seconds")


def validate_update(new: Field, old: Field) -> None:
    validate(new)
    after, before = new["spec"], old["spec"]
    after.at("attachedRequired", after["attachRequired"].value).immutable(before["attachRequired"])
    after["volumeLifecycleModes"].immutable(before["volumeLifecycleModes"])


def _validate_token_requests(requests: Field) -> None:
    audiences: set[str] = set()
    for request in requests:
        if request["audience"].text in audiences:
            request["audience"].duplicate()
            continue
        audiences.add(request["audience"].text)
        validate_token_seconds(request.get("expirationSeconds"))


TOKENS_IN_ATTRIBUTES = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def warnings(obj: Object) -> list[str]:
    spec = obj.get("spec") or {}
    unset = spec.get("serviceAccountTokenInSecrets") is None and enabled("CSIServiceAccountTokenSecrets")
    return [TOKENS_IN_ATTRIBUTES] if spec.get("tokenRequests") and unset else []


def update_warnings(new: Object, old: Object) -> list[str]:
    before, after = ((one.get("spec") or {}).get("tokenRequests") or [] for one in (old, new))
    return warnings(new) if after != before else []


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
        drop_disabled=_GATED.drop_disabled,
        returns_deleted=True,
        unconditional_update=False,
        generation=("spec",),
        first_generation=None,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
        warnings=warnings,
        update_warnings=update_warnings,
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
