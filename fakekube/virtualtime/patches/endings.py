"""Patches what would end the test's own process: an error of the test, not the end of pytest without a word.

The calls of an operator that has ended do nothing: kopf sets a timer that sends SIGKILL ten minutes after the operator
was stopped (`ultimate_termination` in kopf/_core/reactor/running.py).
"""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.errors import ProcessEnded
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.patches.importers import lives_in_real_time
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.simulatedprocess import current

#: Signals whose default action neither ends nor stops a process (signal(7)).
_HARMLESS = frozenset({signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH})

Ends = Callable[[tuple[Any, ...]], bool]


class EndingPatches:
    """`report` gets the error as well, because code under test may catch it."""

    def __init__(self, loop: VirtualTimeLoop, blocking: Blocking, report: Callable[[BaseException], None]) -> None:
        self._loop, self._blocking, self._report = loop, blocking, report
        self._process = os.getpid()
        #: the functions and their replacements by identity: a callback need not be hashable
        self._known: dict[int, Callable[..., Any]] = {}

    def patches(self) -> Iterator[Patch]:
        for owner, name, ends in (
            (os, "kill", self._kill_ends),
            (os, "killpg", self._killpg_ends),
            (os, "_exit", _always),
            (os, "abort", _always),
            (signal, "raise_signal", lambda args: _is_fatal(args[0])),
            (signal, "pthread_kill", lambda args: _is_fatal(args[1])),
        ):
            real = getattr(owner, name)
            replacement = self._guarded(f"{owner.__name__}.{name}", real, ends)
            self._known[id(real)] = self._known[id(replacement)] = replacement
            yield Patch(owner, name, replacement)

    def disarm(self, callback: Callable[..., object]) -> Callable[..., object]:
        """The callback of a timer. One that ends the process does nothing once the operator that set it has ended.

        That is the process, or the task that has created the one which sets the timer.
        """
        guarded = self._known.get(id(callback))
        if guarded is None:
            return callback
        process, creator = current(), self._loop.tasks.creator(_running(self._loop))

        def fire(*args: Any) -> None:
            if (creator is None or not creator.done()) and (process is None or not process.ended):
                guarded(*args)

        return fire

    def _guarded(self, name: str, real: Callable[..., Any], ends: Ends) -> Callable[..., Any]:
        def guarded(*args: Any) -> Any:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            is_timer = caller.startswith("asyncio.")  # the caller of a callback of a loop, whoever has set it
            if os.getpid() != self._process or not self._blocking.concerns():
                return real(*args)
            if lives_in_real_time(caller) and not is_timer:
                return real(*args)
            if not ends(args):
                return real(*args)
            process = current()
            if process is not None and process.ended:
                return None
            error = ProcessEnded(
                f"{self._who()} called {name}({', '.join(map(_shown, args))}), which ends its process. It runs in the "
                "process of the test: use run_process() for an operator that has to end so"
            )
            self._report(error)
            raise error

        return guarded

    def _who(self) -> str:
        process, task = current(), _running(self._loop)
        if process is not None:
            return process.name
        return f"task {task.get_name()}" if task is not None else f"thread {threading.current_thread().name}"

    def _kill_ends(self, args: tuple[Any, ...]) -> bool:
        return args[0] in (self._process, 0, -os.getpgrp()) and _is_fatal(args[1])

    def _killpg_ends(self, args: tuple[Any, ...]) -> bool:
        return args[0] in (os.getpgrp(), 0) and _is_fatal(args[1])


def _running(loop: VirtualTimeLoop) -> asyncio.Task[Any] | None:
    return asyncio.current_task(loop)


def _always(_: tuple[Any, ...]) -> bool:
    return True


def _is_fatal(number: int) -> bool:
    """Whether the signal, with the handlers that are installed, ends or stops the process."""
    if not number or number in _HARMLESS:
        return False
    if number in (signal.SIGKILL, signal.SIGSTOP):
        return True
    return signal.getsignal(number) is signal.SIG_DFL


def _shown(value: object) -> str:
    return str(value) if isinstance(value, signal.Signals) else repr(value)
