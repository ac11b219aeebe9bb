"""The functions of `time` that read the frozen wall clock, in UTC or in the time zone of the process.

freezegun's own take the local zone for a fixed offset; these ask the C library, as the real ones do. So the offset is
that of the frozen moment (summer or winter time), and follows `TZ` and `time.tzset()`.
"""

import sys
import time
from collections.abc import Iterator
from typing import Any

from fakekube.virtualtime.patches.importers import importers
from fakekube.virtualtime.patches.patch import Patch

#: The real functions; `freezegun.api` binds its own when it is imported.
_real_asctime, _real_ctime = time.asctime, time.ctime
_real_clock_gettime, _real_clock_gettime_ns = time.clock_gettime, time.clock_gettime_ns

#: While time is frozen: its microseconds since 1970, and the module `freezegun.api`. Process-wide: the functions are.
_active: list[Any] = []


def freeze(microseconds: int, api: Any) -> None:
    """Time is frozen, or has moved: the functions read this."""
    _active[:] = [microseconds, api]


def unfreeze() -> None:
    _active.clear()


def _frozen() -> int | None:
    """The microseconds since 1970 that the caller of a function of this module reads; None: it reads real time."""
    if not _active:
        return None
    microseconds, api = _active
    caller = sys._getframe(2).f_globals.get("__name__")
    ignored = api.ignore_lists[-1] if api.ignore_lists else ()
    if isinstance(caller, str) and caller.startswith(ignored):
        return None
    return int(microseconds)


def _api() -> Any:
    from freezegun import api

    return api


# There is one of each for the process, as in freezegun: code that has bound one while time was frozen once reads the
# time of the next freeze with it.


def fake_time() -> float:
    """Replaces `time.time`."""
    now = _frozen()
    return float(_api().real_time()) if now is None else now / 1_000_000


def fake_time_ns() -> int:
    """Replaces `time.time_ns`."""
    now = _frozen()
    return int(_api().real_time_ns()) if now is None else now * 1000


def fake_localtime(seconds: float | None = None, /) -> time.struct_time:
    """Replaces `time.localtime`."""
    now = _frozen()
    local: time.struct_time = _of(_api().real_localtime, seconds, now)
    return local


def fake_gmtime(seconds: float | None = None, /) -> time.struct_time:
    """Replaces `time.gmtime`."""
    now = _frozen()
    utc: time.struct_time = _of(_api().real_gmtime, seconds, now)
    return utc


def fake_strftime(format: str, moment: Any = None, /) -> str:
    """Replaces `time.strftime`."""
    now = _frozen()
    if moment is None and now is not None:
        moment = _api().real_localtime(now // 1_000_000)
    real = _api().real_strftime
    return str(real(format) if moment is None else real(format, moment))


def fake_ctime(seconds: float | None = None, /) -> str:
    """Replaces `time.ctime`, which freezegun leaves in real time."""
    now = _frozen()
    return str(_of(_real_ctime, seconds, now))


def fake_asctime(*moment: Any) -> str:
    """Replaces `time.asctime`, which freezegun leaves in real time."""
    now = _frozen()
    return _real_asctime(*moment) if moment or now is None else _real_asctime(_api().real_localtime(now // 1_000_000))


def fake_clock_gettime(clock: int, /) -> float:
    """Replaces `time.clock_gettime`, which freezegun leaves in real time; only the wall clock is frozen."""
    now = _frozen()
    return _real_clock_gettime(clock) if now is None or clock != time.CLOCK_REALTIME else now / 1_000_000


def fake_clock_gettime_ns(clock: int, /) -> int:
    """Replaces `time.clock_gettime_ns`, which freezegun leaves in real time; only the wall clock is frozen."""
    now = _frozen()
    return _real_clock_gettime_ns(clock) if now is None or clock != time.CLOCK_REALTIME else now * 1000


def _of(real: Any, seconds: float | None, now: int | None) -> Any:
    if seconds is None and now is not None:
        seconds = now // 1_000_000
    return real() if seconds is None else real(seconds)


#: What replaces freezegun's own functions, by their names there.
FAKES = {
    "fake_time": fake_time,
    "fake_time_ns": fake_time_ns,
    "fake_localtime": fake_localtime,
    "fake_gmtime": fake_gmtime,
    "fake_strftime": fake_strftime,
}

#: What freezegun does not replace.
_OTHERS = {
    "asctime": fake_asctime,
    "clock_gettime": fake_clock_gettime,
    "clock_gettime_ns": fake_clock_gettime_ns,
    "ctime": fake_ctime,
}


def patches() -> Iterator[Patch]:
    """Those of the functions that freezegun does not know."""
    for name, fake in _OTHERS.items():
        real = getattr(time, name)
        yield Patch(time, name, fake)
        for module in importers(name, real):
            if module is not time:
                yield Patch(module, name, fake)
