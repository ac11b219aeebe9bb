"""Requests and limits of a pod: defaults, totals and the QoS class (component-helpers `resource`)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from fakekube.apiserver.features import enabled
from fakekube.apiserver.registry.core.resourcenames import (
    HUGE_PAGES,
    Quantities,
    allows_overcommit,
    is_supported_of_pods,
    number_of,
)
from fakekube.apiserver.schema.quantity import canonical, value_of

Object = dict[str, Any]

KINDS = ("containers", "initContainers")


def default_resources(spec: Object) -> None:
    """Requests default to the limits, in the containers of a pod and in the pod as a whole; templates keep theirs."""
    for kind in KINDS:
        for container in spec.get(kind) or ():
            resources = container.get("resources")
            if resources and resources.get("limits"):
                resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    resources = spec.get("resources")
    if resources and (resources.get("limits") or resources.get("requests")) and enabled("PodLevelResources"):
        _default_huge_pages(spec, resources)
        if resources.get("limits"):
            _default_requests(spec, resources)


def _default_huge_pages(spec: Object, resources: Object) -> None:
    limits = dict(resources.get("limits") or {})
    for name, number in total(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name not in (resources.get("requests") or {}):
            limits.setdefault(name, spelled(number, "Mi"))
    if limits:
        resources["limits"] = limits


def _default_requests(spec: Object, resources: Object) -> None:
    limits, requests = resources["limits"], dict(resources.get("requests") or {})
    for name, number in total(spec, "requests").items():
        if is_supported_of_pods(name) and allows_overcommit(name):
            requests.setdefault(name, spelled(number, _first(spec, "requests", name)))
    for name, value in limits.items():
        if is_supported_of_pods(name):
            requests.setdefault(name, value)
    if requests:
        resources["requests"] = requests


def has_own_resources(spec: Object) -> bool:
    """Whether the pod as a whole requests or limits a resource (`IsPodLevelResourcesSet`)."""
    whole = spec.get("resources") or {}
    return any(is_supported_of_pods(name) for kind in ("limits", "requests") for name in whole.get(kind) or ())


def _first(spec: Object, kind: str, name: str) -> str:
    """The first quantity of a resource in the containers, whose notation a sum has."""
    holders = (container.get("resources") or {} for kinds in KINDS for container in spec.get(kinds) or ())
    return next((held[kind][name] for held in holders if name in (held.get(kind) or {})), "")


def qos_class(spec: Object) -> str:
    """Guaranteed, Burstable or BestEffort (`pkg/apis/core/v1/helper/qos`)."""
    guaranteed, any_resources = True, False
    for resources in _holders(spec):
        limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
        for name in ("cpu", "memory"):
            limit, request = value_of(limits.get(name, "0")), value_of(requests.get(name, "0"))
            any_resources = any_resources or bool(limit or request)
            guaranteed = guaranteed and bool(limit) and limit == request
    if not any_resources:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _holders(spec: Object) -> list[Object]:
    whole: Object | None = spec.get("resources")
    if whole is not None and enabled("PodLevelResources"):
        return [whole]
    return [container.get("resources") or {} for kind in KINDS for container in spec.get(kind) or ()]


def total(spec: Object, kind: str) -> dict[str, Decimal]:
    """Sums the requests, or the limits, of the containers of a pod: of those that run at the same time, or of the
    largest init container (`AggregateContainerRequests`)."""
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
    """Formats a sum in the notation, binary or decimal, of another quantity."""
    if like.endswith("i") and not number % 1 and abs(number) >= 1024:
        return f"{int(number)}" if number % 1024 else canonical(f"{number / 1024:f}Ki")
    return canonical(f"{number:f}")


def of_pod(spec: Object, kind: str, *, overhead: bool = False) -> dict[str, str]:
    """The requests, or the limits, of a pod: those of the pod as a whole, else the totals of its containers, in the
    notation of the first container that has the resource (`PodRequests`, `PodLimits`)."""
    found = {name: spelled(number, _first(spec, kind, name)) for name, number in total(spec, kind).items()}
    own: Quantities = (spec.get("resources") or {}).get(kind) or {}
    found |= {name: value for name, value in own.items() if is_supported_of_pods(name)}
    if overhead:
        for name, value in (spec.get("overhead") or {}).items():
            if name in found or kind == "requests":
                found[name] = plus(found.get(name, "0"), value)
    return found


def plus(quantity: str, other: str) -> str:
    """Adds quantities as Go does: in the notation of the first one that is not zero."""
    first, second = number_of(quantity), number_of(other)
    return spelled(first + second, quantity if first else other)
