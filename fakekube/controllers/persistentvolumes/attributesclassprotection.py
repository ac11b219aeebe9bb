"""The controller that keeps classes of volume attributes in use (`pkg/controller/volume/vacprotection`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from controllerlib import Request, Result
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import Object, object_events
from fakekube.controllers.persistentvolumes.protectionfinalizers import (
    add_finalizer,
    needs_finalizer,
    protection_events,
    remove_finalizer,
)
from fakekube.controllers.workload.objectfinalizers import is_deletion_candidate

NAME = "volumeattributesclass-protection-controller"
ACCOUNT = "volumeattributesclass-protection-controller"
FINALIZER = "kubernetes.io/vac-protection"

#: The name of the index of volumes and claims by their class.
CLASS_INDEX = "vacNameKey"

_API, _KIND = "storage.k8s.io/v1", "VolumeAttributesClass"


def add(context: ControllerContext) -> None:
    """Add the controller."""
    AttributesClassProtection(context).add()


def _classes_of(obj: Any) -> Sequence[str]:
    """The classes that a volume or a claim names."""
    status = obj.get("status") or {}
    found = (
        obj["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return [name for name in dict.fromkeys(found) if name]


class AttributesClassProtection:
    """Gives every class a finalizer, and removes it when a class is being deleted and neither a volume nor a claim
    names it.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._classes = context.kind(_API, _KIND)
        self._users = []
        for kind in ("PersistentVolume", "PersistentVolumeClaim"):
            context.index("v1", kind, CLASS_INDEX, _classes_of)
            self._users.append(context.kind("v1", kind))

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME)
        builder.watches(_API, _KIND, protection_events(FINALIZER))
        for kind in ("PersistentVolume", "PersistentVolumeClaim"):
            builder.watches("v1", kind, object_events(updated=_user_updated, deleted=_user_deleted))
        builder.complete(self.reconcile)

    async def reconcile(self, request: Request) -> Result | None:
        found = self._classes.get("", request.name)
        if found is None:
            return None
        if is_deletion_candidate(found, FINALIZER):
            if not any(kind.by_index(CLASS_INDEX, request.name) for kind in self._users):
                await remove_finalizer(self._client, found, FINALIZER)
        elif needs_finalizer(found, FINALIZER):
            await add_finalizer(self._client, found, FINALIZER)
        return None


def _user_updated(old: Object, new: Object, queue: RequestQueue) -> None:
    for name in _classes_of(old):
        if name not in _classes_of(new):
            queue.add(Request("", name))


def _user_deleted(obj: Object, queue: RequestQueue) -> None:
    for name in _classes_of(obj):
        queue.add(Request("", name))
