"""The controller of namespaces: empties and frees a namespace that is being deleted (`pkg/controller/namespace`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from controllerlib import ApiError, Request, Result
from controllerlib.client import is_conflict, is_not_found
from controllerlib.controller import RequestQueue
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.core.namespacecontent import NamespaceContent
from fakekube.controllers.objectevents import object_events
from fakekube.controllers.workload.retries import rate_limiter

#: Seconds between the deletion of a namespace and that of its content, so that late creations are found.
GRACE_PERIOD = 5.0

#: kube-controller-manager: --concurrent-namespace-syncs.
WORKERS = 10

#: The finalizer in the spec of namespaces, which this controller removes.
FINALIZER = "kubernetes"

Object = Mapping[str, Any]


def add(context: ControllerContext) -> None:
    """Add the controller of namespaces."""
    NamespaceController(context).add()


class NamespaceController:
    """Deletes what is in a terminating namespace, writes how far that is, and finalizes the namespace."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._client = context.client("namespace-controller")
        self._namespaces = context.kind("v1", "Namespace")
        self._content = NamespaceContent(self._client, context.now)

    def add(self) -> None:
        """Add the controller to the manager."""
        builder = self._context.controller("namespace-controller")
        builder.with_options(
            max_concurrent_reconciles=WORKERS,
            use_priority_queue=False,
            rate_limiter=lambda: rate_limiter(0.005, 60.0),  # nsControllerRateLimiter
        )
        builder.watches("v1", "Namespace", object_events(_enqueue))
        builder.complete(self.reconcile)

    async def reconcile(self, request: Request) -> Result | None:
        if self._namespaces.get("", request.name) is None:
            return None
        try:
            estimate = await self._terminate(request.name)
        except ApiError as error:
            if is_not_found(error):
                return None
            raise
        return Result(requeue_after=estimate // 2 + 1) if estimate else None

    async def _terminate(self, name: str) -> int:
        """Empty the namespace; returns the seconds until that is expected to be done, 0 if it is. Raises ApiError."""
        namespace: Object = await self._client.get("v1", "Namespace", name)
        if not namespace["metadata"].get("deletionTimestamp"):
            return 0
        namespace = await self._retried(namespace, self._set_phase)
        if not namespace["metadata"].get("deletionTimestamp") or not namespace["spec"].get("finalizers"):
            return 0
        estimate = await self._content.delete(namespace)
        if not estimate:
            await self._retried(namespace, self._finalize)
        return estimate

    async def _set_phase(self, namespace: Object) -> Object:
        status = namespace.get("status") or {}
        if not namespace["metadata"].get("deletionTimestamp") or status.get("phase") == "Terminating":
            return namespace
        return await self._client.update_status({**namespace, "status": {**status, "phase": "Terminating"}})

    async def _finalize(self, namespace: Object) -> Object:
        left = sorted({one for one in namespace["spec"].get("finalizers") or () if one != FINALIZER})
        finalized = {name: value for name, value in namespace.items() if name != "status"}
        body = {**finalized, "spec": {**namespace["spec"], "finalizers": left}}
        return await self._client.update_subresource(body, "finalize")

    async def _retried(self, namespace: Object, write: Callable[[Object], Awaitable[Object]]) -> Object:
        """Write the namespace, after a conflict as it is then, as long as it is the same one."""
        while True:
            try:
                return await write(namespace)
            except ApiError as error:
                if not is_conflict(error):
                    raise
            latest = await self._client.get("v1", "Namespace", namespace["metadata"]["name"])
            if latest["metadata"]["uid"] != namespace["metadata"]["uid"]:
                raise RuntimeError("namespace uid has changed across retries")
            namespace = latest


def _enqueue(namespace: Object, queue: RequestQueue) -> None:
    if namespace["metadata"].get("deletionTimestamp"):
        queue.add_after(Request.of(namespace), GRACE_PERIOD)
