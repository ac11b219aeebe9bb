"""What simulated containers do at the server before they end: `work` of stages, such as applying objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from datetime import datetime
from typing import Any

from controllerlib import ApiError, Client
from fakekube.controllers.kubelet.podrun import Container, PodRun
from fakekube.controllers.kubelet.stage import Effect, Exit, Work

Pod = Mapping[str, Any]

Connect = Callable[[str], Client]
"""Returns the client of a user."""


async def perform(run: PodRun, pod: Pod, now: datetime, connect: Connect) -> bool:
    """Do the work that is due in the containers of a pod, which end after it. Returns whether there was any."""
    due = [one for one in run.containers.values() if _is_due(one, now)]
    for one in due:
        planned = one.pending
        assert isinstance(planned, Effect)
        how = await _done(planned.work, pod, connect(_account(pod)))
        if one.is_running and one.pending is planned:  # it may have been stopped meanwhile
            one.plan(how, now)
    return bool(due)


def _is_due(one: Container, now: datetime) -> bool:
    return one.is_running and isinstance(one.pending, Effect) and one.due is not None and one.due <= now


def _account(pod: Pod) -> str:
    name = pod["spec"].get("serviceAccountName") or "default"
    return f"system:serviceaccount:{pod['metadata']['namespace']}:{name}"


async def _done(work: Work, pod: Pod, client: Client) -> Exit:
    try:
        return Exit(await work(deepcopy(dict(pod)), client) or 0)
    except Exception as error:
        return Exit(1, message=str(error) if isinstance(error, ApiError) else f"{type(error).__name__}: {error}")


def applying(objects: Sequence[Mapping[str, Any]]) -> Work:
    """Work that applies objects (server-side, as the field manager `kubectl`) in the namespace of the pod, unless they
    have one."""

    async def apply(pod: Pod, client: Client) -> None:
        namespace = pod["metadata"]["namespace"]
        for one in objects:
            found = deepcopy(dict(one))
            resource = await client.mapper.resource(found["apiVersion"], found["kind"])
            if resource.namespaced:
                found["metadata"] = {"namespace": namespace, **found["metadata"]}
            await client.apply(found, field_manager="kubectl", force=True)

    return apply
