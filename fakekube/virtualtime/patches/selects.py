"""Patches `select` and `selectors`: waiting for sockets is in virtual time, so that event loops of threads are, too.

A thread may run an event loop of its own (`asyncio.run`, `kopf.run`). Its clock reads virtual time, and where it would
block it parks until data arrives from the cluster, another thread writes to its pipe, or the time-out has passed.
"""

import asyncio
import asyncio.base_events
import select
import selectors
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import monotonic as real_monotonic
from typing import Any
from weakref import WeakKeyDictionary

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.network.bytecount import Connection
from fakekube.virtualtime.notifier import Notifier
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.patches.sockets import SocketPatches
from fakekube.virtualtime.taskregistry import MAX_CANCELS, never_log

_WHERE = "waiting in a selector"

#: The selector of the bubble's own loop calls these; `select` is also used by `selectors`, which has a name of its own.
_real_select, _real_poll = select.select, select.poll


class SelectPatches:
    def __init__(self, loop: VirtualTimeLoop, blocking: Blocking, sockets: SocketPatches) -> None:
        self._loop = loop
        self._blocking = blocking
        self._sockets = sockets
        #: how often the tasks of each loop of a thread have been cancelled, because the thread ends
        self._cancels: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()

    def patches(self) -> Iterator[Patch]:
        yield Patch(select, "select", self._select())
        yield Patch(select, "poll", lambda: _Poll(self) if self.concerns() else _real_poll())
        for kind in dict.fromkeys((selectors.DefaultSelector, selectors.SelectSelector, _poll_like())):
            owner = next(each for each in kind.__mro__ if "select" in vars(each))
            yield Patch(owner, "select", self._selector(vars(owner)["select"]))
        yield Patch(asyncio.base_events.BaseEventLoop, "time", lambda _: self._time())

    def _time(self) -> float:
        return self._loop.clock.monotonic() if self._loop.threads.current() is not None else real_monotonic()

    def concerns(self) -> bool:
        return self._blocking.concerns() and not self._blocking.on_own_loop()

    def _select(self) -> Callable[..., Any]:
        def select(rlist: Any, wlist: Any, xlist: Any, timeout: float | None = None) -> Any:
            if not self.concerns() or timeout == 0:
                return _real_select(rlist, wlist, xlist, timeout)
            return self.wait(
                lambda: _some(_real_select(rlist, wlist, xlist, 0)),
                lambda: _real_select(rlist, wlist, xlist, timeout),
                map(_fileno, [*rlist, *wlist, *xlist]),
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
                self._loop.threads.let_others_end(thread, _WHERE)
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


class _Poll:
    """As the object that `select.poll()` returns."""

    def __init__(self, patches: SelectPatches) -> None:
        self._patches = patches
        self._real = _real_poll()
        self._descriptors: dict[int, None] = {}

    def register(self, fd: Any, *mask: int) -> None:
        self._real.register(fd, *mask)
        self._descriptors[_fileno(fd)] = None

    def modify(self, fd: Any, mask: int) -> None:
        self._real.modify(fd, mask)

    def unregister(self, fd: Any) -> None:
        self._real.unregister(fd)
        self._descriptors.pop(_fileno(fd), None)

    def poll(self, timeout: float | None = None) -> list[tuple[int, int]]:
        if timeout == 0 or not self._patches.concerns():
            return self._real.poll(timeout)
        found: list[tuple[int, int]] = self._patches.wait(
            lambda: self._real.poll(0),
            lambda: self._real.poll(timeout),
            self._descriptors,
            None if timeout is None or timeout < 0 else timeout / 1000,
        )
        return found


def _ignored(loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
    """The exception handler of a loop that ends with its thread."""


def _poll_like() -> type:
    return getattr(selectors, "PollSelector", selectors.SelectSelector)


def _some(found: tuple[list[Any], list[Any], list[Any]]) -> tuple[list[Any], list[Any], list[Any]] | None:
    return found if any(found) else None


def _fileno(file: Any) -> int:
    return file if isinstance(file, int) else int(file.fileno())
