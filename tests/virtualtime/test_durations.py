"""Durations: accepted and rejected values."""

from datetime import timedelta

import pytest

from fakekube.virtualtime.durations import microseconds


@pytest.mark.parametrize(
    ("duration", "expected"),
    [
        pytest.param(1, 1_000_000, id="whole-seconds"),
        pytest.param(0.1 + 0.2, 300_000, id="float-noise-is-rounded-away"),
        pytest.param(0, 0, id="none"),
        pytest.param(timedelta(days=1, microseconds=1), 86_400_000_001, id="timedelta-is-exact"),
        pytest.param("1h30m", 5_400_000_000, id="go-hours-and-minutes"),
        pytest.param("1.5s", 1_500_000, id="go-fraction"),
        pytest.param("250ms", 250_000, id="go-milliseconds"),
        pytest.param("10us", 10, id="go-microseconds"),
    ],
)
def test_a_duration_in_microseconds(duration, expected):
    assert microseconds(duration) == expected


def test_units_add_up_with_each_other_and_with_the_duration():
    assert microseconds(1, hours=1, minutes=2, milliseconds=3) == 3_721_003_000


@pytest.mark.parametrize(
    "duration",
    [
        pytest.param(-1, id="negative"),
        pytest.param(timedelta(seconds=-1), id="negative-timedelta"),
        pytest.param("", id="empty"),
        pytest.param("5", id="no-unit"),
        pytest.param("1h x", id="trailing"),
        pytest.param("-1h", id="negative-text"),
    ],
)
def test_an_invalid_duration_is_rejected(duration):
    with pytest.raises(ValueError, match=r"negative duration|not a duration"):
        microseconds(duration)
