"""The quotas of a namespace: what a write would use, and whether that is left (ResourceQuota; `pkg/quota/v1`).

As on the real server, a quota counts what its status says is used: until somebody, there a controller, has filled the
status in, what the quota covers cannot be written.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from fakekube.core.call import Call
from fakekube.core.quantity import canonical
from fakekube.core.status import StatusError, forbidden
from fakekube.core.store import Entry
from fakekube.core.validation.resources import is_extended, number_of, total

Object = dict[str, Any]
Usage = dict[str, Decimal]

COLLECTION = "resourcequotas"

#: Collections that are counted under their plain name, too.
COUNTED = frozenset(
    {
        "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
        "persistentvolumeclaims",
    }
)  # fmt: skip

#: Compute resources that are also counted without `requests.` before them.
PLAIN = frozenset({"cpu", "memory", "ephemeral-storage"})

TERMINAL = ("Succeeded", "Failed")


def charge(call: Call, obj: Object, old: Object | None, *, dry_run: bool) -> None:
    """Count what the write uses. Raises 403 where a quota would be exceeded, or does not yet know what is used."""
    if not call.namespace or call.info.subresource or call.resource.collection == COLLECTION:
        return
    quotas = list(call.server.store.collection(COLLECTION).scan(f"{call.namespace}/", "", None))
    if not quotas:
        return
    more = _difference(usage(call, obj), usage(call, old) if old is not None else {})
    more = {name: number for name, number in more.items() if number > 0 or old is None}
    charged: list[tuple[str, Entry, Object]] = []
    for path, entry in quotas:
        if not in_scope(entry.object, call, obj):
            continue
        status = _charged(call, obj, entry.object, more)
        if status is not None:
            charged.append((path, entry, {**entry.object, "status": status}))
    if not dry_run:
        for path, entry, changed in charged:
            change = call.server.store.update(COLLECTION, path, entry, changed)
            call.server.committed(change, call.stamp)


def _difference(new: Usage, old: Usage) -> Usage:
    return {name: number - old.get(name, Decimal(0)) for name, number in new.items()}


def _charged(call: Call, obj: Object, quota: Object, more: Usage) -> Object | None:
    """The status of a quota after the write; None where the quota does not cover it."""
    hard = (quota.get("status") or {}).get("hard") or {}
    declared = (quota.get("spec") or {}).get("hard") or {}
    covered = {name: number for name, number in more.items() if name in hard or name in declared}
    if not covered:
        return None
    meta = quota["metadata"]
    missing = sorted(name for name in declared if _is_of_pod(name) and _must_say(call) and name not in more)
    if missing and call.resource.collection == "pods":
        raise _refused(call, obj, f"failed quota: {meta['name']}: must specify {_missing(obj, missing)}")
    used = (quota.get("status") or {}).get("used") or {}
    unknown = sorted(name for name in covered if name not in hard or name not in used)
    if unknown:
        raise _refused(call, obj, f"status unknown for quota: {meta['name']}, resources: {','.join(unknown)}")
    after = {name: number_of(used[name]) + number for name, number in covered.items()}
    exceeded = sorted(name for name, number in after.items() if covered[name] > 0 and number > number_of(hard[name]))
    if exceeded:
        raise _refused(
            call, obj,
            f"exceeded quota: {meta['name']}, requested: {_listed(exceeded, covered, hard)}, "
            f"used: {','.join(f'{name}={used[name]}' for name in exceeded)}, "
            f"limited: {','.join(f'{name}={hard[name]}' for name in exceeded)}",
        )  # fmt: skip
    if not any(covered.values()):
        return None
    written = {name: _spelled(number, hard[name]) for name, number in after.items()}
    return {**quota["status"], "used": {**used, **written}}


def _refused(call: Call, obj: Object, why: str) -> StatusError:
    return forbidden(call.resource.qualified, obj["metadata"].get("name") or "", why)


def _listed(names: list[str], numbers: Usage, like: Mapping[str, str]) -> str:
    return ",".join(f"{name}={_spelled(numbers[name], like[name])}" for name in names)


def _spelled(number: Decimal, like: str) -> str:
    """A sum in the real server's spelling: bytes as powers of two where the bound is."""
    if like.endswith("i") and number == int(number):
        for power, unit in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1):
            if number % 1024**power:
                return f"{int(number) // 1024 ** (power - 1)}{('', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi')[power - 1]}"
            if power == 6:
                return f"{int(number) // 1024**6}{unit}"
    return canonical(f"{number:f}")


