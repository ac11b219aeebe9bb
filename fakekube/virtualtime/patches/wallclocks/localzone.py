"""The methods of freezegun's `FakeDatetime` and `FakeDate` that read or assume the time zone of the process.

freezegun takes UTC for it in some of them (`now()`, `timestamp()`, `fromtimestamp()`) and not in others
(`astimezone()`). These do what the real methods do: the C library knows the zone, and which offset it had at a moment.
"""

from calendar import timegm
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Any


def methods(api: Any) -> Iterator[tuple[Any, str, Any]]:
    """Those of the module `freezegun.api`: class, name, method."""
    fake = api.FakeDatetime

    def now(cls: Any, tz: tzinfo | None = None) -> Any:
        utc = cls._time_to_freeze()
        if utc is None:  # bound while time was frozen
            return _instance(cls, datetime.now(tz))
        return _instance(cls, datetime.fromtimestamp(timegm(utc.timetuple()), tz), utc.microsecond)

    def fromtimestamp(cls: Any, timestamp: float, tz: tzinfo | None = None) -> Any:
        return _instance(cls, datetime.fromtimestamp(timestamp, tz))

    def today(cls: Any) -> Any:
        moment = fake.now()
        return cls(moment.year, moment.month, moment.day)

    yield fake, "now", classmethod(now)
    yield fake, "fromtimestamp", classmethod(fromtimestamp)
    yield fake, "timestamp", datetime.timestamp
    yield fake, "astimezone", datetime.astimezone
    yield api.FakeDate, "today", classmethod(today)


def _instance(cls: Any, moment: datetime, microsecond: int | None = None) -> Any:
    """The same moment. The class methods of `datetime` lose the fold in a subclass."""
    micro = moment.microsecond if microsecond is None else microsecond
    fields = (moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, micro, moment.tzinfo)
    return cls(*fields, fold=moment.fold)
