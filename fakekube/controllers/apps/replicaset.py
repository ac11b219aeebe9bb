"""The controllers of ReplicaSets and ReplicationControllers (`pkg/controller/replicaset`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.client import Selector, selector_from_set
from controllerlib.controller import RequestQueue, controller_of
from fakekube.controllers.context import CONTROLLER_INDEX, ControllerContext
from fakekube.controllers.objectevents import enqueue, object_events
from fakekube.controllers.workload.batches import slow_start
from fakekube.controllers.workload.consistency import ConsistencyStore
from fakekube.controllers.workload.controllerref import ControllerRefManager, controller_reference
from fakekube.controllers.workload.expectations import Expectations
from fakekube.controllers.workload.owned import (
    by_controller,
    owned_and_orphans,
    pods_by_controller,
    selecting,
    template_selector,
)
from fakekube.controllers.workload.podcontrol import PodControl, is_namespace_terminating
from fakekube.controllers.workload.podevents import PodEvents, pod_key
from fakekube.controllers.workload.podranking import deletion_order
from fakekube.controllers.workload.podstate import (
    Pod,
    condition,
    is_active,
    is_available,
    is_ready,
    is_terminating,
    next_availability_check,
    timestamp,
)
from fakekube.controllers.workload.workloadconditions import new_condition, with_condition, without_condition
from fakekube.struct import Struct

#: Most pods that are created or deleted in one reconcile.
BURST = 500

#: How many reconciles run at the same time (kube-controller-manager: --concurrent-replicaset-syncs).
WORKERS = 5

Object = Mapping[str, Any]


class Flavor(Struct, frozen=True):
    """What differs between the two kinds. `counts_terminating`: whether the status counts terminating pods."""

    name: str
    account: str
    api_version: str
    kind: str
    counts_terminating: bool

    def selector(self, owner: Object) -> Selector:
        if self.kind == "ReplicaSet":
            return template_selector(owner)
        labels = owner["spec"].get("selector") or {}
        return selector_from_set(labels) if labels else Selector(nothing=True)


REPLICA_SET = Flavor("replicaset-controller", "replicaset-controller", "apps/v1", "ReplicaSet", True)
REPLICATION_CONTROLLER = Flavor(
    "replicationcontroller-controller", "replication-controller", "v1", "ReplicationController", False
)


def add(context: ControllerContext) -> None:
    """Add the controller of ReplicaSets."""
    ReplicaSetController(context, REPLICA_SET).add()


class ReplicaSetController:
    """Creates and deletes pods until there are as many active ones as the spec has, and counts them in the status."""

    def __init__(self, context: ControllerContext, flavor: Flavor) -> None:
        self._context, self._flavor = context, flavor
        self._client = context.client(flavor.account)
        recorder = context.recorder(flavor.account)
        self._pods = pods_by_controller(context)
        self._owners = by_controller(context, flavor.api_version, flavor.kind)
        self._expectations = Expectations(context.clock)
        self._written = ConsistencyStore()
        self._control = PodControl(self._client, recorder, self._pod_written)

    def add(self) -> None:
        """Add the controller to the manager."""
        flavor = self._flavor
        owners = object_events(created=enqueue, updated=self._owner_updated, deleted=self._owner_deleted)
        pods = PodEvents(self._owners, selecting(self._owners, flavor.selector), self._expectations)
        builder = self._context.controller(flavor.name).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches(flavor.api_version, flavor.kind, owners).watches("v1", "Pod", pods.handler)
        builder.complete(self.reconcile)

    def _owner_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        if old["metadata"]["uid"] != new["metadata"]["uid"]:  # deleted and created again, unseen
            self._expectations.forget(str(Request.of(old)))
        queue.add(Request.of(new))

    def _owner_deleted(self, owner: Object, queue: RequestQueue) -> None:
        self._expectations.forget(str(Request.of(owner)))
        self._written.forget(Request.of(owner))
        queue.add(Request.of(owner))

    def _pod_written(self, owner: Object, pod: Object) -> None:
        if self._flavor is REPLICA_SET:
            self._written.wrote(owner, self._pods, pod)

    async def reconcile(self, request: Request) -> Result | None:
        self._written.check(request)
        key = str(request)
        owner = self._owners.get(request.namespace, request.name)
        if owner is None:
            self._expectations.forget(key)
            return None
        selector = self._flavor.selector(owner)
        found = owned_and_orphans(self._pods, owner)
        claims = ControllerRefManager(self._client, owner, self._flavor.api_version, self._flavor.kind, selector)
        active = await claims.claim(pod for pod in found if is_active(pod))
        terminating = [pod for pod in found if is_terminating(pod) and _is_claimed(pod, owner, selector)]
        problem: Exception | None = None
        if self._expectations.satisfied(key) and not owner["metadata"].get("deletionTimestamp"):
            problem = await self._manage(key, owner, active)
        now = self._context.now()
        status = _status(self._flavor, owner, active, terminating, problem, now)
        updated = await self._update_status(owner, status)
        if self._flavor is REPLICA_SET:
            self._written.wrote(owner, self._owners, updated)
        if problem is not None:
            raise problem
        return _next_check(updated, active, now)

    # --- pods

    async def _manage(self, key: str, owner: Object, active: Sequence[Pod]) -> Exception | None:
        """Create or delete pods; returns the first error."""
        difference = len(active) - _replicas(owner)
        if difference < 0:
            return await self._create(key, owner, min(-difference, BURST))
        if difference > 0:
            return await self._delete(key, owner, active, min(difference, BURST))
        return None

    async def _create(self, key: str, owner: Object, number: int) -> Exception | None:
        reference = controller_reference(owner, self._flavor.api_version, self._flavor.kind)
        self._expectations.expect_creations(key, number)

        async def create(index: int) -> None:
            try:
                await self._control.create(owner, reference, owner["spec"]["template"])
            except ApiError as error:
                if not is_namespace_terminating(error):  # else no pod can be created, whatever is tried
                    raise

        succeeded, problem = await slow_start(number, create)
        self._expectations.creation_observed(key, number - succeeded)
        return problem

    async def _delete(self, key: str, owner: Object, active: Sequence[Pod], number: int) -> Exception | None:
        chosen = active
        if number < len(active):
            ranks = _ranks(active, self._related(owner))
            chosen = deletion_order(active, ranks, self._context.now())[:number]
        self._expectations.expect_deletions(key, map(pod_key, chosen))
        outcomes = await asyncio.gather(*(self._delete_one(key, owner, pod) for pod in chosen))
        return next((error for error in outcomes if error is not None), None)

    async def _delete_one(self, key: str, owner: Object, pod: Pod) -> Exception | None:
        try:
            await self._control.delete(owner, pod)
        except ApiError as error:
            self._expectations.deletion_observed(key, pod_key(pod))
            if error.reason != "NotFound":
                return error
        return None

    def _related(self, owner: Object) -> Sequence[Pod]:
        """The pods of all objects that have the same controller, such as the ReplicaSets of one Deployment."""
        reference = controller_of(owner)
        if reference is None:
            return ()
        found: dict[str, Pod] = {}
        for one in self._owners.by_index(CONTROLLER_INDEX, reference["uid"]):
            for pod in self._pods.list(one["metadata"]["namespace"], self._flavor.selector(one)):
                found.setdefault(pod["metadata"]["uid"], pod)
        return list(found.values())

    # --- status

    async def _update_status(self, owner: Object, status: Object) -> Object:
        """Write the status if it has changed, at the second attempt over the latest object. Raises ApiError."""
        if status == (owner.get("status") or {}):
            return owner
        try:
            return await self._client.update_status({**owner, "status": status})
        except ApiError:
            meta = owner["metadata"]
            flavor = self._flavor
            fresh = await self._client.get(flavor.api_version, flavor.kind, meta["name"], meta["namespace"])
            return await self._client.update_status({**fresh, "status": status})


def _replicas(owner: Object) -> int:
    return int(owner["spec"].get("replicas") or 0)


def _is_claimed(pod: Pod, owner: Object, selector: Selector) -> bool:
    reference = controller_of(pod)
    mine = reference is not None and reference.get("uid") == owner["metadata"]["uid"]
    return mine and selector.matches(pod["metadata"].get("labels"))


def _ranks(pods: Sequence[Pod], related: Sequence[Pod]) -> Sequence[int]:
    """For each pod the number of active related pods on its node."""
    numbers: dict[str, int] = {}
    for pod in related:
        if is_active(pod):
            node = pod["spec"].get("nodeName") or ""
            numbers[node] = numbers.get(node, 0) + 1
    return [numbers.get(pod["spec"].get("nodeName") or "", 0) for pod in pods]


def _status(
    flavor: Flavor,
    owner: Object,
    active: Sequence[Pod],
    terminating: Sequence[Pod],
    problem: Exception | None,
    now: Any,
) -> dict[str, Any]:
    """The status with the counts of pods (calculateStatus)."""
    template = selector_from_set((owner["spec"]["template"].get("metadata") or {}).get("labels") or {})
    minimum = owner["spec"].get("minReadySeconds") or 0
    counts = {
        "fullyLabeledReplicas": sum(template.matches(pod["metadata"].get("labels")) for pod in active),
        "readyReplicas": sum(map(is_ready, active)),
        "availableReplicas": sum(is_available(pod, minimum, now) for pod in active),
    }
    status: dict[str, Any] = {
        "replicas": len(active),
        **{name: count for name, count in counts.items() if count},
        "observedGeneration": owner["metadata"].get("generation", 0),
    }
    if flavor.counts_terminating:
        status["terminatingReplicas"] = len(terminating)
    conditions = (owner.get("status") or {}).get("conditions") or ()
    failure = condition(owner, "ReplicaFailure")
    if problem is not None and failure is None:
        reason = "FailedCreate" if len(active) < _replicas(owner) else "FailedDelete"
        text = problem.message if isinstance(problem, ApiError) else str(problem)
        conditions = with_condition(conditions, new_condition("ReplicaFailure", "True", reason, text, timestamp(now)))
    elif problem is None and failure is not None:
        conditions = without_condition(conditions, "ReplicaFailure")
    return {**status, "conditions": list(conditions)} if conditions else status


def _next_check(owner: Object, active: Sequence[Pod], now: datetime) -> Result | None:
    """Reconcile again when the next pod becomes available by having been ready for long enough."""
    minimum = owner["spec"].get("minReadySeconds") or 0
    status = owner.get("status") or {}
    if (status.get("readyReplicas") or 0) == (status.get("availableReplicas") or 0):
        return None
    wait = next_availability_check(active, minimum, now)
    return Result(requeue_after=minimum if wait is None else wait)
