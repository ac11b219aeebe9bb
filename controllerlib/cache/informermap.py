"""The informers of a cache by kind, form and namespace, created on first use (controller-runtime:
pkg/cache/internal).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from controllerlib.cache.informercontroller import InformerOptions
from controllerlib.cache.listwatch import ClientListWatch
from controllerlib.cache.options import ALL_NAMESPACES, CacheOptions, Selection
from controllerlib.cache.processorlistener import ResourceEventHandlerRegistration
from controllerlib.cache.reflector import ReflectorOptions
from controllerlib.cache.resourceeventhandler import InformerHandler
from controllerlib.cache.sharedinformer import SharedIndexInformer
from controllerlib.cache.store import NAMESPACE_INDEX, IndexFunc, meta_namespace_index
from controllerlib.client.client import Client
from controllerlib.client.resource import Resource
from controllerlib.client.restmapper import RESTMapper
from controllerlib.clock import Clock, SystemClock
from controllerlib.observer import NOOP_OBSERVER, Observer
from controllerlib.random import Random, SystemRandom
from controllerlib.tasks import OnceEvent, Tasks

#: Typed objects, unstructured objects, and metadata only; each form has its own informers.
Form = Literal["structured", "unstructured", "metadata"]


class UnknownNamespace(LookupError):
    """The cache does not include that namespace; `name` is empty if a list asked for it."""

    def __init__(self, namespace: str, name: str = "") -> None:
        operation = f"get: {namespace}/{name}" if name else f"list: {namespace}"
        super().__init__(f"unable to {operation} because of unknown namespace for the cache")


class NotCached(LookupError):
    """The kind has no informer, and the cache is configured not to start one."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(f"{api_version}, Kind={kind} is not cached")


@dataclass(frozen=True, slots=True)
class HandlerRegistrations:
    """The registrations of one handler, by namespace."""

    registrations: Mapping[str, ResourceEventHandlerRegistration]

    def has_synced(self) -> bool:
        """Return whether the handler has processed the initial lists."""
        return all(registration.has_synced() for registration in self.registrations.values())

    async def wait_synced(self) -> None:
        """Wait until the handler has processed the initial lists."""
        for registration in self.registrations.values():
            await registration.synced.wait()


@dataclass(frozen=True, slots=True)
class CacheInformer:
    """The informers of a kind by namespace; "" is the one for all namespaces or for cluster-scoped objects."""

    resource: Resource
    form: Form
    informers: Mapping[str, SharedIndexInformer]
    selections: Mapping[str, Selection]
    #: The tasks of the running informers.
    tasks: list["asyncio.Task[None]"] = field(default_factory=list)

    def add_handler(
        self, handler: InformerHandler, *, resync_period: float | None = None, name: str = ""
    ) -> HandlerRegistrations:
        """Register `handler` with the informer of every namespace."""
        return HandlerRegistrations(
            {
                namespace: informer.add_handler(handler, resync_period=resync_period, name=name)
                for namespace, informer in self.informers.items()
            }
        )

    def remove_handler(self, handlers: HandlerRegistrations) -> None:
        """Remove the registrations of a handler."""
        for namespace, registration in handlers.registrations.items():
            self.informers[namespace].remove_handler(registration)

    def add_indexers(self, indexers: Mapping[str, IndexFunc]) -> None:
        """Add indices to the store of every namespace."""
        for informer in self.informers.values():
            informer.add_indexers(indexers)

    def has_synced(self) -> bool:
        """Return whether all informers have synced."""
        return all(informer.has_synced() for informer in self.informers.values())

    async def wait_synced(self) -> None:
        """Wait until all informers have synced."""
        for informer in self.informers.values():
            await informer.synced.wait()

    def holding(self, namespace: str, name: str = "") -> Mapping[str, SharedIndexInformer]:
        """Return the informers that include `namespace` ("": all of them); raises UnknownNamespace, which mentions
        `name`.
        """
        if not namespace or not self.resource.namespaced:
            return self.informers
        if namespace in self.informers:
            return {namespace: self.informers[namespace]}
        if ALL_NAMESPACES in self.informers:
            return {ALL_NAMESPACES: self.informers[ALL_NAMESPACES]}
        raise UnknownNamespace(namespace, name)


Key = tuple[str, str, Form]
#: Creates an informer; called with the arguments of SharedIndexInformer.
NewInformer = Callable[..., SharedIndexInformer]


