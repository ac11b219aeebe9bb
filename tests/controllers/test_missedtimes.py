"""The missed times of a CronJob, beside a model that lists all times (`mostRecentScheduleTime`)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakekube.apiserver.registry.batch.cronjob.schedule import parse_schedule
from fakekube.controllers.batch.cronjob.crontime import ZERO, next_time
from fakekube.controllers.batch.cronjob.missedtimes import MANY, NeverTwice, missed_times, until_next
from fakekube.controllers.workload.podstate import timestamp

START = datetime(2026, 1, 1, tzinfo=UTC)


def stamp(time):
    return timestamp(time.replace(tzinfo=None))


def cron_job(created, last=None, deadline=None):
    spec = {} if deadline is None else {"startingDeadlineSeconds": deadline}
    status = {"lastScheduleTime": stamp(last)} if last else {}
    return {"metadata": {"creationTimestamp": stamp(created)}, "spec": spec, "status": status}


def times(schedule, since, until):
    """All times of a schedule after `since`, until `until`."""
    found, time = [], next_time(schedule, since)
    while ZERO < time <= until:
        found.append(time)
        time = next_time(schedule, time)
    return found


#: Schedules whose times are all as far apart as the first two, and others.
REGULAR = ["* * * * *", "*/5 * * * *", "0 * * * *", "@every 7m", "0 0 * * *"]
IRREGULAR = ["7,13 * * * *", "30 6-16/4 * * 1-5", "0,30 6 * * *"]


@settings(max_examples=120)
@given(
    st.sampled_from([*REGULAR, *IRREGULAR]),
    st.integers(0, 3 * 86400),
    st.integers(0, 2 * 86400),
    st.none() | st.integers(0, 7200),
    st.none() | st.integers(0, 90000),
)
def test_the_latest_missed_time_is_that_of_the_model(text, age, elapsed, deadline, ran):
    """Every time between the last run (or the creation, or the deadline if that is later) and now is a missed one.

    Of an irregular schedule, none may be found: the estimate by the first two times is then after the last one.
    """
    schedule = parse_schedule(text)
    created = START + timedelta(seconds=age)
    now = created + timedelta(seconds=elapsed)
    last = None if ran is None or ran > elapsed else created + timedelta(seconds=ran)
    since = last or created
    for within in (True, False):
        begin = since
        if within and deadline is not None:
            begin = max(since, now - timedelta(seconds=deadline))
        missed = times(schedule, begin, now)
        found = missed_times(cron_job(created, last, deadline), schedule, now, within_deadline=within)
        assert found.since == begin
        latest = missed[-1] if missed else None
        assert found.latest == latest or (found.latest is None and text in IRREGULAR and len(missed) > 1)


@pytest.mark.parametrize(
    ("seconds", "latest", "number"),
    [
        (59, None, 0),
        (60, 60, 0),
        (119, 60, 0),
        (120, 120, 2),
        (179, 120, 2),
        (100 * 60, 100 * 60, 100),
        (101 * 60, 101 * 60, 101),
    ],
)
def test_how_many_times_are_missed(seconds, latest, number):
    schedule, now = parse_schedule("* * * * *"), START + timedelta(seconds=seconds)
    found = missed_times(cron_job(START), schedule, now, within_deadline=True)
    expected = None if latest is None else START + timedelta(seconds=latest)
    assert (found.latest, found.number) == (expected, number)
    assert MANY == 100


def test_the_estimate_of_an_irregular_schedule_may_find_no_time():
    """The times are 0:07, 0:13, 1:07: at 0:19 three seem to be missed, and the search begins at 0:13."""
    schedule = parse_schedule("7,13 * * * *")
    for minutes, latest, number in ((13, 13, 2), (18, 13, 2), (19, None, 3), (67, 67, 11)):
        now = START + timedelta(minutes=minutes)
        found = missed_times(cron_job(START), schedule, now, within_deadline=True)
        assert (found.latest, found.number) == (latest and START + timedelta(minutes=latest), number)
        assert until_next(cron_job(START), schedule, now) == pytest.approx(
            (6 if minutes == 67 else 67 - minutes) * 60 + 0.1
        )


def test_a_schedule_that_never_comes_has_no_two_times():
    schedule = parse_schedule("0 0 31 2 *")
    with pytest.raises(NeverTwice, match="time difference between two schedules is less than 1 second"):
        missed_times(cron_job(START), schedule, START + timedelta(days=1), within_deadline=True)


@pytest.mark.parametrize(
    ("schedule", "seconds", "wait"),
    [
        ("* * * * *", 0, 60.1),
        ("* * * * *", 59, 1.1),
        ("* * * * *", 60, 60.1),
        ("* * * * *", 150, 30.1),
        ("@every 90s", 30, 60.1),
        ("@every 90s", 90, 90.1),
        ("@every 90s", 200, 70.1),  # it counts from the last time that has come
        ("0 * * * *", 7300, 3500.1),
    ],
)
def test_the_seconds_until_the_next_time(schedule, seconds, wait):
    found = until_next(cron_job(START, deadline=5), parse_schedule(schedule), START + timedelta(seconds=seconds))
    assert found == pytest.approx(wait)
