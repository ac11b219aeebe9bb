"""Names of compute resources and their quantities (`pkg/apis/core/v1/helper`, `validateResourceName`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache

from fakekube.apiserver.registry.generic.validation.content import NEGATIVE, qualified_name_problems
from fakekube.apiserver.registry.generic.validation.field import Field
from fakekube.apiserver.schema.quantity import InvalidQuantity, as_int64, is_whole, value_of

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


def validate_container_resource_name(quantity: Field) -> None:
    """The key of the entry is a resource that containers can have (`ValidateContainerResourceName`)."""
    if container_name_problems(quantity.key):
        quantity.with_value(quantity.key).check(container_name_problems)


def validate_quantity(quantity: Field, name: str) -> None:
    """Not negative, and whole if the resource is counted (`ValidateResourceQuantityValue`)."""
    if number_of(quantity.value) < 0:
        quantity.invalid(NEGATIVE)
    if (name in COUNTED or is_extended(name)) and not is_whole(quantity.value):
        quantity.invalid("must be an integer")


def validate_basic_quantity(quantity: Field) -> None:
    """Not negative, in the words of storage (`validateBasicResource`)."""
    shown = as_int64(math.ceil(number_of(quantity.value)))
    if shown < 0:
        quantity.invalid("must be a valid resource quantity", shown)


def is_supported_of_pods(name: str) -> bool:
    return name in COMPUTE or name.startswith(HUGE_PAGES)


def is_divisible(name: str, value: str) -> bool:
    """Whether huge pages come in whole pages."""
    try:
        size = value_of(name.removeprefix(HUGE_PAGES))
    except InvalidQuantity:
        return False
    return size > 0 and not size % 1 and not math.ceil(number_of(value)) % size
