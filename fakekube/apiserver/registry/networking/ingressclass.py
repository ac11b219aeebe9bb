"""IngressClass (`ValidateIngressClass`)."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.generic.kind import Kind
from fakekube.apiserver.registry.generic.strategy import Strategy
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.metadata import validate_metadata
from fakekube.apiserver.registry.generic.validation.rules import domain_prefixed_path, update_validator, validator

Object = dict[str, Any]

SCOPES = ("Cluster", "Namespace")

CONTROLLER_LIMIT = 250


def default_ingress_class(obj: Object) -> None:
    parameters = (obj.get("spec") or {}).get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def validate(ingress_class: Field) -> None:
    spec = ingress_class["spec"]
    parameters = spec.get("parameters")
    domain_prefixed_path(spec["controller"].max_bytes(CONTROLLER_LIMIT))
    validate_typed_reference(parameters)
    scope, namespace = parameters["scope"].required().one_of(SCOPES), parameters["namespace"]
    if scope.value == "Cluster":
        parameters.get("namespace").forbidden("`parameters.scope` is set to 'Cluster'")
    elif scope.value == "Namespace":
        namespace.specified("`parameters.scope` is set to 'Namespace'").dns_label()


def validate_update(new: Field, old: Field) -> None:
    new["spec"]["controller"].immutable_text(old["spec"]["controller"])
    validate_metadata(new)
    validate(new)


def validate_typed_reference(reference: Field) -> None:
    """An object of any kind in the same namespace."""
    reference.get("apiGroup").dns_subdomain()
    for field in ("kind", "name"):
        reference[field].required().check(names.path_segment_problems)


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
        validate=validator(validate),
        validate_update=update_validator(validate_update),
    ),
    printer=Printer(columns(NAME, "Controller", "Parameters", AGE), _ingress_class),
)
