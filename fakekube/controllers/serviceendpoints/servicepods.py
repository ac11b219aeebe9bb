"""Which pods are endpoints of a Service, and which Services a change of a pod concerns (`endpointslice/util`)."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import Request
from controllerlib.controller import HandlerFuncs, RequestQueue
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.podstate import Pod, is_ready, is_terminal, moment

Object = Mapping[str, Any]


def is_endpoint(pod: Pod, *, include_terminating: bool) -> bool:
    """Whether a pod has an address and has not ended (ShouldPodBeInEndpoints)."""
    if is_terminal(pod) or not addresses(pod):
        return False
    return include_terminating or not pod["metadata"].get("deletionTimestamp")


def addresses(pod: Pod) -> Sequence[str]:
    """The addresses of a pod."""
    status = pod.get("status") or {}
    found = [one["ip"] for one in status.get("podIPs") or () if one.get("ip")]
    return found or ([status["podIP"]] if status.get("podIP") else [])


def is_ipv6(address: str) -> bool:
    return ipaddress.ip_address(address).version == 6


def has_hostname(pod: Pod, service: Object) -> bool:
    """Whether the endpoint of a pod has its hostname: it is in the subdomain of the Service (ShouldSetHostname)."""
    spec, meta = pod["spec"], service["metadata"]
    same = pod["metadata"]["namespace"] == meta["namespace"]
    return bool(same and spec.get("hostname") and spec.get("subdomain") == meta["name"])


def is_headless(service: Object) -> bool:
    return service["spec"].get("clusterIP") in (None, "", "None")


def target_port(pod: Pod, port: Object) -> int | None:
    """The number of the port of a pod that a port of a Service leads to; None if the pod has none (FindPort)."""
    target = port.get("targetPort", port["port"])
    if isinstance(target, int):
        return target
    spec = pod["spec"]
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    for container in [*spec["containers"], *sidecars]:
        for one in container.get("ports") or ():
            if one.get("name") == target and one.get("protocol", "TCP") == port.get("protocol", "TCP"):
                return int(one["containerPort"])
    return None


def selects(service: Object) -> bool:
    """Whether the endpoints of a Service are made from pods."""
    return service["spec"].get("type") != "ExternalName" and service["spec"].get("selector") is not None


class ServicePods:
    """Enqueues the Services that select a pod which has changed.

    Source: kubernetes, endpointsliceutil.GetPodUpdateProjectionKey, GetServicesToUpdate.
    """

    def __init__(self, services: CachedKind) -> None:
        self._services = services

    @property
    def handler(self) -> HandlerFuncs:
        """The event handler for the source of pods."""
        return object_events(created=self._enqueue_selecting, updated=self._updated, deleted=self._enqueue_selecting)

    def _enqueue_selecting(self, pod: Object, queue: RequestQueue) -> None:
        self._enqueue(self._selecting(pod), queue)

    def _updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        if old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]:
            return
        changed, relabeled = has_changed(old, new), is_relabeled(old, new)
        if relabeled:
            before, after = self._selecting(old), self._selecting(new)
            both = {**before, **after}
            self._enqueue(both if changed else {one: None for one in both if (one in before) != (one in after)}, queue)
        elif changed:
            self._enqueue(self._selecting(new), queue)

    def _selecting(self, pod: Pod) -> dict[Request, None]:
        labels = pod["metadata"].get("labels") or {}
        found: dict[Request, None] = {}
        for service in self._services.list(pod["metadata"]["namespace"]):
            selector = service["spec"].get("selector")
            if selector is not None and all(labels.get(key) == value for key, value in selector.items()):
                found[Request.of(service)] = None
        return found

    def _enqueue(self, requests: Mapping[Request, None], queue: RequestQueue) -> None:
        for request in requests:
            queue.add(request)


def has_changed(old: Pod, new: Pod) -> bool:
    """Whether a pod has changed in what an endpoint shows of it."""
    deleted = old["metadata"].get("deletionTimestamp") != new["metadata"].get("deletionTimestamp")
    ips = [(pod.get("status") or {}).get("podIPs") or [] for pod in (old, new)]
    return deleted or is_ready(old) != is_ready(new) or ips[0] != ips[1]


def is_relabeled(old: Pod, new: Pod) -> bool:
    """Whether other Services may select a pod than before, or its name in DNS is another one."""
    if (old["metadata"].get("labels") or {}) != (new["metadata"].get("labels") or {}):
        return True
    return any(old["spec"].get(name) != new["spec"].get(name) for name in ("hostname", "subdomain"))


class TriggerTimes:
    """When the change happened that endpoints are updated for (endpointsliceutil.TriggerTimeTracker)."""

    def __init__(self) -> None:
        self._seen: dict[Request, tuple[str, dict[str, str]]] = {}

    def changed(self, service: Object, pods: Sequence[Pod]) -> str | None:
        """The earliest time of a change since the last call for a Service, None if there was none."""
        request, created = Request.of(service), service["metadata"]["creationTimestamp"]
        before = self._seen.get(request)
        times = {pod["metadata"]["name"]: time for pod in pods if (time := _ready_transition(pod))}
        self._seen[request] = (created, times)
        if before is None:
            return str(created)
        known, old = before
        new = [time for name, time in times.items() if _is_after(time, old.get(name))]
        return min([*new, *([created] if _is_after(created, known) else [])], default=None)

    def forget(self, request: Request) -> None:
        self._seen.pop(request, None)


def _ready_transition(pod: Pod) -> str | None:
    for one in (pod.get("status") or {}).get("conditions") or ():
        if one["type"] == "Ready":
            return one.get("lastTransitionTime")  # type: ignore[no-any-return]
    return None


def _is_after(time: str, other: str | None) -> bool:
    later, earlier = moment(time), moment(other)
    return later is not None and (earlier is None or later > earlier)
