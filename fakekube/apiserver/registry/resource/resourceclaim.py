"""TODO"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.affinity import check_node_selector
from fakekube.apiserver.registry.core.pod.validation.volumes import check_csi_driver as check_driver
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
    going,
    joined,
    name_of,
)
from fakekube.apiserver.registry.generic.validation.conditions import check_conditions
from fakekube.apiserver.registry.generic.validation.content import Errors, check_dns_label, check_immutable
from fakekube.apiserver.registry.resource.devices import (
    MOST_CONFIGS,
    _check_claim,
    _check_config,
    _check_list,
    _check_pool_name,
    _check_request_ref,
    _check_request_refs,
    _check_set,
    _check_toleration,
    _request_names,
    validate_claim_update,
)
from fakekube.apiserver.wire.status import (
    FieldError,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
)

Object = dict[str, Any]


def _requests(claim: Object) -> Iterator[Object]:
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        if request.get("exactly") is not None:
            yield request["exactly"]
        yield from request.get("firstAvailable") or ()


def default_claim(obj: Object) -> None:
    """One device for each request; tolerations compare (`pkg/apis/resource/v1/defaults.go`)."""
    for request in _requests(obj):
        mode = request.get("allocationMode") or "ExactCount"
        request["allocationMode"] = mode
        if mode == "ExactCount" and not request.get("count"):
            request["count"] = 1
        for toleration in request.get("tolerations") or ():
            if not toleration.get("operator"):
                toleration["operator"] = "Equal"


MOST_RESULTS, MOST_CONSUMERS = 32, 256


SOURCES = ("FromClaim", "FromClass")


def validate_claim(claim: Object) -> list[FieldError]:
    errors: Errors = []
    _check_claim((claim.get("spec") or {}).get("devices") or {}, "spec.devices", errors)
    return errors


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


def _resource_claim(obj: Object, ages: Ages) -> list[Any]:
    states = ["deleted"] if going(obj) else []
    if get(obj, "status.allocation") is not None:
        states += ["allocated", *(["reserved"] if get(obj, "status.reservedFor") else [])]
    elif not states:
        states = ["pending"]
    return [name_of(obj), joined(states), age_of(obj, ages)]


KIND = Kind(
    "resourceclaims.resource.k8s.io",
    Strategy(
        returns_deleted=True,
        default=default_claim,
        validate=validate_claim,
        validate_update=validate_claim_update,
        validate_status_update=validate_claim_status,
    ),
    printer=Printer(columns(NAME, "State", AGE), _resource_claim),
)
