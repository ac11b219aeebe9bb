"""Runs a command beside a server, and forwards signals to it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence

#: The exit statuses of a shell for a command that does not exist, and for one that cannot be executed.
NOT_FOUND, NOT_RUNNABLE = 127, 126

#: `PR_SET_PDEATHSIG` of `linux/prctl.h`.
_SET_PARENT_DEATH_SIGNAL = 1


class CannotRun(Exception):
    """The command cannot be executed; `status` is the exit status of a shell."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Signals:
    """Forwards signals to a command and what it has started. Created before the command starts, so that none is lost.

    The command has a process group of its own, except in the foreground of a terminal, which belongs to one group.
    """

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._early: list[signal.Signals] = []
        self._forwarded: list[signal.Signals] = []
        self._grouped = not _at_terminal()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._forward, number)

    async def run(self, command: Sequence[str], env: Mapping[str, str]) -> int:
        """Run a command; returns its exit status, or 128 plus the signal that ended it. Raises CannotRun."""
        try:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                env=env,
                preexec_fn=_ending_with(os.getpid()),
                process_group=0 if self._grouped else None,
            )
        except FileNotFoundError:
            raise CannotRun(NOT_FOUND, f"{command[0]}: command not found") from None
        except OSError as error:
            why = os.strerror(error.errno).lower() if error.errno else str(error)
            raise CannotRun(NOT_RUNNABLE, f"{command[0]}: {why}") from None
        for number in self._early:
            self._forward(number)
        try:
            status = await self._process.wait()
        finally:
            if self._process.returncode is None:
                self._send(signal.SIGKILL)
                await self._process.wait()
        if self._grouped and self._forwarded and signal.SIGTERM not in self._forwarded:
            self._send(signal.SIGTERM)  # what a shell has started in the background ignores SIGINT
        return 128 - status if status < 0 else status

    def _forward(self, number: signal.Signals) -> None:
        if self._process is None:
            self._early.append(number)
        elif self._process.returncode is None and (self._grouped or number != signal.SIGINT or not _at_terminal()):
            self._forwarded.append(number)
            self._send(number)

    def _send(self, number: signal.Signals) -> None:
        assert self._process is not None
        if not self._grouped:
            self._process.send_signal(number)
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _ending_with(parent: int) -> Callable[[], None] | None:
    """What a new process calls so that it is killed when its parent ends, however that ends; None but on Linux."""
    if sys.platform != "linux":
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl

    def arrange() -> None:
        prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended meanwhile
            os.kill(os.getpid(), signal.SIGKILL)

    return arrange


def _at_terminal() -> bool:
    """Whether Ctrl-C comes from a terminal, which also sends the signal to the command."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
