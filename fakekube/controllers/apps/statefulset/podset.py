"""One reconcile of a StatefulSet: the pods of its ordinals, in order (`stateful_set_control.go`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fakekube.controllers.apps.controllerrevision import with_revision
from fakekube.controllers.apps.statefulset.podidentity import (
    has_identity,
    has_storage,
    new_pod,
    ordinal,
    ordinals,
    revision_of,
)
from fakekube.controllers.apps.statefulset.statefulpods import StatefulPods
from fakekube.controllers.workload.batches import slow_start
from fakekube.controllers.workload.intorpercent import scaled_value
from fakekube.controllers.workload.podstate import Pod, is_available, is_ready, is_terminal, phase

Object = Mapping[str, Any]
Status = dict[str, Any]


@dataclass(slots=True)
class PodSet:
    """The pods of a StatefulSet in one reconcile.

    `replicas`: a pod for each ordinal, existing or to be created. `condemned`: existing pods beyond the ordinals, the
    highest first. `current`, `update`: the revisions that pods may have.
    """

    pods: StatefulPods
    set: Object
    current: Object
    update: Object
    now: datetime
    replicas: list[Pod]
    condemned: list[Pod]
    #: Whether each pod exists and none is waited for, so that pods may be replaced.
    _is_established: bool = field(default=False, init=False)

    @classmethod
    def of(
        cls, pods: StatefulPods, set: Object, revisions: tuple[Object, Object], found: Sequence[Pod], now: datetime
    ) -> PodSet:
        """Sort the existing pods by their ordinals, and make those that are missing."""
        current, update = revisions
        present = {ordinal(pod): pod for pod in found}
        wanted = ordinals(set)
        replicas = [present.get(number) or _versioned_pod(set, current, update, number) for number in wanted]
        condemned = [pod for number, pod in present.items() if number >= 0 and number not in wanted]
        condemned.sort(key=ordinal, reverse=True)
        return cls(pods, set, current, update, now, replicas, condemned)

    @property
    def is_ordered(self) -> bool:
        """Whether one pod waits for another (podManagementPolicy OrderedReady)."""
        return bool(self.set["spec"].get("podManagementPolicy") != "Parallel")

    @property
    def updated_set(self) -> Object:
        """The StatefulSet with the template of the update revision."""
        return with_revision(self.set, self.update)

    # --- the steps

    async def advance(self) -> None:
        """Create, repair and delete pods as far as their order allows. Raises ApiError, CannotCreateClaim."""
        first_unavailable = next((pod for pod in self._by_ordinal() if self._is_unavailable(pod)), None)
        if await self._for_each(self.replicas, self._ensure):
            return
        if await self._for_each(self.condemned, self._own_claims):
            return

        async def condemn(pod: Pod) -> bool:
            return await self._condemn(pod, first_unavailable)

        if await self._for_each(self.condemned, condemn):
            return
        self._is_established = True

    async def roll(self, status: Status, *, counts_unavailable: bool) -> None:
        """Delete pods that have another revision, from the highest ordinal down to the partition.

        counts_unavailable: whether as many pods may be unavailable as maxUnavailable allows (the feature gate
        MaxUnavailableStatefulSet); otherwise one is deleted, if those above it are available.
        """
        strategy = self.set["spec"].get("updateStrategy") or {}
        if not self._is_established or strategy.get("type") == "OnDelete":
            return
        rolling = strategy.get("rollingUpdate") or {}
        pods = self.replicas[int(rolling.get("partition") or 0) :][::-1]
        if counts_unavailable:
            await self._roll_within(pods, rolling.get("maxUnavailable", 1), status)
        else:
            await self._roll_one(pods, status)

    async def _roll_one(self, pods: Sequence[Pod], status: Status) -> None:
        for pod in pods:
            if self._is_outdated(pod):
                await self._replace(pod, status)
                return
            if self._is_unavailable(pod):
                return

    async def _roll_within(self, pods: Sequence[Pod], most: int | str, status: Status) -> None:
        """Delete pods until so many of all replicas are unavailable: a number, or a percentage of them."""
        allowed = max(1, scaled_value(most, len(self.replicas), round_up=False))
        left = max(0, allowed - sum(map(self._is_unavailable, self.replicas)))
        for pod in [pod for pod in pods if self._is_outdated(pod)][:left]:
            await self._replace(pod, status)

    async def _replace(self, pod: Pod, status: Status) -> None:
        """Delete a pod, so that it is created with the update revision."""
        await self.pods.delete(self.set, pod)
        status["currentReplicas"] = status.get("currentReplicas", 0) - 1

    async def _for_each(self, pods: Sequence[Pod], work: Callable[[Pod], Awaitable[bool]]) -> bool:
        """Work on each pod: one after the other until one is to be waited for, or all; returns whether to wait."""
        if self.is_ordered:
            for pod in pods:
                if await work(pod):
                    return True
            return False

        async def one(index: int) -> None:
            await work(pods[index])

        _, problem = await slow_start(len(pods), one)
        if problem is not None:
            raise problem
        return False

    async def _ensure(self, pod: Pod) -> bool:
        """Create a pod, or see to it that it runs with its identity; returns whether to wait (processReplica)."""
        if is_terminal(pod):
            if not _is_deleted(pod):
                await self.pods.delete(self.set, pod)
            return True
        if not _is_created(pod):
            if self.pods.has_stale_claim(self.set, pod):
                return True
            await self.pods.create(self.set, pod)
            if self.is_ordered:
                return True
        if phase(pod) == "Pending":
            await self.pods.create_missing_claims(self.set, pod)
        if self.is_ordered and (_is_deleted(pod) or not _is_running(pod) or not self._is_available(pod)):
            return True
        updated = self.updated_set
        owned = self.pods.has_claim_owners(updated, pod)
        if not (has_identity(self.set, pod) and has_storage(self.set, pod) and owned):
            await self.pods.update(updated, pod)
        return False

    async def _own_claims(self, pod: Pod) -> bool:
        """Give the claims of a pod that is scaled away the owners of the retention policy."""
        updated = self.updated_set
        if not self.pods.has_claim_owners(updated, pod):
            await self.pods.update_claim_owners(updated, pod)
        return False

    async def _condemn(self, pod: Pod, first_unavailable: Pod | None) -> bool:
        """Delete a pod beyond the ordinals; returns whether to wait (processCondemned)."""
        if _is_deleted(pod):
            return self.is_ordered
        healthy = _is_running(pod) and self._is_available(pod)
        if self.is_ordered and not healthy and pod is not first_unavailable:
            return True
        await self.pods.delete(self.set, pod)
        return True

    # --- facts

    def _by_ordinal(self) -> Iterable[Pod]:
        yield from self.replicas
        yield from reversed(self.condemned)

    def _is_available(self, pod: Pod) -> bool:
        return is_available(pod, int(self.set["spec"].get("minReadySeconds") or 0), self.now)

    def _is_unavailable(self, pod: Pod) -> bool:
        return not self._is_available(pod) or _is_deleted(pod)

    def _is_outdated(self, pod: Pod) -> bool:
        """Whether a pod has another revision, and is not being deleted."""
        return revision_of(pod) != self.update["metadata"]["name"] and not _is_deleted(pod)

    def counted(self, pods: Iterable[Pod]) -> Status:
        """The counts of pods for the status (computeReplicaStatus)."""
        found = [pod for pod in pods if _is_created(pod)]
        ready = [pod for pod in found if _is_running(pod)]
        revisions = [revision_of(pod) for pod in found if not _is_deleted(pod)]
        counts = {
            "readyReplicas": len(ready),
            "currentReplicas": revisions.count(self.current["metadata"]["name"]),
            "updatedReplicas": revisions.count(self.update["metadata"]["name"]),
        }
        available = sum(map(self._is_available, ready))
        return {"replicas": len(found), "availableReplicas": available, **counts}


def _versioned_pod(set: Object, current: Object, update: Object, number: int) -> dict[str, Any]:
    """The pod of an ordinal: of the current revision below the partition, else of the update revision."""
    strategy = set["spec"].get("updateStrategy") or {}
    rolling, start = strategy.get("rollingUpdate"), ordinals(set).start
    if rolling is not None:
        below = start + int(rolling.get("partition") or 0)
    elif strategy.get("type") == "RollingUpdate":
        below = start + int((set.get("status") or {}).get("currentReplicas") or 0)
    else:
        below = start
    revision = current if number < below else update
    return new_pod(with_revision(set, revision), revision["metadata"]["name"], number)


def _is_created(pod: Pod) -> bool:
    return phase(pod) != ""


def _is_running(pod: Pod) -> bool:
    return phase(pod) == "Running" and is_ready(pod)


def _is_deleted(pod: Pod) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))
