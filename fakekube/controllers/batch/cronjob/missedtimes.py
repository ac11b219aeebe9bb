"""Which times of a CronJob's schedule have come, and when the next one does (`pkg/controller/cronjob/utils.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from fakekube.apiserver.registry.batch.cronjob.schedule import Schedule
from fakekube.controllers.batch.cronjob.crontime import ZERO, next_time
from fakekube.controllers.workload.podstate import time_of
from fakekube.struct import Struct

#: Seconds after a time of the schedule at which the CronJob is reconciled (nextScheduleDelta).
DELTA = 0.1

#: More missed times than these are worth a warning.
MANY = 100

Object = Mapping[str, Any]


class NeverTwice(Exception):
    """The schedule is well formed, but it has no two times."""


class Missed(Struct, frozen=True):
    """`since`: the time after which the schedule counts. `latest`: the last time that has come. `number`: how many."""

    since: datetime
    latest: datetime | None = None
    number: int = 0


def missed_times(cron_job: Object, schedule: Schedule, now: datetime, *, within_deadline: bool) -> Missed:
    """The times since the last one that had a Job, or since the creation. Raises NeverTwice.

    `within_deadline`: only those for which a Job may still start. The number is estimated from the first two times.
    Source: kubernetes, mostRecentScheduleTime.
    """
    since = _start(cron_job)
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if within_deadline and deadline is not None:
        since = max(since, now - timedelta(seconds=deadline))
    first = next_time(schedule, since)
    second = next_time(schedule, first)
    if now < first:
        return Missed(since)
    if now < second:
        return Missed(since, first)
    interval = round((second - first).total_seconds())
    if interval < 1:
        raise NeverTwice("time difference between two schedules is less than 1 second")
    number = int((now - first).total_seconds()) // interval + 1
    latest: datetime | None = None
    time = next_time(schedule, first + timedelta(seconds=(number - 2) * interval))
    while ZERO < time <= now:
        latest = time
        time = next_time(schedule, time)
    return Missed(since, latest, number)


def until_next(cron_job: Object, schedule: Schedule, now: datetime) -> float:
    """The seconds until the CronJob is reconciled for its next time (nextScheduleTimeDuration)."""
    try:
        missed = missed_times(cron_job, schedule, now, within_deadline=False)
    except NeverTwice:
        last = now
    else:
        last = missed.latest or (now if missed.number else missed.since)
    return (next_time(schedule, last) - now).total_seconds() + DELTA


def _start(cron_job: Object) -> datetime:
    last = (cron_job.get("status") or {}).get("lastScheduleTime")
    return time_of(last or cron_job["metadata"]["creationTimestamp"]).astimezone(UTC)
