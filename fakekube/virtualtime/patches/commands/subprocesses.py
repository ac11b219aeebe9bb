"""Patches what coroutines wait for a process with: time stands still meanwhile, as where a thread waits for one.

Otherwise an idle loop would advance to the next timer, for example to the time-out of that very wait.
"""

from __future__ import annotations

import asyncio.subprocess
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from fakekube.virtualtime.errors import BubbleClosed
from fakekube.virtualtime.loop import VirtualTimeLoop
from fakekube.virtualtime.patches.commands.childprocesses import Children, named
from fakekube.virtualtime.patches.patch import Patch


class SubprocessPatches:
    """Only waits for the end of a process hold time. Reading the output of one does not: it may run for hours."""

    def __init__(self, loop: VirtualTimeLoop, children: Children) -> None:
        self._loop = loop
        self._children = children

    def patches(self) -> Iterator[Patch]:
        process = asyncio.subprocess.Process
        yield Patch(process, "wait", self._held(process.wait))
        yield Patch(process, "communicate", self._held(process.communicate))

    def _held(self, real: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def wait(process: asyncio.subprocess.Process, *args: Any, **options: Any) -> Any:
            if process.returncode is not None or asyncio.get_running_loop() is not self._loop:
                return await real(process, *args, **options)
            popen = process._transport.get_extra_info("subprocess")  # type: ignore[attr-defined]
            with (
                _cancelled_at_the_end(),
                self._children.awaiting(popen, is_limited=False),
                self._loop.clock.hold(f"waiting for {named(popen)}"),
            ):
                return await real(process, *args, **options)

        return wait


@contextmanager
def _cancelled_at_the_end() -> Generator[None, None, None]:
    """A coroutine is cancelled where a thread gets BubbleClosed."""
    try:
        yield
    except BubbleClosed:
        raise asyncio.CancelledError from None
