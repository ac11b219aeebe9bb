"""ResourceClaim: devices for the pods that name the claim (`ValidateResourceClaim`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.core.pod.validation.affinity import validate_node_selector
from fakekube.apiserver.registry.core.pod.validation.volumes import validate_csi_driver_name
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import (
    AGE,
    NAME,
    Printer,
    age_of,
    columns,
    get,
    is_terminating,
    joined,
    name_of,
)
from fakekube.apiserver.registry.generic.validation.conditions import validate_conditions
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.ip import interface_address_problems
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.registry.resource.devices import (
    MOST_CONFIGS,
    each,
    each_once,
    gated_of_claim,
    request_names,
    validate_binding_conditions,
    validate_config,
    validate_devices,
    validate_pool_name,
    validate_raw_object,
    validate_reference,
)
from fakekube.apiserver.wire.goprint import go_quote

Object = dict[str, Any]


def _requests(claim: Object) -> Iterator[Object]:
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        if request.get("exactly") is not None:
            yield request["exactly"]
        yield from request.get("firstAvailable") or ()


def default_claim(obj: Object) -> None:
    """Each request is for one device, and tolerations compare values (`pkg/apis/resource/v1/defaults.go`)."""
    for request in _requests(obj):
        mode = request.get("allocationMode") or "ExactCount"
        request["allocationMode"] = mode
        if mode == "ExactCount" and not request.get("count"):
            request["count"] = 1
        for toleration in request.get("tolerations") or ():
            if not toleration.get("operator"):
                toleration["operator"] = "Equal"


MOST_RESULTS, MOST_CONSUMERS = 32, 256

#: Of the status of a device.
MOST_CONDITIONS, MOST_ADDRESSES, LONGEST_INTERFACE, LONGEST_HARDWARE_ADDRESS = 8, 16, 256, 128

SOURCES = ("FromClaim", "FromClass")


def validate(claim: Field) -> None:
    validate_devices(claim["spec"]["devices"])


def validate_update(new: Field, old: Field) -> None:
    if since(35):
        validate_metadata(new)
    new["spec"].immutable_struct(old["spec"], "ResourceClaimSpec")
    if not since(35):
        validate(new)


def validate_status_update(new: Field, old: Field) -> None:
    status, before = new["status"], old["status"]
    consumers, allocation, stored = status["reservedFor"], status["allocation"], before["allocation"]
    each_once(
        consumers,
        MOST_CONSUMERS,
        lambda consumer: consumer.require("resource", "name", "uid"),
        lambda consumer: consumer["uid"].value,
    )
    _validate_device_states(status["devices"], allocation)
    if consumers and allocation.value is None:
        consumers.forbidden("may not be specified when `allocated` is not set")
    elif new["metadata"]["deletionTimestamp"] and any(one.value not in before["reservedFor"] for one in consumers):
        consumers.forbidden("new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set")
    if allocation.value is not None and stored.value is not None:
        allocation.immutable(stored)
    elif allocation.value is not None:
        _validate_allocation(allocation, request_names(new["spec"]["devices"]))


def _device_id(device: Field) -> tuple[str, ...]:
    return tuple(device[field].text for field in ("driver", "pool", "device", "shareID"))


def _shown_id(device: Field) -> Object:
    return dict(zip(("Driver", "Pool", "Device", "ShareID"), _device_id(device), strict=True))


def _validate_device(device: Field) -> None:
    validate_csi_driver_name(device["driver"])
    validate_pool_name(device["pool"])
    device["device"].dns_label()


def _validate_device_states(devices: Field, allocation: Field) -> None:
    allocated = {_device_id(one) for one in allocation["devices"]["results"]}
    for device in devices:
        _validate_device(device)
        device.get("shareID").check(_uid_problems)
        if _device_id(device) not in allocated:
            device.with_value(_shown_id(device)).invalid_go("must be an allocated device in the claim")
        validate_conditions(device["conditions"].max_items(MOST_CONDITIONS))
        validate_raw_object(device.get("data"))
        network = device["networkData"]
        network["interfaceName"].max_bytes(LONGEST_INTERFACE)
        network["hardwareAddress"].max_bytes(LONGEST_HARDWARE_ADDRESS)
        each_once(
            network["ips"],
            MOST_ADDRESSES,
            lambda address: address.check(interface_address_problems),
            lambda address: address.value,
        )
    seen: set[tuple[str, ...]] = set()
    for device in devices:
        if _device_id(device) in seen:
            device.duplicate_go(_shown_id(device))
        seen.add(_device_id(device))


#: The shapes that Go's uuid package accepts.
_uuid = re.compile(
    r"(?i)(?:urn:uuid:)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\{[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}"
    r"|[0-9a-f]{32}"
)


def _uid_problems(text: str) -> list[str]:
    """`validateUID`."""
    size = len(text.encode())
    if size not in (32, 36, 38, 45):
        return [f"error validating uid: invalid UUID length: {size}"]
    if size == 45 and text[:9].lower() != "urn:uuid:":
        return [f"error validating uid: invalid urn prefix: {go_quote(text[:9])}"]
    if size == 38 and (text[0], text[-1]) != ("{", "}"):
        return ["error validating uid: invalid bracketed UUID format"]
    if not _uuid.fullmatch(text):
        return ["error validating uid: invalid UUID format"]
    if size == 36 and text == text.lower():
        return []
    shape = "`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"
    return [f"uid must be in RFC 4122 normalized form, {shape}"]


def _validate_allocation(allocation: Field, known: Mapping[str, set[str]]) -> None:
    def validate_result(result: Field) -> None:
        validate_reference(result["request"], known)
        _validate_device(result)
        validate_binding_conditions(result)
        result.get("shareID").check(_uid_problems)

    def validate_allocated_config(config: Field) -> None:
        config["source"].required().one_of(SOURCES)
        validate_config(config, known)

    each(allocation["devices"]["results"], MOST_RESULTS, validate_result)
    each(allocation["devices"]["config"], 2 * MOST_CONFIGS, validate_allocated_config)
    if allocation["nodeSelector"].value is not None:
        validate_node_selector(allocation["nodeSelector"], any_values=False)


def _resource_claim(obj: Object, ages: Ages) -> list[Any]:
    states = ["deleted"] if is_terminating(obj) else []
    if get(obj, "status.allocation") is not None:
        states += ["allocated", *(["reserved"] if get(obj, "status.reservedFor") else [])]
    elif not states:
        states = ["pending"]
    return [name_of(obj), joined(states), age_of(obj, ages)]


_RESULTS = "status.allocation.devices.results[]"

_OF_STATUS = {
    "DRAAdminAccess": (f"{_RESULTS}.adminAccess",),
    "DRAConsumableCapacity": (f"{_RESULTS}.shareID", f"{_RESULTS}.consumedCapacity", "status.devices[].shareID"),
}

_DEVICES = ("DRAResourceClaimDeviceStatus", ("status.devices",))

_BINDING = (f"{_RESULTS}.bindingConditions", f"{_RESULTS}.bindingFailureConditions")

_GATED = GatedFields(*gated_of_claim("spec", of_status=_OF_STATUS), _DEVICES, ("DRADeviceBindingConditions", _BINDING))

_BINDING_BEFORE_35 = ("status.allocation.allocationTimestamp", *_BINDING)

_GATED_BEFORE_35 = GatedFields(
    *gated_of_claim("spec", before_35=True, of_status=_OF_STATUS),
    _DEVICES,
    *((gate, _BINDING_BEFORE_35) for gate in ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")),
)


KIND = Kind(
    "resourceclaims.resource.k8s.io",
    Strategy(
        status_resets_metadata=True,
        returns_deleted=True,
        default=default_claim,
        drop_disabled=_GATED.drop_disabled,
        validate=validator(validate),
        as_new_before=35,
        validate_update=update_validator(validate_update),
        validate_status_update=update_validator(validate_status_update),
    ),
    printer=Printer(columns(NAME, "State", AGE), _resource_claim),
    before={35: {"status_owns_metadata": True, "drop_disabled": _GATED_BEFORE_35.drop_disabled}},
)
