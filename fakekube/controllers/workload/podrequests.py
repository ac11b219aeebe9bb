"""What a pod requests of a node (component-helpers: resource.PodRequests)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING
from functools import lru_cache
from typing import Any

from fakekube.apiserver.schema.quantity import value_of

Requests = Mapping[str, int]

#: What a container without a request counts as, in scores only (schedutil.GetNonzeroRequests).
DEFAULT_CPU = 100
DEFAULT_MEMORY = 200 * 1024 * 1024


@lru_cache(maxsize=4096)
def amount(resource: str, quantity: str | int | float) -> int:
    """The integer that a quantity counts as: thousandths of CPUs, units of everything else."""
    value = value_of(quantity) * (1000 if resource == "cpu" else 1)
    return int(value.to_integral_value(rounding=ROUND_CEILING))


def amounts(quantities: Mapping[str, Any] | None) -> dict[str, int]:
    return {name: amount(name, value) for name, value in (quantities or {}).items()}


def pod_requests(pod: Mapping[str, Any], *, defaults: bool = False) -> dict[str, int]:
    """The requests of all containers that run at the same time, at the most, and the overhead.

    `defaults`: containers without requests of CPU or memory count with default ones.
    """
    spec = pod["spec"]
    total = _sum(_of(one, defaults) for one in spec["containers"])
    sidecars: dict[str, int] = {}
    most: dict[str, int] = {}
    for one in spec.get("initContainers") or ():
        requests = _of(one, defaults)
        if one.get("restartPolicy") == "Always":
            sidecars = _sum((sidecars, requests))
            most = _most(most, sidecars)
        else:
            most = _most(most, _sum((sidecars, requests)))
    total = _most(_sum((total, sidecars)), most)
    level = amounts((spec.get("resources") or {}).get("requests"))
    total |= level
    return _sum((total, amounts(spec.get("overhead")))) if spec.get("overhead") else total


def _of(container: Mapping[str, Any], defaults: bool) -> dict[str, int]:
    found = amounts((container.get("resources") or {}).get("requests"))
    return {"cpu": DEFAULT_CPU, "memory": DEFAULT_MEMORY, **found} if defaults else found


def _sum(parts: Iterable[Requests]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0) + value
    return total


def _most(left: Requests, right: Requests) -> dict[str, int]:
    return {name: max(left.get(name, 0), right.get(name, 0)) for name in {**left, **right}}
