"""Validates the resources that containers and pods request and limit (`validateResourceRequirements`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from fakekube.apiserver.registry.core.resourcenames import (
    COMPUTE,
    HUGE_PAGES,
    Quantities,
    allows_overcommit,
    check_quantity,
    is_divisible,
    is_supported_of_pods,
    name_problems,
    number_of,
)
from fakekube.apiserver.registry.generic.validation.content import Errors, check_dns_label
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.wire.status import (
    FieldError,
    field_duplicate,
    field_forbidden,
    field_invalid,
    field_not_supported,
    field_required,
    quoted,
)

Object = dict[str, Any]


def check_pod_resource(name: str, path: str, errors: Errors) -> None:
    problems = name_problems(name)
    for problem in problems:
        errors.append(field_invalid(path, name, problem))
    if not problems and not is_supported_of_pods(name):
        errors.append(field_not_supported(path, name, ("cpu", HUGE_PAGES, "memory")))


@dataclass(frozen=True, slots=True)
class Rules:
    """What requirements are checked by: how a resource's name is, the claims that the pod has, and whether huge
    pages must come in whole pages."""

    check_name: Callable[[str, str, Errors], None]
    claims: tuple[str, ...] = ()
    whole_pages: bool = True


def check_requirements(requirements: Object, path: str, errors: Errors, rules: Rules) -> None:
    """`validateResourceRequirements`."""
    limits: Quantities = requirements.get("limits") or {}
    requests: Quantities = requirements.get("requests") or {}
    for name, value in limits.items():
        here = f"{path}.limits[{name}]"
        rules.check_name(name, here, errors)
        check_quantity(name, value, here, errors)
        _check_pages(name, value, here, errors, rules)
    for name, value in requests.items():
        here = f"{path}.requests[{name}]"
        rules.check_name(name, here, errors)
        check_quantity(name, value, here, errors)
        _check_against_limit(name, value, limits.get(name), path, errors)
        _check_pages(name, value, here, errors, rules)
    names = (*limits, *requests)
    if any(name.startswith(HUGE_PAGES) for name in names) and not any(name in COMPUTE for name in names):
        errors.append(field_forbidden(path, "HugePages require cpu or memory"))
    if requirements.get("claims"):
        check_claim_names(requirements["claims"], rules.claims, f"{path}.claims", errors)


def validate_requirements(requirements: Field, rules: Rules) -> None:
    """`validateResourceRequirements`."""
    check_requirements(requirements.value, requirements.path, requirements.errors, rules)


def _check_pages(name: str, value: str, path: str, errors: Errors, rules: Rules) -> None:
    if rules.whole_pages and name.startswith(HUGE_PAGES) and not is_divisible(name, value):
        errors.append(field_invalid(path, value, f"{value} is not positive integer multiple of {name}"))


def _check_against_limit(name: str, value: str, limit: str | None, path: str, errors: Errors) -> None:
    if limit is None:
        if not allows_overcommit(name):
            errors.append(field_required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
        return
    if value == limit:
        return
    asked, most = number_of(value), number_of(limit)
    if asked != most and not allows_overcommit(name):
        errors.append(field_invalid(f"{path}.requests", value, f"must be equal to {name} limit of {limit}"))
    elif asked > most:
        why = f"must be less than or equal to {name} limit of {limit}"
        errors.append(field_invalid(f"{path}.requests", value, why))


def check_claim_names(claims: Iterable[Object], known: tuple[str, ...], path: str, errors: Errors) -> None:
    """`validateResourceClaimNames`: each is one of the pod's, and named once."""
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        name, request = claim.get("name") or "", claim.get("request") or ""
        here = f"{path}[{i}]"
        if not name:
            errors.append(field_required(here))
            continue
        if name in seen:
            errors.append(field_duplicate(here, name))
        else:
            _check_new_claim(name, request, seen, here, errors)
        if name not in known:
            why = "must be one of the names in pod.spec.resourceClaims"
            why += ": " + ", ".join(sorted(known)) if known else " which is empty"
            errors.append(FieldError(here, "FieldValueNotFound", f"Not found: {quoted(name)}: {why}"))


def _check_new_claim(name: str, request: str, seen: set[str], path: str, errors: Errors) -> None:
    key = name
    if request:
        check_dns_label(request, f"{path}.request", errors)
        key = f"{name}/{request}"
    if key in seen:
        errors.append(field_duplicate(path, key))
    elif not request:
        errors += [field_duplicate(path, name) for one in seen if one.startswith(f"{name}/")]
    seen.add(key)
