"""Creating, updating and deleting the pods of a StatefulSet and their claims (`stateful_pod_control.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.client import DEFAULT_BACKOFF, retry_on_conflict
from controllerlib.record import CoreEventRecorder
from fakekube.controllers.apps.statefulset.podidentity import (
    claims,
    has_identity,
    has_storage,
    identified,
    with_storage,
)
from fakekube.controllers.apps.statefulset.retention import (
    has_stale_owner,
    has_unexpected_controller,
    is_up_to_date,
    policy,
    with_owners,
)
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.workload.consistency import ConsistencyStore
from fakekube.controllers.workload.podstate import Pod

Object = Mapping[str, Any]


class CannotCreateClaim(Exception):
    """A claim of a pod is missing or being deleted, so that the pod cannot be created."""


class StatefulPods:
    """Writes pods and claims of StatefulSets, with Events about the StatefulSet."""

    def __init__(
        self, context: ControllerContext, client: Client, recorder: CoreEventRecorder, written: ConsistencyStore
    ) -> None:
        self._context, self._client, self._recorder, self._written = context, client, recorder, written
        self._pods: CachedKind = context.kind("v1", "Pod")
        self._claims: CachedKind = context.kind("v1", "PersistentVolumeClaim")

    async def create(self, set: Object, pod: Pod) -> None:
        """Create the claims of a pod that are missing, then the pod. Raises ApiError, CannotCreateClaim."""
        try:
            await self.create_claims(set, pod)
        except CannotCreateClaim as error:
            self._record("create", set, pod, error)
            raise
        problem: ApiError | None = None
        try:
            stored = await self._client.create(dict(pod))
            self._written.wrote(set, self._pods, stored)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                raise
            problem = error
        await self.update_claim_owners(set, pod)
        self._record("create", set, pod, problem)
        if problem is not None:
            raise problem

    async def update(self, set: Object, pod: Pod) -> None:
        """Give a pod its labels, its volumes and its claims again. Raises ApiError, CannotCreateClaim."""
        latest, attempted = pod, False

        async def attempt() -> None:
            nonlocal latest, attempted
            wanted = latest if has_identity(set, latest) else identified(set, latest)
            if not has_storage(set, latest):
                wanted = with_storage(set, wanted)
                await self.create_claims(set, wanted)
            owned = self.has_claim_owners(set, latest)
            if not owned:
                await self.update_claim_owners(set, latest)
            if wanted is latest and owned:
                return
            attempted = True
            try:
                self._written.wrote(set, self._pods, await self._client.update(wanted))
            except ApiError:
                meta = latest["metadata"]
                latest = self._pods.get(meta["namespace"], meta["name"]) or latest
                raise

        problem: ApiError | None = None
        try:
            await retry_on_conflict(
                attempt, DEFAULT_BACKOFF, clock=self._context.clock, random=self._context.manager.random
            )
        except ApiError as error:
            problem = error
        if attempted:
            self._record("update", set, pod, problem)
        if problem is not None:
            raise problem

    async def delete(self, set: Object, pod: Pod) -> None:
        """Delete a pod. Raises ApiError."""
        try:
            await self._client.delete(pod)
        except ApiError as error:
            if error.reason != "NotFound":
                self._record("delete", set, pod, error)
                raise
        self._record("delete", set, pod, None)

    # --- claims

    async def create_missing_claims(self, set: Object, pod: Pod) -> None:
        """Create the claims of a pending pod that are missing. Raises ApiError, CannotCreateClaim."""
        await self.create_claims(set, pod)
        await self.update_claim_owners(set, pod)

    async def create_claims(self, set: Object, pod: Pod) -> None:
        problems: list[str] = []
        for claim in claims(set, pod).values():
            name = claim["metadata"]["name"]
            present = self._claims.get(claim["metadata"]["namespace"], name)
            if present is not None:
                if present["metadata"].get("deletionTimestamp"):
                    problems.append(f"pvc {name} is being deleted")
                continue
            problem: ApiError | None = None
            try:
                self._written.wrote(set, self._claims, await self._client.create(claim))
            except ApiError as error:
                problems.append(f"failed to create PVC {name}: {error.message}")
                problem = error
            if problem is None or problem.reason != "AlreadyExists":
                self._record_claim(set, pod, name, problem)
        if problems:
            text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
            raise CannotCreateClaim(text)

    def has_claim_owners(self, set: Object, pod: Pod) -> bool:
        """Whether the claims of a pod have the owners of the retention policy (ClaimsMatchRetentionPolicy)."""
        return all(is_up_to_date(claim, set, pod) for claim in self._present_claims(set, pod))

    async def update_claim_owners(self, set: Object, pod: Pod) -> None:
        """Give the claims of a pod the owners of the retention policy. Raises ApiError."""
        for claim in self._present_claims(set, pod):
            if has_unexpected_controller(claim, set, pod):
                text = (
                    f"PersistentVolumeClaim {claim['metadata']['name']} has a conflicting OwnerReference that acts as "
                    "a manging controller, the retention policy is ignored for this claim"
                )
                self._recorder.event(set, "Warning", "ConflictingController", text)
            if not is_up_to_date(claim, set, pod):
                stored = await self._client.update(with_owners(claim, set, pod))
                self._written.wrote(set, self._claims, stored)

    def has_stale_claim(self, set: Object, pod: Pod) -> bool:
        """Whether a claim of a pod still belongs to a former pod of its name, with which it goes (PodClaimIsStale)."""
        _, when_scaled = policy(set)
        return when_scaled and any(has_stale_owner(one, pod, "v1", "Pod") for one in self._present_claims(set, pod))

    def _present_claims(self, set: Object, pod: Pod) -> list[Object]:
        wanted = [claim["metadata"] for claim in claims(set, pod).values()]
        found = [self._claims.get(meta["namespace"], meta["name"]) for meta in wanted]
        return [claim for claim in found if claim is not None]

    # --- Events

    def _record(self, verb: str, set: Object, pod: Pod, problem: Exception | None) -> None:
        done = f"{verb.title()} Pod {pod['metadata']['name']} in StatefulSet {set['metadata']['name']}"
        self._event(verb, set, done, "successful", problem)

    def _record_claim(self, set: Object, pod: Pod, claim: str, problem: Exception | None) -> None:
        names = f"{claim} Pod {pod['metadata']['name']} in StatefulSet {set['metadata']['name']}"
        self._event("create", set, f"Create Claim {names}", "success", problem)

    def _event(self, verb: str, set: Object, done: str, well: str, problem: Exception | None) -> None:
        if problem is None:
            self._recorder.event(set, "Normal", f"Successful{verb.title()}", f"{done} {well}")
        else:
            self._recorder.event(set, "Warning", f"Failed{verb.title()}", f"{done} failed error: {problem}")
