"""The wall clock, with time-machine, which changes the functions of `time` and `datetime` themselves, in C.

Unlike with freezegun, values are instances of the real classes, and functions that were bound before read virtual time,
too. But `time.monotonic` and `time.perf_counter` stay real, and a reading on a whole second prints no microseconds.
"""

import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

from fakekube.virtualtime.patches.importers import importers
from fakekube.virtualtime.patches.patch import Patch, PatchSet

_real_asctime, _real_ctime = time.asctime, time.ctime

#: time-machine changes the time zone of the process to that of the moment which it gets, unless it is one without a
#: name. The zone of the process is the user's to choose.
_NAMELESS = timezone(timedelta(hours=1))


class TimeMachine:
    """A WallClock. At most one is active in a process."""

    def __init__(self) -> None:
        self._travel: Any = None
        self._coordinates: Any = None
        self._functions = PatchSet(())

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
        self._functions = PatchSet(_patches())
        self._functions.install()
        self._travel = time_machine.travel(now.astimezone(_NAMELESS), tick=False)
        self._coordinates = self._travel.start()

    def move(self, now: datetime) -> None:
        self._coordinates.move_to(now.astimezone(_NAMELESS), tick=False)

    def stop(self) -> None:
        if self._travel is not None:
            self._travel.stop()
            self._functions.remove()
            self._travel = self._coordinates = None


def _is_frozen() -> bool:
    return bool(getattr(sys.modules.get("freezegun.api"), "freeze_factories", ()))


def _ctime(seconds: float | None = None, /) -> str:
    return _real_ctime(time.time() if seconds is None else seconds)


def _asctime(*moment: Any) -> str:
    return _real_asctime(*(moment or (time.localtime(),)))


def _patches() -> Iterator[Patch]:
    """The functions that time-machine leaves in real time. One that has been bound reads the clock of the moment."""
    for name, frozen in (("asctime", _asctime), ("ctime", _ctime)):
        for module in (time, *importers(name, getattr(time, name))):
            yield Patch(module, name, frozen)
