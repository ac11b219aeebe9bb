"""Which DaemonSets are reconciled when, and how (`daemon_controller.go`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.client import label_selector_as_selector
from controllerlib.controller import RequestQueue, controller_of
from fakekube.controllers.apps.controllerrevision import cached_revisions
from fakekube.controllers.apps.daemonset.daemonhistory import DaemonHistory
from fakekube.controllers.apps.daemonset.daemonplan import Plan, min_ready_seconds, plan_node, plan_update
from fakekube.controllers.apps.daemonset.daemonpods import (
    HASH_LABEL,
    by_age,
    for_node,
    generation,
    is_updated,
    pod_template,
    should_run,
    target_node,
)
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.objectevents import enqueue, object_events
from fakekube.controllers.workload.backoff import KeyBackoff
from fakekube.controllers.workload.batches import slow_start
from fakekube.controllers.workload.consistency import ConsistencyStore
from fakekube.controllers.workload.controllerref import ControllerRefManager, controller_reference
from fakekube.controllers.workload.expectations import Expectations
from fakekube.controllers.workload.owned import owned_and_orphans, pods_by_controller, selecting, template_selector
from fakekube.controllers.workload.podcontrol import PodControl, is_namespace_terminating
from fakekube.controllers.workload.podevents import PodEvents
from fakekube.controllers.workload.podstate import Pod, is_available, is_ready, is_terminal, phase

NAME = "daemonset-controller"

#: The service account (kube-controller-manager: app/apps.go).
ACCOUNT = "daemon-set-controller"

#: How many reconciles run at the same time (kube-controller-manager: --concurrent-daemonset-syncs).
WORKERS = 2

#: Most pods that are created or deleted in one reconcile.
BURST = 250

#: The delays before a failed pod is deleted, in seconds.
FIRST_DELAY, LONGEST_DELAY = 1.0, 900.0

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller of DaemonSets."""
    DaemonSetController(context).add()


