"""Patches `select` and `selectors`: waiting for sockets is in virtual time, so that event loops of threads are, too.

A thread may run an event loop of its own (`asyncio.run`, `kopf.run`). Its clock reads virtual time, and where it would
block it parks until data arrives from the cluster, another thread writes to its pipe, or the time-out has passed.
"""

import asyncio
import asyncio.base_events
import select
import selectors
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import monotonic as real_monotonic
from typing import Any
from weakref import WeakKeyDictionary

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.network.bytecount import Connection
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.patches.importers import importers, lives_in_real_time
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.patches.polls import (
    ORIGINALS,
    REAL_EPOLL,
    REAL_KQUEUE,
    REAL_POLL,
    REAL_SELECT,
    Epoll,
    Poll,
    fileno,
)
from fakekube.virtualtime.patches.sockets import SocketPatches
from fakekube.virtualtime.taskregistry import MAX_CANCELS, never_log

_WHERE = "waiting in a selector"


class SelectPatches:
    def __init__(self, loop: VirtualTimeLoop, blocking: Blocking, sockets: SocketPatches) -> None:
        self._loop = loop
        self._blocking = blocking
        self._sockets = sockets
        #: how often the tasks of each loop of a thread have been cancelled, because the thread ends
        self._cancels: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()

    def patches(self) -> Iterator[Patch]:
        yield from self._everywhere("select", self._select())
        if REAL_POLL is not None:
            yield from self._everywhere("poll", lambda: Poll(self) if self.concerns() else REAL_POLL())
        if REAL_EPOLL is not None:
            yield from self._everywhere("epoll", self._epoll())
        if REAL_KQUEUE is not None:
            yield from self._everywhere("kqueue", self._kqueue())
        for kind in dict.fromkeys((selectors.DefaultSelector, selectors.SelectSelector, _poll_like())):
            owner = next(each for each in kind.__mro__ if "select" in vars(each))
            yield Patch(owner, "select", self._selector(vars(owner)["select"]))
        yield Patch(asyncio.base_events.BaseEventLoop, "time", lambda _: self._time())

    def _everywhere(self, name: str, replacement: Any) -> Iterator[Patch]:
        """In the module and in those that have imported the name, as the reactors of Twisted do."""
        real = getattr(select, name)
        for module in dict.fromkeys((select, *importers(name, real))):
            yield Patch(module, name, replacement, original=ORIGINALS[name])

    def _epoll(self) -> Callable[..., Any]:
        def epoll(*args: Any, **options: Any) -> Any:
            return Epoll(self, *args, **options) if self.concerns() else REAL_EPOLL(*args, **options)

        epoll.fromfd = REAL_EPOLL.fromfd  # type: ignore[attr-defined]
        return epoll

    def _kqueue(self) -> Callable[[], Any]:
        def kqueue() -> Any:
            if self.concerns() and not lives_in_real_time(sys._getframe(1).f_globals.get("__name__", "")):
                raise RuntimeError(
                    "select.kqueue() waits in real time: use select.poll(), select.select() or selectors, which wait "
                    "in virtual time (with Twisted, PollReactor or SelectReactor)"
                )
            return REAL_KQUEUE()

        return kqueue

    def _time(self) -> float:
        return self._loop.clock.monotonic() if self._loop.threads.current() is not None else real_monotonic()

    def concerns(self) -> bool:
        return self._blocking.concerns() and not self._blocking.on_own_loop()

    def _select(self) -> Callable[..., Any]:
        def select(rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None) -> Any:
            if not self.concerns() or timeout == 0:
                return REAL_SELECT(rlist, wlist, xlist, timeout)
            return self.wait(
                lambda: _some(REAL_SELECT(rlist, wlist, xlist, 0)),
                lambda: REAL_SELECT(rlist, wlist, xlist, timeout),
                map(fileno, [*rlist, *wlist, *xlist]),
                timeout,
            ) or ([], [], [])

        return select

    def _selector(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def select(selector: Any, timeout: float | None = None) -> Any:
            if (timeout is not None and timeout <= 0) or not self.concerns():
                return real(selector, timeout)
            thread = self._loop.threads.current()
            if thread is not None:
                self._loop.threads.runs_loop(thread, asyncio._get_running_loop())
            try:
                return self.wait(
                    lambda: real(selector, 0), lambda: real(selector, timeout), tuple(selector.get_map()), timeout
                )
            except BubbleClosed:
                if thread is None or not self._cancel_tasks():
                    raise
                self._loop.threads.let_others_end(thread)
                return real(selector, 0)

        return select

    def _cancel_tasks(self) -> bool:
        """Cancel the tasks of the event loop that runs in this thread, whose end would leave them suspended for ever.

        Returns whether the loop may go on, to run them: it has tasks, and they were not cancelled MAX_CANCELS times.
        """
        loop = asyncio._get_running_loop()
        if loop is None:
            return False
        loop.set_exception_handler(_ignored)  # clients that are left open, tasks whose threads have ended
        self._cancels[loop] = self._cancels.get(loop, 0) + 1
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            if self._cancels[loop] <= MAX_CANCELS:
                task.cancel()
            else:
                never_log(task)  # it catches every cancellation
        return bool(tasks) and self._cancels[loop] <= MAX_CANCELS

    def wait(
        self,
        probe: Callable[[], Any],
        real: Callable[[], Any],
        descriptors: Iterable[int],
        timeout: float | None,
    ) -> Any:
        """What `probe` finds within `timeout` virtual seconds; `real` is the call itself."""
        if found := probe():
            return found
        watched = [self._sockets.of_descriptor(fd) for fd in descriptors]
        if self._blocking.is_test() and not any(watched):
            return real()  # sockets that have nothing to do with the bubble
        if not all(each is not None for each in watched):
            return self._blocking.outside("waiting in a selector for another server or a process", real)
        notifiers: list[Notifier] = [self._sockets.stirred]
        for connection in watched:
            if isinstance(connection, Connection):
                notifiers += [connection.down.arrived, connection.up.drained]

        def ready() -> bool:
            nonlocal found
            found = probe()
            return bool(found)

        self._blocking.wait(_WHERE, ready, *notifiers, timeout=timeout)
        return found


def _ignored(loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """The exception handler of a loop that ends with its thread."""


def _poll_like() -> type:
    return getattr(selectors, "PollSelector", selectors.SelectSelector)


def _some(found: tuple[list[Any], list[Any], list[Any]]) -> tuple[list[Any], list[Any], list[Any]] | None:
    return found if any(found) else None
