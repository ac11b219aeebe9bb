"""Simulates the attachers of storage drivers (`external-attacher`)."""

from __future__ import annotations

from controllerlib import Request, Result
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import Object, object_events
from fakekube.controllers.persistentvolumes.storagedriver.drivernames import STORAGE_DRIVER, simulates

NAME = "external-attacher"

_API, _KIND = "storage.k8s.io/v1", "VolumeAttachment"


def add(context: ControllerContext) -> None:
    """Add the controller."""
    ExternalAttacher(context).add()


class ExternalAttacher:
    """Marks the attachments of simulated drivers as attached. It has no finalizers: a deleted one is detached."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("", user=STORAGE_DRIVER, user_agent=f"{NAME}/v1")
        self._attachments = context.kind(_API, _KIND)

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME)
        builder.watches(_API, _KIND, object_events(self._seen))
        builder.complete(self.reconcile)

    def _seen(self, attachment: Object, queue: RequestQueue) -> None:
        if simulates(self._context.settings.storage_drivers, attachment["spec"]["attacher"]):
            queue.add(Request.of(attachment))

    async def reconcile(self, request: Request) -> Result | None:
        found = self._attachments.get("", request.name)
        if found is None or found["metadata"].get("deletionTimestamp") or (found.get("status") or {}).get("attached"):
            return None
        await self._client.patch(found, {"status": {"attached": True}}, subresource="status")
        return None
