"""The garbage collector: attempts to delete what has no owner, and to orphan the dependents of what is deleted so.

Source: kubernetes, `pkg/controller/garbagecollector/garbagecollector.go` and `operations.go`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from controllerlib import ApiError, Client, Result
from controllerlib.cache import ResourceEventHandlerFuncs, last_state
from controllerlib.client import DEFAULT_BACKOFF, is_conflict, is_not_found, retry_on_conflict
from controllerlib.controller import RequestQueue
from controllerlib.tasks import Tasks
from controllerlib.workqueue import Cause, CauseKind
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.garbagecollector import ownerpatches
from fakekube.controllers.garbagecollector.dependencygraph import (
    FOREGROUND,
    ORPHAN,
    DependencyGraph,
    Identity,
    Node,
    Todo,
)
from fakekube.controllers.monitors import DEFINITIONS, Monitors
from fakekube.controllers.servedresources import ServedResource, ServedResources
from fakekube.controllers.workload.objectfinalizers import has_finalizer, is_deletion_candidate

Object = Mapping[str, Any]
Reference = Mapping[str, Any]

#: How many objects are attended to at the same time (kube-controller-manager: --concurrent-gc-syncs).
WORKERS = 20


#: Resources that are not garbage collected.
IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})


class UnknownKind(Exception):
    """An owner reference names a kind that is not served. It is tried again, as the kind may be new."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f"unable to get REST mapping for {api_version}/{kind}.")


class NamespacedOwner(Exception):
    """A cluster-scoped object names a namespaced owner, which is an error that stays."""


class Gone(Exception):
    """The object does not exist at the server; the graph is updated."""


class Attempt(NamedTuple):
    """An item of the work queue: a node to delete, or one whose dependents to orphan."""

    what: Literal["delete", "orphan"]
    node: Node

    def __str__(self) -> str:
        return str(self.node) if self.what == "delete" else f"orphan {self.node}"


class Owners(NamedTuple):
    """The references of an object: owners that exist, that do not, and that are deleted after their dependents."""

    solid: Sequence[Reference]
    dangling: Sequence[Reference]
    waiting: Sequence[Reference]


def add(context: ControllerContext) -> None:
    """Add the garbage collector."""
    GarbageCollector(context).add()


