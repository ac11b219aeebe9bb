"""An object that a reconcile created."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fakekube.harness.detectors.detector import Doing, Scene, meta_of
from fakekube.struct import Struct


class Child(Struct, frozen=True):
    """An object as it was created, and the reconcile that created it."""

    doing: Doing
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def can_be_owned(self) -> bool:
        """Whether it is in the namespace of the key: references across namespaces are not possible."""
        namespace = getattr(self.doing.run.request, "namespace", "")
        return not namespace or namespace == self.namespace

    def stored(self, scene: Scene) -> Mapping[str, Any] | None:
        """The metadata of the object, if it still exists."""
        resource = scene.runner.apiserver.catalog.find_kind(self.api_version, self.kind)
        entry = scene.store.get(resource.collection, self.key) if resource is not None else None
        meta = meta_of(entry.object) if entry is not None else {}
        return meta if meta.get("uid") == self.uid else None


def child_of(doing: Doing, answer: Mapping[str, Any]) -> Child:
    """The object that a request has created, by its answer."""
    meta = meta_of(answer)
    place = meta.get("namespace", ""), meta.get("name", "")
    return Child(doing, answer.get("apiVersion", ""), answer.get("kind", ""), *place, str(meta.get("uid", "")))
