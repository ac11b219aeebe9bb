"""The parts that the bindings of both kinds of admission policy share."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver import names
from fakekube.apiserver.registry.admissionregistration.matching import validate_match_resources
from fakekube.apiserver.registry.admissionregistration.policies import default_match_resources
from fakekube.apiserver.registry.generic.table.ages import Ages
from fakekube.apiserver.registry.generic.table.columns import AGE, NAME, Printer, age_of, columns, get, name_of
from fakekube.apiserver.registry.generic.table.labels import selector_dump
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.labelselectors import validate_label_selector

Object = dict[str, Any]


def default_policy_binding(obj: Object) -> None:
    default_match_resources((obj.get("spec") or {}).get("matchResources"))


MISSING_PARAMETER_ACTIONS = ("Deny", "Allow")


def validate_binding(spec: Field) -> None:
    spec["policyName"].required().dns_subdomain()
    _validate_param_ref(spec.get("paramRef"))
    validate_match_resources(spec["matchResources"])


def _validate_param_ref(reference: Field) -> None:
    name, selector = reference["name"].optional(), reference["selector"]
    exclusive = "name and selector are mutually exclusive"
    name.check(names.path_segment_problems)
    if selector.value is not None:
        name.forbidden(exclusive)
        validate_label_selector(selector)
        if name:
            selector.forbidden(exclusive)
    elif not name:
        reference.missing("one of name or selector must be specified")
    reference["parameterNotFoundAction"].required().one_of(MISSING_PARAMETER_ACTIONS)


def _param_ref(obj: Object) -> str:
    reference = get(obj, "spec.paramRef", {})
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    selector = reference.get("selector")
    return "<unset>" if selector is None else selector_dump(selector)


def _policy_binding(obj: Object, ages: Ages) -> list[Any]:
    return [name_of(obj), get(obj, "spec.policyName", ""), _param_ref(obj), age_of(obj, ages)]


PRINTER = Printer(columns(NAME, "PolicyName", "ParamRef", AGE), _policy_binding)
