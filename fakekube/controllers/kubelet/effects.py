"""What simulated containers do in the cluster: they apply objects as the service account of their pod, and end then."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.client import as_object
from fakekube.apiserver.wire.codec import copied
from fakekube.controllers.context import ControllerContext
from fakekube.controllers.kubelet.podrun import Container, PodRun
from fakekube.controllers.kubelet.stage import Apply, Exit

Pod = Mapping[str, Any]


class Effects:
    """Applies the objects of containers whose effect is due."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context

    async def settle(self, run: PodRun, pod: Pod, now: datetime) -> None:
        """Do what is due; the containers end with the exit code of their effect, or with 1 if a write fails."""
        for one in list(run.containers.values()):
            action = one.pending
            if not isinstance(action, Apply) or not one.is_running or one.due is None or one.due > now:
                continue
            how = await self._done(action, one, pod)
            if one.pending is action:  # else a test has ended it meanwhile
                one.plan(how, now)

    async def _done(self, action: Apply, container: Container, pod: Pod) -> Exit:
        """Apply the objects; how the container ends."""
        account = pod["spec"].get("serviceAccountName") or "default"
        user = f"system:serviceaccount:{pod['metadata']['namespace']}:{account}"
        client = self._context.client("", user=user, user_agent=container.name)
        try:
            found = action.objects(deepcopy(dict(pod))) if callable(action.objects) else action.objects
        except Exception as error:  # reported to the test by its wrapper; the container crashes
            return Exit(1, message=f"{type(error).__name__}: {error}")
        try:
            for obj in found or ():
                await _apply(client, obj, container.name, pod)
        except ApiError as error:
            return Exit(1, message=error.message)
        except OSError as error:  # no connection, no answer in time
            return Exit(1, message=str(error))
        return Exit(action.code)


async def _apply(client: Client, obj: Mapping[str, Any], manager: str, pod: Pod) -> None:
    """Create an object, by default in the namespace of the pod, or apply it if it exists (`kubectl apply --server-side
    --force-conflicts`). Roles of containers often grant `create` and no `patch`."""
    resource = await client.mapper.resource(obj["apiVersion"], obj["kind"])
    meta = obj["metadata"]
    if resource.namespaced and not meta.get("namespace"):
        meta = {**meta, "namespace": pod["metadata"]["namespace"]}
    found = copied(as_object({**obj, "metadata": meta}))  # plain JSON: the objects are those of the user
    try:
        await client.create(found)
    except ApiError as error:
        if error.reason not in ("AlreadyExists", "Invalid"):  # a part of what exists is invalid by itself
            raise
        await client.apply(found, field_manager=manager, force=True)
