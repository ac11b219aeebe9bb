"""A handler of a shared informer: its queue of notifications, its resync period, and whether it has synced."""

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

#: Seconds of delay after a handler failed, if failures are skipped.
PAUSE_AFTER_FAILURE = 1.0
#: Number of handler calls after which the event loop runs other tasks.
_BURST = 1000


class ProcessorListener:
    """Calls one handler sequentially. Its queue is unbounded, so a slow handler does not delay others."""

    handler: InformerHandler
    name: str
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
        period: float,
        now: float,
        clock: Clock,
        skip_failures: bool,
        observe: Callable[[str, Notification], None] | None,
        replay: Sequence[Notification],
    ) -> None:
        """`period`: the effective resync period, in seconds from `now` on (0: none).

        `replay`: delivered first, as the initial list.
        """
        self.handler, self.name = handler, name
        self.tracker = SingleFileTracker(upstream, expected=len(replay))
        self._notify: Callable[[Notification], HandlerResult] = notifier(handler)
        self._clock, self._skip_failures, self._observe = clock, skip_failures, observe
        #: Whether unchanged objects are delivered; updated at each resync.
        self.syncing = True
        self.period, self.next_resync = period, now + period
        self._backlog: deque[Notification] = deque(replay)
        self._wake: asyncio.Future[None] | None = None
        self._stopped = self._running = False
        #: Set when it has ended: no handler call is or will be in progress.
        self.ended = OnceEvent()

    def has_synced(self) -> bool:
        """Return whether the handler has processed the initial list."""
        return self.tracker.synced.is_set()

    def is_due(self, now: float) -> bool:
        """Return whether the resync period has passed, and start the next one."""
        if self.period <= 0 or now < self.next_resync:
            return False
        self.next_resync = now + self.period
        return True

    def add(self, notifications: Sequence[Notification], initial: int) -> None:
        """Queue notifications; `initial` of them belong to the initial list."""
        if self._stopped:
            return
        if initial:
            self.tracker.start(initial)
        self._backlog.extend(notifications)
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    def __len__(self) -> int:
        return len(self._backlog)

    async def run(self) -> None:
        """Call the handler until stopped; its exceptions are raised unless failures are skipped."""
        self._running = True
        try:
            await self._run()
        finally:
            self.stop()
            self.ended.set()

    def stop(self) -> None:
        """Stop: the call in progress is finished, queued notifications are dropped."""
        self._stopped = True
        self._backlog.clear()
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
        if not self._running:
            self.ended.set()

    async def _run(self) -> None:
        backlog, notify, observe, loop = self._backlog, self._notify, self._observe, asyncio.get_running_loop()
        while not self._has_stopped():
            for _ in range(min(len(backlog), _BURST)):
                if not backlog:
                    break  # stopped by the handler
                notification = backlog.popleft()
                if observe is not None:
                    observe(self.name, notification)
                try:
                    answer = notify(notification)
                    if answer is not None:
                        await answer
                except Exception:
                    if not self._skip_failures:
                        raise
                    await self._skip(notification)
                else:
                    if notification.initial and notification.kind == "added":
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

    async def _skip(self, notification: Notification) -> None:
        """Log the exception of the handler and wait."""
        _log.exception("handler failed, notification skipped", extra={"handler": self.name, "kind": notification.kind})
        await sleep(self._clock, PAUSE_AFTER_FAILURE)


class ResourceEventHandlerRegistration:
    """The registration of a handler: the argument of `remove_handler`.

    Source: client-go, cache.ResourceEventHandlerRegistration.
    """

    listener: ProcessorListener
    owner: Any

    def __init__(self, listener: ProcessorListener, owner: Any) -> None:
        self.listener, self.owner = listener, owner

    def has_synced(self) -> bool:
        """Return whether the handler has processed the initial list."""
        return self.listener.has_synced()

    @property
    def synced(self) -> OnceEvent:
        """Set when the handler has processed the initial list."""
        return self.listener.tracker.synced
