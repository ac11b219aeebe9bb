"""The event broadcaster: delivers events to watchers without waiting for them (apimachinery: watch.Broadcaster)."""

import asyncio
import inspect
import logging
import socket
import uuid
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from controllerlib.client.names import Object
from controllerlib.clock import Clock, Deadline
from controllerlib.random import Random
from controllerlib.record.eventobject import EVENT_TYPES, event_name, reference, unix_nanos
from controllerlib.tasks import OnceEvent, ended

_log = logging.getLogger(__name__)

#: Number of queued events per watcher; further ones are dropped.
QUEUED = 1000

EventFunc = Callable[[Object], Awaitable[None] | None]


class UniqueTimestamps:
    """Strictly increasing wall times in nanoseconds. Event names contain them, and a test's clock may stand still."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._last = clock, 0

    def next(self) -> int:
        """Return the current time, at least one nanosecond after the previous one."""
        self._last = max(unix_nanos(self._clock.now()), self._last + 1)
        return self._last


class Broadcaster:
    """Delivers each event to all watchers, each of which has its own queue; when that is full, events are dropped.

    `send` may be called in any thread. `listen` needs a running event loop; `shutdown` must be called at the end.
    """

    clock: Clock
    closing: OnceEvent

    def __init__(self, clock: Clock, *, capacity: int = QUEUED) -> None:
        self.clock, self._capacity = clock, capacity
        #: Set at the shutdown: no more events are accepted, and retries end.
        self.closing = OnceEvent()
        self._watchers: dict[int, _Watcher] = {}
        self._next = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"<Broadcaster watchers={len(self._watchers)}{' closed' if self.closing.is_set() else ''}>"

    def send(self, event: Object) -> None:
        """Queue an event for all watchers; never waits."""
        loop = self._loop
        if loop is None or asyncio._get_running_loop() is loop:
            self._distribute(event)
        else:
            try:
                loop.call_soon_threadsafe(self._distribute, event)
            except RuntimeError as error:  # a thread has outlived the event loop
                _log.error("unable to record event (will not retry!): %s", error, extra={"event": event})

    def listen(self, handler: EventFunc, name: str) -> Callable[[], None]:
        """Call `handler` with each further event. Returns a function that stops it."""
        if self.closing.is_set():
            _log.error("unable to start event watcher (will not retry!)")
            return lambda: None
        self._loop = asyncio.get_running_loop()
        self._next += 1
        token = self._next
        self._watchers[token] = _Watcher(handler, self._capacity, name)

        def stop() -> None:
            watcher = self._watchers.pop(token, None)
            if watcher is not None:
                watcher.task.cancel()

        return stop

    async def pause(self, seconds: float) -> bool:
        """Wait for `seconds`; return False if the shutdown interrupted the wait."""
        try:
            async with Deadline(self.clock, self.clock.monotonic() + seconds):
                await self.closing.wait()
        except TimeoutError:
            return True
        return False

    async def shutdown(self) -> None:
        """Accept no more events and wait until the queued ones are handled. When cancelled, drop them."""
        self.closing.set()
        watchers, self._watchers = list(self._watchers.values()), {}
        try:
            for watcher in watchers:
                watcher.close()
                await ended(watcher.task)
        finally:
            for watcher in watchers:
                watcher.task.cancel()

    def _distribute(self, event: Object) -> None:
        if self.closing.is_set():
            _log.error("unable to record event (will not retry!): the broadcaster is shut down", extra={"event": event})
            return
        for watcher in self._watchers.values():
            if not watcher.offer(event):
                _log.error("too many queued events, dropped event", extra={"event": event})


class _Watcher:
    """The queue of a watcher, and the task that processes it."""

    def __init__(self, handler: EventFunc, capacity: int, name: str) -> None:
        self._handler, self._capacity = handler, capacity
        self._waiting: deque[Object] = deque()
        self._closed = False
        self._news: asyncio.Future[None] | None = None
        self.task = asyncio.get_running_loop().create_task(self._run(), name=name)

    def offer(self, event: Object) -> bool:
        if len(self._waiting) >= self._capacity:
            return False
        self._waiting.append(event)
        self._wake()
        return True

    def close(self) -> None:
        """End when the queue is empty."""
        self._closed = True
        self._wake()

    async def _run(self) -> None:
        while True:
            while self._waiting:
                await self._handle(self._waiting.popleft())
            if self._closed:
                return
            self._news = asyncio.get_running_loop().create_future()
            await self._news

    async def _handle(self, event: Object) -> None:
        try:
            answer = self._handler(event)
            if inspect.isawaitable(answer):
                await answer
        except Exception:  # the failure of one event must not end the watcher
            _log.exception("event handler failed", extra={"event": event})

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


class EventFactory:
    """The common part of both APIs' recorders: references, names and timestamps. Errors are logged, not raised."""

    def __init__(self, broadcaster: Broadcaster, timestamps: UniqueTimestamps, random: Random) -> None:
        self._broadcaster, self._timestamps, self._random = broadcaster, timestamps, random

    def reference_to(self, obj: Any, event_type: str, reason: str, message: str) -> Object | None:
        """Return the reference to an object; log an error and return None if no event can refer to it."""
        facts = {"object": obj, "event_type": event_type, "reason": reason, "event_message": message}
        try:
            about = reference(obj)
        except (ValueError, TypeError) as error:
            _log.error("could not construct reference, will not report event: %s", error, extra=facts)
            return None
        if event_type not in EVENT_TYPES:
            _log.error("unsupported event type", extra=facts)
            return None
        return about

    def name_and_time(self, about: Object) -> tuple[str, int]:
        """Return the name and the timestamp of a new event."""
        nanos = self._timestamps.next()
        name = about.get("name") or ""
        return event_name(name, nanos, lambda: self._uuid(name, nanos)), nanos

    def send(self, event: Object) -> None:
        """Send an event to the broadcaster."""
        self._broadcaster.send(event)

    def _uuid(self, name: str, nanos: int) -> str:
        halves = (int(self._random.fraction(f"event-name-{half}", name, nanos) * 2**53) for half in (0, 1))
        high, low = halves
        return str(uuid.UUID(int=(high << 75) | (low << 22), version=4))


def host_name() -> str:
    """Return the host name."""
    return socket.gethostname()


def formatted(message: str, args: tuple[Any, ...]) -> str:
    """Return `message % args`; without args the message is not formatted, as in logging. TypeError if they do not
    match.
    """
    return message % args if args else message
