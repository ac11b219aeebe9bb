"""One handler of a shared informer: its backlog, its resync, and whether it has seen the initial list."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from controllerlib.cache.process import Notification
from controllerlib.cache.resourceeventhandler import HandlerResult, InformerHandler, notifier
from controllerlib.cache.synctrack import SingleFileTracker
from controllerlib.clock import Clock, pause, sleep
from controllerlib.tasks import OnceEvent

_log = logging.getLogger(__name__)

#: Seconds a runner rests after a handler failed and failures are skipped.
PAUSE_AFTER_FAILURE = 1.0
#: Handler calls after which others get a turn of the loop.
_BURST = 1000


class ProcessorListener:
    """Calls one handler, in order, never two calls at a time; its backlog has no bound, so it holds nobody up."""

    handler: InformerHandler
    name: str
    requested: float
    tracker: SingleFileTracker
    ended: OnceEvent
    period: float
    next_resync: float

    def __init__(
        self,
        handler: InformerHandler,
        upstream: OnceEvent,
        *,
        name: str,
        requested: float,
        period: float,
        now: float,
        clock: Clock,
        skip_failures: bool = False,
        observe: Callable[[str, Notification], None] | None = None,
        replay: Sequence[Notification] = (),
    ) -> None:
        """`requested` and `period`: the resync period asked for and the one in effect (seconds, 0: none).

        `replay`: what is told first, as an initial list.
        """
        self.handler, self.name, self.requested = handler, name, requested
        self.tracker = SingleFileTracker(upstream, expected=len(replay))
        self._tell: Callable[[Notification], HandlerResult] = notifier(handler)
        self._clock, self._skip_failures, self._observe = clock, skip_failures, observe
        #: whether unchanged objects are told too; computed anew at each resync
        self.syncing = True
        self.set_period(period, now)
        self._backlog: deque[Notification] = deque(replay)
        self._wake: asyncio.Future[None] | None = None
        self._stopped = self._running = False
        #: set when it ended: no call is under way and none will come
        self.ended = OnceEvent()

    def has_synced(self) -> bool:
        """Whether every object of the initial list was handled."""
        return self.tracker.synced.is_set()

    def set_period(self, period: float, now: float) -> None:
        """Resync every `period` seconds from `now`."""
        self.period, self.next_resync = period, now + period

    def is_due(self, now: float) -> bool:
        """Whether its period has passed; its next one begins now."""
        if self.period <= 0 or now < self.next_resync:
            return False
        self.next_resync = now + self.period
        return True

    def add(self, told: Sequence[Notification], initial: int) -> None:
        """Put `told` in the backlog; `initial` of them belong to the initial list."""
        if self._stopped:
            return
        if initial:
            self.tracker.start(initial)
        self._backlog.extend(told)
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def __len__(self) -> int:
        return len(self._backlog)

    async def run(self) -> None:
        """Call the handler until stopped; raises what it raises, unless failures are skipped."""
        self._running = True
        try:
            await self._run()
        finally:
            self.stop()
            self.ended.set()

    def stop(self) -> None:
        """Call no more: the call under way is finished, the backlog dropped."""
        self._stopped = True
        self._backlog.clear()
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
        if not self._running:
            self.ended.set()

    async def _run(self) -> None:
        backlog, tell, observe, loop = self._backlog, self._tell, self._observe, asyncio.get_running_loop()
        while not self._has_stopped():
            for _ in range(min(len(backlog), _BURST)):
                if not backlog:
                    break  # stopped by the handler itself
                told = backlog.popleft()
                if observe is not None:
                    observe(self.name, told)
                try:
                    answer = tell(told)
                    if answer is not None:
                        await answer
                except Exception:
                    if not self._skip_failures:
                        raise
                    await self._skip(told)
                else:
                    if told.initial and told.kind == "added":
                        self.tracker.finished()
            if self._has_stopped():
                return
            if backlog:
                await pause()
                continue
            self._wake = loop.create_future()
            await self._wake
            self._wake = None

    def _has_stopped(self) -> bool:
        return self._stopped

    async def _skip(self, told: Notification) -> None:
        """The handler failed and that is to be survived: log it and rest."""
        _log.exception("handler failed, notification skipped", extra={"handler": self.name, "kind": told.kind})
        await sleep(self._clock, PAUSE_AFTER_FAILURE)


class ResourceEventHandlerRegistration:
    """A handler's place in an informer: what `remove_handler` takes, and whether the handler has synced.

    Source: client-go, cache.ResourceEventHandlerRegistration.
    """

    listener: ProcessorListener
    owner: Any

    def __init__(self, listener: ProcessorListener, owner: Any) -> None:
        self.listener, self.owner = listener, owner

    def has_synced(self) -> bool:
        """Whether the handler was called for every object of the initial list."""
        return self.listener.has_synced()

    @property
    def synced(self) -> OnceEvent:
        """Set at that moment."""
        return self.listener.tracker.synced
