"""What containers and pods ask for and may use: names of resources, quantities, requests and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from fakekube.apiserver.registry.generic.validation.content import (
    NEGATIVE,
    Errors,
    check_dns_label,
    qualified_name_problems,
)
from fakekube.apiserver.schema.quantity import InvalidQuantity, canonical, value_of
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
Quantities = Mapping[str, str]

HUGE_PAGES = "hugepages-"
COMPUTE = ("cpu", "memory")

STANDARD_OF_CONTAINERS = frozenset(("cpu", "memory", "ephemeral-storage"))

#: Resources that are counted, and all that need no domain (`helper.standardResources`).
COUNTED = frozenset(
    (
        "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
        "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
    )
)  # fmt: skip
STANDARD = frozenset(
    f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in STANDARD_OF_CONTAINERS
) | {*COUNTED, "storage", "requests.storage"}


@lru_cache(maxsize=4096)
def number_of(quantity: str) -> Decimal:
    return value_of(quantity)


def is_native(name: str) -> bool:
    """Kubernetes' own: no domain, or one of kubernetes.io."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    if is_native(name) or name.startswith("requests."):
        return False
    return not qualified_name_problems(f"requests.{name}")


def allows_overcommit(name: str) -> bool:
    return is_native(name) and not name.startswith(HUGE_PAGES)


@lru_cache(maxsize=1024)
def name_problems(name: str) -> tuple[str, ...]:
    """Of a resource's name anywhere (`validateResourceName`)."""
    problems = qualified_name_problems(name)
    if problems:
        return problems
    huge = name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))
    if "/" not in name and name not in STANDARD and not huge:
        return ("must be a standard resource type or fully qualified",)
    return ()


@lru_cache(maxsize=1024)
def container_name_problems(name: str) -> tuple[str, ...]:
    problems = name_problems(name)
    if name.count("/") == 0:
        if name not in STANDARD_OF_CONTAINERS and not name.startswith(HUGE_PAGES):
            problems += ("must be a standard resource for containers",)
    elif not is_native(name) and not is_extended(name):
        problems += ("doesn't follow extended resource name standard",)
    return problems


def check_container_resource(name: str, path: str, errors: Errors) -> None:
    for problem in container_name_problems(name):
        errors.append(field_invalid(path, name, problem))


def is_supported_of_pods(name: str) -> bool:
    return name in COMPUTE or name.startswith(HUGE_PAGES)


def check_pod_resource(name: str, path: str, errors: Errors) -> None:
    problems = name_problems(name)
    for problem in problems:
        errors.append(field_invalid(path, name, problem))
    if not problems and not is_supported_of_pods(name):
        errors.append(field_not_supported(path, name, ("cpu", HUGE_PAGES, "memory")))


def check_quantity(name: str, value: str, path: str, errors: Errors) -> None:
    """`ValidateResourceQuantityValue`: not negative, and whole where the resource is counted."""
    number = number_of(value)
    if number < 0:
        errors.append(field_invalid(path, value, NEGATIVE))
    if number % 1 and (name in COUNTED or is_extended(name)):
        errors.append(field_invalid(path, value, "must be an integer"))


def is_divisible(name: str, value: str) -> bool:
    """Whether huge pages come in whole pages."""
    try:
        size = value_of(name.removeprefix(HUGE_PAGES))
    except InvalidQuantity:
        return False
    return size > 0 and not size % 1 and not -(-number_of(value) // 1) % size


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


# --- all containers of a pod ---------------------------------------------------------------------------------------


def total(spec: Object, kind: str) -> dict[str, Decimal]:
    """What a pod's containers ask for together (`kind`: requests) or may use (limits): the containers that run side
    by side in sum, or the init container that needs most (`AggregateContainerRequests`)."""
    running: dict[str, Decimal] = {}
    for container in spec.get("containers") or ():
        _add(running, _numbers(container, kind))
    sidecars: dict[str, Decimal] = {}
    most: dict[str, Decimal] = {}
    for container in spec.get("initContainers") or ():
        own = _numbers(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(running, own)
            _add(sidecars, own)
            own = sidecars
        else:
            _add(own, sidecars)
        _raise(most, own)
    _raise(running, most)
    return running


def _numbers(container: Object, kind: str) -> dict[str, Decimal]:
    found = (container.get("resources") or {}).get(kind) or {}
    return {name: number_of(value) for name, value in found.items()}


def _add(sums: dict[str, Decimal], more: Mapping[str, Decimal]) -> None:
    for name, number in more.items():
        sums[name] = sums.get(name, Decimal(0)) + number


def _raise(most: dict[str, Decimal], other: Mapping[str, Decimal]) -> None:
    for name, number in other.items():
        if name not in most or number > most[name]:
            most[name] = number


def spelled(number: Decimal, like: str) -> str:
    """A sum in the server's spelling: binary where what it is compared with, or is added to, is."""
    if like.endswith("i") and not number % 1 and abs(number) >= 1024:
        return f"{int(number)}" if number % 1024 else canonical(f"{number / 1024:f}Ki")
    return canonical(f"{number:f}")


def of_pod(spec: Object, kind: str, *, overhead: bool = False) -> dict[str, str]:
    """What a pod asks for, or may use: what it says itself, or else its containers together; each in the spelling of
    the first container that names it (`PodRequests`, `PodLimits`)."""
    likes: dict[str, str] = {}
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        for name, value in ((container.get("resources") or {}).get(kind) or {}).items():
            likes.setdefault(name, value)
    found = {name: spelled(number, likes[name]) for name, number in total(spec, kind).items()}
    own: Quantities = (spec.get("resources") or {}).get(kind) or {}
    found |= {name: value for name, value in own.items() if is_supported_of_pods(name)}
    if overhead:
        for name, value in (spec.get("overhead") or {}).items():
            if name in found or kind == "requests":
                found[name] = plus(found.get(name, "0"), value)
    return found


def plus(quantity: str, other: str) -> str:
    """A sum as Go's quantities make it: spelled as the first of them that is not zero."""
    first, second = number_of(quantity), number_of(other)
    return spelled(first + second, quantity if first else other)
