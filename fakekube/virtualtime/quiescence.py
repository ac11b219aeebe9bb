"""What a loop does when nothing on it is runnable: poll, open the gate, wake the test or move time."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from time import monotonic as real_monotonic
from typing import Protocol

from fakekube.virtualtime.clock import VirtualClock
from fakekube.virtualtime.durations import SECOND, Duration, microseconds
from fakekube.virtualtime.errors import Deadlock, HotLoop, NotQuiescent
from fakekube.virtualtime.gate import Gate
from fakekube.virtualtime.hotloop import MAX_TURNS, TurnGuard
from fakekube.virtualtime.idleselector import Events, Poll
from fakekube.virtualtime.network.bytecount import Connections
from fakekube.virtualtime.nextstep import Deadlocked, Jump, OpenGate, Wake, next_step
from fakekube.virtualtime.threads.scheduler import ThreadScheduler
from fakekube.virtualtime.threads.stacks import dump

#: How far time may advance while the test is blocked.
HORIZON = timedelta(days=366)

#: Real seconds after which a busy bubble is an error. It is long on purpose: if the bubble went on without a thread
#: that is merely slow, on an overloaded machine, the result would differ from the run before.
PATIENCE = 30.0

#: Real seconds without traffic on external connections after which they count as quiet; their work cannot be observed.
LINGER = 0.1

#: The longest single wait for external I/O, in real seconds.
_MAX_POLL = 0.25


class Scheduled(Protocol):
    """What `Quiescence` reads of its loop."""

    _ready: deque[asyncio.Handle]
    _stopping: bool

    def next_timer(self) -> int | None: ...

    awaited: Callable[[], Sequence[str]]

    def why(self) -> str: ...
    def create_future(self) -> asyncio.Future[None]: ...


class Quiescence:
    """Decides when a bubble is quiescent and what follows.

    A bubble is quiescent when the loop has nothing to run, every thread is parked, no byte is in flight between its
    own connections, and time is not held (compare Go's `synctest`: "durably blocked").
    """

    def __init__(
        self,
        loop: Scheduled,
        clock: VirtualClock,
        gate: Gate,
        threads: ThreadScheduler,
        connections: Connections,
        *,
        patience: float = PATIENCE,
        linger: float = LINGER,
        horizon: timedelta = HORIZON,
        max_turns: int = MAX_TURNS,
    ) -> None:
        self._loop, self._ready = loop, loop._ready
        self._clock, self._gate, self._threads, self._connections = clock, gate, threads, connections
        self._patience, self._linger, self._horizon = patience, linger, microseconds(horizon)
        self.guard: TurnGuard = TurnGuard(max_turns)
        self.at_rest: Callable[[bool], bool] | None = None
        """Called before time moves (True) or the test is woken (False); if it returns true, something goes on first."""
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._blocked_since = 0
        self._round_done = False
        self._external_moved = 0.0
        connections.external_moved.add(self._note_external)

    # --- called by the test, through the loop

    async def reach(self, goal: int) -> None:
        """Wait until the bubble is quiescent at `goal` (microseconds); time advances up to it, from timer to timer."""
        waiter = self._loop.create_future()
        entry = (goal, waiter)
        self._waiters.append(entry)
        try:
            await waiter
        finally:
            if entry in self._waiters:
                self._waiters.remove(entry)

    async def step(self, limit: int, timeout: Duration) -> None:
        """Advance to the next timer, at most to `limit`. Raises TimeoutError if the clock has reached `limit`."""
        if self._clock.us >= limit:
            raise TimeoutError(
                f"the predicate is still false after {_shown(timeout)} of virtual time\n{self._loop.why()}"
            )
        timer = self._loop.next_timer()
        await self.reach(limit if timer is None else min(timer, limit))

    def test_moved(self) -> None:
        """Restarts the checks for a hot loop and for a blocked test: the test itself made progress."""
        self.guard.restart()
        self._blocked_since = self._clock.us
        self._round_done = False

    # --- called by the selector

    def turn(self) -> None:
        """Called after each turn of the loop that ran something: checks for a hot loop, and resumes ready threads."""
        guard = self.guard
        guard.turns += 1
        if guard.turns > guard.quiet and (error := guard.turn(self._ready)) is not None:
            self._fail(error)
        if self._threads.ready:
            self._run_threads()

    def _run_threads(self) -> None:
        try:
            self._threads.run_ready()
        except NotQuiescent as error:
            self._fail(error)

    def idle(self, poll: Poll) -> Events:
        """Called when the loop has nothing to run: polls until the bubble is quiescent, then performs the next step."""
        loop, ready, threads = self._loop, self._ready, self._threads
        busy_since: float | None = None
        while True:
            self.turn()
            events = poll(0)
            if events or ready or loop._stopping or self._is_due():
                return events
            if threads.ready:
                continue
            if reasons := self._busy_reasons():
                now = real_monotonic()
                busy_since = now if busy_since is None else busy_since
                timeout = self._poll_timeout(reasons, busy_since + self._patience - now)
                events = poll(0 if ready else timeout)
            elif (rest := self._lingering()) > 0:
                events = poll(rest)
            else:
                self._act()
                busy_since = None
            if events or ready:
                return events

    def _busy_reasons(self) -> list[str]:
        """Why the bubble is not quiescent although the loop has nothing to run."""
        threads, connections, clock = self._threads, self._connections, self._clock
        if threads.is_empty() and connections.is_empty() and not clock.is_held():
            return []
        reasons = [*threads.busy_reasons(), *connections.busy_reasons(), *clock.busy_reasons()]
        if not reasons and not self._waiters and connections.external and not self._round_is_due():
            # an external client runs in real time, so virtual time does not advance by itself
            reasons.append("the test is blocked and an external client is connected: call advance() to move time")
        return reasons

    def _poll_timeout(self, reasons: list[str], left: float) -> float:
        """How many real seconds to wait for external I/O; fails when the patience is used up."""
        if left <= 0 and not self._clock.is_held_endlessly():
            self._fail(NotQuiescent(f"busy for {self._patience:g} s: {'; '.join(reasons)}{self._details(reasons)}"))
            return 0
        return min(_MAX_POLL, max(left, 0.01), self._clock.expire_holds())

    def _details(self, reasons: Sequence[str]) -> str:
        """What an error says beside the reasons: the stacks do not tell more of a child process than its name."""
        awaited = self._loop.awaited()
        if all(any(name in reason for name in awaited) for reason in reasons):
            return (
                " in real time, while virtual time is held. One that serves does not end: do not wait for its end. "
                "What still runs when the test ends is killed"
            )
        return f"\n{self._loop.why()}\n{dump()}"

    def _lingering(self) -> float:
        """How many real seconds external connections must still be observed before they count as quiet."""
        if not self._connections.external:
            return 0
        return self._external_moved + self._linger - real_monotonic()

    def _note_external(self) -> None:
        self._external_moved = real_monotonic()

    def _is_due(self) -> bool:
        timer = self._loop.next_timer()
        return timer is not None and timer <= self._clock.us

    # --- the bubble is quiescent

    def _act(self) -> None:
        gate, ready, threads = self._gate, self._ready, self._threads
        if gate.in_round:
            gate.next_one()
            if ready or threads.ready:
                return
        if gate.end_round():
            self._round_done = False
            return  # the streams that waited for the end of the round run first
        goal = min(self._waiters, key=_goal_of)[0] if self._waiters else None
        step = next_step(self._clock.us, timer=self._loop.next_timer(), goal=goal, round_due=self._round_is_due())
        moves = isinstance(step, Jump)
        if self.at_rest is not None and (moves or isinstance(step, Wake)) and self.at_rest(moves):
            self._round_done = False
            return
        match step:
            case OpenGate():
                self._round_done = True
                gate.begin_round(one_by_one=not self._connections.external)
                if not ready and not threads.ready:
                    self._act()  # no worker took anything: the bubble is still quiescent
            case Wake():
                self._wake()
            case Jump(us):
                self._jump(us, blocked=goal is None)
            case Deadlocked():
                raise Deadlock(f"deadlock: the test is blocked and no timer is set\n{self._loop.why()}")

    def _round_is_due(self) -> bool:
        return not self._round_done and not self._gate.is_open()

    def _wake(self) -> None:
        now = self._clock.us
        waiting = self._waiters
        self._waiters = [entry for entry in waiting if entry[0] > now]
        for goal, waiter in waiting:
            if goal <= now and not waiter.done():
                waiter.set_result(None)
        self.test_moved()

    def _jump(self, us: int, *, blocked: bool) -> None:
        if blocked and us > self._blocked_since + self._horizon:
            raise Deadlock(
                f"the test has been waiting for {timedelta(microseconds=us - self._blocked_since)} of virtual time, "
                f"longer than the horizon of {timedelta(microseconds=self._horizon)}\n{self._loop.why()}"
            )
        if us // SECOND != self._clock.us // SECOND:
            self.guard.restart()
        self._round_done = False
        self._clock.move_to(us)

    def _fail(self, error: HotLoop | NotQuiescent) -> None:
        """Sets `error` on all that wait for quiescence; raises it from the loop if nothing waits."""
        if not self.fail_waiters(error):
            raise error

    def fail_waiters(self, error: HotLoop | NotQuiescent) -> bool:
        """Sets `error` on all that wait for quiescence; returns whether anything does."""
        waiting, self._waiters = self._waiters, []
        for _, waiter in waiting:
            if not waiter.done():
                waiter.set_exception(type(error)(*error.args))
        return bool(waiting)


def _goal_of(waiter: tuple[int, asyncio.Future[None]]) -> int:
    return waiter[0]


def _shown(timeout: Duration) -> str:
    return f"{timeout:g} s" if isinstance(timeout, int | float) else str(timeout)
