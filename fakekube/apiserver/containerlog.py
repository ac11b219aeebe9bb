"""The log of a container as one request reads it: a text, or lines that are written at their times.

Which part of it a request gets follows the kubelet (`pkg/kubelet/kuberuntime/logs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from fakekube.apiserver.kubelet import LogOutput, in_bytes
from fakekube.apiserver.resource import Object
from fakekube.struct import Struct

_STATUSES = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")


class ContainerRun(NamedTuple):
    """One run of a container, from its start to its end (None: it runs). `restarts`: which one it is."""

    restarts: int
    started: datetime
    ended: datetime | None = None


class LogOptions(Struct, frozen=True):
    """What a request wants of a log. `limit`: in bytes. `since`: lines before it are left out."""

    tail: int | None = None
    limit: int | None = None
    since: datetime | None = None
    timestamps: bool = False


class Line(NamedTuple):
    at: datetime
    text: bytes


def run_of(pod: Object, container: str, *, previous: bool = False) -> ContainerRun | None:
    """The run of a container that the status of its pod shows, or the one before; None if it shows none."""
    for field in _STATUSES:
        for one in (pod.get("status") or {}).get(field) or ():
            if one.get("name") == container:
                restarts = one.get("restartCount") or 0
                if previous:
                    return _run(one.get("lastState") or {}, restarts - 1)
                return _run(one.get("state") or {}, restarts)
    return None


def _run(state: Mapping[str, Any], restarts: int) -> ContainerRun | None:
    running, ended = state.get("running"), state.get("terminated")
    shown = running if running is not None else ended
    if shown is None or not shown.get("startedAt"):
        return None
    end = time_of(ended["finishedAt"]) if ended is not None and ended.get("finishedAt") else None
    return ContainerRun(restarts, time_of(shown["startedAt"]), end)


def time_of(text: str) -> datetime:
    """A timestamp of the API."""
    return datetime.fromisoformat(text).astimezone(UTC)


class ContainerLog:
    """Reads a log while it is written. `started`: the time from which its lines count."""

    def __init__(self, output: LogOutput, started: datetime, options: LogOptions) -> None:
        text = output if isinstance(output, str | bytes) else None
        self._text: bytes | None = in_bytes(text) if text is not None else None
        self._lines: Iterator[Line] = iter(()) if isinstance(output, str | bytes) else _timed(output, started)
        self._next: Line | None = None
        self._options = options
        self._left = options.limit
        self._is_new = True
        self._peek()

    @property
    def is_complete(self) -> bool:
        """Whether the request has got all that it may get."""
        return self._left == 0

    @property
    def next_at(self) -> datetime | None:
        """When the next line is written."""
        return self._next.at if self._next is not None else None

    def read(self, until: datetime) -> bytes:
        """What is written until a time, and was not read before. Raises TypeError, ValueError for an invalid line."""
        options = self._options
        lines, self._text = ([] if self._text is None else self._text.splitlines(keepends=True)), None
        while self._next is not None and self._next.at <= until:
            if options.since is None or self._next.at >= options.since:
                lines.append(_shown(self._next, timestamps=options.timestamps))
            self._peek()
        if self._is_new and options.tail is not None:
            lines = lines[len(lines) - min(options.tail, len(lines)) :]
        self._is_new = False
        found = b"".join(lines)
        if self._left is not None:
            found = found[: self._left]
            self._left -= len(found)
        return found

    def _peek(self) -> None:
        self._next = next(self._lines, None)


def _timed(lines: Iterable[Any], started: datetime) -> Iterator[Line]:
    before = 0.0
    for one in lines:
        match one:
            case (int() | float() as after, str() | bytes() as text):
                if after < before:
                    raise ValueError(f"a log yields {one!r} after {before:g} s: the seconds of lines must not decrease")
                before = after
                whole = in_bytes(text)
                yield Line(started + timedelta(seconds=after), whole if whole.endswith(b"\n") else whole + b"\n")
            case _:
                raise TypeError(f"a log yields {one!r}: yield (seconds since the start of the container, line)")


def _shown(line: Line, *, timestamps: bool) -> bytes:
    if not timestamps:
        return line.text
    return f"{line.at.strftime('%Y-%m-%dT%H:%M:%S.%f')}000Z ".encode() + line.text


class FollowedLog:
    """A log that is followed for as long as a run of a container lasts. `key`, `uid`: of the pod in the store."""

    def __init__(self, log: ContainerLog, key: str, uid: str, container: str, run: ContainerRun) -> None:
        self.key = key
        self._log, self._uid, self._container, self._run = log, uid, container, run
        self.is_complete: bool = False
        """Whether nothing follows."""

    @property
    def next_at(self) -> datetime | None:
        return self._log.next_at

    def read(self, pod: Object | None, now: datetime) -> bytes:
        """What is new; `pod` is the stored one (None: it was deleted)."""
        until = now
        present = pod if pod is not None and pod["metadata"].get("uid") == self._uid else None
        run = run_of(present, self._container) if present is not None else None
        if run is None or run.restarts != self._run.restarts or run.ended is not None:
            self.is_complete = True
            before = run_of(present, self._container, previous=True) if present is not None else None
            for one in (run, before):
                if one is not None and one.restarts == self._run.restarts and one.ended is not None:
                    until = min(one.ended, now)
        data = self._log.read(until)
        self.is_complete = self.is_complete or self._log.is_complete
        return data