class DaemonSetController:
    """Keeps one pod of a DaemonSet on each node that suits it."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._recorder = context.recorder(NAME)
        self._sets = context.kind("apps/v1", "DaemonSet")
        self._nodes = context.kind("v1", "Node")
        self._pods = pods_by_controller(context)
        self._revisions = cached_revisions(context)
        self._expectations = Expectations(context.clock)
        self._written = ConsistencyStore()
        self._control = PodControl(self._client, self._recorder, self._pod_written)
        self._backoff = KeyBackoff(context.clock, FIRST_DELAY, LONGEST_DELAY)
        self._selecting = selecting(self._sets, template_selector)

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        sets = object_events(created=enqueue, updated=self._set_updated, deleted=self._set_deleted)
        pods = PodEvents(self._sets, self._selecting, self._expectations, margin=1.0)
        builder.watches("apps/v1", "DaemonSet", sets).watches("v1", "Pod", pods.handler)
        builder.watches("v1", "Node", object_events(created=self._enqueue_for_node, updated=self._node_updated))
        history = object_events(
            created=self._revision_created, updated=self._revision_updated, deleted=self._revision_deleted
        )
        builder.watches("apps/v1", "ControllerRevision", history)
        builder.complete(self.reconcile)

    def _pod_written(self, owner: Object, pod: Object) -> None:
        self._written.wrote(owner, self._pods, pod)

    # --- events

    def _set_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        if old["metadata"]["uid"] != new["metadata"]["uid"]:  # deleted and created again, unseen
            self._forget(Request.of(old))
        queue.add(Request.of(new))

    def _set_deleted(self, one: Object, queue: RequestQueue) -> None:
        self._forget(Request.of(one))
        queue.add(Request.of(one))

    def _forget(self, request: Request) -> None:
        self._expectations.forget(str(request))
        self._written.forget(request)

    def _node_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        same_labels = (old["metadata"].get("labels") or {}) == (new["metadata"].get("labels") or {})
        if not same_labels or (old["spec"].get("taints") or ()) != (new["spec"].get("taints") or ()):
            self._enqueue_for_node(new, queue)

    def _enqueue_for_node(self, node: Object, queue: RequestQueue) -> None:
        """Enqueue the DaemonSets that have to create or to delete a pod on a node (syncNodeUpdate)."""
        name = node["metadata"]["name"]
        for one in self._sets.list():
            run, keep = should_run(one, node)
            present = any(pod["spec"].get("nodeName") == name for pod in owned_and_orphans(self._pods, one))
            if (run and not present) or (not keep and present):
                queue.add(Request.of(one))

    def _controlling(self, revision: Object) -> Object | None:
        reference = controller_of(revision)
        if reference is None or reference.get("kind") != "DaemonSet":
            return None
        found = self._sets.get(revision["metadata"]["namespace"], reference["name"])
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None

    def _revision_created(self, revision: Object, queue: RequestQueue) -> None:
        if controller_of(revision) is None:
            for one in self._selecting(revision):
                queue.add(Request.of(one))

    def _revision_updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        if old["metadata"]["resourceVersion"] == new["metadata"]["resourceVersion"]:
            return
        owners = [self._controlling(new), self._controlling(old)]
        if controller_of(new) is None:
            owners += self._selecting(new)
        for one in owners:
            if one is not None:
                queue.add(Request.of(one))

    def _revision_deleted(self, revision: Object, queue: RequestQueue) -> None:
        owner = self._controlling(revision)
        if owner is not None:
            queue.add(Request.of(owner))

    # --- reconciling

    async def reconcile(self, request: Request) -> Result | None:
        self._written.check(request)
        found = self._sets.get(request.namespace, request.name)
        if found is None:
            self._forget(request)
            return None
        if found["metadata"].get("deletionTimestamp"):
            return None
        return await self._sync(found)

    async def _sync(self, found: Object) -> Result | None:
        key, now, nodes = str(Request.of(found)), self._context.now(), self._nodes.list()
        pods = await self._claims(found).claim(owned_and_orphans(self._pods, found))
        history = DaemonHistory(self._client, found)
        revisions = await self._claims(found).claim(owned_and_orphans(self._revisions, found))
        current, old = await history.construct(revisions, pods)
        hash = (current["metadata"].get("labels") or {}).get(HASH_LABEL, "")
        by_node = _by_node(pods)
        if not self._expectations.satisfied(key):
            return await self._update_status(found, nodes, by_node, hash, now, observed=False)
        wait: float | None = None
        problem: Exception | None = None
        try:
            wait = await self._manage(found, nodes, by_node, hash, now)
            if self._expectations.satisfied(key) and _rolls(found):
                await self._apply(found, plan_update(found, nodes, by_node, hash, now), hash)
            await history.clean_up(old, pods)
        except ApiError as error:
            problem = error
        result = await self._update_status(found, nodes, by_node, hash, now, observed=True)
        if problem is not None:
            raise problem
        waits = [one for one in (wait, result.requeue_after if result else None) if one is not None]
        return Result(requeue_after=min(waits)) if waits else None

    def _claims(self, found: Object) -> ControllerRefManager:
        selector = label_selector_as_selector(found["spec"]["selector"])
        return ControllerRefManager(self._client, found, "apps/v1", "DaemonSet", selector)

    async def _manage(
        self, found: Object, nodes: Sequence[Object], pods: Mapping[str, Sequence[Pod]], hash: str, now: datetime
    ) -> float | None:
        """Create and delete pods so that each node has what it should; returns the seconds to the next deletion."""
        plan = Plan()
        for node in nodes:
            plan_node(plan, found, node, pods.get(node["metadata"]["name"]), hash, now)
        known = {node["metadata"]["name"] for node in nodes}
        for name, left in pods.items():
            if name not in known:
                plan.pods += [pod for pod in left if not pod["spec"].get("nodeName")]
        wait = self._delete_ended(found, plan)
        await self._apply(found, plan, hash)
        return wait

    def _delete_ended(self, found: Object, plan: Plan) -> float | None:
        """Add pods that have ended to those to delete: failed ones after a delay that doubles."""
        waits: list[float] = []
        observed = (found.get("status") or {}).get("observedGeneration", 0)
        for pod in plan.ended:
            meta, node = pod["metadata"], target_node(pod)
            where = f"{meta['namespace']}/{meta['name']} on node {node}"
            if phase(pod) == "Succeeded":
                text = f"Found succeeded daemon pod {where}, will try to delete it"
                self._recorder.event(found, "Normal", "SucceededDaemonPod", text)
                plan.pods.append(pod)
                continue
            key = (found["metadata"]["uid"], observed, node)
            if self._backoff.is_waiting(key):
                waits.append(self._backoff.delay(key))
                continue
            self._backoff.failed(key)
            text = f"Found failed daemon pod {where}, will try to kill it"
            self._recorder.event(found, "Warning", "FailedDaemonPod", text)
            plan.pods.append(pod)
        return min(waits, default=None)

    async def _apply(self, found: Object, plan: Plan, hash: str) -> None:
        """Create and delete the pods of a plan. Raises the first ApiError (syncNodes)."""
        key = str(Request.of(found))
        nodes, pods = plan.nodes[:BURST], plan.pods[:BURST]
        self._expectations.expect(key, creations=len(nodes), deletions=len(pods))
        template = pod_template(found, hash)
        reference = controller_reference(found, "apps/v1", "DaemonSet")

        async def create(index: int) -> None:
            try:
                await self._control.create(found, reference, for_node(template, nodes[index]))
            except ApiError as error:
                if not is_namespace_terminating(error):
                    raise

        succeeded, problem = await slow_start(len(nodes), create)
        self._expectations.creation_observed(key, len(nodes) - succeeded)
        outcomes = await asyncio.gather(*(self._delete(key, found, pod) for pod in pods))
        errors = [error for error in (problem, *outcomes) if error is not None]
        if errors:
            raise errors[0]

    async def _delete(self, key: str, found: Object, pod: Pod) -> Exception | None:
        try:
            await self._control.delete(found, pod)
        except ApiError as error:
            self._expectations.deletion_observed(key, "")
            if error.reason != "NotFound":
                return error
        return None

    # --- status

    async def _update_status(
        self,
        found: Object,
        nodes: Sequence[Object],
        pods: Mapping[str, Sequence[Pod]],
        hash: str,
        now: datetime,
        *,
        observed: bool,
    ) -> Result | None:
        """Count pods, and write the status if it has changed. Raises ApiError.

        `observed`: whether the generation has been acted upon.
        """
        counts = _counts(found, nodes, pods, hash, now)
        status, meta = found.get("status") or {}, found["metadata"]
        seen = (status.get("observedGeneration") or 0) >= meta["generation"]
        if not seen or any((status.get(name) or 0) != count for name, count in counts.items()):
            if observed:
                counts["observedGeneration"] = meta["generation"]
            try:
                stored = await self._client.update_status({**found, "status": _merged(status, counts)})
            except ApiError:
                fresh = await self._client.get("apps/v1", "DaemonSet", meta["name"], meta["namespace"])
                merged = _merged(fresh.get("status") or {}, counts)
                stored = await self._client.update_status({**fresh, "status": merged})
            self._written.wrote(found, self._sets, stored)
        if counts["numberReady"] != counts["numberAvailable"]:
            return Result(requeue_after=min_ready_seconds(found))
        return None


def _rolls(found: Object) -> bool:
    return (found["spec"].get("updateStrategy") or {}).get("type") == "RollingUpdate"


def _by_node(pods: Sequence[Pod]) -> Mapping[str, Sequence[Pod]]:
    """The pods by the node that they run on or are for, without those that have ended and are being deleted."""
    found: dict[str, list[Pod]] = {}
    for pod in pods:
        node = target_node(pod)
        if node is not None and not (is_terminal(pod) and pod["metadata"].get("deletionTimestamp")):
            found.setdefault(node, []).append(pod)
    return found


def _counts(
    found: Object, nodes: Sequence[Object], pods: Mapping[str, Sequence[Pod]], hash: str, now: datetime
) -> dict[str, int]:
    counts = dict.fromkeys(_ALWAYS, 0)
    counts |= {"updatedNumberScheduled": 0, "numberAvailable": 0}
    for node in nodes:
        run, _ = should_run(found, node)
        present = pods.get(node["metadata"]["name"])
        if not run:
            counts["numberMisscheduled"] += bool(present)
            continue
        counts["desiredNumberScheduled"] += 1
        if present:
            pod = by_age(present)[0]
            counts["currentNumberScheduled"] += 1
            counts["numberReady"] += is_ready(pod)
            counts["numberAvailable"] += is_available(pod, min_ready_seconds(found), now)
            counts["updatedNumberScheduled"] += is_updated(pod, hash, generation(found))
    counts["numberUnavailable"] = counts["desiredNumberScheduled"] - counts["numberAvailable"]
    return counts


#: The counts that a status has even if they are 0.
_ALWAYS = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")


def _merged(status: Object, counts: Mapping[str, int]) -> dict[str, Any]:
    """A status with these counts; those that are 0 are left out where Go leaves them out."""
    merged = {**status, **counts}
    return {name: value for name, value in merged.items() if value or name in _ALWAYS or name not in counts}
