"""The controller that keeps bound volumes from being deleted (`pkg/controller/volume/pvprotection`)."""

from __future__ import annotations

from controllerlib import Request, Result
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.persistentvolumes.protectionfinalizers import (
    add_finalizer,
    needs_finalizer,
    protection_events,
    remove_finalizer,
)
from fakekube.controllers.workload.objectfinalizers import is_deletion_candidate
from fakekube.controllers.workload.podstate import phase

NAME = "persistentvolume-protection-controller"
ACCOUNT = "pv-protection-controller"
FINALIZER = "kubernetes.io/pv-protection"


def add(context: ControllerContext) -> None:
    """Add the controller."""
    VolumeProtection(context).add()


class VolumeProtection:
    """Gives every volume a finalizer, and removes it when a volume is being deleted and is not Bound."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._volumes = context.kind("v1", "PersistentVolume")

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME)
        builder.watches("v1", "PersistentVolume", protection_events(FINALIZER))
        builder.complete(self.reconcile)

    async def reconcile(self, request: Request) -> Result | None:
        volume = self._volumes.get("", request.name)
        if volume is None:
            return None
        if is_deletion_candidate(volume, FINALIZER) and phase(volume) != "Bound":
            await remove_finalizer(self._client, volume, FINALIZER)
        elif needs_finalizer(volume, FINALIZER):
            await add_finalizer(self._client, volume, FINALIZER)
        return None
