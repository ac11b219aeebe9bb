"""Detects objects that an operator created for an object that has been deleted since, and that nothing will delete."""

from __future__ import annotations

from collections.abc import Mapping

from controllerlib.controller import Outcome
from fakekube.harness.detectors.createdchild import Child, child_of
from fakekube.harness.detectors.detector import Doing, Scene, Sent, meta_of
from fakekube.harness.detectors.levels import Level

#: Kinds whose objects outlive their cause: records, locks, and data that is kept by convention.
KEPT = frozenset(
    {"Event", "Lease", "PersistentVolumeClaim", "PersistentVolume", "Namespace", "CustomResourceDefinition"}
)

#: Verbs that end an object: by the removal of its last finalizer, or by its deletion.
ENDINGS = frozenset({"update", "patch", "delete"})

#: How many created objects are remembered.
REMEMBERED = 20_000


class Orphans:
    """Objects that still exist although a reconcile has succeeded since their reconciled object was deleted.

    They were created while the object existed, or by the reconcile that has ended it: it removed the last finalizer.
    Not reported: objects with an owner reference, which the garbage collector deletes, those of KEPT kinds, those that
    a reconcile of a deleted object creates, and those of kinds that the controller owns and that can have a reference,
    which is judged elsewhere (`missing-owner`).
    """

    levels: Mapping[str, Level] = {"leaked-child": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._made: dict[tuple[int, str, str], list[Child]] = {}
        self._size = 0
        #: the last reconcile of each key whose object did not exist any more
        self._gone: dict[tuple[int, str, str], Doing] = {}

    def made(self, doing: Doing, sent: Sent) -> None:
        answer = sent.answer
        if not isinstance(answer, dict) or answer.get("kind") in KEPT or self._size >= REMEMBERED:
            return
        meta = meta_of(answer)
        if meta.get("ownerReferences") or not self._has_object(doing):
            return
        child = child_of(doing, answer)
        is_owned = (child.api_version, child.kind) in doing.operator.owned.get(doing.run.controller, ())
        if is_owned and child.can_be_owned:
            return
        self._scene.follow(finished=self._finished)
        self._made.setdefault(doing.who, []).append(child)
        self._size += 1

    def _has_object(self, doing: Doing) -> bool:
        """Whether the object of a reconcile exists, or has ended by a write of this reconcile."""
        if self._scene.reconciled(doing) is not None:
            return True
        kind = doing.operator.reconciled.get(doing.run.controller)
        resource = self._scene.runner.apiserver.catalog.find_kind(*kind) if kind is not None else None
        return resource is not None and any(
            sent.verb in ENDINGS
            and sent.code < 300
            and self._scene.place(sent.path) == (resource.collection, doing.key)
            for sent in doing.sent
        )

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        if doing.who not in self._made:
            return
        if outcome.error is None and self._scene.reconciled(doing) is None:
            self._gone[doing.who] = doing
        else:
            self._gone.pop(doing.who, None)

    def finish(self) -> None:
        for who, last in self._gone.items():
            if last.operator.process.fenced or last.operator.is_queued(last.run.controller, last.run.request):
                continue
            for made in self._made[who]:
                meta = made.stored(self._scene)
                if meta is not None and not meta.get("ownerReferences") and "deletionTimestamp" not in meta:
                    self._scene.report(
                        "leaked-child",
                        f"{made.doing} created {made.kind} {made.key}, which still exists although "
                        f"{last.key} was deleted and {last} has succeeded since: give it an owner reference, or delete "
                        "it before a finalizer is removed",
                        key=(who, made.kind),
                    )

    def retire(self) -> None:
        self._made.clear()
        self._gone.clear()


DETECTORS = (Orphans,)
