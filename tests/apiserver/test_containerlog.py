"""P2: which part of a container's log a request reads, and when a followed one ends."""

from datetime import UTC, datetime, timedelta

import pytest

from fakekube.apiserver.containerlog import ContainerLog, ContainerRun, FollowedLog, LogOptions, run_of

START = datetime(2026, 1, 1, tzinfo=UTC)
LINES = [(0, "a"), (10, b"b\n"), (20.5, "c")]


def at(seconds):
    return START + timedelta(seconds=seconds)


def text(seconds):
    return at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def running(restarts=0, last=None):
    return {
        "name": "c",
        "restartCount": restarts,
        "state": {"running": {"startedAt": text(0)}},
        "lastState": last or {},
    }


def ended(restarts=0, after=15):
    state = {"terminated": {"startedAt": text(0), "finishedAt": text(after)}}
    return {"name": "c", "restartCount": restarts, "state": state}


def pod(status=None, uid="1", field="containerStatuses"):
    return {"metadata": {"uid": uid}, "status": {field: [status]} if status else {}}


@pytest.mark.parametrize(
    ("output", "options", "reads"),
    [
        pytest.param("x\ny\n", {}, [b"x\ny\n", b"", b""], id="text"),
        pytest.param(b"x\ny", {"tail": 1}, [b"y", b"", b""], id="tail-of-text"),
        pytest.param("x\ny\n", {"limit": 3}, [b"x\ny", b"", b""], id="limit-of-text"),
        pytest.param(LINES, {}, [b"a\n", b"b\n", b"c\n"], id="lines"),
        pytest.param(LINES, {"tail": 0}, [b"", b"b\n", b"c\n"], id="no-tail"),
        pytest.param(LINES, {"since": at(10)}, [b"", b"b\n", b"c\n"], id="since"),
        pytest.param(LINES, {"limit": 3}, [b"a\n", b"b", b""], id="limit"),
        pytest.param(
            LINES,
            {"timestamps": True, "since": at(20)},
            [b"", b"", b"2026-01-01T00:00:20.500000000Z c\n"],
            id="timestamps",
        ),
    ],
)
def test_what_is_read_at_5_and_15_and_25_seconds(output, options, reads):
    log = ContainerLog(output, START, LogOptions(**options))
    assert [log.read(at(seconds)) for seconds in (5, 15, 25)] == reads
    assert log.is_complete == ("limit" in options)
    assert log.next_at is None


@pytest.mark.parametrize(
    ("found", "previous", "run"),
    [
        pytest.param(pod(), False, None, id="no-status"),
        pytest.param(pod(running()), False, ContainerRun(0, START), id="running"),
        pytest.param(pod(running(), field="initContainerStatuses"), False, ContainerRun(0, START), id="init"),
        pytest.param(pod({"name": "other"}), False, None, id="another"),
        pytest.param(pod({"name": "c", "state": {"waiting": {}}}), False, None, id="waiting"),
        pytest.param(pod(ended()), False, ContainerRun(0, START, at(15)), id="ended"),
        pytest.param(pod(running(1, ended()["state"])), True, ContainerRun(0, START, at(15)), id="previous"),
        pytest.param(pod(running()), True, None, id="no-previous"),
    ],
)
def test_the_run_that_a_status_shows(found, previous, run):
    assert run_of(found, "c", previous=previous) == run


@pytest.mark.parametrize(
    ("found", "read", "complete"),
    [
        pytest.param(pod(running()), b"a\nb\nc\n", False, id="runs"),
        pytest.param(pod(ended()), b"a\nb\n", True, id="ended"),
        pytest.param(pod(running(1, ended()["state"])), b"a\nb\n", True, id="restarted"),
        pytest.param(pod(running(2)), b"a\nb\nc\n", True, id="restarted-twice"),
        pytest.param(pod(running(), uid="2"), b"a\nb\nc\n", True, id="another-pod"),
        pytest.param(None, b"a\nb\nc\n", True, id="deleted"),
    ],
)
def test_what_a_follower_reads_after_25_seconds(found, read, complete):
    log = ContainerLog(LINES, START, LogOptions())
    followed = FollowedLog(log, "default/a", "1", "c", ContainerRun(0, START))
    assert followed.next_at == START
    assert followed.read(found, at(25)) == read
    assert followed.is_complete is complete


@pytest.mark.parametrize(
    ("lines", "error", "match"),
    [
        pytest.param(["a"], TypeError, "a log yields 'a'", id="no-pair"),
        pytest.param([("1", "a")], TypeError, "yield \\(seconds", id="no-number"),
        pytest.param([(1, "a"), (0, "b")], ValueError, "must not decrease", id="decreases"),
    ],
)
def test_an_invalid_line_is_named(lines, error, match):
    with pytest.raises(error, match=match):
        ContainerLog(lines, START, LogOptions()).read(at(100))
