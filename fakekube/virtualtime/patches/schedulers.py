"""Patches `sched.scheduler`, whose default functions are bound when the standard library's module is imported."""

import sched
from collections.abc import Callable, Iterator
from time import monotonic as real_monotonic
from time import sleep as real_sleep
from typing import Any

from fakekube.virtualtime.blocking import Blocking
from fakekube.virtualtime.clock import VirtualClock
from fakekube.virtualtime.patches.patch import Patch
from fakekube.virtualtime.patches.sleep import virtual_sleep


class SchedulerPatches:
    def __init__(self, clock: VirtualClock, blocking: Blocking) -> None:
        self._clock = clock
        self._blocking = blocking

    def patches(self) -> Iterator[Patch]:
        yield Patch(sched.scheduler, "__init__", self._init(sched.scheduler.__init__))

    def _init(self, real: Callable[..., None]) -> Callable[..., None]:
        def init(scheduler: Any, timefunc: Any = self._now, delayfunc: Any = _delay) -> None:
            real(scheduler, timefunc, delayfunc)

        return init

    def _now(self) -> float:
        return self._clock.monotonic() if self._blocking.concerns() else real_monotonic()


def _delay(seconds: float) -> None:
    (virtual_sleep if seconds > 0 else real_sleep)(seconds)
