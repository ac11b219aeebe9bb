"""Patches `threading.Lock`, `threading.RLock` and `queue.SimpleQueue`: threads of the bubble wait for them visibly.

The originals wait in C, where a thread of the bubble would look busy for ever: the thread that holds the lock runs only
when the other has parked. Locks that were created before the bubble are the originals; a thread that waits for one too
long is an error that names its place.
"""

import _thread
import queue
import sys
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from fakekube.virtualtime.blocking import LONG, Blocking
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.patches.importers import importers
from fakekube.virtualtime.patches.patch import Patch

_real_lock, _real_rlock, _real_queue = threading.Lock, threading.RLock, queue.SimpleQueue

#: The open bubble, if any. Process-wide, because locks outlive their bubble: then they are plain locks.
_active: list[Blocking] = []


class LockPatches:
    """While a bubble is open, new locks and queues are those of this module."""

    def __init__(self, blocking: Blocking) -> None:
        self._blocking = blocking

    def patches(self) -> Iterator[Patch]:
        for owner, name, real, ours in (
            (threading, "Lock", _real_lock, Lock),
            (threading, "RLock", _real_rlock, reentrant_lock),
            (queue, "SimpleQueue", _real_queue, simple_queue),
        ):
            yield Patch(owner, name, ours, real)
            for module in importers(name, real):
                if module is not owner:
                    yield Patch(module, name, ours, real)

    def start(self) -> None:
        _active.append(self._blocking)

    def stop(self) -> None:
        _active.remove(self._blocking)


def _bubble() -> Blocking | None:
    """The open bubble, if the caller belongs to it."""
    return _active[-1] if _active and _active[-1].concerns() else None


class Lock:
    """As `threading.Lock`."""

    __slots__ = ("__weakref__", "_freed", "_owner", "_real")

    def __init__(self) -> None:
        self._real = _thread.allocate_lock()
        self._freed = Notifier()
        self._owner = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._real.acquire(False):
            self._owner = _thread.get_ident()
            return True
        bubble = _bubble() if blocking else None
        if bubble is None:
            got = self._real.acquire(blocking, timeout)
        elif bubble.is_outside(self._owner):
            got = self._acquire_of_outsider(bubble, timeout)
        else:
            got = bubble.wait(
                f"waiting for a lock that {bubble.name_of(self._owner)} holds",
                lambda: self._real.acquire(False),
                self._freed,
                timeout=None if timeout < 0 else timeout,
            )
        if got:
            self._owner = _thread.get_ident()
        return got

    def _acquire_of_outsider(self, bubble: Blocking, timeout: float) -> bool:
        """Wait for a lock that a thread outside of the bubble holds. A coroutine waits only for a moment."""
        where = f"waiting for a lock that {bubble.name_of(self._owner)} holds"
        if not bubble.on_own_loop():
            return bubble.outside(where, lambda: self._real.acquire(True, timeout))
        is_short = 0 <= timeout <= LONG
        if self._real.acquire(True, timeout if is_short else LONG):
            return True
        if not is_short:
            bubble.refuse_wait(where)
        return False

    def release(self) -> None:
        self._owner = 0
        self._real.release()
        if self._freed.is_awaited() and _active:
            _active[-1].from_anywhere(self._freed.notify)

    def locked(self) -> bool:
        return self._real.locked()

    @property
    def owner(self) -> int:
        """The identifier of the thread that holds it; 0 if none does."""
        return self._owner

    def _at_fork_reinit(self) -> None:
        self._real = _thread.allocate_lock()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<{'locked' if self.locked() else 'unlocked'} Lock of a bubble at {id(self):#x}>"


def reentrant_lock() -> Any:
    """As `threading.RLock()`: the one that is implemented in Python, over a Lock of the bubble."""
    make = getattr(threading, "_PyRLock", _real_rlock)
    lock = make()
    if hasattr(lock, "_block"):
        lock._block = Lock()
    return lock


def simple_queue() -> Any:
    """As `queue.SimpleQueue()`. The workers of `multiprocessing` do not belong to the bubble."""
    creator = sys._getframe(1).f_globals.get("__name__", "")
    return _real_queue() if creator.startswith("multiprocessing") else SimpleQueue()


class SimpleQueue:
    """As `queue.SimpleQueue`. It is reentrant, as it takes no lock: `put` may be called while garbage is collected."""

    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._arrived = Notifier()
        self._outsiders = _thread.allocate_lock()

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        self._items.append(item)
        if self._outsiders.locked():
            self._outsiders.release()
        if self._arrived.is_awaited() and _active:
            _active[-1].from_anywhere(self._arrived.notify)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        if not self._items and block:
            bubble = _bubble()
            if bubble is not None:
                bubble.wait("waiting for a queue", lambda: bool(self._items), self._arrived, timeout=timeout)
            else:
                self._wait_outside(timeout)
        try:
            return self._items.popleft()
        except IndexError:
            raise queue.Empty from None

    def _wait_outside(self, timeout: float | None) -> None:
        """Wait in real time until there is an item."""
        self._outsiders.acquire(False)
        while not self._items:
            if not self._outsiders.acquire(timeout=-1 if timeout is None else timeout):
                return

    def put_nowait(self, item: Any) -> None:
        self.put(item)

    def get_nowait(self) -> Any:
        return self.get(block=False)

    def empty(self) -> bool:
        return not self._items

    def qsize(self) -> int:
        return len(self._items)
