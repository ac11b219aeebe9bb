"""The controller of the ResourceClaims of pods (`pkg/controller/resourceclaim`)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.dynamicresources.podresourceclaims import (
    POD_CLAIM,
    ClaimNotCreated,
    claim_from_template,
    claim_name_of,
    extended_claim,
    foreign_problem,
    is_done,
    known_claims,
    needs_reservation,
    needs_work,
    owning_pod,
    reserved_for,
    wanted_claims,
)
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.objectfinalizers import has_finalizer, with_finalizers
from fakekube.controllers.workload.podstate import Pod

NAME = "resourceclaim-controller"
ACCOUNT = "resource-claim-controller"
COMPONENT = "resource_claim"
FIELD_MANAGER = "ResourceClaimController"

#: How many requests are handled at the same time (--concurrent-resourceclaim-syncs).
WORKERS = 50

#: The finalizer of allocated claims.
FINALIZER = "resource.kubernetes.io/delete-protection"

#: Deleted pods that are remembered, so that they are not looked for at the server.
REMEMBERED = 500

#: What the names in requests begin with.
POD, CLAIM = "pod:", "claim:"

#: Names of indexes: pods by claim and by template, claims by owning pod.
CLAIM_INDEX, TEMPLATE_INDEX, OWNER_INDEX = "podResourceClaim", "podResourceClaimTemplate", "claimPodOwner"

_API = "resource.k8s.io/v1"

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller."""
    ResourceClaims(context).add()


class CannotHaveClaim(Exception):
    """A claim of a pod cannot be created, or belongs to another pod; the reconcile is tried again."""


