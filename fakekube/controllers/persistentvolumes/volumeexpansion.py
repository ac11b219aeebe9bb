"""The controller of claims that are to grow (`pkg/controller/volume/expand`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.persistentvolumes.csimigration import driver_of, migrated_plugin
from fakekube.controllers.persistentvolumes.volumeclaims import (
    PRE_RESIZE_CAPACITY,
    annotations_of,
    claim_capacity,
    requested,
)
from fakekube.controllers.workload.podstate import phase

NAME = "persistentvolume-expander-controller"
ACCOUNT = "expand-controller"
COMPONENT = "volume_expand"
WORKERS = 10

#: The annotation of a claim that names the program which makes its volume grow.
RESIZER = "volume.kubernetes.io/storage-resizer"

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller."""
    VolumeExpansion(context).add()


class CannotExpand(Exception):
    """The volume of a claim cannot be read or is not bound to it; the reconcile is tried again."""


class VolumeExpansion:
    """Records that a claim whose request exceeds its capacity waits for another program: no plugin expands volumes."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._recorder = context.recorder(COMPONENT)
        self._claims = context.kind("v1", "PersistentVolumeClaim")

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches(
            "v1", "PersistentVolumeClaim", object_events(created=_enqueue, updated=_updated, deleted=_enqueue)
        )
        builder.complete(self.reconcile)

    async def reconcile(self, request: Request) -> Result | None:
        claim = self._claims.get(request.namespace, request.name)
        if claim is None:
            return None
        volume = await self._volume_of(claim)
        if requested(claim) <= claim_capacity(claim) and PRE_RESIZE_CAPACITY not in annotations_of(volume):
            return None
        plugin = migrated_plugin(volume)
        if not plugin:
            text = "waiting for an external controller to expand this PVC"
            self._recorder.event(claim, "Normal", "ExternalExpanding", text)
            return None
        text = f"CSI migration enabled for {plugin}; waiting for external resizer to expand the pvc"
        self._recorder.event(claim, "Normal", "ExternalExpanding", text)
        await self._name_resizer(claim, driver_of(plugin))
        return None

    async def _volume_of(self, claim: Object) -> Object:
        """The volume of the server. Raises CannotExpand."""
        meta, name = claim["metadata"], claim["spec"].get("volumeName") or ""
        try:
            volume = await self._client.get("v1", "PersistentVolume", name)
        except ApiError as error:
            raise CannotExpand(f'failed to get PV "{name}": {error.message}') from error
        reference = volume["spec"].get("claimRef") or {}
        if reference.get("namespace") != meta["namespace"] or reference.get("uid") != meta["uid"]:
            text = f"persistent Volume is not bound to PVC being updated : {meta['namespace']}/{meta['name']}"
            raise CannotExpand(text)
        return volume

    async def _name_resizer(self, claim: Object, driver: str) -> None:
        """Write the annotation of the program that expands the volume (SetClaimResizer)."""
        meta = claim["metadata"]
        changed: dict[str, Any] = {"resourceVersion": meta["resourceVersion"]}
        if annotations_of(claim).get(RESIZER) != driver:
            changed["annotations"] = {RESIZER: driver}
        try:
            await self._client.patch(claim, {"metadata": changed}, type="strategic", subresource="status")
        except ApiError as error:
            problem = f'patchPVCStatus failed to patch PVC "{meta["name"]}": {error.message}'
            text = f"error setting resizer annotation to pvc {meta['namespace']}/{meta['name']}, with error {problem}"
            self._recorder.event(claim, "Warning", "ExternalExpanding", text)
            raise CannotExpand(text) from error


def _updated(old: Object, new: Object, queue: RequestQueue) -> None:
    """A claim requests more, or its capacity has grown."""
    if requested(new) > requested(old) or claim_capacity(new) > claim_capacity(old):
        _enqueue(new, queue)


def _enqueue(claim: Object, queue: RequestQueue) -> None:
    if phase(claim) == "Bound":
        queue.add(Request.of(claim))
