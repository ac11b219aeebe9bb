"""What objects use of a ResourceQuota: by the names of resources in quotas, and by scopes (`pkg/quota/v1/evaluator`).

Admission charges single objects with it, and the controller of quotas all objects of a namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from decimal import ROUND_CEILING
from typing import Any

from fakekube.apiserver.registry.core.pod.resources import of_pod, spelled
from fakekube.apiserver.registry.core.resourcenames import HUGE_PAGES, is_extended, is_native, number_of

Object = Mapping[str, Any]

Usage = dict[str, str]
"""Resource name in quotas -> quantity."""

#: Resources that are also counted by their plain name, without `count/`.
ALIASED = frozenset({"replicationcontrollers", "resourcequotas", "secrets", "configmaps"})

#: Resources that quotas ignore (`DefaultIgnoredResources`).
UNCOUNTED = frozenset({"events", "events.events.k8s.io"})

#: Compute resources whose requests are also counted without the prefix `requests.`.
PLAIN = ("cpu", "memory", "ephemeral-storage")

#: Resources that each container must specify if a quota covers them.
DEMANDED = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})

_OF_PODS = frozenset(
    {"count/pods", "pods", *PLAIN, *(f"{kind}.{one}" for kind in ("requests", "limits") for one in PLAIN)}
)
_OF_SERVICES = frozenset({"count/services", "services", "services.nodeports", "services.loadbalancers"})
_OF_CLAIMS = ("persistentvolumeclaims", "requests.storage")
BY_CLASS = ".storageclass.storage.k8s.io/"

RESOURCE_CLAIMS = "resourceclaims.resource.k8s.io"

#: The devices of a class (`corev1.ResourceClaimsPerClass`).
BY_DEVICE_CLASS = ".deviceclass.resource.k8s.io/devices"

#: The devices that a request for all devices counts as (`AllocationResultsMaxSize`).
ALL_DEVICES = 32

TERMINAL = ("Succeeded", "Failed")


def usage(resource: str, obj: Object, now: datetime | None = None) -> Usage:
    """The usage of an object of a resource ("pods", "deployments.apps"), by the resource names of quotas.

    A pod that is being deleted and has outlived its grace period at `now` uses nothing but its place.
    """
    found: Usage = {f"count/{resource}": "1"}
    if resource == "pods":
        return found | _of_pod(obj, now)
    if resource == "services":
        return found | _of_service(obj)
    if resource == "persistentvolumeclaims":
        return found | _of_claim(obj)
    if resource == RESOURCE_CLAIMS:
        return found | _of_resource_claim(obj)
    if resource in ALIASED:
        found[resource] = "1"
    return found


def is_terminating(spec: Object) -> bool:
    """Whether a pod has a deadline (`core.IsTerminating`)."""
    deadline = spec.get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def is_running(pod: Object, now: datetime | None = None) -> bool:
    """Whether a pod has not ended, and has not outlived the grace period of its deletion (`QuotaV1Pod`)."""
    if (pod.get("status") or {}).get("phase") in TERMINAL:
        return False
    meta = pod["metadata"]
    deleted, period = meta.get("deletionTimestamp"), meta.get("deletionGracePeriodSeconds")
    if now is None or not deleted or period is None:
        return True
    return now <= datetime.fromisoformat(deleted) + timedelta(seconds=period)


def _of_pod(pod: Object, now: datetime | None) -> Usage:
    if not is_running(pod, now):
        return {}
    spec = pod["spec"]
    resources = {kind: of_pod(spec, kind, overhead=True) for kind in ("requests", "limits")}
    return {"pods": "1"} | of_requirements(resources)


def of_requirements(resources: Mapping[str, Any]) -> Usage:
    """Requests and limits by the resource names of quotas (`podComputeUsageHelper`)."""
    found: Usage = {}
    for name, value in (resources.get("requests") or {}).items():
        if name in PLAIN or name.startswith(HUGE_PAGES):
            found[name] = value
        if name in PLAIN or name.startswith(HUGE_PAGES) or is_extended(name):
            found[f"requests.{name}"] = value
    limits = resources.get("limits") or {}
    return found | {f"limits.{name}": value for name, value in limits.items() if name in PLAIN}


def _of_service(service: Object) -> Usage:
    spec = service.get("spec") or {}
    ports, kind = spec.get("ports") or (), spec.get("type")
    node_ports = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    return {
        "services": "1",
        "services.nodeports": str(node_ports),
        "services.loadbalancers": "1" if kind == "LoadBalancer" else "0",
    }


def _of_claim(claim: Object) -> Usage:
    spec = claim.get("spec") or {}
    found: Usage = {"persistentvolumeclaims": "1"}
    requested = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if requested is not None:
        allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage", "0")
        most = max(requested, allocated, key=number_of)
        found["requests.storage"] = spelled(number_of(most).to_integral_value(ROUND_CEILING), most)
    beta = (claim["metadata"].get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    name = beta if beta is not None else spec.get("storageClassName")
    return found | {f"{name}{BY_CLASS}{key}": value for key, value in found.items() if name}


def _of_resource_claim(claim: Object) -> Usage:
    """The devices of each class; of alternatives the most that one of them has of a class.

    Quotas by the extended resource that a class stands for are left out.
    """
    found: dict[str, int] = {}
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        alternatives = request.get("firstAvailable") or (request.get("exactly") or request,)
        most: dict[str, int] = {}
        for one in alternatives:
            name = f"{one.get('deviceClassName') or ''}{BY_DEVICE_CLASS}"
            most[name] = max(most.get(name, 0), _number_of_devices(one))
        for name, number in most.items():
            found[name] = found.get(name, 0) + number
    return {name: str(number) for name, number in found.items()}


def _number_of_devices(request: Object) -> int:
    if request.get("allocationMode") == "All":
        return ALL_DEVICES
    return int(request.get("count") or 1)


def covered(names: Iterable[str], resource: str) -> list[str]:
    """Which of the resource names of a quota apply to objects of a resource (`MatchingResources`)."""
    applies = NAMES.get(resource)
    if applies is None:
        counts = {f"count/{resource}", *({resource} & ALIASED)}
        return [name for name in names if name in counts]
    return [name for name in names if applies(name)]


#: Resource -> whether a resource name in quotas applies to it. Other resources are only counted.
NAMES: Mapping[str, Callable[[str], bool]] = {
    "pods": lambda name: (
        name in _OF_PODS
        or name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}"))
        or (name.startswith("requests.") and not is_native(name))
    ),
    "services": lambda name: name in _OF_SERVICES,
    "persistentvolumeclaims": lambda name: (
        name in (*_OF_CLAIMS, "count/persistentvolumeclaims")
        or name.endswith(tuple(f"{BY_CLASS}{one}" for one in _OF_CLAIMS))
    ),
    RESOURCE_CLAIMS: lambda name: name == f"count/{RESOURCE_CLAIMS}" or name.endswith(BY_DEVICE_CLASS),
}


# --- scopes ----------------------------------------------------------------------------------------------------------


def in_scope(quota: Object, resource: str, obj: Object) -> bool:
    """Whether the object of a resource is in all scopes of a quota."""
    spec = quota.get("spec") or {}
    selectors = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    selectors += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not selectors:
        return True
    if resource == "pods":
        return all(_is_of_pod(selector, obj) for selector in selectors)
    if resource == "persistentvolumeclaims":
        return all(_is_of_claim(selector, obj) for selector in selectors)
    return False


def _is_of_pod(selector: Object, pod: Object) -> bool:
    name, spec = selector["scopeName"], pod["spec"]
    if name == "PriorityClass":
        return _selects(selector, spec.get("priorityClassName") or "")
    best_effort = (pod.get("status") or {}).get("qosClass") == "BestEffort"
    affinity = spec.get("affinity") or {}
    answers = {
        "Terminating": is_terminating(spec),
        "NotTerminating": not is_terminating(spec),
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "CrossNamespacePodAffinity": _crosses(affinity.get("podAffinity")) or _crosses(affinity.get("podAntiAffinity")),
    }
    return answers.get(name, False)


def _is_of_claim(selector: Object, claim: Object) -> bool:
    if selector["scopeName"] != "VolumeAttributesClass":
        return False
    status = claim.get("status") or {}
    names = {
        (claim.get("spec") or {}).get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    }
    return any(_selects(selector, name) for name in [*filter(None, names)] or [""])


def _selects(selector: Object, name: str) -> bool:
    operator, values = selector.get("operator"), selector.get("values") or ()
    if operator == "In":
        return name in values
    if operator == "NotIn":
        return name not in values
    return bool(name) if operator == "Exists" else not name


def _crosses(affinity: Object | None) -> bool:
    terms = [*((affinity or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ())]
    preferred = (affinity or {}).get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    terms += [one.get("podAffinityTerm") or {} for one in preferred]
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)
