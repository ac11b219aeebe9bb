"""What services get out of the server's ranges: cluster addresses and node ports (`registry/core/service/ipallocator`,
`portallocator`).

Nothing is reserved: what is taken is what stored services hold, so that a refused or dropped write gives all back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from fakekube.apiserver.storage.store import Store
from fakekube.apiserver.wire.status import StatusError

Object = dict[str, Any]

#: The defaults of `--service-cluster-ip-range` and `--service-node-port-range`.
CLUSTER_ADDRESSES = IPv4Network("10.0.0.0/24")
NODE_PORTS = range(30000, 32768)
_HOSTS = tuple(map(str, CLUSTER_ADDRESSES.hosts()))

#: The lower part of each range is allocated on request only, or when the rest is used up.
STATIC_ADDRESSES, STATIC_PORTS = 16, 86

#: The address of the API server itself, the service `kubernetes`.
API_SERVER_ADDRESS = "10.0.0.1"

COLLECTION = "services"


class Unavailable(Exception):
    """The address or the port is not available; the message is the API server's."""


TAKEN_ADDRESS, TAKEN_PORT = "provided IP is already allocated", "provided port is already allocated"


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


@dataclass(slots=True)
class ServiceAllocations:
    """The addresses and ports of the stored services, which follow the changes of the store.

    Invariant: `addresses` and `ports` count what the services held at `revision`.
    """

    store: Store
    revision: int = 0
    addresses: Counter[str] = field(default_factory=Counter)
    ports: Counter[int] = field(default_factory=Counter)

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
        for port in ports_of(service):
            self.ports[port] += by


@dataclass(slots=True)
class Allocator:
    """The allocations of one request.

    `draw` returns a number in [0, 1) for a purpose and a key. A dry run gets invented values.
    """

    held: ServiceAllocations
    draw: Callable[[str, str], float]
    dry_run: bool = False
    ports: set[int] = field(default_factory=set)

    def take_address(self, address: str) -> None:
        """Raises Unavailable."""
        if IPv4Address(address) not in CLUSTER_ADDRESSES:
            raise Unavailable("the provided network does not match the current range")
        if address not in _HOSTS:
            raise Unavailable(
                f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {CLUSTER_ADDRESSES}"
            )
        if self.held.addresses[address] or address == API_SERVER_ADDRESS:
            raise Unavailable(TAKEN_ADDRESS)

    def next_address(self, key: str) -> str:
        """Raises Unavailable where all are taken."""
        if self.dry_run:
            return str(CLUSTER_ADDRESSES.network_address)
        held = self.held.addresses
        for part in (_HOSTS[STATIC_ADDRESSES:], _HOSTS[:STATIC_ADDRESSES]):
            free = [one for one in part if not held[one] and one != API_SERVER_ADDRESS]
            if free:
                return free[int(self.draw("address", key) * len(free))]
        raise Unavailable("range is full")

    def take_port(self, port: int) -> None:
        """Raises Unavailable."""
        if port not in NODE_PORTS:
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
