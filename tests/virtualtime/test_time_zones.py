"""N1: the wall clock honours the time zone of the process, with both libraries, and at the moment that it shows."""

import asyncio
import datetime
import email.utils
import logging
import os
import time
from datetime import UTC, timedelta
from time import asctime, ctime
from zoneinfo import ZoneInfo

import pytest

from fakekube import FakeKube
from fakekube.virtualtime import Bubble
from tests.innerruns import LEAN

WINTER = datetime.datetime(2026, 1, 1, tzinfo=UTC)
SUMMER = datetime.datetime(2026, 7, 1, 12, 30, 15, 250, tzinfo=UTC)

#: Zone, moment, and the wall clocks of the zone at that moment: the local time, its offset, its name, its fold.
ROWS = [
    ("UTC", WINTER, "2026-01-01T00:00:00", 0, "UTC", 0),
    ("Asia/Tokyo", WINTER, "2026-01-01T09:00:00", 9, "JST", 0),
    ("Asia/Tokyo", datetime.datetime(2026, 1, 1, 20, tzinfo=UTC), "2026-01-02T05:00:00", 9, "JST", 0),
    ("America/New_York", WINTER, "2025-12-31T19:00:00", -5, "EST", 0),
    ("America/New_York", SUMMER, "2026-07-01T08:30:15.000250", -4, "EDT", 0),
    ("America/New_York", datetime.datetime(2026, 11, 1, 5, 30, tzinfo=UTC), "2026-11-01T01:30:00", -4, "EDT", 0),
    ("America/New_York", datetime.datetime(2026, 11, 1, 6, 30, tzinfo=UTC), "2026-11-01T01:30:00", -5, "EST", 1),
    ("Asia/Kolkata", SUMMER, "2026-07-01T18:00:15.000250", 5.5, "IST", 0),
]


