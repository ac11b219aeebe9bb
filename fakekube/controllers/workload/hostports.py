"""The ports of the host that a pod uses (kube-scheduler: `util.GetHostPorts`, plugin NodePorts)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Port = tuple[str, str, int]
"""Host address, protocol, port."""


def host_ports(pod: Mapping[str, Any]) -> frozenset[Port]:
    """The ports of the host that containers and sidecars of a pod use."""
    spec = pod["spec"]
    sidecars = [one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"]
    return frozenset(
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])
        for one in (*sidecars, *spec["containers"])
        for port in one.get("ports") or ()
        if port.get("hostPort")
    )


def conflict(wanted: Iterable[Port], used: Iterable[Port]) -> bool:
    """Whether two pods cannot run on one node because of their ports."""
    used = tuple(used)
    return any(_same(mine, theirs) for mine in wanted for theirs in used)


def _same(left: Port, right: Port) -> bool:
    return left[1:] == right[1:] and (left[0] == right[0] or "0.0.0.0" in (left[0], right[0]))
