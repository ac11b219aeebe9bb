"""The hash by which kube-controller-manager sorts the ports of endpoints (`deepHashObject`, `portsByHash`).

It is FNV-1a of 128 bits over the text that Go's spew prints for a value with its types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

Object = Mapping[str, Any]

_OFFSET = 0x6C62272E07BB014262B821756295C58D
_PRIME = 0x0000000001000000000000000000013B
_MASK = 2**128 - 1


@lru_cache(maxsize=1024)
def fnv128a(data: bytes) -> int:
    """FNV-1a with 128 bits."""
    value = _OFFSET
    for byte in data:
        value = ((value ^ byte) * _PRIME) & _MASK
    return value


def slice_port_order(port: Object) -> int:
    """The place of a port among those of an EndpointSlice, all of whose fields are pointers in Go."""
    fields = (
        _pointer("Name", "string", port.get("name")),
        _pointer("Protocol", "v1.Protocol", port.get("protocol")),
        _pointer("Port", "int32", port.get("port")),
        _pointer("AppProtocol", "string", port.get("appProtocol")),
    )
    return fnv128a(f"(v1.EndpointPort){{{' '.join(fields)}}}".encode())


def subset_port_order(port: Object) -> int:
    """The place of a port among those of a subset of Endpoints."""
    fields = (
        f"Name:(string){port.get('name') or ''}",
        f"Port:(int32){port['port']}",
        f"Protocol:(v1.Protocol){port.get('protocol') or ''}",
        _pointer("AppProtocol", "string", port.get("appProtocol")),
    )
    return fnv128a(f"(v1.EndpointPort){{{' '.join(fields)}}}".encode())


def in_slice_order(ports: Iterable[Object]) -> list[Object]:
    """Ports in the order in which an EndpointSlice has them."""
    return sorted(ports, key=slice_port_order)


def _pointer(name: str, type: str, value: object) -> str:
    return f"{name}:(*{type}){'<nil>' if value is None else value}"
