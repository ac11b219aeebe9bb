"""Shared informers by type, and waiting until they have synced (client-go: informers/factory.go, tools/cache)."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from controllerlib.cache.identity import InformerMetrics, InformerName
from controllerlib.cache.informercontroller import InformerOptions
from controllerlib.cache.listers import Lister
from controllerlib.cache.listwatch import ClientListWatch
from controllerlib.cache.sharedinformer import SharedIndexInformer
from controllerlib.cache.store import NAMESPACE_INDEX, TransformFunc, meta_namespace_index
from controllerlib.client.client import Client
from controllerlib.clock import Clock, Deadline, SystemClock
from controllerlib.metrics.registry import Registry
from controllerlib.observer import NOOP_OBSERVER, Observer
from controllerlib.random import Random
from controllerlib.tasks import OnceEvent, Tasks

_log = logging.getLogger(__name__)

Type = tuple[str, str]


class NotSynced(TimeoutError):
    """Some informers have not synced in time."""

    types: list[str]

    def __init__(self, types: Sequence[str], cause: str) -> None:
        super().__init__(f"failed to sync all caches: {', '.join(sorted(types))}: {cause}")
        self.types = sorted(types)


class DoneChecker(Protocol):
    """Reports when something is done (client-go: cache.DoneChecker)."""

    @property
    def name(self) -> str:
        """The name for messages."""
        ...

    @property
    def synced(self) -> OnceEvent:
        """Set when it is done."""
        ...


async def wait_for(
    checkers: Sequence[DoneChecker], *, timeout: float | None = None, clock: Clock | None = None
) -> Sequence[str]:
    """Wait until all checkers are done, at most `timeout` seconds; return and log the names of the others, sorted.

    Nothing is polled. A checker that finishes while the wait is cancelled counts as done (client-go: cache.WaitFor).
    """
    clock = clock or SystemClock()
    deadline = None if timeout is None else clock.monotonic() + timeout
    try:
        async with Deadline(clock, deadline):
            for checker in checkers:
                await checker.synced.wait()
    except TimeoutError:
        pass
    unfinished = sorted(checker.name for checker in checkers if not checker.synced.is_set())
    if unfinished:
        _log.warning("caches have not synced", extra={"unfinished": unfinished})
    return unfinished


async def wait_for_cache_sync(
    *synced: Callable[[], bool], timeout: float | None = None, clock: Clock | None = None
) -> bool:
    """Check now and then every 100 ms whether all have synced; return False after `timeout` seconds."""
    clock = clock or SystemClock()
    began = clock.monotonic()
    while not all(has_synced() for has_synced in synced):
        if timeout is not None and clock.monotonic() - began >= timeout:
            return False
        await clock.sleep_until(clock.monotonic() + 0.1)
    return True


class SharedInformerFactory:
    """Creates shared informers on demand and runs them. Each has the namespace index.

    Source: client-go, informers.SharedInformerFactory.
    """

    registry: Registry

    def __init__(
        self,
        client: Client,
        *,
        default_resync: float = 0.0,
        custom_resync: Mapping[Type, float] | None = None,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        transform: TransformFunc | None = None,
        options: InformerOptions | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        observer: Observer = NOOP_OBSERVER,
        informer_name: InformerName | None = None,
        registry: Registry | None = None,
    ) -> None:
        """Periods are seconds; namespace and selectors apply to every list and watch.

        With an `informer_name`, metrics of queues and stores are recorded in `registry`.
        """
        self._client, self._default, self._custom = client, default_resync, dict(custom_resync or {})
        self._namespace, self._labels, self._fields = namespace, label_selector, field_selector
        self._transform, self._options = transform, options
        self._clock, self._random, self._observer = clock, random, observer
        self._name, self.registry = informer_name, registry or Registry()
        self._informers: dict[Type, SharedIndexInformer] = {}
        self._running: dict[Type, asyncio.Task[None]] = {}
        self._shut_down = False

    def informer_for(self, api_version: str, kind: str) -> SharedIndexInformer:
        """Return the informer of a type; always the same one."""
        key = (api_version, kind)
        informer = self._informers.get(key)
        if informer is None:
            source = ClientListWatch(
                self._client,
                api_version,
                kind,
                namespace=self._namespace,
                label_selector=self._labels,
                field_selector=self._fields,
            )
            informer = self._informers[key] = SharedIndexInformer(
                source,
                name=kind,
                expected=key,
                resync_period=self._custom.get(key, self._default),
                indexers={NAMESPACE_INDEX: meta_namespace_index},
                options=self._options,
                clock=self._clock,
                random=self._random,
                observer=self._observer,
                metrics=self._metrics_of(key),
            )
            if self._transform is not None:
                informer.set_transform(self._transform)
        return informer

    def _metrics_of(self, key: Type) -> InformerMetrics | None:
        if self._name is None:
            return None
        mapper = self._client.mapper
        return InformerMetrics(self.registry, self._name.of(*key), lambda: mapper.known(*key))

    def lister(self, api_version: str, kind: str, resource: str) -> Lister:
        """Return a lister on the informer of a type; `resource` is its name in messages."""
        return Lister(self.informer_for(api_version, kind).indexer, resource)

    def start(self, tasks: Tasks) -> None:
        """Run, in `tasks`, the informers that do not run yet. May be called repeatedly; no effect after `shut_down`."""
        if self._shut_down:
            return
        for key, informer in self._informers.items():
            if key not in self._running:
                self._running[key] = tasks.start(informer.run(), f"informer {key[1]}")

    async def shut_down(self) -> None:
        """Start no further informers, and wait until the running ones have been cancelled by their owner."""
        self._shut_down = True
        for task in list(self._running.values()):
            done = OnceEvent()
            task.add_done_callback(lambda _, done=done: done.set())  # type: ignore[misc]
            await done.wait()

    async def wait_for_cache_sync(self, *, timeout: float | None = None) -> Mapping[Type, bool]:
        """Wait until the started informers have synced, at most `timeout` seconds; return which ones have."""
        started = {key: self._informers[key] for key in self._running}
        await wait_for([*started.values()], timeout=timeout, clock=self._clock)
        return {key: informer.has_synced() for key, informer in started.items()}

    async def require_cache_sync(self, *, timeout: float | None = None) -> None:
        """As `wait_for_cache_sync`, but raise NotSynced."""
        found = await self.wait_for_cache_sync(timeout=timeout)
        if missing := [key[1] for key, synced in found.items() if not synced]:
            raise NotSynced(missing, "context deadline exceeded")


def named_checker(name: str, event: OnceEvent) -> Any:
    """Return a DoneChecker for an event."""
    return _Named(name, event)


class _Named:
    def __init__(self, name: str, synced: OnceEvent) -> None:
        self.name, self.synced = name, synced
