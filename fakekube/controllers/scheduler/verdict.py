"""Why a pod does not fit on a node."""

from __future__ import annotations

from collections.abc import Callable

from fakekube.controllers.scheduler.clusterview import NodeInfo
from fakekube.struct import Struct


class Rejection(Struct, frozen=True):
    """`resolvable`: whether the pod might fit if other pods were gone, so that preemption can help."""

    plugin: str
    reasons: tuple[str, ...]
    resolvable: bool = True


Filter = Callable[[NodeInfo], Rejection | None]
"""Why a pod does not fit on a node, or None."""

Score = Callable[[NodeInfo], float]
"""How well a pod fits on a node, before it is scaled to 0..100."""


class Unschedulable(Exception):
    """The pod fits on no node, whatever they are like; the message says why (PreFilter)."""

    def __init__(self, plugin: str, message: str) -> None:
        super().__init__(message)
        self.plugin = plugin
