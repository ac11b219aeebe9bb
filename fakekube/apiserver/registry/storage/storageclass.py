"""TODO"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import (
    Errors,
    add,
    check_immutable,
    check_qualified_name,
    qualified_name_problems,
)
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_invalid,
    field_not_supported,
    field_required,
    field_too_long,
)

Object = dict[str, Any]


def default_storage_class(obj: Object) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


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
        validate=validate_storage_class,
        validate_update=validate_storage_class_update,
    ),
    printer=Printer(
        columns(NAME, "Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", AGE), _storage_class
    ),
)
