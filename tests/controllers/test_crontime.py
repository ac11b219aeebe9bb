"""The times of cron schedules."""

from datetime import UTC, datetime

import pytest

from fakekube.apiserver.registry.batch.cronjob.schedule import parse_schedule
from fakekube.controllers.batch.cronjob.crontime import ZERO, next_time


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if "T" in text else ZERO


@pytest.mark.parametrize(
    ("schedule", "after", "times"),
    [
        ("* * * * *", "2026-01-01T00:00:00", ["2026-01-01T00:01:00", "2026-01-01T00:02:00"]),
        ("* * * * *", "2026-01-01T00:00:59.9", ["2026-01-01T00:01:00"]),
        ("0/15 * * * *", "2026-01-01T00:45:00", ["2026-01-01T01:00:00", "2026-01-01T01:15:00"]),
        ("20-35/15 * * * *", "2026-01-01T00:45:00", ["2026-01-01T01:20:00", "2026-01-01T01:35:00"]),
        ("0 0 1 1 *", "2026-01-01T00:00:00", ["2027-01-01T00:00:00"]),
        ("0 0 * * sun", "2026-01-01T00:00:00", ["2026-01-04T00:00:00", "2026-01-11T00:00:00"]),
        # a day of the month or a day of the week, unless one of them is a star
        ("0 0 13 * fri", "2026-02-01T00:00:00", ["2026-02-06T00:00:00", "2026-02-13T00:00:00"]),
        ("0 0 1,8 * fri", "2026-05-01T00:00:00", ["2026-05-08T00:00:00", "2026-05-15T00:00:00"]),
        ("0 0 */2 * fri", "2026-05-01T00:00:00", ["2026-05-03T00:00:00", "2026-05-05T00:00:00"]),
        ("0 0 ? * fri", "2026-05-01T00:00:00", ["2026-05-08T00:00:00"]),
        ("0 0 29 2 *", "2026-01-01T00:00:00", ["2028-02-29T00:00:00", "2032-02-29T00:00:00"]),
        ("0 0 31 2 *", "2026-01-01T00:00:00", ["ZERO"]),
        # five years are looked at after that of the time, in the zone of the schedule; 2100 is no leap year
        ("0 0 29 2 *", "2099-03-01T00:00:00", ["2104-02-29T00:00:00"]),
        ("0 0 29 2 *", "2098-12-31T23:59:58", ["ZERO"]),
        ("0 0 29 2 *", "2098-12-31T23:59:59", ["2104-02-29T00:00:00"]),
        ("TZ=Asia/Kolkata 0 0 29 2 *", "2098-12-31T20:00:00", ["2104-02-28T18:30:00"]),
        ("@hourly", "2026-01-01T00:30:00", ["2026-01-01T01:00:00"]),
        ("@weekly", "2026-01-01T00:30:00", ["2026-01-04T00:00:00"]),
        ("@yearly", "2026-06-01T00:30:00", ["2027-01-01T00:00:00"]),
        ("@every 90s", "2026-01-01T00:00:00.5", ["2026-01-01T00:01:30", "2026-01-01T00:03:00"]),
        ("@every 0.1s", "2026-01-01T00:00:00", ["2026-01-01T00:00:01"]),
        # time zones
        ("TZ=Asia/Kolkata 30 9 * * *", "2026-01-01T00:00:00", ["2026-01-01T04:00:00"]),
        ("CRON_TZ=America/New_York 0 9 * * *", "2026-03-07T12:00:00", ["2026-03-07T14:00:00", "2026-03-08T13:00:00"]),
        # clocks go forward at 2:00: 2:30 does not come on this day
        ("TZ=America/New_York 30 2 * * *", "2026-03-07T12:00:00", ["2026-03-09T06:30:00"]),
        # clocks go back at 2:00: 1:30 comes twice
        (
            "TZ=America/New_York 30 1 * * *",
            "2026-11-01T00:00:00",
            ["2026-11-01T05:30:00", "2026-11-01T06:30:00", "2026-11-02T06:30:00"],
        ),
        # midnight is skipped
        ("TZ=America/Sao_Paulo 0 0 * * *", "2018-11-03T12:00:00", ["2018-11-05T02:00:00"]),
        ("TZ=America/Sao_Paulo 30 5 4 11 *", "2018-11-01T12:00:00", ["2018-11-04T07:30:00"]),
        ("TZ=America/Sao_Paulo 30 5 5 11 *", "2018-11-01T12:00:00", ["2018-11-05T07:30:00"]),
    ],
)
def test_times(schedule, after, times):
    parsed, time = parse_schedule(schedule), at(after)
    found = []
    for _ in times:
        time = next_time(parsed, time)
        found.append(time)
    assert found == [at(text) for text in times]
