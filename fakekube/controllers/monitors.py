"""Informers of all resources that a controller wants, which follow the definitions of resources.

kube-controller-manager asks discovery every 30 seconds what there is. Here that is asked when a
CustomResourceDefinition or an APIService has changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from controllerlib import ApiError, Client
from controllerlib.cache import (
    NAMESPACE_INDEX,
    CacheInformer,
    Form,
    HandlerRegistrations,
    Informers,
    ResourceEventHandlerFuncs,
)
from controllerlib.clock import Clock, Deadline, sleep
from controllerlib.controller import RequestQueue
from controllerlib.tasks import OnceEvent, Tasks
from fakekube.controllers.servedresources import ServedResource, ServedResources, served_resources
from fakekube.struct import Struct

#: The kinds whose changes change what is served.
DEFINITIONS = (("apiextensions.k8s.io/v1", "CustomResourceDefinition"), ("apiregistration.k8s.io/v1", "APIService"))

#: Seconds that the start waits for the informers, and between attempts after discovery has failed.
PATIENCE = 30.0

#: Makes the handler of the informer of a resource.
HandlerFor = Callable[[ServedResource], ResourceEventHandlerFuncs]

#: The resources to watch, of those that are served.
Chosen = Callable[[ServedResources], Sequence[ServedResource]]


class _Monitor(Struct, frozen=True):
    resource: ServedResource
    form: Form
    informer: CacheInformer
    handlers: HandlerRegistrations


class Monitors:
    """The informers and their handlers; a source of the controller that is synced when all informers are.

    `form_of`: whether the objects of a kind are read whole, so that the informer is shared with other controllers, or
    only their metadata. `chosen`: which resources to watch.
    """

    served: ServedResources

    def __init__(
        self,
        client: Client,
        informers: Informers,
        clock: Clock,
        form_of: Callable[[str, str], Form],
        handler_of: HandlerFor,
        chosen: Chosen,
    ) -> None:
        self._client, self._informers, self._clock = client, informers, clock
        self._form_of, self._handler_of, self._chosen = form_of, handler_of, chosen
        self.served = ServedResources()
        self._monitors: dict[ServedResource, _Monitor] = {}
        self._changed = asyncio.Event()
        self._begun = OnceEvent()

    def __repr__(self) -> str:
        return f"monitors of {len(self._monitors)} resources"

    async def start(self, queue: RequestQueue, tasks: Tasks) -> None:
        """Watch what is served, and follow it."""
        tasks.start(self._follow(), "monitors")

    async def wait_synced(self) -> None:
        """Wait until the informers have synced, but not for longer than PATIENCE."""
        with suppress(TimeoutError):
            async with Deadline(self._clock, self._clock.monotonic() + PATIENCE):
                await self._begun.wait()
                for monitor in tuple(self._monitors.values()):
                    await monitor.handlers.wait_synced()

    def find(self, api_version: str, kind: str, namespace: str, name: str) -> Any:
        """The object in the informer of its kind, or None."""
        for one in self._monitors.values():
            if (one.resource.api_version, one.resource.kind) == (api_version, kind):
                return one.informer.informers[""].indexer.get_by_key(f"{namespace}/{name}" if namespace else name)
        return None

    def watched(self) -> Sequence[ServedResource]:
        """The resources that have an informer."""
        return tuple(self._monitors)

    def list(self, resource: ServedResource, namespace: str) -> Sequence[Any] | None:
        """The objects of a watched resource in a namespace; None before they are known."""
        monitor = self._monitors[resource]
        if not monitor.informer.has_synced():
            return None
        return monitor.informer.informers[""].indexer.by_index(NAMESPACE_INDEX, namespace)

    async def _follow(self) -> None:
        changed = ResourceEventHandlerFuncs(self._added, self._updated, self._deleted)
        for api_version, kind in DEFINITIONS:
            informer = await self._informers.get_informer(api_version, kind, block_until_synced=False)
            informer.add_handler(changed)
        self._changed.set()
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._resync(await served_resources(self._client))
            except (ApiError, OSError):
                await sleep(self._clock, PATIENCE)
                self._changed.set()
            else:
                self._begun.set()

    def _added(self, obj: Any, is_in_initial_list: bool) -> None:
        self._changed.set()

    def _updated(self, old: Any, new: Any) -> None:
        if old.get("spec") != new.get("spec") or old.get("status") != new.get("status"):
            self._changed.set()

    def _deleted(self, obj: Any) -> None:
        self._changed.set()

    async def _resync(self, served: ServedResources) -> None:
        wanted = self._chosen(served)
        stale = [one for one in self._monitors if f"{one.group}/{one.version}" in served.stale]
        if set(wanted) | set(stale) == set(self._monitors) and served == self.served:
            return
        if self.served.resources:  # what was discovered until then may be gone
            self._informers.mapper.forget()
        self.served = served
        for gone in [one for one in self._monitors if one not in wanted and one not in stale]:
            self._stop(self._monitors.pop(gone))
        for resource in wanted:
            if resource not in self._monitors:
                self._monitors[resource] = await self._monitor(resource)

    async def _monitor(self, resource: ServedResource) -> _Monitor:
        form = self._form_of(resource.api_version, resource.kind)
        informer = await self._informers.get_informer(
            resource.api_version, resource.kind, form=form, block_until_synced=False
        )
        handlers = informer.add_handler(self._handler_of(resource))
        return _Monitor(resource, form, informer, handlers)

    def _stop(self, monitor: _Monitor) -> None:
        monitor.informer.remove_handler(monitor.handlers)
        api_version, kind = monitor.resource.api_version, monitor.resource.kind
        if monitor.form == "metadata" and self._informers.find(api_version, kind, "metadata") is monitor.informer:
            self._informers.remove_informer(api_version, kind, "metadata")
