"""TODO"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.core.pod.validation.volumes import check_csi_driver
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, integer, name_of
from fakekube.apiserver.registry.generic.validation import gostructs
from fakekube.apiserver.registry.generic.validation.content import (
    IMMUTABLE,
    Errors,
    check_nonnegative,
    check_qualified_name,
)
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import FieldError, field_duplicate, field_invalid, field_required

Object = dict[str, Any]

NODE_ID_LIMIT = 256


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


def _csi_node(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), len(get(obj, "spec.drivers", ())), age_of(obj, ages)]


KIND = Kind(
    "csinodes.storage.k8s.io",
    Strategy(
        returns_deleted=True,
        unconditional_update=False,
        repeats_metadata=False,
        validate=validate_csi_node,
        validate_update=validate_csi_node_update,
    ),
    printer=Printer(columns(NAME, integer("Drivers"), AGE), _csi_node),
)