class ResourceClaims:
    """Creates the claims of pods from their templates, and releases and deletes the claims of pods that are done.

    A request names a pod ("pod:NAME") or a claim ("claim:NAME"). PodGroups are left out: the feature gate
    DRAWorkloadResourceClaims is off by default. Nothing is created or reserved for a pod that is done, which
    kube-controller-manager does and undoes again without end.
    """

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client(ACCOUNT)
        self._recorder = context.recorder(COMPONENT)
        context.index("v1", "Pod", CLAIM_INDEX, _claim_keys)
        context.index("v1", "Pod", TEMPLATE_INDEX, _template_keys)
        context.index(_API, "ResourceClaim", OWNER_INDEX, _owner_keys)
        self._pods = context.kind("v1", "Pod")
        self._claims = context.kind(_API, "ResourceClaim")
        self._templates = context.kind(_API, "ResourceClaimTemplate")
        #: Claims that were created and that the shared informers have not seen: key -> claim.
        self._created: dict[Request, Object] = {}
        self._deleted: OrderedDict[str, None] = OrderedDict()

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller(NAME).with_options(max_concurrent_reconciles=WORKERS)
        builder.watches("v1", "Pod", object_events(self._pod_seen, deleted=self._pod_deleted))
        claims = object_events(self._claim_seen, deleted=self._claim_deleted)
        builder.watches(_API, "ResourceClaim", claims)
        templates = object_events(self._template_seen)
        builder.watches(_API, "ResourceClaimTemplate", templates)
        builder.complete(self.reconcile)

    # --- events

    def _pod_deleted(self, pod: Object, queue: RequestQueue) -> None:
        self._pod_seen(pod, queue, deleted=True)

    def _pod_seen(self, pod: Pod, queue: RequestQueue, *, deleted: bool = False) -> None:
        """Look at a pod that may need claims, and at the claims of one that needs them no more (enqueuePod)."""
        if not wanted_claims(pod) and not extended_claim(pod):
            return
        meta = pod["metadata"]
        if deleted:
            self._deleted[meta["uid"]] = None
            while len(self._deleted) > REMEMBERED:
                self._deleted.popitem(last=False)
        if deleted or is_done(pod):
            for name in known_claims(pod):
                queue.add(Request(meta["namespace"], CLAIM + name))
            if extended_claim(pod):
                queue.add(Request(meta["namespace"], CLAIM + extended_claim(pod)))
        if not _is_finished(pod) and needs_work(pod, self._claims.get):
            queue.add(Request(meta["namespace"], POD + meta["name"]))

    def _claim_deleted(self, claim: Object, queue: RequestQueue) -> None:
        self._claim_seen(claim, queue, deleted=True)

    def _claim_seen(self, claim: Object, queue: RequestQueue, *, deleted: bool = False) -> None:
        key = Request.of(claim)
        self._created.pop(key, None)
        if not deleted:
            queue.add(Request(key.namespace, CLAIM + key.name))
        for pod in self._pods.by_index(CLAIM_INDEX, str(key)):
            self._pod_seen(pod, queue)

    def _template_seen(self, template: Object, queue: RequestQueue) -> None:
        for pod in self._pods.by_index(TEMPLATE_INDEX, str(Request.of(template))):
            self._pod_seen(pod, queue)

    # --- pods

    async def reconcile(self, request: Request) -> Result | None:
        if request.name.startswith(POD):
            pod = self._pods.get(request.namespace, request.name.removeprefix(POD))
            if pod is not None and not _is_finished(pod):
                await self._sync_pod(pod)
            return None
        claim = self._claims.get(request.namespace, request.name.removeprefix(CLAIM))
        if claim is not None:
            await self._sync_claim(claim)
        return None

    async def _sync_pod(self, pod: Pod) -> None:
        """Create the claims of a pod, and reserve allocated ones if it was bound without the scheduler."""
        meta, created = pod["metadata"], {}
        for wanted in wanted_claims(pod):
            try:
                claim = await self._claim_for(pod, wanted)
            except CannotHaveClaim as problem:
                text = f"PodResourceClaim {wanted['name']}: {problem}"
                self._recorder.event(pod, "Warning", "FailedResourceClaimCreation", text)
                raise CannotHaveClaim(f"pod {meta['namespace']}/{meta['name']}, {text}") from problem
            if claim is not None:
                created[wanted["name"]] = claim["metadata"]["name"]
        if created:
            await self._write_names(pod, created)
        if pod["spec"].get("nodeName"):
            await self._reserve(pod)

    async def _claim_for(self, pod: Pod, wanted: Object) -> Object | None:
        """The claim that is to be noted in the status of a pod, None if there is nothing new.

        Raises CannotHaveClaim (handleClaim).
        """
        namespace = pod["metadata"]["namespace"]
        try:
            found = claim_name_of(pod, wanted)
        except ClaimNotCreated:
            pass
        else:
            claim = self._claims.get(namespace, found.name) if found.name else None
            if not found.name or (claim is not None and not (found.made and foreign_problem(pod, claim))):
                return None
        name = wanted.get("resourceClaimTemplateName")
        if name is None:
            return None
        present = self._present_claim(pod, wanted)
        if present is not None:
            return present
        template = self._templates.get(namespace, name)
        if template is None:
            missing = f'resourceclaimtemplate.resource.k8s.io "{name}" not found'
            raise CannotHaveClaim(f'resource claim template "{name}": {missing}')
        try:
            stored = await self._client.create(claim_from_template(pod, wanted, template))
        except ApiError as error:
            raise CannotHaveClaim(f"create ResourceClaim : {error.message}") from error
        self._created[Request.of(stored)] = stored
        return stored

    def _present_claim(self, pod: Pod, wanted: Object) -> Object | None:
        """A claim that was created for the pod, though its status does not say so (findPodResourceClaim)."""
        uid = pod["metadata"]["uid"]
        fresh = (one for one in self._created.values() if uid in _owner_keys(one))
        for claim in (*self._claims.by_index(OWNER_INDEX, uid), *fresh):
            if (claim["metadata"].get("annotations") or {}).get(POD_CLAIM) == wanted["name"]:
                return claim
        return None

    async def _write_names(self, pod: Pod, names: Mapping[str, str]) -> None:
        meta = pod["metadata"]
        statuses = [{"name": name, "resourceClaimName": claim} for name, claim in names.items()]
        applied = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
            "status": {"resourceClaimStatuses": statuses},
        }
        await self._client.apply(applied, field_manager=FIELD_MANAGER, force=True, subresource="status")

    async def _reserve(self, pod: Pod) -> None:
        """Reserve the allocated claims of a pod that has a node. Raises ClaimNotCreated, CannotHaveClaim, ApiError."""
        meta = pod["metadata"]
        for wanted in wanted_claims(pod):
            found = claim_name_of(pod, wanted)
            if not found.name:
                continue
            claim = self._claims.get(meta["namespace"], found.name)
            if claim is None:
                return
            problem = foreign_problem(pod, claim) if found.made else ""
            if problem:
                raise CannotHaveClaim(problem)
            if needs_reservation(pod, claim):
                consumer = {"resource": "pods", "name": meta["name"], "uid": meta["uid"]}
                status = {**claim["status"], "reservedFor": [*reserved_for(claim), consumer]}
                await self._client.update_status({**claim, "status": status})

    # --- claims

    async def _sync_claim(self, claim: Object) -> None:
        """Remove the reservations of pods that are done, and what was only needed for them (syncClaim)."""
        remaining = [one for one in reserved_for(claim) if await self._is_needed(claim, one)]
        protected = has_finalizer(claim, FINALIZER)
        if len(remaining) < len(reserved_for(claim)):
            await self._release(claim, remaining, deallocate=protected and not remaining)
        elif protected and claim["metadata"].get("deletionTimestamp") and not remaining:
            current = claim
            if (claim.get("status") or {}).get("allocation"):
                current = await self._client.update_status(_with_status(claim, {"allocation": None}))
            await self._client.update(_without_finalizer(current))
        if not remaining:
            await self._delete_unused(claim)

    async def _is_needed(self, claim: Object, consumer: Object) -> bool:
        """Whether a reservation stays; that of a pod that was not seen is looked for at the server."""
        if consumer.get("apiGroup") or consumer["resource"] != "pods":
            return True
        if consumer["uid"] in self._deleted:
            return False
        namespace = claim["metadata"]["namespace"]
        pod = self._pods.get(namespace, consumer["name"])
        if pod is not None:
            return pod["metadata"]["uid"] == consumer["uid"] and not is_done(pod)
        try:
            found = await self._client.get("v1", "Pod", consumer["name"], namespace)
        except ApiError as error:
            if error.reason != "NotFound":
                raise
            return False
        return bool(found["metadata"]["uid"] == consumer["uid"])

    async def _release(self, claim: Object, remaining: Sequence[Object], *, deallocate: bool) -> None:
        changes = {"reservedFor": list(remaining) or None, **({"allocation": None} if deallocate else {})}
        stored = await self._client.update_status(_with_status(claim, changes))
        protected = has_finalizer(stored, FINALIZER)
        if protected and not (stored.get("status") or {}).get("allocation"):
            await self._client.update(_without_finalizer(stored))

    async def _delete_unused(self, claim: Object) -> None:
        """Delete a claim that was created for a pod which is done or was replaced."""
        name, uid = owning_pod(claim)
        pod = self._pods.get(claim["metadata"]["namespace"], name) if name else None
        if pod is not None and (pod["metadata"]["uid"] != uid or is_done(pod)):
            await self._client.delete(claim)


def _is_finished(pod: Pod) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp")) or is_done(pod)


def _with_status(claim: Object, changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**(claim.get("status") or {}), **changes}
    return {**claim, "status": {name: value for name, value in merged.items() if value is not None}}


def _without_finalizer(claim: Object) -> dict[str, Any]:
    return with_finalizers(claim, [name for name in claim["metadata"].get("finalizers") or () if name != FINALIZER])


def _claim_keys(pod: Any) -> Sequence[str]:
    namespace = pod["metadata"].get("namespace")
    return [f"{namespace}/{name}" for name in dict.fromkeys(known_claims(pod))]


def _template_keys(pod: Any) -> Sequence[str]:
    namespace = pod["metadata"].get("namespace")
    names = dict.fromkeys(one.get("resourceClaimTemplateName") for one in wanted_claims(pod))
    return [f"{namespace}/{name}" for name in names if name]


def _owner_keys(claim: Any) -> Sequence[str]:
    uid = owning_pod(claim)[1]
    return (uid,) if uid else ()
