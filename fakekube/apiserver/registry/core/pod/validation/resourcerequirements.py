"""Validates the resources that containers and pods request and limit (`validateResourceRequirements`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fakekube.apiserver.registry.core import resourcenames
from fakekube.apiserver.registry.core.pod.validation.podoptions import Pod
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.registry.generic.validation.rules import memoized
from fakekube.apiserver.wire.goprint import quoted
from fakekube.apiserver.wire.status import FieldError


def validate_resources(resources: Field, pod: Pod) -> None:
    """The resources of a container."""
    validate_requirements(resources, pod.claims, whole_pages=not pod.options.partial_pages)


def validate_pod_resource_name(quantity: Field) -> None:
    """The key of the entry is a resource that a pod as a whole can have."""
    name = quantity.with_value(quantity.key)
    if resourcenames.name_problems(quantity.key):
        name.check(resourcenames.name_problems)
    elif not resourcenames.is_supported_of_pods(quantity.key):
        name.not_supported(("cpu", resourcenames.HUGE_PAGES, "memory"))


def validate_requirements(
    requirements: Field,
    claims: Sequence[str] = (),
    *,
    whole_pages: bool = True,
    validate_name: Callable[[Field], None] = resourcenames.validate_container_resource_name,
) -> None:
    """`claims` are the names of the pod's claims; `whole_pages` requires that huge pages are a multiple of the page
    size; `validate_name` checks the resource of a quantity."""
    validate_quantities(requirements, validate_name, whole_pages)
    if requirements.value.get("claims"):
        _validate_claim_names(requirements["claims"], claims)


@memoized(maps=("limits", "requests"))
def validate_quantities(requirements: Field, validate_name: Callable[[Field], None], whole_pages: bool) -> None:
    limits, requests = requirements["limits"], requirements["requests"]
    for quantity in (*limits.entries(), *requests.entries()):
        validate_name(quantity)
        resourcenames.validate_quantity(quantity, quantity.key)
        if quantity.parent is requests:
            _validate_against_limit(quantity, limits)
        if (
            whole_pages
            and quantity.key.startswith(resourcenames.HUGE_PAGES)
            and not resourcenames.is_divisible(quantity.key, quantity.value)
        ):
            quantity.invalid(f"{quantity.value} is not positive integer multiple of {quantity.key}")
    names = (*(limits.value or ()), *(requests.value or ()))
    if any(name.startswith(resourcenames.HUGE_PAGES) for name in names) and not any(
        name in resourcenames.COMPUTE for name in names
    ):
        requirements.forbidden("HugePages require cpu or memory")


def _validate_against_limit(request: Field, limits: Field) -> None:
    """The errors have the path of all requests, or of all limits."""
    name, value = request.key, request.value
    limit = limits.value.get(name) if limits.value else None
    if limit is None:
        if not resourcenames.allows_overcommit(name):
            limits.missing("Limit must be set for non overcommitable resources")
    elif value != limit:
        requested, most = resourcenames.number_of(value), resourcenames.number_of(limit)
        if requested != most and not resourcenames.allows_overcommit(name):
            request.parent.invalid(f"must be equal to {name} limit of {limit}", value)
        elif requested > most:
            request.parent.invalid(f"must be less than or equal to {name} limit of {limit}", value)


def _validate_claim_names(claims: Field, known: Sequence[str]) -> None:
    """Each is a claim of the pod, and occurs once (`validateResourceClaimNames`)."""
    seen: set[str] = set()
    for claim in claims:
        name = claim["name"].text
        if not name:
            claim.missing()
            continue
        if name in seen:
            claim.duplicate(name)
        else:
            _validate_request(claim, name, seen)
        if name not in known:
            why = "must be one of the names in pod.spec.resourceClaims"
            why += ": " + ", ".join(sorted(known)) if known else " which is empty"
            claim.errors.append(FieldError(claim.path, "FieldValueNotFound", f"Not found: {quoted(name)}: {why}"))


def _validate_request(claim: Field, name: str, seen: set[str]) -> None:
    """A whole claim excludes single requests of it."""
    request = claim["request"].optional().dns_label().text
    if not request:
        for other in seen:
            if other.startswith(f"{name}/"):
                claim.duplicate(name)
    claim.unique(seen, f"{name}/{request}" if request else name)
