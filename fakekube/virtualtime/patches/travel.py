"""The wall clock, with time-machine, which changes the functions of `time` and `datetime` themselves, in C.

Unlike with freezegun, values are instances of the real classes, and functions that were bound before read virtual time,
too. But `time.monotonic` and `time.perf_counter` stay real, and a reading on a whole second prints no microseconds.
"""

import sys
from datetime import datetime
from typing import Any


class TimeMachine:
    """A WallClock. At most one is active in a process."""

    def __init__(self) -> None:
        self._travel: Any = None
        self._coordinates: Any = None

    def start(self, now: datetime) -> None:
        """Freeze. ModuleNotFoundError without the package; RuntimeError if time is frozen already."""
        try:
            import time_machine
        except ImportError:
            raise ModuleNotFoundError(
                "wall_clock='time-machine' needs the package time-machine: pip install 'fakekube[time-machine]'"
            ) from None
        if getattr(time_machine, "coordinates_stack", ()) or _is_frozen():
            raise RuntimeError(
                "another library has frozen time already, and the cluster must freeze it, too: remove the other one, "
                "or leave the wall clock alone with wall_clock=False"
            )
        self._travel = time_machine.travel(now, tick=False)
        self._coordinates = self._travel.start()

    def move(self, now: datetime) -> None:
        self._coordinates.move_to(now, tick=False)

    def stop(self) -> None:
        if self._travel is not None:
            self._travel.stop()
            self._travel = self._coordinates = None


def _is_frozen() -> bool:
    return bool(getattr(sys.modules.get("freezegun.api"), "freeze_factories", ()))