@pytest.fixture
def in_zone(monkeypatch):
    """Changes the time zone of the process until the end of the test."""

    def change(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield change
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(params=["freezegun", "time-machine"])
def bubble(request):
    with Bubble(wall_clock=request.param) as bubble:
        yield bubble


@pytest.mark.filterwarnings("ignore:datetime.datetime.utc:DeprecationWarning")  # since Python 3.12
@pytest.mark.parametrize(("zone", "moment", "local", "offset", "name", "fold"), ROWS)
def test_n1_every_reading_is_that_of_the_zone(bubble, in_zone, zone, moment, local, offset, name, fold):
    in_zone(zone)
    bubble.advance_to(moment)
    local, offset = datetime.datetime.fromisoformat(local), timedelta(hours=offset)
    seconds = int(moment.timestamp())
    for naive in (
        datetime.datetime.now(),
        datetime.datetime.now(None),
        datetime.datetime.today(),
        datetime.datetime.fromtimestamp(time.time()),
    ):
        assert (naive, naive.tzinfo, naive.fold) == (local, None, fold)
        assert naive.timestamp() == time.time() == moment.timestamp()
    for aware in (
        datetime.datetime.now().astimezone(),
        datetime.datetime.now(UTC).astimezone(),
        datetime.datetime.now(ZoneInfo(zone)),
        datetime.datetime.now(UTC).astimezone(ZoneInfo(zone)),
        datetime.datetime.fromtimestamp(time.time(), ZoneInfo(zone)),
        email.utils.localtime(),
    ):
        assert (aware.astimezone(UTC), aware.utcoffset(), aware.tzname()) == (moment, offset, name)
    assert datetime.datetime.now(UTC) == moment
    assert datetime.datetime.utcnow() == moment.replace(tzinfo=None)
    assert datetime.date.today() == datetime.date.fromtimestamp(time.time()) == local.date()

    broken_down = time.localtime()
    assert broken_down[:6] == local.timetuple()[:6]
    assert (broken_down.tm_gmtoff, broken_down.tm_zone) == (offset.total_seconds(), name)
    assert broken_down.tm_isdst == (name == "EDT")
    assert time.mktime(broken_down) == seconds
    assert time.gmtime()[:6] == moment.timetuple()[:6]
    assert time.strftime("%Y-%m-%d %H:%M:%S %Z") == f"{local:%Y-%m-%d %H:%M:%S} {name}"
    assert time.ctime() == time.asctime() == ctime() == asctime() == local.ctime()
    assert name in time.tzname


def test_n1_a_change_of_the_zone_counts_at_once(bubble, in_zone):
    for zone, hour in (("Asia/Tokyo", 9), ("UTC", 0), ("Asia/Tokyo", 9)):
        in_zone(zone)
        assert datetime.datetime.now().hour == time.localtime().tm_hour == hour
    bubble.advance(1)
    assert os.environ["TZ"] == "Asia/Tokyo"
    assert datetime.datetime.now().hour == 9


def test_n1_the_offset_changes_while_the_clock_advances(bubble, in_zone):
    in_zone("America/New_York")
    seen = []

    async def operator():
        for _ in range(3):
            seen.append(datetime.datetime.now().astimezone().isoformat(timespec="seconds"))
            await asyncio.sleep(3600)

    bubble.advance_to(datetime.datetime(2026, 3, 8, 6, tzinfo=UTC))
    bubble.run(operator())
    assert seen == ["2026-03-08T01:00:00-05:00", "2026-03-08T03:00:00-04:00", "2026-03-08T04:00:00-04:00"]


def test_n1_threads_and_log_records_read_the_zone_too(bubble, in_zone):
    in_zone("Asia/Tokyo")
    seen = []
    formatter = logging.Formatter("%(asctime)s", "%H:%M")
    thread = bubble.thread(
        lambda: seen.append((
            datetime.datetime.now().hour,
            time.localtime().tm_hour,
            formatter.format(logging.makeLogRecord({"created": time.time()})),
        ))
    )  # fmt: skip
    bubble.join(thread)
    assert seen == [(9, 9, "09:00")]


def test_n1_the_server_and_controllers_are_in_utc_in_every_zone(in_zone):
    in_zone("Asia/Tokyo")
    with FakeKube(controllers=["cronjob"]) as fakekube:
        fakekube.create({
            "apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "a"},
            "spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "a", "image": "a"}]}}}}},
        })  # fmt: skip
        fakekube.advance(hours=3, seconds=1)
        (job,) = fakekube.list("batch/v1", "Job")
        assert job["metadata"]["creationTimestamp"] == "2026-01-01T03:00:00Z"
        created = datetime.datetime.fromisoformat(job["metadata"]["creationTimestamp"])
        assert datetime.datetime.now().astimezone() - created == timedelta(seconds=1)
        assert datetime.datetime.now() - created.astimezone().replace(tzinfo=None) == timedelta(seconds=1)


def test_n1_a_bubble_whose_start_is_in_a_zone_counts_real_hours(monkeypatch):
    """Arithmetic with times of one `ZoneInfo` is that of wall clocks, which jump: a day is 23 hours there."""
    monkeypatch.delenv("TZ", raising=False)
    zone = ZoneInfo("America/New_York")
    with Bubble(epoch=datetime.datetime(2026, 3, 8, tzinfo=zone)) as bubble:
        bubble.advance(hours=24)
        assert bubble.clock.now() == datetime.datetime.now(UTC) == datetime.datetime(2026, 3, 9, 5, tzinfo=UTC)
        bubble.advance_to(datetime.datetime(2026, 3, 10, tzinfo=zone))
        assert bubble.clock.us == 47 * 3600 * 1_000_000
    with Bubble(epoch=datetime.datetime(2026, 3, 8, tzinfo=zone), wall_clock="time-machine"):
        assert "TZ" not in os.environ
        assert datetime.datetime.now(UTC) == datetime.datetime(2026, 3, 8, 5, tzinfo=UTC)


ZONE_BUG = '''
import datetime


def age(created):
    """A zone bug: it takes the server's UTC for local time."""
    return datetime.datetime.now() - datetime.datetime.fromisoformat(created).replace(tzinfo=None)


def right_age(created):
    return datetime.datetime.now().astimezone() - datetime.datetime.fromisoformat(created)


def created(fakekube):
    made = fakekube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    fakekube.advance(60)
    return made["metadata"]["creationTimestamp"]


def test_right_code(fakekube):
    assert right_age(created(fakekube)).total_seconds() == 60


def test_a_zone_bug(fakekube):
    assert age(created(fakekube)).total_seconds() == 60
'''


@pytest.mark.slow
@pytest.mark.parametrize(("zone", "failed"), [("UTC", 0), ("Asia/Tokyo", 1), ("America/New_York", 1)])
def test_n1_right_code_passes_in_every_zone_and_a_zone_bug_does_not(pytester, in_zone, zone, failed):
    in_zone(zone)
    pytester.makepyfile(ZONE_BUG)
    pytester.runpytest_inprocess(*LEAN).assert_outcomes(passed=2 - failed, failed=failed)