def _must_say(call: Call) -> bool:
    return call.resource.collection == "pods"


def _is_of_pod(name: str) -> bool:
    return name in PLAIN or (name.startswith(("requests.", "limits.")) and name != "requests.storage")


def _missing(pod: Object, names: list[str]) -> str:
    """What each container does not say: `cpu for: a,b; memory for: a`."""
    spec = pod["spec"]
    found: dict[str, list[str]] = {}
    for name in names:
        kind, _, resource = (
            name.rpartition(".") if name.startswith(("requests.", "limits.")) else ("requests", "", name)
        )
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            if resource not in ((container.get("resources") or {}).get(kind) or {}):
                found.setdefault(name, []).append(container.get("name") or "")
    return "; ".join(f"{name} for: {','.join(sorted(set(whose)))}" for name, whose in found.items())


# --- what an object uses ---------------------------------------------------------------------------------------------


def usage(call: Call, obj: Object) -> Usage:
    """What an object counts for, by the names that quotas have for it."""
    collection = call.resource.collection
    group = call.resource.group
    counted = f"count/{call.resource.plural}.{group}" if group else f"count/{call.resource.plural}"
    found: Usage = {counted: Decimal(1)}
    if collection == "pods":
        return found | _of_pod(obj)
    if collection in COUNTED:
        found[collection] = Decimal(1)
    if collection == "services":
        found |= _of_service(obj)
    elif collection == "persistentvolumeclaims":
        found |= _of_claim(obj)
    return found


def _of_pod(pod: Object) -> Usage:
    if (pod.get("status") or {}).get("phase") in TERMINAL:
        return {}
    found: Usage = {"pods": Decimal(1)}
    for name, number in total(pod["spec"], "requests").items():
        if name in PLAIN:
            found[name] = number
        if name in PLAIN or name.startswith("hugepages-") or is_extended(name):
            found[f"requests.{name}"] = number
        if name.startswith("hugepages-"):
            found[name] = number
    for name, number in total(pod["spec"], "limits").items():
        if name in PLAIN:
            found[f"limits.{name}"] = number
    return found


def _of_service(service: Object) -> Usage:
    spec = service.get("spec") or {}
    ports = spec.get("ports") or ()
    kind = spec.get("type")
    node_ports = len(ports) if kind == "NodePort" else sum(1 for port in ports if port.get("nodePort"))
    return {
        "services.nodeports": Decimal(node_ports if kind in ("NodePort", "LoadBalancer") else 0),
        "services.loadbalancers": Decimal(1 if kind == "LoadBalancer" else 0),
    }


def _of_claim(claim: Object) -> Usage:
    spec = claim.get("spec") or {}
    storage = number_of(((spec.get("resources") or {}).get("requests") or {}).get("storage", "0"))
    found: Usage = {"requests.storage": storage}
    name = spec.get("storageClassName")
    if name:
        suffix = f"{name}.storageclass.storage.k8s.io"
        found[f"{suffix}/persistentvolumeclaims"] = Decimal(1)
        found[f"{suffix}/requests.storage"] = storage
    return found


# --- scopes ----------------------------------------------------------------------------------------------------------


def in_scope(quota: Object, call: Call, obj: Object) -> bool:
    """Whether a quota is about the object: each of its scopes must be."""
    spec = quota.get("spec") or {}
    selectors = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    selectors += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not selectors:
        return True
    if call.resource.collection != "pods":
        return False
    return all(_matches(selector, obj["spec"]) for selector in selectors)


def _matches(selector: Object, spec: Object) -> bool:
    name = selector["scopeName"]
    if name == "PriorityClass":
        return _matches_class(selector, spec.get("priorityClassName") or "")
    best_effort = not any(
        (container.get("resources") or {}).get(kind)
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
        for kind in ("requests", "limits")
    )
    affinity = spec.get("affinity") or {}
    answers = {
        "Terminating": spec.get("activeDeadlineSeconds") is not None,
        "NotTerminating": spec.get("activeDeadlineSeconds") is None,
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "CrossNamespacePodAffinity": _crosses(affinity.get("podAffinity")) or _crosses(affinity.get("podAntiAffinity")),
    }
    return answers.get(name, False)


def _matches_class(selector: Object, name: str) -> bool:
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
