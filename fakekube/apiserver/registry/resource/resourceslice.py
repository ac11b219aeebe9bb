"""TODO"""

from __future__ import annotations

import re
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.affinity import check_node_selector
from fakekube.apiserver.registry.core.pod.validation.volumes import check_csi_driver as check_driver
from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import Errors, add, check_dns_label, check_immutable
from fakekube.apiserver.registry.generic.validation.gostructs import without_value
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_name, value_problems
from fakekube.apiserver.registry.resource.devices import (
    EFFECTS,
    LONGEST_VALUE,
    _check_list,
    _check_name,
    _check_pool_name,
    _check_set,
    _named,
)
from fakekube.apiserver.wire.status import (
    FieldError,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_long,
    field_too_many,
)

Object = dict[str, Any]

MOST_DEVICES, MOST_ADVANCED_DEVICES = 128, 64


MOST_ATTRIBUTES, MOST_VALUES, MOST_TAINTS = 32, 48, 16


MOST_COUNTER_SETS, MOST_COUNTERS, MOST_CONSUMPTIONS = 8, 32, 2


#: Where a slice's devices can be used: just one of these is set.
PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


_NUMBER, _BUILD = r"(0|[1-9]\d*)", r"[0-9a-zA-Z-]+"


_PRERELEASE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"


_version = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)


def validate_slice(obj: Object) -> list[FieldError]:
    return _slice_errors(obj.get("spec") or {}, None)


def validate_slice_update(new: Object, old: Object) -> list[FieldError]:
    return _slice_errors(new.get("spec") or {}, old.get("spec") or {})


