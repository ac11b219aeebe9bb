"""Ranges of cluster IPs (`registry/core/service/ipallocator`), and the option that sets them.

An address is computed from its position in the range, so that the size of a range does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from fakekube.struct import Struct

Network = IPv4Network | IPv6Network

#: The default of `--service-cluster-ip-range`. (kube-apiserver's own default is deprecated.)
DEFAULT_RANGE = "10.0.0.0/12"

#: The lower part of a range is allocated on request only, or when the rest is used up: a 16th of the range, within
#: these limits (`calculateRangeOffset`).
LEAST_STATIC, MOST_STATIC, STATIC_SHARE = 16, 256, 16

#: The shortest prefix of an IPv6 range that is allocated from (`NewIPAllocator`).
SHORTEST_IPV6_PREFIX = 64


class BadRange(ValueError):
    """The value of `--service-cluster-ip-range` is not valid; the message is kube-apiserver's."""


class Range(Struct, frozen=True):
    """A range of addresses as integers, from `first` to `last`; `dynamic` is the first one of the upper part."""

    network: Network
    first: int
    last: int
    dynamic: int

    @property
    def family(self) -> str:
        return f"IPv{self.network.version}"

    def __contains__(self, address: IPv4Address | IPv6Address) -> bool:
        return address.version == self.network.version and self.first <= int(address) <= self.last

    def text(self, number: int) -> str:
        """The address with this number."""
        return str(IPv4Address(number) if self.network.version == 4 else IPv6Address(number))

    def free(self, held: Container[str], draw: Callable[[], float]) -> str | None:
        """A free address, if any: of the upper part, else of the lower one, searched from a random position."""
        for first, last in ((self.dynamic, self.last), (self.first, self.dynamic - 1)):
            size = last - first + 1
            start = int(draw() * size) if size > 0 else 0
            for i in range(size):
                address = self.text(first + (start + i) % size)
                if address not in held:
                    return address
        return None


def range_of(network: Network) -> Range | None:
    """The range of a network; None if it is too large to allocate from."""
    if network.version == 6 and network.prefixlen < SHORTEST_IPV6_PREFIX:
        return None
    size = network.num_addresses
    static = 0 if size <= LEAST_STATIC else min(max(size // STATIC_SHARE, LEAST_STATIC), MOST_STATIC)
    base = int(network.network_address)
    last = base + size - (2 if network.version == 4 else 1)
    return Range(network, base + 1, last, base + 1 + static)


@lru_cache(maxsize=32)
def parse_ranges(text: str) -> tuple[Network, ...]:
    """The networks of a value of `--service-cluster-ip-range`: one, or one of each family. Raises BadRange."""
    if not text:
        raise BadRange("--service-cluster-ip-range must contain at least one valid cidr")
    parts = text.split(",")
    if len(parts) > 2:
        raise BadRange("--service-cluster-ip-range must not contain more than two entries")
    found: list[Network] = []
    for i, (part, what) in enumerate(zip(parts, ("a valid cidr", "an ip net"), strict=False)):
        try:
            if "/" not in part:
                raise ValueError(part)
            found.append(ip_network(part, strict=False))
        except ValueError:
            raise BadRange(f"service-cluster-ip-range[{i}] is not {what}") from None
    if found[0].num_addresses < 8:
        raise BadRange(
            "error determining service IP ranges for primary service cidr: the service cluster IP range must be at "
            "least 8 IP addresses"
        )
    if len(found) == 2 and found[0].version == found[1].version:
        raise BadRange("--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family")
    return tuple(found)
