"""Applies the defaults of LimitRanges to containers and enforces their limits (plugin LimitRanger)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fakekube.apiserver.admission.refusal import refused
from fakekube.apiserver.call import Call
from fakekube.apiserver.registry.core.pod.resources import of_pod
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.apiserver.wire.status import together

Object = dict[str, Any]
Quantities = Mapping[str, str]

ANNOTATION = "kubernetes.io/limit-ranger"

#: Field of a pod's containers -> the name of such a container in the annotation.
CONTAINERS = {"containers": "container", "initContainers": "init container"}


def _ranges(call: Call) -> Iterator[Object]:
    """The LimitRanges of the namespace."""
    for _, entry in call.server.store.collection("limitranges").scan(f"{call.namespace}/", "", None):
        yield entry.object


def _limits(limit_range: Object) -> Sequence[Object]:
    found: Sequence[Object] = (limit_range.get("spec") or {}).get("limits") or ()
    return found


def _is_resize(call: Call, old: Object) -> bool:
    """Whether an update is a resize; other updates cannot change container resources."""
    return call.info.subresource == "resize" and not old["metadata"].get("deletionTimestamp")


# --- defaults --------------------------------------------------------------------------------------------------------


def mutate_pod(call: Call, obj: Object, old: Object | None) -> Object:
    """Set the default requests and limits of containers, and an annotation that lists them."""
    if old is not None and not _is_resize(call, old):
        return obj
    for one in _ranges(call):
        limits: dict[str, str] = {}
        requests: dict[str, str] = {}
        for limit in _limits(one):
            if limit.get("type") == "Container":
                limits |= limit.get("default") or {}
                requests |= limit.get("defaultRequest") or {}
        if limits or requests:
            obj = _defaulted(obj, limits, requests)
    return obj


def _defaulted(pod: Object, limits: Quantities, requests: Quantities) -> Object:
    spec = dict(pod["spec"])
    notes: list[str] = []
    for field, kind in CONTAINERS.items():
        if spec.get(field):
            spec[field] = [_filled(container, kind, limits, requests, notes) for container in spec[field]]
    if not notes:
        return pod
    meta = dict(pod["metadata"])
    meta["annotations"] = {**(meta.get("annotations") or {}), ANNOTATION: "LimitRanger plugin set: " + "; ".join(notes)}
    return {**pod, "metadata": meta, "spec": spec}


def _filled(container: Object, kind: str, limits: Quantities, requests: Quantities, notes: list[str]) -> Object:
    resources = dict(container.get("resources") or {})
    for field, word, defaults in (("requests", "request", requests), ("limits", "limit", limits)):
        have = resources.get(field) or {}
        missing = {name: value for name, value in defaults.items() if name not in have}
        if missing:
            resources[field] = {**have, **missing}
            notes.append(f"{', '.join(sorted(missing))} {word} for {kind} {container.get('name') or ''}")
    return {**container, "resources": resources}


# --- bounds ----------------------------------------------------------------------------------------------------------


def validate_pod(call: Call, obj: Object, old: Object | None) -> None:
    """Check the containers of a new or resized pod, and their totals. Raises 403 with the problems of the first
    LimitRange that rejects it."""
    if old is not None and not _is_resize(call, old):
        return
    for one in _ranges(call):
        problems = [problem for limit in _limits(one) for problem in _problems_of_pod(limit, obj["spec"])]
        if problems:
            raise refused(call, obj, together(problems))


def _problems_of_pod(limit: Object, spec: Object) -> Iterator[str]:
    if limit.get("type") == "Container":
        for field in CONTAINERS:
            for container in spec.get(field) or ():
                resources = container.get("resources") or {}
                yield from _problems(limit, resources.get("requests") or {}, resources.get("limits") or {})
    elif limit.get("type") == "Pod":
        yield from _problems(limit, of_pod(spec, "requests"), of_pod(spec, "limits"))


def validate_claim(call: Call, obj: Object, old: Object | None) -> None:
    """Check the storage request of a claim. Raises 403 with the problems of the first LimitRange that rejects it."""
    if old is not None and old["metadata"].get("deletionTimestamp"):
        return
    requests = ((obj.get("spec") or {}).get("resources") or {}).get("requests") or {}
    for one in _ranges(call):
        problems = [problem for limit in _limits(one) for problem in _problems_of_claim(limit, requests)]
        if problems:
            raise refused(call, obj, together(problems))


def _problems_of_claim(limit: Object, requests: Quantities) -> Iterator[str]:
    if limit.get("type") != "PersistentVolumeClaim":
        return
    for name, least in (limit.get("min") or {}).items():
        problem = _below(limit, name, least, requests, {})
        if problem:
            yield problem
    for name, most in (limit.get("max") or {}).items():
        about = f"maximum {name} usage per {limit['type']} is {most}"
        if name not in requests:
            yield f"{about}.  No request is specified"
        elif number_of(requests[name]) > number_of(most):
            yield f"{about}, but request is {requests[name]}"


def _problems(limit: Object, requests: Quantities, limits: Quantities) -> list[str]:
    found = [_below(limit, name, least, requests, limits) for name, least in (limit.get("min") or {}).items()]
    found += [_above(limit, name, most, requests, limits) for name, most in (limit.get("max") or {}).items()]
    ratios = limit.get("maxLimitRequestRatio") or {}
    found += [_beyond_ratio(limit, name, ratio, requests, limits) for name, ratio in ratios.items()]
    return [problem for problem in found if problem]


def _below(limit: Object, name: str, least: str, requests: Quantities, limits: Quantities) -> str:
    about = f"minimum {name} usage per {limit['type']} is {least}"
    if name not in requests:
        return f"{about}.  No request is specified"
    if number_of(requests[name]) < number_of(least):
        return f"{about}, but request is {requests[name]}"
    if name in limits and number_of(limits[name]) < number_of(least):
        return f"{about}, but limit is {limits[name]}"
    return ""


def _above(limit: Object, name: str, most: str, requests: Quantities, limits: Quantities) -> str:
    about = f"maximum {name} usage per {limit['type']} is {most}"
    if name not in limits:
        return f"{about}.  No limit is specified"
    if number_of(limits[name]) > number_of(most):
        return f"{about}, but limit is {limits[name]}"
    if name in requests and number_of(requests[name]) > number_of(most):
        return f"{about}, but request is {requests[name]}"
    return ""


def _beyond_ratio(limit: Object, name: str, most: str, requests: Quantities, limits: Quantities) -> str:
    about = f"{name} max limit to request ratio per {limit['type']} is {most}"
    request = number_of(requests.get(name, "0"))
    if not request:
        return f"{about}, but no request is specified or request is 0"
    used = number_of(limits.get(name, "0"))
    if not used:
        return f"{about}, but no limit is specified or limit is 0"
    ratio = float(used) / float(request)
    return f"{about}, but provided ratio is {ratio:.6f}" if ratio > float(number_of(most)) else ""
