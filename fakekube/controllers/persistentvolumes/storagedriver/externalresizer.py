"""Simulates the resizers of storage drivers (`external-resizer`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import Request, Result
from controllerlib.controller import HandlerFuncs
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import enqueue, object_events
from fakekube.controllers.persistentvolumes.storagedriver.drivernames import STORAGE_DRIVER, simulates
from fakekube.controllers.persistentvolumes.volumeclaims import (
    PROVISIONED_BY,
    annotations_of,
    capacity,
    claim_capacity,
    requested,
    status,
)
from fakekube.controllers.workload.podstate import phase, timestamp

NAME = "external-resizer"

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller."""
    ExternalResizer(context).add()


class ExternalResizer:
    """Expands the simulated volume of a claim that requests more, and says so in the status of the claim.

    No node has to grow a file system: the claim has its new capacity `Settings.storage_delay` seconds later.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("", user=STORAGE_DRIVER, user_agent=f"{NAME}/v1")
        self._claims = context.kind("v1", "PersistentVolumeClaim")
        self._volumes = context.kind("v1", "PersistentVolume")
        #: When a claim will have been expanded: uid and size -> time.
        self._due: dict[tuple[str, str], float] = {}

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME)
        builder.watches("v1", "PersistentVolumeClaim", object_events(enqueue))
        builder.watches("v1", "PersistentVolume", HandlerFuncs())
        builder.complete(self.reconcile)

    async def reconcile(self, request: Request) -> Result | None:
        claim = self._claims.get(request.namespace, request.name)
        if claim is None or phase(claim) != "Bound" or requested(claim) <= claim_capacity(claim):
            return None
        volume = self._volumes.get("", claim["spec"]["volumeName"])
        if volume is None:
            return None
        driver = annotations_of(volume).get(PROVISIONED_BY, "")
        if not simulates(self._context.settings.storage_drivers, driver):
            return None
        size = claim["spec"]["resources"]["requests"]["storage"]
        key, now = (claim["metadata"]["uid"], size), self._context.clock.monotonic()
        if key not in self._due:
            self._due[key] = now + self._context.settings.storage_delay
            await self._begin(claim, volume, size)
        if now < self._due[key]:
            return Result(requeue_after=self._due[key] - now)
        await self._finish(claim, volume, size)
        del self._due[key]
        return None

    async def _begin(self, claim: Object, volume: Object, size: str) -> None:
        """Note in the status of a claim that it is being expanded."""
        resizing = {"type": "Resizing", "status": "True", "lastTransitionTime": timestamp(self._context.now())}
        begun = {
            "conditions": [*_other_conditions(claim), resizing],
            "allocatedResources": {"storage": size},
            "allocatedResourceStatuses": {"storage": "ControllerResizeInProgress"},
        }
        stored = await self._client.patch(claim, {"status": begun}, subresource="status")
        text = f"External resizer is resizing volume {volume['metadata']['name']}"
        self._recorder(volume).event(stored, "Normal", "Resizing", text)

    async def _finish(self, claim: Object, volume: Object, size: str) -> None:
        """Write the new capacity of a volume and of its claim."""
        if capacity(volume) < requested(claim):
            await self._client.patch(volume, {"spec": {"capacity": {"storage": size}}})
        finished = {
            "capacity": {"storage": size},
            "conditions": list(_other_conditions(claim)) or None,
            "allocatedResourceStatuses": None,
        }
        stored = await self._client.patch(claim, {"status": finished}, subresource="status")
        self._recorder(volume).event(stored, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded")

    def _recorder(self, volume: Object) -> Any:
        return self._context.recorder(f"{NAME} {annotations_of(volume)[PROVISIONED_BY]}")


def _other_conditions(claim: Object) -> list[Object]:
    return [one for one in status(claim).get("conditions") or () if one["type"] != "Resizing"]
