"""The controller that binds claims to volumes (`pkg/controller/volume/persistentvolume`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import FuncSource, HandlerFuncs, RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import enqueue, object_events, of_new
from fakekube.controllers.persistentvolumes.csimigration import DRIVERS, with_migration
from fakekube.controllers.persistentvolumes.podvolumes import is_terminated, pods_by_claim, using
from fakekube.controllers.persistentvolumes.volumebinder.bindingwrites import BindingWrites, CannotBind, LatestObjects
from fakekube.controllers.persistentvolumes.volumebinder.claimprovisioning import ClaimProvisioning
from fakekube.controllers.persistentvolumes.volumebinder.reclaiming import IN_TREE_FINALIZER, RECYCLER, Reclaiming
from fakekube.controllers.persistentvolumes.volumeclaims import (
    BETA_STORAGE_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    annotations_of,
    best_volume,
    claim_class,
    default_class,
    has_class,
    is_bound_to,
    mismatch,
    modes_differ,
    waits_for_consumer,
)
from fakekube.controllers.workload.objectfinalizers import with_finalizers
from fakekube.controllers.workload.podstate import phase

NAME = "persistentvolume-binder-controller"
ACCOUNT = "persistent-volume-binder"
COMPONENT = "persistentvolume-controller"

#: Seconds between looks at all claims that are not bound (--pvclaimbinder-sync-period).
PERIOD = 15.0

#: The request of that look.
RESYNC = Request("", "*")

#: The finalizer of volumes that an external provisioner has to delete.
_EXTERNAL_FINALIZER = "external-provisioner.volume.kubernetes.io/finalizer"

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller that binds claims to volumes."""
    VolumeBinder(context).add()


