"""Allocates from the limited ranges of a server, for the strategies of kinds that need them."""

from __future__ import annotations

from typing import Protocol


class Allocator(Protocol):
    """The cluster IPs and node ports that a request may take. All methods raise Unavailable."""

    @property
    def ports(self) -> set[int]:
        """The node ports that the request has taken."""

    @property
    def families(self) -> tuple[str, ...]:
        """The IP families of the cluster, the primary one first."""

    def take_address(self, address: str) -> None: ...

    def next_address(self, family: str, key: str) -> str: ...

    def take_port(self, port: int) -> None: ...

    def next_port(self, key: str) -> int: ...
