"""Which StatefulSets are reconciled when, their revisions and their status (`stateful_set.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.client import label_selector_as_selector, retry_on_conflict
from controllerlib.controller import EnqueueRequestForObject, HandlerFuncs
from fakekube.controllers.apps.controllerrevision import (
    History,
    cached_revisions,
    in_order,
    is_same_revision,
    orphans,
)
from fakekube.controllers.apps.statefulset.podidentity import is_member, revision_of
from fakekube.controllers.apps.statefulset.podset import PodSet
from fakekube.controllers.apps.statefulset.statefulpods import CannotCreateClaim, StatefulPods
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.workload.consistency import ConsistencyStore
from fakekube.controllers.workload.controllerref import CannotAdopt, ControllerRefManager
from fakekube.controllers.workload.owned import owned_and_orphans, pods_by_controller, selecting, template_selector
from fakekube.controllers.workload.podevents import PodEvents
from fakekube.controllers.workload.podstate import Pod, next_availability_check

NAME = "statefulset-controller"

#: How many reconciles run at the same time (kube-controller-manager: --concurrent-statefulset-syncs).
WORKERS = 5

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller of StatefulSets."""
    StatefulSetController(context).add()


class StatefulSetController:
    """Keeps a pod for each ordinal of a StatefulSet, and notes its templates as revisions."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(NAME)
        self._sets = context.kind("apps/v1", "StatefulSet")
        self._pods = pods_by_controller(context)
        self._history = History(self._client, cached_revisions(context), "apps/v1", "StatefulSet")
        self._written = ConsistencyStore()
        self._counts_unavailable = context.settings.feature_gates.get("MaxUnavailableStatefulSet", False)
        self._control = StatefulPods(context, self._client, context.recorder(NAME), self._written)

    def add(self) -> None:
        """Add the controller to the manager."""
        pods = PodEvents(self._sets, selecting(self._sets, template_selector))
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches("apps/v1", "StatefulSet", EnqueueRequestForObject()).watches("v1", "Pod", pods.handler)
        for api_version, kind in (("v1", "PersistentVolumeClaim"), ("apps/v1", "ControllerRevision")):
            builder.watches(api_version, kind, HandlerFuncs())
        builder.complete(self.reconcile)

    async def reconcile(self, request: Request) -> Result | None:
        self._written.check(request)
        found = self._sets.get(request.namespace, request.name)
        if found is None:
            self._written.forget(request)
            return None
        selector = label_selector_as_selector(found["spec"].get("selector"))
        claims = ControllerRefManager(self._client, found, "apps/v1", "StatefulSet", selector)
        await self._adopt_revisions(found, claims, self._history.of(found, selector))
        pods = await claims.claim(owned_and_orphans(self._pods, found), lambda pod: is_member(found, pod))
        return await self._sync(found, pods, in_order(self._history.of(found, selector)))

    async def _adopt_revisions(self, found: Object, claims: ControllerRefManager, revisions: Sequence[Object]) -> None:
        left = orphans(revisions)
        if left:
            try:
                await claims.check_owner()
            except CannotAdopt as error:
                raise CannotAdopt(f"can't adopt ControllerRevisions: {error}") from None
            for one in left:
                await self._history.adopt(found, one)

    async def _sync(self, found: Object, pods: Sequence[Pod], revisions: list[Object]) -> Result | None:
        """Reconcile the pods, write the status, and delete revisions beyond the limit (UpdateStatefulSet)."""
        now = self._context.now()
        current, update, collisions = await self._revisions(found, revisions)
        pod_set = PodSet.of(self._control, found, (current, update), pods, now)
        names = {"currentRevision": current["metadata"]["name"], "updateRevision": update["metadata"]["name"]}
        generation = found["metadata"]["generation"]
        status = {"observedGeneration": generation, **names, "collisionCount": collisions, **pod_set.counted(pods)}
        problem: Exception | None = None
        if not found["metadata"].get("deletionTimestamp"):
            try:
                await pod_set.advance()
            except (ApiError, CannotCreateClaim) as error:
                problem = error
            status |= pod_set.counted([*pod_set.replicas, *pod_set.condemned])
            if problem is None:
                try:
                    await pod_set.roll(status, counts_unavailable=self._counts_unavailable)
                except ApiError as error:
                    problem = error
        await self._update_status(found, status)
        await self._truncate(found, pods, revisions, names.values())
        if problem is not None:
            raise problem
        minimum = int(found["spec"].get("minReadySeconds") or 0)
        if status["readyReplicas"] == status["availableReplicas"]:
            return None
        wait = next_availability_check(pods, minimum, now)
        return Result(requeue_after=minimum if wait is None else wait)

    # --- revisions

    async def _revisions(self, found: Object, revisions: list[Object]) -> tuple[Object, Object, int]:
        """The current revision, that of the present template, and the collisions (getStatefulSetRevisions)."""
        status = found.get("status") or {}
        collisions = int(status.get("collisionCount") or 0)
        proposed = self._history.proposed(found, revisions[-1]["revision"] + 1 if revisions else 1, collisions)
        equal = [one for one in revisions if is_same_revision(one, proposed)]
        if equal and is_same_revision(revisions[-1], equal[-1]):
            update = revisions[-1]
        elif equal:
            update = await self._history.renumber(equal[-1], proposed["revision"])
        else:
            update, collisions = await self._history.create(found, proposed, collisions)
        named = [one for one in revisions if one["metadata"]["name"] == status.get("currentRevision")]
        return (named[0] if named else update), update, collisions

    async def _truncate(self, found: Object, pods: Sequence[Pod], revisions: Sequence[Object], names: Any) -> None:
        """Delete the oldest revisions without pods beyond revisionHistoryLimit (truncateHistory)."""
        live = {*names, *map(revision_of, pods)}
        history = [one for one in revisions if one["metadata"]["name"] not in live]
        limit = int(found["spec"].get("revisionHistoryLimit", 10))
        for one in history[: max(0, len(history) - limit)]:
            await self._history.delete(one)

    # --- status

    async def _update_status(self, found: Object, status: dict[str, Any]) -> None:
        """Write the status if it has changed; a conflict is tried again with the latest object. Raises ApiError."""
        _complete_rollout(found, status)
        before = found.get("status") or {}
        names = [name for name in status if name not in ("observedGeneration", "collisionCount")]
        seen = status["observedGeneration"] <= (before.get("observedGeneration") or 0)
        if seen and all(status[name] == (before.get(name) or type(status[name])()) for name in names):
            return
        kept = ("replicas", "availableReplicas", "collisionCount")
        written = {name: value for name, value in status.items() if value or name in kept}
        latest = found

        async def attempt() -> None:
            nonlocal latest
            try:
                stored = await self._client.update_status({**latest, "status": written})
            except ApiError:
                meta = found["metadata"]
                latest = self._sets.get(meta["namespace"], meta["name"]) or latest
                raise
            self._written.wrote(found, self._sets, stored)

        await retry_on_conflict(attempt, clock=self._context.clock, random=self._context.manager.random)


def _complete_rollout(found: Object, status: dict[str, Any]) -> None:
    """Make the update revision the current one when all pods have it and are ready (completeRollingUpdate)."""
    replicas = int(found["spec"].get("replicas") or 0)
    rolling = (found["spec"].get("updateStrategy") or {}).get("type") == "RollingUpdate"
    if rolling and all(status[name] == replicas for name in ("updatedReplicas", "readyReplicas", "replicas")):
        status["currentReplicas"] = status["updatedReplicas"]
        status["currentRevision"] = status["updateRevision"]
