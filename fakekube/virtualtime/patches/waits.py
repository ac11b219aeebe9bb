"""Patches on what threads wait for each other with: events, conditions, queues, semaphores, futures.

All of these wait in `Condition.wait`. An operator's `while not stop.wait(30): ...` is thereby a loop in virtual time.
Plain locks are C's and stay invisible: a thread that waits for one is busy.
"""

import _thread
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from time import monotonic as real_monotonic
from typing import Any

from fakekube.virtualtime.blocking import HELPER, Blocking
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.threads.callers import POOLS, module_of

_WHERE = "waiting for an event, a queue or the like"


class WaitPatches:
    """Lets code of the bubble wait in virtual time, as far as whoever will notify it can be of the bubble, too.

    If the test has started threads of its own, one of them may be the one: then the test's own waits, and those for
    the jobs of a pool, are in real time, with the clock held.
    """

    def __init__(self, loop: VirtualTimeLoop, blocking: Blocking) -> None:
        self._loop = loop
        self._blocking = blocking
        self._before = frozenset(threading.enumerate())

    def patches(self) -> Iterator[Patch]:
        yield Patch(threading.Condition, "wait", self._wait(threading.Condition.wait))
        # those that wait in a loop reckon with these what is left of their time-out
        yield Patch(queue, "time", self._now)
        yield Patch(threading, "_time", self._now)

    def _now(self) -> float:
        if self._concerns() and not (self._blocking.is_test() and self._has_strangers()):
            return self._loop.clock.monotonic()
        return real_monotonic()

    def _wait(self, real: Callable[..., bool]) -> Callable[..., bool]:
        def wait(condition: Any, timeout: float | None = None) -> bool:
            if not self._concerns() or not condition._is_owned() or (timeout is not None and timeout <= 0):
                return real(condition, timeout)
            waiting = module_of(sys._getframe(1))
            if waiting is None:
                return real(condition, timeout)
            for_pool = waiting.startswith(POOLS)
            if (for_pool or self._blocking.is_test()) and self._has_strangers():
                return self._wait_outside(condition, timeout)
            return self._wait_inside(condition, timeout)

        return wait

    def _concerns(self) -> bool:
        return self._blocking.concerns() and not self._blocking.on_own_loop()

    def _has_strangers(self) -> bool:
        """Whether there are threads that are not the bubble's and that were not there before it."""
        return any(
            thread not in self._before and not thread.name.startswith(HELPER) and not self._loop.threads.find(thread)
            for thread in threading.enumerate()
        )

    def _wait_inside(self, condition: Any, timeout: float | None) -> bool:
        waiter = _Waiter(self._loop, self._blocking)
        return _stand_in_line(
            condition,
            waiter,
            lambda: self._blocking.wait(_WHERE, lambda: waiter.notified, waiter.changed, timeout=timeout),
        )

    def _wait_outside(self, condition: Any, timeout: float | None) -> bool:
        waiter = _thread.allocate_lock()
        waiter.acquire()
        real_timeout = -1 if timeout is None else timeout
        return _stand_in_line(
            condition,
            waiter,
            lambda: self._blocking.outside(_WHERE, lambda: waiter.acquire(timeout=real_timeout)),
        )


class _Waiter:
    """Stands in a condition's line where it has put a lock: `notify` releases it."""

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


def _stand_in_line(condition: Any, waiter: object, wait: Callable[[], bool]) -> bool:
    """What `Condition.wait` does around its own wait."""
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
