"""The controller that mirrors Endpoints made by users in EndpointSlices (`pkg/controller/endpointslicemirroring`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from controllerlib import Request, Result
from controllerlib.client import selector_from_set
from controllerlib.controller import RequestQueue
from controllerlib.workqueue import ItemExponentialFailureRateLimiter
from fakekube.apiserver.registry.generic.validation.content import Address, parse_ip
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.lister import StaleCache
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.serviceendpoints.deephash import in_slice_order
from fakekube.controllers.serviceendpoints.endpointsubsets import repacked
from fakekube.controllers.serviceendpoints.sliceevents import MANAGED_BY, SliceEvents
from fakekube.controllers.serviceendpoints.slices import (
    Endpoint,
    Slice,
    SliceChanges,
    endpoint_key,
    is_same_endpoint,
    ports_key,
)
from fakekube.controllers.serviceendpoints.slicetracker import SERVICE_NAME, SliceTracker
from fakekube.controllers.serviceendpoints.slicewriter import SliceWriter
from fakekube.controllers.workload.controllerref import controller_reference
from fakekube.controllers.workload.podcontrol import pods_prefix
from fakekube.controllers.workload.retries import limited

NAME = "endpointslice-mirroring-controller"
ACCOUNT = "endpointslicemirroring-controller"
MANAGER = "endpointslicemirroring-controller.k8s.io"

SKIP = "endpointslice.kubernetes.io/skip-mirror"
LEADER = "control-plane.alpha.kubernetes.io/leader"

#: Annotations that are not mirrored.
_SKIPPED = ("endpoints.kubernetes.io/last-change-trigger-time", "kubectl.kubernetes.io/last-applied-configuration")

#: Most addresses of a subset that are mirrored (--mirroring-max-endpoints-per-subset).
MOST = 1000

#: How many reconciles run at the same time (--mirroring-concurrent-service-endpoint-syncs), and the failures after
#: which one is dropped.
WORKERS, RETRIES = 5, 15

Object = Mapping[str, Any]
Desired = dict[tuple[str, bytes], tuple[list[Object], dict[Any, Endpoint]]]


class Skipped(NamedTuple):
    """How many addresses are not mirrored, and how many of them because they are invalid."""

    all: int
    invalid: int


def add(context: ControllerContext) -> None:
    """Add the controller that mirrors Endpoints."""
    EndpointSliceMirroringController(context).add()


class EndpointSliceMirroringController:
    """Mirrors the Endpoints of Services without a selector in EndpointSlices."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._recorder = context.recorder("endpoint-slice-mirroring-controller")
        self._services = context.kind("v1", "Service")
        self._endpoints = context.kind("v1", "Endpoints")
        self._slices = context.kind("discovery.k8s.io/v1", "EndpointSlice")
        self._tracker = SliceTracker()
        self._writer = SliceWriter(context.client(ACCOUNT), self._tracker, "Endpoints")

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME).with_options(
            max_concurrent_reconciles=WORKERS,
            rate_limiter=lambda: ItemExponentialFailureRateLimiter(1.0, 100.0),
        )
        builder.watches(
            "v1",
            "Endpoints",
            object_events(created=_enqueue_mirrored, updated=_endpoints_updated, deleted=_enqueue_mirrored),
        )
        builder.watches(
            "v1", "Service", object_events(created=_enqueue_custom, updated=_service_updated, deleted=_enqueue_custom)
        )
        builder.watches("discovery.k8s.io/v1", "EndpointSlice", SliceEvents(MANAGER, self._tracker, 0.0).handler)
        builder.complete(limited(self.reconcile, RETRIES))

    async def reconcile(self, request: Request) -> Result | None:
        endpoints = self._endpoints.get(request.namespace, request.name)
        service = self._services.get(request.namespace, request.name)
        wanted = selector_from_set({SERVICE_NAME: request.name, MANAGED_BY: MANAGER})
        slices = self._slices.list(request.namespace, wanted)
        selected = service is not None and service["spec"].get("selector") is not None
        if endpoints is None or not _is_mirrored(endpoints) or service is None or selected:
            self._tracker.forget(request)
            if slices:
                owner = endpoints or {"metadata": {"namespace": request.namespace, "name": request.name}}
                await self._writer.write(owner, SliceChanges(delete=list(slices)))
                self._tracker.forget(request)
            return None
        if self._tracker.is_stale(request, slices):
            raise StaleCache("EndpointSlice informer cache is out of date")
        await self._writer.write(endpoints, self._changes(endpoints, slices))
        return None

    def _changes(self, endpoints: Object, slices: Sequence[Object]) -> SliceChanges:
        existing: dict[tuple[str, bytes], list[Object]] = {}
        for one in slices:
            existing.setdefault((one["addressType"], ports_key(one.get("ports") or ())), []).append(one)
        changes, (desired, skipped) = SliceChanges(), desired_endpoints(endpoints)
        self._skipped(endpoints, skipped)
        for key, (ports, found) in desired.items():
            present = existing.get(key, [])
            if not found:
                changes.delete += present
                continue
            changes.delete += present[1:]
            if present and _is_up_to_date(endpoints, present[0], found):
                continue
            new = _new_slice(endpoints, key[0], ports, list(found.values()), present[0] if present else None)
            (changes.update if present else changes.create).append(new)
        for key, left in existing.items():
            if key not in desired:
                changes.delete += left
        changes.recycle()
        return changes

    def _skipped(self, endpoints: Object, skipped: Skipped) -> None:
        """Record Events about the addresses that are not mirrored."""
        if skipped.invalid:
            text = f"Skipped {skipped.invalid} invalid IP addresses when mirroring to EndpointSlices"
            self._recorder.event(endpoints, "Warning", "InvalidIPAddress", text)
        if skipped.all > skipped.invalid:
            text = (
                f"A max of {MOST} addresses can be mirrored to EndpointSlices per Endpoints subset. "
                f"{skipped.all} addresses were skipped"
            )
            self._recorder.event(endpoints, "Warning", "TooManyAddressesToMirror", text)


