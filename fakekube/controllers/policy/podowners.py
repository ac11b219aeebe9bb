"""The scale of the object that controls a pod (`finders` of the disruption controller)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.controller import controller_of
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.workload.podstate import Pod
from fakekube.controllers.workload.scaleclient import get_scale, has_scale

Object = Mapping[str, Any]

#: The kinds that are read from the informers.
KINDS = (
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
)

#: The groups that a reference to such a kind may have.
_GROUPS = {
    "ReplicationController": ("",),
    "ReplicaSet": ("apps", "extensions"),
    "Deployment": ("apps", "extensions"),
    "StatefulSet": ("apps",),
}


class ScaleUnknown(Exception):
    """The number of pods that should be there cannot be found."""


class PodOwners:
    """Finds the objects that control pods, and how many pods they want."""

    def __init__(self, context: ControllerContext, client: Client) -> None:
        self._client = client
        self._kinds = {kind: context.kind(api_version, kind) for api_version, kind in KINDS}

    async def expected(self, pods: Sequence[Pod]) -> tuple[int, Sequence[str]]:
        """How many pods the controlling objects want in all, and the names of the pods without one.

        Raises ApiError, ScaleUnknown. Source: kubernetes, getExpectedScale.
        """
        scales: dict[str, int] = {}
        unmanaged: list[str] = []
        for pod in pods:
            reference = controller_of(pod)
            if reference is None:
                unmanaged.append(pod["metadata"]["name"])
            elif reference["uid"] not in scales:
                found = await self._scale(reference, pod["metadata"]["namespace"])
                if found is None:
                    raise ScaleUnknown(f'found no controllers for pod "{pod["metadata"]["name"]}"')
                scales[found[0]] = found[1]
        return sum(scales.values()), unmanaged

    async def _scale(self, reference: Object, namespace: str) -> tuple[str, int] | None:
        """The uid and the scale of the object of a reference; of a ReplicaSet's Deployment, if it has one."""
        owner = self._cached(reference, namespace)
        if owner is not None and reference["kind"] == "ReplicaSet":
            above = controller_of(owner)
            if above is not None and above.get("kind") == "Deployment":
                owner = self._cached(above, namespace)
        if owner is not None:
            return owner["metadata"]["uid"], owner["spec"].get("replicas") or 0
        return await self._live(reference, namespace)

    def _cached(self, reference: Object, namespace: str) -> Object | None:
        kind = reference.get("kind") or ""
        group = reference["apiVersion"].rpartition("/")[0]
        if group not in _GROUPS.get(kind, ()):
            return None
        found = self._kinds[kind].get(namespace, reference["name"])
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None

    async def _live(self, reference: Object, namespace: str) -> tuple[str, int] | None:
        api_version, kind = reference["apiVersion"], reference["kind"]
        try:
            scale = await get_scale(self._client, api_version, kind, namespace, reference["name"])
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            if not await has_scale(self._client, api_version, kind):
                resource = await self._client.mapper.resource(api_version, kind)
                raise ScaleUnknown(f"{resource.qualified} does not implement the scale subresource") from None
            return None
        if scale["metadata"].get("uid") != reference["uid"]:
            return None
        return reference["uid"], int((scale.get("spec") or {}).get("replicas") or 0)
