"""The addresses of nodes and of their pods."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

#: Where the ranges of nodes begin. Services have 10.0.0.0/12 by default.
_FIRST = IPv4Address("10.244.0.0")

#: The addresses of nodes.
_NODES = IPv4Network("172.18.0.0/16")


class NodeRanges:
    """Ranges of pod addresses: a /24 for each node, more for a node with more pods."""

    def __init__(self) -> None:
        self._next, self._nodes = int(_FIRST), 1

    def take(self, pods: int) -> tuple[str, IPv4Network]:
        """The address and the range of a new node."""
        size = 256
        while size < 2 * pods:
            size *= 2
        start = -(-self._next // size) * size
        self._next = start + size
        self._nodes += 1
        network = IPv4Network((start, 32 - (size - 1).bit_length()))
        return str(_NODES[self._nodes]), network


class PodAddresses:
    """The addresses of the pods of one node, the next one that is free after that given out last."""

    def __init__(self, network: IPv4Network) -> None:
        #: by the address: the uid of its pod
        self._network, self._owners = network, dict[str, str]()
        self._size, self._next = network.num_addresses, 1

    def take(self, uid: str) -> str:
        """A free address for a pod. Raises ValueError if there is none."""
        for _ in range(self._size):
            self._next = self._next + 1 if self._next < self._size - 2 else 2
            found = str(self._network[self._next])
            if found not in self._owners:
                self._owners[found] = uid
                return found
        raise ValueError(f"no address of {self._network} is free")

    def keep(self, address: str, uid: str) -> None:
        """Mark an address as that of a pod."""
        self._owners[address] = uid

    def free(self, address: str, uid: str) -> None:
        """A pod has ended, or is gone: its address is free unless another pod has it by now."""
        if self._owners.get(address) == uid:
            del self._owners[address]