def _slice_errors(spec: Object, old: Object | None) -> list[FieldError]:
    errors: Errors = []
    check_driver(spec.get("driver") or "", "spec.driver", errors)
    pool = spec.get("pool") or {}
    _check_pool(pool, "spec.pool", errors)
    if old is not None:
        check_immutable(pool.get("name"), (old.get("pool") or {}).get("name"), "spec.pool.name", errors)
        for field in ("driver", "nodeName"):
            check_immutable(spec.get(field), old.get(field), f"spec.{field}", errors)
    _check_slice_place(spec, errors)
    counters, devices = spec.get("sharedCounters"), spec.get("devices")
    if counters is not None and devices is not None:
        errors.append(field_invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed"))
    before = {_named(one): one for one in (old or {}).get("devices") or ()}

    def check_device(device: Object, path: str, errors: Errors) -> None:
        _check_device(device, before.get(_named(device)), path, errors, chosen=bool(spec.get("perDeviceNodeSelection")))

    most = MOST_ADVANCED_DEVICES if any(map(_is_advanced, devices or ())) else MOST_DEVICES
    _check_set(devices or [], most, check_device, _named, "spec.devices", errors)
    _check_set(counters or [], MOST_COUNTER_SETS, _check_counter_set, _named, "spec.sharedCounters", errors)
    return errors


def _is_advanced(device: Object) -> bool:
    lists = ("bools", "ints", "strings", "versions")
    attributes = (device.get("attributes") or {}).values()
    return bool(device.get("taints") or device.get("consumesCounters")) or any(
        one.get(field) is not None for one in attributes for field in lists
    )


def _check_pool(pool: Object, path: str, errors: Errors) -> None:
    _check_pool_name(_named(pool), f"{path}.name", errors)
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        errors.append(field_invalid(f"{path}.resourceSliceCount", count, "must be greater than zero"))
    if generation < 0:
        errors.append(field_invalid(f"{path}.generation", generation, "must be greater than or equal to zero"))


def _check_place(spec: Object, path: str, errors: Errors, *, empty_name: str) -> list[str]:
    """Which of the places are set."""
    found, name, selector = [], spec.get("nodeName"), spec.get("nodeSelector")
    if name:
        found.append("nodeName")
        add(errors, f"{path}.nodeName", name, names.dns_subdomain_problems(name))
    elif name is not None:
        errors.append(field_invalid(f"{path}.nodeName", name, empty_name))
    if selector is not None:
        found.append("nodeSelector")
        check_node_selector(selector, f"{path}.nodeSelector", errors, any_values=False)
    for field in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(field):
            found.append(field)
        elif spec.get(field) is not None:
            errors.append(field_invalid(f"{path}.{field}", False, "must be either unset or set to true"))
    return found


def _check_slice_place(spec: Object, errors: Errors) -> None:
    found = _check_place(spec, "spec", errors, empty_name="must be either unset or set to a non-empty string")
    terms = (spec.get("nodeSelector") or {}).get("nodeSelectorTerms") or []
    if spec.get("nodeSelector") is not None and len(terms) != 1:
        where = "spec.nodeSelector.nodeSelectorTerms"
        errors.append(field_invalid(where, terms, "must have exactly one node selector term"))
    why = f"exactly one of {', '.join(f'`{place}`' for place in PLACES)} is required"
    if not found:
        errors.append(field_required("spec", why))
    elif len(found) > 1:
        shown = "{" + ", ".join(f"`{place}`" for place in found) + "}"
        errors.append(field_invalid("spec", shown, f"{why}, but multiple fields are set"))


def _check_device(device: Object, old: Object | None, path: str, errors: Errors, *, chosen: bool) -> None:
    check_dns_label(_named(device), f"{path}.name", errors)
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    if len(attributes) + len(capacity) > MOST_ATTRIBUTES:
        why = f"the total number of attributes and capacities must not exceed {MOST_ATTRIBUTES}"
        errors.append(field_invalid(path, len(attributes) + len(capacity), why))
    values = sum(map(_values_of, attributes.values()))
    if values > MOST_VALUES:
        why = f"the total number of attribute values must not exceed {MOST_VALUES}"
        errors.append(field_invalid(path, values, why))
    for name, attribute in attributes.items():
        _check_name(name, f"{path}.attributes", errors)
        _check_attribute(attribute, f"{path}.attributes[{name}]", errors)
    if old is None or (old.get("capacity") or {}) != capacity:
        for name, one in capacity.items():
            _check_name(name, f"{path}.capacity", errors)
            if one.get("requestPolicy") is not None and not device.get("allowMultipleAllocations"):
                where = f"{path}.capacity[{name}].requestPolicy"
                errors.append(field_forbidden(where, "allowMultipleAllocations must be true"))
    if old is None or old.get("taints") != device.get("taints"):
        _check_list(device.get("taints") or [], MOST_TAINTS, _check_taint, f"{path}.taints", errors)
    consumed, key = device.get("consumesCounters") or [], lambda one: one.get("counterSet")
    _check_set(consumed, MOST_CONSUMPTIONS, _check_consumption, key, f"{path}.consumesCounters", errors)
    _check_device_place(device, path, errors, chosen=chosen)


def _check_device_place(device: Object, path: str, errors: Errors, *, chosen: bool) -> None:
    places = ("nodeName", "nodeSelector", "allNodes")
    if not chosen:
        if any(device.get(place) is not None for place in places):
            why = (
                "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true "
                "in the ResourceSlice spec"
            )
            errors.append(field_invalid(path, None, why))
        return
    own = {place: device[place] for place in places if place in device}
    found = _check_place(own, path, errors, empty_name="must not be empty")
    why = (
        "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to "
        "true in the ResourceSlice spec"
    )
    if not found:
        errors.append(field_required(path, why))
    elif len(found) > 1:
        errors.append(field_invalid(path, "{" + ", ".join(f"`{place}`" for place in found) + "}", why))


def _values_of(attribute: Object) -> int:
    lists = sum(len(attribute.get(field) or ()) for field in ("bools", "ints", "strings", "versions"))
    return lists or 1


def _check_attribute(attribute: Object, path: str, errors: Errors) -> None:
    for field, check in (("string", _check_text), ("version", _check_version)):
        if attribute.get(field) is not None:
            check(attribute[field], f"{path}.{field}", errors)
        for i, item in enumerate(attribute.get(f"{field}s") or ()):
            check(item, f"{path}.{field}s[{i}]", errors)
    found = [field for field, value in attribute.items() if value is not None]
    if not found:
        errors.append(field_invalid(path, "", "exactly one value must be specified"))
    elif len(found) > 1:
        errors.append(without_value(path, "exactly one value must be specified"))


def _check_text(text: str, path: str, errors: Errors) -> None:
    if len(text.encode()) > LONGEST_VALUE:
        errors.append(field_too_long(path, LONGEST_VALUE))


def _check_version(text: str, path: str, errors: Errors) -> None:
    if not _version.fullmatch(text):
        errors.append(field_invalid(path, text, "must be a string compatible with semver.org spec 2.0.0"))
    _check_text(text, path, errors)


def _check_taint(taint: Object, path: str, errors: Errors) -> None:
    check_label_name(taint.get("key") or "", f"{path}.key", errors)
    if taint.get("value"):
        add(errors, f"{path}.value", taint["value"], value_problems(taint["value"]))
    effect = taint.get("effect") or ""
    if not effect:
        errors.append(field_required(f"{path}.effect"))
    elif effect not in EFFECTS:
        errors.append(field_not_supported(f"{path}.effect", effect, EFFECTS))


def _check_consumption(consumption: Object, path: str, errors: Errors) -> None:
    _check_counters(consumption.get("counterSet") or "", "counterSet", consumption, path, errors)


def _check_counter_set(counters: Object, path: str, errors: Errors) -> None:
    _check_counters(_named(counters), "name", counters, path, errors)


def _check_counters(name: str, field: str, holder: Object, path: str, errors: Errors) -> None:
    if name:
        check_dns_label(name, f"{path}.{field}", errors)
    else:
        errors.append(field_required(f"{path}.{field}"))
    counters, here = holder.get("counters") or {}, f"{path}.counters"
    if not counters:
        errors.append(field_required(here))
    elif len(counters) > MOST_COUNTERS:
        errors.append(field_too_many(here, len(counters), MOST_COUNTERS))
    else:
        for counter in counters:
            check_dns_label(counter, here, errors)


def _resource_slice(obj: Object, ages: Ages) -> list[Any]:
    return [
        name_of(obj),
        *(get(obj, f"spec.{field}", "") for field in ("nodeName", "driver", "pool.name")),
        age_of(obj, ages),
    ]


KIND = Kind(
    "resourceslices.resource.k8s.io",
    Strategy(
        returns_deleted=True,
        generation=("spec",),
        validate=validate_slice,
        validate_update=validate_slice_update,
    ),
    printer=Printer(columns(NAME, "Node", "Driver", "Pool", AGE), _resource_slice),
)
