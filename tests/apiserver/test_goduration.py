"""Durations as Go writes them (`time.ParseDuration`)."""

import pytest

from fakekube.apiserver.wire.goduration import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0), ("+0", 0), ("-0", 0), ("1s", 1), ("2m", 120), ("3h", 10_800), ("1h2m3s", 3723), ("1.5h", 5400), (".5s", 0.5),
        ("5.s", 5), ("-1m30s", -90), ("+1m", 60), ("250ms", 0.25), ("2us", 2e-6), ("2µs", 2e-6), ("2μs", 2e-6), ("7ns", 7e-9),
        ("2562047h", 2562047 * 3600), ("9223372036.854775807s", 9223372036.854775807),
    ],
)  # fmt: skip
def test_a_duration(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", 'invalid duration ""'),
        ("-", 'invalid duration "-"'),
        (".s", 'invalid duration ".s"'),
        ("1", 'missing unit in duration "1"'),
        ("1h2", 'missing unit in duration "1h2"'),
        ("1d", 'unknown unit "d" in duration "1d"'),
        ("1h 2m", 'unknown unit "h " in duration "1h 2m"'),
        ("2562048h", 'invalid duration "2562048h"'),
        ("1h9999999h", 'invalid duration "1h9999999h"'),
    ],
)
def test_a_text_that_is_no_duration(text, why):
    with pytest.raises(ValueError) as raised:
        parse_duration(text)
    assert str(raised.value) == f"time: {why}"
