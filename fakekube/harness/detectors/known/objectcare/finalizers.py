"""Detects finalizers that their operator never removes, or adds too late."""

from __future__ import annotations

from collections.abc import Mapping

from controllerlib.controller import Outcome
from fakekube.apiserver.storage.store import Change
from fakekube.harness.detectors.detector import Doing, Scene, meta_of
from fakekube.harness.detectors.levels import Level
from fakekube.struct import Struct

#: Finalizers that the cluster itself processes.
_OF_THE_CLUSTER = frozenset({"foregroundDeletion", "orphan", "kubernetes", "kubernetes.io/pvc-protection"})


class Held(Struct):
    """A finalizer that a reconcile has added. `done`: the last reconcile since the deletion that left it in place."""

    doing: Doing
    finalizer: str
    done: Doing | None = None


class Finalizers:
    """Finalizers of terminating objects that a successful reconcile, which will not run again, has left.

    `late-finalizer`: a reconcile adds it after it has created something that is not owned by the object: if the
    operator is killed in between, and the object deleted, that is never cleaned up. The same if it removes
    it before it deletes.
    """

    levels: Mapping[str, Level] = {"stuck-finalizer": "error", "late-finalizer": "warn"}

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        #: by the object's collection and path
        self._held: dict[tuple[str, str], list[Held]] = {}
        #: by key: the reconcile that has removed a finalizer, which one, and the uid of the object
        self._released: dict[tuple[int, str, str], tuple[Doing, str, str]] = {}
        self._by_key: dict[tuple[int, str, str], tuple[str, str]] = {}

    def finalizers_changed(self, change: Change, doing: Doing | None) -> None:
        if doing is None or change.after is None:
            return
        added = _finalizers(change.after) - (_finalizers(change.before) if change.before is not None else frozenset())
        for finalizer in sorted(added - _OF_THE_CLUSTER):
            place = (change.collection, change.path)
            self._scene.follow(committed=self._committed)
            self._held.setdefault(place, []).append(Held(doing, finalizer))
            if change.path == doing.key:
                self._scene.follow(finished=self._finished)
                self._by_key[doing.who] = place
                self._check_order(doing, finalizer, str(meta_of(change.after.object).get("uid", "")))

    def _committed(self, change: Change, doing: Doing | None) -> None:
        """What a reconcile deletes after it has removed its finalizer should have been deleted before."""
        if doing is None or change.before is None:
            return
        before = meta_of(change.before.object)
        held = self._held.get((change.collection, change.path), ())
        if change.path == doing.key and held and "deletionTimestamp" in before:
            left = _finalizers(change.after)
            removed = [one.finalizer for one in held if one.finalizer in _finalizers(change.before)]
            for finalizer in removed:
                if finalizer not in left:
                    self._released[doing.who] = (doing, finalizer, str(before.get("uid", "")))
        elif change.after is None and (released := self._released.get(doing.who)) is not None:
            run, finalizer, uid = released
            if run is doing and not any(owner.get("uid") == uid for owner in before.get("ownerReferences") or ()):
                self._scene.report(
                    "late-finalizer",
                    f"{doing} removed the finalizer {finalizer} before it deleted {change.collection} {change.path}: "
                    "remove it last, or what is left may never be cleaned up",
                )

    def _check_order(self, doing: Doing, finalizer: str, uid: str) -> None:
        for sent in doing.sent:
            if sent.verb == "create" and sent.code == 201:
                owners = meta_of(sent.answer).get("ownerReferences") or ()
                if not any(owner.get("uid") == uid for owner in owners) and "/events" not in sent.path:
                    self._scene.report(
                        "late-finalizer",
                        f"{doing} created {sent.path}/{meta_of(sent.answer).get('name')} before it added the finalizer "
                        f"{finalizer}: add it first, or what was created may never be cleaned up",
                    )
                    return

    def _finished(self, doing: Doing, outcome: Outcome) -> None:
        place = self._by_key.get(doing.who)
        if place is None:
            return
        entry = self._scene.store.get(*place)
        if entry is None:
            self._held.pop(place, None)
            del self._by_key[doing.who]
            return
        terminating = "deletionTimestamp" in entry.object["metadata"]
        ok = outcome.error is None and outcome.requeue_after is None
        for held in self._held.get(place, ()):
            held.done = doing if terminating and ok else None

    def finish(self) -> None:
        for place, all_held in self._held.items():
            entry = self._scene.store.get(*place)
            if entry is None:
                continue
            for held in all_held:
                done = held.done
                if done is None or done.operator.process.fenced or held.finalizer not in _finalizers(entry):
                    continue
                if not done.operator.is_queued(done.run.controller, done.run.request):
                    self._scene.report(
                        "stuck-finalizer",
                        f"{done} succeeded and left the finalizer {held.finalizer} on {place[0]} {place[1]}, which is "
                        "being deleted: nothing will remove it",
                    )


def _finalizers(entry: object) -> frozenset[str]:
    return frozenset(meta_of(getattr(entry, "object", None)).get("finalizers") or ())


DETECTORS = (Finalizers,)
