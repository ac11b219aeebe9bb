"""Readings of the frozen clock: their text has microseconds, also on a whole second."""

import copy
import datetime
import pickle
import time
from datetime import UTC, timedelta

import pytest

from fakekube.virtualtime import Bubble


@pytest.fixture
def bubble():
    with Bubble() as bubble:
        yield bubble


def test_f13_readings_print_microseconds_that_are_zero(bubble):
    assert datetime.datetime.now(UTC).isoformat() == "2026-01-01T00:00:00.000000+00:00"
    assert str(datetime.datetime.utcnow()) == "2026-01-01 00:00:00.000000"
    assert f"{datetime.datetime.now()}".endswith(":00:00.000000")
    assert datetime.datetime.fromtimestamp(time.time(), UTC).isoformat() == "2026-01-01T00:00:00.000000+00:00"
    assert datetime.datetime.today().isoformat().endswith(".000000")


def test_f13_results_of_arithmetic_and_conversions_do_so_too(bubble):
    now = datetime.datetime.now(UTC)
    later = "2026-01-01T00:00:30.000000+00:00"
    assert (now + timedelta(seconds=30)).isoformat() == later
    assert (timedelta(seconds=30) + now).isoformat() == later
    assert (now - timedelta(seconds=-30)).isoformat() == later
    assert now.astimezone(datetime.timezone(timedelta(hours=1))).isoformat() == "2026-01-01T01:00:00.000000+01:00"
    assert now.replace(tzinfo=None).isoformat() == "2026-01-01T00:00:00.000000"
    assert copy.deepcopy([now])[0].isoformat() == copy.copy(now).isoformat() == now.isoformat()


def test_f13_all_other_values_are_as_usual(bubble):
    now = datetime.datetime.now(UTC)
    assert now.replace(microsecond=0).isoformat() == "2026-01-01T00:00:00+00:00"
    assert now.isoformat(timespec="seconds") == "2026-01-01T00:00:00+00:00"
    assert now.isoformat(" ", "milliseconds") == "2026-01-01 00:00:00.000+00:00"
    assert datetime.datetime(2026, 1, 1).isoformat() == "2026-01-01T00:00:00"
    assert datetime.datetime.fromisoformat("2026-01-01T00:00:00").isoformat() == "2026-01-01T00:00:00"
    assert datetime.datetime.fromtimestamp(0, UTC).isoformat() == "1970-01-01T00:00:00+00:00"
    assert now == datetime.datetime(2026, 1, 1, tzinfo=UTC) == pickle.loads(pickle.dumps(now))
    assert now - datetime.datetime(2026, 1, 1, tzinfo=UTC) == timedelta(0)
    assert type(now) is datetime.datetime


def test_f13_a_fraction_that_was_parsed_is_printed(bubble):
    from dateutil import parser

    for parse in (datetime.datetime.fromisoformat, parser.parse):
        assert parse("2026-01-01T00:00:00.000000+00:00").isoformat() == "2026-01-01T00:00:00.000000+00:00"
        assert parse("2026-01-01T00:00:00+00:00").isoformat() == "2026-01-01T00:00:00+00:00"


def test_f13_nothing_remains_after_the_bubble():
    from freezegun import api

    before = dict(vars(api.FakeDatetime))
    with Bubble():
        moment = datetime.datetime.now(UTC)
    assert dict(vars(api.FakeDatetime)) == before
    assert moment.isoformat() == "2026-01-01T00:00:00+00:00"
