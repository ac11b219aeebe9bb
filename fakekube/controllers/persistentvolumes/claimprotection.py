"""The controller that keeps claims in use from being deleted (`pkg/controller/volume/pvcprotection`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import Request, Result
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.persistentvolumes.podvolumes import (
    claim_name,
    claim_names,
    is_terminated,
    not_owner_problem,
    pods_by_claim,
    using,
)
from fakekube.controllers.persistentvolumes.protectionfinalizers import (
    add_finalizer,
    needs_finalizer,
    protection_events,
    remove_finalizer,
)
from fakekube.controllers.workload.objectfinalizers import is_deletion_candidate
from fakekube.controllers.workload.podstate import Pod

NAME = "persistentvolumeclaim-protection-controller"
ACCOUNT = "pvc-protection-controller"
FINALIZER = "kubernetes.io/pvc-protection"

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller."""
    ClaimProtection(context).add()


class ClaimProtection:
    """Gives every claim a finalizer, and removes it when a claim is being deleted and no scheduled pod uses it.

    Before a finalizer is removed, the pods of the namespace are listed at the server: once for each claim, while
    kube-controller-manager lists them once for the claims of a namespace that are in its queue at the same time.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._claims = context.kind("v1", "PersistentVolumeClaim")
        self._pods = pods_by_claim(context)

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME)
        builder.watches("v1", "PersistentVolumeClaim", protection_events(FINALIZER))
        builder.watches(
            "v1", "Pod", object_events(created=self._pod_seen, updated=self._pod_updated, deleted=self._pod_deleted)
        )
        builder.complete(self.reconcile)

    # --- events

    def _pod_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        self._pod_seen(new, queue)
        if old["metadata"]["uid"] != new["metadata"]["uid"]:  # deleted and created again, unseen
            self._pod_seen(old, queue, deleted=True)

    def _pod_deleted(self, pod: Object, queue: RequestQueue) -> None:
        self._pod_seen(pod, queue, deleted=True)

    def _pod_seen(self, pod: Pod, queue: RequestQueue, *, deleted: bool = False) -> None:
        """Look at the claims of a pod that may not use them any more, or not yet."""
        names = list(claim_names(pod))
        if names and (deleted or is_terminated(pod) or not pod["spec"].get("nodeName")):
            for name in names:
                queue.add(Request(pod["metadata"]["namespace"], name))

    # --- requests

    async def reconcile(self, request: Request) -> Result | None:
        claim = self._claims.get(request.namespace, request.name)
        if claim is None:
            return None
        if is_deletion_candidate(claim, FINALIZER):
            if not await self._is_used(claim):
                await remove_finalizer(self._client, claim, FINALIZER)
        elif needs_finalizer(claim, FINALIZER):
            await add_finalizer(self._client, claim, FINALIZER)
        return None

    async def _is_used(self, claim: Object) -> bool:
        """Whether a pod uses a claim, by the shared informers or at the server. Raises ApiError."""
        meta = claim["metadata"]
        if _used_by(using(self._pods, meta["namespace"], meta["name"]), claim):
            return True
        listed = await self._client.list("v1", "Pod", meta["namespace"])
        return _used_by(listed, claim)


def _used_by(pods: Sequence[Pod], claim: Object) -> bool:
    return any(_uses(pod, volume, claim) for pod in pods for volume in pod["spec"].get("volumes") or ())


def _uses(pod: Pod, volume: Object, claim: Object) -> bool:
    """Whether a scheduled pod has the claim as a volume (podUsesPVCForDeletion)."""
    if not pod["spec"].get("nodeName") or claim_name(pod, volume) != claim["metadata"]["name"]:
        return False
    if volume.get("persistentVolumeClaim") is not None:
        return True
    meta = pod["metadata"]
    shut_down = bool(meta.get("deletionTimestamp")) and meta.get("deletionGracePeriodSeconds") == 0
    return not shut_down and not not_owner_problem(pod, claim)
