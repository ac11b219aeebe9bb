"""The controller of EndpointSlices: at most 100 endpoints of a Service in each (`pkg/controller/endpointslice`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import Request, Result
from controllerlib.client import selector_from_set
from controllerlib.controller import EnqueueRequestForObject, HandlerFuncs
from controllerlib.workqueue import ItemExponentialFailureRateLimiter
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.lister import StaleCache
from fakekube.controllers.serviceendpoints.deephash import in_slice_order
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
from fakekube.controllers.serviceendpoints.sliceevents import MANAGED_BY, SliceEvents
from fakekube.controllers.serviceendpoints.slices import (
    Endpoint,
    Slice,
    SliceChanges,
    distributed,
    endpoint_key,
    ports_key,
)
from fakekube.controllers.serviceendpoints.slicetracker import SERVICE_NAME, SliceTracker
from fakekube.controllers.serviceendpoints.slicewriter import CannotWriteSlices, SliceWriter
from fakekube.controllers.serviceendpoints.traffichints import distribution_of, hint
from fakekube.controllers.workload.controllerref import controller_reference
from fakekube.controllers.workload.podcontrol import pods_prefix
from fakekube.controllers.workload.podstate import Pod, is_ready
from fakekube.controllers.workload.retries import limited

NAME = "endpointslice-controller"
MANAGER = "endpointslice-controller.k8s.io"

HEADLESS = "service.kubernetes.io/headless"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"

_RESERVED = (SERVICE_NAME, MANAGED_BY, HEADLESS)

#: How many reconciles run at the same time (--concurrent-service-endpoint-syncs), and the failures after which one is
#: dropped.
WORKERS, RETRIES = 5, 15

#: Seconds between a change of a slice by another writer and the reconcile (endpointSliceChangeMinSyncDelay).
DELAY = 1.0

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller of EndpointSlices."""
    EndpointSliceController(context).add()


