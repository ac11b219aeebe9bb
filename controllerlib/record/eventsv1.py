"""Recording of events.k8s.io/v1 Events: repeated events become a series (client-go: tools/events)."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from controllerlib.backoff import jitter
from controllerlib.client.names import Object
from controllerlib.clock import Clock, SystemClock
from controllerlib.random import Random, SystemRandom
from controllerlib.record import corev1 as corev1
from controllerlib.record.broadcaster import (
    QUEUED,
    Broadcaster,
    EventFactory,
    EventFunc,
    UniqueTimestamps,
    formatted,
    host_name,
)
from controllerlib.record.eventobject import micro_time_text, reference, series_event, unix_nanos
from controllerlib.record.fake import Lines, annotations_text, kind_text
from controllerlib.record.series import FINISH, REFRESH, SeriesCache, series_patch
from controllerlib.record.sink import PAUSE, TRIES, EventSink, RetriableError, record
from controllerlib.tasks import OnceEvent, ended

_log = logging.getLogger(__name__)

#: Maximum number of concurrent writes.
WORKERS = 8
_JITTER = 0.25


class EventRecorder(Protocol):
    """Records events.k8s.io/v1 Events. Never waits; an event that cannot be recorded is logged, not raised.

    `regarding`, `related`: objects with apiVersion and kind, models of the official client, or ObjectReferences;
    `related` may be None. `event_type`: "Normal" or "Warning". `reason` (why) and `action` (what was done) are
    UpperCamelCase and for programs; `note` is for people and is recorded as `note % args` (TypeError if they do not
    match). May be called in any thread.

    Source: client-go, events.EventRecorder.
    """

    def eventf(
        self, regarding: Any, related: Any, event_type: str, reason: str, action: str, note: str, *args: Any
    ) -> None:
        """Record an event."""
        ...

    def annotated_eventf(
        self,
        regarding: Any,
        related: Any,
        annotations: Mapping[str, str],
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *args: Any,
    ) -> None:
        """As `eventf`, with annotations of the Event."""
        ...


class EventBroadcaster:
    """Sends events from recorders to a sink, watchers and logs (client-go: events.EventBroadcaster).

    Of equal events (everything but the note) the first is created and the second turns it into a series. Further ones
    are counted here and written every 30 minutes, and once more after 6 minutes without one. Up to eight events are
    written concurrently, each at most 12 times, `pause` seconds (plus up to a quarter) apart. At the shutdown queued
    events are tried once.
    """

    def __init__(
        self,
        sink: EventSink,
        *,
        pause: float = PAUSE,
        clock: Clock | None = None,
        random: Random | None = None,
        timestamps: UniqueTimestamps | None = None,
        host: str | None = None,
        capacity: int = QUEUED,
    ) -> None:
        """`timestamps` is shared by broadcasters that write to one server. `host` None: the host name.

        `capacity`: queued events per watcher, and events waiting to be written.
        """
        self._clock: Clock = clock or SystemClock()
        self._random: Random = random or SystemRandom()
        self._sink, self._pause, self._host, self._capacity = sink, pause, host, capacity
        self._timestamps = timestamps or UniqueTimestamps(self._clock)
        self._broadcaster = Broadcaster(self._clock, capacity=capacity)
        self._cache = SeriesCache()
        self._queue: deque[Object] = deque()
        self._busy: dict[asyncio.Task[None], None] = {}
        self._loops: list[asyncio.Task[None]] = []
        #: Set when the cache has an event.
        self._filled = OnceEvent()

    def __repr__(self) -> str:
        return f"<EventBroadcaster events.k8s.io/v1 cached={len(self._cache)} {self._broadcaster!r}>"

    def new_recorder(self, controller: str) -> EventRecorder:
        """Return a recorder with `controller` as reporting controller and `controller-<host>` as reporting instance."""
        instance = f"{controller}-{host_name() if self._host is None else self._host}"
        return _Recorder(EventFactory(self._broadcaster, self._timestamps, self._random), controller, instance)

    def start_recording_to_sink(self) -> None:
        """Write events to the sink; RuntimeError the second time."""
        if self._loops:
            raise RuntimeError("broadcaster is already recording to a sink")
        self.start_event_watcher(self._observe, name="event series")
        loop = asyncio.get_running_loop()
        for work, period in ((self._refresh, REFRESH), (self._finish, FINISH)):
            self._loops.append(loop.create_task(self._every(period, work), name=f"event series every {period:g}s"))

    def start_event_watcher(self, handler: EventFunc, *, name: str = "event watcher") -> Callable[[], None]:
        """Call `handler` with each event. Returns a function that stops it."""
        return self._broadcaster.listen(handler, name)

    def start_logging(self, logf: Callable[..., Any]) -> Callable[[], None]:
        """Call `logf`, such as `log.info`, with a format and its arguments for each event. Returns a function that
        stops it.
        """
        return self.start_event_watcher(
            lambda event: logf(
                "Event(%r): type: '%s' reason: '%s' action: '%s' %s",
                event["regarding"],
                event["type"],
                event["reason"],
                event["action"],
                event["note"],
            ),
            name="event log",
        )

    async def shutdown(self) -> None:
        """Accept no more events and wait until the queued ones were tried once. When cancelled, drop them."""
        for task in self._loops:
            task.cancel()
        try:
            await self._broadcaster.shutdown()
            while self._busy:
                await ended(next(iter(self._busy)))
        finally:
            self._queue.clear()
            for task in list(self._busy):
                task.cancel()

    # --- writing

    async def _every(self, period: float, work: Callable[[], Awaitable[None]]) -> None:
        """Call `work` every `period` seconds from now on, but sleep while there is no event: nothing is to be done."""
        began = self._clock.monotonic()
        while True:
            if not self._cache:
                if self._filled.is_set():
                    self._filled = OnceEvent()
                await self._filled.wait()
            periods = (self._clock.monotonic() - began) // period + 1
            await self._clock.sleep_until(began + periods * period)
            await work()
            began = self._clock.monotonic()

    def _observe(self, event: Object) -> None:
        time = micro_time_text(unix_nanos(self._clock.now()))
        found = self._cache.observe(event, self._clock.monotonic(), time)
        self._filled.set()
        if found is None:
            return
        if len(self._queue) >= self._capacity:
            _log.error("unable to record event: too many queued events, dropped event", extra={"event": found})
            return
        self._queue.append(found)
        if len(self._busy) < WORKERS:
            task = asyncio.get_running_loop().create_task(self._work(), name="event writer")
            self._busy[task] = None
            task.add_done_callback(lambda done: self._busy.pop(done, None))

    async def _work(self) -> None:
        while self._queue:
            await self._write(self._queue.popleft())

    async def _write(self, event: Object) -> None:
        name = event["metadata"]["name"]
        for attempt in range(1, TRIES + 1):
            try:
                await self._record(event)
            except RetriableError:
                fraction = self._random.fraction("event-sink", name, attempt)
                if attempt < TRIES and not await self._broadcaster.pause(jitter(self._pause, _JITTER, fraction)):
                    return
            else:
                return
        _log.error("unable to write event (retry limit exceeded!)", extra={"event": event})

    async def _record(self, event: Object) -> Object | None:
        series = bool(event.get("series"))
        return await record(self._sink, event, series_patch(event) if series else None, series=series)

    async def _refresh(self) -> None:
        """Write every series again, so that it does not expire at the server."""
        for cached in self._cache.series():
            try:
                stored = await self._record(cached.event)
            except RetriableError:
                continue
            if stored is not None:
                self._cache.recorded(cached, stored)

    async def _finish(self) -> None:
        """Write series that have ended a last time, and remove ended events from the cache."""
        for cached in self._cache.finished(self._clock.monotonic()):
            if cached.is_series:
                try:
                    await self._record(cached.event)
                except RetriableError:
                    continue
            self._cache.forget(cached)


class _Recorder:
    """The recorder of an EventBroadcaster."""

    def __init__(self, factory: EventFactory, controller: str, instance: str) -> None:
        self._factory, self._controller, self._instance = factory, controller, instance

    def eventf(
        self, regarding: Any, related: Any, event_type: str, reason: str, action: str, note: str, *args: Any
    ) -> None:
        self._eventf(regarding, related, None, event_type, reason, action, formatted(note, args))

    def annotated_eventf(
        self,
        regarding: Any,
        related: Any,
        annotations: Mapping[str, str],
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *args: Any,
    ) -> None:
        self._eventf(regarding, related, annotations, event_type, reason, action, formatted(note, args))

    def _eventf(
        self,
        regarding: Any,
        related: Any,
        annotations: Mapping[str, str] | None,
        event_type: str,
        reason: str,
        action: str,
        note: str,
    ) -> None:
        about = self._factory.reference_to(regarding, event_type, reason, note)
        if about is None:
            return
        name, nanos = self._factory.name_and_time(about)
        self._factory.send(
            series_event(
                about,
                _related(related),
                event_type,
                reason,
                action,
                note,
                name=name,
                nanos=nanos,
                controller=self._controller,
                instance=self._instance,
                annotations=annotations,
            )
        )


def _related(obj: Any) -> Object | None:
    """Return the reference to `related`; None if it cannot be constructed."""
    if obj is None:
        return None
    try:
        return reference(obj)
    except (ValueError, TypeError) as error:
        _log.debug("could not construct reference: %s", error, extra={"object": obj})
        return None


class EventRecorderAdapter:
    """An EventRecorder that writes core/v1 Events, without `related` and `action` (record.EventRecorderAdapter)."""

    def __init__(self, recorder: corev1.CoreEventRecorder) -> None:
        self._recorder = recorder

    def eventf(
        self, regarding: Any, related: Any, event_type: str, reason: str, action: str, note: str, *args: Any
    ) -> None:
        """See EventRecorder."""
        self._recorder.eventf(regarding, event_type, reason, note, *args)

    def annotated_eventf(
        self,
        regarding: Any,
        related: Any,
        annotations: Mapping[str, str],
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *args: Any,
    ) -> None:
        """See EventRecorder."""
        self._recorder.annotated_eventf(regarding, annotations, event_type, reason, note, *args)


class FakeRecorder:
    """An EventRecorder for tests; `events` contains "<type> <reason> <note>" lines (client-go: events.FakeRecorder)."""

    events: Lines

    def __init__(self, size: int = 100, *, verbose: bool = False) -> None:
        """`size`: the capacity of `events`. `verbose`: add action, kinds and annotations."""
        self.events = Lines(size)
        self._verbose = verbose

    def eventf(
        self, regarding: Any, related: Any, event_type: str, reason: str, action: str, note: str, *args: Any
    ) -> None:
        """See EventRecorder."""
        self.annotated_eventf(regarding, related, {}, event_type, reason, action, note, *args)

    def annotated_eventf(
        self,
        regarding: Any,
        related: Any,
        annotations: Mapping[str, str],
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *args: Any,
    ) -> None:
        """See EventRecorder."""
        text = formatted(note, args)
        if not self._verbose:
            self.events.put(f"{event_type} {reason} {text}")
            return
        kinds = "".join(f" {kind_text(obj)}" for obj in (regarding, related) if obj is not None)
        self.events.put(f"{event_type} {reason} {action} {text}{kinds}{annotations_text(annotations)}")
