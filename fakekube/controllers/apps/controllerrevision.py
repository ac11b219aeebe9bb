"""The history of a StatefulSet or a DaemonSet: its templates as ControllerRevisions (`pkg/controller/history`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.client import Selector
from controllerlib.controller import controller_of
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.workload.controllerref import controller_reference
from fakekube.controllers.workload.owned import by_controller, owned_and_orphans
from fakekube.controllers.workload.semantic import is_equal
from fakekube.controllers.workload.templatehash import template_hash

HASH_LABEL = "controller.kubernetes.io/hash"

Object = Mapping[str, Any]


def cached_revisions(context: ControllerContext) -> CachedKind:
    """The ControllerRevisions, indexed by their controller."""
    return by_controller(context, "apps/v1", "ControllerRevision")


def template_patch(owner: Object) -> dict[str, Any]:
    """The data of a revision: a strategic merge patch that replaces the template.

    Its keys are in the order of Go's maps, because clients compare the bytes: `kubectl rollout undo`.
    """
    return {"spec": {"template": _in_go_order({**owner["spec"]["template"], "$patch": "replace"})}}


def _in_go_order(value: Any) -> Any:
    """A document whose keys are sorted at all levels."""
    if isinstance(value, Mapping):
        return {key: _in_go_order(value[key]) for key in sorted(value)}
    return [_in_go_order(one) for one in value] if isinstance(value, list) else value


def with_revision(owner: Object, revision: Object) -> dict[str, Any]:
    """An object with the template of a revision (ApplyRevision)."""
    template = {key: value for key, value in revision["data"]["spec"]["template"].items() if key != "$patch"}
    return {**owner, "spec": {**owner["spec"], "template": template}}


def is_same_revision(one: Object, other: Object) -> bool:
    return is_equal(one["data"], other["data"])


def in_order(revisions: Sequence[Object]) -> list[Object]:
    """The revisions, the oldest first."""
    return sorted(revisions, key=_order)


def _order(revision: Object) -> tuple[int, str, str]:
    meta = revision["metadata"]
    return revision["revision"], meta.get("creationTimestamp") or "", meta["name"]


class History:
    """The ControllerRevisions of objects of one kind."""

    def __init__(self, client: Client, revisions: CachedKind, api_version: str, kind: str) -> None:
        self._client, self._revisions = client, revisions
        self._api_version, self._kind = api_version, kind

    def of(self, owner: Object, selector: Selector) -> list[Object]:
        """The selected revisions that an object controls, and those without a controller."""
        found = owned_and_orphans(self._revisions, owner)
        return [one for one in found if selector.matches(one["metadata"].get("labels"))]

    def proposed(self, owner: Object, number: int, collisions: int) -> dict[str, Any]:
        """The revision of the present template."""
        meta, data = owner["metadata"], template_patch(owner)
        hash = template_hash(data, collisions)
        labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
        return {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{meta['name'][:223]}-{hash}",
                "namespace": meta["namespace"],
                "labels": {**labels, HASH_LABEL: hash},
                "annotations": dict(meta.get("annotations") or {}),
                "ownerReferences": [controller_reference(owner, self._api_version, self._kind)],
            },
            "data": data,
            "revision": number,
        }

    async def create(self, owner: Object, proposed: Object, collisions: int) -> tuple[Object, int]:
        """Create a revision under a free name; returns it and the number of collisions. Raises ApiError."""
        while True:
            hash = template_hash(proposed["data"], collisions)
            meta = {**proposed["metadata"], "name": f"{owner['metadata']['name'][:223]}-{hash}"}
            try:
                return await self._client.create({**proposed, "metadata": meta}), collisions
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
            found = await self._client.get("apps/v1", "ControllerRevision", meta["name"], meta["namespace"])
            if is_same_revision(found, proposed):
                return found, collisions
            collisions += 1

    async def renumber(self, revision: Object, number: int) -> Object:
        """Give a revision a new number, because its template is the present one again. Raises ApiError."""
        if revision["revision"] == number:
            return revision
        await self._client.update({**revision, "revision": number})
        return {**revision, "revision": number}

    async def delete(self, revision: Object) -> None:
        await self._client.delete(revision)

    async def adopt(self, owner: Object, revision: Object) -> None:
        """Make an object the controller of a revision. Raises ApiError."""
        reference = controller_reference(owner, self._api_version, self._kind)
        part = {"uid": revision["metadata"]["uid"], "ownerReferences": [reference]}
        await self._client.patch(revision, {"metadata": part}, type="strategic")


def orphans(revisions: Sequence[Object]) -> Sequence[Object]:
    return [one for one in revisions if controller_of(one) is None]
