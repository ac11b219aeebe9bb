"""Enforces the ResourceQuotas of a namespace (plugin ResourceQuota; `pkg/quota/v1`, `admission/plugin/resourcequota`).

Admission uses `status.hard` and `status.used` of a quota, as in kube-apiserver. A controller sets them; a quota without
a status covers nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fakekube.apiserver import commit
from fakekube.apiserver.admission.refusal import refused
from fakekube.apiserver.apply import managedfields
from fakekube.apiserver.call import Call
from fakekube.apiserver.features import enabled, since
from fakekube.apiserver.registry.core.pod.resources import has_own_resources, plus, spelled
from fakekube.apiserver.registry.core.quotausage import (
    DEMANDED,
    RESOURCE_CLAIMS,
    UNCOUNTED,
    Usage,
    covered,
    in_scope,
    is_terminating,
    of_requirements,
    usage,
)
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.storage.store import Entry

Object = dict[str, Any]

COLLECTION = "resourcequotas"


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
        commit.update(call, COLLECTION, path, entry, _owned(call, changed, entry.object), dry_run=dry_run)


def _owned(call: Call, changed: Object, before: Object) -> Object:
    """The changed quota, in which the server owns the usage that it has changed."""
    schema = call.server.schemas.of_kind("", "v1", "ResourceQuota")
    assert schema is not None, "quotas have a schema"
    return managedfields.with_own_status(before, changed, schema, "v1", ("spec",), call.context.now)


def _handles(call: Call, obj: Object, old: Object | None) -> bool:
    """Whether the write can change the usage."""
    collection, subresource = call.resource.collection, call.info.subresource
    if collection == "pods" and old is not None and not subresource:
        return since(33) and is_terminating(obj["spec"]) != is_terminating(old["spec"])
    if collection in ("services", "persistentvolumeclaims"):
        return True
    if collection == "pods" and subresource == "resize":
        return True
    if collection == RESOURCE_CLAIMS:
        return not subresource
    return old is None and not subresource and collection not in UNCOUNTED


def _is_about(quota: Object, call: Call, obj: Object) -> bool:
    return bool(_covered(quota, call)) and in_scope(quota, call.resource.collection, obj)


def _hard(quota: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = (quota.get("status") or {}).get("hard") or {}
    return found


def _used(quota: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = (quota.get("status") or {}).get("used") or {}
    return found


def _covered(quota: Object, call: Call) -> list[str]:
    """The resource names of a quota for which objects of this kind count."""
    return covered(_hard(quota), call.resource.collection)


def _check_known(call: Call, obj: Object, quota: Object) -> None:
    """Raises 403 if a pod does not specify the resources of a quota, or if the usage of the quota is unknown."""
    names, name = _covered(quota, call), quota["metadata"]["name"]
    if call.resource.collection == "pods":
        missing = _missing(obj["spec"], DEMANDED.intersection(names))
        if missing:
            raise refused(call, obj, f"failed quota: {name}: must specify {missing}")
    used = _used(quota)
    if any(one not in used for one in names):
        raise refused(call, obj, f"status unknown for quota: {name}, resources: {','.join(sorted(names))}")


def _missing(spec: Object, demanded: Iterable[str]) -> str:
    """The resources that containers do not specify: `cpu for: a,b; memory for: a`."""
    if enabled("PodLevelResources") and has_own_resources(spec):
        return ""
    found: dict[str, set[str]] = {}
    for name in sorted(set(demanded)):
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            if name not in of_requirements(container.get("resources") or {}):
                found.setdefault(name, set()).add(container.get("name") or "")
    return "; ".join(f"{name} for: {','.join(sorted(whose))}" for name, whose in found.items())


def _charged(call: Call, obj: Object, old: Object | None, quota: Object) -> Object | None:
    """The status of a quota after the write; None if it does not change. Raises 403."""
    hard, used = _hard(quota), _used(quota)
    more = usage(call.resource.collection, obj)
    if old is not None and in_scope(quota, call.resource.collection, old):
        more = _beyond(more, usage(call.resource.collection, old))
    more = {name: value for name, value in more.items() if name in hard and number_of(value) > 0}
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
    """The differences of two usages."""
    differences = {name: number_of(value) - number_of(old.get(name, "0")) for name, value in new.items()}
    return {name: spelled(number, new[name]) for name, number in differences.items()}
