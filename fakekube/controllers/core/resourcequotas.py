"""The controller of ResourceQuotas: counts what a namespace uses (`pkg/controller/resourcequota`).

Admission adds the usage of what is created. This controller makes the status of a new quota, counts again when
something is deleted or ends, and counts everything every five minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controllerlib import Request
from controllerlib.cache import ResourceEventHandlerFuncs, last_state
from controllerlib.clock import sleep
from controllerlib.controller import RequestQueue
from controllerlib.tasks import Tasks
from controllerlib.workqueue import Cause
from fakekube.apiserver.registry.core.pod.resources import plus
from fakekube.apiserver.registry.core.quotausage import UNCOUNTED, covered, in_scope, is_running, is_terminating, usage
from fakekube.apiserver.registry.core.resourcenames import number_of
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.monitors import DEFINITIONS, Monitors
from fakekube.controllers.objectevents import enqueue, object_events
from fakekube.controllers.servedresources import ServedResource, ServedResources

#: Seconds between counts of everything (kube-controller-manager: --resource-quota-sync-period).
FULL_RESYNC = 300.0

#: kube-controller-manager: --concurrent-resource-quota-syncs, for quotas with and for those without a usage.
WORKERS = 10

#: The kinds whose objects use more than a place, so that they are read whole.
MEASURED = frozenset(
    {
        ("v1", "Pod"),
        ("v1", "Service"),
        ("v1", "PersistentVolumeClaim"),
        ("resource.k8s.io/v1", "ResourceClaim"),
    }
)

Object = Mapping[str, Any]
Quantities = Mapping[str, str]


class NotSynced(Exception):
    """Objects of a resource are not known yet, so that its usage was left as it is."""


def add(context: ControllerContext) -> None:
    """Add the controller of ResourceQuotas."""
    ResourceQuotaController(context).add()


class ResourceQuotaController:
    """Writes the hard limits and the usage into the status of quotas."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("resourcequota-controller")
        self._quotas = context.kind("v1", "ResourceQuota")
        for api_version, kind in (*DEFINITIONS, *MEASURED):
            context.kind(api_version, kind)
        informers = context.manager.cache.informers
        self._monitors = Monitors(self._client, informers, context.clock, context.form_of, self._handler, counted)
        self._queue: RequestQueue | None = None

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller("resourcequota-controller").with_options(max_concurrent_reconciles=WORKERS)
        builder.watches("v1", "ResourceQuota", object_events(created=enqueue, updated=_limits_updated, deleted=enqueue))
        builder.watches_raw_source(self).complete(self.reconcile)

    # --- the source of the controller: what is deleted, and time

    async def start(self, queue: RequestQueue, tasks: Tasks) -> None:
        """Watch everything that quotas count."""
        self._queue = queue
        await self._monitors.start(queue, tasks)
        tasks.start(self._resync(), "full resync of quotas")

    async def wait_synced(self) -> None:
        """Wait until all objects are known."""
        await self._monitors.wait_synced()

    def _handler(self, resource: ServedResource) -> ResourceEventHandlerFuncs:
        def updated(old: Any, new: Any) -> None:
            if _frees(resource.qualified, old, new, self._context):
                self._replenish(resource, new)

        def deleted(obj: Any) -> None:
            self._replenish(resource, last_state(obj))

        return ResourceEventHandlerFuncs(update=updated, delete=deleted)

    def _replenish(self, resource: ServedResource, obj: Object) -> None:
        """Count again for the quotas that limit a resource."""
        for quota in self._quotas.list(obj["metadata"]["namespace"]):
            if covered((quota.get("status") or {}).get("hard") or {}, resource.qualified):
                meta = obj["metadata"]
                cause = Cause("deleted", resource.api_version, resource.kind, meta["namespace"], meta["name"])
                self._add(quota, cause)

    async def _resync(self) -> None:
        while True:
            await sleep(self._context.clock, FULL_RESYNC)
            for quota in self._quotas.list():
                self._add(quota, Cause("resync"))

    def _add(self, quota: Object, cause: Cause) -> None:
        assert self._queue is not None
        self._queue.with_options(cause=cause).add(Request.of(quota))

    # --- counting

    async def reconcile(self, request: Request) -> None:
        """Write the status if the limits or the usage have changed. Raises NotSynced after that."""
        quota = self._quotas.get(request.namespace, request.name)
        if quota is None:
            return
        hard: Quantities = (quota.get("spec") or {}).get("hard") or {}
        status = quota.get("status") or {}
        known: Quantities = status.get("used") or {}
        counted, missing = self._count(quota, hard)
        used = {name: value for name, value in {**known, **counted}.items() if name in hard}
        unset = "hard" not in status or "used" not in status
        if unset or not _are_equal(hard, status["hard"]) or not _are_equal(used, known):
            await self._client.update_status({**quota, "status": {"hard": dict(hard), "used": used}})
        if missing:
            raise NotSynced(", ".join(missing))

    def _count(self, quota: Object, hard: Quantities) -> tuple[dict[str, str], Sequence[str]]:
        """The usage by the names of `hard`, and the resources whose objects are not known (CalculateUsage)."""
        found: dict[str, str] = {}
        missing: list[str] = []
        namespace, now = quota["metadata"]["namespace"], self._context.now()
        for resource in self._monitors.watched():
            names = covered(hard, resource.qualified)
            objects = self._monitors.list(resource, namespace) if names else ()
            if objects is None:
                missing.append(resource.qualified)
                continue
            for name in names:
                found.setdefault(name, "0")
            for obj in objects:
                if in_scope(quota, resource.qualified, obj):
                    for name, value in usage(resource.qualified, obj, now).items():
                        if name in names:
                            found[name] = plus(found[name], value)
        return found, missing


def counted(served: ServedResources) -> Sequence[ServedResource]:
    """The resources that quotas count (GetQuotableResources)."""
    namespaced = [one for one in served.supporting("create", "list", "watch", "delete") if one.namespaced]
    return [one for one in namespaced if one.qualified not in UNCOUNTED]


def _limits_updated(old: Object, new: Object, queue: RequestQueue) -> None:
    """The limits of a quota have changed; its status is written by this controller and by admission."""
    if not _are_equal(old["spec"].get("hard") or {}, new["spec"].get("hard") or {}):
        queue.add(Request.of(new))


def _are_equal(left: Quantities, right: Quantities) -> bool:
    same = left.keys() == right.keys()
    return same and all(number_of(value) == number_of(right[name]) for name, value in left.items())


def _frees(resource: str, old: Object, new: Object, context: ControllerContext) -> bool:
    """Whether an update may change the usage in a way that admission does not see (DefaultUpdateFilter)."""
    if resource == "pods":
        now = context.now()
        ended = is_running(old, now) and not is_running(new, now)
        return ended or is_terminating(old["spec"]) != is_terminating(new["spec"]) or _is_resized(old, new)
    if resource == "services":
        return _service_type(old) != _service_type(new)
    return resource == "persistentvolumeclaims"


def _is_resized(old: Object, new: Object) -> bool:
    """Whether the resources of a container that runs have changed."""
    for kind in ("containerStatuses", "initContainerStatuses"):
        before, after = ({one["name"]: one.get("resources") for one in _statuses(pod, kind)} for pod in (old, new))
        if any(name in after and after[name] != value for name, value in before.items()):
            return True
    return False


def _statuses(pod: Object, kind: str) -> Sequence[Object]:
    return (pod.get("status") or {}).get(kind) or ()


def _service_type(service: Object) -> str:
    kind = (service.get("spec") or {}).get("type") or ""
    return kind if kind in ("NodePort", "LoadBalancer") else ""
