"""The controller of the claims of ephemeral volumes (`pkg/controller/volume/ephemeral`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.persistentvolumes.podvolumes import claim_name, not_owner_problem, pods_by_claim, using
from fakekube.controllers.workload.controllerref import controller_reference
from fakekube.controllers.workload.podstate import Pod

NAME = "ephemeral-volume-controller"
ACCOUNT = "ephemeral-volume-controller"
COMPONENT = "ephemeral_volume"

#: How many pods are looked at at the same time (--concurrent-ephemeralvolume-syncs).
WORKERS = 5

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller."""
    EphemeralVolumes(context).add()


class CannotUseClaim(Exception):
    """The claim of an ephemeral volume cannot be created, or is not that of the pod."""


class EphemeralVolumes:
    """Creates the claims of the ephemeral volumes of pods, which own them."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._recorder = context.recorder(COMPONENT)
        self._pods = pods_by_claim(context)
        self._claims = context.kind("v1", "PersistentVolumeClaim")

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches("v1", "Pod", object_events(created=_enqueue))
        builder.watches("v1", "PersistentVolumeClaim", object_events(deleted=self._claim_deleted))
        builder.complete(self.reconcile)

    def _claim_deleted(self, claim: Object, queue: RequestQueue) -> None:
        meta = claim["metadata"]
        for pod in using(self._pods, meta["namespace"], meta["name"]):
            _enqueue(pod, queue)

    async def reconcile(self, request: Request) -> Result | None:
        pod = self._pods.get(request.namespace, request.name)
        if pod is None or pod["metadata"].get("deletionTimestamp"):
            return None
        for volume in pod["spec"].get("volumes") or ():
            if volume.get("ephemeral") is None:
                continue
            try:
                await self._create_claim(pod, volume)
            except CannotUseClaim as problem:
                text = f"ephemeral volume {volume['name']}: {problem}"
                self._recorder.event(pod, "Warning", "FailedBinding", text)
                raise CannotUseClaim(f"pod {request}, {text}") from problem
        return None

    async def _create_claim(self, pod: Pod, volume: Object) -> None:
        """Create the claim of a volume unless it exists. Raises CannotUseClaim."""
        name, namespace = claim_name(pod, volume), pod["metadata"]["namespace"]
        claim = self._claims.get(namespace, name)
        if claim is not None:
            problem = not_owner_problem(pod, claim)
            if problem:
                raise CannotUseClaim(problem)
            return
        template = volume["ephemeral"]["volumeClaimTemplate"]
        of_template = template.get("metadata") or {}
        copied = {key: of_template[key] for key in ("annotations", "labels") if of_template.get(key)}
        reference = controller_reference(pod, "v1", "Pod")
        meta = {"name": name, "namespace": namespace, "ownerReferences": [reference], **copied}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": template["spec"]}
        try:
            await self._client.create(claim)
        except ApiError as error:
            raise CannotUseClaim(f"create PVC {name}: {error.message}") from error


def _enqueue(pod: Pod, queue: RequestQueue) -> None:
    """Look at a pod with an ephemeral volume that is not being deleted."""
    if pod["metadata"].get("deletionTimestamp"):
        return
    if any(volume.get("ephemeral") is not None for volume in pod["spec"].get("volumes") or ()):
        queue.add(Request.of(pod))