class Informers:
    """Creates informers on demand and runs them."""

    options: CacheOptions
    started: OnceEvent

    def __init__(
        self,
        client: Client,
        options: CacheOptions | None = None,
        *,
        clock: Clock | None = None,
        random: Random | None = None,
        observer: Observer = NOOP_OBSERVER,
        informer_options: InformerOptions | None = None,
        new_informer: NewInformer = SharedIndexInformer,
        skip_handler_failures: bool = False,
        poll: bool = False,
    ) -> None:
        """`poll`: check every 100 ms whether informers have synced, as client-go does, instead of waiting for an
        event.
        """
        self._client, self.options = client, options or CacheOptions()
        self.clock: Clock = clock or SystemClock()
        self.random: Random = random or SystemRandom()
        self._observer = observer
        self._informer_options = informer_options or InformerOptions(
            ReflectorOptions(min_watch_timeout=self.options.min_watch_timeout)
        )
        self._new, self._skip, self._poll = new_informer, skip_handler_failures, poll
        self._known: dict[Key, CacheInformer] = {}
        self._indexers: dict[tuple[str, str], dict[str, IndexFunc]] = {}
        self._tasks: Tasks | None = None
        self._was_started = False
        #: Set when it runs.
        self.started = OnceEvent()
        self._made = 0

    @property
    def mapper(self) -> RESTMapper:
        """The REST mapper of the client."""
        return self._client.mapper

    @property
    def is_started(self) -> bool:
        """Whether it is running."""
        return self._tasks is not None

    def all(self) -> Sequence[CacheInformer]:
        """Return the informers in the order of their creation."""
        return list(self._known.values())

    def find(self, api_version: str, kind: str, form: Form = "structured") -> CacheInformer | None:
        """Return the informer of a kind, or None if it was not created yet."""
        return self._known.get((api_version, kind, form))

    def has(self, api_version: str, kind: str, form: Form = "structured") -> bool:
        """Return whether the kind has an informer."""
        return (api_version, kind, form) in self._known

    async def run(self) -> None:
        """Run all informers, including later ones, until cancelled; RuntimeError the second time."""
        if self._was_started:
            raise RuntimeError("Informer already started")
        self._was_started = True
        async with Tasks() as tasks:
            self._tasks = tasks
            try:
                for informer in self._known.values():
                    self._run(informer)
                self.started.set()
                await asyncio.get_running_loop().create_future()  # until cancelled
            finally:
                self._tasks = None

    async def get_informer(
        self, api_version: str, kind: str, *, form: Form = "structured", block_until_synced: bool = True
    ) -> CacheInformer:
        """Return the informer of a kind; it is created if there is none.

        Waits until it has synced, unless the cache is not running. Raises ApiError if the kind is not served.
        """
        key = (api_version, kind, form)
        informer = self._known.get(key)
        if informer is None:
            resource = await self.mapper.resource(api_version, kind)
            informer = self._known.get(key)  # may have been created while this task waited
            if informer is None:
                informer = self._known[key] = self._make(resource, form)
                if self._tasks is not None:
                    self._run(informer)
        if block_until_synced and self.is_started:
            await self.wait_synced(informer)
        return informer

    async def wait_synced(self, informer: CacheInformer) -> None:
        """Wait until `informer` has synced."""
        if not self._poll:
            await informer.wait_synced()
            return
        while not informer.has_synced():
            await self.clock.sleep_until(self.clock.monotonic() + 0.1)

    def remove_informer(self, api_version: str, kind: str, form: Form = "structured") -> None:
        """Stop and forget the informer of a kind; a later read creates another."""
        informer = self._known.pop((api_version, kind, form), None)
        if informer is not None:
            for task in informer.tasks:
                task.cancel()

    def indexers(self, api_version: str, kind: str) -> Mapping[str, IndexFunc]:
        """Return the indices of a kind that were added, by name."""
        return self._indexers.get((api_version, kind), {})

    def add_indexer(self, api_version: str, kind: str, name: str, index: IndexFunc) -> None:
        """Add an index to the existing and future informers of a kind; ValueError if the name is in use."""
        indexers = self._indexers.setdefault((api_version, kind), {})
        if name in indexers:
            raise ValueError(f"indexer conflict: {name}")
        indexers[name] = index
        for key, informer in self._known.items():
            if key[:2] == (api_version, kind):
                informer.add_indexers({name: index})

    def _make(self, resource: Resource, form: Form) -> CacheInformer:
        api_version, kind = resource.api_version, resource.kind
        selections = self.options.selections(api_version, kind, namespaced=resource.namespaced)
        informers = {namespace: self._make_one(resource, form, namespace, s) for namespace, s in selections.items()}
        return CacheInformer(resource, form, informers, selections)

    def _make_one(self, resource: Resource, form: Form, namespace: str, selection: Selection) -> SharedIndexInformer:
        api_version, kind = resource.api_version, resource.kind
        source = ClientListWatch(
            self._client,
            api_version,
            kind,
            namespace=namespace or None,
            label_selector=selection.label_selector or "",
            field_selector=selection.field_selector or "",
            metadata_only=form == "metadata",
            bookmarks=selection.bookmarks is not False,
        )
        self._made += 1
        fraction = self.random.fraction("sync-period", f"{api_version}/{kind}/{form}/{namespace}", self._made)
        indexers: dict[str, Any] = {NAMESPACE_INDEX: meta_namespace_index}
        indexers.update(self._indexers.get((api_version, kind), {}))
        informer = self._new(
            source,
            name=resource.qualified + (f"/{namespace}" if namespace else ""),
            resync_period=self.options.resync_period(api_version, kind, fraction),
            indexers=indexers,
            options=self._informer_options,
            clock=self.clock,
            random=self.random,
            observer=self._observer,
            skip_handler_failures=self._skip,
        )
        if selection.transform is not None:
            informer.set_transform(selection.transform)
        if self.options.on_watch_error is not None:
            informer.set_watch_error_handler(self.options.on_watch_error)
        return informer

    def _run(self, informer: CacheInformer) -> None:
        assert self._tasks is not None
        for namespace, shared in informer.informers.items():
            name = f"informer {shared.name or namespace}"
            informer.tasks.append(self._tasks.start(shared.run(), name))
