"""Ages in table cells."""

import pytest

from fakekube.apiserver.registry.generic.table.ages import Ages, between, human_duration

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        pytest.param(-2, "<invalid>", id="two-seconds-from-now"),
        pytest.param(-1.9, "0s", id="clocks-that-differ-a-little"),
        pytest.param(0, "0s", id="now"),
        pytest.param(119.9, "119s", id="just-under-two-minutes"),
        pytest.param(2 * MINUTE, "2m", id="two-minutes"),
        pytest.param(2 * MINUTE + 5, "2m5s", id="minutes-and-seconds"),
        pytest.param(10 * MINUTE - 1, "9m59s", id="just-under-ten-minutes"),
        pytest.param(10 * MINUTE + 59, "10m", id="no-seconds-any-more"),
        pytest.param(3 * HOUR - 1, "179m", id="just-under-three-hours"),
        pytest.param(3 * HOUR, "3h", id="three-hours"),
        pytest.param(3 * HOUR + 7 * MINUTE, "3h7m", id="hours-and-minutes"),
        pytest.param(8 * HOUR + 7 * MINUTE, "8h", id="no-minutes-any-more"),
        pytest.param(48 * HOUR - 1, "47h", id="just-under-two-days"),
        pytest.param(2 * DAY, "2d", id="two-days"),
        pytest.param(2 * DAY + 5 * HOUR, "2d5h", id="days-and-hours"),
        pytest.param(8 * DAY + 5 * HOUR, "8d", id="no-hours-any-more"),
        pytest.param(2 * YEAR - 1, "729d", id="just-under-two-years"),
        pytest.param(2 * YEAR, "2y", id="two-years"),
        pytest.param(2 * YEAR + 30 * DAY, "2y30d", id="years-and-days"),
        pytest.param(8 * YEAR + 30 * DAY, "8y", id="no-days-any-more"),
        pytest.param(5000 * YEAR, "292y", id="beyond-gos-durations"),
        pytest.param(-5000 * YEAR, "<invalid>", id="beyond-gos-durations-in-the-future"),
    ],
)
def test_a_duration_has_about_two_digits(seconds, shown):
    assert human_duration(seconds) == shown


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        pytest.param(None, "<unknown>", id="none"),
        pytest.param("2026-01-01T00:00:00Z", "60s", id="seconds"),
        pytest.param("2026-01-01T00:00:30.500000Z", "29s", id="microseconds"),
        pytest.param("2026-01-01T01:00:00+01:00", "60s", id="another-zone"),
    ],
)
def test_the_age_of_a_time(time, shown):
    assert Ages("2026-01-01T00:01:00Z")(time) == shown


def test_the_time_until_and_between():
    assert Ages("2026-01-01T00:00:00Z").until("2026-01-01T00:00:05Z") == "5s"
    assert Ages("2026-01-01T00:00:00Z").until(None) == "<unknown>"
    assert between("2026-01-01T00:00:00Z", "2026-01-01T03:00:00Z") == "3h"


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        pytest.param("0000-01-01T00:00:00Z", "292y", id="before"),
        pytest.param("-001-12-31T23:00:00Z", "292y", id="long-before"),
        pytest.param("10000-01-01T00:59:59Z", "<invalid>", id="after"),
    ],
)
def test_times_beyond_the_calendar(time, shown):
    assert Ages("2026-01-01T00:00:00Z")(time) == shown
