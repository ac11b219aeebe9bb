"""The controller of Endpoints: the addresses of the pods that a Service selects (`pkg/controller/endpoint`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.client import selector_from_set
from controllerlib.controller import CreateEvent, DeleteEvent, EnqueueRequestForObject, HandlerFuncs, RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.serviceendpoints.endpointsubsets import CAPACITY, Subset, repacked, truncated
from fakekube.controllers.serviceendpoints.servicepods import (
    ServicePods,
    TriggerTimes,
    addresses,
    has_hostname,
    is_endpoint,
    is_headless,
    is_ipv6,
    selects,
    target_port,
)
from fakekube.controllers.workload.consistency import ConsistencyStore
from fakekube.controllers.workload.podcontrol import is_namespace_terminating
from fakekube.controllers.workload.podstate import Pod, is_ready
from fakekube.controllers.workload.retries import limited

NAME = "endpoints-controller"
ACCOUNT = "endpoint-controller"

MANAGED_BY = "endpoints.kubernetes.io/managed-by"
HEADLESS = "service.kubernetes.io/headless"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"
OVER_CAPACITY = "endpoints.kubernetes.io/over-capacity"
LEADER = "control-plane.alpha.kubernetes.io/leader"

#: How many reconciles run at the same time (--concurrent-endpoint-syncs), and the failures after which one is dropped.
WORKERS, RETRIES = 5, 15

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller of Endpoints."""
    EndpointsController(context).add()


class EndpointsController:
    """Writes the Endpoints of each Service with a selector, and deletes those of deleted Services."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._recorder = context.recorder(ACCOUNT)
        self._services = context.kind("v1", "Service")
        self._pods = context.kind("v1", "Pod")
        self._endpoints = context.kind("v1", "Endpoints")
        self._triggers = TriggerTimes()
        self._written = ConsistencyStore()

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches("v1", "Service", EnqueueRequestForObject())
        builder.watches("v1", "Pod", ServicePods(self._services).handler)
        builder.watches("v1", "Endpoints", HandlerFuncs(create=_left_over, delete=_deleted))
        builder.complete(limited(self.reconcile, RETRIES))

    async def reconcile(self, request: Request) -> Result | None:
        service = self._services.get(request.namespace, request.name)
        if service is None:
            self._triggers.forget(request)
            self._written.forget(request)
            await self._delete(request)
            return None
        if not selects(service):
            return None
        self._written.check(request)
        selector = selector_from_set(service["spec"]["selector"])
        pods = self._pods.list(request.namespace, selector)
        trigger = self._triggers.changed(service, pods)
        subsets = repacked(_subsets(service, pods))
        present = self._endpoints.get(request.namespace, request.name)
        if present is None or not _is_up_to_date(present, service, subsets):
            await self._write(service, present, subsets, trigger)
        return None

    async def _delete(self, request: Request) -> None:
        try:
            await self._client.delete("v1", "Endpoints", request.name, request.namespace)
        except ApiError as error:
            if error.reason != "NotFound":
                raise

    async def _write(
        self, service: Object, present: Object | None, subsets: Sequence[Subset], trigger: str | None
    ) -> None:
        meta = service["metadata"]
        named = {"name": meta["name"], "namespace": meta["namespace"]}
        base = present or {"apiVersion": "v1", "kind": "Endpoints", "metadata": named}
        kept, over = truncated(subsets)
        changed = {**base, "metadata": {**base["metadata"], "labels": _labels(service)}, "subsets": kept}
        changed["metadata"]["annotations"] = _annotations(base, trigger, over)
        try:
            if present is None:
                await self._client.create(changed)
            else:
                self._written.wrote(service, self._endpoints, await self._client.update(changed))
        except ApiError as error:
            if present is None and is_namespace_terminating(error):
                return
            where = f"{meta['namespace']}/{meta['name']}: {error.message}"
            if present is None:
                text = f"Failed to create endpoint for service {where}"
                self._recorder.event(changed, "Warning", "FailedToCreateEndpoint", text)
            else:
                self._recorder.event(changed, "Warning", "FailedToUpdateEndpoint", f"Failed to update endpoint {where}")
            raise


def _left_over(event: CreateEvent, queue: RequestQueue) -> None:
    """Endpoints that exist at the start may belong to a Service that was deleted since (checkLeftoverEndpoints)."""
    assert event.obj is not None
    if event.is_in_initial_list and LEADER not in (event.obj["metadata"].get("annotations") or {}):
        queue.add(Request.of(event.obj))


def _deleted(event: DeleteEvent, queue: RequestQueue) -> None:
    assert event.obj is not None
    queue.add(Request.of(event.obj))


def _subsets(service: Object, pods: Sequence[Pod]) -> Sequence[Subset]:
    """A subset for each pod and port."""
    spec, found = service["spec"], []
    not_ready_too = bool(spec.get("publishNotReadyAddresses"))
    for pod in pods:
        address = _address(service, pod) if is_endpoint(pod, include_terminating=not_ready_too) else None
        if address is None:
            continue
        name = "addresses" if not_ready_too or is_ready(pod) else "notReadyAddresses"
        if not spec.get("ports") and is_headless(service):
            found.append({name: [address]})
        for port in spec.get("ports") or ():
            number = target_port(pod, port)
            if number is not None:
                found.append({name: [address], "ports": [_port(port, number)]})
    return found


def _address(service: Object, pod: Pod) -> dict[str, Any] | None:
    """The address of a pod in the first family of the Service; None if it has none (podToEndpointAddressForService)."""
    wanted = service["spec"]["ipFamilies"][0] == "IPv6"
    ip = next((one for one in addresses(pod) if is_ipv6(one) == wanted), None)
    if ip is None:
        return None
    meta = pod["metadata"]
    target = {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
    found = {"ip": ip, "nodeName": pod["spec"].get("nodeName", ""), "targetRef": target}
    return {**found, "hostname": pod["spec"]["hostname"]} if has_hostname(pod, service) else found


def _port(port: Object, number: int) -> dict[str, Any]:
    found = {"name": port.get("name"), "port": number, "protocol": port.get("protocol", "TCP")}
    found["appProtocol"] = port.get("appProtocol")
    return {name: value for name, value in found.items() if value not in (None, "")}


def _is_up_to_date(present: Object, service: Object, subsets: Sequence[Subset]) -> bool:
    """Whether Endpoints have these subsets, the labels of the Service and the right annotation of their capacity."""
    meta = present["metadata"]
    current = repacked(present.get("subsets") or ())
    count = sum(len(one.get(name) or ()) for one in current for name in ("addresses", "notReadyAddresses"))
    capacity = count <= CAPACITY and OVER_CAPACITY not in (meta.get("annotations") or {})
    labels = dict(meta.get("labels") or {})
    managed = labels.pop(MANAGED_BY, None) == ACCOUNT
    labels.pop(HEADLESS, None)
    return capacity and managed and labels == (service["metadata"].get("labels") or {}) and current == subsets


def _labels(service: Object) -> dict[str, str]:
    labels = {**(service["metadata"].get("labels") or {}), MANAGED_BY: ACCOUNT}
    labels.pop(HEADLESS, None)
    return {**labels, HEADLESS: ""} if is_headless(service) else labels


def _annotations(base: Object, trigger: str | None, over: bool) -> dict[str, str]:
    present = base["metadata"].get("annotations") or {}
    found = {name: value for name, value in present.items() if name not in (TRIGGER_TIME, OVER_CAPACITY)}
    if trigger is not None:
        found[TRIGGER_TIME] = trigger
    return {**found, OVER_CAPACITY: "truncated"} if over else found
