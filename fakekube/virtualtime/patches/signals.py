"""Patches `signal`: an operator in a thread of the bubble installs handlers as in a process of its own.

Python allows that in the main thread only. The handlers are recorded with the thread, and a test sends it signals. For
`threading.main_thread()` it is the main thread, too: kopf and asyncio install no handlers in others.
"""

import _signal  # type: ignore[import-not-found]
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.threads.bubblethread import BubbleThread
from fakekube.virtualtime.threads.scheduler import ThreadScheduler


class SignalPatches:
    def __init__(self, threads: ThreadScheduler) -> None:
        self._threads = threads

    def patches(self) -> Iterator[Patch]:
        # the functions of `signal` call these, also by a name that was bound before (`from signal import signal`)
        yield Patch(_signal, "signal", self._install(_signal.signal))
        yield Patch(_signal, "getsignal", self._installed(_signal.getsignal))
        yield Patch(signal, "set_wakeup_fd", self._wake_by(signal.set_wakeup_fd), signal.set_wakeup_fd)
        yield Patch(threading, "main_thread", self._main_thread(threading.main_thread), threading.main_thread)

    def _main(self) -> BubbleThread | None:
        """The calling thread, if it is the main thread of an operator."""
        thread = self._threads.current()
        return thread if thread is not None and thread.is_main else None

    def _main_thread(self, real: Callable[[], threading.Thread]) -> Callable[[], threading.Thread]:
        def main_thread() -> threading.Thread:
            thread = self._threads.current()
            if thread is None:
                return real()
            main = thread if thread.is_main else self._threads.main_of(thread.process)
            return real() if main is None or main.real is None else main.real

        return main_thread

    def _install(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def install(number: int, handler: Any) -> Any:
            thread = self._main()
            if thread is None:
                return real(number, handler)
            if not (callable(handler) or handler in (signal.SIG_DFL, signal.SIG_IGN)):
                raise TypeError("signal handler must be signal.SIG_IGN, signal.SIG_DFL, or a callable object")
            if isinstance(handler, int):
                handler = signal.Handlers(handler)
            number = signal.Signals(number)
            before = thread.handlers.get(number, _default(number))
            thread.handlers[number] = handler
            return before

        return install

    def _installed(self, real: Callable[[int], Any]) -> Callable[[int], Any]:
        def installed(number: int) -> Any:
            thread = self._main()
            return real(number) if thread is None else thread.handlers.get(number, _default(number))

        return installed

    def _wake_by(self, real: Callable[..., int]) -> Callable[..., int]:
        def set_wakeup_fd(fd: int, **options: Any) -> int:
            thread = self._main()
            if thread is None:
                return real(fd, **options)
            before, thread.wakeup_fd = thread.wakeup_fd, fd
            return before

        return set_wakeup_fd


def _default(number: int) -> Any:
    return signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
