"""What `fakekube serve` writes to standard error."""

import io
import json
import logging
from types import SimpleNamespace

import pytest

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.server.process import serverlog
from fakekube.server.process.serverlog import OncePerMinute, RequestLines, configure, is_own, request_line
from fakekube.server.systemclock import SystemClock

RECORD = RequestRecord(
    1.0, "update", "deployments", "apps", "default", "web", "status", "alice", "kubectl/v1.32 (linux)", 409, "Conflict",
    "/apis/apps/v1/namespaces/default/deployments/web/status", 7,
)  # fmt: skip
OTHER = RECORD._replace(verb="", resource="", namespace="", name="", subresource="", user_agent="", code=200, reason="", path="/version")  # fmt: skip


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (RECORD, "1970-01-01T00:00:00.000Z kubectl/v1.32 update deployments/status default/web 409 Conflict 1.5ms"),
        (OTHER, "1970-01-01T00:00:00.000Z - - /version - 200 1.5ms"),
    ],
)
def test_the_line_of_a_request(record, line):
    assert request_line(record, 0, 1.54, "text") == line


def test_the_line_of_a_request_as_json_has_no_empty_fields():
    assert json.loads(request_line(RECORD, 0, 1.54, "json")) == {
        "time": "1970-01-01T00:00:00.000Z", "level": "info", "message": "request", "userAgent": "kubectl/v1.32 (linux)",
        "user": "alice", "verb": "update", "resource": "deployments/status", "namespace": "default", "name": "web",
        "path": RECORD.path, "code": 409, "reason": "Conflict", "ms": 1.5,
    }  # fmt: skip
    assert json.loads(request_line(OTHER, 0, 0, "json")).keys() == {
        "time", "level", "message", "user", "path", "code", "ms",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("agent", "own"),
    [
        ("kubectl/v1.32", False),
        ("fakekube/manifests", True),
        ("kube-controller-manager/v1.36.2 (linux/amd64) kubernetes/fakekube/job-controller", True),
        ("kube-controller-manager/v1.36.2 (linux/amd64) kubernetes/abc", False),
    ],
)
def test_requests_of_the_servers_own_controllers_are_left_out(agent, own):
    record, out = RECORD._replace(user_agent=agent), io.StringIO()
    assert is_own(record) == own
    runner = SimpleNamespace(clock=SystemClock(), began=0.0)
    RequestLines(runner, "text", own=False, out=out).answered(None, None, None, record)
    assert (out.getvalue() == "") == own
    RequestLines(runner, "text", own=True, out=out).answered(None, None, None, record)
    assert out.getvalue() != ""


def passed(limit, message, at, *, error=None):
    record = logging.LogRecord("x", logging.ERROR, "", 0, message, (), (type(error), error, None) if error else None)
    record.created = at
    return record.getMessage() if limit.filter(record) else None


def test_a_text_is_written_once_a_minute_and_its_repetitions_are_counted():
    limit = OncePerMinute()
    assert passed(limit, "gone", 0) == "gone"
    assert passed(limit, "gone", 1) is passed(limit, "gone", 59.9) is None
    assert passed(limit, "other", 2) == "other"
    assert passed(limit, "gone", 3, error=OSError("no")) == "gone"
    assert passed(limit, "gone", 60) == "gone (repeated 2 times)"
    assert passed(limit, "gone", 120) == "gone"


def test_the_number_of_texts_that_are_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(serverlog, "REMEMBERED", 2)
    limit = OncePerMinute()
    assert [passed(limit, text, 0) for text in ("a", "b", "a", "c", "a")] == ["a", "b", None, "c", "a"]


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("text", "error failed: no (key: default/a)\n"),
        ("json", '"level": "error", "message": "failed: no", "key": "default/a"}\n'),
    ],
)
def test_errors_have_a_time_and_no_traceback(format, text):
    out = io.StringIO()
    end = configure(format, out)
    try:
        try:
            raise OSError("no")
        except OSError:
            logging.getLogger("fakekube.x").exception("failed", extra={"key": "default/a"})
    finally:
        end()
    [line] = out.getvalue().splitlines(keepends=True)
    assert line.endswith(text)
    assert line.partition("T")[0].count("-") == 2
