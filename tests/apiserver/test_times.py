"""Parsing and formatting of times."""

import pytest

from fakekube.apiserver.schema.times import InvalidTime, microtime_text, time_text

LAYOUT = '"2006-01-02T15:04:05Z07:00"'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", id="utc"),
        pytest.param("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00Z", id="another-zone"),
        pytest.param("2026-01-01T00:00:00.999Z", "2026-01-01T00:00:00Z", id="a-fraction-is-cut"),
        pytest.param("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z", id="leap-day"),
        pytest.param("0001-01-01T00:00:00Z", None, id="zero-time"),
        pytest.param("0001-01-01T01:00:00+01:00", None, id="zero-time-elsewhere"),
        pytest.param("0001-01-01T00:00:01Z", "0001-01-01T00:00:01Z", id="just-after-zero"),
        pytest.param("0000-02-29T00:00:00Z", "0000-02-29T00:00:00Z", id="year-zero"),
        pytest.param("0000-01-01T00:00:00+01:00", "-001-12-31T23:00:00Z", id="before-year-zero"),
        pytest.param("0400-02-29T00:00:00Z", "0400-02-29T00:00:00Z", id="long-ago"),
        pytest.param("4999-12-31T23:59:59-01:00", "5000-01-01T00:59:59Z", id="from-one-half-of-the-calendar"),
        pytest.param("5000-01-01T00:00:00+01:00", "4999-12-31T23:00:00Z", id="into-the-other-half"),
        pytest.param("5001-01-01T00:00:00Z", "5001-01-01T00:00:00Z", id="in-the-other-half"),
        pytest.param("9999-12-31T23:59:59-01:00", "10000-01-01T00:59:59Z", id="after-the-last-year"),
    ],
)
def test_a_time(text, shown):
    assert time_text(text) == shown


def test_a_time_with_microseconds():
    assert microtime_text("2026-01-01T00:00:00.000001+01:00") == "2025-12-31T23:00:00.000001Z"
    assert microtime_text("0001-01-01T00:00:00.000000Z") is None
    assert microtime_text("0001-01-01T00:00:00.000001Z") == "0001-01-01T00:00:00.000001Z"
    with pytest.raises(InvalidTime, match=r'cannot parse "Z" as "\.000000"'):
        microtime_text("2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", f'"" as {LAYOUT}: cannot parse "" as "2006"', id="empty"),
        pytest.param("soon", f'"soon" as {LAYOUT}: cannot parse "soon" as "2006"', id="a-word"),
        pytest.param("2026-01-01", f'"2026-01-01" as {LAYOUT}: cannot parse "" as "T"', id="a-date"),
        pytest.param("2026-13-01T00:00:00Z", '"2026-13-01T00:00:00Z": month out of range', id="month"),
        pytest.param("2026-02-30T00:00:00Z", '"2026-02-30T00:00:00Z": day out of range', id="day"),
        pytest.param("2026-02-03T24:00:00Z", '"2026-02-03T24:00:00Z": hour out of range', id="hour"),
        pytest.param("2026-02-03T04:60:00Z", '"2026-02-03T04:60:00Z": minute out of range', id="minute"),
        pytest.param("2026-02-03T04:05:60Z", '"2026-02-03T04:05:60Z": second out of range', id="second"),
        pytest.param("2026-02-03T04:05:06Z!", '"2026-02-03T04:05:06Z!": extra text: "!"', id="more"),
    ],
)
def test_invalid_times(text, problem):
    with pytest.raises(InvalidTime) as refused:
        time_text(text)
    assert str(refused.value) == f"parsing time {problem}"
