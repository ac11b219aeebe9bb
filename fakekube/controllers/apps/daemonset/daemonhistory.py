"""The revisions of a DaemonSet's template (`update.go`: constructHistory, cleanupHistory)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from controllerlib import ApiError, Client
from fakekube.controllers.apps.controllerrevision import template_patch
from fakekube.controllers.apps.daemonset.daemonpods import HASH_LABEL
from fakekube.controllers.workload.controllerref import controller_reference
from fakekube.controllers.workload.podstate import Pod
from fakekube.controllers.workload.semantic import is_equal
from fakekube.controllers.workload.templatehash import template_hash

Object = Mapping[str, Any]


class DaemonHistory:
    """The ControllerRevisions of one DaemonSet."""

    def __init__(self, client: Client, daemon_set: Object) -> None:
        self._client, self._daemon_set = client, daemon_set
        self._data = template_patch(daemon_set)

    async def construct(self, claimed: Iterable[Object], pods: Iterable[Pod]) -> tuple[Object, Sequence[Object]]:
        """The revision of the present template, which is created if it is missing, and the others. Raises ApiError."""
        found = [await self._labelled(one) for one in claimed]
        current = [one for one in found if is_equal(one["data"], self._data)]
        old = [one for one in found if one not in current]
        number = max((one["revision"] for one in old), default=0) + 1
        if not current:
            return await self._snapshot(number), old
        kept = await self._deduplicated(current, pods)
        if kept["revision"] < number:
            await self._client.update({**kept, "revision": number})
        return kept, old

    async def _labelled(self, revision: Object) -> Object:
        """A revision with the label of its hash, which those of old versions lack."""
        meta = revision["metadata"]
        if HASH_LABEL in (meta.get("labels") or {}):
            return revision
        labels = {**(meta.get("labels") or {}), HASH_LABEL: meta["name"]}
        return await self._client.update({**revision, "metadata": {**meta, "labels": labels}})

    async def _deduplicated(self, current: Sequence[Object], pods: Iterable[Pod]) -> Object:
        """The latest of the revisions with the present template; pods get its label, and the others are deleted."""
        kept = max(current, key=lambda one: int(one["revision"]))
        if len(current) == 1:
            return kept
        label = kept["metadata"]["labels"][HASH_LABEL]
        for pod in pods:
            if (pod["metadata"].get("labels") or {}).get(HASH_LABEL) != label:
                await self._client.patch(pod, {"metadata": {"labels": {HASH_LABEL: label}}})
        for one in current:
            if one is not kept:
                await self._client.delete(one)
        return kept

    async def _snapshot(self, number: int) -> Object:
        """Create the revision of the present template. Raises ApiError, also after a collision of hashes."""
        meta, template = self._daemon_set["metadata"], self._daemon_set["spec"]["template"]
        collisions = (self._daemon_set.get("status") or {}).get("collisionCount")
        hash = template_hash(template, collisions)
        name = f"{meta['name']}-{hash}"
        revision = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": name,
                "namespace": meta["namespace"],
                "labels": {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: hash},
                "annotations": dict(meta.get("annotations") or {}),
                "ownerReferences": [controller_reference(self._daemon_set, "apps/v1", "DaemonSet")],
            },
            "data": self._data,
            "revision": number,
        }
        try:
            return await self._client.create(revision)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            present = await self._client.get("apps/v1", "ControllerRevision", name, meta["namespace"])
            if is_equal(present["data"], self._data):
                return present
            await self._note_collision(collisions)
            raise

    async def _note_collision(self, collisions: int | None) -> None:
        meta = self._daemon_set["metadata"]
        fresh = await self._client.get("apps/v1", "DaemonSet", meta["name"], meta["namespace"])
        status = fresh.get("status") or {}
        if status.get("collisionCount") == collisions:
            await self._client.update_status({**fresh, "status": {**status, "collisionCount": (collisions or 0) + 1}})

    async def clean_up(self, old: Sequence[Object], pods: Iterable[Pod]) -> None:
        """Delete the oldest revisions without pods beyond revisionHistoryLimit. Raises ApiError."""
        surplus = len(old) - int(self._daemon_set["spec"].get("revisionHistoryLimit", 10))
        live = {(pod["metadata"].get("labels") or {}).get(HASH_LABEL) for pod in pods}
        for one in sorted(old, key=lambda one: int(one["revision"])):
            if surplus <= 0:
                return
            if one["metadata"]["labels"].get(HASH_LABEL) not in live:
                await self._client.delete(one)
                surplus -= 1