class GarbageCollector:
    """Deletes objects all of whose owners are gone, in the way in which their owners were deleted."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client: Client = context.client("generic-garbage-collector")
        self._recorder = context.recorder("garbage-collector-controller")
        self._graph = DependencyGraph()
        for api_version, kind in DEFINITIONS:
            context.kind(api_version, kind)
        self._monitors = Monitors(
            self._client, context.manager.cache.informers, context.clock, context.form_of, self._handler, collected
        )
        self._queue: RequestQueue | None = None

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller("garbage-collector-controller").with_request_type(Attempt)
        builder.with_options(max_concurrent_reconciles=WORKERS, use_priority_queue=False)
        builder.watches_raw_source(self).complete(self.reconcile)

    # --- the source of the controller: changes of the graph

    async def start(self, queue: RequestQueue, tasks: Tasks) -> None:
        """Start the informers."""
        self._queue = queue
        await self._monitors.start(queue, tasks)

    async def wait_synced(self) -> None:
        """Wait until the graph has the objects that existed at the start."""
        await self._monitors.wait_synced()

    def _handler(self, resource: ServedResource) -> ResourceEventHandlerFuncs:
        api_version, kind = resource.api_version, resource.kind

        def added(obj: Any, is_in_initial_list: bool) -> None:
            identity = Identity.of(api_version, kind, obj)
            self._enqueue(self._graph.observed(identity, obj), _cause("added", identity, obj))

        def updated(old: Any, new: Any) -> None:
            identity = Identity.of(api_version, kind, new)
            self._enqueue(self._graph.observed(identity, new, old), _cause("updated", identity, new))

        def deleted(obj: Any) -> None:
            state = last_state(obj)
            identity = Identity.of(api_version, kind, state)
            self._enqueue(self._graph.deleted(identity), _cause("deleted", identity, state))

        return ResourceEventHandlerFuncs(added, updated, deleted)

    def _enqueue(self, todo: Sequence[Todo], cause: Cause) -> None:
        assert self._queue is not None
        queue = self._queue.with_options(cause=cause)
        for one in todo:
            if one.what == "report":
                self._report(one.node, one.owner)
            else:
                attempt = Attempt("orphan" if one.what == "orphan" else "delete", one.node)
                queue.add(attempt, rate_limited=one.what == "delete later")

    def _report(self, node: Node, owner: Identity | None) -> None:
        kind, api_version, namespace, name, uid = node.identity
        meta = {"namespace": namespace, "name": name, "uid": uid}
        obj = {"apiVersion": api_version, "kind": kind, "metadata": meta}
        message = f'ownerRef {owner} does not exist in namespace "{namespace}"'
        self._recorder.event(obj, "Warning", "OwnerRefInvalidNamespace", message)

    # --- attempts

    async def reconcile(self, attempt: Attempt) -> Result | None:
        node = attempt.node
        if attempt.what == "orphan":
            await self._orphan(node)
            return None
        if node.virtual:
            known = self._graph.find(node.identity.uid)
            if known is None or not known.virtual:
                return None
        try:
            await self._attempt(node)
        except (Gone, NamespacedOwner):
            return None
        # An owner that exists must be observed: else its node would stay if it is deleted unobserved.
        return Result(requeue=True) if node.virtual else None

    async def _attempt(self, node: Node) -> None:
        """Delete the object if it has no owner any more. Raises Gone, NamespacedOwner, UnknownKind, ApiError."""
        if node.being_deleted and not node.deleting_dependents:
            return
        latest = await self._latest(node)
        if node.deleting_dependents:
            await self._finish_foreground(node)
            return
        references = latest["metadata"].get("ownerReferences") or ()
        if not references:
            return
        owners = await self._classify(node, references)
        if owners.solid:
            await self._drop_references(node, [one["uid"] for one in (*owners.dangling, *owners.waiting)])
        elif owners.waiting and node.dependents:
            await self._delete_in_foreground(node, latest)
        else:
            await self._delete(node, latest, _propagation(latest))

    async def _latest(self, node: Node) -> Object:
        """The object at the server. Raises Gone if it does not exist."""
        try:
            latest = await self._get(node.identity)
        except ApiError as error:
            if not is_not_found(error):
                raise
        else:
            if latest["metadata"]["uid"] == node.identity.uid:
                return latest
        raise self._gone(node)

    def _gone(self, node: Node) -> Gone:
        self._enqueue(self._graph.found_absent(node.identity), _generic(node.identity))
        return Gone()

    async def _drop_references(self, node: Node, uids: Sequence[str]) -> None:
        """Remove the references to owners that are absent, or that wait for this object."""
        if uids:
            patch = ownerpatches.strategic_removal(node.identity.uid, uids)
            await self._patch_owners(node, patch, lambda obj: ownerpatches.merge_removal(obj, uids))

    async def _delete_in_foreground(self, node: Node, latest: Object) -> None:
        """Delete an object with its dependents before it; a circle of owners that wait for each other is broken."""
        if any(one.deleting_dependents for one in node.dependents):
            owners = node.owners
            patch = ownerpatches.strategic_unblocking(node.identity.uid, owners)
            await self._patch_owners(node, patch, lambda obj: ownerpatches.merge_unblocking(obj, owners))
        await self._delete(node, latest, "Foreground")

    async def _finish_foreground(self, node: Node) -> None:
        """Free an object whose blocking dependents are gone; else attempt to delete these."""
        blocking = node.blocking_dependents()
        if not blocking:
            await self._remove_finalizer(node, FOREGROUND)
        todo = [Todo("delete", one) for one in blocking if not one.deleting_dependents]
        self._enqueue(todo, _generic(node.identity))

    async def _orphan(self, node: Node) -> None:
        """Remove the references to an object from its dependents, and then free it."""
        uid = node.identity.uid

        async def release(dependent: Node) -> None:
            patch = ownerpatches.strategic_removal(dependent.identity.uid, [uid])
            try:
                await self._patch_owners(dependent, patch, lambda obj: ownerpatches.merge_removal(obj, [uid]))
            except ApiError as error:
                if not is_not_found(error):
                    raise

        outcomes = await asyncio.gather(*map(release, node.dependents), return_exceptions=True)
        for problem in outcomes:
            if problem is not None:
                raise problem
        await self._remove_finalizer(node, ORPHAN)

    # --- owners

    async def _classify(self, node: Node, references: Sequence[Reference]) -> Owners:
        solid, dangling, waiting = [], [], []
        for reference in references:
            owner = await self._owner(node, reference)
            if owner is None:
                dangling.append(reference)
            elif is_deletion_candidate(owner, FOREGROUND):
                waiting.append(reference)
            else:
                solid.append(reference)
        return Owners(solid, dangling, waiting)

    async def _owner(self, node: Node, reference: Reference) -> Object | None:
        """The owner at the server, None if it does not exist (isDangling)."""
        absent, namespace = self._graph.absent, node.identity.namespace
        if any(Identity.referenced(reference, where) in absent for where in ("", namespace)):
            return None
        resource = self._resource(reference["apiVersion"], reference["kind"])
        if resource.namespaced and not namespace:
            raise NamespacedOwner
        identity = Identity.referenced(reference, namespace if resource.namespaced else "")
        try:
            owner = await self._get(identity)
        except ApiError as error:
            if not is_not_found(error):
                raise
        else:
            if owner["metadata"]["uid"] == reference["uid"]:
                return owner
        absent.add(identity)
        return None

    # --- requests

    def _resource(self, api_version: str, kind: str) -> ServedResource:
        found = self._monitors.served.find(api_version, kind)
        if found is None:
            raise UnknownKind(api_version, kind)
        return found

    def _namespace(self, identity: Identity) -> str:
        resource = self._resource(identity.api_version, identity.kind)
        if resource.namespaced and not identity.namespace:
            raise NamespacedOwner  # the identity of a virtual owner is what a cluster-scoped object says
        return identity.namespace if resource.namespaced else ""

    async def _get(self, identity: Identity) -> Object:
        where = self._namespace(identity)
        return await self._client.get(identity.api_version, identity.kind, identity.name, where)

    async def _delete(self, node: Node, latest: Object, propagation: str) -> None:
        """Delete an object as it was read; if only something else than its owners has changed, as it is now."""
        identity, version = node.identity, latest["metadata"]["resourceVersion"]
        try:
            try:
                await self._delete_at(identity, version, propagation)
            except ApiError as error:
                if not is_conflict(error):
                    raise
                live = await self._get(identity)
                if not _differs_but_in_owners(live, latest):
                    raise
                await self._delete_at(identity, "", propagation)
        except ApiError as error:
            if is_not_found(error):
                raise self._gone(node) from None
            raise

    async def _delete_at(self, identity: Identity, version: str, propagation: str) -> None:
        await self._client.delete(
            identity.api_version,
            identity.kind,
            identity.name,
            self._namespace(identity),
            uid=identity.uid,
            resource_version=version,
            propagation=propagation,
        )

    async def _patch_owners(self, node: Node, patch: Object, merge: Callable[[Object], Object]) -> None:
        """Patch an object, with a merge patch of the latest object if it does not take strategic ones."""
        try:
            await self._patch(node.identity, patch, "strategic")
        except ApiError as error:
            if error.code != 415:
                raise
            kind, api_version, namespace, name, _ = node.identity
            known = self._monitors.find(api_version, kind, namespace, name)
            await self._patch(node.identity, merge(known or await self._get(node.identity)), "merge")

    def _patch(self, identity: Identity, patch: Object, type: Literal["merge", "strategic"]) -> Awaitable[Object]:
        meta = {"name": identity.name, "namespace": self._namespace(identity)}
        target = {"apiVersion": identity.api_version, "kind": identity.kind, "metadata": meta}
        return self._client.patch(target, patch, type=type)

    async def _remove_finalizer(self, node: Node, finalizer: str) -> None:
        async def attempt() -> None:
            try:
                owner = await self._get(node.identity)
            except ApiError as error:
                if is_not_found(error):
                    return
                raise
            if has_finalizer(owner, finalizer):
                await self._patch(node.identity, ownerpatches.finalizer_removal(owner, finalizer), "merge")

        context = self._context
        await retry_on_conflict(attempt, DEFAULT_BACKOFF, clock=context.clock, random=context.manager.random)


def collected(served: ServedResources) -> Sequence[ServedResource]:
    """The resources whose objects are garbage collected (GetDeletableResources)."""
    deletable = served.supporting("delete", "list", "watch")
    return [one for one in deletable if (one.group, one.plural) not in IGNORED]


def _generic(identity: Identity) -> Cause:
    return Cause("generic", identity.api_version, identity.kind, identity.namespace, identity.name)


def _cause(kind: CauseKind, identity: Identity, obj: Object) -> Cause:
    version = obj["metadata"].get("resourceVersion") or ""
    return Cause(kind, identity.api_version, identity.kind, identity.namespace, identity.name, version)


def _propagation(obj: Object) -> str:
    """How an object is deleted whose owners are gone: as its finalizers say."""
    if has_finalizer(obj, ORPHAN):
        return "Orphan"
    return "Foreground" if has_finalizer(obj, FOREGROUND) else "Background"


def _differs_but_in_owners(live: Object, read: Object) -> bool:
    new, old = live["metadata"], read["metadata"]
    return bool(
        new["uid"] == old["uid"]
        and new["resourceVersion"] != old["resourceVersion"]
        and (new.get("ownerReferences") or []) == (old.get("ownerReferences") or [])
    )
