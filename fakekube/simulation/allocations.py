"""What a cluster allocates: addresses and ports, which a retry, or another order, draws anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

Object = Mapping[str, Any]


def drawn(final: Mapping[str, Object]) -> frozenset[str]:
    """The cluster IPs and node ports of all Services, which the server draws unless a client names them."""
    return frozenset(map(str, _of_all(final, "svc/", _of_service)))


def assigned(final: Mapping[str, Object]) -> frozenset[str]:
    """The addresses of all pods, which their node assigns in the order in which they start."""
    return frozenset(map(str, _of_all(final, "pod/", _of_pod)))


def nodes(final: Mapping[str, Object]) -> frozenset[str]:
    """The names and addresses of all nodes."""
    return frozenset(map(str, _of_all(final, "node/", _of_node)))


def _of_all(final: Mapping[str, Object], prefix: str, values: Callable[[Object], Iterable[Any]]) -> Iterator[Any]:
    for target, obj in final.items():
        if target.startswith(prefix):
            yield from (one for one in values(obj) if one and one != "None")


def _of_service(service: Object) -> Iterable[Any]:
    spec = service.get("spec") or {}
    yield from spec.get("clusterIPs") or ()
    yield spec.get("healthCheckNodePort")
    yield from (port.get("nodePort") for port in spec.get("ports") or ())


def _of_pod(pod: Object) -> Iterable[Any]:
    status = pod.get("status") or {}
    yield status.get("podIP")
    yield from (one.get("ip") for one in status.get("podIPs") or ())


def _of_node(node: Object) -> Iterable[Any]:
    yield node["metadata"]["name"]
    yield from (one.get("address") for one in (node.get("status") or {}).get("addresses") or ())


class Allocations:
    """The allocations of two runs. `pinned`: what clients have named, which no run may change. `moved`: whether pods
    may be on other nodes.
    """

    def __init__(
        self,
        first: Mapping[str, Object],
        second: Mapping[str, Object],
        pinned: frozenset[str] = frozenset(),
        *,
        moved: bool = False,
    ) -> None:
        self._first, self._second, self._pinned, self._moved = first, second, pinned, moved

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
        return self._pattern(self._first), self._pattern(self._second)

    def _pattern(self, final: Mapping[str, Object]) -> re.Pattern[str] | None:
        found = (drawn(final) | assigned(final)) - self._pinned
        values = sorted(found | nodes(final) if self._moved else found, key=len, reverse=True)
        return re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, values))})(?![\w]|\.\w)") if values else None

    def are_equal(self, before: Any, after: Any) -> bool:
        """Whether two leaves are equal but for what their runs have allocated, alone or as a part of a text."""
        if type(before) is not type(after) or not isinstance(before, str | int) or isinstance(before, bool):
            return False
        first, second = self._patterns
        if first is None or second is None:
            return False
        return first.sub("*", str(before)) == second.sub("*", str(after))
