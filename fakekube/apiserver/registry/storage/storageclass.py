"""StorageClass: how volumes are provisioned (`ValidateStorageClass`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.apiserver.features import since
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata, validate_metadata_update
from fakekube.apiserver.registry.generic.validation.rules import update_validator, validator

Object = dict[str, Any]


def default_storage_class(obj: Object) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


RECLAIM_POLICIES = ("Delete", "Retain")

BINDING_MODES = ("Immediate", "WaitForFirstConsumer")

#: The most parameters of a class, and the most bytes of all of them.
MAX_PARAMETERS, MAX_PARAMETER_BYTES = 512, 256 * 1024


def validate(storage_class: Field) -> None:
    validate_provisioner(storage_class["provisioner"])
    validate_parameters(storage_class["parameters"])
    storage_class["reclaimPolicy"].optional().one_of(RECLAIM_POLICIES)
    storage_class["volumeBindingMode"].specified().one_of(BINDING_MODES)
    _validate_topologies(storage_class["allowedTopologies"])


def validate_update(new: Field, old: Field) -> None:
    validate_metadata(new)
    validate(new)
    validate_metadata_update(new, old)
    for field in ("parameters", "provisioner", "reclaimPolicy"):
        if since(36):
            new[field].immutable(old[field])
        elif new[field].value != old[field].value:
            new[field].forbidden(f"updates to {field} are forbidden.")
    new["volumeBindingMode"].immutable(old["volumeBindingMode"])


def validate_provisioner(name: Field) -> None:
    """The name of a driver, in any case of letters."""
    name.with_value(name.text.lower()).required().qualified_name()


def validate_parameters(parameters: Field, *, required: bool = False) -> None:
    values: Mapping[str, str] = parameters.value or {}
    if len(values) > MAX_PARAMETERS:
        parameters.too_long(MAX_PARAMETERS)
        return
    if "" in values:
        parameters.invalid("field can not be empty.", "")
    if sum(len(key.encode()) + len(value.encode()) for key, value in values.items()) > MAX_PARAMETER_BYTES:
        parameters.too_long(MAX_PARAMETER_BYTES)
    if required:
        parameters.required("must contain at least one key/value pair")


def _validate_topologies(topologies: Field) -> None:
    terms: list[dict[str, set[str]]] = [{} for _ in topologies]  # a term without expressions equals each of these
    for term in topologies:
        expressions, allowed, keys = term["matchLabelExpressions"], dict[str, set[str]](), set[str]()
        for requirement in expressions:
            values = set[str]()
            for value in requirement["values"].required():
                value.unique(values)
            requirement["key"].qualified_name().unique(keys)
            allowed[requirement["key"].text] = values
        for _ in range(terms.count(allowed)):
            expressions.duplicate("")
        terms.append(allowed)


_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _storage_class(obj: Object, ages: Ages) -> list[Any]:
    annotations = get(obj, "metadata.annotations", {})
    default = any(annotations.get(key) == "true" for key in _DEFAULT_CLASS)
    return [
        f"{name_of(obj)} (default)" if default else name_of(obj),
        obj.get("provisioner") or "",
        obj.get("reclaimPolicy") or "Delete",
        obj.get("volumeBindingMode") or "Immediate",
        bool(obj.get("allowVolumeExpansion")),
        age_of(obj, ages),
    ]


KIND = Kind(
    "storageclasses.storage.k8s.io",
    Strategy(
        default=default_storage_class,
        returns_deleted=True,
        repeats_metadata=False,
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(
        columns(NAME, "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", AGE), _storage_class
    ),
)
