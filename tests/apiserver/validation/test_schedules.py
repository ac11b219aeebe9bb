"""Schedules of CronJobs, sets of completion indexes, names of images: the texts that mean something."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakekube.apiserver.registry.batch.cronjob.schedule import parse_schedule, problem_of, zone_problem
from fakekube.apiserver.registry.batch.job import indexes as completionindexes
from fakekube.apiserver.registry.core.pod.images import pull_policy, tag_of


@pytest.mark.parametrize(
    "schedule",
    [
        *("* * * * *", "*/5 0-5,7 1 jan-MAR sun", "0 0 1 1 ?", "5/15 * * * *", "@hourly", "@yearly", "@every 1h30m"),
        *("TZ=Europe/Berlin 0 * * * *", "CRON_TZ=UTC @daily", " 0  1 2 3 4 ", "@every -1.5s", "0-59/59 * * * *"),
    ],
)
def test_schedules(schedule):
    assert problem_of(schedule) == ""


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ("often", "expected exactly 5 fields, found 1: [often]"),
        ("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]"),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("x * * * *", 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'),
        ("-1 * * * *", 'failed to parse int from : strconv.Atoi: parsing "": invalid syntax'),
        ("99999999999999999999 * * * *",
         'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of '
         "range"),
        ("* * * foo *", 'failed to parse int from foo: strconv.Atoi: parsing "foo": invalid syntax'),
        ("@fortnightly", "unrecognized descriptor: @fortnightly"),
        ("@every x", 'failed to parse duration @every x: time: invalid duration "x"'),
        ("TZ=Nowhere 0 * * * *", "provided bad location Nowhere: unknown time zone Nowhere"),
    ],
)  # fmt: skip
def test_what_is_no_schedule(schedule, problem):
    assert problem_of(schedule) == problem


@pytest.mark.parametrize(
    ("number", "problem"),
    [
        (2**63 - 1, "end of range"),
        (2**63, "value out of range"),
        (-(2**63), "negative number"),
        (-(2**63) - 1, "value out of range"),
        (-1, "negative number"),
    ],
)
def test_numbers_are_those_of_64_bits(number, problem):
    """A negative number is only possible as a step, as a hyphen separates the ends of a range."""
    text = str(number) if number > 0 else f"1/{number}"
    texts = {
        "end of range": f"end of range ({number}) above maximum (59): {text}",
        "negative number": f"negative number ({number}) not allowed: {number}",
        "value out of range": f'failed to parse int from {number}: strconv.Atoi: parsing "{number}": value out of range',
    }
    assert problem_of(f"{text} * * * *") == texts[problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        *((text, "") for text in ("0", "1s", "1h2m3.5s", "-1ms", "+.5us", "1µs")),
        ("", 'time: invalid duration ""'),
        ("5", 'time: missing unit in duration "5"'),
        ("5x", 'time: unknown unit "x" in duration "5x"'),
        ("s", 'time: invalid duration "s"'),
    ],
)
def test_durations(text, problem):
    assert problem_of(f"@every {text}") == (problem and f"failed to parse duration @every {text}: {problem}")


@pytest.mark.parametrize(
    ("name", "problem"),
    [("UTC", ""), ("Europe/Paris", ""), ("../etc", "time: invalid location name"), ("X", "unknown time zone X")],
)
def test_time_zones(name, problem):
    assert zone_problem(name) == problem


@given(st.text(max_size=30))
def test_any_text_is_a_schedule_or_has_a_problem(text):
    assert isinstance(problem_of(text), str)


@given(st.sets(st.integers(min_value=0, max_value=40)), st.sets(st.integers(min_value=0, max_value=40)))
def test_indexes_that_are_in_both_sets_are_found(ours, theirs):
    shown = [",".join(map(str, sorted(numbers))) for numbers in (ours, theirs)]
    assert completionindexes.count_of(shown[0], 41) == len(ours)
    found = completionindexes.overlap(*shown, 41)
    assert found == min(ours & theirs, default=None)


@pytest.mark.parametrize(
    ("image", "tag", "policy"),
    [
        ("nginx", "latest", "Always"),
        ("nginx:latest", "latest", "Always"),
        ("nginx:1.25", "1.25", "IfNotPresent"),
        ("registry:5000/a/b", "latest", "Always"),
        ("registry:5000/a/b:v1", "v1", "IfNotPresent"),
        (f"nginx@sha256:{'0' * 64}", "", "IfNotPresent"),
        (f"nginx:latest@sha256:{'0' * 64}", "latest", "Always"),
        ("NGINX", "", "IfNotPresent"),
        ("a" * 247, "latest", "Always"),
        ("a" * 248, "", "IfNotPresent"),
        ("a" * 247 + ":v1", "v1", "IfNotPresent"),
        ("a" * 64, "", "IfNotPresent"),  # the identifier of an image
        ("a" * 63, "latest", "Always"),
        ("a:" + "b" * 128, "b" * 128, "IfNotPresent"),
        ("a:" + "b" * 129, "", "IfNotPresent"),
        ("", "", "IfNotPresent"),
    ],
)
def test_images(image, tag, policy):
    assert (tag_of(image), pull_policy(image)) == (tag, policy)


@pytest.mark.parametrize(
    ("text", "values", "star"),
    [
        ("*", range(60), True),
        ("?", range(60), True),
        ("*/15", [0, 15, 30, 45], False),
        ("*/1", range(60), True),
        ("5", [5], False),
        ("5/20", [5, 25, 45], False),
        ("5-8", [5, 6, 7, 8], False),
        ("5-10/5", [5, 10], False),
        ("1,3,3", [1, 3], False),
        ("0-59", range(60), False),
        ("59", [59], False),
    ],
)
def test_the_minutes_of_a_schedule(text, values, star):
    minute = parse_schedule(f"{text} * * * *").minute
    assert (sorted(minute.chosen), minute.star) == (list(values), star)


@pytest.mark.parametrize(("text", "seconds"), [("1h30m", 5400), ("1.9s", 1), ("1ms", 1), ("-1s", 1), ("2s", 2)])
def test_intervals_are_whole_seconds_and_at_least_one(text, seconds):
    assert parse_schedule(f"@every {text}").every == seconds


@pytest.mark.parametrize(
    ("number", "why"),
    [
        ("9223372036854775807", "end of range (9223372036854775807) above maximum (59): 9223372036854775807"),
        ("9223372036854775808", "value out of range"),
        ("+5", ""),
    ],
)
def test_the_largest_number_of_a_schedule(number, why):
    assert problem_of(f"{number} * * * *").endswith(why)
    assert bool(problem_of(f"{number} * * * *")) is bool(why)