class EndpointSliceController:
    """Writes the EndpointSlices of each Service with a selector, for each family of its addresses.

    Slices of deleted Services are left to the garbage collector. Topology hints (the annotation topology-mode) are not
    made; hints for spec.trafficDistribution are.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        client = context.client(NAME)
        self._recorder = context.recorder("endpoint-slice-controller")
        self._services = context.kind("v1", "Service")
        self._pods = context.kind("v1", "Pod")
        self._nodes = context.kind("v1", "Node")
        self._slices = context.kind("discovery.k8s.io/v1", "EndpointSlice")
        self._tracker = SliceTracker()
        self._writer = SliceWriter(client, self._tracker, "Service")
        self._triggers = TriggerTimes()

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME).with_options(
            max_concurrent_reconciles=WORKERS,
            rate_limiter=lambda: ItemExponentialFailureRateLimiter(1.0, 1000.0),
        )
        builder.watches("v1", "Service", EnqueueRequestForObject())
        builder.watches("v1", "Pod", ServicePods(self._services).handler)
        builder.watches("v1", "Node", HandlerFuncs())
        events = SliceEvents(MANAGER, self._tracker, DELAY)
        builder.watches("discovery.k8s.io/v1", "EndpointSlice", events.handler)
        builder.complete(limited(self.reconcile, RETRIES))

    async def reconcile(self, request: Request) -> Result | None:
        service = self._services.get(request.namespace, request.name)
        if service is None:
            self._triggers.forget(request)
            self._tracker.forget(request)
            return None
        if not selects(service):
            return None
        pods = self._pods.list(request.namespace, selector_from_set(service["spec"]["selector"]))
        wanted = selector_from_set({SERVICE_NAME: request.name, MANAGED_BY: MANAGER})
        slices = [
            one for one in self._slices.list(request.namespace, wanted) if not one["metadata"].get("deletionTimestamp")
        ]
        if self._tracker.is_stale(request, slices):
            raise StaleCache("EndpointSlice informer cache is out of date")
        trigger = self._triggers.changed(service, pods)
        try:
            await self._reconcile_slices(service, pods, slices, trigger)
        except CannotWriteSlices as error:
            text = f"Error updating Endpoint Slices for Service {request}: {error}"
            self._recorder.event(service, "Warning", "FailedToUpdateEndpointSlices", text)
            raise
        return None

    async def _reconcile_slices(
        self, service: Object, pods: Sequence[Pod], slices: Sequence[Object], trigger: str | None
    ) -> None:
        types = service["spec"]["ipFamilies"]
        problems: list[str] = []
        for kind in types:
            existing = [one for one in slices if one["addressType"] == kind]
            changes, missing = self._changes(service, pods, existing, kind)
            problems += missing
            changes.create[:] = [_triggered(one, trigger) for one in changes.create]
            changes.update[:] = [_triggered(one, trigger) for one in changes.update]
            await self._writer.write(service, changes)
        gone = [one for one in slices if one["addressType"] not in types]
        await self._writer.write(service, SliceChanges(delete=gone))
        if problems:
            raise CannotWriteSlices(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")

    def _changes(
        self, service: Object, pods: Sequence[Pod], existing: Sequence[Object], kind: str
    ) -> tuple[SliceChanges, Sequence[str]]:
        """The changes for one type of addresses, and pods whose nodes are missing (reconcileByAddressType)."""
        owned = [one for one in existing if _is_owned(one, service)]
        changes = SliceChanges(delete=[one for one in existing if one not in owned])
        by_ports: dict[bytes, list[Object]] = {}
        for one in owned:
            by_ports.setdefault(ports_key(one.get("ports") or ()), []).append(one)
        desired, problems = self._desired(service, pods, kind)
        labels = _labels(service)
        for key, (ports, endpoints) in desired.items():
            new = _new_slice(service, kind, ports)
            changes.add(distributed(by_ports.get(key, ()), endpoints, new, labels))
        for key, left in by_ports.items():
            if key not in desired:
                changes.delete += left
        if len(changes.delete) == len(existing) and not changes.create:
            self._keep_placeholder(service, kind, changes)
        changed = {one["metadata"].get("name") for one in (*changes.update, *changes.delete)}
        hint(changes, [one for one in owned if one["metadata"]["name"] not in changed], distribution_of(service))
        changes.recycle(lambda one: _is_owned(one, service))
        return changes, problems

    def _keep_placeholder(self, service: Object, kind: str, changes: SliceChanges) -> None:
        """A Service without endpoints has one slice that is empty."""
        placeholder = _new_slice(service, kind, [])
        if len(changes.delete) == 1:
            present = changes.delete[0]
            same = not present.get("endpoints") and not present.get("ports") and _is_owned(present, service)
            if same and (present["metadata"].get("labels") or {}) == _labels(service):
                changes.delete.clear()
                return
        changes.create.append(placeholder)

    def _desired(
        self, service: Object, pods: Sequence[Pod], kind: str
    ) -> tuple[dict[bytes, tuple[list[Object], dict[Any, Endpoint]]], Sequence[str]]:
        """The endpoints by the ports that they have, and the problems of pods without a node."""
        desired: dict[bytes, tuple[list[Object], dict[Any, Endpoint]]] = {}
        problems, meta = [], service["metadata"]
        for pod in pods:
            if not is_endpoint(pod, include_terminating=True):
                continue
            ports = in_slice_order(_ports(service, pod))
            _, endpoints = desired.setdefault(ports_key(ports), (ports, {}))
            name = pod["spec"].get("nodeName") or ""
            node = self._nodes.get("", name or "-")
            if node is None and not service["spec"].get("publishNotReadyAddresses"):
                where = f"{meta['namespace']}/{meta['name']}"
                problems.append(f"skipping Pod {pod['metadata']['name']} for Service {where}: Node {name} Not Found")
                continue
            endpoint = _endpoint(service, pod, node, kind)
            if endpoint["addresses"]:
                endpoints[endpoint_key(endpoint)] = endpoint
        return desired, problems


def _is_owned(slice: Object, service: Object) -> bool:
    references = slice["metadata"].get("ownerReferences") or ()
    uid = service["metadata"]["uid"]
    return any(one["uid"] == uid and one["kind"] == "Service" and one["apiVersion"] == "v1" for one in references)


def _labels(service: Object) -> dict[str, str]:
    own = service["metadata"].get("labels") or {}
    labels = {name: value for name, value in own.items() if name not in _RESERVED}
    if is_headless(service):
        labels[HEADLESS] = ""
    return {**labels, SERVICE_NAME: service["metadata"]["name"], MANAGED_BY: MANAGER}


def _new_slice(service: Object, kind: str, ports: Sequence[Object]) -> Slice:
    meta = service["metadata"]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": pods_prefix(meta["name"]),
            "namespace": meta["namespace"],
            "labels": _labels(service),
            "ownerReferences": [controller_reference(service, "v1", "Service")],
        },
        "addressType": kind,
        "endpoints": [],
        "ports": list(ports),
    }


def _triggered(slice: Slice, trigger: str | None) -> Slice:
    """The slice with the time of the change that it is written for."""
    meta = slice["metadata"]
    annotations = {name: value for name, value in (meta.get("annotations") or {}).items() if name != TRIGGER_TIME}
    if trigger is not None:
        annotations[TRIGGER_TIME] = trigger
    return {**slice, "metadata": {**meta, "annotations": annotations}}


def _ports(service: Object, pod: Pod) -> list[Object]:
    found: list[Object] = []
    for port in service["spec"].get("ports") or ():
        number = target_port(pod, port)
        if number is not None:
            one = {"name": port.get("name") or "", "port": number, "protocol": port.get("protocol", "TCP")}
            found.append({**one, "appProtocol": port["appProtocol"]} if port.get("appProtocol") else one)
    return found


def _endpoint(service: Object, pod: Pod, node: Object | None, kind: str) -> Endpoint:
    meta, spec = pod["metadata"], pod["spec"]
    serving, terminating = is_ready(pod), bool(meta.get("deletionTimestamp"))
    ready = bool(service["spec"].get("publishNotReadyAddresses")) or (serving and not terminating)
    found: Endpoint = {
        "addresses": [one for one in addresses(pod) if is_ipv6(one) == (kind == "IPv6")],
        "conditions": {"ready": ready, "serving": serving, "terminating": terminating},
        "targetRef": {"kind": "Pod", "namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]},
    }
    if spec.get("nodeName"):
        found["nodeName"] = spec["nodeName"]
    zone = ((node or {}).get("metadata") or {}).get("labels", {}).get("topology.kubernetes.io/zone")
    if zone:
        found["zone"] = zone
    if has_hostname(pod, service):
        found["hostname"] = spec["hostname"]
    return found
