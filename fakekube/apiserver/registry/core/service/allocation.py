"""Allocates cluster IPs and node ports to services (`registry/core/service/ipallocator`, `portallocator`).

A write reserves nothing until it is committed, so that a rejected or dropped write needs no release. A port is taken if
a stored service has it. A cluster IP is taken if a stored service has it, or if there is an IPAddress with its name.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Callable, Container, Iterator, Sequence
from ipaddress import ip_address, ip_network
from typing import Any

from fakekube.apiserver.registry.core.service.ranges import DEFAULT_RANGE, Network, Range, parse_ranges, range_of
from fakekube.apiserver.storage.store import Store
from fakekube.apiserver.wire.status import StatusError
from fakekube.struct import Struct, field

Object = dict[str, Any]

#: The default of `--service-node-port-range`, and how much of its lower part is allocated on request only, or when the
#: rest is used up.
NODE_PORTS = range(30000, 32768)
STATIC_PORTS = 86

COLLECTION = "services"
ADDRESSES = "ipaddresses.networking.k8s.io"
SERVICE_CIDRS = "servicecidrs.networking.k8s.io"


class Unavailable(Exception):
    """The address or the port is not available; the message is the API server's."""


TAKEN_ADDRESS, TAKEN_PORT = "provided IP is already allocated", "provided port is already allocated"


def _is_ready(service_cidr: Object) -> bool:
    """A ServiceCIDR without a Ready condition counts as ready (`isReady`)."""
    if service_cidr["metadata"].get("deletionTimestamp"):
        return False
    conditions = (service_cidr.get("status") or {}).get("conditions") or ()
    return next((one["status"] == "True" for one in conditions if one["type"] == "Ready"), True)


def addresses_of(service: Object) -> Iterator[str]:
    for address in (service.get("spec") or {}).get("clusterIPs") or ():
        if address != "None":
            yield address


def ports_of(service: Object) -> Iterator[int]:
    """Yields each node port once, and that of the health check."""
    spec = service.get("spec") or {}
    yield from {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}
    if spec.get("healthCheckNodePort"):
        yield spec["healthCheckNodePort"]


class ServiceAllocations(Struct):
    """The addresses and ports of the stored services, which follow the changes of the store.

    `networks`: `--service-cluster-ip-range`. `tracked`: the server has ServiceCIDRs and IPAddresses.
    Invariant: `addresses` and `ports` count what the services held at `revision`.
    """

    store: Store
    networks: tuple[Network, ...] = parse_ranges(DEFAULT_RANGE)
    tracked: bool = True
    revision: int = 0
    addresses: Counter[str] = field(default_factory=Counter)
    ports: Counter[int] = field(default_factory=Counter)
    _ranges: tuple[Range, ...] = ()
    _ranges_revision: int = -1

    @property
    def families(self) -> tuple[str, ...]:
        """The IP families of the cluster, the primary one first."""
        return tuple(f"IPv{network.version}" for network in self.networks)

    def ranges(self) -> Sequence[Range]:
        """The ranges that addresses are allocated from, those of the oldest ServiceCIDR first."""
        collection = self.store.collection(SERVICE_CIDRS)
        revision = collection.revision if self.tracked else 0
        if revision != self._ranges_revision:
            self._ranges_revision = revision
            networks: list[Network] = list(self.networks)
            if self.tracked:
                entries = sorted(
                    collection.live.values(), key=lambda entry: entry.object["metadata"]["creationTimestamp"]
                )
                ready = [entry.object for entry in entries if _is_ready(entry.object)]
                networks = [ip_network(text, strict=False) for cidr in ready for text in cidr["spec"]["cidrs"]]
            found = (range_of(network) for network in dict.fromkeys(networks))
            self._ranges = tuple(one for one in found if one is not None)
        return self._ranges

    def held(self) -> Container[str]:
        """The cluster IPs that are taken."""
        return ChainMap[str, Any](self.store.collection(ADDRESSES).live, self.addresses)

    def current(self) -> ServiceAllocations:
        """Applies the changes since `revision` and returns itself."""
        try:
            changes = self.store.since(COLLECTION, self.revision)
        except StatusError:  # the history since then is compacted: count all services
            self.addresses, self.ports = Counter(), Counter()
            for _, entry in self.store.collection(COLLECTION).scan("", "", None):
                self._count(entry.object, 1)
        else:
            for change in changes:
                if change.before is not None:
                    self._count(change.before.object, -1)
                if change.after is not None:
                    self._count(change.after.object, 1)
        self.revision = self.store.revision
        return self

    def _count(self, service: Object, by: int) -> None:
        for address in addresses_of(service):
            self.addresses[address] += by
            if not self.addresses[address]:
                del self.addresses[address]
        for port in ports_of(service):
            self.ports[port] += by


class Allocator(Struct):
    """The allocations of one request.

    `draw` returns a number in [0, 1) for a purpose and a key. A dry run gets invented values.
    """

    held: ServiceAllocations
    draw: Callable[[str, str], float]
    dry_run: bool = False
    ports: set[int] = field(default_factory=set)

    @property
    def families(self) -> tuple[str, ...]:
        """The IP families of the cluster, the primary one first."""
        return self.held.families

    def take_address(self, address: str) -> None:
        """Raises Unavailable."""
        wanted = ip_address(address)
        if self.dry_run:
            self._check_first_range(address)
            return
        if not any(wanted in one for one in self.held.ranges()):
            raise Unavailable("the provided network does not match the current range")
        if str(wanted) in self.held.held():
            raise Unavailable(TAKEN_ADDRESS)

    def _check_first_range(self, address: str) -> None:
        """A dry run checks one range of the family only, and not whether the address is taken (`dryRunAllocator`)."""
        wanted = ip_address(address)
        first = next((one for one in self.held.ranges() if one.network.version == wanted.version), None)
        if first is not None and wanted not in first:
            valid = f"The range of valid IPs is {first.network}"
            raise Unavailable(f"the provided IP ({address}) is not in the valid range. {valid}")

    def next_address(self, family: str, key: str) -> str:
        """Raises Unavailable if all addresses of the family are taken."""
        ranges = [one for one in self.held.ranges() if one.family == family]
        if self.dry_run and ranges:
            return str(ranges[0].network.network_address)
        held = self.held.held()
        for one in ranges:
            address = one.free(held, lambda: self.draw("address", key))
            if address is not None:
                return address
        raise Unavailable("range is full")

    def take_port(self, port: int) -> None:
        """Raises Unavailable. A dry run does not check the range."""
        if port not in NODE_PORTS and not self.dry_run:
            low, high = NODE_PORTS[0], NODE_PORTS[-1]
            raise Unavailable(f"provided port is not in the valid range. The range of valid ports is {low}-{high}")
        if self.held.ports[port] or port in self.ports:
            raise Unavailable(TAKEN_PORT)
        self.ports.add(port)

    def next_port(self, key: str) -> int:
        """Raises Unavailable where all are taken."""
        if self.dry_run:
            port = max(self.ports, default=NODE_PORTS[-1] + 1) + 1
            self.ports.add(port)
            return port
        held, mine = self.held.ports, self.ports
        for part in (NODE_PORTS[STATIC_PORTS:], NODE_PORTS[:STATIC_PORTS]):
            free = [port for port in part if not held[port] and port not in mine]
            if free:
                port = free[int(self.draw("port", key) * len(free))]
                self.ports.add(port)
                return port
        raise Unavailable("range is full")
