"""Enforces the ResourceQuotas of a namespace (plugin ResourceQuota; `pkg/quota/v1`, `admission/plugin/resourcequota`).

Admission uses `status.hard` and `status.used` of a quota, as in kube-apiserver. A controller sets them; a quota without
a status covers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_CEILING
from typing import Any

from fakekube.apiserver import commit
from fakekube.apiserver.admission.refusal import refused
from fakekube.apiserver.call import Call
from fakekube.apiserver.registry.core.pod.resources import of_pod, plus, spelled
from fakekube.apiserver.registry.core.resourcenames import HUGE_PAGES, is_extended, is_native, number_of
from fakekube.apiserver.storage.store import Entry

Object = dict[str, Any]

Usage = dict[str, str]
"""Resource name in quotas -> quantity."""

COLLECTION = "resourcequotas"

#: Collections that are also counted by their plain name, without `count/`.
ALIASED = frozenset({"replicationcontrollers", "resourcequotas", "secrets", "configmaps"})

#: Collections that quotas ignore (`DefaultIgnoredResources`).
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

TERMINAL = ("Succeeded", "Failed")


def charge(call: Call, obj: Object, old: Object | None, *, dry_run: bool) -> None:
    """Add the usage of a write to its quotas. Raises 403 if a quota would be exceeded or has no usage yet."""
    collection = call.server.store.collection(COLLECTION)
    if not collection.live or not call.namespace or not _handles(call, obj, old):
        return
    scanned = collection.scan(f"{call.namespace}/", "", None)
    quotas = [(path, entry) for path, entry in scanned if _is_about(entry.object, call, obj)]
    for _, entry in quotas:
        _check_known(call, obj, entry.object)
    charged: list[tuple[str, Entry, Object]] = []
    for path, entry in quotas:
        status = _charged(call, obj, old, entry.object)
        if status is not None:
            charged.append((path, entry, {**entry.object, "status": status}))
    for path, entry, changed in charged:
        commit.update(call, COLLECTION, path, entry, changed, dry_run=dry_run)


def _handles(call: Call, obj: Object, old: Object | None) -> bool:
    """Whether the write can change the usage."""
    collection, subresource = call.resource.collection, call.info.subresource
    if collection == "pods" and old is not None and not subresource:
        return _is_terminating(obj["spec"]) != _is_terminating(old["spec"])
    if collection in ("services", "persistentvolumeclaims"):
        return True
    if collection == "pods" and subresource == "resize":
        return True
    return old is None and not subresource and collection not in UNCOUNTED


def _is_about(quota: Object, call: Call, obj: Object) -> bool:
    return bool(_covered(quota, call)) and in_scope(quota, call, obj)


def _hard(quota: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = (quota.get("status") or {}).get("hard") or {}
    return found


def _used(quota: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = (quota.get("status") or {}).get("used") or {}
    return found


def _covered(quota: Object, call: Call) -> list[str]:
    """The resource names of a quota for which objects of this kind count (`MatchingResources`)."""
    counts = NAMES.get(call.resource.collection)
    if counts is None:
        names = {_count_name(call), *({call.resource.plural} & ALIASED if not call.resource.group else ())}
        return [name for name in _hard(quota) if name in names]
    return [name for name in _hard(quota) if counts(name)]


def _check_known(call: Call, obj: Object, quota: Object) -> None:
    """Raises 403 if a pod does not specify the resources of a quota, or if the usage of the quota is unknown."""
    covered, name = _covered(quota, call), quota["metadata"]["name"]
    if call.resource.collection == "pods":
        missing = _missing(obj["spec"], DEMANDED.intersection(covered))
        if missing:
            raise refused(call, obj, f"failed quota: {name}: must specify {missing}")
    used = _used(quota)
    if any(one not in used for one in covered):
        raise refused(call, obj, f"status unknown for quota: {name}, resources: {','.join(sorted(covered))}")


def _missing(spec: Object, demanded: Iterable[str]) -> str:
    """The resources that containers do not specify: `cpu for: a,b; memory for: a`."""
    of_pod_level = _compute(spec.get("resources") or {})
    found: dict[str, set[str]] = {}
    for name in sorted(set(demanded) - of_pod_level.keys()):
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            if name not in _compute(container.get("resources") or {}):
                found.setdefault(name, set()).add(container.get("name") or "")
    return "; ".join(f"{name} for: {','.join(sorted(whose))}" for name, whose in found.items())


def _charged(call: Call, obj: Object, old: Object | None, quota: Object) -> Object | None:
    """The status of a quota after the write; None if it does not change. Raises 403."""
    hard, used = _hard(quota), _used(quota)
    more = usage(call, obj)
    if old is not None and in_scope(quota, call, old):
        more = _beyond(more, usage(call, old))
    more = {name: value for name, value in more.items() if name in hard and number_of(value)}
    if not more:
        return None
    after = {name: plus(used.get(name, "0"), value) for name, value in more.items()}
    exceeded = sorted(name for name, value in after.items() if number_of(value) > number_of(hard[name]))
    if exceeded and call.info.subresource != "status":
        amounts = {"requested": more, "used": used, "limited": hard}
        lists = (
            f"{word}: {','.join(f'{name}={values[name]}' for name in exceeded)}" for word, values in amounts.items()
        )
        raise refused(call, obj, f"exceeded quota: {quota['metadata']['name']}, {', '.join(lists)}")
    return {**quota["status"], "used": {**used, **after}}


def _beyond(new: Usage, old: Usage) -> Usage:
    """The positive differences of two usages."""
    differences = {name: number_of(value) - number_of(old.get(name, "0")) for name, value in new.items()}
    return {name: spelled(number, new[name]) for name, number in differences.items() if number > 0}


# --- usage of an object ---------------------------------------------------------------------------------------------


def usage(call: Call, obj: Object) -> Usage:
    """The usage of an object, by the resource names of quotas."""
    collection = call.resource.collection
    found: Usage = {_count_name(call): "1"}
    if collection == "pods":
        return found | _of_pod(obj)
    if collection == "services":
        return found | _of_service(obj)
    if collection == "persistentvolumeclaims":
        return found | _of_claim(obj)
    if collection in ALIASED:
        found[collection] = "1"
    return found


def _is_terminating(spec: Object) -> bool:
    """Whether a pod has a deadline (`core.IsTerminating`)."""
    deadline = spec.get("activeDeadlineSeconds")
    return deadline is not None and deadline >= 0


def _count_name(call: Call) -> str:
    return f"count/{call.resource.qualified}"


def _of_pod(pod: Object) -> Usage:
    if (pod.get("status") or {}).get("phase") in TERMINAL:
        return {}
    spec = pod["spec"]
    resources = {kind: of_pod(spec, kind, overhead=True) for kind in ("requests", "limits")}
    return {"pods": "1"} | _compute(resources)


def _compute(resources: Mapping[str, Any]) -> Usage:
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


#: Collection -> whether a resource name in quotas applies to it. Other collections are only counted.
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
}


# --- scopes ----------------------------------------------------------------------------------------------------------


def in_scope(quota: Object, call: Call, obj: Object) -> bool:
    """Whether the object is in all scopes of a quota."""
    spec = quota.get("spec") or {}
    selectors = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    selectors += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not selectors:
        return True
    if call.resource.collection == "pods":
        return all(_is_of_pod(selector, obj) for selector in selectors)
    if call.resource.collection == "persistentvolumeclaims":
        return all(_is_of_claim(selector, obj) for selector in selectors)
    return False


def _is_of_pod(selector: Object, pod: Object) -> bool:
    name, spec = selector["scopeName"], pod["spec"]
    if name == "PriorityClass":
        return _selects(selector, spec.get("priorityClassName") or "")
    best_effort = (pod.get("status") or {}).get("qosClass") == "BestEffort"
    affinity = spec.get("affinity") or {}
    answers = {
        "Terminating": _is_terminating(spec),
        "NotTerminating": not _is_terminating(spec),
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
    return any(_selects(selector, name) for name in sorted(filter(None, names)) or [""])


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
