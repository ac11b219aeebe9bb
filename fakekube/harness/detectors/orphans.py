"""Detects objects that an operator created for an object that has been deleted since, and that nothing will delete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controllerlib.controller import Outcome
from controllerlib.observer import Call
from fakekube.apiserver.storage.store import path_of
from fakekube.harness.detectors.detector import Doing, Scene, meta_of

#: Kinds whose objects outlive their cause: records, locks, and data that is kept by convention.
KEPT = frozenset(
    {"Event", "Lease", "PersistentVolumeClaim", "PersistentVolume", "Namespace", "CustomResourceDefinition"}
)

#: How many created objects are remembered.
REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Made:
    """An object without an owner reference that a reconcile created."""

    doing: Doing
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str

    def stored(self, scene: Scene) -> Mapping[str, Any] | None:
        """Its metadata, if it still exists."""
        resource = scene.runner.apiserver.catalog.find_kind(self.api_version, self.kind)
        if resource is None:
            return None
        entry = scene.store.get(resource.collection, path_of(self.namespace if resource.namespaced else "", self.name))
        meta = meta_of(entry.object) if entry is not None else {}
        return meta if meta.get("uid") == self.uid else None


class Orphans:
    """Objects that still exist although a reconcile has succeeded since their reconciled object was deleted.

    Not reported: objects with an owner reference, which the garbage collector deletes, those of KEPT kinds, and those
    of kinds that the controller owns, whose references are judged elsewhere (`missing-owner`).
    """

    names: tuple[str, ...] = ("leaked-child",)

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._made: dict[tuple[int, str, str], list[Made]] = {}
        self._size = 0
        #: the last reconcile of each key whose object did not exist any more
        self._gone: dict[tuple[int, str, str], Doing] = {}

    def called(self, doing: Doing, call: Call, code: int, answer: Any) -> None:
        if code != 201 or not isinstance(answer, dict) or answer.get("kind") in KEPT or self._size >= REMEMBERED:
            return
        meta = meta_of(answer)
        if meta.get("ownerReferences") or self._scene.reconciled(doing) is None:
            return
        api_version, kind = answer.get("apiVersion", ""), answer.get("kind", "")
        if (api_version, kind) in doing.operator.owned.get(doing.run.controller, ()):
            return
        namespace, name = meta.get("namespace", ""), meta.get("name", "")
        made = Made(doing, api_version, kind, namespace, name, str(meta.get("uid", "")))
        self._made.setdefault(doing.who, []).append(made)
        self._size += 1

    def finished(self, doing: Doing, outcome: Outcome) -> None:
        if doing.who not in self._made:
            return
        if outcome.error is None and self._scene.reconciled(doing) is None:
            self._gone[doing.who] = doing
        else:
            self._gone.pop(doing.who, None)

    def finish(self) -> None:
        for who, last in self._gone.items():
            if last.operator.is_killed or last.operator.is_queued(last.run.controller, last.run.request):
                continue
            for made in self._made[who]:
                meta = made.stored(self._scene)
                if meta is not None and not meta.get("ownerReferences") and "deletionTimestamp" not in meta:
                    self._scene.report(
                        "leaked-child",
                        f"{made.doing} created {made.kind} {made.namespace}/{made.name}, which still exists although "
                        f"{last.key} was deleted and {last} has succeeded since: give it an owner reference, or delete "
                        "it before a finalizer is removed",
                        key=(who, made.kind),
                    )

    def retire(self) -> None:
        self._made.clear()
        self._gone.clear()
