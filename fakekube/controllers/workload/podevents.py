"""Which controlling objects the events of pods concern (`addPod`, `updatePod`, `deletePod` of each controller)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from controllerlib.controller import HandlerFuncs, Request, RequestQueue
from controllerlib.controller import controller_of as controller_reference_of
from fakekube.controllers.lister import CachedKind
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.expectations import Expectations
from fakekube.controllers.workload.podstate import Pod, is_ready

Object = Mapping[str, Any]


class PodEvents:
    """Enqueues the controlling object of a pod, and those that may adopt a pod without one.

    `owners`: the kind of the controlling objects. `selecting` returns the objects whose selector matches a pod.
    `expectations`: the creations and deletions of pods that are observed here.
    """

    def __init__(
        self,
        owners: CachedKind,
        selecting: Callable[[Pod], Iterable[Object]],
        expectations: Expectations | None = None,
        *,
        margin: float = 0.0,
    ) -> None:
        """`margin`: seconds after minReadySeconds at which availability is checked."""
        self._owners, self._selecting, self._expectations = owners, selecting, expectations
        self._margin = margin

    @property
    def handler(self) -> HandlerFuncs:
        """The event handler for the source of pods."""
        return object_events(created=self._created, updated=self._updated, deleted=self._gone)

    def controlling(self, pod: Pod) -> Object | None:
        """The object that controls a pod; None if it is not in the cache or has another uid."""
        reference = controller_reference_of(pod)
        if reference is None or reference.get("kind") != self._owners.kind:
            return None
        found = self._owners.get(pod["metadata"].get("namespace") or "", reference["name"])
        return found if found is not None and found["metadata"]["uid"] == reference["uid"] else None

    def _created(self, pod: Object, queue: RequestQueue) -> None:
        if pod["metadata"].get("deletionTimestamp"):  # seen for the first time by a controller that has just started
            self._gone(pod, queue)
        elif controller_reference_of(pod) is None:
            self._enqueue_selecting(pod, queue)
        elif (owner := self.controlling(pod)) is not None:
            if self._expectations is not None:
                self._expectations.creation_observed(str(Request.of(owner)))
            queue.add(Request.of(owner))

    def _updated(self, old: Object, new: Object, queue: RequestQueue) -> None:
        before, after = old["metadata"], new["metadata"]
        if before.get("resourceVersion") == after.get("resourceVersion"):  # a resync
            return
        relabeled = before.get("labels") != after.get("labels")
        if after.get("deletionTimestamp"):
            self._gone(new, queue)
            if relabeled:
                self._gone(old, queue)
            return
        former, present = controller_reference_of(old), controller_reference_of(new)
        if former is not None and former != present and (owner := self.controlling(old)) is not None:
            queue.add(Request.of(owner))
        if present is None:
            if relabeled or former != present:
                self._enqueue_selecting(new, queue)
        elif (owner := self.controlling(new)) is not None:
            queue.add(Request.of(owner))
            ready_after = owner["spec"].get("minReadySeconds") or 0
            if ready_after > 0 and is_ready(new) and not is_ready(old):
                queue.add_after(Request.of(owner), ready_after + self._margin)

    def _gone(self, pod: Pod, queue: RequestQueue) -> None:
        """A pod is being deleted, or was deleted: the controller does not wait until it is gone to replace it."""
        owner = self.controlling(pod)
        if owner is not None:
            if self._expectations is not None:
                self._expectations.deletion_observed(str(Request.of(owner)), pod_key(pod))
            queue.add(Request.of(owner))

    def _enqueue_selecting(self, pod: Pod, queue: RequestQueue) -> None:
        for owner in self._selecting(pod):
            queue.add(Request.of(owner))


def pod_key(pod: Pod) -> str:
    """The key of a pod in expectations (controller.PodKey)."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
