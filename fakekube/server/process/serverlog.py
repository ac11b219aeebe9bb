"""What `fakekube serve` writes to standard error: a line for each request, and errors with their time."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal, TextIO

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.response import Response
from fakekube.apiserver.wire.request import Request, RequestInfo
from fakekube.server.runner import ServerRunner

Format = Literal["text", "json"]

#: Seconds in which the same text is written once.
ONCE_PER = 60.0

_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}

#: The most texts that are remembered.
REMEMBERED = 1000


class OncePerMinute(logging.Filter):
    """Passes a text once per minute; the next one that passes says how often it was repeated meanwhile."""

    def __init__(self, seconds: float = ONCE_PER) -> None:
        super().__init__()
        self._seconds = seconds
        self._last: dict[str, float] = {}
        self._repeated: dict[str, int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else ""
        text = f"{record.name} {record.getMessage()} {error!r}"
        last = self._last.get(text)
        if last is not None and record.created - last < self._seconds:
            self._repeated[text] = self._repeated.get(text, 0) + 1
            return False
        if len(self._last) >= REMEMBERED:
            self._last.clear()
            self._repeated.clear()
        self._last[text] = record.created
        if times := self._repeated.pop(text, 0):
            record.msg, record.args = f"{record.getMessage()} (repeated {times} times)", ()
        return True


class _Lines(logging.Formatter):
    """`TIME LEVEL MESSAGE: ERROR (FIELDS)`, or JSON; without tracebacks, which name the server's own code."""

    def __init__(self, format: Format) -> None:
        super().__init__()
        self._json = format == "json"

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        message = record.getMessage() + (f": {str(error) or type(error).__name__}" if error is not None else "")
        time, level = stamp(record.created), record.levelname.lower()
        fields = {name: str(value) for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
        if self._json:
            return json.dumps({"time": time, "level": level, "message": message, **fields})
        more = ", ".join(f"{name}: {value}" for name, value in fields.items())
        return f"{time} {level} {message}{f' ({more})' if more else ''}"


def stamp(seconds: float) -> str:
    """Seconds since 1970 as in RFC 3339, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def configure(format: Format, out: TextIO | None = None) -> Callable[[], None]:
    """Write warnings and errors of the server and of its controllers to standard error. Returns what ends this."""
    handler = logging.StreamHandler(out or sys.stderr)
    handler.addFilter(OncePerMinute())
    handler.setFormatter(_Lines(format))
    logging.getLogger().addHandler(handler)
    return lambda: logging.getLogger().removeHandler(handler)


class RequestLines:
    """Writes a line for each answered request. `own`: also for those of the cluster's own controllers."""

    def __init__(self, runner: ServerRunner, format: Format, *, own: bool, out: TextIO | None = None) -> None:
        self._runner, self._format, self._own, self._out = runner, format, own, out or sys.stderr

    def answered(self, request: Request, info: RequestInfo, response: Response, record: RequestRecord) -> None:
        if not self._own and is_own(record):
            return
        clock = self._runner.clock
        now, took = clock.now().timestamp(), clock.monotonic() - self._runner.began
        self._out.write(request_line(record, now, took * 1000, self._format) + "\n")
        self._out.flush()


def is_own(record: RequestRecord) -> bool:
    """Whether a request is one of the server's own process: of a controller, a kubelet, or of `--manifests`."""
    return is_own_agent(record.user_agent)


def is_own_agent(user_agent: str) -> bool:
    """Whether a User-Agent is one of the server's own process."""
    return user_agent.startswith("fakekube/") or "kubernetes/fakekube" in user_agent


def request_line(record: RequestRecord, now: float, ms: float, format: Format) -> str:
    """`TIME USER-AGENT VERB RESOURCE NAME CODE MS`, or the same fields as JSON."""
    what = f"{record.resource}/{record.subresource}" if record.subresource else record.resource
    name = "/".join(part for part in (record.object_namespace, record.name) if part)
    if format == "json":
        fields = {
            "time": stamp(now), "level": "info", "message": "request", "userAgent": record.user_agent,
            "user": record.user, "verb": record.verb, "resource": what, "namespace": record.object_namespace,
            "name": record.name, "path": record.path, "code": record.code, "reason": record.reason,
            "ms": round(ms, 1),
        }  # fmt: skip
        return json.dumps({key: value for key, value in fields.items() if value != ""})
    agent = record.user_agent.partition(" ")[0] or "-"
    code = f"{record.code} {record.reason}".rstrip()
    return f"{stamp(now)} {agent} {record.verb or '-'} {what or record.path} {name or '-'} {code} {ms:.1f}ms"
