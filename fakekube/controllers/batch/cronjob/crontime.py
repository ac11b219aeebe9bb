"""The times of a cron schedule (`robfig/cron` v3: `SpecSchedule.Next`, `ConstantDelaySchedule.Next`).

Libraries for cron expressions differ from this dialect in the days that are selected by a day of the month and a day of
the week, in `?` and `N/STEP`, and in what happens when clocks change.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from fakekube.apiserver.registry.batch.cronjob.schedule import Schedule
from fakekube.struct import Struct

#: No time: what follows for a schedule that never comes (Go: the zero Time).
ZERO = datetime.min.replace(tzinfo=UTC)

#: A time is looked for in this many years.
_YEARS = 5

_DAY, _HOUR, _MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)


def time_zone(name: str) -> tzinfo:
    """The time zone of a name (time.LoadLocation)."""
    return UTC if name in ("", "UTC", "Local") else ZoneInfo(name)


# a CronJob that waits is reconciled at each resync, and looks for the same times again
@lru_cache(maxsize=4096)
def next_time(schedule: Schedule, after: datetime) -> datetime:
    """The first time of the schedule after a time, in UTC; ZERO if there is none.

    The wall time of the schedule's zone counts: a time that is skipped when clocks go forward does not come, and one
    that is repeated when they go back comes twice if it is an hour that the schedule selects.
    """
    if after == ZERO:
        return ZERO
    if schedule.every:
        return after + timedelta(seconds=schedule.every, microseconds=-after.microsecond)
    search = _Search(schedule, time_zone(schedule.zone), after + timedelta(seconds=1, microseconds=-after.microsecond))
    last_year = search.local.year + _YEARS
    while search.local.year <= last_year:
        # one that has come round to its beginning has changed the larger units, which are looked at again
        if not (search.month() or search.day() or search.hour() or search.minute() or search.second()):
            return search.time
    return ZERO


class _Search(Struct):
    """A time that moves forward, unit by unit. Each method returns whether its unit has come round to its beginning.

    `moved`: whether the smaller units were set to their beginning.
    """

    schedule: Schedule
    zone: tzinfo
    time: datetime
    moved: bool = False

    @property
    def local(self) -> datetime:
        return self.time.astimezone(self.zone)

    def month(self) -> bool:
        while self.local.month not in self.schedule.month.chosen:
            self._begin(day=1, hour=0)
            local = self.local
            first = local.replace(year=local.year + local.month // 12, month=local.month % 12 + 1, day=1)
            self.time = _instant(first.replace(tzinfo=None) + _DAY * (local.day - 1), self.zone)
            if self.local.month == 1:
                return True
        return False

    def day(self) -> bool:
        while not self._day_matches():
            self._begin(hour=0)
            self.time = _instant(self.local.replace(tzinfo=None) + _DAY, self.zone)
            hour = self.local.hour
            if hour:  # there is no midnight on this day
                self.time += _HOUR * (24 - hour if hour > 12 else -hour)
            if self.local.day == 1:
                return True
        return False

    def hour(self) -> bool:
        while self.local.hour not in self.schedule.hour.chosen:
            self._begin()
            self.time += _HOUR
            if self.local.hour == 0:
                return True
        return False

    def minute(self) -> bool:
        chosen, local = self.schedule.minute.chosen, self.local
        while local.minute not in chosen:
            if not self.moved:
                self.moved = True
                self.time = self.time.replace(second=0)
            self.time += _MINUTE * self._minutes(local)
            local = self.local
            if local.minute == 0:
                return True
        return False

    def _minutes(self, local: datetime) -> int:
        """How many minutes can be skipped: to the next one that is selected, unless the clocks change in this hour."""
        if local.utcoffset() != (self.time + _HOUR).astimezone(self.zone).utcoffset():
            return 1
        return min((one for one in self.schedule.minute.chosen if one > local.minute), default=60) - local.minute

    def second(self) -> bool:
        """A time is at the beginning of a minute."""
        if self.time.second == 0:
            return False
        self.moved = True
        self.time = self.time.replace(second=0) + _MINUTE
        return True

    def _begin(self, **units: int) -> None:
        """Set the smaller units to their beginning, the first time."""
        if not self.moved:
            self.moved = True
            beginning = self.local.replace(minute=0, second=0, microsecond=0, **units)  # type: ignore[arg-type]
            self.time = _instant(beginning, self.zone)

    def _day_matches(self) -> bool:
        """A day is selected by both fields if one of them is `*`, else by either."""
        schedule, local = self.schedule, self.local
        day = local.day in schedule.day.chosen
        weekday = local.isoweekday() % 7 in schedule.weekday.chosen
        if schedule.day.star or schedule.weekday.star:
            return day and weekday
        return day or weekday


def _instant(wall: datetime, zone: tzinfo) -> datetime:
    """The instant of a wall time; one that is skipped or repeated is taken with one of the two offsets (time.Date)."""
    naive = wall.replace(tzinfo=None)
    guess = naive.replace(tzinfo=UTC).astimezone(zone).utcoffset()
    assert guess is not None
    offset = (naive - guess).replace(tzinfo=UTC).astimezone(zone).utcoffset()
    assert offset is not None
    return (naive - offset).replace(tzinfo=UTC)
