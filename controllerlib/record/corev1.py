"""Recording of core/v1 Events: counted, aggregated and rate limited before they are written (client-go: tools/record).

New code should record events.k8s.io/v1 Events; leader election still uses these.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from controllerlib.client.names import Object
from controllerlib.clock import Clock, SystemClock
from controllerlib.random import Random, SystemRandom
from controllerlib.record.broadcaster import QUEUED, Broadcaster, EventFactory, EventFunc, UniqueTimestamps, formatted
from controllerlib.record.correlator import Correlator, CorrelatorOptions
from controllerlib.record.eventobject import core_event
from controllerlib.record.fake import Lines, annotations_text, kind_text
from controllerlib.record.sink import PAUSE, TRIES, EventSink, RetriableError, record

_log = logging.getLogger(__name__)


class CoreEventRecorder(Protocol):
    """Records core/v1 Events. Never waits; an event that cannot be recorded is logged, not raised.

    `obj`: an object with apiVersion and kind, a model of the official client, or an ObjectReference. `event_type`:
    "Normal" or "Warning". `reason` is UpperCamelCase and for programs, `message` is for people. May be called in any
    thread.

    Source: client-go, record.EventRecorder.
    """

    def event(self, obj: Any, event_type: str, reason: str, message: str) -> None:
        """Record `message` without formatting."""
        ...

    def eventf(self, obj: Any, event_type: str, reason: str, message: str, *args: Any) -> None:
        """Record `message % args`; TypeError if they do not match."""
        ...

    def annotated_eventf(
        self, obj: Any, annotations: Mapping[str, str], event_type: str, reason: str, message: str, *args: Any
    ) -> None:
        """As `eventf`, with annotations of the Event."""
        ...


class CoreEventBroadcaster:
    """Sends events from recorders to sinks, watchers and logs (client-go: record.EventBroadcaster).

    `pause`: seconds between the attempts (at most 12) to write an event; the first pause is shortened randomly. Each
    sink has its own correlator. At the shutdown queued events are tried once.
    """

    def __init__(
        self,
        *,
        options: CorrelatorOptions | None = None,
        pause: float = PAUSE,
        clock: Clock | None = None,
        random: Random | None = None,
        timestamps: UniqueTimestamps | None = None,
        capacity: int = QUEUED,
    ) -> None:
        """`timestamps` is shared by broadcasters that write to one server. `capacity`: queued events per watcher."""
        self._clock: Clock = clock or SystemClock()
        self._random: Random = random or SystemRandom()
        self._options, self._pause = options, pause
        self._timestamps = timestamps or UniqueTimestamps(self._clock)
        self._broadcaster = Broadcaster(self._clock, capacity=capacity)

    def __repr__(self) -> str:
        return f"<EventBroadcaster core/v1 {self._broadcaster!r}>"

    def new_recorder(self, component: str, host: str = "") -> CoreEventRecorder:
        """Return a recorder whose events name `component` (on `host`) as their source."""
        return _Recorder(EventFactory(self._broadcaster, self._timestamps, self._random), component, host)

    def start_recording_to_sink(self, sink: EventSink) -> Callable[[], None]:
        """Write events to `sink` sequentially. Returns a function that stops it."""
        correlator = Correlator(self._options)
        return self.start_event_watcher(lambda event: self._write(sink, correlator, event), name="event sink")

    def start_event_watcher(self, handler: EventFunc, *, name: str = "event watcher") -> Callable[[], None]:
        """Call `handler` with each event. Returns a function that stops it."""
        return self._broadcaster.listen(handler, name)

    def start_logging(self, logf: Callable[..., Any]) -> Callable[[], None]:
        """Call `logf`, such as `log.info`, with a format and its arguments for each event. Returns a function that
        stops it.
        """
        return self.start_event_watcher(
            lambda event: logf(
                "Event(%r): type: '%s' reason: '%s' %s",
                event["involvedObject"],
                event["type"],
                event["reason"],
                event["message"],
            ),
            name="event log",
        )

    async def shutdown(self) -> None:
        """Accept no more events and wait until the queued ones were tried once."""
        await self._broadcaster.shutdown()

    async def _write(self, sink: EventSink, correlator: Correlator, event: Object) -> None:
        found = correlator.correlate(event, self._clock.monotonic(), self._timestamps.next())
        if found is None:
            return
        name = found.event["metadata"]["name"]
        for attempt in range(1, TRIES + 1):
            try:
                stored = await record(sink, found.event, found.patch)
            except RetriableError:
                if attempt == TRIES:
                    _log.error("unable to write event (retry limit exceeded!)", extra={"event": event})
                    return
            else:
                if stored is not None:
                    correlator.update(stored)
                return
            part = self._random.fraction("event-sink", name, attempt) if attempt == 1 else 1.0
            if not await self._broadcaster.pause(self._pause * part):
                _log.error("unable to write event (broadcaster is shut down)", extra={"event": event})
                return


class _Recorder:
    """The recorder of a CoreEventBroadcaster."""

    def __init__(self, factory: EventFactory, component: str, host: str) -> None:
        self._factory, self._component, self._host = factory, component, host

    def event(self, obj: Any, event_type: str, reason: str, message: str) -> None:
        self._record(obj, None, event_type, reason, message)

    def eventf(self, obj: Any, event_type: str, reason: str, message: str, *args: Any) -> None:
        self._record(obj, None, event_type, reason, formatted(message, args))

    def annotated_eventf(
        self, obj: Any, annotations: Mapping[str, str], event_type: str, reason: str, message: str, *args: Any
    ) -> None:
        self._record(obj, annotations, event_type, reason, formatted(message, args))

    def _record(
        self, obj: Any, annotations: Mapping[str, str] | None, event_type: str, reason: str, message: str
    ) -> None:
        about = self._factory.reference_to(obj, event_type, reason, message)
        if about is None:
            return
        name, nanos = self._factory.name_and_time(about)
        self._factory.send(
            core_event(
                about,
                event_type,
                reason,
                message,
                name=name,
                nanos=nanos,
                component=self._component,
                host=self._host,
                annotations=annotations,
            )
        )


class CoreFakeRecorder:
    """A CoreEventRecorder for tests; `events` contains "<type> <reason> <message>" lines (client-go:
    record.FakeRecorder).
    """

    events: Lines

    def __init__(self, size: int = 100, *, include_object: bool = False) -> None:
        """`size`: the capacity of `events`. `include_object`: add the object's kind and apiVersion."""
        self.events = Lines(size)
        self._include_object = include_object

    def event(self, obj: Any, event_type: str, reason: str, message: str) -> None:
        """See CoreEventRecorder."""
        self._note(obj, {}, event_type, reason, message)

    def eventf(self, obj: Any, event_type: str, reason: str, message: str, *args: Any) -> None:
        """See CoreEventRecorder."""
        self._note(obj, {}, event_type, reason, formatted(message, args))

    def annotated_eventf(
        self, obj: Any, annotations: Mapping[str, str], event_type: str, reason: str, message: str, *args: Any
    ) -> None:
        """See CoreEventRecorder."""
        self._note(obj, annotations, event_type, reason, formatted(message, args))

    def _note(self, obj: Any, annotations: Mapping[str, str], event_type: str, reason: str, message: str) -> None:
        about = f" involvedObject{kind_text(obj)}" if self._include_object else ""
        self.events.put(f"{event_type} {reason} {message}{about}{annotations_text(annotations)}")
