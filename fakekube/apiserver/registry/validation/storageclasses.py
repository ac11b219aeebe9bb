"""StorageClasses, attachments of volumes, and what CSI drivers say of themselves (kubernetes
`pkg/apis/storage/validation`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.volumes import check_csi_driver
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import (
    IMMUTABLE,
    NEGATIVE,
    Errors,
    add,
    check_dns_subdomain,
    check_immutable,
    check_nonnegative,
    check_qualified_name,
    qualified_name_problems,
    range_problem,
)
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_selector
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.registry.validation.persistentvolumes import check_volume_spec
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_long,
)

Object = dict[str, Any]

RECLAIM_POLICIES = ("Delete", "Retain")
BINDING_MODES = ("Immediate", "WaitForFirstConsumer")

#: Parameters of a class: how many, and how many bytes in all.
MAX_PARAMETERS, MAX_PARAMETER_BYTES = 512, 256 * 1024


def validate_storage_class(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_provisioner(obj.get("provisioner") or "", "provisioner", errors)
    _check_parameters(obj.get("parameters") or {}, errors, required=False)
    policy, mode = obj.get("reclaimPolicy"), obj.get("volumeBindingMode")
    if policy and policy not in RECLAIM_POLICIES:
        errors.append(field_not_supported("reclaimPolicy", policy, RECLAIM_POLICIES))
    if mode is None:
        errors.append(field_required("volumeBindingMode"))
    elif mode not in BINDING_MODES:
        errors.append(field_not_supported("volumeBindingMode", mode, BINDING_MODES))
    _check_topologies(obj.get("allowedTopologies") or (), errors)
    return errors


def validate_storage_class_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        check_immutable(new.get(field), old.get(field), field, errors)
    return errors


def _check_provisioner(name: str, path: str, errors: Errors) -> None:
    if not name:
        errors.append(field_required(path))
    else:
        add(errors, path, name.lower(), qualified_name_problems(name.lower()))


def _check_parameters(parameters: Object, errors: Errors, *, required: bool) -> None:
    if len(parameters) > MAX_PARAMETERS:
        errors.append(field_too_long("parameters", MAX_PARAMETERS))
        return
    if "" in parameters:
        errors.append(field_invalid("parameters", "", "field can not be empty."))
    if sum(len(key.encode()) + len(value.encode()) for key, value in parameters.items()) > MAX_PARAMETER_BYTES:
        errors.append(field_too_long("parameters", MAX_PARAMETER_BYTES))
    if required and not parameters:
        errors.append(field_required("parameters", "must contain at least one key/value pair"))


def _check_topologies(topologies: Sequence[Object], errors: Errors) -> None:
    found: list[dict[str, set[str]]] = []
    for i, term in enumerate(topologies):
        path = f"allowedTopologies[{i}].matchLabelExpressions"
        values: dict[str, set[str]] = {}
        for j, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            here, key = f"{path}[{j}]", requirement.get("key") or ""
            allowed = _check_values(requirement.get("values") or (), f"{here}.values", errors)
            check_qualified_name(key, f"{here}.key", errors)
            if key in values:
                errors.append(field_duplicate(f"{here}.key", key))
            values[key] = allowed
        if values in found:
            errors.append(field_duplicate(path, ""))
        found.append(values)


def _check_values(values: Sequence[str], path: str, errors: Errors) -> set[str]:
    if not values:
        errors.append(field_required(path))
    for i, value in enumerate(values):
        if value in values[:i]:
            errors.append(field_duplicate(f"{path}[{i}]", value))
    return set(values)


def validate_attributes_class(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_provisioner(obj.get("driverName") or "", "driverName", errors)
    _check_parameters(obj.get("parameters") or {}, errors, required=True)
    return errors


def validate_attributes_class_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    for field in ("driverName", "parameters"):
        if (new.get(field) or None) != (old.get(field) or None):
            errors.append(field_forbidden(field, f"updates to {field} are forbidden."))
    check_again(new, errors)
    return errors + validate_attributes_class(new)


# --- attachments ---------------------------------------------------------------------------------------------------

ATTACHMENT_BYTES = 256 * 1024
MESSAGE_BYTES = 1024
ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


def validate_attachment(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_attachment(obj, errors)
    spec = obj.get("spec") or {}
    check_csi_driver(spec.get("attacher") or "", "spec.attacher", errors)
    name = (spec.get("source") or {}).get("persistentVolumeName")
    if name is not None:
        check_dns_subdomain(name, "spec.source.persistentVolumeName", errors)
    return errors


def validate_attachment_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_again(new, errors)
    _check_attachment(new, errors)
    if (new.get("spec") or {}) != (old.get("spec") or {}):
        errors.append(_immutable_spec(new.get("spec") or {}))
    return errors


def _immutable_spec(spec: Object) -> FieldError:
    source = spec.get("source") or {}
    shown = {
        "Attacher": spec.get("attacher", ""),
        "Source": {
            "PersistentVolumeName": source.get("persistentVolumeName"),
            "InlineVolumeSpec": source.get("inlineVolumeSpec"),
        },
        "NodeName": spec.get("nodeName", ""),
    }
    return FieldError("spec", "FieldValueInvalid", f"Invalid value: {gostructs.marshal(shown)}: {IMMUTABLE}")


def _check_attachment(obj: Object, errors: Errors) -> None:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if not spec.get("attacher"):
        errors.append(field_required("spec.attacher"))
    _check_attached_source(spec.get("source") or {}, "spec.source", errors)
    check_dns_subdomain(spec.get("nodeName") or "", "spec.nodeName", errors)
    metadata = status.get("attachmentMetadata") or {}
    if sum(len(key.encode()) + len(value.encode()) for key, value in metadata.items()) > ATTACHMENT_BYTES:
        errors.append(field_too_long("status.attachmentMetadata", ATTACHMENT_BYTES))
    for field in ("attachError", "detachError"):
        problem = status.get(field) or {}
        if len((problem.get("message") or "").encode()) > MESSAGE_BYTES:
            errors.append(field_too_long(f"status.{field}.message", ATTACHMENT_BYTES))
        code = problem.get("errorCode")
        if code is not None and code < 0:
            errors.append(field_invalid(f"status.{field}.errorCode", code, range_problem(0, 2**31 - 1)))


def _check_attached_source(source: Object, path: str, errors: Errors) -> None:
    name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if name is None and inline is None:
        errors.append(field_required(path, ONE_SOURCE))
    elif name is not None and inline is not None:
        errors.append(field_forbidden(path, ONE_SOURCE))
    elif inline is not None:
        check_volume_spec(inline, f"{path}.inlineVolumeSpec", errors, inline=True)
    elif not name:
        errors.append(field_required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName"))


# --- CSI -----------------------------------------------------------------------------------------------------------

FS_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLE_MODES = ("Persistent", "Ephemeral")
NODE_ID_LIMIT = 256


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


def validate_csi_node(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_node_drivers((obj.get("spec") or {}).get("drivers") or (), errors)
    return errors


def validate_csi_node_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_again(new, errors)
    drivers = (new.get("spec") or {}).get("drivers") or ()
    _check_node_drivers(drivers, errors)
    for before in (old.get("spec") or {}).get("drivers") or ():
        for driver in drivers:
            if driver.get("name") == before.get("name") and _fixed(driver) != _fixed(before):
                shown = gostructs.marshal(_fixed(driver))
                why = f"Invalid value: {shown}: {IMMUTABLE}"
                errors.append(FieldError("spec.drivers", "FieldValueInvalid", why))
    return errors


def _fixed(driver: Object) -> Object:
    """What of a driver does not change: how many volumes it takes may."""
    return {
        "Name": driver.get("name", ""),
        "NodeID": driver.get("nodeID", ""),
        "TopologyKeys": driver.get("topologyKeys"),
        "Allocatable": None,
    }


def _check_node_drivers(drivers: Sequence[Object], errors: Errors) -> None:
    seen: set[str] = set()
    for i, driver in enumerate(drivers):
        path, name, node = f"spec.drivers[{i}]", driver.get("name") or "", driver.get("nodeID") or ""
        check_csi_driver(name, f"{path}.name", errors)
        if not node:
            errors.append(field_required(f"{path}.nodeID"))
        if len(node) > NODE_ID_LIMIT:
            errors.append(field_invalid(f"{path}.nodeID", node, f"must be {NODE_ID_LIMIT} characters or less"))
        check_nonnegative((driver.get("allocatable") or {}).get("count"), f"{path}.allocatable.count", errors)
        if name in seen:
            errors.append(field_duplicate(f"{path}.name", name))
        seen.add(name)
        keys = driver.get("topologyKeys") or ()
        for j, key in enumerate(keys):
            if not key:
                errors.append(field_required(path))
            if key in keys[:j]:
                errors.append(field_duplicate(path, key))
            check_qualified_name(key, path, errors)


def validate_capacity(obj: Object) -> list[FieldError]:
    errors: Errors = []
    check_label_selector(obj.get("nodeTopology"), "nodeTopology", errors)
    check_dns_subdomain(obj.get("storageClassName") or "", "storageClassName", errors)
    if obj.get("capacity") is not None and number_of(obj["capacity"]) < 0:
        errors.append(field_invalid("capacity", obj["capacity"], NEGATIVE))
    return errors


def validate_capacity_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    topology = new.get("nodeTopology")
    if topology != old.get("nodeTopology"):
        errors.append(gostructs.invalid_selector("nodeTopology", topology, IMMUTABLE))
    check_immutable(new.get("storageClassName", ""), old.get("storageClassName", ""), "storageClassName", errors)
    return errors
