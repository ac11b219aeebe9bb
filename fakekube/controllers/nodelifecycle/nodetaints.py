"""The taints that follow from the conditions of a node, and how they are written (`nodelifecycle`, `taintutils`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import Client
from controllerlib.client import retry_on_conflict
from controllerlib.wait import Backoff
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.workload.podstate import timestamp

PREFIX = "node.kubernetes.io/"
NOT_READY = f"{PREFIX}not-ready"
UNREACHABLE = f"{PREFIX}unreachable"
UNSCHEDULABLE = f"{PREFIX}unschedulable"

#: Type and status of a condition -> the key of its taint.
_BY_CONDITION: Mapping[tuple[str, str], str] = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): f"{PREFIX}memory-pressure",
    ("DiskPressure", "True"): f"{PREFIX}disk-pressure",
    ("NetworkUnavailable", "True"): f"{PREFIX}network-unavailable",
    ("PIDPressure", "True"): f"{PREFIX}pid-pressure",
}

_MANAGED = frozenset({*_BY_CONDITION.values(), UNSCHEDULABLE})

#: The attempts to change the taints of a node (controller.UpdateTaintBackoff).
_ATTEMPTS = Backoff(duration=0.1, jitter=1.0, steps=5)

Object = Mapping[str, Any]
Taint = Mapping[str, Any]


def wanted_keys(node: Object) -> Sequence[str]:
    """The keys of the taints NoSchedule that a node should have by its conditions."""
    conditions = (node.get("status") or {}).get("conditions") or ()
    found = [_BY_CONDITION.get((one["type"], one["status"])) for one in conditions]
    keys = [key for key in found if key is not None]
    return [*keys, UNSCHEDULABLE] if node["spec"].get("unschedulable") else keys


def present_keys(node: Object) -> Sequence[str]:
    """The keys of the taints NoSchedule that follow from conditions and that a node has."""
    taints = node["spec"].get("taints") or ()
    return [one["key"] for one in taints if one["effect"] == "NoSchedule" and one["key"] in _MANAGED]


def has_taint(node: Object, key: str, effect: str) -> bool:
    return any(_is(one, key, effect) for one in node["spec"].get("taints") or ())


def _is(taint: Taint, key: str, effect: str) -> bool:
    return bool(taint["key"] == key and taint["effect"] == effect)


class TaintWriter:
    """Adds and removes taints of nodes as one controller."""

    def __init__(self, context: ControllerContext, client: Client) -> None:
        self._context, self._client = context, client

    async def swap(self, node: Object, add: Sequence[str], remove: Sequence[str], effect: str) -> None:
        """Add taints with the present time, and remove others, in a write each. Raises ApiError.

        Source: kubernetes, controllerutil.SwapNodeControllerTaint.
        """
        now = timestamp(self._context.now())
        if add:
            new = [{"key": key, "effect": effect, "timeAdded": now} for key in add]
            await self._change(node, add=new)
        if any(has_taint(node, key, effect) for key in remove):
            await self._change(node, remove=[(key, effect) for key in remove])

    async def _change(self, node: Object, *, add: Sequence[Taint] = (), remove: Sequence[tuple[str, str]] = ()) -> None:
        name = node["metadata"]["name"]

        async def attempt() -> None:
            stored = await self._client.get("v1", "Node", name)
            before = stored["spec"].get("taints") or []
            after = [one for one in before if (one["key"], one["effect"]) not in remove]
            for taint in add:
                at = next((i for i, one in enumerate(after) if _is(one, taint["key"], taint["effect"])), None)
                if at is None:
                    after.append(taint)
                elif after[at].get("value") != taint.get("value"):
                    after[at] = taint
            if after != before:
                version = stored["metadata"]["resourceVersion"]
                patch = {"metadata": {"resourceVersion": version}, "spec": {"taints": after or None}}
                await self._client.patch(stored, patch, type="merge" if not after else "strategic")

        await retry_on_conflict(attempt, _ATTEMPTS, clock=self._context.clock, random=self._context.manager.random)
