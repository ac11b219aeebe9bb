"""The reflector: keeps a store up to date by a list and a watch (client-go: reflector.go)."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, cast

from controllerlib.backoff import REFLECTOR, DelayWithReset
from controllerlib.cache.listwatch import (
    PAGE_SIZE,
    ListerWatcher,
    list_pages,
    supports_streaming,
)
from controllerlib.cache.relist import RetryWithDeadline, VeryShortWatch, WatchVersion, watch_timeout
from controllerlib.cache.store import TransformFunc
from controllerlib.client.errors import (
    REQUEST_ERRORS,
    ApiError,
    from_status,
    is_connection_refused,
    is_expired,
    is_internal,
    is_too_large_resource_version,
    is_too_many_requests,
)
from controllerlib.client.listoptions import ListOptions
from controllerlib.client.names import Object, deletion_handling_key, has_metadata, resource_version
from controllerlib.client.transport import WatchStream
from controllerlib.clock import Alarm, Clock, SystemClock, sleep
from controllerlib.observer import NOOP_OBSERVER, InformerEvent, Observer
from controllerlib.random import Random, SystemRandom
from controllerlib.tasks import Tasks

_log = logging.getLogger(__name__)

#: The annotation of the bookmark that ends a streamed list.
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
_BOOKMARK_WARNING = 10.0
_SHORT_WATCH = 1.0


class ReflectorStore(Protocol):
    """The store that a reflector keeps up to date (client-go: cache.ReflectorStore).

    It may also implement BookmarkStore, ResourceVersionUpdater and BoundedStore.
    """

    def add(self, obj: Any) -> None:
        """Add an object."""
        ...

    def update(self, obj: Any) -> None:
        """Replace an object."""
        ...

    def delete(self, obj: Any) -> None:
        """Remove an object."""
        ...

    def replace(self, objs: Any, version: str) -> None:
        """Replace the whole content by a list at `version`."""
        ...

    def resync(self) -> Awaitable[None] | None:
        """Deliver every stored object again; may be a coroutine function."""
        ...


class BookmarkStore(Protocol):
    """A store that takes bookmarks (client-go: cache.ReflectorBookmarkStore)."""

    def bookmark(self, version: str) -> None:
        """Record that every change up to `version` was received."""
        ...


class ResourceVersionUpdater(Protocol):
    """A store that is given the resourceVersion after each event (client-go: cache.ResourceVersionUpdater)."""

    def update_resource_version(self, version: str) -> None:
        """Record the resourceVersion of the last event."""
        ...


class BoundedStore(Protocol):
    """A store that makes the reflector wait while its consumer lags behind."""

    def is_crowded(self) -> bool:
        """Return whether the reflector must call `room` before the next event."""
        ...

    async def room(self) -> None:
        """Wait until the consumer has made progress."""
        ...


class ResyncFailed(Exception):
    """The store failed to resync: the watch ends, and another list follows."""


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """Options of a reflector; times are seconds.

    `resync_period` 0: no resync. `page_size` 0: 500 for the first list, later lists in one page. `min_watch_timeout`:
    watches are requested with a timeout between this and twice this, at least 300. `internal_error_retry`: how long
    watches that end with an InternalError are restarted without a list (0: never). `streaming` False: LIST and WATCH,
    as before client-go 0.35.
    """

    resync_period: float = 0.0
    page_size: int = 0
    min_watch_timeout: float = 300.0
    internal_error_retry: float = 0.0
    streaming: bool = True
    backoff_reset: float = 120.0


def default_watch_error_handler(error: BaseException, reflector: str = "") -> None:
    """Log an error of a list or watch; expired versions and ended streams only at debug level, or not at all.

    `reflector`: what is watched; a reflector passes its name.
    """
    fields = {"reflector": reflector, "error": str(error)}
    what, why = reflector or "objects", str(error) or type(error).__name__
    if is_expired(error):
        _log.debug("watch of %s closed: too old resource version: %s", what, why, extra=fields)
    elif not isinstance(error, EOFError):
        _log.error("failed to watch %s: %s", what, why, extra=fields)


@dataclass(slots=True)
class _Watch:
    stream: WatchStream
    events: AsyncIterator[Mapping[str, Any]]
    version: WatchVersion
    began: float


class Reflector:
    """Lists and watches until it is cancelled (client-go: cache.Reflector).

    A delay (0.8 s doubling to 30 s with jitter, reset every 2 minutes) follows every attempt, even a successful one.
    """

    resource_version: str

    def __init__(
        self,
        source: ListerWatcher,
        store: ReflectorStore,
        *,
        name: str = "",
        expected: tuple[str, str] | None = None,
        options: ReflectorOptions | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        delay: DelayWithReset | None = None,
        transform: TransformFunc | None = None,
        should_resync: Callable[[], bool] | None = None,
        on_error: Callable[[BaseException], None] = default_watch_error_handler,
        observer: Observer = NOOP_OBSERVER,
    ) -> None:
        """`expected`: the (apiVersion, kind) of events; others are ignored. `transform` is the store's own.

        `on_error` is called with errors of lists and of starting watches, not with errors of an open stream.
        """
        self._source, self._store, self._name, self._expected = source, store, name, expected
        self._options = options or ReflectorOptions()
        self._clock: Clock = clock or SystemClock()
        self._random: Random = random or SystemRandom()
        self._delay, self._transform = delay, transform
        self._should_resync, self._observer = should_resync, observer
        by_default = on_error is default_watch_error_handler
        self._on_error = partial(default_watch_error_handler, reflector=name) if by_default else on_error
        # by attribute: isinstance() with a Protocol takes some 20 µs on Python 3.11
        self._bookmark: Callable[[str], None] | None = getattr(store, "bookmark", None)
        self._updated: Callable[[str], None] | None = getattr(store, "update_resource_version", None)
        self._bounded = cast(BoundedStore, store) if hasattr(store, "is_crowded") else None
        self._page_size = self._options.page_size
        self._paginated = self._unavailable = False
        self._lists = self._watches = 0
        self.resource_version = ""

    async def run(self) -> None:
        """List and watch until cancelled."""
        while True:
            try:
                await self.list_and_watch()
            except REQUEST_ERRORS as error:
                self._observer.informer(InformerEvent(self._name, "failed", self.resource_version, error=error))
                self._on_error(error)
            await self._back_off()

    async def list_and_watch(self) -> None:
        """Make one attempt; return when another list is needed. Raises the errors of lists and of starting watches."""
        watch: _Watch | None = None
        if self._options.streaming and supports_streaming(self._source):
            try:
                watch = await self._stream_list()
            except (*REQUEST_ERRORS, VeryShortWatch) as error:
                _log.info(
                    "streamed list failed, falling back to LIST", extra={"reflector": self._name, "error": str(error)}
                )
        if watch is None:
            await self._list()
        try:
            async with Tasks() as tasks:
                if self._options.resync_period > 0:
                    tasks.start(self._resync(), f"resync {self._name}")
                await self._watch(watch)
                tasks.cancel()
        except ResyncFailed as error:
            _log.error("resync failed", extra={"reflector": self._name, "error": str(error.__cause__)})

    async def _back_off(self) -> None:
        now = self._clock.monotonic()
        if self._delay is None:
            self._delay = DelayWithReset(REFLECTOR, self._options.backoff_reset, now)
        fraction = self._random.fraction("reflector-backoff", self._name, self._delay.calls)
        await sleep(self._clock, self._delay.next(now, fraction))

    # --- listing

    async def _list(self) -> None:
        version = "" if self._unavailable else self.resource_version or "0"
        try:
            try:
                listing = await self._list_with(version)
            except REQUEST_ERRORS as error:
                if not is_expired(error) and not is_too_large_resource_version(error):
                    raise
                self._unavailable = True
                listing = await self._list_with("")
        except ApiError as error:
            raise with_message(error, f"failed to list {self._name or 'objects'}: {error.message}") from error
        if listing.kind == "Table":
            raise ApiError(500, "InternalError", "table lists are not supported", None)
        if version == "0" and listing.paginated:
            self._paginated = True
        self._unavailable = False
        self._store.replace(listing.items, listing.resource_version)
        self.resource_version = listing.resource_version
        self._seen("list", len(listing.items))

    async def _list_with(self, version: str) -> Any:
        size = self._page_size
        if not size and (self._paginated or version in ("", "0")):
            size = PAGE_SIZE
        return await list_pages(self._source.list, ListOptions(resource_version=version), page_size=size)

    async def _stream_list(self) -> _Watch:
        """Request the initial list as a watch; return that watch, which continues."""
        while True:
            known: dict[str, Object] = {}
            options = ListOptions(
                resource_version="" if self._unavailable else self.resource_version,
                resource_version_match="NotOlderThan",
                send_initial_events=True,
                allow_watch_bookmarks=True,
            )
            try:
                watch = await self._start(options)
                try:
                    version = await self._read_initial(watch, known)
                except BaseException:
                    await watch.stream.aclose()
                    raise
            except REQUEST_ERRORS as error:
                if is_too_many_requests(error) or is_connection_refused(error):
                    await self._back_off()
                elif is_expired(error) or is_too_large_resource_version(error):
                    self._unavailable = True
                else:
                    raise
                continue
            if version is None:
                await watch.stream.aclose()
                continue
            objects = [known[key] for key in sorted(known)]
            self._unavailable = False
            self._store.replace(objects, version)
            self.resource_version = version
            self._seen("stream", len(objects))
            watch.version = WatchVersion(version)
            return watch

    async def _read_initial(self, watch: _Watch, known: dict[str, Object]) -> str | None:
        """Collect objects in `known` until the closing bookmark; return its version, or None if the stream ended
        before.
        """
        count = 0
        last = watch.began

        def warn() -> None:
            _log.warning(
                "no closing bookmark of the streamed list received yet", extra={"reflector": self._name, "since": last}
            )
            alarm.set(self._clock.monotonic() + _BOOKMARK_WARNING)

        alarm = Alarm(self._clock, warn)
        alarm.set(watch.began + _BOOKMARK_WARNING)
        try:
            async for event in watch.events:
                kind, obj = event["type"], event["object"]
                last = self._clock.monotonic()
                if not self._is_expected(kind, obj):
                    continue
                count += 1
                if kind == "BOOKMARK":
                    if (obj["metadata"].get("annotations") or {}).get(INITIAL_EVENTS_END) == "true":
                        return resource_version(obj)
                elif kind == "DELETED":
                    known.pop(deletion_handling_key(obj), None)
                else:
                    known[deletion_handling_key(obj)] = self._transform(obj) if self._transform else obj
                version = watch.version.after(kind, resource_version(obj))
                if version is not None:
                    self.resource_version = version
        finally:
            alarm.off()
        self._check_short(watch.began, count)
        return None

    # --- watching

    async def _watch(self, watch: _Watch | None) -> None:
        retry = RetryWithDeadline(self._options.internal_error_retry)
        while True:
            began = self._clock.monotonic()
            if watch is None:
                options = ListOptions(resource_version=self.resource_version, allow_watch_bookmarks=True)
                try:
                    watch = await self._start(options)
                except REQUEST_ERRORS as error:
                    if is_too_many_requests(error) or is_connection_refused(error):
                        await self._back_off()
                        continue
                    raise
                self._seen("watch", 0)
            watch.began = began
            try:
                await self._read(watch)
            except VeryShortWatch as error:
                _log.info("very short watch", extra={"reflector": self._name, "error": str(error)})
                return
            except REQUEST_ERRORS as error:
                now = self._clock.monotonic()
                retry.after(is_internal(error), now)
                if is_too_many_requests(error):
                    await self._back_off()
                elif not (is_internal(error) and retry.should_retry(now)):
                    _log.info("watch ended", extra={"reflector": self._name, "error": str(error)})
                    return
            finally:
                await watch.stream.aclose()
            watch = None

    async def _start(self, options: ListOptions) -> _Watch:
        self._watches += 1
        fraction = self._random.fraction("watch-timeout", self._name, self._watches)
        seconds = watch_timeout(self._options.min_watch_timeout, fraction)
        began = self._clock.monotonic()
        stream = await self._source.watch(replace(options, timeout_seconds=seconds))
        return _Watch(stream, stream.__aiter__(), WatchVersion(options.resource_version), began)

    async def _read(self, watch: _Watch) -> None:
        """Apply events to the store until the stream ends; raises VeryShortWatch or the error of an ERROR event."""
        store, count = self._store, 0
        changes = {"ADDED": store.add, "MODIFIED": store.update, "DELETED": store.delete}
        async for event in watch.events:
            kind, obj = event["type"], event["object"]
            if not self._is_expected(kind, obj):
                continue
            count += 1
            change = changes.get(kind)
            version = obj["metadata"].get("resourceVersion") or ""
            if change is not None:
                try:
                    change(obj)
                except Exception:  # an object that the store rejects must not end the watch
                    _log.exception("store rejected an object", extra={"reflector": self._name, "event": kind})
            elif kind == "BOOKMARK":
                if self._bookmark is not None:
                    self._bookmark(version)
            else:
                _log.error("unknown watch event", extra={"reflector": self._name, "event": kind})
            after = watch.version.after(kind, version)
            if after is not None:
                self.resource_version = after
                if self._updated is not None:
                    self._updated(after)
            if self._bounded is not None and self._bounded.is_crowded():
                await self._bounded.room()
        self._check_short(watch.began, count)

    def _is_expected(self, kind: str, obj: Any) -> bool:
        """Return whether an event is to be applied; raises the error of an ERROR event."""
        if kind == "ERROR":
            raise from_status(obj)
        if not has_metadata(obj):
            _log.error("watch event without metadata", extra={"reflector": self._name, "event": kind})
            return False
        if self._expected is not None:
            api_version, own = obj.get("apiVersion"), obj.get("kind")
            if (own is not None and own != self._expected[1]) or (api_version or self._expected[0]) != self._expected[
                0
            ]:
                _log.error("watch event of another kind", extra={"reflector": self._name, "found": own})
                return False
        return bool(obj.get("kind") != "Table")

    def _check_short(self, began: float, count: int) -> None:
        if count == 0 and self._clock.monotonic() - began < _SHORT_WATCH:
            raise VeryShortWatch(self._name)

    # --- resync

    async def _resync(self) -> None:
        while True:
            await sleep(self._clock, self._options.resync_period)
            if self._should_resync is None or self._should_resync():
                try:
                    answer = self._store.resync()
                    if answer is not None:
                        await answer
                except Exception as error:
                    raise ResyncFailed from error
                self._observer.informer(InformerEvent(self._name, "resync", self.resource_version))

    def _seen(self, kind: Any, objects: int) -> None:
        again = False
        if kind != "watch":
            self._lists += 1
            again = self._lists > 1
        self._observer.informer(InformerEvent(self._name, kind, self.resource_version, objects, again))


def with_message(error: ApiError, message: str) -> ApiError:
    """Return the same error with another message."""
    return ApiError(error.code, error.reason, message, error.status)
