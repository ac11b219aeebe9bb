"""The event recorders of a manager: one broadcaster per API, created on first use (controller-runtime: recorder)."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controllerlib.client.client import Client
from controllerlib.clock import Clock, Deadline
from controllerlib.random import Random
from controllerlib.record import corev1, eventsv1
from controllerlib.record.broadcaster import QUEUED, UniqueTimestamps, formatted
from controllerlib.record.sink import ClientSink

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Broadcasters:
    core: corev1.CoreEventBroadcaster
    series: eventsv1.EventBroadcaster


class Provider:
    """Provides recorders. Before `begin` at most 1000 events are queued; after `stop` events are dropped silently.

    Recorders may be used in any thread.
    """

    def __init__(self, client: Client, clock: Clock, random: Random) -> None:
        self._client, self._clock, self._random = client, clock, random
        #: For further broadcasters that write to the same server, so that no two Events have one name.
        self.timestamps: UniqueTimestamps = UniqueTimestamps(clock)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: deque[Callable[[], None]] = deque(maxlen=QUEUED)
        self._broadcasters: _Broadcasters | None = None
        self._stopped = False

    def begin(self) -> None:
        """Send events from now on, starting with the queued ones; must be called on the manager's event loop."""
        self._loop = asyncio.get_running_loop()
        while self._waiting:
            self._waiting.popleft()()

    def recorder(self, name: str) -> eventsv1.EventRecorder:
        """Return a recorder of events.k8s.io/v1 Events reported by `name`."""
        return _Recorder(self, name)

    def core_recorder(self, name: str) -> corev1.CoreEventRecorder:
        """Return a recorder of core/v1 Events from the component `name`."""
        return _CoreRecorder(self, name)

    async def stop(self, seconds: float) -> None:
        """Wait until queued events were tried once, at most `seconds` (negative: no limit)."""
        self._stopped = True
        made = self._broadcasters
        if made is None:
            return
        try:
            async with Deadline(self._clock, None if seconds < 0 else self._clock.monotonic() + seconds):
                await made.series.shutdown()
                await made.core.shutdown()
        except TimeoutError:
            _log.error("events were not written in time")

    def do(self, work: Callable[[_Broadcasters], None]) -> None:
        """Call `work` with the broadcasters on their event loop: now, soon, or after `begin`."""
        if self._stopped:
            return
        if self._loop is None:
            self._waiting.append(lambda: work(self._made()))
        elif asyncio._get_running_loop() is self._loop:
            work(self._made())
        else:
            try:
                self._loop.call_soon_threadsafe(self._in_loop, work)
            except RuntimeError as error:  # a thread has outlived the event loop
                _log.error("unable to record event: %s", error)

    def _in_loop(self, work: Callable[[_Broadcasters], None]) -> None:
        if not self._stopped:
            work(self._made())

    def _made(self) -> _Broadcasters:
        if self._broadcasters is None:
            sink, timestamps = ClientSink(self._client), self.timestamps
            core = corev1.CoreEventBroadcaster(clock=self._clock, random=self._random, timestamps=timestamps)
            core.start_recording_to_sink(sink)
            core.start_logging(_log.debug)
            series = eventsv1.EventBroadcaster(sink, clock=self._clock, random=self._random, timestamps=timestamps)
            series.start_recording_to_sink()
            series.start_logging(_log.debug)
            self._broadcasters = _Broadcasters(core, series)
        return self._broadcasters


class _Recorder:
    def __init__(self, provider: Provider, name: str) -> None:
        self._provider, self._name = provider, name
        self._made: eventsv1.EventRecorder | None = None

    def eventf(
        self, regarding: Any, related: Any, event_type: str, reason: str, action: str, note: str, *args: Any
    ) -> None:
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
        text = formatted(note, args)

        def work(made: _Broadcasters) -> None:
            if self._made is None:
                self._made = made.series.new_recorder(self._name)
            self._made.annotated_eventf(regarding, related, annotations, event_type, reason, action, text)

        self._provider.do(work)


class _CoreRecorder:
    def __init__(self, provider: Provider, name: str) -> None:
        self._provider, self._name = provider, name
        self._made: corev1.CoreEventRecorder | None = None

    def event(self, obj: Any, event_type: str, reason: str, message: str) -> None:
        self.annotated_eventf(obj, {}, event_type, reason, message)

    def eventf(self, obj: Any, event_type: str, reason: str, message: str, *args: Any) -> None:
        self.annotated_eventf(obj, {}, event_type, reason, message, *args)

    def annotated_eventf(
        self, obj: Any, annotations: Mapping[str, str], event_type: str, reason: str, message: str, *args: Any
    ) -> None:
        text = formatted(message, args)

        def work(made: _Broadcasters) -> None:
            if self._made is None:
                self._made = made.core.new_recorder(self._name)
            self._made.annotated_eventf(obj, annotations, event_type, reason, text)

        self._provider.do(work)
