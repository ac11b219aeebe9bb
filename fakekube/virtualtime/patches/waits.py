"""Patches `Condition.wait`, in which events, queues, semaphores and futures wait: the wait is in virtual time.

So `while not stop.wait(30): ...` is a loop in virtual time. Plain locks are implemented in C and cannot be patched: a
thread that waits for one counts as busy.
"""

import _thread
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import _base as futures
from time import monotonic as real_monotonic
from types import SimpleNamespace
from typing import Any

from fakekube.virtualtime.blocking import HELPER, Blocking
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.threads.callers import POOLS, module_of

#: Waits of the standard library on the loop are short, and for real threads.
_STANDARD = ("asyncio", "logging", "multiprocessing")

_WHERE = "waiting for an event, a queue or the like"


class WaitPatches:
    """Lets code of the bubble wait in virtual time, if only threads of the bubble can notify it.

    If there are threads that the test has started outside the bubble, the waits of the test itself, and those for jobs
    of a thread pool, are in real time, with the clock held.
    """

    def __init__(self, loop: VirtualTimeLoop, blocking: Blocking) -> None:
        self._loop = loop
        self._blocking = blocking
        self._reads, self._read_at = 0, 0
        self._before = frozenset(threading.enumerate())

    def patches(self) -> Iterator[Patch]:
        yield Patch(threading.Condition, "wait", self._wait(threading.Condition.wait))
        # with these, waits that loop compute the rest of their timeout
        yield Patch(queue, "time", self._now)
        yield Patch(threading, "_time", self._now)
        yield Patch(futures, "time", SimpleNamespace(monotonic=self._later), time)

    def _now(self) -> float:
        if self._concerns() and not (self._blocking.is_test() and self._has_other_threads()):
            return self._loop.clock.monotonic()
        return real_monotonic()

    def _later(self) -> float:
        """As `_now`, but a nanosecond more at each call of one instant.

        `as_completed` raises TimeoutError after its deadline, not at it, and would wait for ever.
        """
        us = self._loop.clock.us
        self._reads = self._reads + 1 if us == self._read_at else 1
        self._read_at = us
        return self._now() + self._reads * 1e-9

    def _wait(self, real: Callable[..., bool]) -> Callable[..., bool]:
        def wait(condition: Any, timeout: float | None = None) -> bool:
            if not self._blocking.concerns() or not condition._is_owned() or (timeout is not None and timeout <= 0):
                return real(condition, timeout)
            waiting = module_of(sys._getframe(1))
            if waiting is None:
                return real(condition, timeout)
            if waiting.startswith("concurrent.futures"):
                self._blocking.note_waiting("waits for the result of a thread")
            for_pool = waiting.startswith(POOLS)
            if self._blocking.on_own_loop() and (self._has_other_threads() or waiting.startswith(_STANDARD)):
                if waiting.startswith((*_STANDARD, *POOLS)):
                    return real(condition, timeout)
                return self._blocking.timed("waits for an event, a queue or the like", lambda: real(condition, timeout))
            if (for_pool or self._blocking.is_test()) and self._has_other_threads():
                return self._wait_outside(condition, timeout)
            return self._wait_inside(condition, timeout)

        return wait

    def _concerns(self) -> bool:
        return self._blocking.concerns() and not self._blocking.on_own_loop()

    def _has_other_threads(self) -> bool:
        """Whether threads have been started since the bubble opened that do not belong to it."""
        return any(
            thread not in self._before and not thread.name.startswith(HELPER) and not self._loop.threads.find(thread)
            for thread in threading.enumerate()
        )

    def _wait_inside(self, condition: Any, timeout: float | None) -> bool:
        waiter = _Waiter(self._loop, self._blocking)
        return _wait_in(
            condition,
            waiter,
            lambda: self._blocking.wait(_WHERE, lambda: waiter.notified, waiter.changed, timeout=timeout),
        )

    def _wait_outside(self, condition: Any, timeout: float | None) -> bool:
        waiter = _thread.allocate_lock()
        waiter.acquire()
        real_timeout = -1 if timeout is None else timeout
        return _wait_in(
            condition,
            waiter,
            lambda: self._blocking.outside(_WHERE, lambda: waiter.acquire(timeout=real_timeout)),
        )


class _Waiter:
    """Replaces the lock that `Condition.wait` adds to its waiters: `notify` releases it."""

    def __init__(self, loop: VirtualTimeLoop, blocking: Blocking) -> None:
        self._loop = loop
        self._blocking = blocking
        self.changed = Notifier()
        self.notified = False

    def release(self) -> None:
        self.notified = True
        if self._blocking.concerns():
            self.changed.notify()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.changed.notify)


def _wait_in(condition: Any, waiter: object, wait: Callable[[], bool]) -> bool:
    """As `Condition.wait`, with another waiter and another way to wait."""
    condition._waiters.append(waiter)
    state = condition._release_save()
    notified = False
    try:
        notified = wait()
        return notified
    finally:
        condition._acquire_restore(state)
        if not notified and waiter in condition._waiters:
            condition._waiters.remove(waiter)