class VolumeBinder:
    """Binds claims to volumes, has volumes made for claims, and reclaims the volumes of claims that are gone.

    A request names a claim, or a volume (without a namespace), or all claims that are not bound (RESYNC), which are
    looked at in multiples of PERIOD since the start, while there are any. Unlike kube-controller-manager, which has one
    worker for claims and one for volumes, it has one for both.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        client, recorder = context.client(ACCOUNT), context.recorder(COMPONENT)
        self._client, self._recorder = client, recorder
        self._claims = context.kind("v1", "PersistentVolumeClaim")
        self._volumes = context.kind("v1", "PersistentVolume")
        self._classes = context.kind("storage.k8s.io/v1", "StorageClass")
        self._pods = pods_by_claim(context)
        self._writes = BindingWrites(client, recorder, LatestObjects(self._claims), LatestObjects(self._volumes))
        self._provisioning = ClaimProvisioning(client, recorder, self._writes, self._classes)
        self._reclaiming = Reclaiming(client, recorder, self._writes, self._pods)
        self._queue: RequestQueue | None = None
        self._started = 0.0

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME)
        builder.watches("v1", "PersistentVolume", object_events(enqueue, deleted=self._volume_deleted))
        builder.watches("v1", "PersistentVolumeClaim", object_events(enqueue, deleted=self._claim_deleted))
        builder.watches("storage.k8s.io/v1", "StorageClass", HandlerFuncs())
        builder.watches("v1", "Pod", object_events(updated=of_new(self._recycler_seen), deleted=self._pod_deleted))
        builder.watches("v1", "Node", HandlerFuncs())
        builder.watches_raw_source(FuncSource(self._begin))
        builder.complete(self.reconcile)

    # --- events

    def _begin(self, queue: RequestQueue) -> None:
        self._queue, self._started = queue, self._context.clock.monotonic()

    def _volume_deleted(self, volume: Object, queue: RequestQueue) -> None:
        reference = volume["spec"].get("claimRef")
        if reference:
            queue.add(Request(reference["namespace"], reference["name"]))

    def _claim_deleted(self, claim: Object, queue: RequestQueue) -> None:
        named, uid = claim["spec"].get("volumeName"), claim["metadata"]["uid"]
        if named:
            queue.add(Request("", named))
            return
        for volume in self._volumes.list():  # one whose binding was not completed
            if (volume["spec"].get("claimRef") or {}).get("uid") == uid:
                queue.add(Request.of(volume))

    def _pod_deleted(self, pod: Object, queue: RequestQueue) -> None:
        self._reclaiming.recycler_deleted(pod)
        self._recycler_seen(pod, queue)

    def _recycler_seen(self, pod: Object, queue: RequestQueue) -> None:
        name = pod["metadata"]["name"]
        if name.startswith(RECYCLER) and pod["metadata"]["namespace"] == "default":
            queue.add(Request("", name.removeprefix(RECYCLER)))

    def _enqueue(self, request: Request) -> None:
        assert self._queue is not None
        self._queue.add(request)

    # --- requests

    async def reconcile(self, request: Request) -> Result | None:
        if request == RESYNC:
            self._resync()
            return None
        if not request.namespace:
            volume = self._volumes.get("", request.name)
            if volume is not None and not self._writes.volumes.is_stale(volume):
                await self._sync_volume(volume)
            return None
        claim = self._claims.get(request.namespace, request.name)
        if claim is not None and not self._writes.claims.is_stale(claim):
            if phase(claim) not in ("Bound", "Lost"):
                self._resync_later()
            await self._sync_claim(claim)
        return None

    def _resync(self) -> None:
        """Look at the claims that are not bound; a volume may have become Available for them, or a class be there."""
        for claim in self._claims.list():
            if phase(claim) != "Bound":
                self._enqueue(Request.of(claim))

    def _resync_later(self) -> None:
        assert self._queue is not None
        passed = self._context.clock.monotonic() - self._started
        next_look = (math.floor(passed / PERIOD + 1e-9) + 1) * PERIOD
        self._queue.add_after(RESYNC, next_look - passed)

    # --- claims

    async def _sync_claim(self, claim: Object) -> None:
        migrated = with_migration(claim, STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER)
        if migrated is not claim:
            claim = await self._writes.claim(migrated)
        if BIND_COMPLETED in annotations_of(claim):
            await self._sync_bound_claim(claim)
        elif claim["spec"].get("volumeName"):
            await self._sync_claim_of_volume(claim)
        else:
            await self._sync_unbound_claim(claim)

    async def _sync_unbound_claim(self, claim: Object) -> None:
        """Bind a claim that does not name its volume, or have a volume made (syncUnboundClaim)."""
        waits = waits_for_consumer(self._classes.get("", claim_class(claim)) if claim_class(claim) else None)
        volume = best_volume(claim, self._writes.volumes.list(), only_reserved=waits)
        if volume is not None:
            return await self._writes.bind(volume, claim)
        if await self._assign_default_class(claim):
            return None
        if waits and SELECTED_NODE not in annotations_of(claim):
            self._waiting_event(claim)
        elif claim_class(claim):
            return await self._provisioning.provision(claim)
        else:
            text = "no persistent volumes available for this claim and no storage class is set"
            self._recorder.event(claim, "Normal", "FailedBinding", text)
        await self._writes.claim_status(claim, "Pending", None)
        return None

    async def _assign_default_class(self, claim: Object) -> bool:
        """Give a claim without a class the default one; returns whether it was changed."""
        found = None if has_class(claim) else default_class(self._classes.list())
        if found is None:
            return False
        changed = {**claim, "spec": {**claim["spec"], "storageClassName": found["metadata"]["name"]}}
        await self._client.update(changed)
        return True

    def _waiting_event(self, claim: Object) -> None:
        """Record what a claim waits for: a pod, or that it is scheduled."""
        users = using(self._pods, claim["metadata"]["namespace"], claim["metadata"]["name"])
        names = [pod["metadata"]["name"] for pod in users if not is_terminated(pod) and not pod["spec"].get("nodeName")]
        if names:
            reason = "WaitForPodScheduled"
            text = f"waiting for pod{'s' if len(names) > 1 else ''} {','.join(names)} to be scheduled"
        else:
            reason, text = "WaitForFirstConsumer", "waiting for first consumer to be created before binding"
        self._recorder.event(claim, "Normal", reason, text)

    async def _sync_claim_of_volume(self, claim: Object) -> None:
        """Bind a claim to the volume that it names, if that is possible (syncUnboundClaim)."""
        name = claim["spec"]["volumeName"]
        volume = self._writes.volumes.get("", name)
        if volume is None:
            await self._writes.claim_status(claim, "Pending", None)
        elif not volume["spec"].get("claimRef"):
            problem = mismatch(volume, claim)
            if not problem:
                return await self._writes.bind(volume, claim)
            text = f'Cannot bind to requested volume "{name}": {problem}'
            self._recorder.event(claim, "Warning", "VolumeMismatch", text)
            await self._writes.claim_status(claim, "Pending", None)
        elif is_bound_to(volume, claim):
            await self._writes.bind(volume, claim)
        else:
            text = f'volume "{name}" already bound to a different claim.'
            self._recorder.event(claim, "Warning", "FailedBinding", text)
            if BOUND_BY_CONTROLLER in annotations_of(claim):
                reference, meta = volume["spec"]["claimRef"], claim["metadata"]
                other = f"{reference.get('namespace')}/{reference.get('name')}"
                mine = f"{meta['namespace']}/{meta['name']}"
                text = f'invalid binding of claim "{mine}" to volume "{name}": volume already claimed by "{other}"'
                raise CannotBind(text)
            await self._writes.claim_status(claim, "Pending", None)
        return None

    async def _sync_bound_claim(self, claim: Object) -> None:
        """Check that a bound claim still has its volume (syncBoundClaim)."""
        name = claim["spec"].get("volumeName")
        if not name:
            text = "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!"
            return await self._writes.lost(claim, "ClaimLost", text)
        volume = self._writes.volumes.get("", name)
        if volume is None:
            text = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            return await self._writes.lost(claim, "ClaimLost", text)
        reference = volume["spec"].get("claimRef")
        if not reference or reference.get("uid") == claim["metadata"]["uid"]:
            return await self._writes.bind(volume, claim)
        text = "Two claims are bound to the same volume, this one is bound incorrectly"
        return await self._writes.lost(claim, "ClaimMisbound", text)

    # --- volumes

    async def _sync_volume(self, volume: Object) -> None:
        corrected = with_deletion_finalizers(with_migration(volume, PROVISIONED_BY))
        if corrected is not volume:
            volume = await self._writes.volume(corrected)
        reference = volume["spec"].get("claimRef")
        if not reference or not reference.get("uid"):
            if not reference and phase(volume) != "Available":
                self._resync_later()
            await self._writes.volume_phase(volume, "Available")
            return
        claim = await self._claim_of(volume, reference)
        if claim is None:
            await self._release(volume)
        elif not claim["spec"].get("volumeName"):
            self._claim_is_unbound(volume, claim)
        elif claim["spec"]["volumeName"] == volume["metadata"]["name"]:
            await self._writes.volume_phase(volume, "Bound")
        elif (
            PROVISIONED_BY in annotations_of(volume) and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete"
        ):
            await self._release(volume)
        else:
            await self._writes.unbind(volume)

    async def _claim_of(self, volume: Object, reference: Object) -> Object | None:
        """The claim that a volume is bound to. A claim that seems to be gone is read at the server."""
        namespace, name = reference["namespace"], reference["name"]
        claim = self._writes.claims.get(namespace, name)
        if claim is None:
            if phase(volume) in ("Released", "Failed"):
                return None
            claim = await self._read_claim(namespace, name)
        if claim is not None and claim["metadata"]["uid"] != reference["uid"]:
            claim = await self._read_claim(namespace, name)
        return claim if claim is not None and claim["metadata"]["uid"] == reference["uid"] else None

    async def _read_claim(self, namespace: str, name: str) -> Object | None:
        try:
            return await self._client.get("v1", "PersistentVolumeClaim", name, namespace)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return None

    async def _release(self, volume: Object) -> None:
        if phase(volume) not in ("Released", "Failed"):
            volume = await self._writes.volume_phase(volume, "Released")
        await self._reclaiming.reclaim(volume)

    def _claim_is_unbound(self, volume: Object, claim: Object) -> None:
        """The claim of a volume does not name it yet: the reconcile of the claim binds them."""
        if not modes_differ(claim, volume):
            return self._enqueue(Request.of(claim))
        mine, other = volume["metadata"]["name"], claim["metadata"]["name"]
        reason = "due to incompatible volumeMode."
        text = f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{other}" {reason}'
        self._recorder.event(volume, "Warning", "VolumeMismatch", text)
        text = f'Cannot bind PersistentVolume "{mine}" to requested PersistentVolumeClaim {reason}'
        self._recorder.event(claim, "Warning", "VolumeMismatch", text)
        return None


def with_deletion_finalizers(volume: Object) -> Object:
    """The volume with the finalizers that its provisioner and reclaim policy need (modifyDeletionFinalizers)."""
    provisioner = annotations_of(volume).get(PROVISIONED_BY)
    if provisioner is None or not provisioner.startswith("kubernetes.io/"):
        return volume
    present = list(volume["metadata"].get("finalizers") or ())
    if provisioner in DRIVERS or volume["spec"].get("persistentVolumeReclaimPolicy") != "Delete":
        wanted = [name for name in present if name != IN_TREE_FINALIZER]
    else:
        wanted = present if IN_TREE_FINALIZER in present else [*present, IN_TREE_FINALIZER]
    if provisioner not in DRIVERS:
        wanted = [name for name in wanted if name != _EXTERNAL_FINALIZER]
    return volume if wanted == present else with_finalizers(volume, wanted)
