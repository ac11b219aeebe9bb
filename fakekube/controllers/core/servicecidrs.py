"""The controller of ServiceCIDRs: keeps them as long as addresses depend on them (`pkg/controller/servicecidrs`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.client import is_not_found
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import enqueue, object_events
from fakekube.controllers.workload.objectfinalizers import has_finalizer
from fakekube.controllers.workload.podstate import condition, moment, timestamp

API_VERSION = "networking.k8s.io/v1"
NAME = "service-cidr-controller"
WORKERS = 5

FINALIZER = "networking.k8s.io/service-cidr-finalizer"

#: The label of addresses that the server has allocated, and its value.
MANAGED_BY = ("ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io")

#: Seconds until the finalizer is removed, so that all servers know that they must not allocate addresses any more.
GRACE_PERIOD = 10.0

#: How often a range is retried.
MOST_RETRIES = 15

_READY = ("True", "", "Kubernetes Service CIDR is ready")
_BLOCKED = (
    "False",
    "Terminating",
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
)

Object = Mapping[str, Any]
Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address


def add(context: ControllerContext) -> None:
    """Add the controller of ServiceCIDRs."""
    ServiceCidrController(context).add()


class ServiceCidrController:
    """Adds a finalizer and the condition Ready, and removes the finalizer when no address would be orphaned."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("service-cidrs-controller")
        self._recorder = context.recorder(NAME)
        self._ranges = context.kind(API_VERSION, "ServiceCIDR")
        self._addresses = context.kind(API_VERSION, "IPAddress")

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME).with_options(
            max_concurrent_reconciles=WORKERS, use_priority_queue=False
        )
        ranges = object_events(enqueue, created=self._range_added, deleted=enqueue)
        builder.watches(API_VERSION, "ServiceCIDR", ranges)
        addresses = object_events(created=self._address_changed, deleted=self._address_changed)
        builder.watches(API_VERSION, "IPAddress", addresses).complete(self.reconcile)

    def _range_added(self, added: Object, queue: RequestQueue) -> None:
        queue.add(Request.of(added))
        for network in networks(added):
            for other in self._ranges.list():
                if any(_overlap(network, one) for one in networks(other)):
                    queue.add(Request.of(other))

    def _address_changed(self, address: Object, queue: RequestQueue) -> None:
        label, value = MANAGED_BY
        if (address["metadata"].get("labels") or {}).get(label) == value:
            for one in self._containing(ip_address(address["metadata"]["name"])):
                queue.add(Request.of(one))

    async def reconcile(self, request: Request) -> Result | None:
        """Retries a range MOST_RETRIES times."""
        try:
            return await self._sync(request)
        except ApiError:
            if self._context.manager.controllers[NAME].queue.num_requeues(request) < MOST_RETRIES:
                raise
            return None

    async def _sync(self, request: Request) -> Result | None:
        found = self._ranges.get("", request.name)
        if found is None:
            return None
        deleted = moment(found["metadata"].get("deletionTimestamp"))
        if deleted is None:
            await self._add_finalizer(found)
            try:
                await self._set_condition(found, *_READY)
            except ApiError:
                message = "The ServiceCIDR Status can not be set to Ready=True"
                self._recorder.event(found, "Warning", "KubernetesServiceCIDRError", message)
                raise
            return None
        if not self._can_be_deleted(found):
            await self._set_condition(found, *_BLOCKED)
            return None
        wait = GRACE_PERIOD - (self._context.now() - deleted).total_seconds()
        if wait > 0:
            return Result(requeue_after=wait)
        await self._remove_finalizer(found)
        return None

    # --- addresses

    def _containing(self, address: Address) -> Sequence[Object]:
        """The ranges that have an address which they can allocate."""
        return [one for one in self._ranges.list() for network in networks(one) if _is_allocatable(address, network)]

    def _can_be_deleted(self, found: Object) -> bool:
        """Whether other ranges contain this one, or the addresses of it that are in use."""
        name = found["metadata"]["name"]
        if all(self._has_parent(network, name) for network in networks(found)):
            return True
        label, value = MANAGED_BY
        for address in self._addresses.list():
            if (address["metadata"].get("labels") or {}).get(label) == value:
                ranges = self._containing(ip_address(address["metadata"]["name"]))
                if [one["metadata"]["name"] for one in ranges] == [name]:
                    return False
        return True

    def _has_parent(self, network: Network, name: str) -> bool:
        larger = [
            one["metadata"]["name"]
            for one in self._ranges.list()
            for other in networks(one)
            if _overlap(network, other) and other.prefixlen <= network.prefixlen
        ]
        return larger not in ([], [name])

    # --- writes

    async def _add_finalizer(self, found: Object) -> None:
        if not has_finalizer(found, FINALIZER):
            await self._patch(found, {"metadata": {"finalizers": [FINALIZER]}})

    async def _remove_finalizer(self, found: Object) -> None:
        if has_finalizer(found, FINALIZER):
            await self._patch(found, {"metadata": {"$deleteFromPrimitiveList/finalizers": [FINALIZER]}})

    async def _patch(self, found: Object, patch: Object) -> None:
        try:
            await self._client.patch(dict(found), patch, type="strategic")
        except ApiError as error:
            if not is_not_found(error):
                raise

    async def _set_condition(self, found: Object, status: str, reason: str, message: str) -> None:
        known = condition(found, "Ready") or {}
        if (known.get("status"), known.get("reason") or "", known.get("message")) == (status, reason, message):
            return
        ready = {
            "type": "Ready",
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": timestamp(self._context.now()),
        }
        identity = {"apiVersion": API_VERSION, "kind": "ServiceCIDR", "metadata": {"name": found["metadata"]["name"]}}
        body = {**identity, "status": {"conditions": [ready]}}
        await self._client.apply(body, field_manager=NAME, force=True, subresource="status")


def networks(found: Object) -> Iterator[Network]:
    """The networks of a ServiceCIDR."""
    return (ip_network(cidr, strict=False) for cidr in (found.get("spec") or {}).get("cidrs") or ())


def _overlap(one: Network, other: Network) -> bool:
    return one.version == other.version and one.overlaps(other)


def _is_allocatable(address: Address, network: Network) -> bool:
    """Whether a network has an address that is neither that of the network nor its broadcast address."""
    if address.version != network.version or address not in network or address == network.network_address:
        return False
    return address.version == 6 or address != network.broadcast_address
