"""The system clock, used outside tests; tests use `virtualtime.VirtualClock`."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time, and monotonic time for timeouts."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    async def sleep_until(self, deadline: float) -> None: ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep_until(self, deadline: float) -> None:
        await asyncio.sleep(max(0.0, deadline - time.monotonic()))

    def pause(self, seconds: float) -> None:
        """Block the thread."""
        time.sleep(seconds)
