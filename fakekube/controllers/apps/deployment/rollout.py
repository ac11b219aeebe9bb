"""One reconcile of a Deployment: its ReplicaSets are created, scaled and cleaned up (`sync.go`, `rolling.go`, ...)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Client, Result
from controllerlib.record import CoreEventRecorder
from fakekube.controllers.apps.deployment.deploymentstatus import (
    UNLIMITED,
    calculated,
    has_progress_deadline,
    is_complete,
    new_condition,
    next_progress_check,
    rollout_status,
    set_condition,
)
from fakekube.controllers.apps.deployment.revision import (
    DESIRED_REPLICAS,
    HASH_LABEL,
    MAX_REPLICAS,
    PREFIX,
    REVISION,
    annotation,
    created,
    is_same_template,
    max_revision,
    new_and_old,
    new_annotations,
    number_in,
    revision,
    with_replicas_annotations,
)
from fakekube.controllers.apps.deployment.scaling import (
    counted,
    is_rolling_update,
    is_saturated,
    max_surge,
    max_unavailable,
    proportional,
    replicas,
    size_of_new,
    total,
)
from fakekube.controllers.workload.controllerref import controller_reference
from fakekube.controllers.workload.podcontrol import is_namespace_terminating
from fakekube.controllers.workload.podstate import Pod, condition, is_terminal
from fakekube.controllers.workload.templatehash import template_hash
from fakekube.struct import Struct

Object = Mapping[str, Any]


def working_copy(deployment: Object) -> dict[str, Any]:
    """A Deployment whose annotations and conditions may be changed."""
    meta = deployment["metadata"]
    return {
        **deployment,
        "metadata": {**meta, "annotations": dict(meta.get("annotations") or {})},
        "status": dict(deployment.get("status") or {}),
    }


class Rollout(Struct):
    """One reconcile of a Deployment.

    `deployment` is a copy whose status and annotations change during the reconcile. Its resourceVersion does not: a
    status that is written twice in one reconcile is a conflict, after which it is reconciled again, as upstream.
    `pods`: those of each ReplicaSet, by its uid.
    """

    client: Client
    recorder: CoreEventRecorder
    now: datetime
    deployment: dict[str, Any]
    replica_sets: Sequence[Object]
    pods: Mapping[str, Sequence[Pod]]

    async def write_status(self) -> None:
        """Write the status and the annotations as they are now. Raises ApiError."""
        await self.client.update_status(working_copy(self.deployment))  # what was sent does not change afterwards

    # --- the ways to reconcile

    async def status_only(self) -> Result | None:
        """Update the status of a Deployment that is being deleted."""
        new, old = await self.new_and_old()
        return await self._write_status(calculated(self.deployment, new, old, self.now))

    async def scale(self) -> Result | None:
        """Scale a Deployment that is paused, or whose size has changed (sync)."""
        new, old = await self.new_and_old()
        await self._scale(new, old)
        if self.deployment["spec"].get("paused"):
            await self._clean_up(old)
        new, old = self._found() if new is None else (self._latest(new), [self._latest(one) for one in old])
        return await self._write_status(calculated(self.deployment, new, old, self.now))

    async def rolling(self) -> Result | None:
        """Scale the new ReplicaSet up and the old ones down, within maxSurge and maxUnavailable (rolloutRolling)."""
        new, old = await self.new_and_old(create=True)
        assert new is not None
        if await self._scale_new(new, old) or await self._scale_old(new, old):
            return await self._finish(new, old)
        if is_complete(self.deployment, self.deployment.get("status") or {}):
            await self._clean_up(old)
        return await self._finish(new, old)

    async def recreate(self) -> Result | None:
        """Scale the old ReplicaSets to zero, and the new one up when the old pods are gone (rolloutRecreate)."""
        new, old = await self.new_and_old()
        scaled = [await self._resize(one, 0) for one in old if replicas(one)]
        if any(scaled) or self._has_old_pods(new, old):
            return await self._finish(new, old)
        if new is None:
            new, old = await self.new_and_old(create=True)
        assert new is not None
        await self._resize(new, replicas(self.deployment))
        if is_complete(self.deployment, self.deployment.get("status") or {}):
            await self._clean_up(old)
        return await self._finish(new, old)

    def _has_old_pods(self, new: Object | None, old: Sequence[Object]) -> bool:
        if counted(old, "replicas") > 0:
            return True
        uid = new["metadata"]["uid"] if new is not None else ""
        return any(not is_terminal(pod) for owner, pods in self.pods.items() if owner != uid for pod in pods)

    # --- the new ReplicaSet

    async def is_scaling_event(self) -> bool:
        """Whether the size of the Deployment has changed since its ReplicaSets were scaled last."""
        new, old = await self.new_and_old()
        active = [one for one in [*old, new] if one is not None and replicas(one) > 0]
        desired = [number_in(one, DESIRED_REPLICAS) for one in active]
        return any(size is not None and size != replicas(self.deployment) for size in desired)

    async def new_and_old(self, *, create: bool = False) -> tuple[Object | None, Sequence[Object]]:
        """The new ReplicaSet with the revision that it should have, and the old ones.

        Without a new ReplicaSet one is created, if `create`, else None is returned. Raises ApiError.
        """
        new, old = self._found()
        number = max_revision(old) + 1
        if new is not None:
            return await self._revised(new, number), old
        return (await self._create(old, number) if create else None), old

    def _found(self) -> tuple[Object | None, Sequence[Object]]:
        return new_and_old(self.deployment, self.replica_sets)

    def _latest(self, replica_set: Object) -> Object:
        uid = replica_set["metadata"]["uid"]
        return next((one for one in self.replica_sets if one["metadata"]["uid"] == uid), replica_set)

    async def _revised(self, new: Object, number: int) -> Object:
        spec, meta = self.deployment["spec"], new["metadata"]
        annotations = new_annotations(self.deployment, new, number)
        minimum = spec.get("minReadySeconds") or 0
        if annotations != (meta.get("annotations") or {}) or minimum != (new["spec"].get("minReadySeconds") or 0):
            changed = {**new, "metadata": {**meta, "annotations": annotations}}
            changed["spec"] = {**new["spec"], "minReadySeconds": minimum}
            return await self.client.update(changed)
        write = self._set_revision(annotations.get(PREFIX + REVISION, ""))
        if has_progress_deadline(self.deployment) and condition(self.deployment, "Progressing") is None:
            self._set_progressing("True", "FoundNewReplicaSet", f'Found new replica set "{meta["name"]}"')
            write = True
        if write:
            await self.write_status()
        return new

    async def _create(self, old: Sequence[Object], number: int) -> Object:
        planned = self._planned(old, number)
        name = planned["metadata"]["name"]
        deployment, fresh = self.deployment, True
        try:
            stored: Object = await self.client.create(planned)
        except ApiError as error:
            if error.reason == "AlreadyExists":
                stored, fresh = await self._existing(name, error), False
            else:
                await self._report_failure(name, error)
                raise
        if fresh and replicas(planned) > 0:
            text = f"Scaled up replica set {name} from 0 to {replicas(planned)}"
            self.recorder.event(deployment, "Normal", "ScalingReplicaSet", text)
        write = self._set_revision(str(number))
        if fresh and has_progress_deadline(deployment):
            self._set_progressing("True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
            write = True
        if write:
            await self.write_status()
        return stored

    def _planned(self, old: Sequence[Object], number: int) -> dict[str, Any]:
        meta, spec = self.deployment["metadata"], self.deployment["spec"]
        template = spec["template"]
        hash = template_hash(template, (self.deployment.get("status") or {}).get("collisionCount"))
        labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: hash}
        selector = spec["selector"]
        planned: dict[str, Any] = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{meta['name'][: 252 - len(hash)]}-{hash}",
                "namespace": meta["namespace"],
                "labels": labels,
                "ownerReferences": [controller_reference(self.deployment, "apps/v1", "Deployment")],
            },
            "spec": {
                "replicas": 0,
                "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: hash}},
                "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
            },
        }
        if spec.get("minReadySeconds"):
            planned["spec"]["minReadySeconds"] = spec["minReadySeconds"]
        planned["spec"]["replicas"] = size_of_new(self.deployment, [*old, planned], planned)
        annotations = new_annotations(self.deployment, planned, number)
        most = replicas(self.deployment) + max_surge(self.deployment)
        planned["metadata"]["annotations"] = with_replicas_annotations(annotations, replicas(self.deployment), most)
        return planned

    async def _existing(self, name: str, error: ApiError) -> Object:
        """The ReplicaSet that has the name of the new one already; raises `error` if it is another's (a collision)."""
        meta = self.deployment["metadata"]
        for one in self.replica_sets:
            if one["metadata"]["name"] == name and is_same_template(
                one["spec"]["template"], self.deployment["spec"]["template"]
            ):
                return one
        found = await self.client.get("apps/v1", "ReplicaSet", name, meta["namespace"])
        owners = [one for one in found["metadata"].get("ownerReferences") or () if one.get("controller")]
        same = is_same_template(found["spec"]["template"], self.deployment["spec"]["template"])
        if same and owners and owners[0]["uid"] == meta["uid"]:
            return found
        status = self.deployment.setdefault("status", {})
        status["collisionCount"] = (status.get("collisionCount") or 0) + 1
        await self.write_status()
        raise error

    async def _report_failure(self, name: str, error: ApiError) -> None:
        if is_namespace_terminating(error):
            return
        text = f'Failed to create new replica set "{name}": {error.message}'
        if has_progress_deadline(self.deployment):
            self._set_progressing("False", "ReplicaSetCreateError", text)
            with suppress(ApiError):  # the error of the creation is the one to raise
                await self.write_status()
        self.recorder.event(self.deployment, "Warning", "ReplicaSetCreateError", text)

    def _set_revision(self, number: str) -> bool:
        """Set the revision of the Deployment; returns whether it has changed."""
        annotations = self.deployment["metadata"].setdefault("annotations", {})
        changed: bool = annotations.get(PREFIX + REVISION) != number
        annotations[PREFIX + REVISION] = number
        return changed

    def _set_progressing(self, status: str, reason: str, message: str) -> None:
        set_condition(
            self.deployment.setdefault("status", {}), new_condition("Progressing", status, reason, message, self.now)
        )

    # --- sizes

    async def _scale(self, new: Object | None, old: Sequence[Object]) -> None:
        """Follow a change of the Deployment's size (scale)."""
        every = [*old, *([new] if new is not None else [])]
        active = [one for one in every if replicas(one) > 0]
        if len(active) <= 1:
            latest = active[0] if active else new or max(old, key=created, default=None)
            if latest is not None:
                await self._resize(latest, replicas(self.deployment))
        elif is_saturated(self.deployment, new):
            for one in old:
                await self._resize(one, 0)
        elif is_rolling_update(self.deployment):
            for one, size in proportional(self.deployment, active):
                await self._resize(one, size, annotate=True)

    async def _scale_new(self, new: Object, old: Sequence[Object]) -> bool:
        """Scale the new ReplicaSet; returns whether it was scaled (reconcileNewReplicaSet)."""
        desired = replicas(self.deployment)
        if replicas(new) == desired:
            return False
        size = desired if replicas(new) > desired else size_of_new(self.deployment, [*old, new], new)
        return await self._resize(new, size)

    async def _scale_old(self, new: Object, old: Sequence[Object]) -> bool:
        """Scale old ReplicaSets down; returns whether one was scaled (reconcileOldReplicaSets).

        First pods that are not available, then as many as leaves the available ones at their minimum.
        """
        active: Sequence[Object] = sorted((one for one in old if replicas(one) > 0), key=created)
        if not active:
            return False
        least = replicas(self.deployment) - max_unavailable(self.deployment)
        unavailable = replicas(new) - counted([new], "availableReplicas")
        most = total([*old, new]) - least - unavailable
        if most <= 0:
            return False
        try:
            cleaned, active = await self._scale_unhealthy(active, most)
            return await self._scale_healthy(new, active, least) > 0 or cleaned > 0
        except ApiError:  # the next reconcile tries again
            return False

    async def _scale_unhealthy(self, old: Sequence[Object], most: int) -> tuple[int, Sequence[Object]]:
        """Scale down by pods that are not available, at most by `most`; returns by how many, and the ReplicaSets."""
        scaled, found = 0, []
        for one in old:
            number = min(most - scaled, replicas(one) - counted([one], "availableReplicas"))
            if number > 0:
                await self._resize(one, replicas(one) - number)
                scaled += number
            found.append(self._latest(one))
        return scaled, found

    async def _scale_healthy(self, new: Object, old: Sequence[Object], least: int) -> int:
        """Scale down by the pods that are available beyond `least`; returns by how many."""
        spare = counted([*old, new], "availableReplicas") - least
        scaled = 0
        for one in old:
            number = min(replicas(one), spare - scaled)
            if number > 0:
                await self._resize(one, replicas(one) - number)
                scaled += number
        return scaled

    async def _resize(self, one: Object, size: int, *, annotate: bool = False) -> bool:
        """Scale a ReplicaSet; returns whether its size has changed (scaleReplicaSet).

        `annotate`: update its annotations even if its size stays.
        """
        before, desired = replicas(one), replicas(self.deployment)
        most = desired + max_surge(self.deployment)
        noted = annotation(one, DESIRED_REPLICAS) == str(desired) and annotation(one, MAX_REPLICAS) == str(most)
        if before == size and (noted or not annotate):
            return False
        meta = one["metadata"]
        annotations = with_replicas_annotations(meta.get("annotations") or {}, desired, most)
        changed = {**one, "metadata": {**meta, "annotations": annotations}, "spec": {**one["spec"], "replicas": size}}
        stored = await self.client.update(changed)
        self.replica_sets = [stored if old["metadata"]["uid"] == meta["uid"] else old for old in self.replica_sets]
        if before == size:
            return False
        direction = "up" if before < size else "down"
        text = f"Scaled {direction} replica set {meta['name']} from {before} to {size}"
        self.recorder.event(self.deployment, "Normal", "ScalingReplicaSet", text)
        return True

    async def _clean_up(self, old: Sequence[Object]) -> None:
        """Delete the oldest ReplicaSets without pods beyond revisionHistoryLimit (cleanupDeployment)."""
        limit = self.deployment["spec"].get("revisionHistoryLimit", UNLIMITED)
        alive = [one for one in old if not one["metadata"].get("deletionTimestamp")]
        if limit == UNLIMITED or len(alive) <= limit:
            return
        ordered = sorted(alive, key=lambda one: (revision(one) or 0, *created(one)))
        for one in ordered[: len(alive) - limit]:
            status = one.get("status") or {}
            unseen = one["metadata"].get("generation", 0) > (status.get("observedGeneration") or 0)
            if status.get("replicas") or replicas(one) or unseen:
                continue
            try:
                await self.client.delete(one)
            except ApiError as error:
                if error.reason != "NotFound":
                    raise

    # --- status

    async def _finish(self, new: Object | None, old: Sequence[Object]) -> Result | None:
        """Write the status of a rollout; without a change, check the progress again when its deadline has passed."""
        status = rollout_status(self.deployment, new, old, self.now)
        if status == (self.deployment.get("status") or {}):
            wait = next_progress_check(self.deployment, status, self.now)
            return None if wait is None else Result(requeue_after=wait)
        return await self._write_status(status)

    async def _write_status(self, status: dict[str, Any]) -> Result | None:
        if status != (self.deployment.get("status") or {}):
            await self.client.update_status({**self.deployment, "status": status})
        return None
