"""CSINode: the CSI drivers on a node (`ValidateCSINode`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.features import enabled
from fakekube.apiserver.registry.core.pod.validation.volumes import validate_csi_driver_name
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, integer, name_of
from fakekube.apiserver.registry.generic.validation.content import IMMUTABLE
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]

NODE_ID_LIMIT = 256


def validate(node: Field) -> None:
    names: set[str] = set()
    for driver in node["spec"]["drivers"]:
        validate_csi_driver_name(driver["name"])
        node_id = driver["nodeID"]
        node_id.required()
        if len(node_id.text) > NODE_ID_LIMIT:
            node_id.invalid(f"must be {NODE_ID_LIMIT} characters or less")
        driver["allocatable"]["count"].non_negative()
        driver["name"].unique(names)
        keys: set[str] = set()
        for key in driver["topologyKeys"]:
            if not key:
                driver.missing()
            driver.with_value(key.value).unique(keys).qualified_name()


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new)
    validate(new)
    drivers = new["spec"]["drivers"]
    for before in old["spec"]["drivers"]:
        for driver in drivers:
            if driver["name"].value == before["name"].value and _fixed(driver.value) != _fixed(before.value):
                drivers.with_value(_fixed(driver.value)).invalid_go(IMMUTABLE)


def _fixed(driver: Object) -> Object:
    """The fields of a driver that do not change, as Go shows them."""
    return {
        "Name": driver.get("name", ""),
        "NodeID": driver.get("nodeID", ""),
        "TopologyKeys": driver.get("topologyKeys"),
        "Allocatable": None if enabled("MutableCSINodeAllocatableCount") else _allocatable(driver.get("allocatable")),
    }


def _allocatable(found: Object | None) -> Object | None:
    return None if found is None else {"Count": found.get("count")}


def _csi_node(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), len(get(obj, "spec.drivers", ())), age_of(obj, ages)]


KIND = Kind(
    "csinodes.storage.k8s.io",
    Strategy(
        returns_deleted=True,
        unconditional_update=False,
        repeats_metadata=False,
        validate=validator(validate),
        as_new_before=36,
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(columns(NAME, integer("Drivers"), AGE), _csi_node),
)
