"""ResourceSlice: the devices that a driver offers (`ValidateResourceSlice`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.registry.core.pod.validation.affinity import validate_node_selector
from fakekube.apiserver.registry.core.pod.validation.volumes import validate_csi_driver_name
from fakekube.apiserver.registry.generic.gatedfields import GatedFields
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.selectablefields import string_at
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator
from fakekube.apiserver.registry.resource.capacity import validate_capacity
from fakekube.apiserver.registry.resource.devices import (
    EFFECTS,
    each,
    each_once,
    named,
    validate_binding_conditions,
    validate_name,
    validate_pool_name,
)
from fakekube.apiserver.wire.goprint import go_quote

Object = dict[str, Any]

LONGEST_VALUE = 64
MOST_DEVICES, MOST_ADVANCED_DEVICES = 128, 64

MOST_ATTRIBUTES, MOST_VALUES, MOST_TAINTS = 32, 48, 16

MOST_COUNTER_SETS, MOST_COUNTERS, MOST_CONSUMPTIONS = 8, 32, 2

#: The fields that say where a slice's devices can be used: exactly one of them is set.
PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")

_NUMBER, _BUILD = r"(0|[1-9]\d*)", r"[0-9a-zA-Z-]+"

_PRERELEASE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"


_version = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)


def _validate_any(slice: Field, old: Field | None = None) -> None:
    """`old` is the stored spec."""
    spec = slice["spec"]
    pool, counters, devices = spec["pool"], spec["sharedCounters"], spec["devices"]
    validate_csi_driver_name(spec["driver"])
    validate_pool_name(pool["name"])
    pool["resourceSliceCount"].positive()
    pool["generation"].at_least(0, "must be greater than or equal to zero")
    if old is not None:
        pool["name"].immutable(old["pool"]["name"])
        spec["driver"].immutable(old["driver"])
        spec["nodeName"].immutable(old["nodeName"])
    _validate_slice_place(spec)
    if counters.value is not None and devices.value is not None:
        spec.invalid("only one of `sharedCounters` or `devices` is allowed", "")
    stored = {named(one): one for one in (old["devices"] if old is not None else ())}

    def validate_device(device: Field) -> None:
        _validate_device(device, stored.get(named(device)))
        _validate_device_place(device, chosen=bool(spec["perDeviceNodeSelection"]))
        validate_binding_conditions(device)

    most = MOST_ADVANCED_DEVICES if any(map(_is_advanced, devices.value or ())) else MOST_DEVICES
    each_once(devices, most, validate_device, named)
    each_once(counters, MOST_COUNTER_SETS, partial(_validate_counters, name="name"), named)


_POLICY = frozenset({"requestPolicy"})

_LISTS = ("bools", "ints", "strings", "versions")


def _of_devices(*fields: str) -> tuple[str, ...]:
    return tuple(f"spec.devices[].{field}" for field in fields)


_BINDING = _of_devices("bindingConditions", "bindingFailureConditions", "bindsToNode")

_GATED = GatedFields(
    ("DRADeviceTaints", _of_devices("taints")),
    (
        "DRAPartitionableDevices",
        (
            "spec.sharedCounters",
            "spec.perDeviceNodeSelection",
            *_of_devices("consumesCounters", "nodeName", "nodeSelector", "allNodes"),
        ),
    ),
    *((gate, _BINDING) for gate in ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")),
    ("DRAConsumableCapacity", _of_devices("allowMultipleAllocations")),
    ("DRANodeAllocatableResources", _of_devices("nodeAllocatableResourceMappings")),
)


def date_taints(slice: Object, now: str) -> Object:
    """Taints of devices without a time are added now (`SetDefaults_DeviceTaint`)."""
    spec = slice.get("spec") or {}
    devices = spec.get("devices") or ()
    if not any(not taint.get("timeAdded") for device in devices for taint in device.get("taints") or ()):
        return slice
    dated = [
        {**device, "taints": [{**taint, "timeAdded": taint.get("timeAdded") or now} for taint in device["taints"]]}
        if device.get("taints")
        else device
        for device in devices
    ]
    return {**slice, "spec": {**spec, "devices": dated}}


def drop_disabled_fields(slice: Object, old: Object | None = None) -> Object:
    """Without the fields of features that are off and that the stored slice does not use (`dropDisabledFields`)."""
    slice = _GATED.drop_disabled(slice, old)
    spec = slice.get("spec") or {}
    if not spec.get("devices"):
        return slice
    return {**slice, "spec": {**spec, "devices": [_with_enabled_values(device) for device in spec["devices"]]}}


def _without(value: Object, fields: frozenset[str]) -> Object:
    return {key: item for key, item in value.items() if key not in fields}


def _with_enabled_values(device: Object) -> Object:
    """The device without values in its attributes and capacities that need a feature which is off."""
    kept = dict(device)
    if kept.get("attributes") and not enabled("DRAListTypeAttributes"):
        kept["attributes"] = {name: _without(one, frozenset(_LISTS)) for name, one in kept["attributes"].items()}
    if kept.get("capacity") and not enabled("DRAConsumableCapacity"):
        kept["capacity"] = {name: _without(one, _POLICY) for name, one in kept["capacity"].items()}
    return kept


def _is_advanced(device: Object) -> bool:
    lists = ("bools", "ints", "strings", "versions")
    attributes = (device.get("attributes") or {}).values()
    return bool(device.get("taints") or device.get("consumesCounters")) or any(
        one.get(field) is not None for one in attributes for field in lists
    )


def _validate_place(holder: Field, places: Sequence[str], empty_name: str) -> str:
    """Returns the names of the places that are set, as an error shows them."""
    found = []
    for place in holder.members(places):
        if place.key == "nodeSelector":
            validate_node_selector(place, any_values=False)
        elif not place:
            place.invalid(empty_name if place.key == "nodeName" else "must be either unset or set to true")
            continue
        elif place.key == "nodeName":
            place.dns_subdomain()
        found.append(f"`{place.key}`")
    return ", ".join(found)


def _validate_slice_place(spec: Field) -> None:
    found = _validate_place(spec, PLACES, "must be either unset or set to a non-empty string")
    terms = spec["nodeSelector"]["nodeSelectorTerms"]
    if spec["nodeSelector"].value is not None and len(terms) != 1:
        terms.invalid("must have exactly one node selector term", terms.value or [])
    why = f"exactly one of {', '.join(f'`{place}`' for place in PLACES)} is required"
    if not found:
        spec.missing(why)
    elif "," in found:
        spec.invalid(f"{why}, but multiple fields are set", f"{{{found}}}")


def _validate_device_place(device: Field, *, chosen: bool) -> None:
    places = PLACES[:3]
    if not chosen:
        if device.members(places):
            why = "can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
            device.invalid(f"`nodeName`, `nodeSelector` and `allNodes` {why}", None)
        return
    found = _validate_place(device, places, "must not be empty")
    why = (
        "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to "
        "true in the ResourceSlice spec"
    )
    if not found:
        device.missing(why)
    elif "," in found:
        device.invalid(why, f"{{{found}}}")


def _validate_device(device: Field, old: Field | None) -> None:
    device["name"].dns_label()
    attributes, capacity, taints = device["attributes"], device["capacity"], device["taints"]
    total = len(attributes) + len(capacity)
    if total > MOST_ATTRIBUTES:
        device.invalid(f"the total number of attributes and capacities must not exceed {MOST_ATTRIBUTES}", total)
    values = sum(map(_values_of, attributes.struct.values()))
    if values > MOST_VALUES:
        device.invalid(f"the total number of attribute values must not exceed {MOST_VALUES}", values)
    for attribute in attributes.entries():
        validate_name(attributes.with_value(attribute.key))
        _validate_attribute(attribute)
    for one in capacity.entries():
        validate_name(capacity.with_value(one.key))
        validate_capacity(one, shared=bool(device["allowMultipleAllocations"]))
    if old is None or old["taints"].value != taints.value:
        each(taints, MOST_TAINTS, _validate_taint)
    each_once(
        device["consumesCounters"],
        MOST_CONSUMPTIONS,
        partial(_validate_counters, name="counterSet"),
        lambda consumption: consumption["counterSet"].value,
    )


def _values_of(attribute: Object) -> int:
    lists = sum(len(attribute.get(field) or ()) for field in ("bools", "ints", "strings", "versions"))
    return lists or 1


def _validate_attribute(attribute: Field) -> None:
    for field, problems in (("string", _no_problems), ("version", _version_problems)):
        for value in (attribute.get(field), *attribute[f"{field}s"]):
            value.check(problems).max_bytes(LONGEST_VALUE)
    found = [field for field, value in attribute.struct.items() if value is not None]
    if not found:
        attribute.invalid("exactly one value must be specified", "")
    elif len(found) > 1:
        shown = {go: attribute.struct.get(field) for go, field in _GO_FIELDS.items()}
        attribute.with_value(shown).invalid_go("exactly one value must be specified")


#: The fields of an attribute by their names in Go, in the order of their declaration.
_GO_FIELDS = {
    "IntValue": "int", "BoolValue": "bool", "StringValue": "string", "VersionValue": "version", "IntValues": "ints",
    "BoolValues": "bools", "StringValues": "strings", "VersionValues": "versions",
}  # fmt: skip


def _no_problems(text: str) -> list[str]:
    return []


def _version_problems(text: str) -> list[str]:
    return [] if _version.fullmatch(text) else ["must be a string compatible with semver.org spec 2.0.0"]


def _validate_taint(taint: Field) -> None:
    taint["key"].qualified_name()
    taint["value"].optional().label_value()
    taint["effect"].required().one_of(EFFECTS)


def _validate_counters(holder: Field, name: str) -> None:
    """Counters with the name of their set."""
    holder[name].required().dns_label()
    counters = holder["counters"].required().limited(MOST_COUNTERS)
    for counter in counters.struct:
        counters.with_value(counter).dns_label()


def slice_warnings(obj: Object) -> list[str]:
    driver = (obj.get("spec") or {}).get("driver") or ""
    if not since(35) or driver == driver.lower():
        return []
    return [f"spec.driver: driver names should be lowercase; {go_quote(driver)} contains uppercase characters"]


def _resource_slice(obj: Object, ages: Ages) -> list[Any]:
    return [
        name_of(obj),
        *(get(obj, f"spec.{field}", "") for field in ("nodeName", "driver", "pool.name")),
        age_of(obj, ages),
    ]


KIND = Kind(
    "resourceslices.resource.k8s.io",
    Strategy(
        fields_message="resource.k8s.io/v1, Kind=ResourceSlice",
        fields={"spec.nodeName": string_at("spec", "nodeName"), "spec.driver": string_at("spec", "driver")},
        returns_deleted=True,
        generation=("spec",),
        date=date_taints,
        drop_disabled=drop_disabled_fields,
        validate=validator(_validate_any),
        validate_update=update_validator(lambda new, old: _validate_any(new, old["spec"])),
        warnings=slice_warnings,
    ),
    printer=Printer(columns(NAME, "Node", "Driver", "Pool", AGE), _resource_slice),
)
