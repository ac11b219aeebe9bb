"""What a pod asks for and may use as a whole: defaults, and the QoS class."""

from __future__ import annotations

from typing import Any

from fakekube.apiserver.registry.core.pod.validation.resources import (
    HUGE_PAGES,
    allows_overcommit,
    is_supported_of_pods,
    spelled,
    total,
)
from fakekube.apiserver.schema.quantity import value_of

Object = dict[str, Any]

KINDS = ("containers", "initContainers")


def default_resources(spec: Object) -> None:
    """A pod's limits are its requests where it names none (a template's are not); so for the pod as a whole."""
    for kind in KINDS:
        for container in spec.get(kind) or ():
            resources = container.get("resources")
            if resources and resources.get("limits"):
                resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    resources = spec.get("resources")
    if resources and (resources.get("limits") or resources.get("requests")):
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
            requests.setdefault(name, spelled(number, limits.get(name, "")))
    for name, value in limits.items():
        if is_supported_of_pods(name):
            requests.setdefault(name, value)
    if requests:
        resources["requests"] = requests


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
    whole: Object = spec.get("resources") or {}
    if any(is_supported_of_pods(name) for kind in ("limits", "requests") for name in whole.get(kind) or ()):
        return [whole]
    return [container.get("resources") or {} for kind in KINDS for container in spec.get(kind) or ()]
