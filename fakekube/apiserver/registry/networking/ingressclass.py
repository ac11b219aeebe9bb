"""TODO"""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.generic import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.content import (
    Errors,
    add,
    check_dns_label,
    check_dns_subdomain,
    check_domain_prefixed_path,
    check_immutable,
)
from fakekube.apiserver.registry.generic.validation.metadata import check_again
from fakekube.apiserver.wire.status import (
    FieldError,
    field_forbidden,
    field_not_supported,
    field_required,
    field_too_long,
)

Object = dict[str, Any]


def default_ingress_class(obj: Object) -> None:
    parameters = (obj.get("spec") or {}).get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


SCOPES = ("Cluster", "Namespace")


CONTROLLER_LIMIT = 250


def check_path_segment(value: str, path: str, errors: Errors) -> None:
    add(errors, path, value, names.path_segment_problems(value))


def check_typed_reference(reference: Object, path: str, errors: Errors) -> None:
    """An object of any kind in the same namespace."""
    if reference.get("apiGroup") is not None:
        check_dns_subdomain(reference["apiGroup"], f"{path}.apiGroup", errors)
    for field in ("kind", "name"):
        if reference.get(field):
            check_path_segment(reference[field], f"{path}.{field}", errors)
        else:
            errors.append(field_required(f"{path}.{field}"))


def validate_ingress_class(obj: Object) -> list[FieldError]:
    errors: Errors = []
    _check_class(obj.get("spec") or {}, errors)
    return errors


def validate_ingress_class_update(new: Object, old: Object) -> list[FieldError]:
    errors: Errors = []
    after, before = new.get("spec") or {}, old.get("spec") or {}
    check_immutable(after.get("controller", ""), before.get("controller", ""), "spec.controller", errors)
    check_again(new, errors)
    _check_class(after, errors)
    return errors


def _check_class(spec: Object, errors: Errors) -> None:
    path, controller = "spec.controller", spec.get("controller") or ""
    if len(controller) > CONTROLLER_LIMIT:
        errors.append(field_too_long(path, CONTROLLER_LIMIT))
    check_domain_prefixed_path(controller, path, errors)
    if spec.get("parameters") is not None:
        _check_parameters(spec["parameters"], "spec.parameters", errors)


def _check_parameters(parameters: Object, path: str, errors: Errors) -> None:
    check_typed_reference(parameters, path, errors)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if not scope:
        errors.append(field_required(f"{path}.scope"))
    elif scope not in SCOPES:
        errors.append(field_not_supported(f"{path}.scope", scope, SCOPES))
    elif scope == "Cluster":
        if namespace is not None:
            errors.append(field_forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    elif namespace is None:
        errors.append(field_required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    else:
        check_dns_label(namespace, f"{path}.namespace", errors)


def _ingress_class(obj: Object, ages: Ages) -> list[Any]:
    parameters, shown = get(obj, "spec.parameters"), "<none>"
    if parameters is not None:
        group = parameters.get("apiGroup")
        kind = parameters.get("kind") or ""
        shown = f"{kind if group is None else f'{kind}.{group}'}/{parameters.get('name') or ''}"
    return [name_of(obj), get(obj, "spec.controller", ""), shown, age_of(obj, ages)]


KIND = Kind(
    "ingressclasses.networking.k8s.io",
    Strategy(
        default=default_ingress_class,
        generation=("spec",),
        validate=validate_ingress_class,
        validate_update=validate_ingress_class_update,
    ),
    printer=Printer(columns(NAME, "Controller", "Parameters", AGE), _ingress_class),
)
