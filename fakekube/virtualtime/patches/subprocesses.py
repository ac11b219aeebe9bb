"""Patches what coroutines wait for a process with: time stands still meanwhile, as where a thread waits for one.

Otherwise an idle loop would advance to the next timer, for example to the time-out of that very wait.
"""

from __future__ import annotations

import asyncio.subprocess
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.patches.patch import Patch


class SubprocessPatches:
    """Only waits for the end of a process hold time. Reading the output of one does not: it may run for hours."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop

    def patches(self) -> Iterator[Patch]:
        process = asyncio.subprocess.Process
        yield Patch(process, "wait", self._held(process.wait))
        yield Patch(process, "communicate", self._held(process.communicate))

    def _held(self, real: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def wait(process: asyncio.subprocess.Process, *args: Any, **options: Any) -> Any:
            if process.returncode is not None or asyncio.get_running_loop() is not self._loop:
                return await real(process, *args, **options)
            with self._loop.clock.hold(f"waiting for process {process.pid}"):
                return await real(process, *args, **options)

        return wait
