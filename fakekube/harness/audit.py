"""What the server saw and stored: requests by their fields, each object's versions, writes that were in vain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

import orjson

from fakekube.apiserver.requestlog import RequestRecord
from fakekube.apiserver.resource import Resource
from fakekube.apiserver.storage.store import Change
from fakekube.harness.arguments import check_record_fields
from fakekube.harness.timeline import Timeline, Told
from fakekube.server.runner import ServerRunner

Object = dict[str, Any]

#: What is said of a write that changed nothing.
NOOP = " (changed nothing)"

MICROSECOND = timedelta(microseconds=1)

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})


class Audit:
    """Listens to a server, and tells the timeline of its writes and refusals.

    `own`: the User-Agent of the test itself, whose requests are shown only to who asks for them.
    """

    def __init__(self, runner: ServerRunner, now: Callable[[], datetime], timeline: Timeline, own: str) -> None:
        self._runner, self._now, self._timeline, self._own = runner, now, timeline, own
        self._changes: list[tuple[datetime, Change]] = []
        self._noops: list[RequestRecord] = []
        self._writes: list[RequestRecord] = []
        self._revision = runner.core.store.revision
        runner.on_write(self._written)
        runner.on_request(self._requested)

    def requests(self, wanted: Mapping[str, Any]) -> Sequence[RequestRecord]:
        """The answered requests, oldest first, whose fields are as wanted; text may be a shell pattern.

        Raises TypeError for a field that a record does not have, and for a value that it never has.
        """
        check_record_fields(wanted)
        shown = (
            self._runner.log if "user_agent" in wanted else (r for r in self._runner.log if r.user_agent != self._own)
        )
        return [r for r in shown if all(_is(getattr(r, name), value) for name, value in wanted.items())]

    def versions(self, resource: Resource, name: str, namespace: str) -> Sequence[tuple[datetime, Object | None]]:
        """When an object changed, and a copy of what it then was (None: deleted)."""
        path = f"{namespace}/{name}" if resource.namespaced else name
        view = self._runner.core.registration(resource).view
        return [
            (at, orjson.loads(view.encode(change.after)) if change.after else None)
            for at, change in self._changes
            if change.collection == resource.collection and change.path == path
        ]

    def noop_writes(self) -> Sequence[RequestRecord]:
        """Successful updates and patches that changed nothing; not the test's own."""
        return [record for record in self._noops if record.user_agent != self._own]

    def writes_since(self, mark: int) -> Sequence[RequestRecord]:
        """The writes of others than the test since a `mark()`."""
        return [record for record in self._writes[mark:] if record.user_agent != self._own]

    def mark(self) -> int:
        """How many writes there have been."""
        return len(self._writes)

    def busiest(self, limit: int = 3) -> Sequence[str]:
        """Who wrote what most often within the present virtual second: the suspects of a hot loop."""
        second = int(self._runner.clock.monotonic())
        counts: Counter[str] = Counter()
        for record in reversed(self._writes):
            if int(record.at) != second:
                break
            counts[f"{record.user_agent or record.user}: {record.verb} {record.path}"] += 1
        return [f"{what} ({times}x)" for what, times in counts.most_common(limit)]

    def lines(self, epoch: datetime) -> Iterator[str]:
        """Each request, then each change: when (microseconds since the epoch) and what."""
        for record in self._runner.log:
            yield f"{round(record.at * 1_000_000)} {record.user_agent} {record} rv={record.revision}"
        for at, change in self._changes:
            stored = change.after.json.decode() if change.after else "deleted"
            yield f"{(at - epoch) // MICROSECOND} {change.revision} {change.collection} {change.path} {stored}"

    def _written(self, change: Change) -> None:
        self._changes.append((self._now(), change))

    def _requested(self, record: RequestRecord) -> None:
        is_write, remark = record.verb in WRITES, ""
        if is_write:
            self._writes.append(record)
            if record.verb in ("update", "patch") and record.code == 200 and record.revision == self._revision:
                self._noops.append(record)
                remark = NOOP
        if is_write or record.code >= 400:
            self._timeline.add(self._now(), _told, record, remark)
        self._revision = record.revision


def _told(record: RequestRecord, remark: str) -> Told:
    agent = (record.user_agent or record.user).partition("/")[0]
    return Told(agent, f"{record}{remark}", str(record.revision))


def _is(value: Any, wanted: Any) -> bool:
    if isinstance(value, str) and isinstance(wanted, str):
        return value == wanted or fnmatchcase(value, wanted)
    return bool(value == wanted)
