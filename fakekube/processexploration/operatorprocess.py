"""The process that is explored: started in a group of its own, killed, stopped, continued and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

#: Seconds between two looks at whether it still runs.
POLL = 0.05

#: How often a process that ends by itself is started again in one run, as a Deployment does, and the seconds before it.
RESTARTS, BACK_OFF = 5, 1.0


class OperatorProcess:
    """A command and all that it starts. Its output is appended to a file."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], output: Path) -> None:
        self._command, self._env, self._output = command, env, output
        self._process: asyncio.subprocess.Process | None = None
        self.restarts: int = 0

    async def start(self) -> None:
        """Raises OSError if the command cannot be executed."""
        with self._output.open("ab") as out:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, env=self._env, stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out,
                start_new_session=True,
            )  # fmt: skip

    @property
    def ended(self) -> int | None:
        """The status with which it has ended; None while it runs."""
        return self._process.returncode if self._process is not None else None

    async def kept(self) -> bool:
        """Start it again if it has ended by itself; False once that has happened too often."""
        if self.ended is None:
            return True
        if self.restarts >= RESTARTS:
            return False
        self.restarts += 1
        await asyncio.sleep(BACK_OFF)  # noqa: TID251 - the process runs in real time
        self.signal(signal.SIGKILL)  # what it has left behind
        await self.start()
        return True

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process and to what it has started."""
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    async def kill(self) -> None:
        """End it at once, and wait until it is gone."""
        if self._process is None:
            return
        self.signal(signal.SIGKILL)
        await self._process.wait()

    def tail(self, lines: int = 10) -> str:
        """The last lines of its output."""
        with suppress(OSError):
            return "\n".join(self._output.read_text(errors="replace").splitlines()[-lines:])
        return ""


def command_of(text: str) -> Sequence[str]:
    """The command of a line of a shell, which is replaced by it where it is one command."""
    return ("/bin/sh", "-c", text) if sys.platform != "win32" else ("cmd", "/c", text)
