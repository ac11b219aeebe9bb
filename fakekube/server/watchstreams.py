"""The streams of watches: they deliver the events of cursors when writes wake them, and end at their timeouts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Protocol

from fakekube.apiserver.crd import COLLECTION as DEFINITIONS
from fakekube.apiserver.storage.store import Change, Store
from fakekube.apiserver.storage.watch import BOOKMARK_BEFORE_END, BOOKMARK_FREQUENCY, Watch, WatchEvent
from fakekube.apiserver.storage.watchfault import WatchFault
from fakekube.apiserver.wire.status import StatusError, expired
from fakekube.server.clients import Interception
from fakekube.server.systemclock import Clock


class Rounds(Protocol):
    """Periods in which watch delivery is paused (`virtualtime.gate.Gate`)."""

    in_round: bool

    def when_round_ends(self, callback: Callable[[], None]) -> None:
        """Call `callback` once at the end of the current round."""


class Sink(Protocol):
    """Takes the events of a watch at once, without the task that serves it."""

    def is_ready(self) -> bool:
        """Whether its client has read what was sent before."""

    def send(self, events: Sequence[WatchEvent]) -> None: ...


class WatchEnded(Exception):
    """A fault ends the stream of a watch."""


class WatchStreams:
    """The open watches of a server, and what wakes them.

    `run` runs the conversion of a batch. Watches deliver no events during a round. `woken`: whether a write has woken
    watches for which `events_sent` has not waited.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rounds: Rounds | None,
        run: Callable[[Any], Awaitable[list[WatchEvent]]],
    ) -> None:
        self._store, self._clock, self._rounds, self._run = store, clock, rounds, run
        self.open: dict[Watch, tuple[_Waiter, float]] = {}
        """The open watches, with what wakes each, and the time at which it ends."""
        self.interception: Interception | None = None
        self.woken: bool = False
        self._waiters: dict[str, dict[_Waiter, None]] = {}
        self._idle: dict[_Waiter, None] = {}
        self._generation = 0
        self._sinks: dict[Watch, Sink] = {}
        self._due: dict[_Waiter, None] = {}
        self._resumed = False

    def retire(self) -> None:
        """Break reference cycles: the server has ended."""
        del self._run

    def committed(self, change: Change) -> None:
        """Wake the watches of a change."""
        self._wake(self._waiters.get(change.collection))
        if change.collection == DEFINITIONS:
            self._wake(self._waiters.get(change.path))
        if self._idle:
            idle, self._idle = self._idle, {}
            self._wake(idle)

    async def events_sent(self) -> None:
        """Wait until the watches that the last write has woken have sent its events."""
        if self.woken and not self.sent_in_place():
            self.woken = self._resumed = False
            await asyncio.sleep(0)  # noqa: TID251 - the streams are scheduled before this task

    def sent_in_place(self) -> bool:
        """Whether the watches that the last write has woken have sent its events when this returns."""
        self._deliver()
        if self._resumed:
            return False
        self.woken = False
        return True

    def deliver_in_place(self, watch: Watch, sink: Sink) -> None:
        """Send the events of an open watch to `sink` by the write itself, while its stream has nothing else to do."""
        self._sinks[watch] = sink

    def _wake(self, waiters: Mapping[_Waiter, None] | None) -> None:
        if not waiters:
            return
        self.woken = True
        for waiter in waiters:
            if waiter.send is not None:
                if not self._due:
                    waiter.call_soon(self._deliver)  # a write that no request has made
                self._due[waiter] = None
            else:
                self._resumed = True
                waiter.wake()

    def _deliver(self) -> None:
        while self._due:
            due, self._due = self._due, {}
            for waiter in due:
                if waiter.send is None or not waiter.send():
                    self._resumed = True
                    waiter.wake()

    def _sent(self, watch: Watch, sink: Sink, is_timed: bool) -> bool:
        """Send the events of a watch whose stream waits; False: its task has to do the rest. `is_timed`: it need not
        wait for another time from now on."""
        if not sink.is_ready():
            return False
        try:
            events = watch.read()
        except StatusError:
            return False  # the task gets it, too, and ends
        if events:
            sink.send(events)
        return is_timed and not watch.over()

    def wake_all(self) -> None:
        """Let the streams go on that a fault or a hold has stopped, or that end."""
        for waiter in [waiter for waiters in self._waiters.values() for waiter in waiters]:
            self.woken = self._resumed = True
            waiter.wake()

    def end(self) -> None:
        """End every open watch."""
        self._generation += 1
        self.wake_all()

    async def stream(self, watch: Watch) -> AsyncIterator[Sequence[WatchEvent | StatusError]]:
        """The events of a watch in batches until its timeout. A StatusError, if any, is the last item.

        Raises ConnectionResetError if a fault breaks the connection.
        """
        try:
            async with aclosing(self._batches(watch)) as batches:  # type: ignore[type-var]
                async for batch in batches:
                    if watch.fault is None and self.interception is None:
                        yield batch
                    else:
                        async for part in self._disturbed(watch, batch):
                            yield part
                    del batch  # it may be large, and the next one may take long
        except StatusError as error:
            yield [error]
        except WatchEnded:
            if watch.fault is not None and watch.fault.reset:
                raise ConnectionResetError("the connection of the watch broke") from None

    async def _batches(self, watch: Watch) -> AsyncIterator[Sequence[WatchEvent]]:
        generation, loop = self._generation, asyncio.get_running_loop()
        waiter, start = _Waiter(loop), loop.time()
        deadline = start + watch.timeout
        bookmark_at = min(start + BOOKMARK_FREQUENCY, max(deadline - BOOKMARK_BEFORE_END, start))
        self.open[watch] = waiter, deadline
        self._waiters.setdefault(watch.collection, {})[waiter] = None
        try:
            if watch.refused is not None:
                raise watch.refused
            await self._round_end(loop)
            while watch.waits and generation == self._generation and loop.time() < deadline:
                await waiter.wait(deadline)
            if watch.initial and not watch.waits:
                initial, watch.initial = watch.initial, []
                yield initial
                del initial  # free the list: the generator lives as long as the watch
            while generation == self._generation and not watch.waits:
                await self._round_end(loop)
                if watch.fault is not None:
                    await self._held(watch, watch.fault)
                events = watch.read() if watch.conversion is None else await self._run(watch.read_converted())
                if events:
                    yield events
                    continue
                now = loop.time()
                if now >= deadline or watch.over():
                    return
                if watch.bookmarks and now >= bookmark_at:
                    if watch.moved or bookmark_at + BOOKMARK_FREQUENCY > deadline:
                        yield [watch.bookmark()]
                    bookmark_at = _next_bookmark(bookmark_at, now, deadline)
                    continue
                until = self._until(watch, waiter, deadline, bookmark_at)
                await waiter.wait(until, self._sending(watch, until < deadline or not watch.bookmarks))
        finally:
            waiter.close()
            self._sinks.pop(watch, None)
            self._waiters[watch.collection].pop(waiter, None)
            self._idle.pop(waiter, None)
            self.open.pop(watch, None)

    def _sending(self, watch: Watch, is_timed: bool) -> Callable[[], bool] | None:
        """What sends the events of a watch without its task; None: they need it."""
        sink = self._sinks.get(watch)
        if sink is None or watch.fault is not None or watch.conversion is not None or self.interception is not None:
            return None
        return partial(self._sent, watch, sink, is_timed)

    def forget(self, watch: Watch) -> None:
        """Deliver nothing more to a watch, whose client does not run any more."""
        found = self.open.pop(watch, None)
        if found is not None:
            found[0].close()
            self._waiters[watch.collection].pop(found[0], None)
            self._idle.pop(found[0], None)

    async def _disturbed(
        self, watch: Watch, events: Sequence[WatchEvent]
    ) -> AsyncIterator[Sequence[WatchEvent | StatusError]]:
        """The events of a watch one by one, with what its fault and the interception do. Raises WatchEnded, 410."""
        fault = watch.fault or WatchFault()
        for event in events:
            if event.type != "BOOKMARK":
                await self._held(watch, fault)
                if fault.ends_before(event.type, event.entry.object["metadata"]["name"]):
                    raise WatchEnded
                if fault.is_gone():
                    await self._fall_behind(fault, event)
                fault.delivered += 1
            delay = fault.delay
            if self.interception is not None:
                delay += self.interception.before_event(watch, event)
            if delay:
                await self._clock.sleep_until(self._clock.monotonic() + delay)
            yield [event]
        if fault.ends_now():
            raise WatchEnded

    async def _held(self, watch: Watch, fault: WatchFault) -> None:
        """Wait while the fault of a watch holds it. Raises WatchEnded if that ends the watch."""
        generation, found = self._generation, self.open.get(watch)
        if found is None:  # its client was killed while events were sent
            raise WatchEnded
        waiter, deadline = found
        while True:
            if fault.ends_now() or generation != self._generation:
                raise WatchEnded
            if not fault.is_held():
                return
            if asyncio.get_running_loop().time() >= deadline:
                raise WatchEnded
            await waiter.wait(deadline)

    async def _fall_behind(self, fault: WatchFault, event: WatchEvent) -> None:
        """Compact the history before a watch has read `event`. Raises 410."""
        fault.gone_after = None
        await asyncio.sleep(0)  # noqa: TID251 - the watches that the write has woken, too, read it first
        self._store.compact_with_key()
        raise expired(f"too old resource version: {event.entry.revision - 1} ({self._store.compacted})")

    async def _round_end(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for the end of the current round, if any."""
        rounds = self._rounds
        while rounds is not None and rounds.in_round:
            over = loop.create_future()
            rounds.when_round_ends(partial(_resolve, over))
            await over

    def _until(self, watch: Watch, waiter: _Waiter, deadline: float, bookmark_at: float) -> float:
        """The time at which the stream wakes without a write: at its deadline or for its next bookmark.

        The stream does not wake for a bookmark without a new revision; the next write to any collection wakes it.
        """
        if not watch.bookmarks:
            return deadline
        if watch.moved or bookmark_at + BOOKMARK_FREQUENCY > deadline:
            return min(deadline, bookmark_at)
        self._idle[waiter] = None
        return deadline


class _Waiter:
    """Waits for a write or a point in time. The timer is kept as long as that point stays the same.

    `send`, while it waits: sends the events of a write instead of waking; False: it must wake.
    """

    __slots__ = ("_loop", "_timer", "_until", "_woken", "call_soon", "send")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop, self.call_soon = loop, loop.call_soon
        self.send: Callable[[], bool] | None = None
        self._until = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._woken: asyncio.Future[None] | None = None

    async def wait(self, until: float, send: Callable[[], bool] | None = None) -> None:
        """Wait until `wake` is called or the loop's time is `until`."""
        if self._timer is None or until != self._until:
            self.close()
            self._until, self._timer = until, self._loop.call_at(until, self._ring)
        self._woken, self.send = self._loop.create_future(), send
        try:
            await self._woken
        finally:
            self._woken = self.send = None

    def wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self.send = None
            self._woken.set_result(None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        self.wake()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _next_bookmark(previous: float, now: float, deadline: float) -> float:
    following = previous + BOOKMARK_FREQUENCY
    if following <= now:
        following = now + BOOKMARK_FREQUENCY
    before_end = deadline - BOOKMARK_BEFORE_END
    return min(following, before_end) if before_end > now else following
