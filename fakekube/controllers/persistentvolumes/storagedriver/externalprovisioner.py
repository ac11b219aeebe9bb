"""Simulates the provisioners of storage drivers (`sig-storage-lib-external-provisioner`, `external-provisioner`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import FuncSource, HandlerFuncs, RequestQueue
from controllerlib.record import CoreEventRecorder
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import enqueue, object_events
from fakekube.controllers.persistentvolumes.storagedriver.drivernames import STORAGE_DRIVER, simulates
from fakekube.controllers.persistentvolumes.volumeclaims import (
    BETA_STORAGE_PROVISIONER,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    annotations_of,
    claim_class,
    reference_to_claim,
    waits_for_consumer,
)
from fakekube.controllers.workload.podstate import phase

NAME = "external-provisioner"

#: How many volumes are made and deleted at the same time.
WORKERS = 4

#: The provisioner of the class that `Settings.storage_class` names.
PROVISIONER = "fakekube/storage"

#: The request to create that class.
DEFAULT_CLASS = Request("", "*")

_STORAGE = "storage.k8s.io/v1"

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller."""
    ExternalProvisioner(context).add()


class ExternalProvisioner:
    """Makes a volume for each claim whose annotation names a simulated provisioner, and deletes released volumes.

    A request names a claim, or a volume (without a namespace). A volume is made `Settings.storage_delay` seconds after
    its claim was seen. Its source is that of a CSI driver if there is a CSIDriver of the provisioner's name, and
    otherwise a host path.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("", user=STORAGE_DRIVER, user_agent=f"{NAME}/v1")
        self._claims = context.kind("v1", "PersistentVolumeClaim")
        self._volumes = context.kind("v1", "PersistentVolume")
        self._classes = context.kind(_STORAGE, "StorageClass")
        self._drivers = context.kind(_STORAGE, "CSIDriver")
        self._recorders: dict[str, CoreEventRecorder] = {}
        #: When the volume of a claim will have been made: uid -> time.
        self._due: dict[str, float] = {}

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches("v1", "PersistentVolumeClaim", object_events(enqueue, deleted=self._claim_deleted))
        builder.watches("v1", "PersistentVolume", object_events(enqueue))
        builder.watches(_STORAGE, "StorageClass", HandlerFuncs())
        builder.watches(_STORAGE, "CSIDriver", HandlerFuncs())
        builder.watches_raw_source(FuncSource(self._begin))
        builder.complete(self.reconcile)

    def _begin(self, queue: RequestQueue) -> None:
        if self._context.settings.storage_class:
            queue.add(DEFAULT_CLASS)

    def _claim_deleted(self, claim: Object, queue: RequestQueue) -> None:
        self._due.pop(claim["metadata"]["uid"], None)

    async def reconcile(self, request: Request) -> Result | None:
        if request == DEFAULT_CLASS:
            await self._create_class(self._context.settings.storage_class)
            return None
        if not request.namespace:
            volume = self._volumes.get("", request.name)
            if volume is not None and self._has_to_delete(volume):
                await self._delete(volume)
            return None
        claim = self._claims.get(request.namespace, request.name)
        return None if claim is None else await self._provision(claim)

    def _simulates(self, provisioner: str) -> bool:
        return simulates(self._context.settings.storage_drivers, provisioner)

    def _recorder(self, provisioner: str) -> CoreEventRecorder:
        if provisioner not in self._recorders:
            self._recorders[provisioner] = self._context.recorder(provisioner)
        return self._recorders[provisioner]

    async def _create_class(self, name: str) -> None:
        """Create the default StorageClass unless there is one of its name."""
        default = {"storageclass.kubernetes.io/is-default-class": "true"}
        try:
            await self._client.create(
                {
                    "apiVersion": _STORAGE,
                    "kind": "StorageClass",
                    "metadata": {"name": name, "annotations": default},
                    "provisioner": PROVISIONER,
                    "allowVolumeExpansion": True,
                }
            )
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    # --- volumes of claims

    async def _provision(self, claim: Object) -> Result | None:
        """Make the volume of a claim when its time has come."""
        present = annotations_of(claim)
        provisioner = present.get(STORAGE_PROVISIONER) or present.get(BETA_STORAGE_PROVISIONER) or ""
        storage_class = self._classes.get("", claim_class(claim)) if claim_class(claim) else None
        if (
            storage_class is None
            or not self._simulates(provisioner)
            or claim["spec"].get("volumeName")
            or claim["metadata"].get("deletionTimestamp")
            or (waits_for_consumer(storage_class) and not present.get(SELECTED_NODE))
            or self._volumes.get("", _volume_name(claim)) is not None
        ):
            return None
        meta, now = claim["metadata"], self._context.clock.monotonic()
        if meta["uid"] not in self._due:
            text = f'External provisioner is provisioning volume for claim "{meta["namespace"]}/{meta["name"]}"'
            self._recorder(provisioner).event(claim, "Normal", "Provisioning", text)
            self._due[meta["uid"]] = now + self._context.settings.storage_delay
        if now < self._due[meta["uid"]]:
            return Result(requeue_after=self._due[meta["uid"]] - now)
        try:
            await self._client.create(self._volume_for(claim, storage_class, provisioner))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        self._due.pop(meta["uid"], None)
        text = f"Successfully provisioned volume {_volume_name(claim)}"
        self._recorder(provisioner).event(claim, "Normal", "ProvisioningSucceeded", text)
        return None

    def _volume_for(self, claim: Object, storage_class: Object, provisioner: str) -> dict[str, Any]:
        wanted, name = claim["spec"], _volume_name(claim)
        meta = claim["metadata"]
        source: dict[str, Any] = {"hostPath": {"path": f"/tmp/{NAME}/{meta['namespace']}/{meta['name']}"}}
        if self._drivers.get("", provisioner) is not None:
            of_system = {"fsType": "ext4"} if wanted["volumeMode"] != "Block" else {}
            source = {"csi": {"driver": provisioner, "volumeHandle": name, **of_system}}
        options = storage_class.get("mountOptions")
        attributes = wanted.get("volumeAttributesClassName")
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name, "annotations": {PROVISIONED_BY: provisioner}},
            "spec": {
                "capacity": {"storage": wanted["resources"]["requests"]["storage"]},
                "accessModes": wanted["accessModes"],
                "claimRef": reference_to_claim(claim),
                "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy") or "Delete",
                "storageClassName": storage_class["metadata"]["name"],
                "volumeMode": wanted["volumeMode"],
                **({"mountOptions": options} if options else {}),
                **({"volumeAttributesClassName": attributes} if attributes else {}),
                **source,
            },
        }

    # --- released volumes

    def _has_to_delete(self, volume: Object) -> bool:
        return (
            phase(volume) == "Released"
            and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
            and not volume["metadata"].get("deletionTimestamp")
            and self._simulates(annotations_of(volume).get(PROVISIONED_BY, ""))
        )

    async def _delete(self, volume: Object) -> None:
        try:
            await self._client.delete("v1", "PersistentVolume", volume["metadata"]["name"])
        except ApiError as error:
            if error.reason != "NotFound":
                raise


def _volume_name(claim: Object) -> str:
    return f"pvc-{claim['metadata']['uid']}"
