"""The selectors that an access review names (`authorization/validation`, `registry/authorization/util`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import validate_requirement
from fakekube.apiserver.wire.selectors import FieldTerm, parse_fields, parse_labels
from fakekube.apiserver.wire.status import FieldError, StatusError

Object = dict[str, Any]

LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
EQUALITIES = ("In", "NotIn")


def errors_of(attributes: Object) -> list[FieldError]:
    """The errors of both selectors. An unknown operator is none: a newer client may know it."""
    root = Field({"spec": {"resourceAttributes": attributes}})
    given = root["spec"]["resourceAttributes"]
    for name, validate in (("fieldSelector", _validate_field), ("labelSelector", _validate_label)):
        selector = given[name]
        if selector.value is None:
            continue
        requirements = selector["requirements"]
        if selector["rawSelector"] and requirements:
            selector["rawSelector"].invalid("may not specified at the same time as requirements")
        if not selector["rawSelector"] and not requirements:
            requirements.missing(f"when {selector.path} is specified, requirements or rawSelector is required")
        for requirement in requirements:
            validate(requirement)
    return root.errors


def _validate_label(requirement: Field) -> None:
    validate_requirement(requirement, any_values=False, any_operator=True)


def _validate_field(requirement: Field) -> None:
    values = requirement["values"]
    match requirement["operator"].value:
        case "In" | "NotIn":
            values.required("must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            values.optional().forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    requirement["key"].required("must be specified")


def field_terms(attributes: Object) -> tuple[FieldTerm, ...]:
    """The terms of the field selector that authorizers may require, without those that they do not know."""
    selector = attributes.get("fieldSelector") or {}
    if selector.get("rawSelector"):
        try:
            return parse_fields(selector["rawSelector"]).terms
        except StatusError:
            return ()
    return tuple(
        FieldTerm(one.get("key", ""), one["operator"] == "In", one["values"][0])
        for one in selector.get("requirements") or ()
        if _is_term(one)
    )


def _is_term(requirement: Object) -> bool:
    """Field selectors are equalities with one value."""
    return requirement.get("operator") in EQUALITIES and len(requirement.get("values") or ()) == 1


def _is_label_requirement(requirement: Object) -> bool:
    return requirement.get("operator") in LABEL_OPERATORS


_KINDS: tuple[tuple[str, Callable[[str], object], Callable[[Object], bool]], ...] = (
    ("fieldSelector", parse_fields, _is_term),
    ("labelSelector", parse_labels, _is_label_requirement),
)


def problems_of(attributes: Object) -> list[str]:
    """What the authorizer does not see of the selectors, since it cannot be parsed (`BuildEvaluationError`)."""
    found = []
    for name, parse, known in _KINDS:
        selector = attributes.get(name) or {}
        requirements = selector.get("requirements") or ()
        usable = [known(one) for one in requirements]
        try:
            parse(selector.get("rawSelector") or "")
        except StatusError:
            usable.append(False)
        if not all(usable):
            partially = "partially " if any(usable) else ""
            found.append(f"spec.resourceAttributes.{name} {partially}ignored due to parse error")
    return found