def desired_endpoints(endpoints: Object, most: int = MOST) -> tuple[Desired, Skipped]:
    """The endpoints by type of address and ports: of each subset, the first `most` addresses that are valid."""
    desired: Desired = {}
    invalid = skipped = 0
    for subset in repacked(endpoints.get("subsets") or ()):
        ports = in_slice_order(_port(one) for one in subset.get("ports") or ())
        for kind in ("IPv4", "IPv6"):
            desired.setdefault((kind, ports_key(ports)), (ports, {}))
        listed = [(one, True) for one in subset.get("addresses") or ()]
        listed += [(one, False) for one in subset.get("notReadyAddresses") or ()]
        added = 0
        for address, ready in listed:
            if added >= most:
                break
            ip = parse_ip(address["ip"])
            if ip is None:
                invalid += 1
                continue
            added += 1
            endpoint = _endpoint(ip, address, ready)
            desired[f"IPv{ip.version}", ports_key(ports)][1][endpoint_key(endpoint)] = endpoint
        skipped += len(listed) - added
    return desired, Skipped(skipped, invalid)


def _is_mirrored(endpoints: Object) -> bool:
    meta = endpoints["metadata"]
    return (meta.get("labels") or {}).get(SKIP) != "true" and LEADER not in (meta.get("annotations") or {})


def _enqueue_mirrored(endpoints: Object, queue: RequestQueue) -> None:
    if _is_mirrored(endpoints):
        queue.add(Request.of(endpoints))


def _endpoints_updated(old: Object, new: Object, queue: RequestQueue) -> None:
    if _is_mirrored(old) or _is_mirrored(new):
        queue.add(Request.of(new))


def _enqueue_custom(service: Object, queue: RequestQueue) -> None:
    if service["spec"].get("selector") is None:
        queue.add(Request.of(service))


def _service_updated(old: Object, new: Object, queue: RequestQueue) -> None:
    if (old["spec"].get("selector") is None) != (new["spec"].get("selector") is None):
        queue.add(Request.of(new))


def _port(port: Object) -> dict[str, Any]:
    found = {"name": port.get("name") or "", "port": port["port"], "protocol": port.get("protocol", "TCP")}
    return {**found, "appProtocol": port["appProtocol"]} if port.get("appProtocol") else found


def _endpoint(ip: Address, address: Object, ready: bool) -> Endpoint:
    found: Endpoint = {"addresses": [str(ip)], "conditions": {"ready": ready}}
    return found | {name: address[name] for name in ("targetRef", "nodeName", "hostname") if address.get(name)}


def _annotations(endpoints: Object) -> dict[str, str]:
    own = endpoints["metadata"].get("annotations") or {}
    return {name: value for name, value in own.items() if name not in _SKIPPED}


def _is_up_to_date(endpoints: Object, slice: Object, desired: Mapping[Any, Endpoint]) -> bool:
    """Whether a slice has these endpoints, and the labels, annotations and uid of the Endpoints."""
    present = {endpoint_key(one): one for one in slice.get("endpoints") or ()}
    if present.keys() != desired.keys() or not all(is_same_endpoint(one, desired[key]) for key, one in present.items()):
        return False
    meta, own = slice["metadata"], endpoints["metadata"]
    labels = {
        name: value for name, value in (meta.get("labels") or {}).items() if name not in (MANAGED_BY, SERVICE_NAME)
    }
    if labels != (own.get("labels") or {}) or _annotations(endpoints) != (meta.get("annotations") or {}):
        return False
    references = meta.get("ownerReferences") or ()
    return not any(
        one["kind"] == "Endpoints" and one["name"] == own["name"] and one["uid"] != own["uid"] for one in references
    )


def _new_slice(
    endpoints: Object, kind: str, ports: Sequence[Object], found: Sequence[Endpoint], present: Object | None
) -> Slice:
    meta = endpoints["metadata"]
    named = {"generateName": pods_prefix(meta["name"])} if present is None else {"name": present["metadata"]["name"]}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            **named,
            "namespace": meta["namespace"],
            "labels": {**(meta.get("labels") or {}), SERVICE_NAME: meta["name"], MANAGED_BY: MANAGER},
            "annotations": _annotations(endpoints),
            "ownerReferences": [controller_reference(endpoints, "v1", "Endpoints")],
        },
        "addressType": kind,
        "endpoints": list(found[:MOST]),
        "ports": list(ports),
    }
