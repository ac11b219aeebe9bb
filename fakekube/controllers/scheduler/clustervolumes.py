"""Volumes, claims and classes in the shared informers, and the writes that choose a volume for a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from controllerlib import Client
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.scheduler.clusterview import NodeInfo
from fakekube.controllers.scheduler.volumefit import SELECTED_NODE, volume_for

Object = Mapping[str, Any]


class ClusterVolumes:
    """Implements `volumefit.Volumes`."""

    KINDS: ClassVar[Sequence[tuple[str, str]]] = (
        ("v1", "PersistentVolumeClaim"),
        ("v1", "PersistentVolume"),
        ("storage.k8s.io/v1", "StorageClass"),
    )

    def __init__(self, context: ControllerContext) -> None:
        self._claims, self._volumes, self._classes = (context.kind(*kind) for kind in self.KINDS)

    def claim(self, namespace: str, name: str) -> Object | None:
        return self._claims.get(namespace, name)

    def volume(self, name: str) -> Object | None:
        return self._volumes.get("", name)

    def volumes(self) -> Sequence[Object]:
        return self._volumes.list()

    def storage_class(self, name: str) -> Object | None:
        return self._classes.get("", name) if name else None

    async def select(self, client: Client, claim: Object, node: NodeInfo) -> None:
        """Bind a volume that exists to the claim, or have one provisioned for the node (binder.BindPodVolumes)."""
        meta = claim["metadata"]
        volume = volume_for(claim, node, self)
        if volume is not None:
            reference = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": meta["namespace"],
                "name": meta["name"],
                "uid": meta["uid"],
                "resourceVersion": meta["resourceVersion"],
            }
            annotations = {
                **(volume["metadata"].get("annotations") or {}),
                "pv.kubernetes.io/bound-by-controller": "yes",
            }
            changed = {**volume["metadata"], "annotations": annotations}
            await client.update({**volume, "metadata": changed, "spec": {**volume["spec"], "claimRef": reference}})
        elif (meta.get("annotations") or {}).get(SELECTED_NODE) != node.name:
            annotations = {**(meta.get("annotations") or {}), SELECTED_NODE: node.name}
            await client.update({**claim, "metadata": {**meta, "annotations": annotations}})
