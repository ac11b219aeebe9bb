"""Devices that are asked for, classes of them, and those that drivers offer (`resource/validation`).

Expressions that select devices are not compiled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.core.pod.validation.affinity import check_node_selector
from fakekube.apiserver.registry.core.pod.validation.volumes import check_csi_driver as check_driver
from fakekube.apiserver.registry.core.resourcenames import is_extended
from fakekube.apiserver.registry.generic.validation.conditions import check_conditions
from fakekube.apiserver.registry.generic.validation.content import (
    Errors,
    add,
    check_dns_label,
    check_dns_subdomain,
    check_immutable,
)
from fakekube.apiserver.registry.generic.validation.gostructs import without_value
from fakekube.apiserver.registry.generic.validation.labelselectors import check_label_name, value_problems
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_long,
    field_too_many,
)

Object = dict[str, Any]
CheckItem = Callable[[Any, str, Errors], None]

MOST_REQUESTS, MOST_CONSTRAINTS, MOST_CONFIGS = 32, 32, 32
MOST_SELECTORS, MOST_ALTERNATIVES = 32, 8
MOST_RESULTS, MOST_CONSUMERS = 32, 256
MOST_DEVICES, MOST_ADVANCED_DEVICES = 128, 64
MOST_ATTRIBUTES, MOST_VALUES, MOST_TAINTS = 32, 48, 16
MOST_COUNTER_SETS, MOST_COUNTERS, MOST_CONSUMPTIONS = 8, 32, 2
LONGEST_PARAMETERS = LONGEST_EXPRESSION = 10 * 1024
LONGEST_NAME, LONGEST_VALUE, LONGEST_POOL = 32, 64, 253
MODES = ("All", "ExactCount")
EFFECTS = ("NoExecute", "NoSchedule")
OPERATORS = ("Equal", "Exists")
SOURCES = ("FromClaim", "FromClass")
#: Where a slice's devices can be used: just one of these is set.
PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")

_identifier = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER, _BUILD = r"(0|[1-9]\d*)", r"[0-9a-zA-Z-]+"
_PRERELEASE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_version = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)
IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')"
)


def _check_list(items: Sequence[Any], most: int, check: CheckItem, path: str, errors: Errors) -> None:
    """Too many are not looked at."""
    if len(items) > most:
        errors.append(field_too_many(path, len(items), most))
        return
    for i, item in enumerate(items):
        check(item, f"{path}[{i}]", errors)


def _check_set(
    items: Sequence[Any], most: int, check: CheckItem, key: Callable[[Any], Hashable], path: str, errors: Errors
) -> None:
    _check_list(items, most, check, path, errors)
    seen: set[Hashable] = set()
    for i, item in enumerate(items if len(items) <= most else ()):
        if key(item) in seen:
            errors.append(field_duplicate(f"{path}[{i}]", key(item)))
        seen.add(key(item))


def _itself(item: str) -> str:
    return item


def _named(item: Object) -> str:
    return item.get("name") or ""


# --- what is asked for -----------------------------------------------------------------------------------------------


def validate_claim(claim: Object) -> list[FieldError]:
    errors: Errors = []
    _check_claim((claim.get("spec") or {}).get("devices") or {}, "spec.devices", errors)
    return errors


def validate_claim_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    check_immutable(new.get("spec"), old.get("spec"), "spec", errors)
    return errors


def validate_template(template: Object) -> list[FieldError]:
    errors: Errors = []
    spec = (template.get("spec") or {}).get("spec") or {}
    _check_claim(spec.get("devices") or {}, "spec.spec.devices", errors)
    return errors


validate_template_update = validate_claim_update


def _request_names(devices: Object) -> dict[str, set[str]]:
    """Requests, and the alternatives of each."""
    return {
        _named(one): {_named(sub) for sub in one.get("firstAvailable") or ()} for one in devices.get("requests") or ()
    }


def _check_claim(devices: Object, path: str, errors: Errors) -> None:
    known = _request_names(devices)

    def check_constraint(constraint: Object, path: str, errors: Errors) -> None:
        _check_request_refs(constraint.get("requests") or [], known, f"{path}.requests", errors)
        for field in ("matchAttribute", "distinctAttribute"):
            if constraint.get(field) is not None:
                _check_full_name(constraint[field], f"{path}.{field}", errors)
                return
        why = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        errors.append(field_required(path, why))

    def check_config(config: Object, path: str, errors: Errors) -> None:
        _check_request_refs(config.get("requests") or [], known, f"{path}.requests", errors)
        _check_config(config, path, errors)

    _check_set(devices.get("requests") or [], MOST_REQUESTS, _check_request, _named, f"{path}.requests", errors)
    _check_list(devices.get("constraints") or [], MOST_CONSTRAINTS, check_constraint, f"{path}.constraints", errors)
    _check_list(devices.get("config") or [], MOST_CONFIGS, check_config, f"{path}.config", errors)


def _check_request(request: Object, path: str, errors: Errors) -> None:
    check_dns_label(_named(request), f"{path}.name", errors)
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    which = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is None and not alternatives:
        errors.append(field_required(path, which))
    elif exactly is not None and alternatives:
        errors.append(field_invalid(path, None, f"{which}, but multiple fields are set"))
    elif alternatives:
        here = f"{path}.firstAvailable"
        _check_set(alternatives, MOST_ALTERNATIVES, _check_alternative, _named, here, errors)
    else:
        _check_exact(exactly or {}, f"{path}.exactly", errors)


def _check_alternative(request: Object, path: str, errors: Errors) -> None:
    check_dns_label(_named(request), f"{path}.name", errors)
    _check_exact(request, path, errors)


def _check_exact(request: Object, path: str, errors: Errors) -> None:
    name = request.get("deviceClassName") or ""
    if name:
        check_dns_subdomain(name, f"{path}.deviceClassName", errors)
    else:
        errors.append(field_required(f"{path}.deviceClassName"))
    _check_list(request.get("selectors") or [], MOST_SELECTORS, _check_selector, f"{path}.selectors", errors)
    mode, count = request.get("allocationMode") or "", request.get("count") or 0
    if mode not in MODES:
        errors.append(field_not_supported(f"{path}.allocationMode", mode, MODES))
    elif mode == "All" and count:
        why = "must not be specified when allocationMode is 'All'"
        errors.append(field_invalid(f"{path}.count", count, why))
    elif mode == "ExactCount" and count <= 0:
        errors.append(field_invalid(f"{path}.count", count, "must be greater than zero"))
    for i, toleration in enumerate(request.get("tolerations") or ()):
        _check_toleration(toleration, f"{path}.tolerations[{i}]", errors)


def _check_selector(selector: Object, path: str, errors: Errors) -> None:
    expression = selector.get("cel")
    if expression is None:
        errors.append(field_required(f"{path}.cel"))
    elif len((expression.get("expression") or "").encode()) > LONGEST_EXPRESSION:
        errors.append(field_too_long(f"{path}.cel.expression", LONGEST_EXPRESSION))


def _check_toleration(toleration: Object, path: str, errors: Errors) -> None:
    if toleration.get("key"):
        check_label_name(toleration["key"], f"{path}.key", errors)
    operator, value = toleration.get("operator") or "", toleration.get("value") or ""
    if operator == "Exists" and value:
        errors.append(field_invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        add(errors, f"{path}.value", value, value_problems(value))
    elif not operator:
        errors.append(field_required(f"{path}.operator"))
    elif operator not in OPERATORS:
        errors.append(field_not_supported(f"{path}.operator", operator, OPERATORS))
    effect = toleration.get("effect") or ""
    if effect and effect not in EFFECTS:
        errors.append(field_not_supported(f"{path}.effect", effect, EFFECTS))


def _check_request_refs(refs: list[str], known: Mapping[str, set[str]], path: str, errors: Errors) -> None:
    def check(ref: str, path: str, errors: Errors) -> None:
        _check_request_ref(ref, known, path, errors)

    _check_set(refs, MOST_REQUESTS, check, _itself, path, errors)


def _check_request_ref(ref: str, known: Mapping[str, set[str]], path: str, errors: Errors) -> None:
    parts = ref.split("/")
    why = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
    if len(parts) <= 2:
        for part in parts:
            check_dns_label(part, path, errors)
    if len(parts) > 2 or parts[0] not in known or (len(parts) == 2 and parts[1] not in known[parts[0]]):
        errors.append(field_invalid(path, ref, why))


def _check_config(config: Object, path: str, errors: Errors) -> None:
    opaque = config.get("opaque")
    if opaque is None:
        errors.append(field_required(f"{path}.opaque"))
        return
    check_driver(opaque.get("driver") or "", f"{path}.opaque.driver", errors)
    _check_parameters(opaque.get("parameters"), f"{path}.opaque.parameters", errors)


def _check_parameters(parameters: Any, path: str, errors: Errors) -> None:
    if parameters is None:
        errors.append(field_required(path))
    elif len(json.dumps(parameters, separators=(",", ":"), ensure_ascii=False).encode()) > LONGEST_PARAMETERS:
        errors.append(field_too_long(path, LONGEST_PARAMETERS))
    elif not isinstance(parameters, dict):
        errors.append(field_invalid(path, "<value omitted>", "must be a valid JSON object"))


# --- what is given out -----------------------------------------------------------------------------------------------


def validate_claim_status(new: Object, old: Object) -> list[FieldError]:
    status, before = new.get("status") or {}, old.get("status") or {}
    known = _request_names((new.get("spec") or {}).get("devices") or {})
    errors: Errors = []
    consumers, allocation = status.get("reservedFor") or [], status.get("allocation")
    _check_set(consumers, MOST_CONSUMERS, _check_consumer, lambda one: one.get("uid"), "status.reservedFor", errors)
    _check_device_states(status.get("devices") or [], allocation, errors)
    if consumers and allocation is None:
        why = "may not be specified when `allocated` is not set"
        errors.append(field_forbidden("status.reservedFor", why))
    elif new["metadata"].get("deletionTimestamp") and any(
        one not in (before.get("reservedFor") or ()) for one in consumers
    ):
        why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.append(field_forbidden("status.reservedFor", why))
    if allocation is not None and before.get("allocation") is not None:
        check_immutable(allocation, before["allocation"], "status.allocation", errors)
    elif allocation is not None:
        _check_allocation(allocation, known, "status.allocation", errors)
    return errors


def _check_consumer(consumer: Object, path: str, errors: Errors) -> None:
    for field in ("resource", "name", "uid"):
        if not consumer.get(field):
            errors.append(field_required(f"{path}.{field}"))


def _device_id(device: Object) -> tuple[str, ...]:
    return tuple(device.get(field) or "" for field in ("driver", "pool", "device", "shareID"))


def _check_device_states(devices: Sequence[Object], allocation: Object | None, errors: Errors) -> None:
    results = ((allocation or {}).get("devices") or {}).get("results") or ()
    allocated = {_device_id(one) for one in results}
    for i, device in enumerate(devices):
        path = f"status.devices[{i}]"
        check_driver(device.get("driver") or "", f"{path}.driver", errors)
        _check_pool_name(device.get("pool") or "", f"{path}.pool", errors)
        check_dns_label(device.get("device") or "", f"{path}.device", errors)
        if _device_id(device) not in allocated:
            shown = "/".join(part for part in _device_id(device) if part)
            errors.append(field_invalid(path, shown, "must be an allocated device in the claim"))
        check_conditions(device.get("conditions") or (), f"{path}.conditions", errors)


def _check_allocation(allocation: Object, known: Mapping[str, set[str]], path: str, errors: Errors) -> None:
    devices = allocation.get("devices") or {}

    def check_result(result: Object, path: str, errors: Errors) -> None:
        _check_request_ref(result.get("request") or "", known, f"{path}.request", errors)
        check_driver(result.get("driver") or "", f"{path}.driver", errors)
        _check_pool_name(result.get("pool") or "", f"{path}.pool", errors)
        check_dns_label(result.get("device") or "", f"{path}.device", errors)
        for i, toleration in enumerate(result.get("tolerations") or ()):
            _check_toleration(toleration, f"{path}.tolerations[{i}]", errors)

    def check_config(config: Object, path: str, errors: Errors) -> None:
        source = config.get("source") or ""
        if not source:
            errors.append(field_required(f"{path}.source"))
        elif source not in SOURCES:
            errors.append(field_not_supported(f"{path}.source", source, SOURCES))
        _check_request_refs(config.get("requests") or [], known, f"{path}.requests", errors)
        _check_config(config, path, errors)

    _check_list(devices.get("results") or [], MOST_RESULTS, check_result, f"{path}.devices.results", errors)
    _check_list(devices.get("config") or [], 2 * MOST_CONFIGS, check_config, f"{path}.devices.config", errors)
    if allocation.get("nodeSelector") is not None:
        check_node_selector(allocation["nodeSelector"], f"{path}.nodeSelector", errors, any_values=False)


# --- classes ---------------------------------------------------------------------------------------------------------


def validate_class(obj: Object) -> list[FieldError]:
    spec = obj.get("spec") or {}
    errors: Errors = []
    _check_list(spec.get("selectors") or [], MOST_SELECTORS, _check_selector, "spec.selectors", errors)
    _check_list(spec.get("config") or [], MOST_CONFIGS, _check_config, "spec.config", errors)
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended(name):
        why = "must be a valid extended resource name"
        errors.append(field_invalid("spec.extendedResourceName", name, why))
    return errors


def validate_class_update(new: Object, old: Object) -> list[FieldError]:
    return validate_class(new)


# --- what drivers offer ----------------------------------------------------------------------------------------------


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


def _check_pool_name(name: str, path: str, errors: Errors) -> None:
    if not name:
        errors.append(field_required(path))
        return
    if len(name) > LONGEST_POOL:
        errors.append(field_too_long(path, LONGEST_POOL))
    for part in name.split("/"):
        check_dns_subdomain(part, path, errors)


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


def _check_name(name: str, path: str, errors: Errors) -> None:
    """An identifier, with the domain of its driver before it or not."""
    parts = name.split("/")
    if len(parts) > 2:
        return
    if len(parts) == 2 and parts[0]:
        check_driver(parts[0], path, errors)
    elif len(parts) == 2:
        errors.append(field_invalid(path, "", "the domain must not be empty"))
    if len(parts) == 2 and not parts[1]:
        errors.append(field_invalid(path, "", "the name must not be empty"))
        return
    if len(parts[-1]) > LONGEST_NAME:
        errors.append(field_too_long(path, LONGEST_NAME))
    if not _identifier.fullmatch(parts[-1]):
        errors.append(field_invalid(path, parts[-1], IDENTIFIER))


def _check_full_name(name: str, path: str, errors: Errors) -> None:
    _check_name(name, path, errors)
    if "/" not in name:
        why = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(field_invalid(path, name, why))
