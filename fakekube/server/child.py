"""Runs a command beside a server, and forwards signals to it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence

#: The exit statuses of a shell for a command that does not exist, and for one that cannot be executed.
NOT_FOUND, NOT_RUNNABLE = 127, 126


class CannotRun(Exception):
    """The command cannot be executed; `status` is the exit status of a shell."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Signals:
    """Forwards signals to a command. Created before the command starts, so that no signal is lost."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._early: list[signal.Signals] = []
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._forward, number)

    async def run(self, command: Sequence[str], env: Mapping[str, str]) -> int:
        """Run a command; returns its exit status, or 128 plus the signal that ended it. Raises CannotRun."""
        try:
            self._process = await asyncio.create_subprocess_exec(*command, env=env)
        except FileNotFoundError:
            raise CannotRun(NOT_FOUND, f"{command[0]}: command not found") from None
        except OSError as error:
            why = os.strerror(error.errno).lower() if error.errno else str(error)
            raise CannotRun(NOT_RUNNABLE, f"{command[0]}: {why}") from None
        for number in self._early:
            self._forward(number)
        status = await self._process.wait()
        return 128 - status if status < 0 else status

    def _forward(self, number: signal.Signals) -> None:
        if self._process is None:
            self._early.append(number)
        elif self._process.returncode is None and not (number == signal.SIGINT and _at_terminal()):
            self._process.send_signal(number)


def _at_terminal() -> bool:
    """Whether Ctrl-C comes from a terminal, which also sends the signal to the command."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
