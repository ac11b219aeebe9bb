"""The child processes that code of a bubble has started, which of them it waits for, and their end."""

import _thread
import os
import shlex
import signal
import subprocess
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from fakekube.virtualtime.errors import BubbleClosed, NotQuiescent

#: The original, without the patch of a bubble.
_wait = subprocess.Popen.wait

#: How many times the patience of a bubble a process may run while the test waits for it without a time-out.
_PATIENCES = 4

#: Real seconds for which the end of a bubble waits for a process that it killed, and for a thread that awaits it.
_REAPING = 1.0

#: Characters of a command that errors show.
_SHOWN = 100

#: Where Linux lists processes.
_PROC = Path("/proc")


class _Waiter(NamedTuple):
    """A thread that waits for a process; the lock is free when it no longer does."""

    process: subprocess.Popen[Any]
    name: str
    thread: int
    over: "_thread.LockType"


class Children:
    """Process-wide effects: its methods may be called from any thread."""

    def __init__(self, patience: float) -> None:
        self._limit = _PATIENCES * patience
        self._started: list[subprocess.Popen[Any]] = []
        self._waiters: list[_Waiter] = []
        #: those that were killed here, and why
        self._killed: dict[subprocess.Popen[Any], str] = {}

    def add(self, process: subprocess.Popen[Any]) -> None:
        """Kill `process` when the bubble ends, if it still runs."""
        self._started = [one for one in self._started if one.returncode is None]
        self._started.append(process)

    def awaited(self) -> Sequence[str]:
        """The processes for which code of the bubble waits, as the reasons name them why it is busy."""
        return tuple(waiter.name for waiter in tuple(self._waiters))

    @contextmanager
    def awaiting(
        self, process: subprocess.Popen[Any], *, is_limited: bool = True, known_as: str = ""
    ) -> Generator[None, None, None]:
        """Within the block the caller waits for `process` in real time. After the limit it is killed.

        `known_as`: how the reason names it why the bubble is busy.
        Raises NotQuiescent then; BubbleClosed if it was killed because the bubble ends.
        """
        over = _thread.allocate_lock()
        over.acquire()
        waiter = _Waiter(process, known_as or named(process), _thread.get_ident(), over)
        self._waiters.append(waiter)
        if is_limited:
            _thread.start_new_thread(self._watch, (process, over))
        try:
            yield
        finally:
            self._waiters.remove(waiter)
            over.release()
            self._raise_if_killed(process)

    def _watch(self, process: subprocess.Popen[Any], over: "_thread.LockType") -> None:
        if not _is_free(over, self._limit) and process.returncode is None:
            self._kill(
                process,
                f"{named(process)} has not ended after {self._limit:g} s of real time, and was killed. Time is held "
                "while a test waits for a process: start one that serves with subprocess.Popen() and do not wait for "
                "its end, or pass timeout= for one that takes longer",
            )

    def _raise_if_killed(self, process: subprocess.Popen[Any]) -> None:
        why = self._killed.get(process)
        if why is not None:
            raise NotQuiescent(why) if why else BubbleClosed(f"{named(process)} was killed, because the test has ended")

    def _kill(self, process: subprocess.Popen[Any], why: str) -> None:
        self._killed[process] = why
        kill_tree(process)

    def kill_all(self) -> None:
        """Kill those that still run, with their own children, and reap them. Other threads that awaited one have closed
        its pipes then: what the bubble raises in them later cannot leave a pipe open."""
        for process in self._started:
            if process.returncode is None and process.poll() is None:
                self._kill(process, "")
                with suppress(subprocess.TimeoutExpired):
                    _wait(process, _REAPING)
        for waiter in tuple(self._waiters):
            if waiter.process in self._killed and waiter.thread != _thread.get_ident():
                _is_free(waiter.over, _REAPING)
        self._started.clear()


def _is_free(lock: "_thread.LockType", seconds: float) -> bool:
    """Whether the lock is free within real `seconds`."""
    if not lock.acquire(timeout=seconds):
        return False
    lock.release()
    return True


def named(process: subprocess.Popen[Any]) -> str:
    """Names a process in reasons and errors."""
    args: Any = process.args
    command = shlex.join(map(os.fsdecode, args)) if isinstance(args, list | tuple) else os.fsdecode(args)
    return f"process {process.pid} ({command if len(command) <= _SHOWN else command[: _SHOWN - 3] + '...'})"


def kill_tree(process: subprocess.Popen[Any]) -> None:
    """Send SIGKILL to a process, to its descendants (Linux), and to its process group if it has one of its own."""
    group = _group_of(process.pid)
    for pid in (*_descendants(process.pid), process.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    if group == process.pid:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _descendants(pid: int) -> Iterator[int]:
    parents: dict[int, list[int]] = {}
    for entry in _PROC.glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            # the name, in parentheses, may contain spaces and parentheses
            parent = int(entry.read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(entry.parent.name))
    found = parents.get(pid, [])
    while found:
        yield from found
        found = [child for one in found for child in parents.get(one, ())]
