"""Which Deployments are reconciled when, and in which way (`deployment_controller.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import Request, Result
from controllerlib.client import label_selector_as_selector
from controllerlib.controller import EnqueueRequestForObject, RequestQueue, controller_of
from fakekube.controllers.apps.deployment.deploymentstatus import has_progress_deadline, new_condition, set_condition
from fakekube.controllers.apps.deployment.revision import ROLLBACK_TO
from fakekube.controllers.apps.deployment.rollback import roll_back
from fakekube.controllers.apps.deployment.rollout import Rollout, working_copy
from fakekube.controllers.context import CONTROLLER_INDEX, ControllerContext
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.controllerref import ControllerRefManager
from fakekube.controllers.workload.owned import (
    by_controller,
    owned_and_orphans,
    pods_by_controller,
    selecting,
    template_selector,
)
from fakekube.controllers.workload.podstate import condition
from fakekube.controllers.workload.retries import limited

NAME = "deployment-controller"

#: How many reconciles run at the same time (kube-controller-manager: --concurrent-deployment-syncs).
WORKERS = 5

#: Failures in a row after which a Deployment is dropped until its next event.
RETRIES = 15

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller of Deployments."""
    DeploymentController(context).add()


class DeploymentController:
    """Creates a ReplicaSet for each template of a Deployment, and scales them as its strategy says."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(NAME)
        self._recorder = context.recorder(NAME)
        self._deployments = context.kind("apps/v1", "Deployment")
        self._replica_sets = by_controller(context, "apps/v1", "ReplicaSet")
        self._pods = pods_by_controller(context)
        self._selecting = selecting(self._deployments, template_selector)

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches("apps/v1", "Deployment", EnqueueRequestForObject())
        owned = object_events(
            created=self._replica_set_created, updated=self._replica_set_updated, deleted=self._enqueue_owner
        )
        builder.watches("apps/v1", "ReplicaSet", owned)
        builder.watches("v1", "Pod", object_events(deleted=self._pod_deleted))
        builder.complete(limited(self.reconcile, RETRIES))

    # --- events

    def _controlling(self, obj: Object) -> Object | None:
        """The Deployment that controls a ReplicaSet."""
        reference = controller_of(obj)
        if reference is None or reference.get("kind") != "Deployment":
            return None
        found = self._deployments.get(obj["metadata"]["namespace"], reference["name"])
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None

    def _replica_set_created(self, replica_set: Object, queue: RequestQueue) -> None:
        if controller_of(replica_set) is not None:
            self._enqueue_owner(replica_set, queue)
        elif not replica_set["metadata"].get("deletionTimestamp"):
            self._enqueue_selecting(replica_set, queue)

    def _replica_set_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        before, after = old["metadata"], new["metadata"]
        if before["resourceVersion"] == after["resourceVersion"]:  # a resync
            return
        former, present = controller_of(old), controller_of(new)
        if former != present and former is not None:
            self._enqueue_owner(old, queue)
        if present is not None:
            self._enqueue_owner(new, queue)
        elif former is not None or before.get("labels") != after.get("labels"):
            self._enqueue_selecting(new, queue)

    async def _pod_deleted(self, pod: Object, queue: RequestQueue) -> None:
        """The last pod of a Deployment of strategy Recreate is gone: its new ReplicaSet can be scaled up."""
        reference = controller_of(pod)
        if reference is None or reference.get("kind") != "ReplicaSet":
            return
        owner = self._replica_sets.get(pod["metadata"]["namespace"], reference["name"])
        if owner is None or owner["metadata"]["uid"] != reference["uid"]:
            return
        deployment = self._controlling(owner)
        if deployment is None or (deployment["spec"].get("strategy") or {}).get("type") != "Recreate":
            return
        meta = deployment["metadata"]
        selected = await self._client.list("apps/v1", "ReplicaSet", meta["namespace"])
        mine = [one for one in selected if (controller_of(one) or {}).get("uid") == meta["uid"]]
        if not any(self._pods.by_index(CONTROLLER_INDEX, one["metadata"]["uid"]) for one in mine):
            queue.add(Request.of(deployment))

    def _enqueue_owner(self, replica_set: Object, queue: RequestQueue) -> None:
        deployment = self._controlling(replica_set)
        if deployment is not None:
            queue.add(Request.of(deployment))

    def _enqueue_selecting(self, replica_set: Object, queue: RequestQueue) -> None:
        for deployment in self._selecting(replica_set):
            queue.add(Request.of(deployment))

    # --- reconciling

    async def reconcile(self, request: Request) -> Result | None:
        found = self._deployments.get(request.namespace, request.name)
        if found is None:
            return None
        selector = label_selector_as_selector(found["spec"]["selector"])
        claims = ControllerRefManager(self._client, found, "apps/v1", "Deployment", selector)
        replica_sets = await claims.claim(owned_and_orphans(self._replica_sets, found))
        pods = {
            uid: self._pods.by_index(CONTROLLER_INDEX, uid)
            for uid in [replica_set["metadata"]["uid"] for replica_set in replica_sets]
        }
        rollout = Rollout(self._client, self._recorder, self._context.now(), working_copy(found), replica_sets, pods)
        return await self._roll_out(rollout)

    async def _roll_out(self, rollout: Rollout) -> Result | None:
        deployment = rollout.deployment
        if deployment["metadata"].get("deletionTimestamp"):
            return await rollout.status_only()
        if _note_pause(rollout):
            await rollout.write_status()
        if deployment["spec"].get("paused"):
            return await rollout.scale()
        if ROLLBACK_TO in (deployment["metadata"].get("annotations") or {}):
            await roll_back(rollout)
            return None
        if await rollout.is_scaling_event():
            return await rollout.scale()
        kind = deployment["spec"]["strategy"]["type"]
        return await (rollout.recreate() if kind == "Recreate" else rollout.rolling())


def _note_pause(rollout: Rollout) -> bool:
    """Set the condition of a Deployment that was paused or resumed; returns whether it has changed."""
    deployment = rollout.deployment
    present = condition(deployment, "Progressing") or {}
    if not has_progress_deadline(deployment) or present.get("reason") == "ProgressDeadlineExceeded":
        return False
    paused, noted = bool(deployment["spec"].get("paused")), present.get("reason") == "DeploymentPaused"
    if paused == noted:
        return False
    reason, message = ("DeploymentPaused", "Deployment is paused")
    if not paused:
        reason, message = ("DeploymentResumed", "Deployment is resumed")
    set_condition(deployment["status"], new_condition("Progressing", "Unknown", reason, message, rollout.now))
    return True
